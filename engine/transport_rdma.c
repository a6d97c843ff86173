// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connected QPs to one target over real devices. The lanes connect side by side,
 * see rdma_lane.c; one poll() waits for all. The first goes ahead: it finds the
 * address and the device that work and hears of a refusal, so that a failure is
 * met and told once.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "rdma.h"

#define MAX_CONNECTING 64 /* at once: a CM's queue of messages is short */

static struct rdma *to_rdma(struct transport *t)
{
	return (struct rdma *)t;
}

/* -- all lanes ------------------------------------------------------------ */

static int take_events(struct rdma *r)
{
	struct cm_event event;
	int ret;

	while ((ret = cm_next_event(r->channel, &event)) > 0) {
		ret = rdma_lane_event(r, &event);
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
		ret = rdma_lane_start(r, lane);
		if (ret)
			return ret;
	}
	return 0;
}

/* Of an attempt that came to no end: packets leave, as far as is known here. */
static const char *no_answer(const struct rdma *r)
{
	if (r->dev.roce)
		return "no answer; is the target stopped or still registering "
		       "a large region, or UDP port 4791 blocked?";
	return "no answer; is the target stopped or still registering a large "
	       "region?";
}

static int say_no_connection(struct rdma *r)
{
	say(r,
	    "no connection to %s within connect_timeout=%u ms (%u of %u QPs "
	    "came up): %s",
	    r->peer, r->attr.conf->connect_timeout_ms, r->nr_up, r->t.nr_qps,
	    r->why[0] ? r->why : no_answer(r));
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

static void take_async_events(struct rdma *r)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(r->dev.verbs, &event)) {
		rdma_device_note(r->dev.verbs, &event);
		ibv_ack_async_event(&event);
	}
}

static int check_device(struct rdma *r)
{
	const char *event = rdma_device_failed(&r->dev);

	if (!event)
		return 0;
	say(r, "%s reports a failure on the way to %s: %s", r->dev.name,
	    r->peer, event);
	return -ECONNRESET;
}

static int rdma_check(struct transport *t)
{
	struct rdma *r = to_rdma(t);
	struct pollfd fds[] = {
		{ .fd = r->channel->fd, .events = POLLIN },
		{ .fd = r->dev.verbs->async_fd, .events = POLLIN },
	};

	if (r->lost)
		return r->lost;
	poll(fds, sizeof(fds) / sizeof(fds[0]), 0);
	if (fds[0].revents)
		r->lost = take_events(r);
	if (fds[1].revents)
		take_async_events(r);
	/* What another thread has noted makes no fd ready. */
	if (!r->lost)
		r->lost = check_device(r);
	return r->lost;
}

static void sleep_for_cq(struct rdma *r, int timeout_ms)
{
	struct pollfd fd = { .fd = r->dev.comp->fd, .events = POLLIN };

	if (poll(&fd, 1, timeout_ms) > 0 && rdma_device_cq_events(&r->dev))
		r->armed = false;
}

static int rdma_wait(struct transport *t, int timeout_ms)
{
	struct rdma *r = to_rdma(t);
	int ret;

	if (!r->dev.comp || r->lost)
		return rdma_check(t);
	if (r->armed) {
		sleep_for_cq(r, timeout_ms);
		return 0;
	}
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
		rdma_lane_drop_qp(r, &r->lanes[i]);
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
