// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* From operations to doorbells: add, submit, and the same as a dry run. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "complete.h"
#include "post.h"
#include "queue.h"

/* -- add ---------------------------------------------------------------- */

/*
 * Operations between the same two regions are staged in a row, for which this
 * holds what they share; the op table's moving parts are beside it.
 */
struct stager {
	struct op *ops;
	uint32_t *free_top; /* above the next that is free */
	uint32_t *place;    /* of the next among those staged */
	uint64_t what;	    /* of a WRITE between them */
	u64_pair addrs, bytes;
};

#define STAGE_NO_ROW OP_STATE /* no operation's what */

/* Both offsets of an operation; they are not aligned. */
static always_inline u64_pair op_offsets(const struct wrb_op *op)
{
	u64_pair offsets;

	static_assert(offsetof(struct wrb_op, remote_offset) ==
			      offsetof(struct wrb_op, local_offset) + 8,
		      "they are loaded at once");
	memcpy(&offsets,
	       (const char *)op + offsetof(struct wrb_op, local_offset),
	       sizeof(offsets));
	return offsets;
}

static always_inline struct stager stage_begin(struct flight *flight)
{
	op_row_reserve(&flight->ops.staged, flight->ops.nr_free);
	return (struct stager){
		.ops = flight->ops.ops,
		.free_top = flight->ops.free + flight->ops.nr_free,
		.place = op_row_end(&flight->ops.staged),
		.what = STAGE_NO_ROW,
	};
}

static always_inline void stage_end(struct flight *flight,
				    const struct stager *stager)
{
	uint32_t nr_free = (uint32_t)(stager->free_top - flight->ops.free);
	uint32_t nr = flight->ops.nr_free - nr_free;

	flight->ops.nr_free = nr_free;
	flight->ops.staged.nr += nr;
	flight->stats.ops += nr;
}

static always_inline uint64_t stage_what(const struct wrb_op *from)
{
	return op_what(from->local, from->remote, from->dir);
}

/*
 * Begins a row of operations that are this; false when there is no such region
 * or direction.
 */
static always_inline bool stage_row(const struct flight *flight,
				    struct stager *stager, uint64_t what)
{
	const struct region *local, *remote;

	local = region_get(&flight->regions, what_local(what), WRB_LOCAL);
	remote = region_get(&flight->regions, what_remote(what), WRB_REMOTE);
	if (unlikely(!local || !remote || what_dir(what) > WRB_READ))
		return false;
	stager->what = what & ~OP_READ;
	stager->addrs = (u64_pair){ local->addr, remote->addr };
	stager->bytes = (u64_pair){ local->length[WRB_LOCAL],
				    remote->length[WRB_REMOTE] };
	return true;
}

/* Why an operation is refused that does not lie within its regions. */
static cold int stage_refuse(const struct wrb_op *from)
{
	return from->length ? -ERANGE : -EINVAL;
}

static always_inline void stage(struct stager *stager,
				const struct wrb_op *from, uint64_t what,
				u64_pair offsets)
{
	uint32_t index = *--stager->free_top;
	struct op *op = &stager->ops[index];

	op->done.user = from->user;
	op->what = what;
	op->addrs = stager->addrs + offsets;
	op->length = from->length;
	*stager->place++ = index;
}

/* Begins a row of one; 0, or why it is refused. */
static always_inline int stage_check(const struct flight *flight,
				     struct stager *stager,
				     const struct wrb_op *from, uint64_t what,
				     u64_pair offsets)
{
	if (unlikely(!stage_row(flight, stager, what)))
		return -EINVAL;
	if (unlikely(!regions_hold(stager->bytes, offsets, from->length)))
		return stage_refuse(from);
	return 0;
}

/*
 * What an operation is told that cannot be taken now, for the reason err: that
 * it never can be, if so.
 */
static cold int stage_never(const struct flight *flight,
			    const struct wrb_op *from, int err)
{
	struct stager stager;
	int never = stage_check(flight, &stager, from, stage_what(from),
				op_offsets(from));

	return never ? never : err;
}

/* Stages the operations of [op, end); returns the first that it did not. */
static always_inline const struct wrb_op *
stage_all(const struct flight *flight, struct stager *stager,
	  const struct wrb_op *op, const struct wrb_op *end, int *err)
{
	for (; op != end; op++) {
		const uint64_t what = stage_what(op);
		const u64_pair offsets = op_offsets(op);

		if (unlikely((what & ~OP_READ) != stager->what) &&
		    unlikely(!stage_row(flight, stager, what))) {
			*err = -EINVAL;
			break;
		}
		if (unlikely(!regions_hold(stager->bytes, offsets,
					   op->length))) {
			*err = stage_refuse(op);
			break;
		}
		stage(stager, op, what, offsets);
	}
	return op;
}

wrb_export int wrb_addv(struct wrb_queue *queue, const struct wrb_op *ops,
			uint32_t nr)
{
	struct flight *flight = &queue->flight;
	struct stager stager = stage_begin(flight);
	const uint32_t room = flight->ops.nr_free;
	const struct wrb_op *end;
	int err = 0;

	if (unlikely(nr && !room))
		return stage_never(flight, ops, -EAGAIN);
	end = stage_all(flight, &stager, ops, ops + (nr < room ? nr : room),
			&err);
	stage_end(flight, &stager);
	return end != ops ? (int)(end - ops) : err;
}

/* wrb_addv() of one, without a loop. */
wrb_export int wrb_add(struct wrb_queue *queue, const struct wrb_op *op)
{
	struct flight *flight = &queue->flight;
	struct stager stager = stage_begin(flight);
	const uint64_t what = stage_what(op);
	const u64_pair offsets = op_offsets(op);
	int err;

	if (unlikely(!flight->ops.nr_free))
		return stage_never(flight, op, -EAGAIN);
	err = stage_check(flight, &stager, op, what, offsets);
	if (unlikely(err))
		return err;
	stage(&stager, op, what, offsets);
	stage_end(flight, &stager);
	return 0;
}

/* -- submit ------------------------------------------------------------- */

static always_inline struct plan plan_make(struct wrb_queue *queue,
					   struct plan_lane *room)
{
	return (struct plan){
		.rules = &queue->rules,
		.ops = queue->flight.ops.ops,
		.cuts = queue->flight.ops.cuts,
		.lanes = room,
		.run_segs = queue->run_segs,
		.piece_segs = queue->piece_segs,
		.lane = queue->first_lane,
		.next = op_row_begin(&queue->flight.ops.staged),
		.end = op_row_end(&queue->flight.ops.staged),
	};
}

/* Takes what was planned off those that are staged. */
static always_inline void plan_apply(struct wrb_queue *queue,
				     const struct plan *plan)
{
	struct wrb_stats *stats = &queue->flight.stats;
	struct op_row *staged = &queue->flight.ops.staged;

	op_row_drop(staged, (uint32_t)(plan->next - op_row_begin(staged)));
	stats->merged += plan->nr_merged;
	stats->chunked += plan->nr_cut;
	stats->chunks += plan->nr_pieces;
	if (likely(plan->stop == PLAN_ALL))
		return;
	stats->sq_stalls += plan->stop == PLAN_NO_SLOT;
	stats->read_stalls += plan->stop == PLAN_NO_READ;
	if (plan->open_bytes) {
		const uint32_t index = *plan->next;
		struct op_cut *cut = &queue->flight.ops.cuts[index];

		op_get(&queue->flight.ops, index)->what |= OP_OPEN;
		cut->nr_wrs++;
		cut->planned_bytes = plan->open_bytes;
		cut->pieces_left = plan->open_pieces;
	}
}

static void queue_sort(struct wrb_queue *queue)
{
	struct op_table *ops = &queue->flight.ops;

	plan_sort(ops->ops, op_row_begin(&ops->staged), ops->staged.nr,
		  queue->sort_items, queue->sort_items + ops->nr_ops);
}

/*
 * The loops of a submit. Each works on copies that only it knows, so that the
 * compiler keeps them in registers; merge is a constant in each.
 */

/* A row of runs that go out whole; returns how many slots it left. */
static always_inline uint32_t submit_whole(struct plan *plan, struct post *post,
					   uint32_t slots, const bool merge)
{
	struct plan_wr wr;

	while (slots) {
		const uint32_t nr = post_row(post, plan->lane, slots);
		uint32_t left = nr;

		while (left && plan_row_next(plan, &wr, merge)) {
			post_write(post, &wr);
			left--;
		}
		slots -= nr - left;
		if (left == nr || !post_written(post, nr - left) || left)
			break;
	}
	return slots;
}

/* Up to nr pieces of the run that is cut; returns how many there were. */
static always_inline uint32_t submit_cut(struct plan *plan, struct post *post,
					 uint32_t nr)
{
	struct plan_wr wr;

	nr = plan_row_pieces(plan, &wr, nr);
	if (unlikely(!nr))
		return 0;
	for (uint32_t n = nr; n; n--) {
		post_write(post, &wr);
		wr.seg.addr += wr.length;
		wr.remote_addr += wr.length;
	}
	post_count_cut(post->flight, &wr, nr);
	return nr;
}

/* A row of pieces of the next run; returns how many slots it left. */
static always_inline uint32_t submit_pieces(struct plan *plan,
					    struct post *post, uint32_t slots)
{
	if (!plan->run.pieces_left)
		plan_run_begin(plan);
	while (slots && plan->run.pieces_left) {
		const uint32_t nr = submit_cut(
			plan, post, post_row(post, plan->lane, slots));

		slots -= nr;
		if (!nr || !post_written(post, nr))
			break;
	}
	return slots;
}

static always_inline uint32_t submit_in_rows(struct wrb_queue *queue,
					     const bool merge)
{
	struct post post = post_begin(&queue->flight);
	struct plan plan = plan_make(queue, queue->flight.room);
	uint32_t slots, left;

	while (plan_row_begin(&plan)) {
		slots = plan.row_slots;
		left = slots;
		if (!plan.run.pieces_left)
			left = submit_whole(&plan, &post, slots, merge);
		if (left == slots)
			left = submit_pieces(&plan, &post, slots);
		plan_row_end(&plan, left);
	}
	post_leave_lane(&post);
	plan_end(&plan);
	plan_apply(queue, &plan);
	return plan.nr_wrs;
}

/* An operation goes out whole, on a lane that has room for it. */
static always_inline void submit_whole_op(struct flight *flight, uint32_t lane,
					  uint32_t index)
{
	const struct op *op = op_get(&flight->ops, index);
	struct plan_lane *room = &flight->room[lane];
	struct post post = post_begin(flight);
	struct plan_wr wr;

	room->slots--;
	room->reads -= op_is_read(op);
	plan_one(op, index, lane, &wr);
	post_add(&post, &wr);
	post_leave_lane(&post);
}

/*
 * One operation, whole, on the lane whose turn it is: what rows would make of
 * it, without a loop. False when it is not that simple.
 */
static always_inline bool submit_one(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;
	struct op_row *staged = &flight->ops.staged;
	const struct plan_lane *room = &flight->room[queue->first_lane];
	const uint32_t index = *op_row_begin(staged);
	const struct op *op = op_get(&flight->ops, index);

	if (staged->nr != 1 || op->length > queue->rules.cut_above ||
	    op->what & OP_OPEN || !plan_lane_takes(room, op_is_read(op)))
		return false;
	op_row_drop(staged, 1);
	submit_whole_op(flight, queue->first_lane, index);
	return true;
}

static noinline uint32_t submit_rows(struct wrb_queue *queue)
{
	return submit_in_rows(queue, false);
}

static noinline uint32_t submit_merged_rows(struct wrb_queue *queue)
{
	return submit_in_rows(queue, true);
}

/* A stripe policy that chooses a lane for each WR. */
static noinline uint32_t submit_wrs(struct wrb_queue *queue)
{
	struct post post = post_begin(&queue->flight);
	struct plan plan = plan_make(queue, queue->flight.room);
	struct plan_wr wr;

	while (plan_next(&plan, &wr))
		post_add(&post, &wr);
	post_leave_lane(&post);
	plan_end(&plan);
	plan_apply(queue, &plan);
	return plan.nr_wrs;
}

wrb_export int wrb_submit(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;
	uint32_t nr_wrs, untaken;

	if (!flight->ops.staged.nr)
		return 0;
	if (unlikely(!flight->nr_ready))
		return -ENOTCONN;
	if (queue->flags & WRB_SORT)
		queue_sort(queue);
	if (queue->rules.stripe != WRB_STRIPE_BATCH)
		nr_wrs = submit_wrs(queue);
	else if (submit_one(queue))
		nr_wrs = 1;
	else if (queue->rules.merge)
		nr_wrs = submit_merged_rows(queue);
	else
		nr_wrs = submit_rows(queue);
	if (likely(nr_wrs))
		queue->first_lane = plan_lane_after(queue->rules.nr_lanes,
						    queue->first_lane);
	untaken = post_all(flight);
	if (unlikely(flight->nr_broken))
		complete_broken(flight);
	return (int)(nr_wrs - untaken);
}

/* -- one operation on a lane of the caller's choice ----------------------- */

static int lane_refuse(const struct wrb_queue *queue, uint32_t lane,
		       const struct wrb_op *op)
{
	const struct flight *flight = &queue->flight;

	if (op->length > queue->rules.cut_above)
		return -EMSGSIZE;
	if (flight->lanes[lane].state != WRB_LANE_READY)
		return -ENOTCONN;
	if (!plan_lane_takes(&flight->room[lane], op->dir == WRB_READ))
		return -EAGAIN;
	return 0;
}

/* Adds an operation that is not staged with the others. */
static int add_alone(struct wrb_queue *queue, const struct wrb_op *op,
		     uint32_t *index)
{
	struct op_row *staged = &queue->flight.ops.staged;
	int err = wrb_add(queue, op);

	if (!err)
		*index = op_row_begin(staged)[--staged->nr];
	return err;
}

wrb_export int wrb_lane_post(struct wrb_queue *queue, uint32_t lane,
			     const struct wrb_op *op)
{
	struct flight *flight = &queue->flight;
	uint32_t index = 0;
	int err;

	if (lane >= flight->nr_lanes)
		return -EINVAL;
	err = lane_refuse(queue, lane, op);
	if (unlikely(err))
		return stage_never(flight, op, err);
	err = add_alone(queue, op, &index);
	if (err)
		return err;
	submit_whole_op(flight, lane, index);
	if (!post_all(flight))
		return 0;
	/* It was staged again, in front: there another lane would take it. */
	op_release(&flight->ops, op_row_pop(&flight->ops.staged));
	flight->stats.ops--;
	return -EIO;
}

/* -- dry run ------------------------------------------------------------ */

/* Collects the plan instead of posting it. */
struct dry_run {
	const struct flight *flight;
	struct wrb_plan_wr *wrs;
	uint32_t max;
	uint32_t nr;
	uint32_t lane_after; /* of the first WR that was not collected */
};

static void dry_add(struct dry_run *run, const struct plan_wr *wr)
{
	const struct flight *flight = run->flight;

	if (run->nr == run->max)
		run->lane_after = wr->lane;
	if (run->nr++ >= run->max)
		return;
	run->wrs[run->nr - 1] = (struct wrb_plan_wr){
		.lane = wr->lane,
		.dir = wr->read ? WRB_READ : WRB_WRITE,
		.nr_ops = wr->nr_ops,
		.nr_sges = wr->nr_segs,
		.length = wr->length,
		.remote_addr = wr->remote_addr,
		.rkey = flight->regions.regions[wr->remote].keys[wr->lane],
	};
}

/* Lanes that share their chain post it before another writes to it. */
static bool dry_hands_over(const struct dry_run *run, uint32_t nr, uint32_t i)
{
	uint32_t next = i + 1 < nr ? run->wrs[i + 1].lane : run->lane_after;

	return run->flight->nr_chains == 1 && next != run->wrs[i].lane;
}

/*
 * Marks which WRs of a lane end a chain and which are signalled. The plan has
 * nr_planned for it, maybe not all among the nr that were collected.
 */
static void dry_signal(const struct dry_run *run, uint32_t nr, uint32_t lane,
		       uint32_t nr_planned)
{
	const struct flight *flight = run->flight;
	uint32_t until = flight->lanes[lane].until_signal, chain = 0, seen = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct wrb_plan_wr *wr = &run->wrs[i];

		if (wr->lane != lane)
			continue;
		seen++;
		wr->chain_end = ++chain == flight->max_chain ||
				seen == nr_planned ||
				dry_hands_over(run, nr, i);
		wr->signalled = !--until || wr->chain_end;
		if (wr->signalled)
			until = flight->signal_interval;
		if (wr->chain_end)
			chain = 0;
	}
}

wrb_export int wrb_explain(struct wrb_queue *queue, struct wrb_plan_wr *wrs,
			   uint32_t max)
{
	struct flight *flight = &queue->flight;
	const struct op_row *staged = &flight->ops.staged;
	struct dry_run run = { flight, wrs, max, 0, PLAN_NO_LANE };
	struct plan_wr wr;
	struct plan plan;

	if (!staged->nr)
		return 0;
	if (!flight->nr_ready)
		return -ENOTCONN;
	if (queue->flags & WRB_SORT)
		queue_sort(queue);
	memcpy(queue->dry_room, flight->room,
	       flight->nr_lanes * sizeof(*flight->room));
	plan = plan_make(queue, queue->dry_room);
	while (plan_next(&plan, &wr))
		dry_add(&run, &wr);
	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		dry_signal(&run, run.nr < max ? run.nr : max, i,
			   flight->room[i].slots - queue->dry_room[i].slots);
	return (int)run.nr;
}
