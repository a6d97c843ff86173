// SPDX-License-Identifier: GPL-2.0-only
/* The rogue peer as a target for initiators. */
#include <netinet/in.h>
#include <stdio.h>

#include "rogue.h"

/* What a request is answered with. */
struct reply {
	struct rdma_cm_id *id;
	uint16_t lane;
	struct message welcome;
	uint8_t reads;
};

static void accept_with(const struct reply *reply)
{
	struct rdma_conn_param param = {
		.private_data = reply->welcome.wire,
		.private_data_len = reply->welcome.bytes,
		.responder_resources = reply->reads,
		.rnr_retry_count = 7,
		.qp_num = some_qp_num(),
	};

	rdma_accept(reply->id, &param);
}

static void refuse_with(const struct reply *reply, uint16_t reason,
			uint16_t version)
{
	const struct refusal refusal = { .reason = reason, .version = version };
	uint8_t wire[REFUSAL_BYTES];

	refusal_encode(&refusal, wire);
	rdma_reject(reply->id, wire, sizeof(wire));
}

static void no_reads(struct reply *reply)
{
	reply->reads = 0;
	accept_with(reply);
}

static void two_regions(struct reply *reply)
{
	reply->welcome.wire[12] = (uint8_t)reply->lane;
	accept_with(reply);
}

static void turns_away(struct reply *reply)
{
	rdma_reject(reply->id, NULL, 0);
}

static void odd_reason(struct reply *reply)
{
	refuse_with(reply, 999, HANDSHAKE_VERSION);
}

static void other_version(struct reply *reply)
{
	refuse_with(reply, REFUSED_VERSION, 7);
}

static void no_reason(struct reply *reply)
{
	refuse_with(reply, 0, HANDSHAKE_VERSION);
}

/* Wants one proof after the other. */
static void challenges(struct reply *reply)
{
	const struct refusal refusal = {
		.reason = REFUSED_CHALLENGE,
		.version = HANDSHAKE_VERSION,
		.value = (uint64_t)now_ms(),
	};
	uint8_t wire[REFUSAL_BYTES];

	refusal_encode(&refusal, wire);
	rdma_reject(reply->id, wire, sizeof(wire));
}

static void mute(struct reply *reply)
{
	(void)reply;
}

static void one_lane(struct reply *reply)
{
	if (!reply->lane)
		accept_with(reply);
}

/* As soon as it is connected: see on_event(). */
static void hangs_up(struct reply *reply)
{
	reply->id->context = reply->id;
	accept_with(reply);
}

/* A QP that is there, and no key that is. */
static void wrong_key(struct reply *reply)
{
	make_qp(reply->id);
	accept_with(reply);
}

/* A QP that is not there: requests meet silence. */
static void no_qp(struct reply *reply)
{
	accept_with(reply);
}

static const struct spoil bad_welcomes[] = {
	{ "wrong-magic", 0, 4, WELCOME_BYTES, 0x57524279 },
	{ "future-version", 4, 2, WELCOME_BYTES, 99 },
	{ "says-no-word", 0, 0, 0, 0 },
	{ "half-a-word", 0, 0, 20, 0 },
	{ "region-wraps", 8, 8, WELCOME_BYTES, UINT64_MAX - 4096 },
	{ "empty-region", 16, 8, WELCOME_BYTES, 0 },
	{ "small-region", 16, 8, WELCOME_BYTES, 4096 },
	{ "no-access", 28, 1, WELCOME_BYTES, 0 },
	{ "read-only", 28, 1, WELCOME_BYTES, ACCESS_READ },
	{ "claims-a-token", WELCOME_PROOF_AT, 8, WELCOME_BYTES, 1 },
};

static const struct {
	const char *name;
	void (*answer)(struct reply *reply);
} manners[] = {
	{ "no-reads", no_reads },	    { "two-regions", two_regions },
	{ "turns-away", turns_away },	    { "odd-reason", odd_reason },
	{ "other-version", other_version }, { "no-reason", no_reason },
	{ "challenges", challenges },	    { "mute", mute },
	{ "one-lane", one_lane },	    { "hangs-up", hangs_up },
	{ "wrong-key", wrong_key },	    { "no-qp", no_qp },
};

#define NR_TARGETS (NR(bad_welcomes) + NR(manners))

const char *rogue_target_name(size_t i)
{
	if (i < NR(bad_welcomes))
		return bad_welcomes[i].name;
	return i < NR_TARGETS ? manners[i - NR(bad_welcomes)].name : NULL;
}

static void target_answer(size_t i, struct reply *reply)
{
	if (i >= NR(bad_welcomes)) {
		manners[i - NR(bad_welcomes)].answer(reply);
		return;
	}
	spoil_message(&bad_welcomes[i], &reply->welcome);
	accept_with(reply);
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel,
				    uint16_t port)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&any) || rdma_listen(id, 64))
		die("listening");
	return id;
}

static void on_request(const struct rdma_cm_event *event, size_t i)
{
	const struct welcome welcome = {
		.addr = 1 << 20,
		.bytes = 1 << 20,
		.rkey = 0x1234,
		.access = ACCESS_RW,
	};
	struct reply reply = {
		.id = event->id,
		.welcome.bytes = WELCOME_BYTES,
		.reads = 1,
	};
	struct hello hello = { 0 };
	uint16_t version;

	hello_decode(event->param.conn.private_data,
		     event->param.conn.private_data_len, &hello, &version);
	reply.lane = hello.lane;
	welcome_encode(&welcome, reply.welcome.wire);
	target_answer(i, &reply);
}

static void on_event(struct rdma_cm_id *const *listeners,
		     const struct rdma_cm_event *event)
{
	size_t i;

	if (event->event == RDMA_CM_EVENT_ESTABLISHED && event->id->context)
		rdma_disconnect(event->id);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return;
	for (i = 0; i < NR_TARGETS; i++)
		if (event->listen_id == listeners[i])
			on_request(event, i);
}

int rogue_target(uint16_t port)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *listeners[NR_TARGETS];
	struct rdma_cm_event *event;
	size_t i;

	for (i = 0; i < NR_TARGETS; i++)
		listeners[i] = listen_at(channel, (uint16_t)(port + i));
	printf("listening\n");
	fflush(stdout);
	/* Acknowledged after the answer: the request points into the event. */
	while (!rdma_get_cm_event(channel, &event)) {
		on_event(listeners, event);
		rdma_ack_cm_event(event);
	}
	die("rdma_get_cm_event()");
}
