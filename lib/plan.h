/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The planner: operations -> merged runs -> pieces -> lanes -> WRs, in one
 * pass. Same input, same plan. It reads operations, links those that share a
 * WR, and counts down the lanes' room; it changes nothing else and makes no
 * verbs calls, so that submit and explain share it. It hands out one WR after
 * the other:
 *
 *	plan_next() until it returns false, or rows where they do; plan_end().
 *
 * All of it is inlined, so that a loop over it keeps the plan in registers.
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

/* A lane's room. All 0 unless the lane is ready. Its size is a power of two. */
struct plan_lane {
	uint32_t slots; /* WRs that it can take */
	uint32_t reads; /* of these, READs */
	uint32_t ready;
	uint32_t unused;
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
	struct plan_seg seg;	     /* the first */
	const struct plan_seg *segs; /* all of them, when there are several */
	uint64_t remote_addr;
	uint32_t remote; /* region */
	uint32_t length;
	bool read;
	bool cut; /* a piece: its operations are in other WRs too */
};

enum plan_stop {
	PLAN_ALL, /* everything was planned */
	PLAN_NO_SLOT,
	PLAN_NO_READ, /* a slot, but no READ credit */
};

/*
 * A run: operations that go out together, as one WR or cut in pieces; and how
 * far it was cut.
 */
struct plan_run {
	const struct op *op; /* the first */
	uint32_t first_op;
	uint32_t nr_ops;
	uint32_t nr_segs;
	struct plan_seg first; /* segment; all are in run_segs if several */
	uint32_t skip;	       /* bytes of the first that were planned before */
	uint32_t length;
	uint32_t pieces; /* in all */
	uint32_t pieces_left;
	uint32_t piece_bytes; /* of the last ones; others have one more */
	uint32_t longer;      /* pieces that have one more */
	uint32_t sent;	      /* bytes */
	/* Where the next piece begins; not kept up for a single operation. */
	uint32_t seg;
	uint32_t seg_offset;
	uint32_t at_op;
	uint32_t at_op_offset; /* from the operation's start */
	uint32_t nr_passed;    /* operations wholly behind */
};

/* A plan under way: what it works on, and where it is. */
struct plan {
	const struct plan_rules *rules;
	struct op *ops;
	const struct op_cut *cuts;
	const uint32_t *next; /* operation; those before it are planned */
	const uint32_t *end;  /* of the operations that are staged */
	struct plan_lane *lanes;
	struct plan_seg *run_segs;   /* scratch, max_sge */
	struct plan_seg *piece_segs; /* scratch, max_sge */
	uint32_t lane; /* where the next WR starts to look for room */
	/* Results. */
	enum plan_stop stop;
	uint32_t open_bytes;  /* of the next operation, planned; 0: none */
	uint32_t open_pieces; /* WRs that its rest will take */
	uint32_t nr_wrs;      /* planned */
	uint32_t row_slots;   /* of the row under way, at its begin */
	uint32_t row_reads;   /* READ credits that it has left */
	uint32_t nr_cut;      /* operations or runs that were cut */
	uint32_t nr_pieces;   /* WRs that these became */
	uint32_t nr_merged;   /* operations that joined a WR begun by another */
	struct plan_run run;
};

/* Orders operations by remote address, stable. See plan_sort.c. */
struct plan_sort_item {
	uint64_t key;
	uint32_t op;
};
void plan_sort(const struct op *ops, uint32_t *row, uint32_t nr,
	       struct plan_sort_item *items, struct plan_sort_item *scratch);

static always_inline bool plan_lane_takes(const struct plan_lane *lane,
					  bool read)
{
	return lane->slots && (!read || lane->reads);
}

/* Where to look for a lane: what plan_lane_*() need, by value. */
struct plan_search {
	const struct plan_lane *lanes;
	uint32_t nr_lanes;
	uint32_t from;
	bool read;
};

static always_inline uint32_t plan_lane_after(uint32_t nr_lanes, uint32_t lane)
{
	return lane + 1 == nr_lanes ? 0 : lane + 1;
}

/*
 * The lane that a stripe policy gives a WR to, PLAN_NO_LANE when it has no
 * room. See plan_stripe.c.
 */
uint32_t plan_lane_choose(enum wrb_stripe stripe, struct plan_search search,
			  uint64_t remote_addr);

/* Where the search after this one starts. */
static always_inline uint32_t plan_lane_next(const struct plan_rules *rules,
					     uint32_t from, uint32_t lane)
{
	if (rules->stripe == WRB_STRIPE_BATCH)
		return lane;
	if (rules->stripe == WRB_STRIPE_ROUND_ROBIN)
		return plan_lane_after(rules->nr_lanes, lane);
	return from;
}

/* Moves the plan to the lane that the stripe policy says; false for none. */
static always_inline bool plan_lane_move(struct plan *plan, struct plan_wr *wr)
{
	const struct plan_rules *rules = plan->rules;
	const struct plan_search search = { plan->lanes, rules->nr_lanes,
					    plan->lane, wr->read };

	wr->lane = plan_lane_choose(rules->stripe, search, wr->remote_addr);
	if (unlikely(wr->lane == PLAN_NO_LANE))
		return false;
	plan->lane = plan_lane_next(rules, plan->lane, wr->lane);
	return true;
}

/*
 * Takes room for a WR, of which read and remote_addr are known, on a lane that
 * it sets; false when none has any.
 */
static always_inline bool plan_lane_take(struct plan *plan, struct plan_wr *wr)
{
	wr->lane = plan->lane;
	if (plan->rules->stripe != WRB_STRIPE_BATCH ||
	    unlikely(!plan_lane_takes(&plan->lanes[wr->lane], wr->read)))
		if (!plan_lane_move(plan, wr))
			return false;
	plan->lanes[wr->lane].slots--;
	if (wr->read)
		plan->lanes[wr->lane].reads--;
	return true;
}

/* Operations of this local region, from an address to another. */
static always_inline struct plan_seg plan_seg(uint64_t from, uint64_t to,
					      uint64_t what)
{
	return (struct plan_seg){ from, (uint32_t)(to - from), (uint16_t)what };
}

static always_inline uint32_t div_up(uint32_t n, uint32_t by)
{
	return n / by + (n % by != 0);
}

/* How many WRs a length becomes. */
static always_inline uint32_t plan_pieces(const struct plan_rules *rules,
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

/*
 * Joins the operations that follow, as far as SGEs and the message reach. None
 * that is staged has a state, unless it is open.
 */
static always_inline void plan_run_extend(struct plan *plan,
					  struct plan_run *run)
{
	const struct plan_rules *rules = plan->rules;
	const uint64_t remote_max = run->op->remote_addr + rules->max_msg_bytes;
	uint64_t remote_end = run->op->remote_addr + run->length;
	uint64_t what = run->op->what; /* of what is in the last SGE */
	uint64_t local = run->first.addr, local_end = local + run->length;
	uint32_t nr_segs = 1, *link = &plan->ops[run->first_op].next;
	const uint32_t *at = plan->next;

	if (unlikely(run->length >= rules->max_msg_bytes))
		return;
	while (++at != plan->end) {
		struct op *op = &plan->ops[*at];

		if (op->remote_addr != remote_end ||
		    op->length > remote_max - remote_end)
			break;
		if (unlikely(op->what != what || op->local_addr != local_end)) {
			if ((op->what ^ what) & (OP_KIND | OP_OPEN) ||
			    nr_segs == rules->max_sge)
				break;
			plan->run_segs[nr_segs++ - 1] =
				plan_seg(local, local_end, what);
			what = op->what;
			local = op->local_addr;
			local_end = local;
		}
		local_end += op->length;
		remote_end += op->length;
		*link = *at;
		link = &op->next;
	}
	run->first = plan_seg(local, local_end, what);
	if (nr_segs > 1) {
		plan->run_segs[nr_segs - 1] = run->first;
		run->first = plan->run_segs[0];
	}
	run->nr_ops = (uint32_t)(at - plan->next);
	run->nr_segs = nr_segs;
	run->length = (uint32_t)(remote_end - run->op->remote_addr);
}

/* How a run is cut; op is its first operation. */
static always_inline void plan_run_cut(struct plan *plan, struct plan_run *run)
{
	bool open = run->op->what & OP_OPEN;
	uint32_t n = open ? plan->cuts[run->first_op].pieces_left
			  : plan_pieces(plan->rules, run->length);

	run->pieces = n;
	run->pieces_left = n;
	if (run->nr_segs == 1)
		plan->run_segs[0] = run->first;
	run->piece_bytes = run->length / n;
	run->longer = run->length % n;
	run->sent = 0;
	run->seg = 0;
	run->seg_offset = 0;
	run->at_op = run->first_op;
	run->at_op_offset = run->skip;
	run->nr_passed = 0;
}

/* The operation that is next, alone. */
static always_inline void plan_run_start(const struct plan *plan,
					 struct plan_run *run, bool open)
{
	const uint32_t index = *plan->next;
	const struct op *op = &plan->ops[index];

	run->op = op;
	run->first_op = index;
	run->nr_ops = 1;
	run->nr_segs = 1;
	run->skip = open ? plan->cuts[index].planned_bytes : 0;
	run->length = op->length - run->skip;
	run->pieces_left = 0;
	run->first = (struct plan_seg){
		.addr = op->local_addr + run->skip,
		.length = run->length,
		.region = op_local(op),
	};
}

/* The run that starts at the next operation. */
static always_inline void plan_run_begin(struct plan *plan)
{
	const bool open = unlikely(plan->ops[*plan->next].what & OP_OPEN);
	struct plan_run *run = &plan->run;

	plan_run_start(plan, run, open);
	if (plan->rules->merge && !open)
		plan_run_extend(plan, run);
	if (unlikely(open || run->length > plan->rules->cut_above))
		plan_run_cut(plan, run);
}

/* A run is planned as a whole. */
static always_inline void plan_run_end(struct plan *plan,
				       const struct plan_run *run)
{
	plan->next += run->nr_ops;
	plan->nr_merged += run->nr_ops - 1;
}

/* Moves on by length bytes; writes the stretches passed to piece_segs. */
static always_inline uint32_t plan_cut_segs(struct plan *plan, uint32_t length)
{
	struct plan_run *run = &plan->run;
	uint32_t nr = 0;

	while (length) {
		const struct plan_seg *seg = &plan->run_segs[run->seg];
		uint32_t rest = seg->length - run->seg_offset;
		uint32_t take = rest < length ? rest : length;

		plan->piece_segs[nr++] = (struct plan_seg){
			.addr = seg->addr + run->seg_offset,
			.length = take,
			.region = seg->region,
		};
		run->seg_offset += take;
		if (take == rest) {
			run->seg++;
			run->seg_offset = 0;
		}
		length -= take;
	}
	return nr;
}

/* Moves on by length bytes; returns how many operations they touch. */
static always_inline uint32_t plan_cut_ops(struct plan *plan, uint32_t length)
{
	struct plan_run *run = &plan->run;
	uint32_t nr = 0;

	while (length) {
		const struct op *op = &plan->ops[run->at_op];
		uint32_t rest = op->length - run->at_op_offset;
		uint32_t take = rest < length ? rest : length;

		nr++;
		run->at_op_offset += take;
		if (take == rest) {
			run->at_op = op->next;
			run->at_op_offset = 0;
			run->nr_passed++;
		}
		length -= take;
	}
	return nr;
}

/* Says where a run was left that did not go out as a whole. */
static inline void plan_leave(struct plan *plan)
{
	const struct plan_run *run = &plan->run;
	uint32_t at =
		run->nr_ops == 1 ? run->skip + run->sent : run->at_op_offset;
	uint32_t longest = run->piece_bytes + (run->longer != 0);

	plan->next += run->nr_passed;
	if (!run->sent || !at)
		return;
	plan->open_bytes = at;
	plan->open_pieces = div_up(plan->ops[run->at_op].length - at, longest);
}

/*
 * The next piece of a run that is cut, and those up to the nr-th, which are as
 * long; their lane has been taken.
 */
static always_inline void plan_piece(struct plan *plan, struct plan_wr *wr,
				     uint32_t nr)
{
	struct plan_run *run = &plan->run;
	uint32_t length = run->piece_bytes;

	length += run->pieces - run->pieces_left < run->longer;
	wr->first_op = run->at_op;
	wr->nr_ops = 1;
	wr->nr_segs = 1;
	wr->length = length;
	wr->cut = true;
	if (likely(run->nr_ops == 1)) {
		wr->seg = run->first;
		wr->seg.addr += run->sent;
		wr->seg.length = length;
	} else {
		wr->nr_segs = plan_cut_segs(plan, length);
		wr->nr_ops = plan_cut_ops(plan, length);
		wr->segs = plan->piece_segs;
		wr->seg = wr->segs[0];
	}
	plan->nr_cut += !run->sent && !run->skip;
	plan->nr_pieces += nr;
	run->sent += nr * length;
	run->pieces_left -= nr;
	if (!run->pieces_left)
		plan_run_end(plan, run);
}

/* A run that goes out in one WR; its lane has been taken. */
static always_inline void
plan_whole(struct plan *plan, const struct plan_run *run, struct plan_wr *wr)
{
	wr->first_op = run->first_op;
	wr->nr_ops = run->nr_ops;
	wr->nr_segs = run->nr_segs;
	wr->segs = plan->run_segs;
	wr->seg = run->first;
	wr->length = run->length;
	wr->cut = false;
	plan_run_end(plan, run);
}

/* One operation alone and whole. */
static always_inline void plan_one(const struct op *op, uint32_t index,
				   uint32_t lane, struct plan_wr *wr)
{
	*wr = (struct plan_wr){
		.lane = lane,
		.first_op = index,
		.nr_ops = 1,
		.nr_segs = 1,
		.seg = { op->local_addr, op->length, op_local(op) },
		.remote_addr = op->remote_addr,
		.remote = op_remote(op),
		.length = op->length,
		.read = op_is_read(op),
	};
}

/*
 * The next WR, merged and cut as the rules say. False at the end, or when no
 * lane has room.
 */
static always_inline bool plan_next(struct plan *plan, struct plan_wr *wr)
{
	struct plan_run *run = &plan->run;

	if (likely(!run->pieces_left)) {
		if (unlikely(plan->next == plan->end))
			return false;
		plan_run_begin(plan);
	}
	wr->read = op_is_read(run->op);
	wr->remote = op_remote(run->op);
	wr->remote_addr = run->op->remote_addr + run->skip;
	if (unlikely(run->pieces_left))
		wr->remote_addr += run->sent;
	if (unlikely(!plan_lane_take(plan, wr)))
		return false;
	plan->nr_wrs++;
	if (unlikely(run->pieces_left))
		plan_piece(plan, wr, 1);
	else
		plan_whole(plan, run, wr);
	return true;
}

/*
 * A row: WRs that go to one lane one after the other, without another look at
 * lanes in between. Under WRB_STRIPE_BATCH a plan is made of rows; they cost
 * the least.
 *
 * Finds a lane with room for the next operation, and takes all its room until
 * plan_row_end(). False at the end, or when there is none.
 */
static always_inline bool plan_row_begin(struct plan *plan)
{
	const struct plan_lane *room = &plan->lanes[plan->lane];
	struct plan_wr wr;

	if (plan->next == plan->end)
		return false;
	wr.read = op_is_read(&plan->ops[*plan->next]);
	wr.remote_addr = 0;
	if (unlikely(!plan_lane_takes(room, wr.read)) &&
	    !plan_lane_move(plan, &wr))
		return false;
	plan->row_slots = plan->lanes[plan->lane].slots;
	plan->row_reads = plan->lanes[plan->lane].reads;
	return true;
}

/*
 * Gives back the room of a row that left of its slots were not used; nothing,
 * when the lane has failed meanwhile.
 */
static always_inline void plan_row_end(struct plan *plan, uint32_t left)
{
	struct plan_lane *room = &plan->lanes[plan->lane];

	plan->nr_wrs += plan->row_slots - left;
	if (unlikely(!room->ready))
		return;
	room->slots = left;
	room->reads = plan->row_reads;
}

/*
 * The next WR of a row while nothing is cut; merge is what the rules say, as a
 * constant. False at an operation or a run that is to be cut, at the end, or at
 * a READ without credit.
 */
static always_inline bool plan_row_next(struct plan *plan, struct plan_wr *wr,
					const bool merge)
{
	const struct op *op;
	struct plan_run run;

	if (unlikely(plan->next == plan->end))
		return false;
	op = &plan->ops[*plan->next];
	if (unlikely(op->length > plan->rules->cut_above || op->what & OP_OPEN))
		return false;
	plan_run_start(plan, &run, false);
	if (merge) {
		/* Sorted, they lie anywhere. */
		__builtin_prefetch(&plan->ops[plan->next[OP_ROW_AHEAD]]);
		plan_run_extend(plan, &run);
		if (unlikely(run.length > plan->rules->cut_above))
			return false;
	}
	wr->read = op_is_read(op);
	if (wr->read && !plan->row_reads--) {
		plan->row_reads = 0;
		return false;
	}
	wr->remote_addr = op->remote_addr;
	wr->remote = op_remote(op);
	plan_whole(plan, &run, wr);
	return true;
}

/*
 * Up to max next pieces of a run, all of one length; of several operations,
 * one at a time. Returns how many there are, with the first in wr; the others
 * begin where the one before ends. 0 at the end of the run, or without READ
 * credit.
 */
static always_inline uint32_t plan_row_pieces(struct plan *plan,
					      struct plan_wr *wr, uint32_t max)
{
	struct plan_run *run = &plan->run;
	const uint32_t cut = run->pieces - run->pieces_left;
	uint32_t nr = cut < run->longer ? run->longer - cut : run->pieces_left;

	if (nr > max)
		nr = max;
	wr->read = op_is_read(run->op);
	if (wr->read && nr > plan->row_reads)
		nr = plan->row_reads;
	if (unlikely(!nr))
		return 0;
	if (unlikely(run->nr_ops != 1))
		nr = 1;
	if (wr->read)
		plan->row_reads -= nr;
	wr->remote = op_remote(run->op);
	wr->remote_addr = run->op->remote_addr + run->skip + run->sent;
	plan_piece(plan, wr, nr);
	return nr;
}

/* Why there is no lane for the next operation. */
static inline enum plan_stop plan_why(const struct plan *plan)
{
	if (!op_is_read(&plan->ops[*plan->next]))
		return PLAN_NO_SLOT;
	for (uint32_t i = 0; i < plan->rules->nr_lanes; i++)
		if (plan->lanes[i].slots && !plan->lanes[i].reads)
			return PLAN_NO_READ;
	return PLAN_NO_SLOT;
}

/* Everything was planned, or why not. */
static always_inline void plan_end(struct plan *plan)
{
	if (likely(plan->next == plan->end))
		return;
	if (plan->run.pieces_left)
		plan_leave(plan);
	plan->stop = plan_why(plan);
}

#endif /* WRB_PLAN_H */
