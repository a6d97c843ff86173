// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A lane that failed: error state, marker, dead. */
#include "drain.h"

#include <errno.h>

#include "verbs_errno.h"

static void drain_error_state(struct flight *flight, struct lane *lane)
{
	int err = flight->qp_error(flight->qp_error_arg, lane->qp);

	lane->to_move = false;
	lane->moved = !err;
	if (!err)
		return;
	errno = verbs_errno(err);
	log_line(&flight->log,
		 "lane %u: its QP does not go to the error state: %m",
		 lane->index);
}

static void drain_mark(struct lane *lane)
{
	struct ibv_send_wr *bad = NULL;
	struct ibv_send_wr wr = {
		.wr_id = wr_id_make(lane->index, lane->head),
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (ibv_post_send(lane->qp, &wr, &bad) && bad)
		return; /* the next poll tries again */
	*lane_entry(lane, lane->head) = (struct lane_wr){ 0 };
	lane->head++;
	lane->posted = lane->head;
	lane->marker = true;
}

void drain_begin(struct flight *flight, struct lane *lane)
{
	if (lane->state != WRB_LANE_READY)
		return;
	lane->state = WRB_LANE_DRAINING;
	flight->room[lane->index] = (struct plan_lane){ 0 };
	flight->nr_ready--;
	flight->nr_draining++;
	lane->to_move = true;
}

static void drain_lane(struct flight *flight, struct lane *lane)
{
	if (lane->to_move)
		drain_error_state(flight, lane);
	if (!lane->marker && lane->head != lane->tail && !flight->cq_failed)
		drain_mark(lane);
	if (lane->head != lane->tail)
		return;
	lane->state = WRB_LANE_DEAD;
	flight->nr_draining--;
}

void drain_progress(struct flight *flight)
{
	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		if (flight->lanes[i].state == WRB_LANE_DRAINING)
			drain_lane(flight, &flight->lanes[i]);
}
