/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One QP's ledger: which WRs are in flight, what each carries, and the WR
 * templates that its next chain is written to.
 *
 * Serials count the WRs of a lane from 0 and never restart. tail <= posted <=
 * head: [tail, posted) is in flight, [posted, head) is the open chain, written
 * to the templates from the first on.
 */
#ifndef WRB_LANE_H
#define WRB_LANE_H

#include <assert.h>
#include <stdbool.h>

#include "compiler.h"
#include "plan.h"
#include "wr_id.h"
#include "wrb.h"

/* What a WR in flight carries: nr_ops operations from first_op on. */
struct lane_wr {
	uint32_t first_op;
	uint32_t what; /* nr_ops, and flags */
};

#define LANE_WR_READ_SHIFT 31
#define LANE_WR_CUT_SHIFT  30 /* its operations are OP_CUT; else none is */
#define LANE_WR_CUT	   (UINT32_C(1) << LANE_WR_CUT_SHIFT)
#define LANE_WR_NR_OPS	   (LANE_WR_CUT - 1)

static_assert(WRB_MAX_OPS <= LANE_WR_NR_OPS, "a WR may carry them all");

/* 0 for the drain marker. */
static always_inline uint32_t lane_wr_nr_ops(const struct lane_wr *wr)
{
	return wr->what & LANE_WR_NR_OPS;
}

static always_inline uint32_t lane_wr_reads(const struct lane_wr *wr)
{
	return wr->what >> LANE_WR_READ_SHIFT;
}

static always_inline bool lane_wr_cut(const struct lane_wr *wr)
{
	return (wr->what & LANE_WR_CUT) != 0;
}

/* How many operations, if they are whole; if cut, more than WRB_MAX_OPS. */
static always_inline uint32_t lane_wr_whole_ops(const struct lane_wr *wr)
{
	return wr->what & (LANE_WR_CUT | LANE_WR_NR_OPS);
}

/*
 * The templates of one chain. Lanes share them that never have an open chain at
 * the same time, so that they stay in the cache.
 */
struct chain {
	struct ibv_send_wr *wrs; /* max_chain + 1, linked */
	struct ibv_sge *sges;	 /* max_sge for each of max_chain */
};

struct lane {
	struct ibv_qp *qp;
	struct ibv_send_wr *next_wr; /* the next of wrs to be written */
	struct ibv_send_wr *wrs;     /* its chain's */
	struct lane_wr *ring;	     /* ring_mask + 1 */
	uint64_t head;
	uint64_t posted;
	uint64_t tail;
	uint32_t ring_mask;
	uint32_t index;
	uint32_t until_signal; /* WRs until one must be signalled */
	bool dirty;	       /* on the queue's list of lanes to be posted */
	bool is_short;	       /* a post came short, see short_from */
	bool marker;	       /* the drain marker is in flight */
	bool to_move;	       /* the QP is to go to the error state */
	bool moved;	     /* we moved the QP to the error state ourselves */
	uint64_t short_from; /* first serial that was not taken */

	enum wrb_lane_status state;
	enum ibv_wc_status first_status;
	uint32_t first_vendor_err;
	enum wrb_dir first_dir;
	int post_errno;

	struct wrb_lane_stats stats;
	uint64_t extra_sges; /* beyond one per WR */
	uint64_t signalled;
} __attribute__((__aligned__(64)));

/* 0, or -ENOMEM; chain_free() is due either way. */
int chain_init(struct chain *chain, uint32_t max_chain, uint32_t max_sge);
void chain_free(struct chain *chain);

/* Makes a ready lane with `slots` WRs; 0 or -ENOMEM. The chain outlives it. */
int lane_init(struct lane *lane, uint32_t index, struct ibv_qp *qp,
	      uint32_t slots, const struct chain *chain);
void lane_free(struct lane *lane);

/* An empty lane gets another QP, and forgets its failure; or none. */
void lane_renew(struct lane *lane, struct ibv_qp *qp);

static inline uint32_t lane_chain(const struct lane *lane)
{
	return (uint32_t)(lane->head - lane->posted);
}

static inline uint32_t lane_inflight(const struct lane *lane)
{
	return (uint32_t)(lane->head - lane->tail);
}

static inline struct lane_wr *lane_entry(const struct lane *lane,
					 uint64_t serial)
{
	/* Callers look up their lane first: NOLINTNEXTLINE(*NullDereference) */
	return &lane->ring[serial & lane->ring_mask];
}

/* How many entries of [serial, end) lie in a row, up to the ring's end. */
static inline uint32_t lane_row(const struct lane *lane, uint64_t serial,
				uint64_t end)
{
	uint64_t row = lane->ring_mask + 1ull - (serial & lane->ring_mask);

	return (uint32_t)(row < end - serial ? row : end - serial);
}

/* Enters in the ledger what a WR carries; serial may be its wr_id. */
static always_inline void lane_enter(const struct lane *lane, uint64_t serial,
				     const struct plan_wr *plan)
{
	struct lane_wr *wr = lane_entry(lane, serial);

	wr->first_op = plan->first_op;
	/* 0 and 1 can be shifted: NOLINTBEGIN(*BinaryOperatorResult) */
	wr->what = plan->nr_ops | (uint32_t)plan->read << LANE_WR_READ_SHIFT |
		   (uint32_t)plan->cut << LANE_WR_CUT_SHIFT;
	/* NOLINTEND(*BinaryOperatorResult) */
}

#endif /* WRB_LANE_H */
