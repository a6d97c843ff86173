// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every decoder of the handshake on the same bytes. What it takes has sensible
 * values and is what the encoder makes of them; what it refuses it says nothing
 * about.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "fuzz.h"
#include "handshake.h"

#define UNTOUCHED 0xa5

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			fail(#condition, __LINE__); \
	} while (0)

static _Noreturn void fail(const char *what, int line)
{
	fprintf(stderr, "fuzz_handshake.c:%d: not so: %s\n", line, what);
	abort();
}

static bool is_untouched(const void *memory, size_t bytes)
{
	const uint8_t *at = memory;

	while (bytes--)
		if (*at++ != UNTOUCHED)
			return false;
	return true;
}

/* What a decoder may return, and *version with it. */
static void check_result(int ret, uint16_t version)
{
	CHECK(ret == 0 || ret == -EBADMSG || ret == -EPROTONOSUPPORT ||
	      ret == -ERANGE);
	if (ret == -EPROTONOSUPPORT)
		CHECK(version != HANDSHAKE_VERSION);
}

static void try_hello(const uint8_t *data, size_t size)
{
	uint8_t wire[HELLO_BYTES];
	struct hello hello;
	uint16_t version = HANDSHAKE_VERSION;
	int ret;

	memset(&hello, UNTOUCHED, sizeof(hello));
	ret = hello_decode(data, size, &hello, &version);
	check_result(ret, version);
	if (ret) {
		CHECK(is_untouched(&hello, sizeof(hello)));
		return;
	}
	CHECK(size >= HELLO_BYTES);
	CHECK(hello.client);
	CHECK(hello.nr_lanes >= 1 && hello.nr_lanes <= WRB_MAX_LANES);
	CHECK(hello.lane < hello.nr_lanes);
	CHECK(hello.need >= ACCESS_READ && hello.need <= ACCESS_RW);
	CHECK(hello.region_bytes >= 1 && hello.region_bytes <= UINT64_C(1)
								       << 48);
	hello_encode(&hello, wire);
	CHECK(!memcmp(wire, data, HELLO_BYTES));
}

static void try_welcome(const uint8_t *data, size_t size)
{
	uint8_t wire[WELCOME_BYTES];
	struct welcome welcome;
	uint16_t version = HANDSHAKE_VERSION;
	int ret;

	memset(&welcome, UNTOUCHED, sizeof(welcome));
	ret = welcome_decode(data, size, &welcome, &version);
	check_result(ret, version);
	if (ret) {
		CHECK(is_untouched(&welcome, sizeof(welcome)));
		return;
	}
	CHECK(size >= WELCOME_BYTES);
	CHECK(welcome.bytes >= 1 && welcome.bytes <= UINT64_C(1) << 48);
	CHECK(welcome.addr <= UINT64_MAX - welcome.bytes);
	CHECK(welcome.access >= ACCESS_READ && welcome.access <= ACCESS_RW);
	welcome_encode(&welcome, wire);
	CHECK(!memcmp(wire, data, WELCOME_BYTES));
}

/* Of a refusal not every byte is looked at: what was read must come back. */
static void try_refusal(const uint8_t *data, size_t size)
{
	struct refusal refusal, again;
	uint8_t wire[REFUSAL_BYTES];
	int ret;

	memset(&refusal, UNTOUCHED, sizeof(refusal));
	ret = refusal_decode(data, size, &refusal);
	CHECK(ret == 0 || ret == -EBADMSG || ret == -ERANGE);
	if (ret) {
		CHECK(is_untouched(&refusal, sizeof(refusal)));
		return;
	}
	CHECK(size >= REFUSAL_BYTES);
	CHECK(refusal.reason);
	refusal_encode(&refusal, wire);
	CHECK(!refusal_decode(wire, sizeof(wire), &again));
	CHECK(again.reason == refusal.reason);
	CHECK(again.version == refusal.version);
	CHECK(again.value == refusal.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of its own size, so that a byte beyond it is noticed. */
	uint8_t *copy = calloc(1, size ? size : 1);

	CHECK(copy);
	if (size)
		memcpy(copy, data, size);
	try_hello(copy, size);
	try_welcome(copy, size);
	try_refusal(copy, size);
	free(copy);
	return 0;
}
