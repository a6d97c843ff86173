// SPDX-License-Identifier: GPL-2.0-only
/* The planner: what is merged, where it is cut, to which lane it goes. */
#include "plan.h"

#include "fixture.h"

#define MAX_OPS	  64
#define MAX_LANES 4
#define MAX_SEGS  8
#define MAX_WRS	  256
#define LOCAL	  UINT64_C(0x100000000000)
#define REMOTE	  UINT64_C(0x200000000000)
#define ROOM	  1000

struct planned {
	struct plan_wr wr;
	struct plan_seg segs[MAX_SEGS];
};

struct planner {
	struct op ops[MAX_OPS];
	struct op_cut cuts[MAX_OPS];
	uint32_t order[MAX_OPS];
	uint32_t nr_ops;
	struct plan_rules rules;
	struct plan_lane lanes[MAX_LANES];
	struct plan_seg run_segs[MAX_SEGS];
	struct plan_seg piece_segs[MAX_SEGS];
	uint32_t lane;
	struct planned wrs[MAX_WRS];
	uint32_t nr_wrs;
};

static int setup(void **state)
{
	struct planner *p = aligned_alloc(64, sizeof(*p));

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	p->rules = (struct plan_rules){
		.nr_lanes = 1,
		.max_sge = 4,
		.max_msg_bytes = 1u << 30,
		.cut_above = 1u << 30,
	};
	for (uint32_t i = 0; i < MAX_LANES; i++)
		p->lanes[i] = (struct plan_lane){ ROOM, ROOM, 1, 0 };
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void limits(struct planner *p, uint32_t chunk, uint32_t max_chunks,
		   uint32_t msg)
{
	p->rules.chunk_bytes = chunk;
	p->rules.max_chunks = max_chunks;
	p->rules.max_msg_bytes = msg;
	p->rules.cut_above = chunk && chunk < msg ? chunk : msg;
}

static struct op *add(struct planner *p, enum wrb_dir dir, uint64_t local,
		      uint64_t remote, uint32_t length)
{
	struct op *op = &p->ops[p->nr_ops];

	*op = (struct op){
		.local_addr = LOCAL + local,
		.remote_addr = REMOTE + remote,
		.length = length,
		.what = op_what(0, 1, dir),
	};
	p->order[p->nr_ops] = p->nr_ops;
	p->nr_ops++;
	return op;
}

static void add_row(struct planner *p, uint32_t nr, uint32_t length)
{
	for (uint32_t i = 0; i < nr; i++)
		add(p, WRB_WRITE, i * length, i * length, length);
}

static void record(struct planner *p, const struct plan_wr *wr)
{
	struct planned *to = &p->wrs[p->nr_wrs++];

	assert_true(p->nr_wrs <= MAX_WRS);
	assert_in_range(wr->nr_segs, 1, p->rules.max_sge);
	to->wr = *wr;
	if (wr->nr_segs > 1)
		memcpy(to->segs, wr->segs, wr->nr_segs * sizeof(*wr->segs));
	to->segs[0] = wr->seg;
	to->wr.segs = to->segs;
}

/* Plans from an operation to the last one, as a submit does. */
static struct plan walk_from(struct planner *p, uint32_t first)
{
	struct plan plan = {
		.rules = &p->rules,
		.ops = p->ops,
		.cuts = p->cuts,
		.lanes = p->lanes,
		.run_segs = p->run_segs,
		.piece_segs = p->piece_segs,
		.lane = p->lane,
		.next = p->order + first,
		.end = p->order + p->nr_ops,
	};
	struct plan_wr wr;

	p->nr_wrs = 0;
	while (plan_next(&plan, &wr))
		record(p, &wr);
	plan_end(&plan);
	return plan;
}

static struct plan walk(struct planner *p)
{
	return walk_from(p, 0);
}

/* How many operations are wholly planned. */
static uint32_t planned(const struct planner *p, const struct plan *plan)
{
	return (uint32_t)(plan->next - p->order);
}

/* As the queue does it with an operation that a plan left half sent. */
static void open_op(struct planner *p, uint32_t index, uint32_t bytes,
		    uint32_t pieces)
{
	p->ops[index].what |= OP_CUT | OP_OPEN;
	p->cuts[index].planned_bytes = bytes;
	p->cuts[index].pieces_left = pieces;
}

static void leave_open(struct planner *p, const struct plan *plan)
{
	if (plan->open_bytes)
		open_op(p, *plan->next, plan->open_bytes, plan->open_pieces);
}

static void assert_wr(const struct planner *p, uint32_t i, uint32_t first_op,
		      uint32_t nr_ops, uint64_t remote, uint32_t length)
{
	const struct plan_wr *wr = &p->wrs[i].wr;
	uint64_t bytes = 0;

	assert_true(i < p->nr_wrs);
	assert_int_equal(wr->first_op, first_op);
	assert_int_equal(wr->nr_ops, nr_ops);
	assert_int_equal(wr->remote_addr, REMOTE + remote);
	assert_int_equal(wr->length, length);
	for (uint32_t s = 0; s < wr->nr_segs; s++) {
		assert_true(wr->segs[s].length > 0);
		bytes += wr->segs[s].length;
	}
	assert_int_equal(bytes, length);
}

static void assert_seg(const struct planner *p, uint32_t i, uint32_t seg,
		       uint64_t local, uint32_t length)
{
	assert_true(seg < p->wrs[i].wr.nr_segs);
	assert_int_equal(p->wrs[i].segs[seg].addr, LOCAL + local);
	assert_int_equal(p->wrs[i].segs[seg].length, length);
}

/* -- merge -------------------------------------------------------------- */

static void plan_plain_one_wr_per_op(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	add_row(p, 3, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_wr(p, i, i, 1, i * 64, 64);
		assert_seg(p, i, 0, i * 64, 64);
	}
	assert_int_equal(plan.stop, PLAN_ALL);
	assert_ptr_equal(plan.next, plan.end);
	assert_int_equal(plan.nr_merged, 0);
}

static void merge_both_sides_adjacent_one_sge(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->rules.merge = true;
	add_row(p, 5, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 1);
	assert_wr(p, 0, 0, 5, 0, 320);
	assert_int_equal(p->wrs[0].wr.nr_segs, 1);
	assert_int_equal(plan.nr_merged, 4);
}

static void merge_local_apart_one_sge_each(void **state)
{
	struct planner *p = *state;

	p->rules.merge = true;
	for (uint32_t i = 0; i < 6; i++)
		add(p, WRB_READ, 1000 - i * 100, i * 64, 64);
	walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_wr(p, 0, 0, 4, 0, 256);
	assert_int_equal(p->wrs[0].wr.nr_segs, 4);
	assert_true(p->wrs[0].wr.read);
	for (uint32_t i = 0; i < 4; i++)
		assert_seg(p, 0, i, 1000 - i * 100, 64);
	assert_wr(p, 1, 4, 2, 256, 128);
}

static void merge_other_local_region_new_sge(void **state)
{
	struct planner *p = *state;

	p->rules.merge = true;
	add_row(p, 2, 64);
	p->ops[1].what = op_what(2, 1, WRB_WRITE);
	walk(p);
	assert_int_equal(p->nr_wrs, 1);
	assert_int_equal(p->wrs[0].wr.nr_segs, 2);
	assert_int_equal(p->wrs[0].segs[1].region, 2);
}

static void merge_what_does_not_fit_starts_a_wr(void **state)
{
	struct planner *p = *state;

	p->rules.merge = true;
	add(p, WRB_WRITE, 0, 0, 64);
	add(p, WRB_WRITE, 64, 65, 64);	/* a hole */
	add(p, WRB_READ, 128, 129, 64); /* the other direction */
	add(p, WRB_READ, 192, 193, 64); /* another region */
	add(p, WRB_READ, 256, 193, 64); /* the same bytes */
	p->ops[3].what = p->ops[4].what = op_what(0, 7, WRB_READ);
	walk(p);
	assert_int_equal(p->nr_wrs, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(p->wrs[i].wr.nr_ops, 1);
}

static void merge_stops_at_message_limit(void **state)
{
	struct planner *p = *state;

	p->rules.merge = true;
	limits(p, 0, 0, 200);
	add_row(p, 5, 64);
	walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_wr(p, 0, 0, 3, 0, 192);
	assert_wr(p, 1, 3, 2, 192, 128);
}

static void merge_at_uint32_max_no_sum_wraps(void **state)
{
	struct planner *p = *state;

	p->rules.merge = true;
	limits(p, 0, 0, UINT32_MAX);
	add(p, WRB_WRITE, 0, 0, UINT32_MAX - 1);
	add(p, WRB_WRITE, UINT32_MAX - 1, UINT32_MAX - 1, 1);
	add(p, WRB_WRITE, UINT32_MAX, UINT32_MAX, 1);
	walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_wr(p, 0, 0, 2, 0, UINT32_MAX);
	assert_wr(p, 1, 2, 1, UINT32_MAX, 1);
}

static void merge_run_is_cut_in_pieces(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->rules.merge = true;
	limits(p, 100, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 60);
	add(p, WRB_WRITE, 500, 60, 60);
	add(p, WRB_WRITE, 560, 120, 30);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_wr(p, 0, 0, 2, 0, 75);
	assert_seg(p, 0, 0, 0, 60);
	assert_seg(p, 0, 1, 500, 15);
	assert_wr(p, 1, 1, 2, 75, 75);
	assert_seg(p, 1, 0, 515, 75);
	assert_int_equal(plan.nr_cut, 1);
	assert_int_equal(plan.nr_pieces, 2);
}

/* -- cut ---------------------------------------------------------------- */

static void pieces_of_length_as_the_formula_says(void **state)
{
	static const struct {
		uint32_t length, chunk, max_chunks, msg, pieces;
	} cases[] = {
		{ 1, 0, 0, 1, 1 },
		{ 100, 0, 0, 100, 1 },
		{ 101, 0, 0, 100, 2 },
		{ 100, 10, 0, 100, 10 },
		{ 101, 10, 0, 1000, 11 },
		{ 101, 10, 3, 1000, 3 },
		{ 101, 10, 3, 20, 6 },
		{ 100, 200, 0, 50, 2 },
		{ 100, 10, 1, 100, 1 },
		{ UINT32_MAX, 0, 0, UINT32_MAX, 1 },
		{ UINT32_MAX, 0, 0, UINT32_MAX - 1, 2 },
		{ UINT32_MAX, UINT32_MAX - 1, 0, UINT32_MAX, 2 },
		{ UINT32_MAX, 0, 0, 1u << 31, 2 },
		{ UINT32_MAX, 1, 0, UINT32_MAX, UINT32_MAX },
		{ UINT32_MAX, 1, 4, UINT32_MAX, 4 },
		{ UINT32_MAX, 1, 4, 1u << 28, 16 },
	};
	struct planner *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		limits(p, cases[i].chunk, cases[i].max_chunks, cases[i].msg);
		assert_int_equal(plan_pieces(&p->rules, cases[i].length),
				 cases[i].pieces);
	}
}

/* Pieces lie side by side, differ by at most 1, and none exceeds max. */
static void assert_near_equal(const struct planner *p, uint32_t length,
			      uint32_t max)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < p->nr_wrs; i++) {
		const struct plan_wr *wr = &p->wrs[i].wr;

		assert_in_range(wr->length, length / p->nr_wrs,
				length / p->nr_wrs + 1);
		assert_true(wr->length <= max);
		assert_wr(p, i, 0, 1, at, wr->length);
		assert_seg(p, i, 0, at, wr->length);
		at += wr->length;
	}
	assert_int_equal(at, length);
}

static void cut_pieces_near_equal_none_too_long(void **state)
{
	static const struct {
		uint32_t length, chunk, max_chunks, msg;
	} cases[] = {
		{ 100, 33, 0, 1000 },
		{ 127, 1, 0, 1000 },
		{ 1000, 64, 7, 1000 },
		{ 1000, 64, 7, 100 },
		{ UINT32_MAX, 0, 0, 1u << 31 },
		{ UINT32_MAX, 0, 0, (1u << 31) - 1 },
		{ UINT32_MAX, 1u << 20, 200, UINT32_MAX },
		{ UINT32_MAX, 1u << 20, 200, 1u << 25 },
		{ UINT32_MAX, 0, 0, UINT32_MAX - 1 },
	};
	struct planner *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan plan;

		limits(p, cases[i].chunk, cases[i].max_chunks, cases[i].msg);
		p->nr_ops = 0;
		add(p, WRB_WRITE, 0, 0, cases[i].length);
		plan = walk(p);
		assert_int_equal(plan.stop, PLAN_ALL);
		assert_int_equal(p->nr_wrs,
				 plan_pieces(&p->rules, cases[i].length));
		assert_near_equal(p, cases[i].length, cases[i].msg);
	}
}

static void cut_short_op_is_left_whole(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	limits(p, 64, 0, 1000);
	add_row(p, 2, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_int_equal(plan.nr_cut, 0);
	assert_int_equal(plan.nr_pieces, 0);
}

static void cut_among_others_keeps_order(void **state)
{
	struct planner *p = *state;

	limits(p, 64, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 10);
	add(p, WRB_WRITE, 10, 10, 128);
	add(p, WRB_WRITE, 138, 138, 10);
	walk(p);
	assert_int_equal(p->nr_wrs, 4);
	assert_wr(p, 0, 0, 1, 0, 10);
	assert_wr(p, 1, 1, 1, 10, 64);
	assert_wr(p, 2, 1, 1, 74, 64);
	assert_wr(p, 3, 2, 1, 138, 10);
}

/* -- room --------------------------------------------------------------- */

static void room_no_slot_stops_before_op(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].slots = 2;
	add_row(p, 5, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_int_equal(plan.stop, PLAN_NO_SLOT);
	assert_int_equal(planned(p, &plan), 2);
	assert_int_equal(plan.open_bytes, 0);
	assert_int_equal(p->lanes[0].slots, 0);
}

static void room_no_read_credit_stops_reads(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].reads = 1;
	add(p, WRB_READ, 0, 0, 64);
	add(p, WRB_WRITE, 64, 64, 64);
	add(p, WRB_READ, 128, 128, 64);
	add(p, WRB_WRITE, 192, 192, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_int_equal(plan.stop, PLAN_NO_READ);
	assert_int_equal(planned(p, &plan), 2);
	assert_int_equal(p->lanes[0].reads, 0);
	assert_int_equal(p->lanes[0].slots, ROOM - 2);
}

static void room_none_at_all_changes_nothing(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].slots = 0;
	limits(p, 16, 0, 1000);
	add_row(p, 2, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 0);
	assert_int_equal(planned(p, &plan), 0);
	assert_int_equal(plan.open_bytes, 0);
	assert_int_equal(plan.nr_cut, 0);
}

static void room_ends_within_op_leaves_it_open(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].slots = 3;
	limits(p, 100, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 50);
	add(p, WRB_WRITE, 50, 50, 400);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 3);
	assert_int_equal(planned(p, &plan), 1);
	assert_int_equal(plan.open_bytes, 200);
	assert_int_equal(plan.open_pieces, 2);
	assert_int_equal(plan.nr_cut, 1);
}

static void open_op_goes_on_where_it_stopped(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].slots = 3;
	limits(p, 100, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 401);
	add(p, WRB_WRITE, 401, 401, 50);
	plan = walk(p);
	leave_open(p, &plan);
	p->lanes[0].slots = ROOM;
	plan = walk_from(p, planned(p, &plan));
	assert_int_equal(p->nr_wrs, 3);
	assert_wr(p, 0, 0, 1, 241, 80);
	assert_wr(p, 1, 0, 1, 321, 80);
	assert_seg(p, 1, 0, 321, 80);
	assert_wr(p, 2, 1, 1, 401, 50);
	assert_int_equal(plan.stop, PLAN_ALL);
	assert_int_equal(plan.nr_cut, 0);
	assert_int_equal(plan.nr_pieces, 2);
}

static void open_op_without_room_stays_open(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->lanes[0].slots = 1;
	limits(p, 100, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 300);
	plan = walk(p);
	leave_open(p, &plan);
	plan = walk_from(p, planned(p, &plan));
	assert_int_equal(p->nr_wrs, 0);
	assert_int_equal(planned(p, &plan), 0);
	assert_int_equal(plan.open_bytes, 0);
}

static void open_op_is_not_merged(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->rules.merge = true;
	limits(p, 100, 0, 1000);
	add(p, WRB_WRITE, 0, 0, 50);
	add(p, WRB_WRITE, 50, 50, 150);
	open_op(p, 1, 75, 1);
	add(p, WRB_WRITE, 200, 200, 50);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 3);
	assert_wr(p, 1, 1, 1, 125, 75);
	assert_int_equal(plan.nr_merged, 0);
}

/* Any length, any pieces, one WR of room at a time. */
static void assert_covered_stepwise(struct planner *p, uint32_t length)
{
	uint32_t pieces = plan_pieces(&p->rules, length), nr = 0, first = 0;
	uint32_t longest = div_up(length, pieces);
	uint64_t at = 0;

	p->nr_ops = 0;
	add(p, WRB_WRITE, 0, 0, length);
	while (first < p->nr_ops) {
		struct plan plan;

		p->lanes[0].slots = 1;
		plan = walk_from(p, first);
		leave_open(p, &plan);
		first = planned(p, &plan);
		assert_int_equal(p->nr_wrs, 1);
		assert_wr(p, 0, 0, 1, at, p->wrs[0].wr.length);
		assert_true(p->wrs[0].wr.length <= longest);
		at += p->wrs[0].wr.length;
		nr++;
	}
	assert_int_equal(at, length);
	assert_true(nr <= pieces);
}

static void open_op_one_slot_at_a_time_covers_all(void **state)
{
	struct planner *p = *state;

	for (uint32_t length = 1; length < 200; length++)
		for (uint32_t chunk = 1; chunk < 40; chunk += 3) {
			limits(p, chunk, 0, 1000);
			assert_covered_stepwise(p, length);
		}
	limits(p, 1u << 20, 50, 1u << 31);
	assert_covered_stepwise(p, UINT32_MAX);
	limits(p, 0, 0, (1u << 27) + 1);
	assert_covered_stepwise(p, UINT32_MAX);
}

static void cut_run_stopped_between_ops_opens_none(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->rules.merge = true;
	p->lanes[0].slots = 2;
	limits(p, 64, 0, 1000);
	add_row(p, 4, 64);
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 2);
	assert_int_equal(planned(p, &plan), 2);
	assert_int_equal(plan.open_bytes, 0);
}

static void cut_run_stopped_within_second_op_opens_it(void **state)
{
	struct planner *p = *state;
	struct plan plan;

	p->rules.merge = true;
	p->lanes[0].slots = 1;
	limits(p, 100, 0, 1000);
	add_row(p, 3, 64);
	plan = walk(p);
	assert_wr(p, 0, 0, 2, 0, 96);
	assert_int_equal(planned(p, &plan), 1);
	assert_int_equal(plan.open_bytes, 32);
	assert_int_equal(plan.open_pieces, 1);
}

/* -- stripe ------------------------------------------------------------- */

static void assert_lanes(const struct planner *p, const char *lanes)
{
	assert_int_equal(p->nr_wrs, strlen(lanes));
	for (uint32_t i = 0; i < p->nr_wrs; i++)
		assert_int_equal(p->wrs[i].wr.lane, lanes[i] - '0');
}

static void stripe(struct planner *p, enum wrb_stripe policy, uint32_t lane,
		   uint32_t nr_ops)
{
	p->rules.nr_lanes = 4;
	p->rules.stripe = policy;
	p->lane = lane;
	add_row(p, nr_ops, 64);
}

static void stripe_batch_fills_one_lane_then_next(void **state)
{
	struct planner *p = *state;

	for (uint32_t i = 0; i < 4; i++)
		p->lanes[i].slots = 3;
	stripe(p, WRB_STRIPE_BATCH, 2, 8);
	walk(p);
	assert_lanes(p, "22233300");
}

static void stripe_batch_skips_lane_without_read_credit(void **state)
{
	struct planner *p = *state;

	stripe(p, WRB_STRIPE_BATCH, 0, 0);
	p->lanes[0].reads = 1;
	p->lanes[1].reads = 0;
	for (uint32_t i = 0; i < 3; i++)
		add(p, WRB_READ, i * 64, i * 64, 64);
	walk(p);
	assert_lanes(p, "022");
}

static void stripe_round_robin_takes_turns(void **state)
{
	struct planner *p = *state;

	stripe(p, WRB_STRIPE_ROUND_ROBIN, 3, 6);
	walk(p);
	assert_lanes(p, "301230");
}

static void stripe_round_robin_skips_full_and_dead(void **state)
{
	struct planner *p = *state;

	p->lanes[1] = (struct plan_lane){ 0 };
	p->lanes[2].slots = 1;
	stripe(p, WRB_STRIPE_ROUND_ROBIN, 0, 6);
	walk(p);
	assert_lanes(p, "023030");
}

static void stripe_least_loaded_takes_most_room(void **state)
{
	struct planner *p = *state;

	p->lanes[0].slots = 2;
	p->lanes[1].slots = 4;
	p->lanes[2].slots = 3;
	p->lanes[3].slots = 0;
	stripe(p, WRB_STRIPE_LEAST_LOADED, 0, 9);
	walk(p);
	assert_lanes(p, "112012012");
}

static void stripe_least_loaded_equals_from_start_lane(void **state)
{
	struct planner *p = *state;

	stripe(p, WRB_STRIPE_LEAST_LOADED, 2, 4);
	walk(p);
	assert_lanes(p, "2301");
}

static void stripe_offset_same_address_same_lane(void **state)
{
	struct planner *p = *state;
	uint32_t used = 0;

	stripe(p, WRB_STRIPE_OFFSET, 0, 0);
	for (uint32_t i = 0; i < 64; i++)
		add(p, WRB_WRITE, i * 4096, i % 32 * 4096, 4096);
	walk(p);
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(p->wrs[i].wr.lane, p->wrs[i + 32].wr.lane);
		used |= 1u << p->wrs[i].wr.lane;
	}
	assert_int_equal(used, 0xf);
}

static void stripe_offset_lane_full_waits(void **state)
{
	struct planner *p = *state;
	struct plan plan;
	uint32_t lane;

	stripe(p, WRB_STRIPE_OFFSET, 0, 1);
	walk(p);
	lane = p->wrs[0].wr.lane;
	p->lanes[lane].slots = 0;
	plan = walk(p);
	assert_int_equal(p->nr_wrs, 0);
	assert_int_equal(plan.stop, PLAN_NO_SLOT);
	p->lanes[lane] = (struct plan_lane){ 0 };
	walk(p);
	assert_int_equal(p->nr_wrs, 1);
	assert_int_equal(p->wrs[0].wr.lane, (lane + 1) % 4);
}

static void stripe_offset_lane_full_write_wants_no_read_credit(void **state)
{
	struct planner *p = *state;
	uint32_t lane;

	stripe(p, WRB_STRIPE_OFFSET, 0, 1);
	walk(p);
	lane = p->wrs[0].wr.lane;
	p->lanes[lane].slots = 0;
	p->lanes[(lane + 1) % 4].reads = 0;
	assert_int_equal(walk(p).stop, PLAN_NO_SLOT);
}

static void stripe_offset_no_lane_ready_plans_nothing(void **state)
{
	struct planner *p = *state;

	memset(p->lanes, 0, sizeof(p->lanes));
	stripe(p, WRB_STRIPE_OFFSET, 0, 1);
	walk(p);
	assert_int_equal(p->nr_wrs, 0);
}

static void stripe_pieces_spread_like_wrs(void **state)
{
	struct planner *p = *state;

	limits(p, 16, 0, 1000);
	stripe(p, WRB_STRIPE_ROUND_ROBIN, 1, 1);
	walk(p);
	assert_lanes(p, "1230");
}

#define plan_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		plan_test(plan_plain_one_wr_per_op),
		plan_test(merge_both_sides_adjacent_one_sge),
		plan_test(merge_local_apart_one_sge_each),
		plan_test(merge_other_local_region_new_sge),
		plan_test(merge_what_does_not_fit_starts_a_wr),
		plan_test(merge_stops_at_message_limit),
		plan_test(merge_at_uint32_max_no_sum_wraps),
		plan_test(merge_run_is_cut_in_pieces),
		plan_test(pieces_of_length_as_the_formula_says),
		plan_test(cut_pieces_near_equal_none_too_long),
		plan_test(cut_short_op_is_left_whole),
		plan_test(cut_among_others_keeps_order),
		plan_test(room_no_slot_stops_before_op),
		plan_test(room_no_read_credit_stops_reads),
		plan_test(room_none_at_all_changes_nothing),
		plan_test(room_ends_within_op_leaves_it_open),
		plan_test(open_op_goes_on_where_it_stopped),
		plan_test(open_op_without_room_stays_open),
		plan_test(open_op_is_not_merged),
		plan_test(open_op_one_slot_at_a_time_covers_all),
		plan_test(cut_run_stopped_between_ops_opens_none),
		plan_test(cut_run_stopped_within_second_op_opens_it),
		plan_test(stripe_batch_fills_one_lane_then_next),
		plan_test(stripe_batch_skips_lane_without_read_credit),
		plan_test(stripe_round_robin_takes_turns),
		plan_test(stripe_round_robin_skips_full_and_dead),
		plan_test(stripe_least_loaded_takes_most_room),
		plan_test(stripe_least_loaded_equals_from_start_lane),
		plan_test(stripe_offset_same_address_same_lane),
		plan_test(stripe_offset_lane_full_waits),
		plan_test(stripe_offset_lane_full_write_wants_no_read_credit),
		plan_test(stripe_offset_no_lane_ready_plans_nothing),
		plan_test(stripe_pieces_spread_like_wrs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
