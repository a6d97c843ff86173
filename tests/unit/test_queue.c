// SPDX-License-Identifier: GPL-2.0-only
/* The public calls: what they refuse, accept, count and promise. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_alloc.h"

#define BYTES 64

/* -- create ------------------------------------------------------------- */

static void create_defaults_make_a_queue(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	assert_int_equal(wrb_room(f->queue), 64);
	assert_int_equal(wrb_staged(f->queue), 0);
	assert_int_equal(wrb_inflight(f->queue), 0);
	assert_int_equal(fixture_lane(f, 1).slots, 15);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_READY);
	assert_ptr_equal(fixture_lane(f, 1).qp, f->qps[1]);
}

static void attr_init_sets_size_and_leaves_the_rest_alone(void **state)
{
	struct {
		struct wrb_attr attr;
		uint8_t beyond[16];
	} both;

	(void)state;
	memset(&both, 0xff, sizeof(both));
	wrb_attr_init(&both.attr);
	assert_int_equal(both.attr.size, sizeof(struct wrb_attr));
	assert_null(both.attr.qps);
	assert_int_equal(both.attr.stripe, WRB_STRIPE_BATCH);
	assert_int_equal(both.attr.flags, 0);
	for (size_t i = 0; i < sizeof(both.beyond); i++)
		assert_int_equal(both.beyond[i], 0xff);
}

static void no_qps(struct wrb_attr *attr)
{
	attr->qps = NULL;
}

static void qp_missing(struct wrb_attr *attr)
{
	static struct ibv_qp *none[2];

	attr->qps = none;
}

static void no_cq(struct wrb_attr *attr)
{
	attr->cq = NULL;
}

static void another_cq(struct wrb_attr *attr)
{
	static struct ibv_cq other;

	attr->cq = &other;
}

static void no_lanes(struct wrb_attr *attr)
{
	attr->nr_qps = 0;
}

static void too_many_lanes(struct wrb_attr *attr)
{
	attr->nr_qps = WRB_MAX_LANES + 1;
}

static void no_ops(struct wrb_attr *attr)
{
	attr->max_ops = 0;
}

static void too_many_ops(struct wrb_attr *attr)
{
	attr->max_ops = WRB_MAX_OPS + 1;
}

static void size_zero(struct wrb_attr *attr)
{
	attr->size = 0;
}

static void size_small(struct wrb_attr *attr)
{
	attr->size = sizeof(*attr) - 1;
}

static void size_large(struct wrb_attr *attr)
{
	attr->size = sizeof(*attr) + 1;
}

static void unknown_flag(struct wrb_attr *attr)
{
	attr->flags = 1u << 31;
}

static void unknown_stripe(struct wrb_attr *attr)
{
	attr->stripe = (enum wrb_stripe)(WRB_STRIPE_OFFSET + 1);
}

static void one_send_wr(struct wrb_attr *attr)
{
	attr->limits.max_send_wr = 1;
}

static void huge_send_wr(struct wrb_attr *attr)
{
	attr->limits.max_send_wr = UINT32_MAX;
}

static void no_send_sge(struct wrb_attr *attr)
{
	attr->limits.max_send_sge = 0;
}

static void no_msg_bytes(struct wrb_attr *attr)
{
	attr->limits.max_msg_bytes = 0;
}

static void sge_not_granted(struct wrb_attr *attr)
{
	attr->max_sge = attr->limits.max_send_sge + 1;
}

static void cq_too_small(struct wrb_attr *attr)
{
	attr->limits.max_cqe = 2 * attr->limits.max_send_wr - 1;
}

static void cq_unset(struct wrb_attr *attr)
{
	attr->limits.max_cqe = 0;
}

static void create_bad_attr_refused(void **state)
{
	static const struct {
		void (*spoil)(struct wrb_attr *attr);
		int error;
	} cases[] = {
		{ no_qps, -EINVAL },	     { qp_missing, -EINVAL },
		{ no_cq, -EINVAL },	     { another_cq, -EINVAL },
		{ no_lanes, -EINVAL },	     { too_many_lanes, -EINVAL },
		{ no_ops, -EINVAL },	     { too_many_ops, -EINVAL },
		{ size_zero, -EINVAL },	     { size_small, -EINVAL },
		{ size_large, -EINVAL },     { unknown_flag, -EINVAL },
		{ unknown_stripe, -EINVAL }, { one_send_wr, -EINVAL },
		{ huge_send_wr, -EINVAL },   { no_send_sge, -EINVAL },
		{ no_msg_bytes, -EINVAL },   { sge_not_granted, -E2BIG },
		{ cq_too_small, -ENOSPC },   { cq_unset, -ENOSPC },
	};
	struct wrb_queue *untouched = (struct wrb_queue *)state;
	struct fixture *f = *state;

	fixture_lanes(f, 2, 16);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wrb_queue *queue = untouched;
		struct wrb_attr attr = f->attr;

		cases[i].spoil(&attr);
		assert_int_equal(wrb_queue_create(&attr, &queue),
				 cases[i].error);
		assert_ptr_equal(queue, untouched);
	}
}

static void create_null_einval(void **state)
{
	struct fixture *f = *state;
	struct wrb_queue *queue;

	fixture_lanes(f, 1, 16);
	assert_int_equal(wrb_queue_create(NULL, &queue), -EINVAL);
	assert_int_equal(wrb_queue_create(&f->attr, NULL), -EINVAL);
	wrb_queue_destroy(NULL);
}

static void create_at_the_bounds_accepted(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 2);
	f->attr.max_ops = WRB_MAX_OPS;
	f->attr.max_sge = f->attr.limits.max_send_sge;
	f->attr.chunk_bytes = UINT32_MAX;
	f->attr.max_chunks = UINT32_MAX;
	f->attr.read_depth = UINT32_MAX;
	f->attr.max_chain = UINT32_MAX;
	f->attr.signal_interval = UINT32_MAX;
	f->attr.flags = WRB_MERGE | WRB_SORT;
	fixture_queue(f);
	assert_int_equal(wrb_room(f->queue), WRB_MAX_OPS);
	fixture_add_row(f, 5, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 1, 5, 0);
}

static void create_granted_sges_above_bound_are_capped(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 2);
	f->attr.limits.max_send_sge = WRB_MAX_SGE + 1;
	f->attr.max_sge = WRB_MAX_SGE + 1;
	assert_int_equal(wrb_queue_create(&f->attr, &f->queue), -E2BIG);
	f->attr.max_sge = 0;
	assert_int_equal(wrb_queue_create(&f->attr, &f->queue), 0);
	assert_int_equal(f->queue->rules.max_sge, WRB_MAX_SGE);
}

/* The formula of wrb(3), for x86-64. */
static uint64_t manual_bytes(const struct wrb_attr *attr, uint64_t ring)
{
	uint64_t slots = attr->limits.max_send_wr - 1;
	uint64_t chain = attr->max_chain ? attr->max_chain : 128;
	uint64_t sge =
		attr->max_sge ? attr->max_sge : attr->limits.max_send_sge;

	chain = chain < slots ? chain : slots;
	return 592 + 32 * sge + 96 * attr->max_ops +
	       (attr->flags & WRB_SORT ? 32 * attr->max_ops : 0) +
	       (attr->stripe == WRB_STRIPE_BATCH ? 1 : attr->nr_qps) *
		       (144 + 128 * chain + 16 * chain * sge) +
	       attr->nr_qps * (228 + 8 * ring);
}

static void create_memory_is_what_the_manual_says(void **state)
{
	static const struct {
		uint32_t max_send_wr, ring, max_ops, sge, chain, flags;
		enum wrb_stripe stripe;
	} cases[] = {
		{ 16, 16, 64, 0, 0, 0, WRB_STRIPE_BATCH },
		{ 17, 32, 1000, 2, 5, WRB_SORT, WRB_STRIPE_ROUND_ROBIN },
		{ 1000, 1024, 1, 1, 0, WRB_MERGE, WRB_STRIPE_OFFSET },
		{ 2, 2, 7, 4, 1, WRB_SORT, WRB_STRIPE_BATCH },
	};

	if (!no_alloc_works() || sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f = *state;
		uint64_t before;

		fixture_lanes(f, 3, cases[i].max_send_wr);
		f->attr.max_ops = cases[i].max_ops;
		f->attr.max_sge = cases[i].sge;
		f->attr.max_chain = cases[i].chain;
		f->attr.flags = cases[i].flags;
		f->attr.stripe = cases[i].stripe;
		before = no_alloc_bytes();
		assert_int_equal(wrb_queue_create(&f->attr, &f->queue), 0);
		assert_int_equal(no_alloc_bytes() - before,
				 manual_bytes(&f->attr, cases[i].ring));
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void version_is_the_headers(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", WRB_VERSION_MAJOR,
		 WRB_VERSION_MINOR, WRB_VERSION_PATCH);
	assert_string_equal(wrb_version(), text);
}

/* -- regions ------------------------------------------------------------ */

static void region_calls_unknown_id_einval(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	assert_int_equal(wrb_region_add(f->queue, NULL), -EINVAL);
	assert_int_equal(wrb_region_remove(f->queue, 2), -EINVAL);
	assert_int_equal(wrb_region_remove(f->queue, -1), -EINVAL);
	assert_int_equal(wrb_region_rekey(f->queue, 2, 0, 1), -EINVAL);
	assert_int_equal(wrb_region_rekey(f->queue, -1, 0, 1), -EINVAL);
	assert_int_equal(wrb_region_rekey(f->queue, f->local_id, 2, 1),
			 -EINVAL);
}

static void region_calls_while_busy_ebusy(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	fixture_add_row(f, 1, BYTES, 0);
	assert_int_equal(wrb_region_remove(f->queue, f->local_id), -EBUSY);
	assert_int_equal(wrb_region_rekey(f->queue, f->local_id, 0, 1), -EBUSY);
	wrb_submit(f->queue);
	assert_int_equal(wrb_region_remove(f->queue, f->local_id), -EBUSY);
	assert_int_equal(wrb_region_rekey(f->queue, f->local_id, 1, 1), -EBUSY);
	fixture_reap(f);
	assert_int_equal(wrb_region_rekey(f->queue, f->local_id, 1, 1), 0);
	assert_int_equal(wrb_region_remove(f->queue, f->local_id), 0);
	assert_int_equal(wrb_region_remove(f->queue, f->local_id), -EINVAL);
}

static void region_removed_ops_refused(void **state)
{
	struct fixture *f = *state;
	struct wrb_op op;

	fixture_start(f, 1, 16);
	op = fixture_op(f, WRB_WRITE, 0, 0, BYTES);
	assert_int_equal(wrb_region_remove(f->queue, f->remote_id), 0);
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	assert_int_equal(wrb_staged(f->queue), 0);
}

/* -- add ---------------------------------------------------------------- */

static void add_bad_op_einval(void **state)
{
	struct fixture *f = *state;
	struct wrb_op good, op;

	fixture_start(f, 1, 16);
	good = op = fixture_op(f, WRB_WRITE, 0, 0, BYTES);
	op.length = 0;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	op = good;
	op.dir = (enum wrb_dir)2;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	op.dir = (enum wrb_dir) - 1;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	op = good;
	op.local = op.remote;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	op = good;
	op.remote = op.local;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	op = good;
	op.local = UINT16_MAX;
	assert_int_equal(wrb_add(f->queue, &op), -EINVAL);
	assert_int_equal(wrb_staged(f->queue), 0);
	assert_int_equal(fixture_stats(f).ops, 0);
}

static void add_out_of_region_erange(void **state)
{
	struct fixture *f = *state;
	struct wrb_op op;

	fixture_start(f, 1, 16);
	op = fixture_op(f, WRB_WRITE, FIX_BYTES - BYTES, 0, BYTES);
	assert_int_equal(wrb_add(f->queue, &op), 0);
	op.local_offset++;
	assert_int_equal(wrb_add(f->queue, &op), -ERANGE);
	op.local_offset = UINT64_MAX - BYTES / 2;
	assert_int_equal(wrb_add(f->queue, &op), -ERANGE);
	op.local_offset = 0;
	op.remote_offset = FIX_BYTES;
	assert_int_equal(wrb_add(f->queue, &op), -ERANGE);
	op.remote_offset = 0;
	op.length = UINT32_MAX;
	assert_int_equal(wrb_add(f->queue, &op), -ERANGE);
	assert_int_equal(wrb_staged(f->queue), 1);
}

static void add_no_room_eagain(void **state)
{
	struct fixture *f = *state;
	struct wrb_op op;

	fixture_lanes(f, 1, 16);
	f->attr.max_ops = 3;
	fixture_queue(f);
	fixture_add_row(f, 3, BYTES, 0);
	op = fixture_op(f, WRB_WRITE, 0, 0, BYTES);
	assert_int_equal(wrb_room(f->queue), 0);
	assert_int_equal(wrb_add(f->queue, &op), -EAGAIN);
	assert_int_equal(wrb_addv(f->queue, &op, 1), -EAGAIN);
	fixture_run(f);
	assert_int_equal(wrb_room(f->queue), 3);
	assert_int_equal(wrb_add(f->queue, &op), 0);
}

static void addv_takes_up_to_first_refused(void **state)
{
	struct fixture *f = *state;
	struct wrb_op ops[4];

	fixture_start(f, 1, 16);
	for (uint32_t i = 0; i < 4; i++)
		ops[i] = fixture_op(f, WRB_WRITE, i * BYTES, i * BYTES, BYTES);
	ops[2].length = 0;
	assert_int_equal(wrb_addv(f->queue, ops, 4), 2);
	assert_int_equal(wrb_addv(f->queue, ops + 2, 2), -EINVAL);
	assert_int_equal(wrb_addv(f->queue, ops + 3, 1), 1);
	assert_int_equal(wrb_addv(f->queue, NULL, 0), 0);
	assert_int_equal(wrb_staged(f->queue), 3);
	assert_int_equal(fixture_stats(f).ops, 3);
}

static void addv_takes_as_many_as_there_is_room(void **state)
{
	struct fixture *f = *state;
	struct wrb_op ops[10];

	fixture_lanes(f, 1, 16);
	f->attr.max_ops = 7;
	fixture_queue(f);
	for (uint32_t i = 0; i < 10; i++)
		ops[i] = fixture_op(f, WRB_WRITE, i * BYTES, i * BYTES, BYTES);
	assert_int_equal(wrb_addv(f->queue, ops, 10), 7);
	assert_int_equal(wrb_addv(f->queue, ops + 7, 3), -EAGAIN);
	assert_int_equal(wrb_room(f->queue), 0);
}

/* -- submit ------------------------------------------------------------- */

static void submit_nothing_staged_zero(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 16);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(fixture_stats(f).doorbells, 0);
	assert_int_equal(wrb_explain(f->queue, NULL, 0), 0);
}

static void submit_both_directions_move_their_bytes(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	fixture_add(f, WRB_WRITE, 100, 2000, 1);
	fixture_add(f, WRB_READ, 5000, 9000, 4096);
	fixture_add(f, WRB_WRITE, FIX_BYTES - 7, FIX_BYTES - 7, 7);
	fixture_add(f, WRB_READ, 0, 30000, 33);
	fixture_run(f);
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_memory(f);
}

static void submit_beyond_slots_rest_stays_staged(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 4);
	fixture_add_row(f, 10, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 6);
	assert_int_equal(wrb_staged(f->queue), 4);
	assert_int_equal(wrb_inflight(f->queue), 6);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(fixture_stats(f).sq_stalls, 2);
	fixture_run(f);
	fixture_assert_errors(f, 1, 10, 0);
	fixture_assert_memory(f);
}

static void submit_op_larger_than_all_slots_goes_in_parts(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 4);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 10, 60001);
	fixture_add(f, WRB_READ, 61000, 20000, 50);
	fixture_run(f);
	fixture_assert_errors(f, 1, 2, 0);
	fixture_assert_memory(f);
	assert_int_equal(fixture_stats(f).chunked, 1);
	assert_in_range(fixture_stats(f).chunks, 590, 601);
}

static void submit_open_op_moved_back_by_sort_completes(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 3);
	f->attr.chunk_bytes = 100;
	f->attr.flags = WRB_MERGE | WRB_SORT;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 5000, 5000, 1000);
	assert_int_equal(wrb_submit(f->queue), 2);
	/* Sorted in front of the one that is half sent, and cut too. */
	fixture_add(f, WRB_WRITE, 100, 100, 1000);
	fixture_add(f, WRB_WRITE, 4000, 4000, 1000);
	fixture_add(f, WRB_WRITE, 6000, 6000, 1000);
	fixture_run(f);
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_memory(f);
}

static void submit_batch_rotates_lanes(void **state)
{
	struct fixture *f = *state;
	struct wrb_lane_stats lane;

	fixture_start(f, 3, 16);
	for (uint32_t i = 0; i < 3; i++) {
		fixture_add_row(f, i + 1, BYTES, 0);
		assert_int_equal(wrb_submit(f->queue), i + 1);
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(wrb_lane_stats_get(f->queue, i, &lane), 0);
		assert_int_equal(lane.wrs, i + 1);
		assert_int_equal(lane.doorbells, 1);
	}
}

static void submit_same_address_on_offset_stripe_keeps_order(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 4, 16);
	f->attr.stripe = WRB_STRIPE_OFFSET;
	fixture_queue(f);
	memdev_schedule(f->dev, 99, 3);
	for (uint32_t i = 0; i < 50; i++)
		fixture_add(f, WRB_WRITE, i * BYTES, 4096, BYTES);
	while (f->nr_ended < 50) {
		wrb_submit(f->queue);
		fixture_poll(f, 64);
	}
	fixture_assert_memory(f);
}

/* -- explain ------------------------------------------------------------ */

struct mode {
	enum wrb_stripe stripe;
	uint32_t flags;
	uint32_t chunk_bytes;
	uint32_t signal_interval;
	uint32_t max_chain;
};

static const struct mode modes[] = {
	{ WRB_STRIPE_BATCH, 0, 0, 0, 0 },
	{ WRB_STRIPE_BATCH, WRB_MERGE, 0, 1, 0 },
	{ WRB_STRIPE_BATCH, WRB_MERGE | WRB_SORT, 0, 3, 4 },
	{ WRB_STRIPE_ROUND_ROBIN, 0, 0, 2, 2 },
	{ WRB_STRIPE_ROUND_ROBIN, WRB_SORT, 48, 0, 0 },
	{ WRB_STRIPE_LEAST_LOADED, WRB_MERGE, 200, 5, 3 },
	{ WRB_STRIPE_OFFSET, WRB_MERGE | WRB_SORT, 48, 4, 0 },
	{ WRB_STRIPE_OFFSET, 0, 1024, 0, 1 },
};

static void start_mode(struct fixture *f, const struct mode *mode)
{
	fixture_lanes(f, 3, 16);
	f->attr.stripe = mode->stripe;
	f->attr.flags = mode->flags;
	f->attr.chunk_bytes = mode->chunk_bytes;
	f->attr.signal_interval = mode->signal_interval;
	f->attr.max_chain = mode->max_chain;
	f->attr.read_depth = 5;
	fixture_queue(f);
}

/*
 * Groups of four neighbours, in turn WRITEs and READs, not in order, and a hole
 * after every second group. No two operations touch the same bytes.
 */
static void add_mixture(struct fixture *f)
{
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t group = i / 4, place = group * 5 % 6;
		uint32_t at = (place * 4 + i % 4 + place / 2) * BYTES;

		fixture_add(f, group % 2 ? WRB_READ : WRB_WRITE, i * 1000,
			    4096 + at, BYTES);
	}
}

/* A submit posts what was explained, as far as counters can tell. */
static void assert_explained(struct fixture *f)
{
	struct wrb_stats before = fixture_stats(f), after;
	struct wrb_plan_wr wrs[64];
	uint64_t bytes = 0, sges = 0, signalled = 0, ends = 0;
	int nr = wrb_explain(f->queue, wrs, 64);

	assert_in_range(nr, 0, 64);
	for (int i = 0; i < nr; i++) {
		bytes += wrs[i].length;
		sges += wrs[i].nr_sges;
		signalled += wrs[i].signalled;
		ends += wrs[i].chain_end;
		assert_true(wrs[i].signalled || !wrs[i].chain_end);
		assert_int_equal(wrs[i].rkey, f->remote_mr.rkey);
	}
	after = fixture_stats(f);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(wrb_submit(f->queue), nr);
	after = fixture_stats(f);
	assert_int_equal(after.wrs - before.wrs, nr);
	assert_int_equal(after.bytes - before.bytes, bytes);
	assert_int_equal(after.sges - before.sges, sges);
	assert_int_equal(after.signalled - before.signalled, signalled);
	assert_int_equal(after.doorbells - before.doorbells, ends);
}

static void explain_is_what_submit_posts(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct fixture *f = *state;

		start_mode(f, &modes[i]);
		add_mixture(f);
		while (f->nr_ended < f->nr_added) {
			assert_explained(f);
			fixture_poll(f, 64);
		}
		fixture_assert_errors(f, 1, f->nr_added, 0);
		fixture_assert_memory(f);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void explain_short_array_says_how_many(void **state)
{
	struct fixture *f = *state;
	struct wrb_plan_wr wrs[3];

	fixture_start(f, 1, 16);
	fixture_add_row(f, 9, BYTES, 0);
	memset(wrs, 0xee, sizeof(wrs));
	assert_int_equal(wrb_explain(f->queue, wrs, 2), 9);
	assert_int_equal(wrs[1].remote_addr, (uintptr_t)f->remote + BYTES);
	assert_int_equal(wrs[1].chain_end, 0);
	assert_int_equal(wrs[2].lane, 0xeeeeeeee);
	assert_int_equal(wrb_explain(f->queue, NULL, 0), 9);
	assert_int_equal(wrb_staged(f->queue), 9);
}

/* -- counters ----------------------------------------------------------- */

static void stats_count_every_stage(void **state)
{
	struct fixture *f = *state;
	struct wrb_stats stats;

	fixture_lanes(f, 1, 16);
	f->attr.flags = WRB_MERGE;
	f->attr.chunk_bytes = 1000;
	fixture_queue(f);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_add(f, WRB_WRITE, 8192, 8192, 3000);
	fixture_run(f);
	stats = fixture_stats(f);
	assert_int_equal(stats.ops, 5);
	assert_int_equal(stats.done, 5);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.bytes, 4 * BYTES + 3000);
	assert_int_equal(stats.wrs, 4);
	assert_int_equal(stats.sges, 4);
	assert_int_equal(stats.signalled, 1);
	assert_int_equal(stats.doorbells, 1);
	assert_int_equal(stats.cqes, 1);
	assert_int_equal(stats.merged, 3);
	assert_int_equal(stats.chunked, 1);
	assert_int_equal(stats.chunks, 3);
	assert_int_equal(stats.stale, 0);
}

static void stats_reset_all_zero(void **state)
{
	const struct wrb_stats zero = { 0 };
	const struct wrb_lane_stats lane_zero = { 0 };
	struct fixture *f = *state;
	struct wrb_lane_stats lane;
	struct wrb_stats stats;

	fixture_start(f, 1, 8);
	fixture_add_row(f, 30, BYTES, 0);
	fixture_run(f);
	wrb_stats_reset(f->queue);
	stats = fixture_stats(f);
	assert_memory_equal(&stats, &zero, sizeof(zero));
	assert_int_equal(wrb_lane_stats_get(f->queue, 0, &lane), 0);
	assert_int_equal(lane.wrs | lane.bytes | lane.doorbells, 0);
	assert_int_equal(lane.max_inflight, lane_zero.max_inflight);
}

static void lane_calls_unknown_lane_einval(void **state)
{
	struct fixture *f = *state;
	struct wrb_lane_stats stats = { .wrs = 7 };
	struct wrb_lane_info info = { .slots = 7 };

	fixture_start(f, 2, 8);
	assert_int_equal(wrb_lane_state(f->queue, 2, &info), -EINVAL);
	assert_int_equal(wrb_lane_stats_get(f->queue, 2, &stats), -EINVAL);
	assert_int_equal(info.slots, 7);
	assert_int_equal(stats.wrs, 7);
}

/* -- one operation on a lane --------------------------------------------- */

/* Posts one; tells the model and takes a user number if it was taken. */
static int lane_post(struct fixture *f, uint32_t lane, enum wrb_dir dir,
		     uint64_t offset, uint32_t length)
{
	struct wrb_op op = fixture_op(f, dir, offset, offset, length);
	int err = wrb_lane_post(f->queue, lane, &op);

	if (err)
		return err;
	fixture_expect(f, dir, offset, offset, length);
	f->nr_added++;
	return 0;
}

static void lane_post_every_stripe_goes_to_its_lane(void **state)
{
	for (int stripe = 0; stripe <= WRB_STRIPE_OFFSET; stripe++) {
		struct fixture *f = *state;

		fixture_lanes(f, 4, 8);
		f->attr.stripe = (enum wrb_stripe)stripe;
		fixture_queue(f);
		for (uint32_t lane = 4; lane--;) {
			assert_int_equal(lane_post(f, lane, WRB_READ, 9, 1), 0);
			assert_int_equal(fixture_lane(f, lane).inflight, 1);
		}
		fixture_reap(f);
		fixture_assert_errors(f, 1, 4, 0);
		for (uint32_t user = 1; user <= 4; user++)
			assert_int_equal(f->ends[user].done.lane, 4 - user);
		fixture_assert_memory(f);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void lane_post_ends_behind_what_was_posted(void **state)
{
	struct fixture *f = *state;
	struct wrb_op op;

	fixture_start(f, 1, 16);
	fixture_add_row(f, 8, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 8);
	/* A byte that the last of them writes. */
	op = fixture_op(f, WRB_READ, 9000, 7 * BYTES, 1);
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), 0);
	fixture_expect(f, WRB_READ, 9000, 7 * BYTES, 1);
	f->nr_added++;
	fixture_reap(f);
	fixture_assert_errors(f, 1, 9, 0);
	assert_int_equal(f->order[8], 9);
	fixture_assert_memory(f);
}

static void lane_post_what_is_staged_stays_staged(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	fixture_add_row(f, 3, BYTES, 0);
	assert_int_equal(lane_post(f, 1, WRB_READ, 9000, 1), 0);
	assert_int_equal(wrb_staged(f->queue), 3);
	assert_int_equal(wrb_inflight(f->queue), 1);
	fixture_run(f);
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_memory(f);
	assert_int_equal(fixture_stats(f).ops, 4);
	assert_int_equal(fixture_stats(f).done, 4);
	assert_int_equal(fixture_stats(f).doorbells, 2);
}

static void lane_post_without_room_eagain(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 4);
	f->attr.read_depth = 1;
	f->attr.max_ops = 5;
	fixture_queue(f);
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 1), 0);
	assert_int_equal(lane_post(f, 0, WRB_READ, 1, 1), -EAGAIN);
	assert_int_equal(lane_post(f, 0, WRB_WRITE, 1, 1), 0);
	assert_int_equal(lane_post(f, 0, WRB_WRITE, 2, 1), 0);
	assert_int_equal(lane_post(f, 0, WRB_WRITE, 3, 1), -EAGAIN);
	assert_int_equal(lane_post(f, 1, WRB_WRITE, 3, 1), 0);
	assert_int_equal(lane_post(f, 1, WRB_WRITE, 4, 1), 0);
	/* The lane has a slot, the queue has no operation. */
	assert_int_equal(lane_post(f, 1, WRB_WRITE, 5, 1), -EAGAIN);
	assert_int_equal(wrb_room(f->queue), 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 5, 0);
	assert_int_equal(lane_post(f, 0, WRB_READ, 1, 1), 0);
	fixture_reap(f);
	fixture_assert_memory(f);
}

static void lane_post_bad_operation_refused(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 8);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	assert_int_equal(lane_post(f, 2, WRB_READ, 0, 1), -EINVAL);
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 0), -EINVAL);
	assert_int_equal(lane_post(f, 0, WRB_READ, FIX_BYTES, 1), -ERANGE);
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 101), -EMSGSIZE);
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 100), 0);
	assert_int_equal(wrb_room(f->queue), f->attr.max_ops - 1);
	assert_int_equal(wrb_staged(f->queue), 0);
	fixture_reap(f);
	fixture_assert_memory(f);
}

static void lane_post_one_chunk_at_most_is_never_cut(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 8);
	f->attr.chunk_bytes = 100;
	f->attr.max_chunks = 1;
	fixture_queue(f);
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 1000), 0);
	fixture_add(f, WRB_WRITE, 2000, 2000, 1000);
	assert_int_equal(wrb_submit(f->queue), 1);
	fixture_reap(f);
	fixture_assert_memory(f);
	assert_int_equal(fixture_stats(f).chunked, 0);
}

/* Whatever an operation is told that can be taken later. */
static void assert_bad_operations_refused(struct fixture *f)
{
	const struct wrb_op good = fixture_op(f, WRB_READ, 0, 0, 1);
	struct wrb_op op = good;

	op.length = 0;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -EINVAL);
	op = good;
	op.dir = (enum wrb_dir)2;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -EINVAL);
	op = good;
	op.local = op.remote;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -EINVAL);
	op = good;
	op.remote = UINT16_MAX;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -EINVAL);
	op = good;
	op.remote_offset = FIX_BYTES;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -ERANGE);
	op = good;
	op.local_offset = FIX_BYTES;
	op.length = FIX_BYTES;
	assert_int_equal(wrb_lane_post(f->queue, 0, &op), -ERANGE);
}

static void lane_post_on_a_full_lane_bad_operation_refused(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 4);
	f->attr.limits.max_msg_bytes = 4096;
	fixture_queue(f);
	memdev_freeze(f->dev, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(lane_post(f, 0, WRB_READ, i, 1), 0);
	assert_int_equal(lane_post(f, 0, WRB_READ, 3, 1), -EAGAIN);
	assert_bad_operations_refused(f);
	memdev_freeze(f->dev, 0);
	fixture_run(f);
	wrb_abort(f->queue);
	assert_int_equal(lane_post(f, 0, WRB_READ, 3, 1), -ENOTCONN);
	assert_bad_operations_refused(f);
	/* One that would be cut is as bad on any lane. */
	assert_int_equal(lane_post(f, 0, WRB_READ, 0, 4097), -EMSGSIZE);
	assert_int_equal(wrb_staged(f->queue) + wrb_inflight(f->queue), 0);
}

static void lane_post_not_taken_is_forgotten_lane_fails(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 8);
	fixture_add_row(f, 2, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 1, ENOMEM);
	assert_int_equal(lane_post(f, 0, WRB_READ, 9000, 1), -EIO);
	assert_int_equal(fixture_lane(f, 0).post_errno, ENOMEM);
	assert_int_not_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
	assert_int_equal(wrb_staged(f->queue), 2);
	assert_int_equal(wrb_inflight(f->queue), 0);
	assert_int_equal(fixture_stats(f).ops, 2);
	fixture_run(f);
	fixture_assert_errors(f, 1, 2, 0);
	fixture_assert_memory(f);
	assert_int_equal(lane_post(f, 0, WRB_READ, 9000, 1), -ENOTCONN);
	assert_int_equal(f->nr_ended, 2);
}

/* -- no allocation ------------------------------------------------------ */

/* The hot calls alone are armed: the test itself may allocate. */
static void run_armed(struct fixture *f)
{
	struct wrb_op op = fixture_op(f, WRB_WRITE, 0, 0, BYTES);
	struct wrb_done done[32];

	for (uint32_t i = 0; i < 400; i++) {
		op.dir = i / 8 % 2 ? WRB_READ : WRB_WRITE;
		op.remote_offset = (i * 37 % 64) * BYTES;
		no_alloc_arm();
		wrb_add(f->queue, &op);
		wrb_addv(f->queue, &op, 1);
		if (i % 16 == 15)
			wrb_submit(f->queue);
		wrb_poll(f->queue, done, i % 32 + 1);
		no_alloc_disarm();
	}
	no_alloc_arm();
	while (wrb_staged(f->queue) || wrb_inflight(f->queue)) {
		wrb_submit(f->queue);
		wrb_poll(f->queue, done, 32);
	}
	no_alloc_disarm();
}

static void hot_path_every_mode_allocates_nothing(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct fixture *f = *state;

		start_mode(f, &modes[i]);
		run_armed(f);
		assert_int_equal(wrb_room(f->queue), 64);
		assert_int_equal(fixture_stats(f).failed, 0);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void hot_path_failing_lane_allocates_nothing(void **state)
{
	struct fixture *f = *state;
	struct wrb_done done[64];

	start_mode(f, &modes[5]);
	add_mixture(f);
	fixture_fault(f, MEMDEV_FAIL_POST, 2, ENOMEM);
	fixture_fault(f, MEMDEV_FAIL_WR, 3, IBV_WC_REM_OP_ERR);
	no_alloc_arm();
	for (int i = 0; i < 50; i++) {
		wrb_submit(f->queue);
		wrb_poll(f->queue, done, 3);
	}
	wrb_abort(f->queue);
	for (int i = 0; i < 50; i++)
		wrb_poll(f->queue, done, 3);
	no_alloc_disarm();
	assert_int_equal(wrb_room(f->queue), 64);
}

static void allocate_in_child(void **state)
{
	void *volatile memory;

	(void)state;
	no_alloc_arm();
	memory = malloc(1);
	no_alloc_disarm();
	free(memory);
}

static void no_alloc_notices_an_allocation(void **state)
{
	int status;
	pid_t pid;

	if (!no_alloc_works())
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		close(2);
		allocate_in_child(state);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(create_defaults_make_a_queue),
		cmocka_unit_test(attr_init_sets_size_and_leaves_the_rest_alone),
		fixture_test(create_bad_attr_refused),
		fixture_test(create_null_einval),
		fixture_test(create_at_the_bounds_accepted),
		fixture_test(create_granted_sges_above_bound_are_capped),
		fixture_test(create_memory_is_what_the_manual_says),
		cmocka_unit_test(version_is_the_headers),
		fixture_test(region_calls_unknown_id_einval),
		fixture_test(region_calls_while_busy_ebusy),
		fixture_test(region_removed_ops_refused),
		fixture_test(add_bad_op_einval),
		fixture_test(add_out_of_region_erange),
		fixture_test(add_no_room_eagain),
		fixture_test(addv_takes_up_to_first_refused),
		fixture_test(addv_takes_as_many_as_there_is_room),
		fixture_test(submit_nothing_staged_zero),
		fixture_test(submit_both_directions_move_their_bytes),
		fixture_test(submit_beyond_slots_rest_stays_staged),
		fixture_test(submit_op_larger_than_all_slots_goes_in_parts),
		fixture_test(submit_open_op_moved_back_by_sort_completes),
		fixture_test(submit_batch_rotates_lanes),
		fixture_test(submit_same_address_on_offset_stripe_keeps_order),
		fixture_test(explain_is_what_submit_posts),
		fixture_test(explain_short_array_says_how_many),
		fixture_test(stats_count_every_stage),
		fixture_test(stats_reset_all_zero),
		fixture_test(lane_calls_unknown_lane_einval),
		fixture_test(lane_post_every_stripe_goes_to_its_lane),
		fixture_test(lane_post_ends_behind_what_was_posted),
		fixture_test(lane_post_what_is_staged_stays_staged),
		fixture_test(lane_post_without_room_eagain),
		fixture_test(lane_post_one_chunk_at_most_is_never_cut),
		fixture_test(lane_post_bad_operation_refused),
		fixture_test(lane_post_on_a_full_lane_bad_operation_refused),
		fixture_test(lane_post_not_taken_is_forgotten_lane_fails),
		fixture_test(hot_path_every_mode_allocates_nothing),
		fixture_test(hot_path_failing_lane_allocates_nothing),
		cmocka_unit_test(no_alloc_notices_an_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
