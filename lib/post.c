// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Rings doorbells, and unwinds what a post did not take. */
#include "post.h"

#include <errno.h>

#include "drain.h"
#include "verbs_errno.h"

/*
 * How many WRs of a chain were taken: those before *bad. Without a bad_wr of
 * ours nobody knows, and all may have been: a provider whose doorbell fails
 * returns like that with every WR in its ring.
 */
static uint32_t post_taken(const struct lane *lane, uint32_t nr,
			   const struct ibv_send_wr *bad)
{
	if (bad < lane->wrs || bad >= lane->wrs + nr)
		return nr;
	return (uint32_t)(bad - lane->wrs);
}

/* Takes WRs that were not taken out of the lane's counters. */
static cold void post_uncount(struct lane *lane, const struct ibv_send_wr *wr,
			      uint32_t nr)
{
	for (; nr; nr--, wr++) {
		lane->signalled -= !!(wr->send_flags & IBV_SEND_SIGNALED);
		lane->extra_sges -= (uint32_t)wr->num_sge - 1;
		for (int i = 0; i < wr->num_sge; i++)
			lane->stats.bytes -= wr->sg_list[i].length;
	}
}

/* Returns how many WRs were taken. */
static cold uint32_t post_came_short(struct flight *flight, struct lane *lane,
				     uint32_t nr, const struct ibv_send_wr *bad,
				     int rc)
{
	uint32_t taken = post_taken(lane, nr, bad);

	rc = verbs_errno(rc);
	lane->post_errno = rc;
	lane->is_short = true;
	lane->short_from = lane->posted + taken;
	flight->nr_short++;
	flight->stats.short_posts++;
	flight->room[lane->index] = (struct plan_lane){ 0 };
	post_uncount(lane, lane->wrs + taken, nr - taken);
	errno = rc;
	log_line(&flight->log,
		 "lane %u: posting %u WRs failed, %u were taken: %m; in flight "
		 "%u of %u",
		 lane->index, nr, taken, (uint32_t)(lane->posted - lane->tail),
		 flight->slots);
	return taken;
}

void post_chain(struct flight *flight, struct lane *lane)
{
	uint32_t nr = lane_chain(lane);
	struct ibv_send_wr *last = &lane->wrs[nr - 1];
	struct ibv_send_wr *bad = NULL;
	uint32_t taken = nr, inflight;
	int rc;

	if (!(last->send_flags & IBV_SEND_SIGNALED)) {
		last->send_flags |= IBV_SEND_SIGNALED;
		lane->until_signal = flight->signal_interval;
		lane->signalled++;
	}
	last->next = NULL;
	rc = ibv_post_send(lane->qp, lane->wrs, &bad);
	last->next = last + 1;
	lane->stats.doorbells++;
	if (unlikely(rc))
		taken = post_came_short(flight, lane, nr, bad, rc);
	inflight = (uint32_t)(lane->posted - lane->tail) + taken;
	if (inflight > lane->stats.max_inflight)
		lane->stats.max_inflight = inflight;
	lane->stats.wrs += taken;
	lane->posted = lane->head;
	lane->next_wr = lane->wrs;
}

static void count_cut(struct flight *flight, uint32_t index, uint32_t nr)
{
	struct op *op = op_get(&flight->ops, index);
	struct op_cut *cut = &flight->ops.cuts[index];

	if (!(op->what & OP_CUT)) {
		*cut = (struct op_cut){ 0 };
		op->what |= OP_CUT;
	}
	if (op->what & OP_OPEN) {
		op->what &= ~OP_OPEN;
		cut->nr_wrs--;
	}
	cut->nr_wrs += nr;
	cut->nr_planned += nr;
}

void post_count_cut(struct flight *flight, const struct plan_wr *plan,
		    uint32_t nr)
{
	uint32_t index = plan->first_op;

	for (uint32_t n = plan->nr_ops; n; n--) {
		count_cut(flight, index, nr);
		index = op_get(&flight->ops, index)->next;
	}
}

/* Takes a WR that was not taken off the accounts of its operations. */
static void settle_uncount(struct flight *flight, const struct lane_wr *wr)
{
	uint32_t index = wr->first_op;

	for (uint32_t n = lane_wr_nr_ops(wr); n; n--) {
		const struct op *op = op_get(&flight->ops, index);
		struct op_cut *cut = &flight->ops.cuts[index];

		if (op->what & OP_CUT) {
			cut->nr_wrs--;
			cut->nr_planned--;
		}
		index = op->next;
	}
}

/* Collects the operations of a WR that were not yet, in order. */
static uint32_t settle_collect(struct flight *flight, const struct lane *lane,
			       const struct lane_wr *wr, uint32_t nr)
{
	uint32_t index = wr->first_op;

	for (uint32_t n = lane_wr_nr_ops(wr); n; n--) {
		struct op *op = op_get(&flight->ops, index);

		if (!(op->what & OP_SETTLED)) {
			op->what |= OP_SETTLED;
			if (!op_failed(op))
				op->done.lane = lane->index;
			flight->scratch[nr++] = index;
		}
		index = op->next;
	}
	return nr;
}

static void settle_restage(struct flight *flight, uint32_t index)
{
	struct op *op = op_get(&flight->ops, index);
	bool listed = op->what & OP_OPEN; /* it never left the row */

	op->what &= ~OP_STATE;
	if (listed)
		return;
	op_row_push_front(&flight->ops.staged, index);
}

/* Part of it was taken: it cannot be sent again, so it fails. */
static void settle_fail(struct flight *flight, uint32_t index)
{
	struct op *op = op_get(&flight->ops, index);

	op->what &= ~OP_SETTLED;
	if (op->what & OP_OPEN && !op_failed(op))
		flight->nr_broken++;
	op_fail(op, IBV_WC_GENERAL_ERR, 0, op->done.lane);
	if (!flight->ops.cuts[index].nr_wrs)
		flight_finish(flight, index);
}

static void settle_ops(struct flight *flight, uint32_t nr)
{
	while (nr--) {
		uint32_t index = flight->scratch[nr];

		if (op_get(&flight->ops, index)->what & OP_CUT &&
		    flight->ops.cuts[index].nr_planned)
			settle_fail(flight, index);
		else
			settle_restage(flight, index);
	}
}

static void settle_lane(struct flight *flight, struct lane *lane)
{
	lane->head = lane->short_from;
	lane->posted = lane->short_from;
	lane->is_short = false;
	drain_begin(flight, lane);
}

uint32_t post_settle(struct flight *flight)
{
	uint32_t nr = 0, untaken = 0;

	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		struct lane *lane = &flight->lanes[i];

		if (!lane->is_short)
			continue;
		for (uint64_t s = lane->short_from; s < lane->head; s++)
			settle_uncount(flight, lane_entry(lane, s));
		untaken += (uint32_t)(lane->head - lane->short_from);
	}
	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		struct lane *lane = &flight->lanes[i];

		if (!lane->is_short)
			continue;
		for (uint64_t s = lane->short_from; s < lane->head; s++)
			nr = settle_collect(flight, lane, lane_entry(lane, s),
					    nr);
		settle_lane(flight, lane);
	}
	flight->nr_short = 0;
	settle_ops(flight, nr);
	drain_progress(flight);
	return untaken;
}
