/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What initiator and target say to each other in the CM's private data: wire
 * format with magic and version, big-endian. Pure: encodes and decodes,
 * nothing else; every field is checked.
 *
 * Private data that the RDMA CM lets through on InfiniBand and RoCE: 56 bytes
 * in a REQ, 196 in a REP, 148 in a REJ. The receiver sees the field padded
 * with zeros, so a decoder takes longer input.
 */
#ifndef ENGINE_HANDSHAKE_H
#define ENGINE_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#define HANDSHAKE_VERSION 2
#define HELLO_BYTES	  56 /* <= 56 */
#define WELCOME_BYTES	  72 /* <= 196 */
#define REFUSAL_BYTES	  24 /* <= 148 */

/* Where a message ends and the proof of its sender begins; see token.h. */
#define HELLO_PROOF_AT	    40
#define HELLO_PROOF_BYTES   (HELLO_BYTES - HELLO_PROOF_AT)
#define WELCOME_PROOF_AT    40
#define WELCOME_PROOF_BYTES (WELCOME_BYTES - WELCOME_PROOF_AT)

/* What an initiator says of a token. */
enum hello_auth {
	AUTH_NONE = 0,	 /* it has none; no challenge, no proof */
	AUTH_ASKS = 1,	 /* it has one, and no challenge to answer yet */
	AUTH_PROVES = 2, /* the hello answers the challenge in it */
};

/* Initiator -> target, in the REQ of each lane. */
struct hello {
	uint64_t client; /* random, not 0, the same for all lanes of a client */
	uint16_t lane;	 /* 0..nr_lanes - 1 */
	uint16_t nr_lanes;     /* 1..WRB_MAX_LANES */
	uint8_t need;	       /* enum conf_access */
	uint8_t auth;	       /* enum hello_auth */
	uint64_t region_bytes; /* least that the job needs, 1..2^48 */
	uint64_t challenge;    /* not 0 with AUTH_PROVES, else 0 */
	uint8_t proof[HELLO_PROOF_BYTES]; /* zero without AUTH_PROVES */
};

/* Target -> initiator, in the REP. */
struct welcome {
	uint64_t addr;	/* addr + bytes does not wrap */
	uint64_t bytes; /* 1..2^48 */
	uint32_t rkey;
	uint8_t access;			    /* enum conf_access */
	uint8_t proof[WELCOME_PROOF_BYTES]; /* zero without a token */
};

enum refusal_reason {
	REFUSED_MAGIC = 1,	/* not ours: no engine of this kind */
	REFUSED_VERSION = 2,	/* value: the target's version */
	REFUSED_LANE = 3,	/* lane out of range, or twice */
	REFUSED_SIZE = 4,	/* value: the region's bytes */
	REFUSED_ACCESS = 5,	/* value: enum conf_access that is allowed */
	REFUSED_RESOURCES = 6,	/* value: the errno at the target */
	REFUSED_ENDING = 7,	/* the target is on its way out */
	REFUSED_FIELD = 8,	/* a field has no sensible value */
	REFUSED_ADDRESS = 9,	/* not in the target's allow= */
	REFUSED_CLIENTS = 10,	/* value: the target's max_clients= */
	REFUSED_QPS = 11,	/* value: the target's max_qps= */
	REFUSED_CHALLENGE = 12, /* value: not 0; come again and answer it */
	REFUSED_NO_TOKEN = 13,	/* the target wants one, the hello has none */
	REFUSED_TOKEN = 14,	/* the proof is wrong */
	REFUSED_TOKENLESS = 15, /* the hello has one, the target has none */
};

/* Target -> initiator, in the REJ. */
struct refusal {
	uint16_t reason;  /* not 0; a later version may have more of them */
	uint16_t version; /* the target's; written by the encoder's caller */
	uint64_t value;
};

void hello_encode(const struct hello *hello, uint8_t wire[HELLO_BYTES]);
void welcome_encode(const struct welcome *w, uint8_t wire[WELCOME_BYTES]);
void refusal_encode(const struct refusal *r, uint8_t wire[REFUSAL_BYTES]);

/*
 * 0; -EBADMSG: no magic of ours, another kind of message, or too short;
 * -EPROTONOSUPPORT: another version, written to *version; -ERANGE: a field has
 * no sensible value, or what is reserved is not zero.
 */
int hello_decode(const void *wire, size_t bytes, struct hello *hello,
		 uint16_t *version);
int welcome_decode(const void *wire, size_t bytes, struct welcome *w,
		   uint16_t *version);
/*
 * 0, -EBADMSG or -ERANGE, as above. A refusal's layout is the same in every
 * version, so that two versions can tell each other why they part.
 */
int refusal_decode(const void *wire, size_t bytes, struct refusal *r);

#endif /* ENGINE_HANDSHAKE_H */
