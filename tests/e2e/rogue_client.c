// SPDX-License-Identifier: GPL-2.0-only
/* The rogue peer as a client of a target. */
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rogue.h"
#include "token.h"

#define ANSWER_MS    6000
#define PATIENCE_MS  20000
#define RESOLVE_MS   2000
#define CYCLES	     1000
#define FLOOD	     200
#define REGION_BYTES 4096

/* What came of a connection. */
struct answer {
	enum rdma_cm_event_type type;
	int status;
	struct refusal refusal; /* reason 0: none came */
	struct welcome welcome;
};

/* A connection on a channel of its own, so that its events are its own. */
struct call {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

static struct addrinfo *target_addr;

static bool next_event(struct call *call, int64_t deadline,
		       struct answer *answer)
{
	struct pollfd fd = { .fd = call->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	const struct rdma_conn_param *conn;
	int64_t left = deadline - now_ms();
	uint16_t version;

	if (poll(&fd, 1, left > 0 ? (int)left : 0) <= 0)
		return false;
	if (rdma_get_cm_event(call->channel, &event))
		die("rdma_get_cm_event()");
	*answer = (struct answer){ .type = event->event,
				   .status = event->status };
	conn = &event->param.conn;
	if (answer->type == RDMA_CM_EVENT_REJECTED)
		refusal_decode(conn->private_data, conn->private_data_len,
			       &answer->refusal);
	if (answer->type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
	    answer->type == RDMA_CM_EVENT_ESTABLISHED)
		welcome_decode(conn->private_data, conn->private_data_len,
			       &answer->welcome, &version);
	rdma_ack_cm_event(event);
	return true;
}

static void expect(struct call *call, enum rdma_cm_event_type type)
{
	struct answer answer;

	if (!next_event(call, now_ms() + ANSWER_MS, &answer)) {
		fprintf(stderr, "rogue: no %s\n", rdma_event_str(type));
		exit(1);
	}
	if (answer.type == type)
		return;
	fprintf(stderr, "rogue: %s (%d) instead of %s\n",
		rdma_event_str(answer.type), answer.status,
		rdma_event_str(type));
	exit(1);
}

static void call_open(struct call *call)
{
	call->channel = open_channel();
	if (rdma_create_id(call->channel, &call->id, NULL, RDMA_PS_TCP))
		die("rdma_create_id()");
	if (rdma_resolve_addr(call->id, NULL, target_addr->ai_addr, RESOLVE_MS))
		die("rdma_resolve_addr()");
	expect(call, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(call->id, RESOLVE_MS))
		die("rdma_resolve_route()");
	expect(call, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void call_connect(struct call *call, const struct message *message)
{
	struct rdma_conn_param param = {
		.private_data = message->wire,
		.private_data_len = message->bytes,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = some_qp_num(),
	};

	if (rdma_connect(call->id, &param))
		die("rdma_connect()");
}

static void call_close(struct call *call)
{
	rdma_destroy_id(call->id);
	rdma_destroy_event_channel(call->channel);
}

static bool say_unexpected(const struct answer *answer, const char *wanted)
{
	fprintf(stderr, "rogue: %s (status %d, reason %u) instead of %s\n",
		rdma_event_str(answer->type), answer->status,
		answer->refusal.reason, wanted);
	return false;
}

static bool is_refused(struct call *call, enum refusal_reason reason)
{
	struct answer answer;

	if (!next_event(call, now_ms() + ANSWER_MS, &answer)) {
		fprintf(stderr, "rogue: no answer\n");
		return false;
	}
	if (answer.type != RDMA_CM_EVENT_REJECTED ||
	    answer.refusal.reason != reason)
		return say_unexpected(&answer, "a refusal");
	return true;
}

static bool is_accepted(struct call *call, struct welcome *welcome)
{
	struct answer answer;

	if (!next_event(call, now_ms() + ANSWER_MS, &answer)) {
		fprintf(stderr, "rogue: no answer\n");
		return false;
	}
	if (answer.type != RDMA_CM_EVENT_CONNECT_RESPONSE &&
	    answer.type != RDMA_CM_EVENT_ESTABLISHED)
		return say_unexpected(&answer, "a welcome");
	if (welcome)
		*welcome = answer.welcome;
	return true;
}

/* Whether the target ends the connection by itself. */
static bool is_dropped(struct call *call)
{
	struct answer answer;

	while (next_event(call, now_ms() + PATIENCE_MS, &answer))
		if (answer.type == RDMA_CM_EVENT_DISCONNECTED ||
		    answer.type == RDMA_CM_EVENT_REJECTED ||
		    answer.type == RDMA_CM_EVENT_UNREACHABLE ||
		    answer.type == RDMA_CM_EVENT_CONNECT_ERROR)
			return true;
	fprintf(stderr, "rogue: still connected\n");
	return false;
}

static struct hello good_hello(void)
{
	return (struct hello){
		.client = (uint64_t)getpid() << 32 | (uint64_t)now_ms(),
		.nr_lanes = 1,
		.need = ACCESS_RW,
		.region_bytes = REGION_BYTES,
	};
}

static struct message message_of(const struct hello *hello)
{
	struct message message = { .bytes = HELLO_BYTES };

	hello_encode(hello, message.wire);
	return message;
}

/* Hellos that shall be refused, and the reasons. */
static const struct {
	struct spoil spoil;
	enum refusal_reason reason;
} bad_hellos[] = {
	{ { "wrong magic", 0, 4, HELLO_BYTES, 0x57524279 }, REFUSED_MAGIC },
	{ { "future version", 4, 2, HELLO_BYTES, 99 }, REFUSED_VERSION },
	{ { "another kind", 6, 2, HELLO_BYTES, 2 }, REFUSED_MAGIC },
	{ { "nothing said", 0, 0, 0, 0 }, REFUSED_MAGIC },
	{ { "truncated", 0, 0, 20, 0 }, REFUSED_FIELD },
	{ { "noise", 0, 8, MAX_PRIVATE, UINT64_MAX }, REFUSED_MAGIC },
	{ { "client 0", 8, 8, HELLO_BYTES, 0 }, REFUSED_FIELD },
	{ { "0 bytes", 16, 8, HELLO_BYTES, 0 }, REFUSED_FIELD },
	{ { "bytes wrap", 16, 8, HELLO_BYTES, UINT64_MAX }, REFUSED_FIELD },
	{ { "too large", 16, 8, HELLO_BYTES, 1ull << 48 }, REFUSED_SIZE },
	{ { "lane beyond", 24, 4, HELLO_BYTES, 0x40004 }, REFUSED_FIELD },
	{ { "no lanes", 26, 2, HELLO_BYTES, 0 }, REFUSED_FIELD },
	{ { "65535 lanes", 26, 2, HELLO_BYTES, UINT16_MAX }, REFUSED_FIELD },
	{ { "needs nothing", 28, 1, HELLO_BYTES, 0 }, REFUSED_FIELD },
	{ { "needs all", 28, 1, HELLO_BYTES, 0xff }, REFUSED_FIELD },
	{ { "reserved bits", 39, 1, HELLO_BYTES, 1 }, REFUSED_FIELD },
};

static bool say_bad_hello(size_t i)
{
	struct hello hello = good_hello();
	struct message message = message_of(&hello);
	struct call call;
	bool fine;

	spoil_message(&bad_hellos[i].spoil, &message);
	call_open(&call);
	call_connect(&call, &message);
	fine = is_refused(&call, bad_hellos[i].reason);
	call_close(&call);
	return fine;
}

/* All of them, each after the other: one case, so that it takes no time. */
static bool all_bad_hellos(void)
{
	bool fine = true;
	size_t i;

	for (i = 0; i < NR(bad_hellos); i++) {
		if (say_bad_hello(i))
			continue;
		fprintf(stderr, "rogue: that was %s\n",
			bad_hellos[i].spoil.name);
		fine = false;
	}
	return fine;
}

/* The first lane is fine; the second claims what cannot be. */
static bool second_lane(uint16_t lane, uint16_t nr_lanes)
{
	struct hello hello = good_hello();
	struct message message;
	struct call first, second;
	bool fine;

	hello.nr_lanes = 2;
	message = message_of(&hello);
	call_open(&first);
	call_open(&second);
	call_connect(&first, &message);
	fine = is_accepted(&first, NULL);
	hello.lane = lane;
	hello.nr_lanes = nr_lanes;
	message = message_of(&hello);
	call_connect(&second, &message);
	fine = is_refused(&second, REFUSED_LANE) && fine;
	call_close(&second);
	call_close(&first);
	return fine;
}

static bool lane_twice(void)
{
	return second_lane(0, 2);
}

static bool other_count(void)
{
	return second_lane(1, 3);
}

static bool connect_one(struct call *call, const struct hello *hello)
{
	struct message message = message_of(hello);

	call_open(call);
	call_connect(call, &message);
	return is_accepted(call, NULL);
}

/* One of four lanes, and never another. */
static bool lane_missing(void)
{
	struct hello hello = good_hello();
	struct call call;
	bool fine;

	hello.nr_lanes = 4;
	fine = connect_one(&call, &hello) && !rdma_establish(call.id) &&
	       is_dropped(&call);
	call_close(&call);
	return fine;
}

/* The target's answer is never acknowledged. */
static bool says_nothing(void)
{
	struct hello hello = good_hello();
	struct call call;
	bool fine;

	fine = connect_one(&call, &hello) && is_dropped(&call);
	call_close(&call);
	return fine;
}

static bool leaves_early(void)
{
	struct hello hello = good_hello();
	struct message message = message_of(&hello);
	struct call call;

	call_open(&call);
	call_connect(&call, &message);
	return true;
}

static bool leaves(void)
{
	struct hello hello = good_hello();
	struct call call;

	return connect_one(&call, &hello) && !rdma_establish(call.id);
}

static bool cycle(void)
{
	struct hello hello = good_hello();
	struct call call;
	bool fine;

	fine = connect_one(&call, &hello) && !rdma_establish(call.id) &&
	       !rdma_disconnect(call.id);
	call_close(&call);
	return fine;
}

static int64_t cycles(unsigned int nr)
{
	int64_t began = now_ms();

	while (nr--)
		if (!cycle())
			return -1;
	return now_ms() - began;
}

/* The last tenth is as fast as the first, give or take. */
static bool a_thousand(void)
{
	int64_t first = cycles(CYCLES / 10);
	int64_t middle = cycles(CYCLES / 10 * 8);
	int64_t last = cycles(CYCLES / 10);

	printf("rogue: the first %u cycles took %" PRId64
	       " ms, the last %" PRId64 " ms\n",
	       CYCLES / 10, first, last);
	return first >= 0 && middle >= 0 && last >= 0 &&
	       last <= 2 * first + 200;
}

/* Many requests at once, all of them left alone. */
static bool flood(void)
{
	static struct call calls[FLOOD];
	struct hello hello = good_hello();
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		call_open(&calls[i]);
	for (i = 0; i < FLOOD; i++) {
		struct message message;

		hello.client++;
		message = message_of(&hello);
		call_connect(&calls[i], &message);
	}
	return true;
}

/* -- with a real QP --------------------------------------------------------- */

static enum ibv_wc_status post_once(struct call *call, struct ibv_send_wr *wr)
{
	int64_t deadline = now_ms() + ANSWER_MS;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (ibv_post_send(call->id->qp, wr, &bad))
		die("ibv_post_send()");
	while (now_ms() < deadline)
		if (ibv_poll_cq(call->id->send_cq, 1, &wc) == 1)
			return wc.status;
	return IBV_WC_GENERAL_ERR;
}

static enum ibv_wc_status write_once(struct call *call, uint64_t addr,
				     uint32_t rkey)
{
	uint64_t data = 0;
	struct ibv_sge sge = { .addr = (uintptr_t)&data, .length = 8 };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma.remote_addr = addr,
		.wr.rdma.rkey = rkey,
	};

	return post_once(call, &wr);
}

static enum ibv_wc_status read_once(struct call *call,
				    const struct welcome *from, void *to,
				    uint32_t bytes)
{
	struct ibv_mr *mr =
		ibv_reg_mr(call->id->pd, to, bytes, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)to, .length = bytes };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = from->addr,
		.wr.rdma.rkey = from->rkey,
	};
	enum ibv_wc_status status;

	if (!mr)
		die("ibv_reg_mr()");
	sge.lkey = mr->lkey;
	status = post_once(call, &wr);
	ibv_dereg_mr(mr);
	return status;
}

static bool connect_qp_for(struct call *call, enum conf_access need,
			   struct welcome *welcome)
{
	struct hello hello = good_hello();
	struct message message;

	hello.need = need;
	hello.client += (uintptr_t)call;
	message = message_of(&hello);
	call_open(call);
	make_qp(call->id);
	call_connect(call, &message);
	return is_accepted(call, welcome);
}

static bool connect_qp(struct call *call, struct welcome *welcome)
{
	return connect_qp_for(call, ACCESS_RW, welcome);
}

static bool check_status(struct call *call, uint64_t addr, uint32_t rkey,
			 enum ibv_wc_status wanted)
{
	enum ibv_wc_status status = write_once(call, addr, rkey);

	if (status == wanted)
		return true;
	fprintf(stderr, "rogue: a write ended with \"%s\"\n",
		ibv_wc_status_str(status));
	return false;
}

static void hang_up(struct call *call)
{
	rdma_disconnect(call->id);
	rdma_destroy_qp(call->id);
	call_close(call);
}

/* One client's key on another's QP. */
static bool stolen_key(void)
{
	struct welcome mine, theirs;
	struct call me, them;
	bool fine;

	fine = connect_qp(&me, &mine) && connect_qp(&them, &theirs) &&
	       check_status(&them, theirs.addr, theirs.rkey, IBV_WC_SUCCESS) &&
	       check_status(&me, mine.addr, mine.rkey, IBV_WC_SUCCESS) &&
	       check_status(&me, theirs.addr, theirs.rkey,
			    IBV_WC_REM_ACCESS_ERR);
	hang_up(&them);
	hang_up(&me);
	return fine;
}

/* The first bytes behind the region. */
static bool beyond_region(void)
{
	struct welcome welcome;
	struct call call;
	bool fine;

	fine = connect_qp(&call, &welcome) &&
	       check_status(&call, welcome.addr + welcome.bytes - 8,
			    welcome.rkey, IBV_WC_SUCCESS) &&
	       check_status(&call, welcome.addr + welcome.bytes - 7,
			    welcome.rkey, IBV_WC_REM_ACCESS_ERR);
	hang_up(&call);
	return fine;
}

/* Against a target with access=ro, then one with access=wo. */
static bool reads_only(void)
{
	struct welcome welcome;
	struct call call;
	uint64_t data;
	bool fine;

	fine = connect_qp_for(&call, ACCESS_READ, &welcome) &&
	       read_once(&call, &welcome, &data, 8) == IBV_WC_SUCCESS &&
	       check_status(&call, welcome.addr, welcome.rkey,
			    IBV_WC_REM_ACCESS_ERR);
	hang_up(&call);
	return fine;
}

static bool writes_only(void)
{
	struct welcome welcome;
	struct call call;
	uint64_t data;
	bool fine;

	fine = connect_qp_for(&call, ACCESS_WRITE, &welcome) &&
	       check_status(&call, welcome.addr, welcome.rkey,
			    IBV_WC_SUCCESS) &&
	       read_once(&call, &welcome, &data, 8) == IBV_WC_REM_ACCESS_ERR;
	hang_up(&call);
	return fine;
}

/* The first client of a target sees zeros, everywhere. */
static bool zeroed(void)
{
	struct welcome welcome = { 0 };
	uint8_t *data = NULL;
	struct call call;
	uint64_t i = 0;

	if (connect_qp(&call, &welcome))
		data = malloc(welcome.bytes);
	if (data) {
		memset(data, 0x5a, welcome.bytes);
		if (read_once(&call, &welcome, data, (uint32_t)welcome.bytes) ==
		    IBV_WC_SUCCESS)
			while (i < welcome.bytes && !data[i])
				i++;
	}
	free(data);
	hang_up(&call);
	return welcome.bytes && i == welcome.bytes;
}

/* -- with a token, against a target with TEST_TOKEN ------------------------- */

/* Sends a hello and takes the answer to it. */
static struct answer ask(const struct message *message)
{
	struct answer answer = { 0 };
	struct call call;

	call_open(&call);
	call_connect(&call, message);
	if (!next_event(&call, now_ms() + ANSWER_MS, &answer))
		fprintf(stderr, "rogue: no answer\n");
	if (answer.type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		rdma_establish(call.id);
		rdma_disconnect(call.id);
	}
	call_close(&call);
	return answer;
}

static bool is_answered(const struct message *message, uint16_t reason)
{
	struct answer answer = ask(message);

	return answer.refusal.reason == reason ||
	       say_unexpected(&answer, "another refusal");
}

static uint64_t challenge_for(struct hello hello)
{
	struct message message;

	hello.auth = AUTH_ASKS;
	message = message_of(&hello);
	return ask(&message).refusal.value;
}

static void find_ends(struct token_ends *ends)
{
	struct call call;

	call_open(&call);
	allow_addr(rdma_get_local_addr(call.id), &ends->initiator);
	allow_addr(rdma_get_peer_addr(call.id), &ends->target);
	call_close(&call);
}

static struct message proven(struct hello hello, uint64_t challenge)
{
	struct conf_token token = { .nr_bytes = sizeof(TEST_TOKEN) - 1 };
	struct token_ends ends;
	struct message message;

	memcpy(token.bytes, TEST_TOKEN, token.nr_bytes);
	find_ends(&ends);
	hello.auth = AUTH_PROVES;
	hello.challenge = challenge;
	message = message_of(&hello);
	if (token_prove_hello(&token, &ends, message.wire))
		die("token_prove_hello()");
	return message;
}

static bool token_missing(void)
{
	struct hello hello = good_hello();
	struct message message = message_of(&hello);

	return is_answered(&message, REFUSED_NO_TOKEN);
}

/* A made-up challenge, a made-up proof, a lane other than was proven. */
static bool token_forged(void)
{
	struct hello hello = good_hello();
	struct message message = proven(hello, 12345);
	struct message right = proven(hello, challenge_for(hello));
	bool fine;

	fine = is_answered(&message, REFUSED_CHALLENGE);
	message = right;
	message.wire[HELLO_PROOF_AT]++;
	fine = is_answered(&message, REFUSED_TOKEN) && fine;
	message = right;
	message.wire[27]++; /* number of lanes */
	return is_answered(&message, REFUSED_TOKEN) && fine;
}

/* One client's proof under another's number; its challenge is its own. */
static bool token_borrowed(void)
{
	struct hello hello = good_hello();
	uint64_t challenge = challenge_for(hello);
	struct message message;

	hello.client++;
	message = proven(hello, challenge);
	return is_answered(&message, REFUSED_CHALLENGE);
}

/* What a client has sent, again: while it is there and when it has gone. */
static bool token_replayed(void)
{
	struct hello hello = good_hello();
	struct message message = proven(hello, challenge_for(hello));
	struct call call;
	bool fine;

	call_open(&call);
	call_connect(&call, &message);
	fine = is_accepted(&call, NULL) && !rdma_establish(call.id);
	fine = is_answered(&message, REFUSED_LANE) && fine;
	fine = is_answered(&message, REFUSED_CHALLENGE) && fine;
	rdma_disconnect(call.id);
	call_close(&call);
	return is_answered(&message, REFUSED_CHALLENGE) && fine;
}

/* Asks and asks, each time as another client. */
static bool token_flood(void)
{
	struct hello hello = good_hello();
	unsigned int i;

	for (i = 0; i < CYCLES; i++) {
		hello.client++;
		if (!challenge_for(hello))
			return false;
	}
	return true;
}

/* Clients that begin to connect, and stay like that until they are dropped. */
static bool half_open(void)
{
	struct hello hello = good_hello();
	struct call calls[2];
	bool fine;

	hello.nr_lanes = 4;
	fine = connect_one(&calls[0], &hello);
	hello.client++;
	fine = connect_one(&calls[1], &hello) && fine;
	printf("rogue: half open\n");
	fflush(stdout);
	fine = is_dropped(&calls[0]) && is_dropped(&calls[1]) && fine;
	call_close(&calls[0]);
	call_close(&calls[1]);
	return fine;
}

static const struct {
	const char *name;
	bool (*run)(void);
} clients[] = {
	{ "bad-hellos", all_bad_hellos },
	{ "lane-twice", lane_twice },
	{ "other-count", other_count },
	{ "lane-missing", lane_missing },
	{ "says-nothing", says_nothing },
	{ "leaves-early", leaves_early },
	{ "leaves", leaves },
	{ "stolen-key", stolen_key },
	{ "beyond-region", beyond_region },
	{ "flood", flood },
	{ "a-thousand", a_thousand },
	/* Those that want a target of their own. */
	{ "reads-only", reads_only },
	{ "writes-only", writes_only },
	{ "zeroed", zeroed },
	{ "token-missing", token_missing },
	{ "token-forged", token_forged },
	{ "token-borrowed", token_borrowed },
	{ "token-replayed", token_replayed },
	{ "token-flood", token_flood },
	{ "half-open", half_open },
};

#define NR_ORDINARY (NR(clients) - 9)

const char *rogue_client_name(size_t i)
{
	return i < NR_ORDINARY ? clients[i].name : NULL;
}

int rogue_client(const char *addr, const char *port, const char *name)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	size_t i;

	if (getaddrinfo(addr, port, &hints, &target_addr)) {
		fprintf(stderr, "rogue: %s is no address\n", addr);
		return 2;
	}
	for (i = 0; i < NR(clients); i++)
		if (!strcmp(clients[i].name, name))
			return !clients[i].run();
	fprintf(stderr, "rogue: there is no case %s\n", name);
	return 2;
}
