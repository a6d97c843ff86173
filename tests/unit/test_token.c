// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proofs of a token and the challenges that they answer. The golden bytes were
 * computed apart, with Python's hmac module.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "token.h"

static const struct conf_token some_token = { 11, "open sesame" };

static const struct token_ends some_ends = {
	.initiator.s6_addr = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
	.target.s6_addr = { 0xfd, [15] = 7 },
};

static const struct hello some_hello = {
	.client = UINT64_C(0x0102030405060708),
	.region_bytes = UINT64_C(0x112233445566),
	.lane = 3,
	.nr_lanes = 4,
	.need = ACCESS_RW,
	.auth = AUTH_PROVES,
	.challenge = UINT64_C(0xc1c2c3c4c5c6c7c8),
};

static const struct welcome some_welcome = {
	.addr = UINT64_C(0x7f0011223344f000),
	.bytes = UINT64_C(0x40000000),
	.rkey = 0x89abcdef,
	.access = ACCESS_READ,
};

static const uint8_t hello_proof[HELLO_PROOF_BYTES] = {
	0x81, 0x57, 0xe3, 0xf0, 0x68, 0x10, 0xcf, 0x3e,
	0x3c, 0xb9, 0xd1, 0xfe, 0x9c, 0x0a, 0x30, 0x0b
};

static const uint8_t welcome_proof[WELCOME_PROOF_BYTES] = {
	0xdc, 0xab, 0x23, 0xa7, 0x17, 0xa1, 0xf2, 0xce, 0xd4, 0x78, 0x80,
	0x0d, 0xa3, 0xbd, 0x2a, 0xd1, 0xd3, 0xeb, 0x48, 0xb1, 0x22, 0x41,
	0x9b, 0x5f, 0x00, 0xc4, 0x3a, 0xa3, 0x3d, 0xc6, 0xda, 0x95
};

static void make_hello(uint8_t wire[HELLO_BYTES])
{
	hello_encode(&some_hello, wire);
	assert_int_equal(token_prove_hello(&some_token, &some_ends, wire), 0);
}

static void make_welcome(const uint8_t hello[HELLO_BYTES],
			 uint8_t wire[WELCOME_BYTES])
{
	welcome_encode(&some_welcome, wire);
	assert_int_equal(
		token_prove_welcome(&some_token, &some_ends, hello, wire), 0);
}

static void proofs_have_golden_bytes(void **state)
{
	uint8_t hello[HELLO_BYTES], welcome[WELCOME_BYTES];

	(void)state;
	make_hello(hello);
	assert_memory_equal(hello + HELLO_PROOF_AT, hello_proof,
			    HELLO_PROOF_BYTES);
	make_welcome(hello, welcome);
	assert_memory_equal(welcome + WELCOME_PROOF_AT, welcome_proof,
			    WELCOME_PROOF_BYTES);
}

static void proofs_are_taken_by_who_knows_the_token(void **state)
{
	uint8_t hello[HELLO_BYTES], welcome[WELCOME_BYTES];

	(void)state;
	make_hello(hello);
	make_welcome(hello, welcome);
	assert_true(token_proves_hello(&some_token, &some_ends, hello));
	assert_true(
		token_proves_welcome(&some_token, &some_ends, hello, welcome));
}

static void hello_with_any_bit_flipped_proves_nothing(void **state)
{
	uint8_t wire[HELLO_BYTES];
	unsigned int bit;

	(void)state;
	make_hello(wire);
	for (bit = 0; bit < HELLO_BYTES * 8; bit++) {
		wire[bit / 8] ^= 1u << bit % 8;
		assert_false(token_proves_hello(&some_token, &some_ends, wire));
		wire[bit / 8] ^= 1u << bit % 8;
	}
	assert_true(token_proves_hello(&some_token, &some_ends, wire));
}

/* Nor with another hello than the one that it answers. */
static void welcome_with_any_bit_flipped_proves_nothing(void **state)
{
	uint8_t hello[HELLO_BYTES], wire[WELCOME_BYTES];
	unsigned int bit;

	(void)state;
	make_hello(hello);
	make_welcome(hello, wire);
	for (bit = 0; bit < WELCOME_BYTES * 8; bit++) {
		wire[bit / 8] ^= 1u << bit % 8;
		assert_false(token_proves_welcome(&some_token, &some_ends,
						  hello, wire));
		wire[bit / 8] ^= 1u << bit % 8;
	}
	for (bit = 0; bit < HELLO_BYTES * 8; bit++) {
		hello[bit / 8] ^= 1u << bit % 8;
		assert_false(token_proves_welcome(&some_token, &some_ends,
						  hello, wire));
		hello[bit / 8] ^= 1u << bit % 8;
	}
}

static void proof_between_other_addresses_is_none(void **state)
{
	uint8_t hello[HELLO_BYTES], welcome[WELCOME_BYTES];
	struct token_ends ends = some_ends;

	(void)state;
	make_hello(hello);
	make_welcome(hello, welcome);
	ends.initiator.s6_addr[15]++;
	assert_false(token_proves_hello(&some_token, &ends, hello));
	assert_false(token_proves_welcome(&some_token, &ends, hello, welcome));
	ends = some_ends;
	ends.target.s6_addr[15]++;
	assert_false(token_proves_hello(&some_token, &ends, hello));
	assert_false(token_proves_welcome(&some_token, &ends, hello, welcome));
	ends.target = some_ends.initiator;
	ends.initiator = some_ends.target;
	assert_false(token_proves_hello(&some_token, &ends, hello));
}

static void proof_with_another_token_is_none(void **state)
{
	struct conf_token other = some_token;
	uint8_t hello[HELLO_BYTES], welcome[WELCOME_BYTES];

	(void)state;
	make_hello(hello);
	make_welcome(hello, welcome);
	other.nr_bytes--;
	assert_false(token_proves_hello(&other, &some_ends, hello));
	other.nr_bytes += 2;
	other.bytes[11] = 'x';
	assert_false(token_proves_hello(&other, &some_ends, hello));
	other = some_token;
	other.bytes[0] ^= 1;
	assert_false(token_proves_hello(&other, &some_ends, hello));
	assert_false(token_proves_welcome(&other, &some_ends, hello, welcome));
}

/* What an initiator has proven, sent back to it. */
static void proof_of_one_side_is_none_of_the_other(void **state)
{
	uint8_t hello[HELLO_BYTES], welcome[WELCOME_BYTES];

	(void)state;
	make_hello(hello);
	welcome_encode(&some_welcome, welcome);
	memcpy(welcome + WELCOME_PROOF_AT, hello + HELLO_PROOF_AT,
	       HELLO_PROOF_BYTES);
	assert_false(
		token_proves_welcome(&some_token, &some_ends, hello, welcome));
}

/* -- challenges ------------------------------------------------------------- */

#define NOW INT64_C(1234567)

static uint64_t challenge_to(const struct challenger *c, uint64_t client)
{
	return challenger_ask(c, &some_ends.initiator, client, NOW);
}

static bool known(const struct challenger *c, int64_t now, uint64_t challenge)
{
	return challenger_knows(c, &some_ends.initiator, 1, now, challenge);
}

static void challenge_is_known_for_a_while(void **state)
{
	const int64_t slot = NOW / CHALLENGE_SLOT_MS * CHALLENGE_SLOT_MS;
	struct challenger c;
	uint64_t challenge;

	(void)state;
	assert_int_equal(challenger_init(&c), 0);
	challenge = challenge_to(&c, 1);
	assert_true(challenge != 0);
	assert_true(known(&c, NOW, challenge));
	assert_true(known(&c, slot + CHALLENGE_SLOT_MS, challenge));
	assert_true(known(&c, slot + 2 * CHALLENGE_SLOT_MS - 1, challenge));
	assert_false(known(&c, slot + 2 * CHALLENGE_SLOT_MS, challenge));
	assert_false(known(&c, slot - 1, challenge));
}

static void challenge_is_known_from_whom_it_was_given_to(void **state)
{
	struct challenger c, other;
	uint64_t challenge;

	(void)state;
	assert_int_equal(challenger_init(&c), 0);
	assert_int_equal(challenger_init(&other), 0);
	challenge = challenge_to(&c, 1);
	assert_false(known(&c, NOW, 0));
	assert_false(known(&c, NOW, challenge + 1));
	assert_false(known(&c, NOW, challenge_to(&c, 2)));
	assert_false(known(&other, NOW, challenge));
	assert_false(
		challenger_knows(&c, &some_ends.target, 1, NOW, challenge));
}

static void challenge_that_was_forgotten_is_not_known(void **state)
{
	struct challenger c;
	uint64_t challenge;

	(void)state;
	assert_int_equal(challenger_init(&c), 0);
	challenge = challenge_to(&c, 1);
	challenger_forget(&c);
	assert_false(known(&c, NOW, challenge));
	challenge = challenge_to(&c, 1);
	assert_true(known(&c, NOW, challenge));
}

/* -- files ------------------------------------------------------------------ */

static unsigned int nr_errors, nr_infos;

__attribute__((__format__(__printf__, 2, 3))) static void
count(void *arg, const char *fmt, ...)
{
	(void)fmt;
	++*(unsigned int *)arg;
}

__attribute__((__format__(__printf__, 2, 3))) static void
count_info(void *arg, const char *fmt, ...)
{
	(void)arg;
	(void)fmt;
	nr_infos++;
}

static const struct engine_env env = {
	.arg = &nr_errors,
	.error = count,
	.info = count_info,
};

/* token_read() of a file with these bytes, or of none. */
static int read_file(const void *bytes, size_t nr, unsigned int mode,
		     struct conf_token *token)
{
	char path[] = "/tmp/test_token.XXXXXX";
	int fd = mkstemp(path);
	int ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, nr), nr);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	nr_errors = 0;
	nr_infos = 0;
	ret = token_read(path, &env, token);
	token_advise(path, &env);
	unlink(path);
	assert_int_equal(nr_errors, !!ret);
	return ret;
}

static void file_is_read_without_its_last_newline(void **state)
{
	struct conf_token token = { 0 };

	(void)state;
	assert_int_equal(read_file("open sesame\n", 12, 0600, &token), 0);
	assert_int_equal(token.nr_bytes, 11);
	assert_memory_equal(token.bytes, "open sesame", 11);
	assert_int_equal(read_file("open sesame", 11, 0600, &token), 0);
	assert_int_equal(token.nr_bytes, 11);
	assert_int_equal(read_file(" a\n\n", 4, 0600, &token), 0);
	assert_int_equal(token.nr_bytes, 3);
	assert_int_equal(read_file("\0\r\n", 3, 0600, &token), 0);
	assert_int_equal(token.nr_bytes, 2);
	assert_int_equal(nr_infos, 0);
}

static void file_that_is_empty_or_too_long_is_refused(void **state)
{
	static uint8_t bytes[CONF_TOKEN_BYTES + 2];
	struct conf_token token = { 0 };

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(read_file("", 0, 0600, &token), -EINVAL);
	assert_int_equal(read_file("\n", 1, 0600, &token), -EINVAL);
	assert_int_equal(read_file(bytes, CONF_TOKEN_BYTES + 1, 0600, &token),
			 -EINVAL);
	assert_int_equal(read_file(bytes, CONF_TOKEN_BYTES + 2, 0600, &token),
			 -EINVAL);
	assert_int_equal(token.nr_bytes, 0);
	assert_int_equal(read_file(bytes, CONF_TOKEN_BYTES, 0600, &token), 0);
	assert_int_equal(token.nr_bytes, CONF_TOKEN_BYTES);
	bytes[CONF_TOKEN_BYTES] = '\n';
	assert_int_equal(read_file(bytes, CONF_TOKEN_BYTES + 1, 0600, &token),
			 0);
	bytes[CONF_TOKEN_BYTES + 1] = '\n';
	assert_int_equal(read_file(bytes, CONF_TOKEN_BYTES + 2, 0600, &token),
			 -EINVAL);
}

static void file_that_all_may_read_is_told(void **state)
{
	struct conf_token token;

	(void)state;
	assert_int_equal(read_file("x", 1, 0644, &token), 0);
	assert_int_equal(nr_infos, 1);
	assert_int_equal(read_file("x", 1, 0640, &token), 0);
	assert_int_equal(nr_infos, 0);
}

static void file_that_is_none_is_refused(void **state)
{
	struct conf_token token;

	(void)state;
	nr_errors = 0;
	assert_int_equal(token_read("/nowhere/at/all", &env, &token), -ENOENT);
	assert_int_equal(token_read("/", &env, &token), -EINVAL);
	assert_int_equal(token_read("/dev/null", &env, &token), -EINVAL);
	assert_int_equal(nr_errors, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proofs_have_golden_bytes),
		cmocka_unit_test(proofs_are_taken_by_who_knows_the_token),
		cmocka_unit_test(hello_with_any_bit_flipped_proves_nothing),
		cmocka_unit_test(welcome_with_any_bit_flipped_proves_nothing),
		cmocka_unit_test(proof_between_other_addresses_is_none),
		cmocka_unit_test(proof_with_another_token_is_none),
		cmocka_unit_test(proof_of_one_side_is_none_of_the_other),
		cmocka_unit_test(challenge_is_known_for_a_while),
		cmocka_unit_test(challenge_is_known_from_whom_it_was_given_to),
		cmocka_unit_test(challenge_that_was_forgotten_is_not_known),
		cmocka_unit_test(file_is_read_without_its_last_newline),
		cmocka_unit_test(file_that_is_empty_or_too_long_is_refused),
		cmocka_unit_test(file_that_all_may_read_is_told),
		cmocka_unit_test(file_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
