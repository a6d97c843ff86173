// SPDX-License-Identifier: GPL-2.0-only
/* Checks connection requests; says why one was refused. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gate.h"

#define info(g, ...) ((g)->env->info((g)->env->arg, __VA_ARGS__))

int gate_init(struct gate *gate, const struct engine_conf *conf,
	      const struct engine_env *env, const struct region_mem *mem)
{
	int ret;

	*gate = (struct gate){ .conf = conf, .env = env, .mem = mem };
	ret = challenger_init(&gate->challenger);
	if (ret)
		env->error(env->arg, "the kernel gives no random numbers: %s",
			   strerror(-ret));
	return ret;
}

static int refused(struct refusal *no, uint16_t reason, uint64_t value, int err)
{
	no->reason = reason;
	no->value = value;
	return err;
}

static int check_form(const struct cm_event *request, struct hello *hello,
		      struct refusal *no)
{
	uint16_t version;

	switch (hello_decode(request->private_data, request->private_len, hello,
			     &version)) {
	case 0:
		return 0;
	case -EPROTONOSUPPORT:
		return refused(no, REFUSED_VERSION, 0, -EPROTO);
	case -ERANGE:
		return refused(no, REFUSED_FIELD, 0, -EPROTO);
	default:
		return refused(no, REFUSED_MAGIC, 0, -EPROTO);
	}
}

/* Asks for a proof. Costs one HMAC, and no memory, for whoever knocks. */
static int ask(const struct gate *gate, const struct in6_addr *addr,
	       const struct hello *hello, struct refusal *no)
{
	uint64_t challenge = challenger_ask(&gate->challenger, addr,
					    hello->client, cm_now_ms());

	if (!challenge)
		return refused(no, REFUSED_RESOURCES, EIO, -EIO);
	return refused(no, REFUSED_CHALLENGE, challenge, -EACCES);
}

static int find_ends(struct rdma_cm_id *id, struct token_ends *ends)
{
	if (!allow_addr(rdma_get_peer_addr(id), &ends->initiator) ||
	    !allow_addr(rdma_get_local_addr(id), &ends->target))
		return -EAFNOSUPPORT;
	return 0;
}

static int check_proof(const struct gate *gate, const struct cm_event *request,
		       const struct hello *hello, struct refusal *no)
{
	struct token_ends ends;

	if (find_ends(request->id, &ends))
		return refused(no, REFUSED_ADDRESS, 0, -EACCES);
	if (hello->auth == AUTH_ASKS ||
	    !challenger_knows(&gate->challenger, &ends.initiator, hello->client,
			      cm_now_ms(), hello->challenge))
		return ask(gate, &ends.initiator, hello, no);
	if (!token_proves_hello(&gate->conf->token, &ends,
				request->private_data))
		return refused(no, REFUSED_TOKEN, 0, -EACCES);
	return 0;
}

static int check_token(const struct gate *gate, const struct cm_event *request,
		       const struct hello *hello, struct refusal *no)
{
	bool wanted = gate->conf->token.nr_bytes;

	if (!wanted && hello->auth == AUTH_NONE)
		return 0;
	if (!wanted)
		return refused(no, REFUSED_TOKENLESS, 0, -EACCES);
	if (hello->auth == AUTH_NONE)
		return refused(no, REFUSED_NO_TOKEN, 0, -EACCES);
	return check_proof(gate, request, hello, no);
}

static int check_need(const struct gate *gate, const struct hello *hello,
		      struct refusal *no)
{
	enum conf_access access = gate->conf->access;

	if (hello->region_bytes > gate->mem->bytes)
		return refused(no, REFUSED_SIZE, gate->mem->bytes, -ENOSPC);
	if (hello->need & ~(unsigned int)access)
		return refused(no, REFUSED_ACCESS, access, -EACCES);
	return 0;
}

int gate_check(const struct gate *gate, const struct cm_event *request,
	       struct hello *hello, struct refusal *no)
{
	int ret;

	if (!allow_takes(&gate->conf->allow, rdma_get_peer_addr(request->id)))
		return refused(no, REFUSED_ADDRESS, 0, -EACCES);
	ret = check_form(request, hello, no);
	if (!ret)
		ret = check_token(gate, request, hello, no);
	if (!ret)
		ret = check_need(gate, hello, no);
	return ret;
}

int gate_prove(const struct gate *gate, const struct cm_event *request,
	       uint8_t welcome[WELCOME_BYTES])
{
	struct token_ends ends;
	int ret;

	if (!gate->conf->token.nr_bytes)
		return 0;
	ret = find_ends(request->id, &ends);
	if (ret)
		return ret;
	return token_prove_welcome(&gate->conf->token, &ends,
				   request->private_data, welcome);
}

void gate_forget(struct gate *gate)
{
	challenger_forget(&gate->challenger);
}

static const char *refusal_text(uint16_t reason)
{
	switch (reason) {
	case REFUSED_MAGIC:
		return "it is no initiator of this engine";
	case REFUSED_VERSION:
		return "it speaks another version of the handshake: use the "
		       "same release on both sides";
	case REFUSED_LANE:
		return "its lane is out of range or taken";
	case REFUSED_SIZE:
		return "it needs a larger region";
	case REFUSED_ACCESS:
		return "it needs more than access= allows";
	case REFUSED_ENDING:
		return "all clients=N have come";
	case REFUSED_ADDRESS:
		return "its address is not in allow=";
	case REFUSED_CLIENTS:
		return "max_clients= are here already";
	case REFUSED_QPS:
		return "max_qps= would be exceeded";
	case REFUSED_NO_TOKEN:
		return "it has no token, and this target wants one";
	case REFUSED_TOKEN:
		return "its token is another one";
	case REFUSED_TOKENLESS:
		return "it has a token, and this target none: set token_file= "
		       "here, or leave it out there";
	default:
		return "a field of its hello has no sensible value";
	}
}

void gate_say(const struct gate *gate, struct rdma_cm_id *id,
	      const struct refusal *refusal)
{
	char peer[CM_ADDR_TEXT], hint[CM_HINT_TEXT];
	int err = (int)refusal->value;

	cm_addr_text(rdma_get_peer_addr(id), peer);
	if (refusal->reason != REFUSED_RESOURCES)
		info(gate, "refused %s: %s", peer,
		     refusal_text(refusal->reason));
	else if (err == EFBIG)
		info(gate,
		     "refused %s: size=%" PRIu64 " is more than %s "
		     "registers at once: lower size",
		     peer, gate->mem->bytes,
		     ibv_get_device_name(id->verbs->device));
	else
		info(gate, "refused %s: cannot set it up: %s%s", peer,
		     strerror(err), cm_memlock_hint(err, hint));
}
