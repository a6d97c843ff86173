// SPDX-License-Identifier: GPL-2.0-only
/* Proofs that a shared secret is known, and the challenges they answer. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "token.h"

#define MAC_BYTES   32
#define LABEL_BYTES 16

_Static_assert(HELLO_PROOF_BYTES >= MAC_BYTES / 2, "RFC 2104, section 5");
_Static_assert(WELCOME_PROOF_BYTES == MAC_BYTES, "whole");

/* So that a proof of one side is never one of the other. */
static const char label_initiator[LABEL_BYTES] = "WRBx initiator 2";
static const char label_target[LABEL_BYTES] = "WRBx target    2";

/* -- files ------------------------------------------------------------------ */

static int say_file(const struct engine_env *env, const char *path,
		    const char *what, int err)
{
	env->error(env->arg, "token_file=%s: cannot %s: %s", path, what,
		   strerror(-err));
	return err;
}

/* One byte more than fits shows that there is more. */
static int read_all(int fd, uint8_t *bytes, size_t room)
{
	size_t nr = 0;
	ssize_t got;

	do {
		got = read(fd, bytes + nr, room - nr);
		if (got > 0)
			nr += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : (int)nr;
}

static int take_text(const char *path, const struct engine_env *env,
		     const uint8_t *bytes, int nr, struct conf_token *token)
{
	if (nr && bytes[nr - 1] == '\n')
		nr--;
	if (!nr || nr > CONF_TOKEN_BYTES) {
		env->error(env->arg,
			   "token_file=%s is refused: a token has 1 to %u "
			   "bytes, and a newline at the end of the file does "
			   "not count",
			   path, CONF_TOKEN_BYTES);
		return -EINVAL;
	}
	memcpy(token->bytes, bytes, (size_t)nr);
	token->nr_bytes = (uint16_t)nr;
	return 0;
}

static int read_open_file(const char *path, const struct engine_env *env,
			  int fd, struct conf_token *token)
{
	uint8_t bytes[CONF_TOKEN_BYTES + 2];
	struct stat stat;
	int ret;

	if (fstat(fd, &stat))
		return say_file(env, path, "look at it", -errno);
	if (!S_ISREG(stat.st_mode)) {
		env->error(env->arg, "token_file=%s is no regular file", path);
		return -EINVAL;
	}
	ret = read_all(fd, bytes, sizeof(bytes));
	if (ret < 0)
		return say_file(env, path, "read it", ret);
	ret = take_text(path, env, bytes, ret, token);
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return ret;
}

/* Non-blocking: a FIFO must not hold up whoever names one by mistake. */
int token_read(const char *path, const struct engine_env *env,
	       struct conf_token *token)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return say_file(env, path, "open it", -errno);
	ret = read_open_file(path, env, fd, token);
	close(fd);
	return ret;
}

void token_advise(const char *path, const struct engine_env *env)
{
	struct stat found;

	if (!stat(path, &found) && found.st_mode & S_IROTH)
		env->info(env->arg,
			  "token_file=%s may be read by everyone on this "
			  "host: chmod 600 it",
			  path);
}

/* -- proofs ----------------------------------------------------------------- */

static int mac(const void *key, size_t key_bytes, const void *data,
	       size_t bytes, uint8_t out[MAC_BYTES])
{
	unsigned int length = 0;

	if (!HMAC(EVP_sha256(), key, (int)key_bytes, data, bytes, out,
		  &length) ||
	    length != MAC_BYTES)
		return -EIO;
	return 0;
}

/* What is proven, laid out without padding. */
struct proven {
	char label[LABEL_BYTES];
	struct token_ends ends;
	uint8_t hello[HELLO_BYTES]; /* of an initiator without its proof */
	uint8_t welcome[WELCOME_PROOF_AT]; /* of a target only */
};

_Static_assert(sizeof(struct proven) ==
		       LABEL_BYTES + 32 + HELLO_BYTES + WELCOME_PROOF_AT,
	       "no padding");

static int hello_mac(const struct conf_token *token,
		     const struct token_ends *ends, const uint8_t *hello,
		     uint8_t out[MAC_BYTES])
{
	struct proven data = { .ends = *ends };

	memcpy(data.label, label_initiator, LABEL_BYTES);
	memcpy(data.hello, hello, HELLO_PROOF_AT);
	return mac(token->bytes, token->nr_bytes, &data,
		   offsetof(struct proven, hello) + HELLO_PROOF_AT, out);
}

static int welcome_mac(const struct conf_token *token,
		       const struct token_ends *ends, const uint8_t *hello,
		       const uint8_t *welcome, uint8_t out[MAC_BYTES])
{
	struct proven data = { .ends = *ends };

	memcpy(data.label, label_target, LABEL_BYTES);
	memcpy(data.hello, hello, HELLO_BYTES);
	memcpy(data.welcome, welcome, WELCOME_PROOF_AT);
	return mac(token->bytes, token->nr_bytes, &data, sizeof(data), out);
}

int token_prove_hello(const struct conf_token *token,
		      const struct token_ends *ends, uint8_t hello[HELLO_BYTES])
{
	uint8_t proof[MAC_BYTES];
	int ret = hello_mac(token, ends, hello, proof);

	if (!ret)
		memcpy(hello + HELLO_PROOF_AT, proof, HELLO_PROOF_BYTES);
	return ret;
}

int token_prove_welcome(const struct conf_token *token,
			const struct token_ends *ends,
			const uint8_t hello[HELLO_BYTES],
			uint8_t welcome[WELCOME_BYTES])
{
	uint8_t proof[MAC_BYTES];
	int ret = welcome_mac(token, ends, hello, welcome, proof);

	if (!ret)
		memcpy(welcome + WELCOME_PROOF_AT, proof, WELCOME_PROOF_BYTES);
	return ret;
}

bool token_proves_hello(const struct conf_token *token,
			const struct token_ends *ends,
			const uint8_t hello[HELLO_BYTES])
{
	uint8_t proof[MAC_BYTES];

	return !hello_mac(token, ends, hello, proof) &&
	       !CRYPTO_memcmp(proof, hello + HELLO_PROOF_AT, HELLO_PROOF_BYTES);
}

bool token_proves_welcome(const struct conf_token *token,
			  const struct token_ends *ends,
			  const uint8_t hello[HELLO_BYTES],
			  const uint8_t welcome[WELCOME_BYTES])
{
	uint8_t proof[MAC_BYTES];

	return !welcome_mac(token, ends, hello, welcome, proof) &&
	       !CRYPTO_memcmp(proof, welcome + WELCOME_PROOF_AT,
			      WELCOME_PROOF_BYTES);
}

/* -- challenges ------------------------------------------------------------- */

int challenger_init(struct challenger *challenger)
{
	challenger->epoch = 0;
	if (getrandom(challenger->key, CHALLENGE_KEY_BYTES, 0) !=
	    CHALLENGE_KEY_BYTES)
		return -EIO;
	return 0;
}

/* Compared only by the process that made it, so byte order is no matter. */
struct challenge_data {
	struct in6_addr addr;
	uint64_t client;
	uint64_t epoch;
	int64_t slot;
};

static uint64_t challenge_of(const struct challenger *challenger,
			     const struct in6_addr *addr, uint64_t client,
			     int64_t slot)
{
	const struct challenge_data data = {
		.addr = *addr,
		.client = client,
		.epoch = challenger->epoch,
		.slot = slot,
	};
	uint8_t out[MAC_BYTES];
	uint64_t challenge;

	if (mac(challenger->key, CHALLENGE_KEY_BYTES, &data, sizeof(data), out))
		return 0;
	memcpy(&challenge, out, sizeof(challenge));
	return challenge ? challenge : 1;
}

uint64_t challenger_ask(const struct challenger *challenger,
			const struct in6_addr *addr, uint64_t client,
			int64_t now_ms)
{
	return challenge_of(challenger, addr, client,
			    now_ms / CHALLENGE_SLOT_MS);
}

bool challenger_knows(const struct challenger *challenger,
		      const struct in6_addr *addr, uint64_t client,
		      int64_t now_ms, uint64_t challenge)
{
	int64_t slot = now_ms / CHALLENGE_SLOT_MS;

	return challenge &&
	       (challenge == challenge_of(challenger, addr, client, slot) ||
		challenge == challenge_of(challenger, addr, client, slot - 1));
}

void challenger_forget(struct challenger *challenger)
{
	challenger->epoch++;
}
