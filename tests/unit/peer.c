// SPDX-License-Identifier: GPL-2.0-only
/* A reaper over the device in memory, and its peer. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static int peer_check(struct transport *t)
{
	struct peer *peer = (struct peer *)t;

	peer->nr_checks++;
	return peer->check_result;
}

static int peer_wait(struct transport *t, int timeout_ms)
{
	struct peer *peer = (struct peer *)t;

	(void)timeout_ms;
	usleep(peer->wait_ms * 1000);
	if (++peer->nr_waits == peer->thaws_at)
		memdev_freeze(peer->dev, 0);
	return peer->wait_result;
}

static void peer_destroy_qps(struct transport *t)
{
	struct peer *peer = (struct peer *)t;
	uint32_t i;

	peer->nr_destroys++;
	for (i = 0; i < t->nr_qps; i++)
		memdev_qp_destroy(t->qps[i]);
}

static const struct transport_ops peer_ops = {
	.name = "peer",
	.check = peer_check,
	.wait = peer_wait,
	.destroy_qps = peer_destroy_qps,
};

static void make_lanes(struct fixture *f, uint32_t sq_depth)
{
	struct ibv_qp_cap cap = { .max_send_wr = sq_depth, .max_send_sge = 1 };
	struct transport *t = &f->peer.t;
	int i;

	assert_int_equal(memdev_open(NULL, &f->peer.dev), 0);
	assert_int_equal(
		memdev_cq_create(f->peer.dev, NR_LANES * sq_depth, &t->cq), 0);
	for (i = 0; i < NR_LANES; i++)
		assert_int_equal(
			memdev_qp_create(f->peer.dev, t->cq, &cap, &f->qps[i]),
			0);
	t->ops = &peer_ops;
	t->qps = f->qps;
	t->nr_qps = NR_LANES;
	t->peer = "10.0.0.1:7471";
	t->device = "mem0";
	t->limits = (struct wrb_limits){
		.max_send_wr = sq_depth,
		.max_send_sge = 1,
		.max_cqe = NR_LANES * sq_depth,
		.max_msg_bytes = 1 << 20,
	};
}

static void add_region(struct fixture *f, enum wrb_side side, void *addr)
{
	struct memdev_mr mr;
	uint32_t keys[NR_LANES];
	struct wrb_region region = {
		.side = side,
		.addr = (uintptr_t)addr,
		.length = sizeof(f->local),
		.keys = keys,
	};
	int i;

	assert_int_equal(memdev_mr_reg(f->peer.dev, addr, region.length,
				       IBV_ACCESS_LOCAL_WRITE |
					       IBV_ACCESS_REMOTE_READ |
					       IBV_ACCESS_REMOTE_WRITE,
				       &mr),
			 0);
	for (i = 0; i < NR_LANES; i++)
		keys[i] = side == WRB_LOCAL ? mr.lkey : mr.rkey;
	/* The local region is the first, and so has id 0. */
	assert_int_equal(wrb_region_add(f->reaper.queue, &region),
			 side == WRB_LOCAL ? 0 : 1);
}

void peer_start(struct fixture *f, uint32_t sq_depth, enum conf_poll poll)
{
	peer_start_cut(f, sq_depth, poll, 0);
}

void peer_start_cut(struct fixture *f, uint32_t sq_depth, enum conf_poll poll,
		    uint32_t chunk_bytes)
{
	struct wrb_attr attr;

	memset(f, 0, sizeof(*f));
	make_lanes(f, sq_depth);
	f->conf.io_timeout_ms = 50;
	f->conf.poll = poll;
	f->env.arg = &f->heard;
	f->env.error = heard_error;
	f->reaper.transport = &f->peer.t;
	f->reaper.conf = &f->conf;
	f->reaper.env = &f->env;
	wrb_attr_init(&attr);
	attr.qps = f->qps;
	attr.nr_qps = NR_LANES;
	attr.cq = f->peer.t.cq;
	attr.limits = f->peer.t.limits;
	attr.max_ops = NR_OPS;
	attr.chunk_bytes = chunk_bytes;
	attr.qp_error = memdev_qp_error;
	assert_int_equal(wrb_queue_create(&attr, &f->reaper.queue), 0);
	add_region(f, WRB_LOCAL, f->local);
	add_region(f, WRB_REMOTE, f->remote);
}

struct wrb_op peer_op(struct fixture *f, uint32_t nth, enum wrb_dir dir)
{
	return (struct wrb_op){
		.user = &f->local[nth * OP_BYTES],
		.local_offset = nth * OP_BYTES,
		.remote_offset = nth * OP_BYTES,
		.length = OP_BYTES,
		.local = 0,
		.remote = 1,
		.dir = dir,
	};
}

void peer_submit(struct fixture *f, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct wrb_op op = peer_op(f, i, WRB_WRITE);

		assert_int_equal(wrb_add(f->reaper.queue, &op), 0);
	}
	wrb_submit(f->reaper.queue);
}

uint32_t peer_count_failed(const struct fixture *f, uint32_t nr)
{
	uint32_t failed = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		failed += f->done[i].error != 0;
	return failed;
}

void peer_stop(struct fixture *f)
{
	reap_end(&f->reaper);
	assert_int_equal(wrb_inflight(f->reaper.queue), 0);
	assert_int_equal(wrb_staged(f->reaper.queue), 0);
	wrb_queue_destroy(f->reaper.queue);
	memdev_close(f->peer.dev);
}
