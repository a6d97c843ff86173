// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connected QPs to one target over real devices. Each lane is a small state
 * machine driven by CM events; none of them waits, one poll() waits for all.
 * The first lane goes ahead: it finds the address and the device that work and
 * hears of a refusal, so that a failure is met and told once.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm.h"
#include "handshake.h"
#include "rdma_device.h"
#include "token.h"

#define RETRY_MS       200
#define ANSWER_MS      10 /* between two answers to challenges of a lane */
#define RESOLVE_MS     2000
#define MAX_CONNECTING 64 /* at once: a CM's queue of messages is short */
#define WHY_TEXT       256
#define CHECK_FDS      2

/* Reasons of a REJ that the CM itself gives (IBA 1.4, 12.6.7.2). */
#define REJ_NO_LISTENER 8

enum lane_state {
	LANE_IDLE,
	LANE_ADDR,
	LANE_ROUTE,
	LANE_CONNECTING,
	LANE_UP,
};

struct lane {
	enum lane_state state;
	struct rdma_cm_id *id; /* its context is the lane */
	int64_t start_at;
	bool answered;		    /* the target's challenge, once */
	bool failed;		    /* an attempt before this one */
	uint8_t hello[HELLO_BYTES]; /* sent last */
	struct token_ends ends;
};

struct rdma {
	struct transport t;
	struct transport_attr attr;
	struct cm_addrs targets;
	struct cm_addrs locals; /* none without bindname */
	uint32_t target;	/* in use, of targets */
	uint32_t unusable;	/* bit mask of targets */
	struct rdma_event_channel *channel;
	struct rdma_device dev;
	struct rdma_cm_id *anchor; /* keeps dev open while lanes come and go */
	struct ibv_mr *mr;
	uint64_t client;
	uint64_t challenge; /* of the target; 0: none yet */
	int64_t deadline;
	uint32_t nr_up;
	uint32_t nr_connecting;
	bool armed;
	int lost; /* said already */
	char peer[CM_ADDR_TEXT];
	char why[WHY_TEXT]; /* the last attempt failed */
	int why_error;
	struct lane *lanes;
	struct ibv_qp **qps;
	uint32_t *keys; /* of the target, then of local memory */
};

static struct rdma *to_rdma(struct transport *t)
{
	return (struct rdma *)t;
}

static uint32_t lane_index(const struct rdma *r, const struct lane *lane)
{
	return (uint32_t)(lane - r->lanes);
}

#define say(r, ...) ((r)->attr.env->error((r)->attr.env->arg, __VA_ARGS__))

__attribute__((__format__(__printf__, 3, 4))) static void
note_why(struct rdma *r, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, args);
	va_end(args);
	r->why_error = err;
}

static const char *access_text(uint64_t access)
{
	switch (access) {
	case ACCESS_READ:
		return "ro";
	case ACCESS_WRITE:
		return "wo";
	default:
		return "rw";
	}
}

/* -- one lane: start, end, try again ------------------------------------ */

static void lane_drop_qp(struct rdma *r, struct lane *lane)
{
	if (lane->id && lane->id->qp)
		rdma_destroy_qp(lane->id);
	r->qps[lane_index(r, lane)] = NULL;
}

/* The id of the first QP's device is kept: without it, PD and CQ are lost. */
static void lane_drop_id(struct rdma *r, struct lane *lane)
{
	lane_drop_qp(r, lane);
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
			 "(a loopback address never does): see `rdma link`; "
			 "soft-RoCE makes one of any netdev: "
			 "`rdma link add rxe0 type rxe netdev eth0`",
			 r->peer, bind ? " from " : "", bind ? bind : "");
		return lane_address_failed(r, lane);
	case -EADDRNOTAVAIL:
		note_why(r, err,
			 "bindname=%s is not an address of this host: see "
			 "`ip addr`",
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

static int lane_start(struct rdma *r, struct lane *lane)
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

static int lane_set_ack_timeout(struct rdma *r, struct lane *lane)
{
	uint8_t timeout = r->attr.conf->ack_timeout;
	int ret;

	if (!timeout)
		return 0;
	ret = cm_result(rdma_set_option(lane->id, RDMA_OPTION_ID,
					RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
					sizeof(timeout)));
	if (ret)
		say(r,
		    "ack_timeout=%u is refused by the kernel's CM: %s; "
		    "leave it out",
		    timeout, strerror(-ret));
	return ret;
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
		ret = lane_set_ack_timeout(r, lane);
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

static int refusal_errno(const struct refusal *refusal)
{
	switch (refusal->reason) {
	case REFUSED_SIZE:
		return -ENOSPC;
	case REFUSED_ACCESS:
		return -EACCES;
	case REFUSED_RESOURCES:
		return -EAGAIN;
	case REFUSED_ENDING:
		return -ECONNREFUSED;
	case REFUSED_ADDRESS:
	case REFUSED_NO_TOKEN:
	case REFUSED_TOKEN:
	case REFUSED_TOKENLESS:
		return -EACCES;
	case REFUSED_CLIENTS:
	case REFUSED_QPS:
		return -EBUSY;
	default:
		return -EPROTO;
	}
}

static void say_too_small(struct rdma *r, uint64_t bytes)
{
	say(r,
	    "the job needs %" PRIu64 " bytes (offset + size), but the "
	    "region of %s has %" PRIu64 ": lower size, or give the target a "
	    "larger size",
	    r->attr.region_bytes, r->peer, bytes);
}

static void say_no_access(struct rdma *r, uint64_t access)
{
	if (access == ACCESS_WRITE && r->attr.reads_to_sync) {
		say(r,
		    "the job's syncs need READ access, but %s allows "
		    "access=wo: start the target with access=rw, or leave "
		    "fsync=, fdatasync= and end_fsync= out",
		    r->peer);
		return;
	}
	say(r,
	    "the job %s, but %s allows access=%s: change rw, or start the "
	    "target with access=rw",
	    r->attr.need == ACCESS_RW	   ? "reads and writes"
	    : r->attr.need == ACCESS_WRITE ? "writes"
					   : "reads",
	    r->peer, access_text(access));
}

static void say_version(struct rdma *r, uint16_t version)
{
	say(r,
	    "%s speaks version %u of the handshake, this engine version "
	    "%u: use the same release on both sides",
	    r->peer, version, HANDSHAKE_VERSION);
}

static const char *refusal_text(uint16_t reason)
{
	switch (reason) {
	case REFUSED_MAGIC:
		return "takes this engine for something else (wrong magic): "
		       "use the same release on both sides";
	case REFUSED_FIELD:
		return "finds a field of the handshake out of range: use the "
		       "same release on both sides";
	case REFUSED_ENDING:
		return "is about to end, having served its clients=N: start "
		       "the target again";
	case REFUSED_ADDRESS:
		return "does not let this host's address in: add it to the "
		       "target's allow=";
	case REFUSED_NO_TOKEN:
		return "wants a token: set token_file= as at the target";
	case REFUSED_TOKEN:
		return "has another token: use the same token_file= on both "
		       "sides";
	case REFUSED_TOKENLESS:
		return "has no token and so cannot prove that it is the right "
		       "target: set token_file= there, or leave it out here";
	default:
		return "refuses for a reason that this release does not know: "
		       "use the same release on both sides";
	}
}

static int say_refusal(struct rdma *r, const struct lane *lane,
		       const struct refusal *refusal)
{
	uint32_t nr = lane_index(r, lane) + 1;

	switch (refusal->reason) {
	case REFUSED_VERSION:
		say_version(r, refusal->version);
		break;
	case REFUSED_LANE:
		say(r,
		    "%s refuses QP %u of %u: its number is out of range or "
		    "taken",
		    r->peer, nr, r->t.nr_qps);
		break;
	case REFUSED_SIZE:
		say_too_small(r, refusal->value);
		break;
	case REFUSED_ACCESS:
		say_no_access(r, refusal->value);
		break;
	case REFUSED_RESOURCES:
		say(r,
		    "%s has no resources for QP %u of %u (%s there): lower "
		    "qps, or see what the target says",
		    r->peer, nr, r->t.nr_qps,
		    strerror((int)(refusal->value & INT16_MAX)));
		break;
	case REFUSED_CLIENTS:
		say(r,
		    "%s serves max_clients=%" PRIu64 " initiators already: "
		    "wait for one to end, or raise it there",
		    r->peer, refusal->value);
		break;
	case REFUSED_QPS:
		say(r,
		    "%s has no room for %u more QPs under its max_qps=%" PRIu64
		    ": lower qps, or raise it there",
		    r->peer, r->t.nr_qps, refusal->value);
		break;
	default:
		say(r, "%s %s", r->peer, refusal_text(refusal->reason));
	}
	return refusal_errno(refusal);
}

static int say_foreign(struct rdma *r, int err, uint16_t version)
{
	if (err == -EPROTONOSUPPORT)
		say_version(r, version);
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
	return say_refusal(r, lane, refusal);
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
		say_too_small(r, welcome->bytes);
		return -ENOSPC;
	}
	if (r->attr.need & ~(unsigned int)welcome->access) {
		say_no_access(r, welcome->access);
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
	else
		say(r,
		    "the target %s has closed the connection of QP %u of %u "
		    "(number %u): it ended, was killed, or gave this host up; "
		    "see what it says",
		    r->peer, lane_index(r, lane) + 1, r->t.nr_qps, qp_num);
	return -ECONNRESET;
}

static int lane_event(struct rdma *r, const struct cm_event *event)
{
	struct lane *lane = event->id->context;

	if (lane->id != event->id)
		return 0; /* the anchor's */
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

/* -- all lanes ------------------------------------------------------------ */

static int take_events(struct rdma *r)
{
	struct cm_event event;
	int ret;

	while ((ret = cm_next_event(r->channel, &event)) > 0) {
		ret = lane_event(r, &event);
		if (ret)
			return ret;
	}
	if (ret)
		say(r, "rdma_get_cm_event() failed: %s", strerror(-ret));
	return ret;
}

static int start_lanes(struct rdma *r)
{
	uint32_t nr = r->nr_up ? r->t.nr_qps : 1;
	int64_t now = cm_now_ms();
	uint32_t i;
	int ret;

	for (i = 0; i < nr && r->nr_connecting < MAX_CONNECTING; i++) {
		struct lane *lane = &r->lanes[i];

		if (lane->state != LANE_IDLE || lane->start_at > now)
			continue;
		ret = lane_start(r, lane);
		if (ret)
			return ret;
	}
	return 0;
}

static int say_no_connection(struct rdma *r)
{
	say(r,
	    "no connection to %s within connect_timeout=%u ms (%u of %u QPs "
	    "came up): %s",
	    r->peer, r->attr.conf->connect_timeout_ms, r->nr_up, r->t.nr_qps,
	    r->why[0] ? r->why
		      : "no answer; is the target stopped, or UDP port 4791 "
			"blocked?");
	return r->why_error ? r->why_error : -ETIMEDOUT;
}

static int connect_lanes(struct rdma *r)
{
	const struct engine_env *env = r->attr.env;
	struct pollfd fd = { .fd = r->channel->fd, .events = POLLIN };
	int ret;

	while (r->nr_up < r->t.nr_qps) {
		if (env->stopping(env->arg)) {
			say(r, "connecting to %s was interrupted", r->peer);
			return -EINTR;
		}
		if (cm_now_ms() >= r->deadline)
			return say_no_connection(r);
		ret = start_lanes(r);
		if (ret)
			return ret;
		poll(&fd, 1, CM_SLICE_MS);
		ret = take_events(r);
		if (ret)
			return ret;
	}
	return 0;
}

static int find_addresses(struct rdma *r)
{
	const struct engine_conf *conf = r->attr.conf;
	const struct engine_env *env = r->attr.env;
	int ret;

	ret = cm_lookup(env, "hostname", conf->hostname, conf->port,
			r->deadline, &r->targets);
	if (!ret && conf->bindname)
		ret = cm_lookup(env, "bindname", conf->bindname, 0, r->deadline,
				&r->locals);
	if (!ret)
		cm_addr_text((void *)&r->targets.addr[0], r->peer);
	return ret;
}

/*
 * What a QP was granted, without what was not asked for: a provider may round
 * up, and the CQ was made for what was asked; a job without inline_size shall
 * not send inline.
 */
static int fill_limits(struct rdma *r)
{
	struct wrb_limits *limits = &r->t.limits;
	const struct caps *caps = &r->dev.caps;
	int ret;

	ret = wrb_limits_query(r->qps[0], r->dev.port_num, limits);
	if (ret) {
		say(r, "%s: cannot query a QP: %s", r->dev.name,
		    strerror(-ret));
		return ret;
	}
	limits->max_send_wr = caps->max_send_wr;
	if (limits->max_inline > caps->inline_bytes)
		limits->max_inline = caps->inline_bytes;
	r->t.max_sge = caps->max_sge;
	r->t.cq = r->dev.cq;
	r->t.device = r->dev.name;
	return 0;
}

static uint64_t random_client(void)
{
	uint64_t client = 0;

	while (!client)
		if (getrandom(&client, sizeof(client), 0) != sizeof(client))
			client = 0;
	return client;
}

static struct rdma *rdma_new(const struct transport_attr *attr)
{
	uint32_t nr = attr->conf->qps;
	struct rdma *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->lanes = calloc(nr, sizeof(*r->lanes));
	r->qps = calloc(nr, sizeof(struct ibv_qp *));
	r->keys = calloc(2 * (size_t)nr, sizeof(*r->keys));
	r->attr = *attr;
	r->client = random_client();
	r->deadline = cm_now_ms() + attr->conf->connect_timeout_ms;
	r->t = (struct transport){
		.ops = &transport_rdma,
		.nr_qps = nr,
		.qps = r->qps,
		.rkeys = r->keys,
		.peer = r->peer,
	};
	if (r->lanes && r->qps && r->keys)
		return r;
	transport_rdma.close(&r->t);
	return NULL;
}

static int rdma_open(const struct transport_attr *attr, struct transport **t)
{
	struct rdma *r = rdma_new(attr);
	int ret;

	if (!r) {
		attr->env->error(attr->env->arg, "no memory for %u QPs",
				 attr->conf->qps);
		return -ENOMEM;
	}
	ret = find_addresses(r);
	if (!ret)
		ret = cm_channel_open(attr->env, &r->channel);
	if (!ret)
		ret = connect_lanes(r);
	if (!ret)
		ret = fill_limits(r);
	if (ret) {
		transport_rdma.close(&r->t);
		return ret;
	}
	*t = &r->t;
	return 0;
}

/* -- the other calls ------------------------------------------------------ */

static int rdma_reg(struct transport *t, void *addr, size_t length)
{
	struct rdma *r = to_rdma(t);
	uint32_t *lkeys = r->keys + t->nr_qps;
	uint32_t i;
	int ret;

	ret = rdma_device_reg(&r->dev, r->attr.env, addr, length, &r->mr);
	if (ret)
		return ret;
	for (i = 0; i < t->nr_qps; i++)
		lkeys[i] = r->mr->lkey;
	t->lkeys = lkeys;
	return 0;
}

static bool is_our_qp(const struct rdma *r, const struct ibv_qp *qp)
{
	uint32_t i;

	for (i = 0; i < r->t.nr_qps; i++)
		if (r->qps[i] == qp)
			return true;
	return false;
}

/* Another job of this process may have the device open too. */
static bool is_our_failure(const struct rdma *r,
			   const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
		return true;
	case IBV_EVENT_CQ_ERR:
		return event->element.cq == r->dev.cq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return is_our_qp(r, event->element.qp);
	default:
		return false;
	}
}

static int take_async_events(struct rdma *r)
{
	struct ibv_async_event event;
	int ret = 0;

	while (!ret && !ibv_get_async_event(r->dev.verbs, &event)) {
		if (is_our_failure(r, &event)) {
			say(r, "%s reports a failure on the way to %s: %s",
			    r->dev.name, r->peer,
			    ibv_event_type_str(event.event_type));
			ret = -ECONNRESET;
		}
		ibv_ack_async_event(&event);
	}
	return ret;
}

/* Fills CHECK_FDS entries. */
static void check_fds(const struct rdma *r, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = r->channel->fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = r->dev.verbs->async_fd,
				  .events = POLLIN };
}

static int check_ready(struct rdma *r, const struct pollfd *fds)
{
	if (!r->lost && fds[0].revents)
		r->lost = take_events(r);
	if (!r->lost && fds[1].revents)
		r->lost = take_async_events(r);
	return r->lost;
}

static int rdma_check(struct transport *t)
{
	struct rdma *r = to_rdma(t);
	struct pollfd fds[CHECK_FDS];

	if (r->lost)
		return r->lost;
	check_fds(r, fds);
	if (poll(fds, CHECK_FDS, 0) <= 0)
		return 0;
	return check_ready(r, fds);
}

static int sleep_for_cq(struct rdma *r, int timeout_ms)
{
	struct pollfd fds[CHECK_FDS + 1];

	check_fds(r, fds);
	fds[CHECK_FDS] =
		(struct pollfd){ .fd = r->dev.comp->fd, .events = POLLIN };
	if (poll(fds, CHECK_FDS + 1, timeout_ms) <= 0)
		return 0;
	if (fds[CHECK_FDS].revents && rdma_device_cq_events(&r->dev))
		r->armed = false;
	return check_ready(r, fds);
}

static int rdma_wait(struct transport *t, int timeout_ms)
{
	struct rdma *r = to_rdma(t);
	int ret;

	if (!r->dev.comp || r->lost)
		return rdma_check(t);
	if (r->armed)
		return sleep_for_cq(r, timeout_ms < CM_SLICE_MS ? timeout_ms
								: CM_SLICE_MS);
	ret = cm_result(ibv_req_notify_cq(r->dev.cq, 0));
	if (ret) {
		say(r, "%s: cannot arm the CQ: %s", r->dev.name,
		    strerror(-ret));
		r->lost = ret;
		return ret;
	}
	r->armed = true;
	return 1;
}

/*
 * A disconnect sends its message and does not wait for the answer, so a frozen
 * target holds nobody up. All say goodbye before the first is destroyed.
 */
static void rdma_destroy_qps(struct transport *t)
{
	struct rdma *r = to_rdma(t);
	uint32_t i;

	for (i = 0; i < t->nr_qps; i++)
		if (r->lanes[i].state == LANE_UP)
			rdma_disconnect(r->lanes[i].id);
	for (i = 0; i < t->nr_qps; i++) {
		r->lanes[i].state = LANE_IDLE;
		lane_drop_qp(r, &r->lanes[i]);
	}
}

static void rdma_dereg(struct transport *t)
{
	struct rdma *r = to_rdma(t);

	if (r->mr)
		ibv_dereg_mr(r->mr);
	r->mr = NULL;
	t->lkeys = NULL;
}

static void close_ids(struct rdma *r)
{
	uint32_t i;

	for (i = 0; i < r->t.nr_qps; i++)
		if (r->lanes[i].id)
			rdma_destroy_id(r->lanes[i].id);
	if (r->anchor)
		rdma_destroy_id(r->anchor);
}

static void rdma_close(struct transport *t)
{
	struct rdma *r = to_rdma(t);

	if (r->lanes && r->qps) {
		rdma_destroy_qps(t);
		rdma_dereg(t);
		rdma_device_close(&r->dev);
		close_ids(r);
	}
	if (r->channel)
		rdma_destroy_event_channel(r->channel);
	free(r->keys);
	free(r->qps);
	free(r->lanes);
	free(r);
}

const struct transport_ops transport_rdma = {
	.name = "rdma",
	.open = rdma_open,
	.reg = rdma_reg,
	.wait = rdma_wait,
	.check = rdma_check,
	.destroy_qps = rdma_destroy_qps,
	.dereg = rdma_dereg,
	.close = rdma_close,
};
