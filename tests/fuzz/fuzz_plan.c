// SPDX-License-Identifier: GPL-2.0-only
/*
 * The planner beside the reference planner, on one lane with room for all and
 * with addresses and lengths of any size: nothing is executed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../property/source.h"
#include "../ref/ref_plan.h"
#include "fuzz.h"
#include "memdev.h"
#include "wrb.h"

#define MAX_OPS	     40
#define MAX_WRS	     8000
#define NR_REGIONS   2 /* per side */
#define FIRST_KEY    100
#define REGION_BYTES (UINT64_C(1) << 48) /* of a region */

/* WRs are told in the words of the reference; its `run` only by itself. */
struct plan_case {
	struct source source;
	struct ref_rules rules;
	uint32_t unit; /* lengths and limits are about multiples of it */
	struct wrb_queue *queue;
	uint64_t base[2][NR_REGIONS];
	int ids[2][NR_REGIONS];
	struct ref_op ops[MAX_OPS];
	uint32_t nr_ops;
	struct ref_wr posted[MAX_WRS];
	uint32_t nr_posted;
	struct ref_wr expect[MAX_WRS];
	uint32_t nr_expect;
	struct wrb_plan_wr explained[MAX_WRS];
};

static struct plan_case the_case;

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			fail(#condition, __LINE__); \
	} while (0)

static _Noreturn void fail(const char *what, int line)
{
	fprintf(stderr, "fuzz_plan.c:%d: not so: %s\n", line, what);
	abort();
}

/* -- what is posted -------------------------------------------------------- */

static struct ref_wr wr_read(const struct ibv_send_wr *wr)
{
	struct ref_wr read = {
		.dir = wr->opcode == IBV_WR_RDMA_READ ? WRB_READ : WRB_WRITE,
		.remote_addr = wr->wr.rdma.remote_addr,
		.remote = wr->wr.rdma.rkey - FIRST_KEY,
		.nr_sges = (uint32_t)wr->num_sge,
	};

	CHECK(wr->num_sge >= 1 && wr->num_sge <= REF_MAX_SGE);
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		read.sges[i] = (struct ref_sge){ sge->addr, sge->length,
						 sge->lkey - FIRST_KEY };
		read.length += sge->length;
	}
	return read;
}

static int post_record(struct ibv_qp *qp, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad_wr)
{
	(void)qp;
	(void)bad_wr;
	for (; wr; wr = wr->next) {
		CHECK(the_case.nr_posted < MAX_WRS);
		the_case.posted[the_case.nr_posted++] = wr_read(wr);
	}
	return 0;
}

/* -- input ----------------------------------------------------------------- */

/* About 1..most units: one byte less, or more, now and then. */
static uint32_t choose_length(struct plan_case *c, uint32_t most)
{
	uint32_t length = source_range(&c->source, 1, most) * c->unit;

	length += source_below(&c->source, 3);
	return length > 1 ? length - 1 : 1;
}

static void choose_rules(struct plan_case *c)
{
	struct source *src = &c->source;

	c->unit = 1u << source_below(src, 25);
	c->rules = (struct ref_rules){
		.max_sge = source_range(src, 1, REF_MAX_SGE),
		.max_msg_bytes = choose_length(c, 100),
		.chunk_bytes = source_below(src, 2) ? choose_length(c, 20) : 0,
		.max_chunks = source_below(src, 8),
		.merge = source_below(src, 4),
		.sort = source_below(src, 2),
	};
}

/* The last region of a side ends with the address space. */
static void choose_regions(struct plan_case *c, enum wrb_side side)
{
	for (uint32_t r = 0; r < NR_REGIONS; r++) {
		uint32_t key = FIRST_KEY + r + NR_REGIONS * side;
		struct wrb_region region = {
			.side = side,
			.addr = 0 - (NR_REGIONS - r) * REGION_BYTES,
			.length = REGION_BYTES,
			.keys = &key,
		};

		c->base[side][r] = region.addr;
		c->ids[side][r] = wrb_region_add(c->queue, &region);
		CHECK(c->ids[side][r] >= 0);
	}
}

/* An offset: where the last one ended, its start, or anywhere. */
static uint64_t choose_offset(struct plan_case *c, uint64_t last, uint64_t end,
			      uint32_t length)
{
	uint64_t offset = end;

	switch (source_below(&c->source, 8)) {
	case 0:
		offset = last;
		break;
	case 1:
		offset = (uint64_t)source_below(&c->source, 64) * c->unit;
		break;
	case 2:
		offset = REGION_BYTES - length;
		break;
	}
	return offset <= REGION_BYTES - length ? offset : 0;
}

static void add_ops(struct plan_case *c)
{
	uint64_t last[2] = { 0 }, end[2] = { 0 };
	uint32_t region[2] = { 0 }, nr = source_range(&c->source, 1, MAX_OPS);
	enum wrb_dir dir = WRB_WRITE;

	for (c->nr_ops = 0; c->nr_ops < nr; c->nr_ops++) {
		struct ref_op *ref = &c->ops[c->nr_ops];
		uint32_t length = choose_length(c, 64);
		struct wrb_op op = { .length = length };

		for (int s = WRB_LOCAL; s <= WRB_REMOTE; s++) {
			if (source_one_in(&c->source, 12))
				region[s] ^= 1;
			last[s] = choose_offset(c, last[s], end[s], length);
			end[s] = last[s] + length;
		}
		if (source_one_in(&c->source, 12))
			dir = !dir;
		op.dir = dir;
		op.local = (uint16_t)c->ids[WRB_LOCAL][region[WRB_LOCAL]];
		op.remote = (uint16_t)c->ids[WRB_REMOTE][region[WRB_REMOTE]];
		op.local_offset = last[WRB_LOCAL];
		op.remote_offset = last[WRB_REMOTE];
		CHECK(!wrb_add(c->queue, &op));
		*ref = (struct ref_op){
			.local_addr = c->base[WRB_LOCAL][region[WRB_LOCAL]] +
				      op.local_offset,
			.remote_addr = c->base[WRB_REMOTE][region[WRB_REMOTE]] +
				       op.remote_offset,
			.length = length,
			.local = region[WRB_LOCAL],
			.remote = region[WRB_REMOTE] + NR_REGIONS,
			.dir = dir,
		};
	}
}

/* -- checks ---------------------------------------------------------------- */

static uint32_t gap(uint64_t a, uint64_t b)
{
	return (uint32_t)(a > b ? a - b : b - a);
}

/* Pieces of a run may differ by one byte, in any order. */
static void check_wr(const struct ref_rules *rules, const struct ref_wr *wr,
		     const struct ref_wr *expect)
{
	CHECK(wr->dir == expect->dir);
	CHECK(wr->remote == expect->remote);
	CHECK(gap(wr->length, expect->length) <= 1);
	CHECK(wr->length <= rules->max_msg_bytes);
	CHECK(wr->nr_sges <= rules->max_sge);
	if (rules->chunk_bytes && !rules->max_chunks)
		CHECK(wr->length <= rules->chunk_bytes);
}

static void check_explained(const struct wrb_plan_wr *wr,
			    const struct ref_wr *posted)
{
	CHECK(wr->dir == posted->dir);
	CHECK(wr->length == posted->length);
	CHECK(wr->remote_addr == posted->remote_addr);
	CHECK(wr->rkey == posted->remote + FIRST_KEY);
	CHECK(wr->nr_sges == posted->nr_sges);
}

/* A place in a list of WRs. */
struct place {
	const struct ref_wr *wrs;
	uint32_t wr;
	uint32_t sge;
	uint64_t sge_offset;
	uint64_t wr_offset;
};

static uint64_t place_left(const struct place *place)
{
	return place->wrs[place->wr].sges[place->sge].length -
	       place->sge_offset;
}

static void place_move(struct place *place, uint64_t bytes)
{
	place->sge_offset += bytes;
	place->wr_offset += bytes;
	if (place_left(place))
		return;
	place->sge_offset = 0;
	if (++place->sge < place->wrs[place->wr].nr_sges)
		return;
	place->sge = 0;
	place->wr_offset = 0;
	place->wr++;
}

static void check_place(const struct place *a, const struct place *b)
{
	const struct ref_wr *wa = &a->wrs[a->wr], *wb = &b->wrs[b->wr];
	const struct ref_sge *sa = &wa->sges[a->sge], *sb = &wb->sges[b->sge];

	CHECK(wa->remote_addr + a->wr_offset == wb->remote_addr + b->wr_offset);
	CHECK(sa->addr + a->sge_offset == sb->addr + b->sge_offset);
	CHECK(sa->region == sb->region);
	CHECK(sa->length && sb->length);
}

/* The same bytes in the same order, wherever they were cut. */
static void check_bytes(const struct plan_case *c)
{
	struct place a = { .wrs = c->posted }, b = { .wrs = c->expect };

	while (a.wr < c->nr_posted && b.wr < c->nr_expect) {
		uint64_t step = place_left(&a);

		if (place_left(&b) < step)
			step = place_left(&b);
		check_place(&a, &b);
		place_move(&a, step);
		place_move(&b, step);
	}
	CHECK(a.wr == c->nr_posted && b.wr == c->nr_expect);
}

static void check_plans(struct plan_case *c)
{
	int nr = wrb_explain(c->queue, c->explained, MAX_WRS);

	c->nr_expect =
		ref_plan(&c->rules, c->ops, c->nr_ops, c->expect, MAX_WRS);
	CHECK(c->nr_expect <= MAX_WRS);
	CHECK(nr == wrb_submit(c->queue));
	CHECK((uint32_t)nr == c->nr_posted && c->nr_posted == c->nr_expect);
	for (uint32_t i = 0; i < c->nr_posted; i++) {
		check_wr(&c->rules, &c->posted[i], &c->expect[i]);
		check_explained(&c->explained[i], &c->posted[i]);
	}
	check_bytes(c);
}

/* -- one input ------------------------------------------------------------- */

static struct wrb_attr attr_of(const struct plan_case *c, struct ibv_qp **qp,
			       struct ibv_cq *cq)
{
	struct wrb_attr attr;

	wrb_attr_init(&attr);
	attr.qps = qp;
	attr.nr_qps = 1;
	attr.cq = cq;
	attr.limits = (struct wrb_limits){
		.max_send_wr = MAX_WRS + 1,
		.max_send_sge = REF_MAX_SGE,
		.max_cqe = MAX_WRS + 1,
		.max_msg_bytes = c->rules.max_msg_bytes,
	};
	attr.max_ops = MAX_OPS;
	attr.chunk_bytes = c->rules.chunk_bytes;
	attr.max_chunks = c->rules.max_chunks;
	attr.max_sge = c->rules.max_sge;
	attr.flags = (c->rules.merge ? WRB_MERGE : 0) |
		     (c->rules.sort ? WRB_SORT : 0);
	return attr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_send_sge = 1 };
	struct plan_case *c = &the_case;
	struct memdev *dev;
	struct wrb_attr attr;
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	source_from_bytes(&c->source, data, size);
	c->nr_posted = 0;
	choose_rules(c);
	CHECK(!memdev_open(NULL, &dev));
	CHECK(!memdev_cq_create(dev, 1, &cq));
	CHECK(!memdev_qp_create(dev, cq, &cap, &qp));
	memdev_context(dev)->ops.post_send = post_record;
	attr = attr_of(c, &qp, cq);
	CHECK(!wrb_queue_create(&attr, &c->queue));
	choose_regions(c, WRB_LOCAL);
	choose_regions(c, WRB_REMOTE);
	add_ops(c);
	check_plans(c);
	wrb_queue_destroy(c->queue);
	memdev_close(dev);
	return 0;
}
