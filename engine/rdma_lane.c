// SPDX-License-Identifier: GPL-2.0-only
/*
 * One lane's way up: a small state machine driven by CM events. None of its
 * steps waits.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma.h"

#define RETRY_MS   200
#define ANSWER_MS  10 /* between two answers to challenges of a lane */
#define RESOLVE_MS 2000

/* Reasons of a REJ that the CM itself gives (IBA 1.4, 12.6.7.2). */
#define REJ_NO_LISTENER 8

__attribute__((__format__(__printf__, 3, 4))) static void
note_why(struct rdma *r, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, args);
	va_end(args);
	r->why_error = err;
}

/* -- one lane: start, end, try again ------------------------------------ */

void rdma_lane_drop_qp(struct rdma *r, struct lane *lane)
{
	if (lane->id && lane->id->qp)
		rdma_destroy_qp(lane->id);
	r->qps[lane_index(r, lane)] = NULL;
}

/* The id of the first QP's device is kept: without it, PD and CQ are lost. */
static void lane_drop_id(struct rdma *r, struct lane *lane)
{
	rdma_lane_drop_qp(r, lane);
	if (lane->id && !r->anchor && r->dev.verbs &&
	    lane->id->verbs == r->dev.verbs)
		r->anchor = lane->id;
	else if (lane->id)
		rdma_destroy_id(lane->id);
	lane->id = NULL;
}

static void lane_retry(struct rdma *r, struct lane *lane, int wait_ms)
{
	lane_drop_id(r, lane);
	lane->state = LANE_IDLE;
	lane->start_at = cm_now_ms() + wait_ms;
	r->nr_connecting--;
}

static bool use_next_target(struct rdma *r)
{
	uint32_t i;

	for (i = 1; i <= r->targets.nr; i++) {
		uint32_t next = (r->target + i) % r->targets.nr;

		if (r->unusable & 1u << next)
			continue;
		r->target = next;
		cm_addr_text((void *)&r->targets.addr[next], r->peer);
		return true;
	}
	return false;
}

/* The attempt failed; another may succeed, at this or at another address. */
static int lane_failed(struct rdma *r, struct lane *lane)
{
	if (!r->nr_up)
		use_next_target(r);
	lane->failed = true;
	lane_retry(r, lane, RETRY_MS);
	return 0;
}

/* This address will never do. */
static int lane_address_failed(struct rdma *r, struct lane *lane)
{
	r->unusable |= 1u << r->target;
	if (!r->nr_up && use_next_target(r)) {
		lane_retry(r, lane, 0);
		return 0;
	}
	say(r, "%s", r->why);
	return r->why_error;
}

static int on_addr_error(struct rdma *r, struct lane *lane, int err)
{
	const char *bind = r->attr.conf->bindname;

	switch (err) {
	case -ENODEV:
		note_why(r, err,
			 "the way to %s%s%s does not go over an RDMA device "
			 "(a loopback address never does): see 'rdma link'; "
			 "soft-RoCE makes one of any netdev: "
			 "'rdma link add rxe0 type rxe netdev eth0'",
			 r->peer, bind ? " from " : "", bind ? bind : "");
		return lane_address_failed(r, lane);
	case -EADDRNOTAVAIL:
		note_why(r, err,
			 "bindname=%s is not an address of this host: see "
			 "'ip addr'",
			 bind ? bind : "(none)");
		return lane_address_failed(r, lane);
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		note_why(r, err, "the host does not answer (%s)",
			 strerror(-err));
		return lane_failed(r, lane);
	default:
		note_why(r, err, "cannot reach %s: %s", r->peer,
			 strerror(-err));
		return lane_address_failed(r, lane);
	}
}

static struct sockaddr *local_for(struct rdma *r, sa_family_t family)
{
	uint32_t i;

	for (i = 0; i < r->locals.nr; i++)
		if (r->locals.addr[i].ss_family == family)
			return (struct sockaddr *)&r->locals.addr[i];
	return NULL;
}

static int lane_resolve(struct rdma *r, struct lane *lane)
{
	struct sockaddr *to = (void *)&r->targets.addr[r->target];
	struct sockaddr *from = local_for(r, to->sa_family);
	uint8_t tos = r->attr.conf->tos;
	int ret;

	if (r->locals.nr && !from) {
		note_why(r, -EAFNOSUPPORT,
			 "bindname=%s and %s are not both IPv4 or both IPv6",
			 r->attr.conf->bindname, r->peer);
		return lane_address_failed(r, lane);
	}
	if (tos)
		rdma_set_option(lane->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				&tos, sizeof(tos));
	ret = cm_result(rdma_resolve_addr(lane->id, from, to, RESOLVE_MS));
	return ret ? on_addr_error(r, lane, ret) : 0;
}

int rdma_lane_start(struct rdma *r, struct lane *lane)
{
	int ret;

	ret = cm_result(
		rdma_create_id(r->channel, &lane->id, lane, RDMA_PS_TCP));
	if (ret) {
		lane->id = NULL;
		say(r, "cannot make CM id %u of %u: %s",
		    lane_index(r, lane) + 1, r->t.nr_qps, strerror(-ret));
		return ret;
	}
	lane->state = LANE_ADDR;
	r->nr_connecting++;
	return lane_resolve(r, lane);
}

/* -- one lane: resolved, connecting -------------------------------------- */

static int use_device(struct rdma *r, struct lane *lane)
{
	struct ibv_context *verbs = lane->id->verbs;

	if (verbs == r->dev.verbs)
		return 0;
	if (r->nr_up) {
		say(r,
		    "QP %u of %u to %s would lie on %s, the others lie on "
		    "%s: set bindname to an address of one device",
		    lane_index(r, lane) + 1, r->t.nr_qps, r->peer,
		    ibv_get_device_name(verbs->device), r->dev.name);
		return -EXDEV;
	}
	rdma_device_close(&r->dev);
	if (r->anchor)
		rdma_destroy_id(r->anchor);
	r->anchor = NULL;
	return rdma_device_open(&r->attr, verbs, lane->id->port_num, &r->dev);
}

static int on_addr(struct rdma *r, struct lane *lane)
{
	int ret = use_device(r, lane);

	if (ret)
		return ret;
	lane->state = LANE_ROUTE;
	ret = cm_result(rdma_resolve_route(lane->id, RESOLVE_MS));
	if (!ret)
		return 0;
	if (ret == -ENODEV) /* what a loopback address comes to */
		return on_addr_error(r, lane, ret);
	note_why(r, ret, "cannot resolve the route (%s)", strerror(-ret));
	return lane_failed(r, lane);
}

static int lane_make_qp(struct rdma *r, struct lane *lane)
{
	struct ibv_qp_init_attr init;
	char hint[CM_HINT_TEXT];
	int ret;

	rdma_device_qp_attr(&r->dev, &init);
	init.qp_context = &r->dev; /* for rdma_device_note() */
	ret = cm_result(rdma_create_qp(lane->id, r->dev.pd, &init));
	if (ret) {
		say(r,
		    "%s: cannot make QP %u of %u with %u WRs: %s%s; lower "
		    "qps or sq_depth",
		    r->dev.name, lane_index(r, lane) + 1, r->t.nr_qps,
		    init.cap.max_send_wr, strerror(-ret),
		    cm_memlock_hint(ret, hint));
		return ret;
	}
	r->qps[lane_index(r, lane)] = lane->id->qp;
	return 0;
}

static enum hello_auth auth_of(const struct rdma *r)
{
	if (!r->attr.conf->token.nr_bytes)
		return AUTH_NONE;
	return r->challenge ? AUTH_PROVES : AUTH_ASKS;
}

static int lane_make_hello(struct rdma *r, struct lane *lane)
{
	const struct hello hello = {
		.client = r->client,
		.lane = (uint16_t)lane_index(r, lane),
		.nr_lanes = (uint16_t)r->t.nr_qps,
		.need = r->attr.need,
		.auth = auth_of(r),
		.region_bytes = r->attr.region_bytes,
		.challenge = r->challenge,
	};

	hello_encode(&hello, lane->hello);
	if (hello.auth == AUTH_NONE)
		return 0;
	if (!allow_addr(rdma_get_local_addr(lane->id), &lane->ends.initiator) ||
	    !allow_addr(rdma_get_peer_addr(lane->id), &lane->ends.target))
		return -EAFNOSUPPORT;
	if (hello.auth == AUTH_ASKS)
		return 0;
	return token_prove_hello(&r->attr.conf->token, &lane->ends,
				 lane->hello);
}

static int lane_connect(struct rdma *r, struct lane *lane)
{
	const struct engine_conf *conf = r->attr.conf;
	struct rdma_conn_param param = {
		.private_data = lane->hello,
		.private_data_len = sizeof(lane->hello),
		.responder_resources = r->dev.iwarp,
		.initiator_depth = (uint8_t)r->dev.caps.rd_atomic,
		.flow_control = 1,
		.retry_count = conf->retry_count,
		.rnr_retry_count = conf->rnr_retry,
	};

	return cm_result(rdma_connect(lane->id, &param));
}

static int on_route(struct rdma *r, struct lane *lane)
{
	int ret;

	ret = lane_make_qp(r, lane);
	if (!ret)
		ret = cm_set_ack_timeout(r->attr.env, lane->id,
					 r->attr.conf->ack_timeout);
	if (ret)
		return ret;
	ret = lane_make_hello(r, lane);
	if (ret) {
		say(r, "cannot prove the token to %s: %s", r->peer,
		    strerror(-ret));
		return ret;
	}
	lane->state = LANE_CONNECTING;
	ret = lane_connect(r, lane);
	if (!ret)
		return 0;
	note_why(r, ret, "rdma_connect() failed (%s)", strerror(-ret));
	return lane_failed(r, lane);
}

/* -- one lane: the target's answer --------------------------------------- */

static int say_foreign(struct rdma *r, int err, uint16_t version)
{
	if (err == -EPROTONOSUPPORT)
		rdma_say_version(r, version);
	else
		say(r,
		    "what listens at %s is no target of this engine: see "
		    "hostname and port",
		    r->peer);
	return -EPROTO;
}

/*
 * The first lane is asked once. Others use its challenge, and are asked again
 * if that has become void meanwhile.
 */
static int on_challenge(struct rdma *r, struct lane *lane, uint64_t challenge)
{
	bool again = lane->answered;

	if (!r->attr.conf->token.nr_bytes || !challenge)
		return say_foreign(r, -EBADMSG, 0);
	note_why(r, -EACCES, "the target asks for one proof after the other");
	r->challenge = challenge;
	lane->answered = true;
	lane_retry(r, lane, again ? ANSWER_MS : 0);
	return 0;
}

static int on_refusal(struct rdma *r, struct lane *lane,
		      const struct refusal *refusal)
{
	if (refusal->reason == REFUSED_CHALLENGE)
		return on_challenge(r, lane, refusal->value);
	/* The target has yet to hear that the attempt before has failed. */
	if (refusal->reason == REFUSED_LANE && lane->failed)
		return lane_failed(r, lane);
	return rdma_say_refusal(r, lane, refusal);
}

static int on_rejected(struct rdma *r, struct lane *lane,
		       const struct cm_event *event)
{
	struct refusal refusal;

	if (!refusal_decode(event->private_data, event->private_len, &refusal))
		return on_refusal(r, lane, &refusal);
	if (event->status == REJ_NO_LISTENER || event->status == -ECONNREFUSED)
		note_why(r, -ECONNREFUSED,
			 "nothing listens there: start the target first, or "
			 "see hostname and port");
	else
		note_why(r, -ECONNREFUSED,
			 "what listens there turns us away without saying why "
			 "(reject reason %d): it is busy, or no target of this "
			 "engine",
			 event->status);
	return lane_failed(r, lane);
}

/* Before anything that the target says is used. */
static int check_proof(struct rdma *r, const struct lane *lane,
		       const struct cm_event *event,
		       const struct welcome *welcome)
{
	static const uint8_t no_proof[WELCOME_PROOF_BYTES];
	const struct conf_token *token = &r->attr.conf->token;

	if (!token->nr_bytes)
		return memcmp(welcome->proof, no_proof, sizeof(no_proof))
			       ? say_foreign(r, -ERANGE, 0)
			       : 0;
	if (token_proves_welcome(token, &lane->ends, lane->hello,
				 event->private_data))
		return 0;
	say(r,
	    "%s does not prove that it knows the token: it is not the right "
	    "target, or somebody is in between",
	    r->peer);
	return -EACCES;
}

static int check_welcome(struct rdma *r, const struct lane *lane,
			 const struct welcome *welcome)
{
	if (welcome->bytes < r->attr.region_bytes) {
		rdma_say_too_small(r, welcome->bytes);
		return -ENOSPC;
	}
	if (r->attr.need & ~(unsigned int)welcome->access) {
		rdma_say_no_access(r, welcome->access);
		return -EACCES;
	}
	if (r->nr_up && (welcome->addr != r->t.region_addr ||
			 welcome->bytes != r->t.region_bytes)) {
		say(r,
		    "%s names another region to QP %u than to the others: "
		    "it is not one target",
		    r->peer, lane_index(r, lane) + 1);
		return -EPROTO;
	}
	return 0;
}

static int take_rd_atomic(struct rdma *r, uint32_t granted)
{
	if (granted > r->dev.caps.rd_atomic)
		granted = r->dev.caps.rd_atomic;
	if (!granted && r->attr.need & ACCESS_READ) {
		say(r, "%s grants no READs at all: use rw=write", r->peer);
		return -EPROTO;
	}
	if (granted < r->t.rd_atomic || !r->nr_up)
		r->t.rd_atomic = granted;
	return 0;
}

static int on_established(struct rdma *r, struct lane *lane,
			  const struct cm_event *event)
{
	struct welcome welcome;
	uint16_t version = 0;
	int ret;

	ret = welcome_decode(event->private_data, event->private_len, &welcome,
			     &version);
	if (ret)
		return say_foreign(r, ret, version);
	ret = check_proof(r, lane, event, &welcome);
	if (!ret)
		ret = check_welcome(r, lane, &welcome);
	if (!ret)
		ret = take_rd_atomic(r, event->initiator_depth);
	if (ret)
		return ret;
	r->t.region_addr = welcome.addr;
	r->t.region_bytes = welcome.bytes;
	r->keys[lane_index(r, lane)] = welcome.rkey;
	lane->state = LANE_UP;
	r->nr_connecting--;
	r->nr_up++;
	return 0;
}

static int say_lost(struct rdma *r, const struct lane *lane,
		    const struct cm_event *event)
{
	uint32_t qp_num = lane->id->qp ? lane->id->qp->qp_num : 0;

	if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		say(r, "the RDMA device %s was removed", r->dev.name);
	else if (event->type == RDMA_CM_EVENT_DISCONNECTED)
		say(r,
		    "the target %s has closed the connection of QP %u of %u "
		    "(number %u): it ended, was killed, or gave this host up; "
		    "see what it says",
		    r->peer, lane_index(r, lane) + 1, r->t.nr_qps, qp_num);
	else
		say(r,
		    "the connection of QP %u of %u (number %u) to %s has "
		    "failed (%s): check that the target still runs and that "
		    "the path to it is up",
		    lane_index(r, lane) + 1, r->t.nr_qps, qp_num, r->peer,
		    rdma_event_str(event->type));
	return -ECONNRESET;
}

/*
 * A lane that is up belongs to the queue: whatever happens to its connection,
 * its QP stays until the queue has let go of it. The CM may give up on its last
 * message of the connecting long after both sides have seen it done.
 */
static int on_up(struct rdma *r, const struct lane *lane,
		 const struct cm_event *event)
{
	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return say_lost(r, lane, event);
	default:
		return 0;
	}
}

int rdma_lane_event(struct rdma *r, const struct cm_event *event)
{
	struct lane *lane = event->id->context;

	if (lane->id != event->id)
		return 0; /* the anchor's */
	if (lane->state == LANE_UP)
		return on_up(r, lane, event);
	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return on_addr(r, lane);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return on_route(r, lane);
	case RDMA_CM_EVENT_ESTABLISHED:
		return on_established(r, lane, event);
	case RDMA_CM_EVENT_REJECTED:
		return on_rejected(r, lane, event);
	case RDMA_CM_EVENT_ADDR_ERROR:
		return on_addr_error(r, lane, event->status);
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		note_why(r, event->status ? -abs(event->status) : -EIO,
			 "%s: %s", rdma_event_str(event->type),
			 strerror(abs(event->status)));
		return lane_failed(r, lane);
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return say_lost(r, lane, event);
	default:
		return 0;
	}
}
