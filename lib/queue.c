// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The life of a queue; joins the stages. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "complete.h"
#include "drain.h"
#include "post.h"

#define DEFAULT_CHAIN 128

#define STR(x)			     #x
#define VERSION(major, minor, patch) STR(major) "." STR(minor) "." STR(patch)

wrb_export const char *wrb_version(void)
{
	return VERSION(WRB_VERSION_MAJOR, WRB_VERSION_MINOR, WRB_VERSION_PATCH);
}

wrb_export void(wrb_attr_init)(struct wrb_attr *attr, size_t size)
{
	memset(attr, 0, size);
	attr->size = size;
}

/* -- create ------------------------------------------------------------- */

static int qp_error_verbs(void *arg, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)arg;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* Brings a caller's attr, maybe of an older release, to this one's size. */
static int attr_read(const struct wrb_attr *attr, struct wrb_attr *full)
{
	size_t least = offsetof(struct wrb_attr, qp_error_arg) +
		       sizeof(attr->qp_error_arg);

	if (!attr || attr->size < least || attr->size > sizeof(*full))
		return -EINVAL;
	memset(full, 0, sizeof(*full));
	memcpy(full, attr, attr->size);
	return 0;
}

static bool attr_has_lanes(const struct wrb_attr *attr)
{
	if (!attr->qps || !attr->cq || !attr->nr_qps ||
	    attr->nr_qps > WRB_MAX_LANES)
		return false;
	for (uint32_t i = 0; i < attr->nr_qps; i++)
		if (!attr->qps[i])
			return false;
	return true;
}

static int attr_check(const struct wrb_attr *attr)
{
	const struct wrb_limits *limits = &attr->limits;

	if (!attr_has_lanes(attr))
		return -EINVAL;
	if (!attr->max_ops || attr->max_ops > WRB_MAX_OPS)
		return -EINVAL;
	if (limits->max_send_wr < 2 || limits->max_send_wr > INT32_MAX ||
	    !limits->max_send_sge || !limits->max_msg_bytes)
		return -EINVAL;
	if (attr->flags & ~(uint32_t)(WRB_MERGE | WRB_SORT) ||
	    (uint32_t)attr->stripe > WRB_STRIPE_OFFSET)
		return -EINVAL;
	if (attr->max_sge > limits->max_send_sge || attr->max_sge > WRB_MAX_SGE)
		return -E2BIG;
	if ((uint64_t)limits->max_send_wr * attr->nr_qps > limits->max_cqe)
		return -ENOSPC;
	return 0;
}

static uint32_t min_nonzero(uint32_t asked, uint32_t cap)
{
	return asked && asked < cap ? asked : cap;
}

static void rules_set(struct plan_rules *rules, const struct wrb_attr *attr)
{
	uint32_t sge = attr->limits.max_send_sge;
	uint32_t msg = attr->limits.max_msg_bytes;

	*rules = (struct plan_rules){
		.nr_lanes = attr->nr_qps,
		.max_sge = attr->max_sge ? attr->max_sge
					 : min_nonzero(sge, WRB_MAX_SGE),
		.max_msg_bytes = msg,
		.chunk_bytes = attr->chunk_bytes,
		.max_chunks = attr->max_chunks,
		.cut_above = min_nonzero(attr->chunk_bytes, msg),
		.stripe = attr->stripe,
		.merge = attr->flags & WRB_MERGE,
	};
}

static void flight_set(struct flight *flight, const struct wrb_attr *attr)
{
	uint32_t slots = attr->limits.max_send_wr - 1;

	flight->cq = attr->cq;
	flight->slots = slots;
	flight->read_depth = min_nonzero(attr->read_depth, slots);
	flight->max_chain = min_nonzero(
		attr->max_chain ? attr->max_chain : DEFAULT_CHAIN, slots);
	flight->signal_interval =
		attr->signal_interval ? attr->signal_interval : UINT32_MAX;
	flight->max_inline = attr->limits.max_inline;
	flight->qp_error = attr->qp_error ? attr->qp_error : qp_error_verbs;
	flight->qp_error_arg = attr->qp_error_arg;
	flight->log = (struct log){ attr->log, attr->log_arg };
}

static int lanes_init(struct wrb_queue *queue, const struct wrb_attr *attr)
{
	struct flight *flight = &queue->flight;

	flight->lanes = aligned_alloc(64, attr->nr_qps * sizeof(struct lane));
	if (!flight->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < attr->nr_qps; i++) {
		int err = lane_init(&flight->lanes[i], i, attr->qps[i],
				    flight->slots, flight->max_chain,
				    queue->rules.max_sge);

		if (err)
			return err;
		flight->nr_lanes = i + 1;
		flight_lane_ready(flight, i);
	}
	return 0;
}

static int scratch_init(struct wrb_queue *queue, const struct wrb_attr *attr)
{
	struct flight *flight = &queue->flight;
	uint32_t sge = queue->rules.max_sge;

	queue->run_segs = calloc(sge, sizeof(*queue->run_segs));
	queue->piece_segs = calloc(sge, sizeof(*queue->piece_segs));
	queue->dry_room = calloc(attr->nr_qps, sizeof(*queue->dry_room));
	flight->room = calloc(attr->nr_qps, sizeof(*flight->room));
	flight->dirty = calloc(attr->nr_qps, sizeof(*flight->dirty));
	flight->scratch = calloc(attr->max_ops, sizeof(*flight->scratch));
	if (!queue->run_segs || !queue->piece_segs || !queue->dry_room ||
	    !flight->room || !flight->dirty || !flight->scratch)
		return -ENOMEM;
	if (!(attr->flags & WRB_SORT))
		return 0;
	queue->sort_items =
		calloc(attr->max_ops, 2 * sizeof(*queue->sort_items));
	return queue->sort_items ? 0 : -ENOMEM;
}

wrb_export int wrb_queue_create(const struct wrb_attr *user_attr,
				struct wrb_queue **out)
{
	struct wrb_queue *queue;
	struct wrb_attr attr;
	int err = attr_read(user_attr, &attr);

	if (!err)
		err = out ? attr_check(&attr) : -EINVAL;
	if (err)
		return err;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->flags = attr.flags;
	rules_set(&queue->rules, &attr);
	flight_set(&queue->flight, &attr);
	err = scratch_init(queue, &attr);
	if (!err)
		err = op_table_init(&queue->flight.ops, attr.max_ops);
	if (!err)
		err = region_table_init(&queue->flight.regions, attr.nr_qps);
	if (!err)
		err = lanes_init(queue, &attr);
	if (err) {
		wrb_queue_destroy(queue);
		return err;
	}
	*out = queue;
	return 0;
}

wrb_export void wrb_queue_destroy(struct wrb_queue *queue)
{
	struct flight *flight;

	if (!queue)
		return;
	flight = &queue->flight;
	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		lane_free(&flight->lanes[i]);
	free(flight->lanes);
	free(flight->room);
	free(flight->dirty);
	free(flight->scratch);
	op_table_free(&flight->ops);
	region_table_free(&flight->regions);
	free(queue->run_segs);
	free(queue->piece_segs);
	free(queue->sort_items);
	free(queue->dry_room);
	free(queue);
}

/* -- regions ------------------------------------------------------------ */

static bool queue_busy(const struct wrb_queue *queue)
{
	return queue->flight.ops.nr_free != queue->flight.ops.nr_ops;
}

wrb_export int wrb_region_add(struct wrb_queue *queue,
			      const struct wrb_region *region)
{
	return region_add(&queue->flight.regions, region);
}

wrb_export int wrb_region_remove(struct wrb_queue *queue, int region)
{
	if (!region_exists(&queue->flight.regions, region))
		return -EINVAL;
	if (queue_busy(queue))
		return -EBUSY;
	region_remove(&queue->flight.regions, region);
	return 0;
}

wrb_export int wrb_region_rekey(struct wrb_queue *queue, int region,
				uint32_t lane, uint32_t key)
{
	struct flight *flight = &queue->flight;

	if (!region_exists(&flight->regions, region) ||
	    lane >= flight->nr_lanes)
		return -EINVAL;
	if (flight->lanes[lane].state == WRB_LANE_READY && queue_busy(queue))
		return -EBUSY;
	flight->regions.regions[region].keys[lane] = key;
	return 0;
}

/* -- add ---------------------------------------------------------------- */

/* Both region ids of an operation, to be compared at once. */
static always_inline uint32_t op_regions(const struct wrb_op *op)
{
	return op->local | (uint32_t)op->remote << 16;
}

/*
 * Operations between the same two regions are staged in a row, for which this
 * holds what they share; the op table's moving parts are beside it.
 */
struct stager {
	uint32_t *free_top; /* above the next that is free */
	uint32_t *place;    /* of the next among those staged */
	uint32_t regions;
	uint64_t what; /* of a WRITE between them */
	uint64_t local_addr, local_bytes;
	uint64_t remote_addr, remote_bytes;
};

static always_inline struct stager stage_begin(struct flight *flight)
{
	op_row_reserve(&flight->ops.staged, flight->ops.nr_free);
	return (struct stager){
		.free_top = flight->ops.free + flight->ops.nr_free,
		.place = op_row_end(&flight->ops.staged),
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

/* Begins a row of operations like this one; false when it has no regions. */
static always_inline bool stage_row(const struct flight *flight,
				    struct stager *stager,
				    const struct wrb_op *from)
{
	const struct region *local, *remote;

	local = region_get(&flight->regions, from->local, WRB_LOCAL);
	remote = region_get(&flight->regions, from->remote, WRB_REMOTE);
	if (unlikely(!local || !remote))
		return false;
	stager->regions = op_regions(from);
	stager->what = op_what(from->local, from->remote, WRB_WRITE);
	stager->local_addr = local->addr;
	stager->local_bytes = local->length[WRB_LOCAL];
	stager->remote_addr = remote->addr;
	stager->remote_bytes = remote->length[WRB_REMOTE];
	return true;
}

/* At least one byte, within both regions, in a direction that there is. */
static always_inline bool stage_valid(const struct stager *stager,
				      const struct wrb_op *from)
{
	return region_holds(stager->local_bytes, from->local_offset,
			    from->length) &&
	       region_holds(stager->remote_bytes, from->remote_offset,
			    from->length) &&
	       (uint32_t)from->dir <= WRB_READ;
}

/* Why an operation between two regions that exist is not. */
static cold int stage_refuse(const struct wrb_op *from)
{
	if (!from->length || (uint32_t)from->dir > WRB_READ)
		return -EINVAL;
	return -ERANGE;
}

static always_inline void stage(const struct flight *flight,
				struct stager *stager,
				const struct wrb_op *from)
{
	uint32_t index = *--stager->free_top;
	struct op *op = op_get(&flight->ops, index);

	op->done.user = from->user;
	op->done.error = 0;
	op->what = stager->what | (uint64_t)from->dir << OP_DIR_SHIFT;
	op->local_addr = stager->local_addr + from->local_offset;
	op->remote_addr = stager->remote_addr + from->remote_offset;
	op->length = from->length;
	*stager->place++ = index;
}

/* Without any room: what an operation would be told with some, else so. */
static cold int stage_full(const struct flight *flight,
			   const struct wrb_op *from)
{
	struct stager stager;

	if (!stage_row(flight, &stager, from))
		return -EINVAL;
	return stage_valid(&stager, from) ? -EAGAIN : stage_refuse(from);
}

wrb_export int wrb_addv(struct wrb_queue *queue, const struct wrb_op *ops,
			uint32_t nr)
{
	struct flight *flight = &queue->flight;
	struct stager stager = stage_begin(flight);
	const uint32_t room = flight->ops.nr_free;
	const struct wrb_op *op = ops, *const end =
					       ops + (nr < room ? nr : room);
	int err = 0;

	if (unlikely(nr && !room))
		return stage_full(flight, ops);
	while (op != end && !err) {
		if (unlikely(!stage_row(flight, &stager, op))) {
			err = -EINVAL;
			break;
		}
		do {
			if (unlikely(!stage_valid(&stager, op))) {
				err = stage_refuse(op);
				break;
			}
			stage(flight, &stager, op);
		} while (++op != end && op_regions(op) == stager.regions);
	}
	stage_end(flight, &stager);
	return op != ops ? (int)(op - ops) : err;
}

wrb_export int wrb_add(struct wrb_queue *queue, const struct wrb_op *op)
{
	int nr = wrb_addv(queue, op, 1);

	return nr == 1 ? 0 : nr;
}

wrb_export uint32_t wrb_room(const struct wrb_queue *queue)
{
	return queue->flight.ops.nr_free;
}

wrb_export uint32_t wrb_staged(const struct wrb_queue *queue)
{
	return queue->flight.ops.staged.nr;
}

wrb_export uint32_t wrb_inflight(const struct wrb_queue *queue)
{
	const struct op_table *ops = &queue->flight.ops;

	return ops->nr_ops - ops->nr_free - ops->staged.nr;
}

/* -- staged, and failed in part ------------------------------------------ */

/* Takes an operation that was staged for the rest of its WRs off its row. */
static void broken_end(struct flight *flight, uint32_t index)
{
	struct op *op = op_get(&flight->ops, index);

	if (op->what & OP_OPEN && --flight->ops.cuts[index].nr_wrs) {
		op->what &= ~OP_OPEN;
		return;
	}
	flight_finish(flight, index);
}

/*
 * Ends the staged operations that have failed in part. To be called where WRs
 * may have failed, so that none of them is staged between two calls.
 */
static cold void broken_purge(struct flight *flight)
{
	struct op_row *staged = &flight->ops.staged;

	for (uint32_t n = staged->nr; n; n--) {
		uint32_t index = op_row_pop(staged);

		if (!op_get(&flight->ops, index)->done.error)
			op_row_push(staged, index);
		else
			broken_end(flight, index);
	}
	flight->nr_broken = 0;
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
		broken_purge(flight);
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
	if (!err)
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

/* -- poll --------------------------------------------------------------- */

wrb_export int wrb_poll(struct wrb_queue *queue, struct wrb_done *done,
			uint32_t max)
{
	struct flight *flight = &queue->flight;
	int nr;

	if (unlikely(!max))
		return -EINVAL;
	nr = complete_poll(flight, done, max);
	if (unlikely(flight->nr_broken))
		broken_purge(flight);
	return nr;
}

/* -- failure ------------------------------------------------------------ */

wrb_export int wrb_lane_state(const struct wrb_queue *queue, uint32_t index,
			      struct wrb_lane_info *info)
{
	const struct lane *lane;

	if (index >= queue->flight.nr_lanes)
		return -EINVAL;
	lane = &queue->flight.lanes[index];
	*info = (struct wrb_lane_info){
		.state = lane->state,
		.qp = lane->qp,
		.inflight = lane_inflight(lane) - lane->marker,
		.slots = queue->flight.slots,
		.first_status = lane->first_status,
		.first_vendor_err = lane->first_vendor_err,
		.first_dir = lane->first_dir,
		.post_errno = lane->post_errno,
	};
	return 0;
}

wrb_export int wrb_lane_replace(struct wrb_queue *queue, uint32_t index,
				struct ibv_qp *qp)
{
	struct flight *flight = &queue->flight;
	struct lane *lane;

	if (index >= flight->nr_lanes)
		return -EINVAL;
	lane = &flight->lanes[index];
	if (lane->state == WRB_LANE_READY)
		return -EBUSY;
	complete_lost(flight, lane);
	if (flight->nr_broken)
		broken_purge(flight);
	flight->nr_draining -= lane->state == WRB_LANE_DRAINING;
	lane_renew(lane, qp);
	if (!qp)
		return 0;
	flight_lane_ready(flight, index);
	return 0;
}

wrb_export void wrb_abort(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;
	struct op_row *staged = &flight->ops.staged;

	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		drain_begin(flight, &flight->lanes[i]);
	drain_progress(flight);
	while (staged->nr) {
		uint32_t index = op_row_pop(staged);

		op_fail(op_get(&flight->ops, index), IBV_WC_WR_FLUSH_ERR, 0, 0);
		broken_end(flight, index);
	}
	flight->nr_broken = 0;
}

/* -- observation -------------------------------------------------------- */

wrb_export void wrb_stats_get(const struct wrb_queue *queue,
			      struct wrb_stats *stats)
{
	const struct flight *flight = &queue->flight;

	*stats = flight->stats;
	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		const struct lane *lane = &flight->lanes[i];

		stats->bytes += lane->stats.bytes;
		stats->wrs += lane->stats.wrs;
		stats->sges += lane->stats.wrs + lane->extra_sges;
		stats->signalled += lane->signalled;
		stats->doorbells += lane->stats.doorbells;
	}
}

wrb_export int wrb_lane_stats_get(const struct wrb_queue *queue, uint32_t index,
				  struct wrb_lane_stats *stats)
{
	if (index >= queue->flight.nr_lanes)
		return -EINVAL;
	*stats = queue->flight.lanes[index].stats;
	return 0;
}

wrb_export void wrb_stats_reset(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;

	memset(&flight->stats, 0, sizeof(flight->stats));
	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		struct lane *lane = &flight->lanes[i];

		memset(&lane->stats, 0, sizeof(lane->stats));
		lane->extra_sges = 0;
		lane->signalled = 0;
	}
}

/* -- dry run ------------------------------------------------------------ */

/* Collects the plan instead of posting it. */
struct dry_run {
	const struct flight *flight;
	struct wrb_plan_wr *wrs;
	uint32_t max;
	uint32_t nr;
};

static void dry_add(struct dry_run *run, const struct plan_wr *wr)
{
	const struct flight *flight = run->flight;

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
		wr->chain_end =
			++chain == flight->max_chain || seen == nr_planned;
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
	struct dry_run run = { flight, wrs, max, 0 };
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
