// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encodes and decodes the handshake. On the wire, big-endian:
 *
 *	 0  magic "WRBx"	4
 *	 4  version		2
 *	 6  kind		2
 *	hello:   8 client 8, 16 region_bytes 8, 24 lane 2, 26 nr_lanes 2,
 *		28 need 1, 29 auth 1, 30 zero 2, 32 challenge 8, 40 proof 16
 *	welcome: 8 addr 8, 16 bytes 8, 24 rkey 4, 28 access 1, 29 zero 11,
 *		40 proof 32
 *	refusal: 8 reason 2, 10 zero 6 (not looked at), 16 value 8
 */
#include <errno.h>
#include <string.h>

#include "conf.h"
#include "handshake.h"

#define HANDSHAKE_MAGIC	 0x57524278u
#define HEADER_BYTES	 8
#define MAX_REGION_BYTES (UINT64_C(1) << 48)

enum kind { KIND_HELLO = 1, KIND_WELCOME = 2, KIND_REFUSAL = 3 };

static void put(uint8_t *at, uint64_t value, unsigned int bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static uint64_t get(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static bool is_zero(const uint8_t *at, size_t bytes)
{
	while (bytes--)
		if (*at++)
			return false;
	return true;
}

static void header_encode(uint8_t *wire, size_t bytes, uint16_t version,
			  enum kind kind)
{
	memset(wire, 0, bytes);
	put(wire, HANDSHAKE_MAGIC, 4);
	put(wire + 4, version, 2);
	put(wire + 6, kind, 2);
}

static bool header_matches(const uint8_t *wire, size_t bytes, size_t least,
			   enum kind kind)
{
	return wire && bytes >= least && get(wire, 4) == HANDSHAKE_MAGIC &&
	       get(wire + 6, 2) == kind;
}

/* Another version's message may be shorter: its header is enough. */
static int header_decode(const uint8_t *wire, size_t bytes, size_t least,
			 enum kind kind, uint16_t *version)
{
	if (!header_matches(wire, bytes, HEADER_BYTES, kind))
		return -EBADMSG;
	if (get(wire + 4, 2) != HANDSHAKE_VERSION) {
		*version = (uint16_t)get(wire + 4, 2);
		return -EPROTONOSUPPORT;
	}
	return bytes < least ? -EBADMSG : 0;
}

static bool is_region_size(uint64_t bytes)
{
	return bytes >= 1 && bytes <= MAX_REGION_BYTES;
}

static bool is_access(uint8_t access)
{
	return access >= 1 && access <= ACCESS_RW;
}

void hello_encode(const struct hello *hello, uint8_t wire[HELLO_BYTES])
{
	header_encode(wire, HELLO_BYTES, HANDSHAKE_VERSION, KIND_HELLO);
	put(wire + 8, hello->client, 8);
	put(wire + 16, hello->region_bytes, 8);
	put(wire + 24, hello->lane, 2);
	put(wire + 26, hello->nr_lanes, 2);
	put(wire + 28, hello->need, 1);
	put(wire + 29, hello->auth, 1);
	put(wire + 32, hello->challenge, 8);
	memcpy(wire + HELLO_PROOF_AT, hello->proof, HELLO_PROOF_BYTES);
}

static bool auth_makes_sense(const struct hello *hello)
{
	if (hello->auth == AUTH_PROVES)
		return hello->challenge;
	return (hello->auth == AUTH_NONE || hello->auth == AUTH_ASKS) &&
	       !hello->challenge && is_zero(hello->proof, HELLO_PROOF_BYTES);
}

static bool hello_makes_sense(const struct hello *hello)
{
	return hello->client && hello->nr_lanes &&
	       hello->nr_lanes <= WRB_MAX_LANES &&
	       hello->lane < hello->nr_lanes && is_access(hello->need) &&
	       is_region_size(hello->region_bytes) && auth_makes_sense(hello);
}

int hello_decode(const void *wire, size_t bytes, struct hello *hello,
		 uint16_t *version)
{
	const uint8_t *at = wire;
	struct hello found;
	int ret;

	ret = header_decode(at, bytes, HELLO_BYTES, KIND_HELLO, version);
	if (ret)
		return ret;
	found = (struct hello){
		.client = get(at + 8, 8),
		.region_bytes = get(at + 16, 8),
		.lane = (uint16_t)get(at + 24, 2),
		.nr_lanes = (uint16_t)get(at + 26, 2),
		.need = at[28],
		.auth = at[29],
		.challenge = get(at + 32, 8),
	};
	memcpy(found.proof, at + HELLO_PROOF_AT, HELLO_PROOF_BYTES);
	if (!hello_makes_sense(&found) || !is_zero(at + 30, 2))
		return -ERANGE;
	*hello = found;
	return 0;
}

void welcome_encode(const struct welcome *w, uint8_t wire[WELCOME_BYTES])
{
	header_encode(wire, WELCOME_BYTES, HANDSHAKE_VERSION, KIND_WELCOME);
	put(wire + 8, w->addr, 8);
	put(wire + 16, w->bytes, 8);
	put(wire + 24, w->rkey, 4);
	put(wire + 28, w->access, 1);
	memcpy(wire + WELCOME_PROOF_AT, w->proof, WELCOME_PROOF_BYTES);
}

static bool welcome_makes_sense(const struct welcome *w)
{
	return is_region_size(w->bytes) && w->addr <= UINT64_MAX - w->bytes &&
	       is_access(w->access);
}

int welcome_decode(const void *wire, size_t bytes, struct welcome *w,
		   uint16_t *version)
{
	const uint8_t *at = wire;
	struct welcome found;
	int ret;

	ret = header_decode(at, bytes, WELCOME_BYTES, KIND_WELCOME, version);
	if (ret)
		return ret;
	found = (struct welcome){
		.addr = get(at + 8, 8),
		.bytes = get(at + 16, 8),
		.rkey = (uint32_t)get(at + 24, 4),
		.access = at[28],
	};
	memcpy(found.proof, at + WELCOME_PROOF_AT, WELCOME_PROOF_BYTES);
	if (!welcome_makes_sense(&found) ||
	    !is_zero(at + 29, WELCOME_PROOF_AT - 29))
		return -ERANGE;
	*w = found;
	return 0;
}

void refusal_encode(const struct refusal *r, uint8_t wire[REFUSAL_BYTES])
{
	header_encode(wire, REFUSAL_BYTES, r->version, KIND_REFUSAL);
	put(wire + 8, r->reason, 2);
	put(wire + 16, r->value, 8);
}

int refusal_decode(const void *wire, size_t bytes, struct refusal *r)
{
	const uint8_t *at = wire;

	if (!header_matches(at, bytes, REFUSAL_BYTES, KIND_REFUSAL))
		return -EBADMSG;
	if (!get(at + 8, 2))
		return -ERANGE;
	*r = (struct refusal){
		.reason = (uint16_t)get(at + 8, 2),
		.version = (uint16_t)get(at + 4, 2),
		.value = get(at + 16, 8),
	};
	return 0;
}
