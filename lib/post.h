/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes planned WRs to their lanes' templates, rings doorbells. */
#ifndef WRB_POST_H
#define WRB_POST_H

#include "flight.h"

/* Posts a lane's open chain. */
void post_chain(struct flight *flight, struct lane *lane);

/*
 * Unwinds what posts did not take: operations of which nothing was taken are
 * staged again in front of the others, the rest of them fail; the lanes drain.
 * Returns how many WRs were not taken.
 */
uint32_t post_settle(struct flight *flight) cold;

static always_inline void post_count_op(struct op *op)
{
	if (unlikely(op->flags & OP_OPEN)) {
		op->flags &= (uint8_t)~OP_OPEN;
		op->nr_wrs--;
	}
	op->nr_wrs++;
	op->nr_planned++;
}

static always_inline void post_count_ops(struct flight *flight,
					 const struct plan_wr *plan)
{
	struct op *op = op_get(&flight->ops, plan->first_op);

	post_count_op(op);
	for (uint32_t n = plan->nr_ops; n > 1; n--) {
		op = op_get(&flight->ops, op->next);
		post_count_op(op);
	}
}

static always_inline void post_fill_sges(const struct flight *flight,
					 struct ibv_sge *sges,
					 const struct plan_wr *plan)
{
	const struct region *regions = flight->regions.regions;
	uint32_t i = 0;

	do {
		const struct plan_seg *seg = &plan->segs[i];

		sges[i].addr = seg->addr;
		sges[i].length = seg->length;
		sges[i].lkey = regions[seg->region].keys[plan->lane];
	} while (unlikely(++i < plan->nr_segs));
}

static always_inline unsigned int
post_flags(struct flight *flight, struct lane *lane, const struct plan_wr *plan)
{
	unsigned int flags = 0;

	if (plan->length <= flight->max_inline && !plan->read)
		flags |= IBV_SEND_INLINE;
	if (++lane->since_signal >= flight->signal_interval) {
		flags |= IBV_SEND_SIGNALED;
		lane->since_signal = 0;
		lane->signalled++;
	}
	return flags;
}

/* Adds one planned WR to its lane's chain. */
static always_inline void post_add(struct flight *flight,
				   const struct plan_wr *plan)
{
	struct lane *lane = &flight->lanes[plan->lane];
	const struct region *remote = &flight->regions.regions[plan->remote];
	struct ibv_send_wr *wr;

	wr = lane_push(lane, plan->first_op, plan->nr_ops, plan->read);
	wr->num_sge = (int)plan->nr_segs;
	wr->opcode = plan->read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->send_flags = post_flags(flight, lane, plan);
	wr->wr.rdma.remote_addr = plan->remote_addr;
	wr->wr.rdma.rkey = remote->keys[plan->lane];
	post_fill_sges(flight, wr->sg_list, plan);
	post_count_ops(flight, plan);
	lane->extra_sges += plan->nr_segs - 1;
	lane->stats.bytes += plan->length;
	if (!lane->dirty) {
		lane->dirty = true;
		flight->dirty[flight->nr_dirty++] = lane->index;
	}
	if (unlikely(lane_chain(lane) == flight->max_chain))
		post_chain(flight, lane);
}

/* Posts every open chain; returns how many WRs were not taken. */
static always_inline uint32_t post_all(struct flight *flight)
{
	for (uint32_t i = 0; i < flight->nr_dirty; i++) {
		struct lane *lane = &flight->lanes[flight->dirty[i]];

		lane->dirty = false;
		if (lane_chain(lane))
			post_chain(flight, lane);
	}
	flight->nr_dirty = 0;
	if (unlikely(flight->nr_short))
		return post_settle(flight);
	return 0;
}

#endif /* WRB_POST_H */
