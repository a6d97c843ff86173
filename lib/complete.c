// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Polls the CQ, retires WRs by serial, turns CQEs into ended operations. */
#include "complete.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "drain.h"

#define POLL_BATCH 16

/* Where ended operations go: to the caller while there is room. */
struct sink {
	struct wrb_done *next;
	uint32_t room;
};

/* How the operations of a WR that is retired fare. */
struct fate {
	enum ibv_wc_status status;
	uint32_t vendor_err;
};

static always_inline void hand_back(struct flight *flight, struct sink *sink,
				    uint32_t index)
{
	const struct op *op = op_get(&flight->ops, index);

	*sink->next++ = op->done;
	sink->room--;
	flight->stats.failed += op->done.error != 0;
	op_release(&flight->ops, index);
}

static void op_ended(struct flight *flight, struct sink *sink, uint32_t index)
{
	if (sink->room)
		hand_back(flight, sink, index);
	else
		flight_finish(flight, index);
}

/* An operation in several WRs has one less to wait for: was it the last? */
static always_inline bool cut_retire(struct flight *flight, uint32_t index)
{
	return --flight->ops.cuts[index].nr_wrs == 0;
}

/* All but user of the end of an operation that did not fail. */
#define DONE_REST offsetof(struct wrb_done, error)

static_assert(sizeof(struct wrb_done) - DONE_REST == sizeof(u32_quad) &&
		      sizeof(struct wrb_done) - sizeof(uint32_t) ==
			      offsetof(struct wrb_done, lane),
	      "it is written at once, and ends with the lane");

static always_inline u32_quad done_ok(uint32_t lane)
{
	return (u32_quad){ 0, 0, 0, lane };
}

static always_inline void done_write(struct wrb_done *done, void *user,
				     u32_quad rest)
{
	done->user = user;
	memcpy((char *)done + DONE_REST, &rest, sizeof(rest));
}

/* An operation ended, and there is no room in the sink: a later poll's. */
static cold void op_park(struct flight *flight, uint32_t index, uint32_t lane)
{
	struct op *op = op_get(&flight->ops, index);

	if (!op_failed(op))
		done_write(&op->done, op->done.user, done_ok(lane));
	flight_finish(flight, index);
}

/*
 * The operation after another in the WR of both. Mostly it lies as far from it
 * as that did from the one before: then the processor need not wait for the
 * link to be read. The asm keeps the compiler from making that one again.
 */
static always_inline uint32_t op_next(const struct op *op, uint32_t index,
				      uint32_t *step)
{
	uint32_t next = op->next;

	if (likely(next == index + *step))
		return index + *step;
	*step = next - index;
	__asm__ volatile("" : "+r"(next));
	return next;
}

/* What retiring WRs of a lane adds to, by value. */
struct retiring {
	struct op *ops;
	uint32_t *free;
	struct wrb_done *done;
	uint32_t room; /* in done */
	uint32_t lane;
	u32_quad ok;
};

/* nr operations from index on end, all in one WR, and there is room for them. */
static always_inline void end_whole(struct retiring *to, uint32_t index,
				    uint32_t nr, uint32_t *step)
{
	to->room -= nr;
	for (;;) {
		const struct op *op = &to->ops[index];

		done_write(to->done++, op->done.user, to->ok);
		*to->free++ = index;
		if (!--nr)
			return;
		index = op_next(op, index, step);
	}
}

/* A WR of an operation has moved its bytes. */
static always_inline void retire_op(struct flight *flight, struct retiring *to,
				    uint32_t index, bool cut)
{
	const struct op *op = &to->ops[index];

	if (cut && !cut_retire(flight, index))
		return;
	if (unlikely(!to->room)) {
		op_park(flight, index, to->lane);
		return;
	}
	to->room--;
	done_write(to->done++, op->done.user, to->ok);
	*to->free++ = index;
	if (unlikely(cut && op_failed(op))) { /* in another of its WRs */
		to->done[-1] = op->done;
		flight->stats.failed++;
	}
}

/* The operations of a WR, where end_whole() will not do; the marker has none. */
static always_inline void retire_each(struct flight *flight,
				      struct retiring *to,
				      const struct lane_wr *wr)
{
	uint32_t index = wr->first_op;

	for (uint32_t nr = lane_wr_nr_ops(wr); nr; nr--) {
		uint32_t next = to->ops[index].next;

		retire_op(flight, to, index, lane_wr_cut(wr));
		index = next;
	}
}

/* Retires nr WRs that lie in a row in the ledger; returns how many READs. */
static always_inline uint32_t retire_row(struct flight *flight,
					 struct retiring *to,
					 const struct lane_wr *wr, uint32_t nr)
{
	const struct lane_wr *const end = wr + nr;
	uint32_t reads = 0, step = 1;

	for (; wr != end; wr++) {
		const uint32_t nr_whole = lane_wr_whole_ops(wr);

		reads += lane_wr_reads(wr);
		if (likely(nr_whole - 1 < to->room))
			end_whole(to, wr->first_op, nr_whole, &step);
		else
			retire_each(flight, to, wr);
	}
	return reads;
}

/*
 * Retires the WRs of [serial, end), which have moved their bytes. Returns how
 * many of them were READs.
 */
static always_inline uint32_t retire_ok(struct flight *flight,
					struct sink *sink,
					const struct lane *lane,
					uint64_t serial, uint64_t end)
{
	struct retiring to = {
		.ops = flight->ops.ops,
		.free = flight->ops.free + flight->ops.nr_free,
		.done = sink->next,
		.room = sink->room,
		.ok = done_ok(lane->index),
		.lane = lane->index,
	};
	uint32_t reads = 0;

	if (end - serial == 1) /* mostly, where batches are short */
		reads = retire_row(flight, &to, lane_entry(lane, serial++), 1);
	while (serial != end) {
		const uint32_t nr = lane_row(lane, serial, end);

		reads += retire_row(flight, &to, lane_entry(lane, serial), nr);
		serial += nr;
	}
	flight->ops.nr_free = (uint32_t)(to.free - flight->ops.free);
	sink->next = to.done;
	sink->room = to.room;
	return reads;
}

static cold void retire_failed(struct flight *flight, struct sink *sink,
			       const struct lane_wr *wr, uint32_t lane,
			       const struct fate *fate)
{
	uint32_t index = wr->first_op;

	for (uint32_t n = lane_wr_nr_ops(wr); n; n--) {
		struct op *op = op_get(&flight->ops, index);
		uint32_t next = op->next;

		if (op->what & OP_OPEN && !op_failed(op))
			flight->nr_broken++;
		op_fail(op, fate->status, fate->vendor_err, lane);
		if (!(op->what & OP_CUT) || cut_retire(flight, index))
			op_ended(flight, sink, index);
		index = next;
	}
}

/* Retires the WRs of [tail, end), all of them done. */
static always_inline void retire_upto(struct flight *flight, struct sink *sink,
				      struct lane *lane, uint64_t end)
{
	struct plan_lane *room = &flight->room[lane->index];
	uint32_t reads = retire_ok(flight, sink, lane, lane->tail, end);

	if (likely(room->ready)) {
		room->slots += (uint32_t)(end - lane->tail);
		room->reads += reads;
	}
	lane->tail = end;
}

/* Retires the WRs of [tail, end) as flushed. */
static cold void retire_flushed(struct flight *flight, struct sink *sink,
				struct lane *lane, uint64_t end)
{
	const struct fate fate = { .status = IBV_WC_WR_FLUSH_ERR };

	for (; lane->tail != end; lane->tail++)
		retire_failed(flight, sink, lane_entry(lane, lane->tail),
			      lane->index, &fate);
}

static void lane_note_failure(struct flight *flight, struct lane *lane,
			      const struct ibv_wc *wc, const struct lane_wr *wr)
{
	bool flush = wc->status == IBV_WC_WR_FLUSH_ERR;

	flight->stats.flushes += flush;
	if (lane->first_status != IBV_WC_SUCCESS &&
	    (flush || lane->first_status != IBV_WC_WR_FLUSH_ERR))
		return;
	lane->first_status = wc->status;
	lane->first_vendor_err = wc->vendor_err;
	lane->first_dir = lane_wr_reads(wr) ? WRB_READ : WRB_WRITE;
	if (!flush)
		log_line(&flight->log, "lane %u: %s failed: %s (vendor 0x%x)",
			 lane->index, dir_name(lane->first_dir),
			 ibv_wc_status_str(wc->status), wc->vendor_err);
}

/*
 * WRs without a CQE before one that failed. They have succeeded if this is the
 * first failure, since a WR that fails always has a CQE; unless it is a flush
 * and nobody moved the QP, for then the failure's own CQE was lost. After the
 * first failure, and before the marker, they were never executed.
 */
static cold void retire_gap(struct flight *flight, struct sink *sink,
			    struct lane *lane, const struct ibv_wc *wc,
			    uint64_t serial)
{
	bool flushed = lane->first_status != IBV_WC_SUCCESS;

	if (wc->status == IBV_WC_WR_FLUSH_ERR && !lane->moved)
		flushed = true;
	if (!lane_wr_nr_ops(lane_entry(lane, serial)))
		flushed = true;
	if (flushed)
		retire_flushed(flight, sink, lane, serial);
	else
		retire_upto(flight, sink, lane, serial);
}

/* A CQE of a lane that fails or has failed. */
static cold void wr_failed(struct flight *flight, struct sink *sink,
			   struct lane *lane, const struct ibv_wc *wc,
			   uint64_t serial)
{
	const struct lane_wr wr = *lane_entry(lane, serial);
	const struct fate fate = { wc->status, wc->vendor_err };

	retire_gap(flight, sink, lane, wc, serial);
	if (wc->status == IBV_WC_SUCCESS) {
		retire_ok(flight, sink, lane, serial, serial + 1);
	} else if (lane_wr_nr_ops(&wr)) {
		lane_note_failure(flight, lane, wc, &wr);
		retire_failed(flight, sink, &wr, lane->index, &fate);
	}
	lane->marker &= lane_wr_nr_ops(&wr) != 0;
	lane->tail++;
	drain_begin(flight, lane);
}

/* The serial's WR is in flight: returns true and the serial at full width. */
static always_inline bool serial_find(const struct lane *lane, uint64_t wr_id,
				      uint64_t *serial)
{
	uint64_t ahead = (wr_id_serial(wr_id) - lane->tail) & WR_ID_SERIAL_MASK;

	*serial = lane->tail + ahead;
	return likely(ahead < lane->head - lane->tail);
}

static always_inline void cqe_handle(struct flight *flight, struct sink *sink,
				     const struct ibv_wc *wc)
{
	uint32_t index = wr_id_lane(wc->wr_id);
	struct lane *lane = &flight->lanes[index];
	uint64_t serial;

	if (unlikely(index >= flight->nr_lanes ||
		     !serial_find(lane, wc->wr_id, &serial))) {
		flight->stats.stale++;
		return;
	}
	if (unlikely(wc->status != IBV_WC_SUCCESS ||
		     lane->state != WRB_LANE_READY)) {
		wr_failed(flight, sink, lane, wc, serial);
		return;
	}
	retire_upto(flight, sink, lane, serial + 1);
}

/* Hands back what ended earlier and found no room. */
static void sink_drain(struct flight *flight, struct sink *sink)
{
	while (flight->ops.done.nr && sink->room) {
		hand_back(flight, sink,
			  op_list_pop(&flight->ops, &flight->ops.done));
	}
}

static cold void cq_fail(struct flight *flight, int rc)
{
	if (!flight->cq_failed)
		log_line(&flight->log, "polling the CQ failed: %d", rc);
	flight->cq_failed = true;
	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		drain_begin(flight, &flight->lanes[i]);
}

/* Returns how many CQEs there were, or a negative number. */
static always_inline int cq_poll(struct flight *flight, struct sink *sink)
{
	struct ibv_wc wc[POLL_BATCH];
	int nr = ibv_poll_cq(flight->cq, POLL_BATCH, wc);

	for (int i = 0; i < nr; i++)
		cqe_handle(flight, sink, &wc[i]);
	if (likely(nr >= 0))
		flight->stats.cqes += (uint32_t)nr;
	return nr;
}

int complete_poll(struct flight *flight, struct wrb_done *done, uint32_t max)
{
	const uint32_t room = max < WRB_MAX_OPS ? max : WRB_MAX_OPS;
	struct sink sink = { done, room };
	int nr = POLL_BATCH;
	uint32_t ended;

	if (unlikely(flight->ops.done.nr))
		sink_drain(flight, &sink);
	while (nr == POLL_BATCH && sink.room)
		nr = cq_poll(flight, &sink);
	if (unlikely(nr < 0))
		cq_fail(flight, nr);
	if (unlikely(flight->nr_draining))
		drain_progress(flight);
	ended = room - sink.room;
	flight->stats.done += ended;
	return ended || nr >= 0 ? (int)ended : -EIO;
}

void complete_lost(struct flight *flight, struct lane *lane)
{
	struct sink none = { NULL, 0 };
	int nr = flight->cq_failed ? 0 : POLL_BATCH;

	/* The next QP's CQEs need the room of those that a device keeps. */
	while (nr == POLL_BATCH)
		nr = cq_poll(flight, &none);
	if (nr < 0)
		cq_fail(flight, nr);
	retire_flushed(flight, &none, lane, lane->head);
}

void complete_staged(struct flight *flight, uint32_t index)
{
	struct op *op = op_get(&flight->ops, index);

	if (op->what & OP_OPEN && --flight->ops.cuts[index].nr_wrs) {
		op->what &= ~OP_OPEN;
		return;
	}
	flight_finish(flight, index);
}

void complete_broken(struct flight *flight)
{
	struct op_row *staged = &flight->ops.staged;

	for (uint32_t n = staged->nr; n; n--) {
		uint32_t index = op_row_pop(staged);

		if (!op_failed(op_get(&flight->ops, index)))
			op_row_push(staged, index);
		else
			complete_staged(flight, index);
	}
	flight->nr_broken = 0;
}
