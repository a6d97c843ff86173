/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is under way in a queue: the state that posting, completing and
 * draining share. Owned by the queue.
 */
#ifndef WRB_FLIGHT_H
#define WRB_FLIGHT_H

#include "lane.h"
#include "log.h"
#include "op_table.h"
#include "plan.h"
#include "region.h"

struct flight {
	struct op_table ops;
	struct region_table regions;
	struct lane *lanes;
	struct chain *chains;	/* that the lanes write to, nr_chains */
	struct plan_lane *room; /* one per lane, kept beside each other */
	uint32_t *dirty;	/* lanes with an open chain, nr_dirty of them */
	uint32_t *scratch;	/* max_ops, for unwinding */
	struct ibv_cq *cq;
	uint32_t nr_lanes;
	uint32_t nr_chains;
	uint32_t nr_dirty;
	uint32_t nr_ready;
	uint32_t nr_draining;
	uint32_t nr_broken; /* staged operations that have failed in part */
	uint32_t nr_short;  /* lanes whose post came short, not yet settled */
	uint32_t slots;	    /* WRs per lane */
	uint32_t read_depth;
	uint32_t max_chain;
	uint32_t signal_interval;
	uint32_t max_inline;
	bool cq_failed;
	wrb_qp_error_fn qp_error;
	void *qp_error_arg;
	struct log log;
	struct wrb_stats stats; /* what the lanes do not count themselves */
};

static inline const char *dir_name(enum wrb_dir dir)
{
	return dir == WRB_READ ? "RDMA READ" : "RDMA WRITE";
}

/* A lane that is empty begins, with its whole room. */
static inline void flight_lane_ready(struct flight *flight, uint32_t lane)
{
	flight->lanes[lane].until_signal = flight->signal_interval;
	flight->nr_ready++;
	flight->room[lane] = (struct plan_lane){
		.slots = flight->slots,
		.reads = flight->read_depth,
		.ready = 1,
	};
}

/* Ends an operation that no WR carries any more; polls hand it back. */
static inline void flight_finish(struct flight *flight, uint32_t index)
{
	op_list_push(&flight->ops, &flight->ops.done, index);
}

#endif /* WRB_FLIGHT_H */
