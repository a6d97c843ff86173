// SPDX-License-Identifier: GPL-2.0-only
/* The handshake's wire format: golden bytes, round trips, what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "conf.h"
#include "handshake.h"

#define UNTOUCHED 0x5a

static const struct hello some_hello = {
	.client = UINT64_C(0x0102030405060708),
	.region_bytes = UINT64_C(0x112233445566),
	.lane = 0x00a1,
	.nr_lanes = 0x0100,
	.need = ACCESS_RW,
	.auth = AUTH_PROVES,
	.challenge = UINT64_C(0xc1c2c3c4c5c6c7c8),
	.proof = { 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9,
		   0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf },
};

/* clang-format off */
static const uint8_t hello_wire[HELLO_BYTES] = {
	'W', 'R', 'B', 'x', 0, 2, 0, 1,
	1, 2, 3, 4, 5, 6, 7, 8,
	0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
	0x00, 0xa1, 0x01, 0x00, 3, 2, 0, 0,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
	0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7,
	0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf,
};
/* clang-format on */

static const struct welcome some_welcome = {
	.addr = UINT64_C(0x7f0011223344f000),
	.bytes = UINT64_C(0x40000000),
	.rkey = 0x89abcdef,
	.access = ACCESS_READ,
	.proof = { [0] = 0xe0, [31] = 0xef },
};

static const uint8_t welcome_wire[WELCOME_BYTES] = {
	'W',
	'R',
	'B',
	'x',
	0,
	2,
	0,
	2,
	0x7f,
	0x00,
	0x11,
	0x22,
	0x33,
	0x44,
	0xf0,
	0x00,
	0,
	0,
	0,
	0,
	0x40,
	0,
	0,
	0,
	0x89,
	0xab,
	0xcd,
	0xef,
	1,
	[WELCOME_PROOF_AT] = 0xe0,
	[WELCOME_BYTES - 1] = 0xef,
};

static const struct refusal some_refusal = {
	.reason = REFUSED_SIZE,
	.version = HANDSHAKE_VERSION,
	.value = UINT64_C(0xfedcba9876543210),
};

static const uint8_t refusal_wire[REFUSAL_BYTES] = {
	'W', 'R', 'B', 'x', 0,	  2,	0,    3,    0,	  4,	0,    0,
	0,   0,	  0,   0,   0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10,
};

static int decode_hello(const uint8_t *wire, size_t bytes)
{
	struct hello hello, before;
	uint16_t version = 0;
	int ret;

	memset(&hello, UNTOUCHED, sizeof(hello));
	memcpy(&before, &hello, sizeof(hello));
	ret = hello_decode(wire, bytes, &hello, &version);
	if (ret)
		assert_memory_equal(&hello, &before, sizeof(hello));
	return ret;
}

static int decode_welcome(const uint8_t *wire, size_t bytes)
{
	struct welcome welcome, before;
	uint16_t version = 0;
	int ret;

	memset(&welcome, UNTOUCHED, sizeof(welcome));
	memcpy(&before, &welcome, sizeof(welcome));
	ret = welcome_decode(wire, bytes, &welcome, &version);
	if (ret)
		assert_memory_equal(&welcome, &before, sizeof(welcome));
	return ret;
}

static int decode_refusal(const uint8_t *wire, size_t bytes)
{
	struct refusal refusal, before;
	int ret;

	memset(&refusal, UNTOUCHED, sizeof(refusal));
	memcpy(&before, &refusal, sizeof(refusal));
	ret = refusal_decode(wire, bytes, &refusal);
	if (ret)
		assert_memory_equal(&refusal, &before, sizeof(refusal));
	return ret;
}

static int hello_with(struct hello hello)
{
	uint8_t wire[HELLO_BYTES];

	hello_encode(&hello, wire);
	return decode_hello(wire, sizeof(wire));
}

static int welcome_with(struct welcome welcome)
{
	uint8_t wire[WELCOME_BYTES];

	welcome_encode(&welcome, wire);
	return decode_welcome(wire, sizeof(wire));
}

static void hello_encoded_gives_golden_bytes(void **state)
{
	uint8_t wire[HELLO_BYTES];

	(void)state;
	memset(wire, UNTOUCHED, sizeof(wire));
	hello_encode(&some_hello, wire);
	assert_memory_equal(wire, hello_wire, sizeof(wire));
}

static void hello_decoded_gives_every_field(void **state)
{
	struct hello hello;
	uint16_t version = 0;

	(void)state;
	assert_int_equal(
		hello_decode(hello_wire, HELLO_BYTES, &hello, &version), 0);
	assert_int_equal(hello.client, some_hello.client);
	assert_int_equal(hello.region_bytes, some_hello.region_bytes);
	assert_int_equal(hello.lane, some_hello.lane);
	assert_int_equal(hello.nr_lanes, some_hello.nr_lanes);
	assert_int_equal(hello.need, some_hello.need);
	assert_int_equal(hello.auth, some_hello.auth);
	assert_int_equal(hello.challenge, some_hello.challenge);
	assert_memory_equal(hello.proof, some_hello.proof, HELLO_PROOF_BYTES);
}

static void welcome_encoded_gives_golden_bytes(void **state)
{
	uint8_t wire[WELCOME_BYTES];

	(void)state;
	memset(wire, UNTOUCHED, sizeof(wire));
	welcome_encode(&some_welcome, wire);
	assert_memory_equal(wire, welcome_wire, sizeof(wire));
}

static void welcome_decoded_gives_every_field(void **state)
{
	struct welcome welcome;
	uint16_t version = 0;

	(void)state;
	assert_int_equal(
		welcome_decode(welcome_wire, WELCOME_BYTES, &welcome, &version),
		0);
	assert_int_equal(welcome.addr, some_welcome.addr);
	assert_int_equal(welcome.bytes, some_welcome.bytes);
	assert_int_equal(welcome.rkey, some_welcome.rkey);
	assert_int_equal(welcome.access, some_welcome.access);
	assert_memory_equal(welcome.proof, some_welcome.proof,
			    WELCOME_PROOF_BYTES);
}

static void refusal_encoded_gives_golden_bytes(void **state)
{
	uint8_t wire[REFUSAL_BYTES];

	(void)state;
	memset(wire, UNTOUCHED, sizeof(wire));
	refusal_encode(&some_refusal, wire);
	assert_memory_equal(wire, refusal_wire, sizeof(wire));
}

static void refusal_decoded_gives_every_field(void **state)
{
	struct refusal refusal;

	(void)state;
	assert_int_equal(refusal_decode(refusal_wire, REFUSAL_BYTES, &refusal),
			 0);
	assert_int_equal(refusal.reason, some_refusal.reason);
	assert_int_equal(refusal.version, some_refusal.version);
	assert_int_equal(refusal.value, some_refusal.value);
}

static void messages_truncated_anywhere_are_refused(void **state)
{
	size_t bytes;

	(void)state;
	for (bytes = 0; bytes < HELLO_BYTES; bytes++)
		assert_int_equal(decode_hello(hello_wire, bytes), -EBADMSG);
	for (bytes = 0; bytes < WELCOME_BYTES; bytes++)
		assert_int_equal(decode_welcome(welcome_wire, bytes), -EBADMSG);
	for (bytes = 0; bytes < REFUSAL_BYTES; bytes++)
		assert_int_equal(decode_refusal(refusal_wire, bytes), -EBADMSG);
	assert_int_equal(decode_hello(NULL, 0), -EBADMSG);
	assert_int_equal(decode_welcome(NULL, 0), -EBADMSG);
	assert_int_equal(decode_refusal(NULL, 0), -EBADMSG);
}

static void messages_padded_by_the_cm_are_taken(void **state)
{
	uint8_t padded[196] = { 0 };

	(void)state;
	memcpy(padded, hello_wire, HELLO_BYTES);
	assert_int_equal(decode_hello(padded, 56), 0);
	memcpy(padded, welcome_wire, WELCOME_BYTES);
	assert_int_equal(decode_welcome(padded, 196), 0);
	memset(padded, 0, sizeof(padded));
	memcpy(padded, refusal_wire, REFUSAL_BYTES);
	assert_int_equal(decode_refusal(padded, 148), 0);
}

static void magic_with_any_bit_flipped_is_refused(void **state)
{
	unsigned int bit;

	(void)state;
	for (bit = 0; bit < 32; bit++) {
		uint8_t wire[WELCOME_BYTES];

		memcpy(wire, hello_wire, HELLO_BYTES);
		wire[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(decode_hello(wire, HELLO_BYTES), -EBADMSG);
		memcpy(wire, welcome_wire, WELCOME_BYTES);
		wire[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(decode_welcome(wire, WELCOME_BYTES), -EBADMSG);
		memcpy(wire, refusal_wire, REFUSAL_BYTES);
		wire[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(decode_refusal(wire, REFUSAL_BYTES), -EBADMSG);
	}
}

static void kind_of_another_message_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_hello(welcome_wire, WELCOME_BYTES), -EBADMSG);
	assert_int_equal(decode_welcome(hello_wire, HELLO_BYTES), -EBADMSG);
	assert_int_equal(decode_refusal(hello_wire, HELLO_BYTES), -EBADMSG);
	assert_int_equal(decode_hello(refusal_wire, REFUSAL_BYTES), -EBADMSG);
}

static void version_of_another_release_is_told(void **state)
{
	static const uint16_t others[] = { 0, 1, 3, 0x0100, 0xffff };
	struct welcome welcome;
	struct hello hello;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint8_t wire[WELCOME_BYTES] = { 0 };
		uint16_t version = 7;

		memcpy(wire, hello_wire, HELLO_BYTES);
		wire[4] = (uint8_t)(others[i] >> 8);
		wire[5] = (uint8_t)others[i];
		assert_int_equal(hello_decode(wire, 8, &hello, &version),
				 -EPROTONOSUPPORT);
		assert_int_equal(version, others[i]);
		wire[7] = 2;
		version = 7;
		assert_int_equal(
			welcome_decode(wire, WELCOME_BYTES, &welcome, &version),
			-EPROTONOSUPPORT);
		assert_int_equal(version, others[i]);
	}
}

static void refusal_of_another_version_is_read(void **state)
{
	struct refusal sent = some_refusal, got;
	uint8_t wire[REFUSAL_BYTES];

	(void)state;
	sent.version = 0x0203;
	sent.reason = 0x0909;
	refusal_encode(&sent, wire);
	assert_int_equal(refusal_decode(wire, sizeof(wire), &got), 0);
	assert_int_equal(got.version, 0x0203);
	assert_int_equal(got.reason, 0x0909);
}

static void refusal_without_a_reason_is_refused(void **state)
{
	struct refusal sent = some_refusal;
	uint8_t wire[REFUSAL_BYTES];

	(void)state;
	sent.reason = 0;
	refusal_encode(&sent, wire);
	assert_int_equal(decode_refusal(wire, sizeof(wire)), -ERANGE);
}

#define check_hello(field_, value_, expected)                      \
	do {                                                       \
		struct hello changed = some_hello;                 \
		changed.field_ = (value_);                         \
		assert_int_equal(hello_with(changed), (expected)); \
	} while (0)

static void hello_with_a_field_out_of_range_is_refused(void **state)
{
	(void)state;
	check_hello(client, 0, -ERANGE);
	check_hello(client, UINT64_MAX, 0);
	check_hello(nr_lanes, 0, -ERANGE);
	check_hello(nr_lanes, 0x00a1, -ERANGE); /* lane == nr_lanes */
	check_hello(nr_lanes, 0x00a2, 0);
	check_hello(nr_lanes, WRB_MAX_LANES, 0);
	check_hello(nr_lanes, WRB_MAX_LANES + 1, -ERANGE);
	check_hello(nr_lanes, UINT16_MAX, -ERANGE);
	check_hello(lane, WRB_MAX_LANES - 1, 0);
	check_hello(lane, WRB_MAX_LANES, -ERANGE);
	check_hello(lane, UINT16_MAX, -ERANGE);
	check_hello(need, 0, -ERANGE);
	check_hello(need, ACCESS_READ, 0);
	check_hello(need, ACCESS_RW + 1, -ERANGE);
	check_hello(need, UINT8_MAX, -ERANGE);
	check_hello(region_bytes, 0, -ERANGE);
	check_hello(region_bytes, 1, 0);
	check_hello(region_bytes, UINT64_C(1) << 48, 0);
	check_hello(region_bytes, (UINT64_C(1) << 48) + 1, -ERANGE);
	check_hello(region_bytes, UINT64_MAX, -ERANGE);
}

#define check_welcome(field_, value_, expected)                      \
	do {                                                         \
		struct welcome changed = some_welcome;               \
		changed.field_ = (value_);                           \
		assert_int_equal(welcome_with(changed), (expected)); \
	} while (0)

static void welcome_with_a_field_out_of_range_is_refused(void **state)
{
	(void)state;
	check_welcome(bytes, 0, -ERANGE);
	check_welcome(bytes, 1, 0);
	check_welcome(bytes, UINT64_C(1) << 48, 0);
	check_welcome(bytes, (UINT64_C(1) << 48) + 1, -ERANGE);
	check_welcome(bytes, UINT64_MAX, -ERANGE);
	check_welcome(addr, 0, 0);
	check_welcome(addr, UINT64_MAX - some_welcome.bytes, 0);
	check_welcome(addr, UINT64_MAX - some_welcome.bytes + 1, -ERANGE);
	check_welcome(addr, UINT64_MAX, -ERANGE);
	check_welcome(access, 0, -ERANGE);
	check_welcome(access, ACCESS_RW + 1, -ERANGE);
	check_welcome(rkey, 0, 0);
	check_welcome(rkey, UINT32_MAX, 0);
}

static void reserved_bytes_that_are_not_zero_are_refused(void **state)
{
	size_t at;

	(void)state;
	for (at = 30; at < 32; at++) {
		uint8_t wire[HELLO_BYTES];

		memcpy(wire, hello_wire, HELLO_BYTES);
		wire[at] = 1;
		assert_int_equal(decode_hello(wire, HELLO_BYTES), -ERANGE);
	}
	for (at = 29; at < WELCOME_PROOF_AT; at++) {
		uint8_t wire[WELCOME_BYTES];

		memcpy(wire, welcome_wire, WELCOME_BYTES);
		wire[at] = 1;
		assert_int_equal(decode_welcome(wire, WELCOME_BYTES), -ERANGE);
	}
}

/* Without a token there is neither challenge nor proof; asking is like that. */
static void hello_with_half_a_proof_is_refused(void **state)
{
	static const uint8_t without[] = { AUTH_NONE, AUTH_ASKS };
	struct hello plain = some_hello;
	size_t i;

	(void)state;
	check_hello(auth, AUTH_PROVES + 1, -ERANGE);
	check_hello(auth, UINT8_MAX, -ERANGE);
	check_hello(challenge, 0, -ERANGE);
	for (i = 0; i < sizeof(without); i++) {
		plain = some_hello;
		plain.auth = without[i];
		assert_int_equal(hello_with(plain), -ERANGE);
		plain.challenge = 0;
		assert_int_equal(hello_with(plain), -ERANGE);
		memset(plain.proof, 0, HELLO_PROOF_BYTES);
		assert_int_equal(hello_with(plain), 0);
		plain.challenge = 1;
		assert_int_equal(hello_with(plain), -ERANGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_encoded_gives_golden_bytes),
		cmocka_unit_test(hello_decoded_gives_every_field),
		cmocka_unit_test(welcome_encoded_gives_golden_bytes),
		cmocka_unit_test(welcome_decoded_gives_every_field),
		cmocka_unit_test(refusal_encoded_gives_golden_bytes),
		cmocka_unit_test(refusal_decoded_gives_every_field),
		cmocka_unit_test(messages_truncated_anywhere_are_refused),
		cmocka_unit_test(messages_padded_by_the_cm_are_taken),
		cmocka_unit_test(magic_with_any_bit_flipped_is_refused),
		cmocka_unit_test(kind_of_another_message_is_refused),
		cmocka_unit_test(version_of_another_release_is_told),
		cmocka_unit_test(refusal_of_another_version_is_read),
		cmocka_unit_test(refusal_without_a_reason_is_refused),
		cmocka_unit_test(hello_with_a_field_out_of_range_is_refused),
		cmocka_unit_test(welcome_with_a_field_out_of_range_is_refused),
		cmocka_unit_test(reserved_bytes_that_are_not_zero_are_refused),
		cmocka_unit_test(hello_with_half_a_proof_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
