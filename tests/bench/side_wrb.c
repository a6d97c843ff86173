// SPDX-License-Identifier: GPL-2.0-only
/* libwrb through its public calls. */
#include <stdlib.h>

#include "bench.h"

struct lib_side {
	struct walk_dev dev;
	struct wrb_queue *queue;
};

static void add_region(struct wrb_queue *queue, enum wrb_side where,
		       uint64_t bytes)
{
	uint32_t keys[BENCH_MAX_LANES] = { 0 };
	struct wrb_region region = {
		.side = where,
		.addr = BENCH_BASE,
		.length = bytes,
		.keys = keys,
	};

	if (wrb_region_add(queue, &region) < 0)
		abort();
}

static void *wrb_make(const struct bench_work *work)
{
	struct lib_side *side = calloc(1, sizeof(*side));
	struct wrb_attr attr;

	if (!side)
		abort();
	walk_dev_init(&side->dev);
	wrb_attr_init(&attr);
	attr.qps = side->dev.qp_list;
	attr.nr_qps = work->lanes;
	attr.cq = &side->dev.cq;
	attr.limits = (struct wrb_limits){
		.max_send_wr = BENCH_SLOTS + 1,
		.max_send_sge = BENCH_MAX_SGE,
		.max_cqe = (BENCH_SLOTS + 1) * work->lanes,
		.max_msg_bytes = 1u << 30,
	};
	attr.max_ops = BENCH_MAX_OPS;
	attr.chunk_bytes = work->shape->chunk_bytes;
	attr.max_chain = BENCH_CHAIN;
	attr.flags = (work->shape->merge ? WRB_MERGE : 0u) |
		     (work->shape->sort ? WRB_SORT : 0u);
	if (wrb_queue_create(&attr, &side->queue))
		abort();
	add_region(side->queue, WRB_LOCAL, work->region_bytes);
	add_region(side->queue, WRB_REMOTE, work->region_bytes);
	return side;
}

static void wrb_run(void *arg, const struct bench_work *work)
{
	struct lib_side *side = arg;
	uint32_t ended = 0;

	if (wrb_addv(side->queue, work->ops, work->batch) != (int)work->batch)
		abort();
	while (ended < work->batch) {
		int nr;

		if (wrb_submit(side->queue) < 0)
			abort();
		nr = wrb_poll(side->queue, work->done, work->batch);
		if (nr < 0)
			abort();
		ended += (uint32_t)nr;
	}
}

static void wrb_drop(void *arg)
{
	struct lib_side *side = arg;

	wrb_queue_destroy(side->queue);
	walk_dev_free(&side->dev);
	free(side);
}

const struct bench_side side_wrb = { "libwrb", wrb_make, wrb_run, wrb_drop };
