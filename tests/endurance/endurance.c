// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts operations through queues over the device in memory while posts,
 * doorbells, WRs, polls and QP changes fail at random, lanes are replaced and
 * queues made anew: endurance [operations] [seed].
 *
 * The checks are cheap, so that 10^8 operations take minutes: what a post and
 * the counters must look like, that every operation ends once, and its first
 * and last bytes. Memory and descriptors at the end are those of the start.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../property/source.h"
#include "../sweep/alloc.h"
#include "memdev.h"
#include "wrb.h"

#ifndef NR_OPS
#define NR_OPS 1000000
#endif
#define MAX_LANES  8
#define MAX_OPS	   256
#define SLOT_BYTES 1024
#define STAMP	   sizeof(uint64_t)
#define MAX_BATCH  64
#define IDLE_LOOPS 300
/* Of the process; sanitizers hold back what was freed. */
#ifndef MAX_GROWTH_PAGES
#define MAX_GROWTH_PAGES 256
#endif

/* A place for one operation in local and in remote memory. */
struct slot {
	uint64_t stamp; /* of the operation in it; 0: free */
	uint32_t length;
	enum wrb_dir dir;
};

struct lane {
	struct ibv_qp *qp;
	uint32_t silent;
};

static struct endurance {
	struct source source;
	uint64_t seed;
	uint64_t wanted;
	uint64_t nr_added;
	uint64_t nr_done;
	uint64_t nr_failed;
	uint64_t nr_replaced;
	uint64_t nr_queues;
	uint64_t nr_rescues;
	uint64_t nr_faults;
	uint64_t nr_wrs;
	uint64_t added_here; /* of this queue */
	uint64_t done_here;
	uint64_t ops_left; /* of this queue */
	bool cq_failed;

	struct memdev *dev;
	struct ibv_cq *cq;
	struct wrb_queue *queue;
	struct wrb_attr attr;
	struct lane lanes[MAX_LANES];
	int ids[2];
	struct memdev_mr keys[2];
	struct slot slots[MAX_OPS];
	uint32_t next_slot;
	uint8_t memory[2][MAX_OPS * SLOT_BYTES]; /* by enum wrb_side */
} e;

static int (*device_post)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr);

__attribute__((__format__(__printf__, 1, 2))) static _Noreturn void
fail(const char *format, ...)
{
	va_list args;

	printf("seed %" PRIu64 ", operation %" PRIu64 ": ", e.seed, e.nr_added);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static void must(int failed, const char *what)
{
	if (failed)
		fail("%s: %d", what, failed);
}

static uint32_t below(uint32_t n)
{
	return source_below(&e.source, n);
}

static uint32_t range(uint32_t lo, uint32_t hi)
{
	return source_range(&e.source, lo, hi);
}

static bool one_in(uint32_t n)
{
	return source_one_in(&e.source, n);
}

/* -- what is posted (I2 to I5) ---------------------------------------------- */

static uint32_t most_sges(void)
{
	return e.attr.max_sge ? e.attr.max_sge : e.attr.limits.max_send_sge;
}

static void check_wr(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	if (wr->num_sge < 1 || (uint32_t)wr->num_sge > most_sges())
		fail("I2: a WR with %d SGEs", wr->num_sge);
	for (int i = 0; i < wr->num_sge; i++) {
		if (!wr->sg_list[i].length)
			fail("I2: an empty SGE");
		if (wr->sg_list[i].lkey != e.keys[WRB_LOCAL].lkey)
			fail("I2: a wrong key");
		length += wr->sg_list[i].length;
	}
	if (length > e.attr.limits.max_msg_bytes)
		fail("I2: a WR of %" PRIu64 " bytes", length);
	if (e.attr.chunk_bytes && !e.attr.max_chunks &&
	    length > e.attr.chunk_bytes)
		fail("I2: a chunk of %" PRIu64 " bytes", length);
	if (wr->wr.rdma.rkey != e.keys[WRB_REMOTE].rkey)
		fail("I2: a wrong rkey");
}

static void check_signal(struct lane *lane, const struct ibv_send_wr *wr)
{
	bool signalled = wr->send_flags & IBV_SEND_SIGNALED;

	lane->silent = signalled ? 0 : lane->silent + 1;
	if (!wr->next && !signalled)
		fail("I5: the last WR of a chain is silent");
	if (e.attr.signal_interval && lane->silent >= e.attr.signal_interval)
		fail("I5: %u WRs without a signalled one", lane->silent);
}

static uint32_t check_chain(struct lane *lane, const struct ibv_send_wr *wr)
{
	uint32_t slots = e.attr.limits.max_send_wr - 1;
	uint32_t nr = 0, reads = 0;

	for (; wr; wr = wr->next) {
		check_wr(wr);
		check_signal(lane, wr);
		reads += wr->opcode == IBV_WR_RDMA_READ;
		if (++nr > slots)
			fail("I3: a chain without an end");
	}
	if (e.attr.read_depth && reads > e.attr.read_depth)
		fail("I4: %u READs in one chain", reads);
	return nr;
}

/* Room for a WR is the device's to check: it refuses one too many. */
static int post(struct ibv_qp *qp, struct ibv_send_wr *wr,
		struct ibv_send_wr **bad_wr)
{
	int rc;

	if (wr->num_sge)
		e.nr_wrs += check_chain(qp->qp_context, wr);
	errno = 0;
	rc = device_post(qp, wr, bad_wr);
	/* Faults have an errno of their own. */
	if (rc == ENOMEM || (rc == -1 && errno == ENOMEM))
		fail("I4: a send queue overran");
	return rc;
}

/* -- life ------------------------------------------------------------------ */

static void qp_make(uint32_t i)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = e.attr.limits.max_send_wr,
		.max_send_sge = e.attr.limits.max_send_sge,
		.max_inline_data = e.attr.limits.max_inline,
	};
	struct lane *lane = &e.lanes[i];

	must(memdev_qp_create(e.dev, e.cq, &cap, &lane->qp), "QP");
	lane->qp->qp_context = lane;
	lane->silent = 0;
}

static void choose_attr(void)
{
	struct wrb_attr *attr = &e.attr;
	struct wrb_limits *limits = &attr->limits;

	wrb_attr_init(attr);
	attr->nr_qps = range(1, MAX_LANES);
	limits->max_send_wr = one_in(3) ? range(2, 8) : range(8, 64);
	limits->max_send_sge = range(1, 8);
	limits->max_inline = one_in(2) ? range(1, 128) : 0;
	limits->max_cqe = limits->max_send_wr * attr->nr_qps;
	limits->max_msg_bytes = one_in(3) ? range(200, 4000) : 1u << 20;
	attr->max_ops = range(8, MAX_OPS);
	attr->chunk_bytes = one_in(3) ? range(100, 2000) : 0;
	attr->max_chunks = one_in(2) ? range(1, 4) : 0;
	attr->signal_interval = one_in(2) ? range(1, 16) : 0;
	attr->read_depth = one_in(2) ? range(1, 8) : 0;
	attr->max_chain = one_in(2) ? range(1, 32) : 0;
	attr->flags = below(4);
	attr->stripe = (enum wrb_stripe)below(4);
	attr->qp_error = memdev_qp_error;
}

static void region_make(enum wrb_side side)
{
	int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_WRITE;
	size_t bytes = sizeof(e.memory[side]);
	uint32_t keys[MAX_LANES];
	struct wrb_region region = {
		.side = side,
		.addr = (uintptr_t)e.memory[side],
		.length = bytes,
		.keys = keys,
	};
	struct memdev_mr *mr = &e.keys[side];

	must(memdev_mr_reg(e.dev, e.memory[side], bytes, rights, mr), "MR");
	for (uint32_t i = 0; i < MAX_LANES; i++)
		keys[i] = side == WRB_LOCAL ? mr->lkey : mr->rkey;
	e.ids[side] = wrb_region_add(e.queue, &region);
	must(e.ids[side] < 0, "region");
}

static void queue_make(void)
{
	struct memdev_attr attr = { 0 };
	struct ibv_qp *qps[MAX_LANES];

	choose_attr();
	attr.max_msg_bytes = e.attr.limits.max_msg_bytes;
	must(memdev_open(&attr, &e.dev), "device");
	must(memdev_cq_create(e.dev, e.attr.limits.max_cqe, &e.cq), "CQ");
	device_post = memdev_context(e.dev)->ops.post_send;
	memdev_context(e.dev)->ops.post_send = post;
	for (uint32_t i = 0; i < e.attr.nr_qps; i++) {
		qp_make(i);
		qps[i] = e.lanes[i].qp;
	}
	e.attr.qps = qps;
	e.attr.cq = e.cq;
	must(wrb_queue_create(&e.attr, &e.queue), "queue");
	e.attr.qps = NULL;
	region_make(WRB_LOCAL);
	region_make(WRB_REMOTE);
	if (!one_in(4))
		memdev_schedule(e.dev, range(1, 65536), range(1, 64));
	e.added_here = 0;
	e.done_here = 0;
	e.cq_failed = false;
	e.ops_left = range(1, 200000);
	e.nr_queues++;
}

static void count_faults(void)
{
	struct memdev_stats stats;

	memdev_stats_get(e.dev, &stats);
	e.nr_faults += stats.faults;
	if (stats.overflows)
		fail("I4: the CQ overran");
}

static void queue_end(void)
{
	struct wrb_stats stats;

	wrb_stats_get(e.queue, &stats);
	if (stats.ops != e.added_here || stats.done != e.done_here)
		fail("stats: %" PRIu64 " operations, %" PRIu64 " done",
		     stats.ops, stats.done);
	if (stats.stale)
		fail("stats: %" PRIu64 " stale CQEs", stats.stale);
	count_faults();
	for (uint32_t i = 0; i < e.attr.nr_qps; i++)
		if (e.lanes[i].qp)
			memdev_qp_destroy(e.lanes[i].qp);
	wrb_queue_destroy(e.queue);
	memdev_close(e.dev);
}

/* -- operations ------------------------------------------------------------ */

static uint8_t *slot_memory(const struct slot *slot, enum wrb_side side)
{
	return e.memory[side] + (slot - e.slots) * SLOT_BYTES;
}

static void stamp(uint8_t *memory, uint32_t length, uint64_t value)
{
	memcpy(memory + length - STAMP, &value, STAMP);
	memcpy(memory, &value, STAMP);
}

static bool has_stamp(const uint8_t *memory, uint32_t length, uint64_t value)
{
	return !memcmp(memory, &value, STAMP) &&
	       !memcmp(memory + length - STAMP, &value, STAMP);
}

static enum wrb_side from_side(enum wrb_dir dir)
{
	return dir == WRB_WRITE ? WRB_LOCAL : WRB_REMOTE;
}

/* Whole slots are neighbours of each other, and so may be merged. */
static void slot_fill(struct slot *slot)
{
	slot->length = one_in(2) ? SLOT_BYTES : range(2 * STAMP, SLOT_BYTES);
	slot->dir = one_in(16) ? WRB_READ : (enum wrb_dir)(e.nr_added >> 5 & 1);
	stamp(slot_memory(slot, from_side(slot->dir)), slot->length,
	      e.nr_added + 1);
	stamp(slot_memory(slot, !from_side(slot->dir)), slot->length, 0);
}

static bool add_one(void)
{
	uint32_t index = e.next_slot++ % MAX_OPS;
	struct slot *slot = &e.slots[index];
	struct wrb_op op = {
		.local_offset = (uint64_t)index * SLOT_BYTES,
		.remote_offset = (uint64_t)index * SLOT_BYTES,
		.local = (uint16_t)e.ids[WRB_LOCAL],
		.remote = (uint16_t)e.ids[WRB_REMOTE],
		.user = slot,
	};

	if (slot->stamp)
		return true; /* its operation takes longer than the others */
	slot_fill(slot);
	op.length = slot->length;
	op.dir = slot->dir;
	if (wrb_add(e.queue, &op))
		return false;
	slot->stamp = ++e.nr_added;
	e.added_here++;
	return true;
}

static void add_batch(void)
{
	uint32_t nr = range(1, MAX_BATCH);

	if (e.nr_added >= e.wanted || e.added_here >= e.ops_left)
		return;
	while (nr-- && add_one())
		;
}

static void end_one(const struct wrb_done *done)
{
	struct slot *slot = done->user;
	enum wrb_side to;

	if (slot < e.slots || slot >= e.slots + MAX_OPS || !slot->stamp)
		fail("I7: handed back twice, or never added");
	to = !from_side(slot->dir);
	if (done->error)
		e.nr_failed++;
	else if (!has_stamp(slot_memory(slot, to), slot->length, slot->stamp))
		fail("I1: operation %" PRIu64 " is done, its bytes have not "
		     "moved",
		     slot->stamp);
	slot->stamp = 0;
	e.nr_done++;
	e.done_here++;
}

static void poll_once(void)
{
	struct wrb_done done[MAX_BATCH];
	int nr = wrb_poll(e.queue, done, range(1, MAX_BATCH));

	if (nr == -EIO)
		e.cq_failed = true;
	else if (nr < 0)
		fail("wrb_poll(): %d", nr);
	for (int i = 0; i < nr; i++)
		end_one(&done[i]);
}

/* -- failure --------------------------------------------------------------- */

/* ENOMEM would look like a send queue that overran, see post(). */
static void add_fault(void)
{
	static const int errnos[] = { EIO, EINVAL, -EIO };
	static const enum memdev_fault_kind kinds[] = {
		MEMDEV_FAIL_POST,     MEMDEV_FAIL_POST, MEMDEV_FAIL_DOORBELL,
		MEMDEV_FAIL_DOORBELL, MEMDEV_FAIL_WR,	MEMDEV_FAIL_WR,
		MEMDEV_FAIL_WR,	      MEMDEV_FAIL_WR,	MEMDEV_FAIL_QP_ERROR,
	};
	struct memdev_fault fault = {
		.kind = source_pick(&e.source, kinds),
		.nth = range(1, 400),
		.value = source_pick(&e.source, errnos),
		.taken = below(4),
	};

	if (one_in(500))
		fault.kind = MEMDEV_FAIL_POLL;
	if (fault.kind == MEMDEV_FAIL_POLL ||
	    fault.kind == MEMDEV_FAIL_QP_ERROR)
		fault.value = EIO;
	if (fault.kind == MEMDEV_FAIL_WR)
		fault.value = one_in(2) ? IBV_WC_RETRY_EXC_ERR
					: IBV_WC_REM_ACCESS_ERR;
	memdev_fault_add(e.dev, &fault); /* as long as there is room */
}

static enum wrb_lane_status lane_status(uint32_t i)
{
	struct wrb_lane_info info;

	must(wrb_lane_state(e.queue, i, &info), "lane");
	if (info.inflight > info.slots)
		fail("I4: lane %u: %u WRs in %u slots", i, info.inflight,
		     info.slots);
	return info.state;
}

static void lane_replace(uint32_t i, bool with_qp)
{
	if (e.lanes[i].qp)
		memdev_qp_destroy(e.lanes[i].qp);
	e.lanes[i].qp = NULL;
	if (with_qp)
		qp_make(i);
	must(wrb_lane_replace(e.queue, i, e.lanes[i].qp), "replace");
	e.nr_replaced++;
}

/* Dead lanes come back; draining ones, where it takes too long. */
static void replace_lanes(bool draining)
{
	for (uint32_t i = 0; i < e.attr.nr_qps; i++) {
		enum wrb_lane_status status = lane_status(i);

		if (status == WRB_LANE_DEAD ||
		    (draining && status == WRB_LANE_DRAINING))
			lane_replace(i, !e.cq_failed);
	}
}

/* -- the run --------------------------------------------------------------- */

static void check_counts(void)
{
	uint64_t open = (uint64_t)wrb_staged(e.queue) + wrb_inflight(e.queue);

	if (open + e.done_here != e.added_here)
		fail("I7: %" PRIu64 " staged or in flight, %" PRIu64
		     " done of %" PRIu64,
		     open, e.done_here, e.added_here);
}

static bool queue_is_over(void)
{
	if (e.done_here != e.added_here)
		return false;
	return e.cq_failed || e.added_here >= e.ops_left ||
	       e.nr_added >= e.wanted;
}

/* Nothing has moved for long: only a lane that drains may be the reason. */
static void rescue(uint32_t nr)
{
	e.nr_rescues++;
	if (nr > 3)
		fail("I8: nothing helps: %u staged, %u in flight",
		     wrb_staged(e.queue), wrb_inflight(e.queue));
	if (e.cq_failed || nr > 1)
		wrb_abort(e.queue);
	replace_lanes(true);
}

static void step(void)
{
	if (!e.cq_failed)
		add_batch();
	if (!one_in(8))
		wrb_submit(e.queue);
	poll_once();
	if (one_in(64))
		replace_lanes(one_in(4));
	if (one_in(32))
		add_fault();
	if (one_in(20000))
		wrb_abort(e.queue);
	check_counts();
}

static void queue_run(void)
{
	uint32_t idle = 0, nr_rescues = 0;

	queue_make();
	while (!queue_is_over()) {
		uint64_t before = e.nr_done + e.nr_wrs;

		step();
		if (e.nr_done + e.nr_wrs != before) {
			idle = 0;
			nr_rescues = 0;
		} else if (++idle > IDLE_LOOPS) {
			idle = 0;
			rescue(nr_rescues++);
		}
	}
	queue_end();
}

/* -- before and after ------------------------------------------------------- */

struct held {
	int64_t allocations;
	int descriptors;
	long pages; /* resident */
};

static int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages;
}

static struct held held_now(void)
{
	return (struct held){
		.descriptors = nr_descriptors(),
		.pages = resident_pages(),
		.allocations = alloc_nr_live,
	};
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void report(double took, const struct held *a, const struct held *b)
{
	printf("%" PRIu64 " operations, %" PRIu64 " of them failed, %" PRIu64
	       " WRs, %" PRIu64 " faults, %" PRIu64 " lanes replaced, %" PRIu64
	       " queues, %" PRIu64 " rescues\n",
	       e.nr_done, e.nr_failed, e.nr_wrs, e.nr_faults, e.nr_replaced,
	       e.nr_queues, e.nr_rescues);
	printf("%" PRId64 " allocations before, %" PRId64
	       " after; %d and %d descriptors; "
	       "%ld and %ld pages; %.1f s\n",
	       a->allocations, b->allocations, a->descriptors, b->descriptors,
	       a->pages, b->pages, took);
}

static void run_until(uint64_t nr)
{
	e.wanted = nr;
	while (e.nr_added < nr)
		queue_run();
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 0) : NR_OPS;
	double start = seconds();
	struct held before, after;

	e.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	source_from_seed(&e.source, e.seed);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%" PRIu64 " operations from seed %" PRIu64 "\n", nr, e.seed);
	/* The first tenth warms up the allocator and stdio. */
	held_now();
	run_until(nr / 10);
	before = held_now();
	run_until(nr);
	after = held_now();
	report(seconds() - start, &before, &after);
	if (after.allocations != before.allocations)
		fail("not all memory was freed");
	if (after.descriptors != before.descriptors)
		fail("there are other descriptors");
	if (nr >= NR_OPS && after.pages > before.pages + MAX_GROWTH_PAGES)
		fail("the process has grown");
	return 0;
}
