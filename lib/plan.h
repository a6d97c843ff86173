/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The planner: operations -> merged runs -> pieces -> lanes -> WRs, in one
 * pass. Same input, same plan. It reads operations and counts down the lanes'
 * room; it changes nothing else and makes no verbs calls, so that submit and
 * explain share it. What it plans goes to a plan_emit_fn, which the compiler
 * inlines into either of them.
 */
#ifndef WRB_PLAN_H
#define WRB_PLAN_H

#include <stdbool.h>

#include "compiler.h"
#include "op_table.h"
#include "wrb.h"

#define PLAN_NO_LANE UINT32_MAX

/* What a plan must obey; fixed at create. */
struct plan_rules {
	uint32_t nr_lanes;
	uint32_t max_sge;
	uint32_t max_msg_bytes;
	uint32_t chunk_bytes; /* 0: none */
	uint32_t max_chunks;  /* 0: no bound */
	uint32_t cut_above;   /* bytes; nothing shorter is cut */
	enum wrb_stripe stripe;
	bool merge;
};

/* A lane's room. All 0 unless the lane is ready. */
struct plan_lane {
	uint32_t slots; /* WRs that it can take */
	uint32_t reads; /* of these, READs */
	uint32_t ready;
};

/* A stretch of local memory, an SGE before it has its lane's key. */
struct plan_seg {
	uint64_t addr;
	uint32_t length;
	uint32_t region;
};

/* One WR of the plan. */
struct plan_wr {
	uint32_t lane;
	uint32_t first_op;
	uint32_t nr_ops;
	uint32_t nr_segs;
	const struct plan_seg *segs;
	uint64_t remote_addr;
	uint32_t remote; /* region */
	uint32_t length;
	bool read;
};

typedef void (*plan_emit_fn)(void *ctx, const struct plan_wr *wr);

enum plan_stop {
	PLAN_ALL, /* everything was planned */
	PLAN_NO_SLOT,
	PLAN_NO_READ, /* a slot, but no READ credit */
};

struct plan {
	const struct plan_rules *rules;
	const struct op *ops;
	struct plan_lane *lanes;
	struct plan_seg *run_segs;   /* scratch, max_sge */
	struct plan_seg *piece_segs; /* scratch, max_sge */
	uint32_t lane; /* where the next WR starts to look for room */
	/* Results: where it stopped. */
	enum plan_stop stop;
	uint32_t next_op;     /* first operation not wholly planned */
	uint32_t nr_consumed; /* operations before it */
	uint32_t open_bytes;  /* of next_op, planned; 0: none */
	uint32_t open_pieces; /* WRs that its rest will take */
	uint32_t nr_wrs;      /* planned */
	uint32_t nr_cut;      /* operations or runs that were cut */
	uint32_t nr_pieces;   /* WRs that these became */
	uint32_t nr_merged;   /* operations that joined a WR begun by another */
};

/* A run: operations that go out together, as one WR or cut in pieces. */
struct plan_run {
	const struct op *op; /* the first */
	uint32_t first_op;
	uint32_t next_op; /* after the last */
	uint32_t nr_ops;
	uint32_t nr_segs;
	uint32_t length;
	uint32_t pieces;
	uint64_t remote_addr;
};

/* A position in a run while it is cut. */
struct plan_cut {
	uint32_t seg;
	uint32_t seg_offset;
	uint32_t op;
	uint32_t op_offset; /* from the operation's start */
	uint32_t nr_passed; /* operations wholly behind it */
};

/* Orders a list by remote address, stable. See plan_sort.c. */
struct plan_sort_item {
	uint64_t key;
	uint32_t op;
};
void plan_sort(struct op *ops, struct op_list *list,
	       struct plan_sort_item *items, struct plan_sort_item *scratch);

static always_inline bool plan_lane_takes(const struct plan_lane *lane,
					  bool read)
{
	return lane->slots && (!read || lane->reads);
}

static always_inline uint32_t plan_lane_after(const struct plan *plan,
					      uint32_t lane)
{
	return lane + 1 == plan->rules->nr_lanes ? 0 : lane + 1;
}

/* The first lane with room, from plan->lane on. */
static inline uint32_t plan_lane_find(const struct plan *plan, bool read)
{
	uint32_t lane = plan->lane;

	for (uint32_t n = plan->rules->nr_lanes; n; n--) {
		if (plan_lane_takes(&plan->lanes[lane], read))
			return lane;
		lane = plan_lane_after(plan, lane);
	}
	return PLAN_NO_LANE;
}

/* The lane with the most room; of equals, the first from plan->lane on. */
static inline uint32_t plan_lane_emptiest(const struct plan *plan, bool read)
{
	uint32_t best = PLAN_NO_LANE, slots = 0, lane = plan->lane;

	for (uint32_t n = plan->rules->nr_lanes; n; n--) {
		if (plan->lanes[lane].slots > slots &&
		    plan_lane_takes(&plan->lanes[lane], read)) {
			best = lane;
			slots = plan->lanes[lane].slots;
		}
		lane = plan_lane_after(plan, lane);
	}
	return best;
}

/* The remote address's own lane; when that one has failed, the next ready. */
static inline uint32_t plan_lane_of_addr(const struct plan *plan, bool read,
					 uint64_t remote_addr)
{
	/* Fibonacci hashing: block sizes are powers of two. */
	uint64_t hash = remote_addr * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint32_t lane = (uint32_t)(hash * plan->rules->nr_lanes >> 32);

	for (uint32_t n = plan->rules->nr_lanes; n; n--) {
		if (plan->lanes[lane].ready)
			break;
		lane = plan_lane_after(plan, lane);
	}
	return plan_lane_takes(&plan->lanes[lane], read) ? lane : PLAN_NO_LANE;
}

static inline uint32_t plan_lane_choose(struct plan *plan, bool read,
					uint64_t remote_addr)
{
	uint32_t lane;

	switch (plan->rules->stripe) {
	case WRB_STRIPE_ROUND_ROBIN:
		lane = plan_lane_find(plan, read);
		if (lane != PLAN_NO_LANE)
			plan->lane = plan_lane_after(plan, lane);
		return lane;
	case WRB_STRIPE_LEAST_LOADED:
		return plan_lane_emptiest(plan, read);
	case WRB_STRIPE_OFFSET:
		return plan_lane_of_addr(plan, read, remote_addr);
	case WRB_STRIPE_BATCH:
	default:
		lane = plan_lane_find(plan, read);
		if (lane != PLAN_NO_LANE)
			plan->lane = lane;
		return lane;
	}
}

/* Takes room for one WR on a lane; PLAN_NO_LANE when none has any. */
static always_inline uint32_t plan_lane_take(struct plan *plan, bool read,
					     uint64_t remote_addr)
{
	uint32_t lane = plan->lane;

	if (plan->rules->stripe != WRB_STRIPE_BATCH ||
	    unlikely(!plan_lane_takes(&plan->lanes[lane], read)))
		lane = plan_lane_choose(plan, read, remote_addr);
	if (likely(lane != PLAN_NO_LANE)) {
		plan->lanes[lane].slots--;
		plan->lanes[lane].reads -= read;
		plan->nr_wrs++;
	}
	return lane;
}

static inline uint32_t div_up(uint32_t n, uint32_t by)
{
	return n / by + (n % by != 0);
}

/* How many WRs a length becomes. */
static inline uint32_t plan_pieces(const struct plan_rules *rules,
				   uint32_t length)
{
	uint32_t least = div_up(length, rules->max_msg_bytes);
	uint32_t n = 1;

	if (rules->chunk_bytes)
		n = div_up(length, rules->chunk_bytes);
	if (rules->max_chunks && n > rules->max_chunks)
		n = rules->max_chunks;
	return n > least ? n : least;
}

/* Whether op carries the run on: what follows it in remote memory. */
static always_inline bool plan_run_meets(const struct plan_rules *rules,
					 const struct plan_run *run,
					 const struct op *op)
{
	return op->remote_addr == run->remote_addr + run->length &&
	       op->dir == run->op->dir && op->remote == run->op->remote &&
	       op->length <= rules->max_msg_bytes - run->length &&
	       !op->planned_bytes;
}

/* Joins the operations that follow, as far as SGEs and the message reach. */
static always_inline void plan_run_extend(struct plan *plan,
					  struct plan_run *run, uint32_t nr)
{
	struct plan_seg *seg = &plan->run_segs[0];
	const struct plan_rules *rules = plan->rules;

	if (unlikely(run->length >= rules->max_msg_bytes))
		return;
	for (; run->nr_ops < nr; run->nr_ops++) {
		const struct op *op = &plan->ops[run->next_op];

		if (!plan_run_meets(rules, run, op))
			break;
		if (op->local_addr == seg->addr + seg->length &&
		    op->local == seg->region) {
			seg->length += op->length;
		} else {
			if (run->nr_segs == rules->max_sge)
				break;
			seg = &plan->run_segs[run->nr_segs++];
			*seg = (struct plan_seg){ op->local_addr, op->length,
						  op->local };
		}
		run->length += op->length;
		run->next_op = op->next;
	}
}

/* The run that starts at an operation; nr more are staged, itself included. */
static always_inline void plan_run_begin(struct plan *plan,
					 struct plan_run *run, uint32_t index,
					 uint32_t nr)
{
	const struct op *op = &plan->ops[index];

	*run = (struct plan_run){
		.op = op,
		.first_op = index,
		.next_op = op->next,
		.nr_ops = 1,
		.nr_segs = 1,
		.length = op->length - op->planned_bytes,
		.pieces = 1,
		.remote_addr = op->remote_addr + op->planned_bytes,
	};
	plan->run_segs[0] = (struct plan_seg){
		.addr = op->local_addr + op->planned_bytes,
		.length = run->length,
		.region = op->local,
	};
	if (plan->rules->merge && !op->planned_bytes)
		plan_run_extend(plan, run, nr);
	if (unlikely(op->planned_bytes))
		run->pieces = op->pieces_left;
	else if (unlikely(run->length > plan->rules->cut_above))
		run->pieces = plan_pieces(plan->rules, run->length);
}

/* Moves on by length bytes; writes the stretches passed to piece_segs. */
static inline uint32_t plan_cut_segs(struct plan *plan, struct plan_cut *cut,
				     uint32_t length)
{
	uint32_t nr = 0;

	while (length) {
		const struct plan_seg *seg = &plan->run_segs[cut->seg];
		uint32_t rest = seg->length - cut->seg_offset;
		uint32_t take = rest < length ? rest : length;

		plan->piece_segs[nr++] = (struct plan_seg){
			.addr = seg->addr + cut->seg_offset,
			.length = take,
			.region = seg->region,
		};
		cut->seg_offset += take;
		if (take == rest) {
			cut->seg++;
			cut->seg_offset = 0;
		}
		length -= take;
	}
	return nr;
}

/* Moves on by length bytes; returns how many operations they touch. */
static inline uint32_t plan_cut_ops(struct plan *plan, struct plan_cut *cut,
				    uint32_t length)
{
	uint32_t nr = 0;

	while (length) {
		const struct op *op = &plan->ops[cut->op];
		uint32_t rest = op->length - cut->op_offset;
		uint32_t take = rest < length ? rest : length;

		nr++;
		cut->op_offset += take;
		if (take == rest) {
			cut->op = op->next;
			cut->op_offset = 0;
			cut->nr_passed++;
		}
		length -= take;
	}
	return nr;
}

/* Says where a run was left that did not go out as a whole. */
static inline void plan_leave(struct plan *plan, const struct plan_run *run,
			      const struct plan_cut *cut, uint32_t sent)
{
	uint32_t piece = div_up(run->length, run->pieces);
	const struct op *op = &plan->ops[cut->op];

	plan->next_op = cut->op;
	plan->nr_consumed += cut->nr_passed;
	if (!sent || !cut->op_offset)
		return;
	plan->open_bytes = cut->op_offset;
	plan->open_pieces = div_up(op->length - cut->op_offset, piece);
}

/* Cuts a run in near-equal pieces. False when room ran out before its end. */
static inline bool plan_run_cut(struct plan *plan, const struct plan_run *run,
				plan_emit_fn emit, void *ctx)
{
	struct plan_cut cut = {
		.op = run->first_op,
		.op_offset = run->op->planned_bytes,
	};
	bool read = run->op->dir == WRB_READ;
	uint32_t sent = 0;

	for (uint32_t i = 1; i <= run->pieces; i++) {
		uint32_t end = (uint64_t)run->length * i / run->pieces;
		struct plan_wr wr = {
			.first_op = cut.op,
			.segs = plan->piece_segs,
			.remote_addr = run->remote_addr + sent,
			.remote = run->op->remote,
			.length = end - sent,
			.read = read,
		};

		wr.lane = plan_lane_take(plan, read, wr.remote_addr);
		if (wr.lane == PLAN_NO_LANE) {
			plan_leave(plan, run, &cut, sent);
			return false;
		}
		wr.nr_segs = plan_cut_segs(plan, &cut, wr.length);
		wr.nr_ops = plan_cut_ops(plan, &cut, wr.length);
		emit(ctx, &wr);
		plan->nr_cut += !sent && !run->op->planned_bytes;
		plan->nr_pieces++;
		sent = end;
	}
	return true;
}

/* Sends a run that needs no cut. False when there is no room. */
static always_inline bool plan_run_whole(struct plan *plan,
					 const struct plan_run *run,
					 plan_emit_fn emit, void *ctx)
{
	struct plan_wr wr = {
		.first_op = run->first_op,
		.nr_ops = run->nr_ops,
		.nr_segs = run->nr_segs,
		.segs = plan->run_segs,
		.remote_addr = run->remote_addr,
		.remote = run->op->remote,
		.length = run->length,
		.read = run->op->dir == WRB_READ,
	};

	wr.lane = plan_lane_take(plan, wr.read, wr.remote_addr);
	if (unlikely(wr.lane == PLAN_NO_LANE))
		return false;
	emit(ctx, &wr);
	return true;
}

static inline enum plan_stop plan_why(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->rules->nr_lanes; i++)
		if (plan->lanes[i].slots && !plan->lanes[i].reads)
			return PLAN_NO_READ;
	return PLAN_NO_SLOT;
}

/*
 * The common case in a tight loop: operations that are neither merged nor cut,
 * one WR each. Stops at the first that is not like that or finds no room.
 */
static always_inline void plan_walk_plain(struct plan *plan, uint32_t nr,
					  plan_emit_fn emit, void *ctx)
{
	const bool batch = plan->rules->stripe == WRB_STRIPE_BATCH;
	const uint32_t cut_above = plan->rules->cut_above;
	struct plan_lane *lanes = plan->lanes;
	const struct op *ops = plan->ops;
	uint32_t index = plan->next_op, left = nr - plan->nr_consumed;
	uint32_t lane = plan->lane, planned;

	for (planned = 0; planned < left; planned++) {
		const struct op *op = &ops[index];
		const bool read = op->dir == WRB_READ;
		const struct plan_seg seg = { op->local_addr, op->length,
					      op->local };
		struct plan_wr wr = {
			.first_op = index,
			.nr_ops = 1,
			.nr_segs = 1,
			.segs = &seg,
			.remote_addr = op->remote_addr,
			.remote = op->remote,
			.length = op->length,
			.read = read,
		};

		if (unlikely(op->length > cut_above || op->planned_bytes))
			break;
		if (!batch || unlikely(!plan_lane_takes(&lanes[lane], read)))
			lane = plan_lane_choose(plan, read, op->remote_addr);
		if (unlikely(lane == PLAN_NO_LANE))
			break;
		lanes[lane].slots--;
		lanes[lane].reads -= read;
		wr.lane = lane;
		index = op->next;
		emit(ctx, &wr);
	}
	plan->next_op = index;
	plan->nr_consumed += planned;
	plan->nr_wrs += planned;
}

/*
 * Plans a list of nr operations from index on, as far as the lanes' room
 * reaches. The caller fills rules, ops, lanes, the scratch and lane, and
 * zeroes the rest.
 */
static always_inline void plan_walk(struct plan *plan, uint32_t index,
				    uint32_t nr, plan_emit_fn emit, void *ctx)
{
	plan->next_op = index;
	while (plan->nr_consumed < nr) {
		struct plan_run run;
		bool whole;

		if (!plan->rules->merge) {
			plan_walk_plain(plan, nr, emit, ctx);
			if (likely(plan->nr_consumed == nr))
				break;
		}
		plan_run_begin(plan, &run, plan->next_op,
			       nr - plan->nr_consumed);
		if (likely(run.pieces == 1))
			whole = plan_run_whole(plan, &run, emit, ctx);
		else
			whole = plan_run_cut(plan, &run, emit, ctx);
		if (unlikely(!whole)) {
			plan->stop = plan_why(plan);
			return;
		}
		plan->next_op = run.next_op;
		plan->nr_consumed += run.nr_ops;
		plan->nr_merged += run.nr_ops - 1;
	}
	plan->stop = PLAN_ALL;
}

#endif /* WRB_PLAN_H */
