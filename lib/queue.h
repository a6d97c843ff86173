/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A queue: what is under way, and how it is planned. */
#ifndef WRB_QUEUE_H
#define WRB_QUEUE_H

#include "flight.h"
#include "plan.h"

struct wrb_queue {
	struct flight flight;
	struct plan_rules rules;
	struct plan_seg *run_segs;
	struct plan_seg *piece_segs;
	struct plan_sort_item *sort_items; /* max_ops, and as many again */
	struct plan_lane *dry_room;	   /* for the dry run */
	uint32_t first_lane;		   /* where the next submit starts */
	uint32_t flags;
};

#endif /* WRB_QUEUE_H */
