// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fails one thing at each point of a fixed run, for every point up to its end:
 * sweep [runs]. The run has 4 lanes, merges, chunks, READ credit and queues
 * that are too small; what must hold is what property.c checks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../property/case.h"
#include "alloc.h"
#include "memdev.h"

#ifndef NR_RUNS
#define NR_RUNS 12 /* of each kind of fault */
#endif
#define NR_STEPS     96
#define LASTING_NTHS 12 /* first points of faults that never end */
#define NR_LANES     4
#define BYTES	     4096
#define NR_REGIONS   6 /* per side: a region table grows twice */

static uint64_t nr_points;
static uint64_t nr_points_alloc;
static uint64_t alloc_point_nr; /* the one that fails now */

/* -- allocations ----------------------------------------------------------- */

/* Everything that allocates, from the device to the last region. */
struct set_up {
	struct memdev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qps[NR_LANES];
	struct wrb_queue *queue;
	uint8_t local[NR_REGIONS][BYTES];
	uint8_t remote[NR_REGIONS][BYTES];
	struct memdev_mr keys[2][NR_REGIONS];
	int ids[2][NR_REGIONS];
};

/*
 * A call that finds no memory says so and has changed nothing: it succeeds when
 * it is made again.
 */
#define again(call)                                                           \
	({                                                                    \
		int64_t live_before = alloc_nr_live;                          \
		int result = (call);                                          \
		if (result == -ENOMEM) {                                      \
			if (alloc_nr_calls() < alloc_point_nr)                \
				die("-ENOMEM out of nothing", #call);         \
			if (alloc_nr_live != live_before)                     \
				die("what failed left memory behind", #call); \
			result = (call);                                      \
		}                                                             \
		if (result < 0)                                               \
			die("fails", #call);                                  \
		result;                                                       \
	})

static _Noreturn void die(const char *what, const char *call)
{
	printf("allocation %" PRIu64 ": %s: %s\n", alloc_point_nr, what, call);
	exit(1);
}

static void make_device(struct set_up *s)
{
	struct ibv_qp_cap cap = { .max_send_wr = 8, .max_send_sge = 4 };

	again(memdev_open(NULL, &s->dev));
	again(memdev_cq_create(s->dev, NR_LANES * 8, &s->cq));
	for (int i = 0; i < NR_LANES; i++)
		again(memdev_qp_create(s->dev, s->cq, &cap, &s->qps[i]));
}

static void make_queue(struct set_up *s)
{
	struct wrb_attr attr;

	wrb_attr_init(&attr);
	attr.qps = s->qps;
	attr.nr_qps = NR_LANES;
	attr.cq = s->cq;
	attr.max_ops = 32;
	attr.flags = WRB_MERGE | WRB_SORT;
	attr.qp_error = memdev_qp_error;
	attr.limits = (struct wrb_limits){ 8, 4, 0, NR_LANES * 8, 1u << 20 };
	again(wrb_queue_create(&attr, &s->queue));
}

static void make_region(struct set_up *s, enum wrb_side side, int i)
{
	uint8_t *memory = side == WRB_LOCAL ? s->local[i] : s->remote[i];
	int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct memdev_mr *mr = &s->keys[side][i];
	uint32_t key, keys[NR_LANES];
	struct wrb_region region = {
		.side = side,
		.addr = (uintptr_t)memory,
		.length = BYTES,
		.keys = keys,
	};

	again(memdev_mr_reg(s->dev, memory, BYTES, rights, mr));
	key = side == WRB_LOCAL ? mr->lkey : mr->rkey;
	for (int lane = 0; lane < NR_LANES; lane++)
		keys[lane] = key;
	s->ids[side][i] = again(wrb_region_add(s->queue, &region));
}

/* Every region is written to, whatever happened on the way. */
static void move(struct set_up *s)
{
	struct wrb_done done[NR_REGIONS];
	int nr = 0;

	for (int i = 0; i < NR_REGIONS; i++) {
		struct wrb_op op = {
			.length = BYTES,
			.local = (uint16_t)s->ids[WRB_LOCAL][i],
			.remote = (uint16_t)s->ids[WRB_REMOTE][i],
		};

		memset(s->local[i], i + 1, BYTES);
		again(wrb_add(s->queue, &op));
	}
	again(wrb_submit(s->queue));
	while (nr < NR_REGIONS) {
		int got = again(wrb_poll(s->queue, done, NR_REGIONS));

		for (int i = 0; i < got; i++)
			if (done[i].error)
				die("an operation failed", "wrb_poll");
		nr += got;
	}
	if (memcmp(s->local, s->remote, sizeof(s->local)))
		die("bytes have not moved", "wrb_poll");
}

/* False when the run has fewer allocations. */
static bool alloc_point(uint64_t nth)
{
	static struct set_up s;
	int64_t before = alloc_nr_live;

	memset(&s, 0, sizeof(s));
	alloc_point_nr = nth;
	alloc_fail_at(nth);
	make_device(&s);
	make_queue(&s);
	for (int i = 0; i < NR_REGIONS; i++) {
		make_region(&s, WRB_LOCAL, i);
		make_region(&s, WRB_REMOTE, i);
	}
	move(&s);
	wrb_queue_destroy(s.queue);
	memdev_close(s.dev);
	if (alloc_nr_live != before)
		die("not all memory was freed", "the whole run");
	return alloc_nr_calls() >= nth;
}

static void sweep_allocations(void)
{
	uint64_t nth = 1;

	while (alloc_point(nth))
		nth++;
	alloc_fail_at(0);
	nr_points_alloc = nth - 1;
	printf("allocations: %" PRIu64 " points\n", nr_points_alloc);
}

/* -- the device's faults --------------------------------------------------- */

struct kind {
	const char *name;
	struct memdev_fault fault;
};

/* One QP change happens only after a failure: WRs fail all along. */
static const struct memdev_fault background = {
	.kind = MEMDEV_FAIL_WR,
	.nth = 5,
	.every = 9,
	.value = IBV_WC_RETRY_EXC_ERR,
};

static const struct kind kinds[] = {
	{ "posts", { .kind = MEMDEV_FAIL_POST, .value = ENOMEM } },
	{ "posts, by errno", { .kind = MEMDEV_FAIL_POST, .value = -EIO } },
	{ "doorbells, nothing taken",
	  { .kind = MEMDEV_FAIL_DOORBELL, .value = EIO } },
	{ "doorbells, 1 WR taken",
	  { .kind = MEMDEV_FAIL_DOORBELL, .value = EIO, .taken = 1 } },
	{ "doorbells, all taken",
	  { .kind = MEMDEV_FAIL_DOORBELL, .value = EIO, .taken = 64 } },
	{ "WRs, remote access",
	  { .kind = MEMDEV_FAIL_WR, .value = IBV_WC_REM_ACCESS_ERR } },
	{ "WRs, lost peer",
	  { .kind = MEMDEV_FAIL_WR, .value = IBV_WC_RETRY_EXC_ERR } },
	{ "polls", { .kind = MEMDEV_FAIL_POLL, .value = EIO } },
	{ "QP changes", { .kind = MEMDEV_FAIL_QP_ERROR, .value = EIO } },
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void fix_run(struct world_fixed *fixed, uint32_t run)
{
	struct wrb_attr *attr = &fixed->attr;

	*fixed = (struct world_fixed){ .nr_steps = NR_STEPS };
	wrb_attr_init(attr);
	attr->nr_qps = NR_LANES;
	attr->limits = (struct wrb_limits){
		.max_send_wr = 6,
		.max_send_sge = 4,
		.max_inline = 32,
		.max_cqe = NR_LANES * 6,
		.max_msg_bytes = 700,
	};
	attr->max_ops = 48;
	attr->chunk_bytes = 300;
	attr->max_chunks = run % 3 ? 0 : 4;
	attr->signal_interval = run % 2 ? 3 : 0;
	attr->read_depth = 2;
	attr->max_chain = 4;
	attr->flags = WRB_MERGE | (run % 2 ? WRB_SORT : 0);
	attr->stripe = (enum wrb_stripe)(run % 4);
}

static _Noreturn void point_failed(const struct kind *kind, uint32_t run,
				   uint64_t nth, const char *why)
{
	printf("%s, point %" PRIu64 " of run %u: %s\n", kind->name, nth, run,
	       why);
	exit(1);
}

/* False when the fault never struck: the run has fewer points. */
static bool point(const struct kind *kind, uint32_t run, uint64_t nth,
		  uint64_t every)
{
	struct world_fixed fixed;
	int64_t before = alloc_nr_live;
	struct source source;
	uint64_t nr_faults;
	const char *why;

	fix_run(&fixed, run);
	fixed.faults[0] = kind->fault;
	fixed.faults[0].nth = nth;
	fixed.faults[0].every = every;
	source_from_seed(&source, run + 1);
	if (kind->fault.kind == MEMDEV_FAIL_QP_ERROR)
		fixed.faults[1] = background;
	why = case_run_fixed(&source, &fixed, &nr_faults);
	if (!why && alloc_nr_live != before)
		why = "not all memory was freed";
	if (why)
		point_failed(kind, run, nth, why);
	return nr_faults;
}

/* The background strikes as well: the points of QP changes are counted. */
static uint64_t nr_qp_changes(uint32_t run)
{
	struct world_fixed fixed;
	struct source source;
	uint64_t nr_faults;

	fix_run(&fixed, run);
	fixed.faults[0] = background;
	source_from_seed(&source, run + 1);
	case_run_fixed(&source, &fixed, &nr_faults);
	return nr_faults;
}

static uint64_t sweep_run(const struct kind *kind, uint32_t run)
{
	bool counted = kind->fault.kind == MEMDEV_FAIL_QP_ERROR;
	uint64_t most = counted ? nr_qp_changes(run) : UINT64_MAX;
	uint64_t nth = 1;

	while (nth <= most && point(kind, run, nth, 0))
		nth++;
	for (uint64_t first = 1; first <= LASTING_NTHS; first++)
		point(kind, run, first, 1);
	return nth - 1 + LASTING_NTHS;
}

static void sweep_kind(const struct kind *kind, uint32_t nr_runs)
{
	uint64_t nr = 0;

	for (uint32_t run = 0; run < nr_runs; run++)
		nr += sweep_run(kind, run);
	printf("%s: %" PRIu64 " points\n", kind->name, nr);
	nr_points += nr;
}

int main(int argc, char **argv)
{
	uint32_t nr_runs = argc > 1 ? (uint32_t)atoi(argv[1]) : NR_RUNS;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sweep_allocations();
	for (size_t i = 0; i < NR_KINDS; i++)
		sweep_kind(&kinds[i], nr_runs);
	printf("%" PRIu64 " points in %u runs: all held, nothing leaks\n",
	       nr_points + nr_points_alloc, nr_runs);
	return 0;
}
