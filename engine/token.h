/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A secret that initiator and target share: each proves that it knows it and
 * neither sends it. A proof is an HMAC-SHA-256, keyed with the token, over a
 * label of the side that proves, the addresses of both ends, and the messages
 * up to the proof. With the addresses a proof cannot be passed on to a target
 * elsewhere, or by somebody elsewhere.
 *
 * An initiator's proof is fresh because its hello answers the target's
 * challenge, a target's because it covers the hello, with the random number of
 * the client in it.
 */
#ifndef ENGINE_TOKEN_H
#define ENGINE_TOKEN_H

#include <netinet/in.h>

#include "conf.h"
#include "env.h"
#include "handshake.h"

/*
 * Reads a token from a file, without the newline at its end. 0, or -errno
 * after one sentence.
 */
int token_read(const char *path, const struct engine_env *env,
	       struct conf_token *token);

/* Says so if everyone may read the file. */
void token_advise(const char *path, const struct engine_env *env);

/* Of a connection, as allow_addr() gives them. */
struct token_ends {
	struct in6_addr initiator;
	struct in6_addr target;
};

/* Write the proof into a message that is encoded else. 0 or -EIO. */
int token_prove_hello(const struct conf_token *token,
		      const struct token_ends *ends,
		      uint8_t hello[HELLO_BYTES]);
int token_prove_welcome(const struct conf_token *token,
			const struct token_ends *ends,
			const uint8_t hello[HELLO_BYTES],
			uint8_t welcome[WELCOME_BYTES]);

/* In a time that does not depend on where proofs differ. */
bool token_proves_hello(const struct conf_token *token,
			const struct token_ends *ends,
			const uint8_t hello[HELLO_BYTES]);
bool token_proves_welcome(const struct conf_token *token,
			  const struct token_ends *ends,
			  const uint8_t hello[HELLO_BYTES],
			  const uint8_t welcome[WELCOME_BYTES]);

/* Challenges need no memory: each is computed again when it is answered. */
#define CHALLENGE_KEY_BYTES 32
#define CHALLENGE_SLOT_MS   10000 /* good for one of these, or two */

struct challenger {
	uint8_t key[CHALLENGE_KEY_BYTES]; /* random, never leaves the process */
	uint64_t epoch;			  /* see challenger_forget() */
};

/* 0 or -errno. */
int challenger_init(struct challenger *challenger);

/* The challenge for a client at an address; 0 if libcrypto fails. */
uint64_t challenger_ask(const struct challenger *challenger,
			const struct in6_addr *addr, uint64_t client,
			int64_t now_ms);
bool challenger_knows(const struct challenger *challenger,
		      const struct in6_addr *addr, uint64_t client,
		      int64_t now_ms, uint64_t challenge);

/*
 * All challenges so far are void. To be called whenever an answer has been
 * used up, so that none is good twice.
 */
void challenger_forget(struct challenger *challenger);

#endif /* ENGINE_TOKEN_H */
