// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The stripe policies: which lane a WR goes to. */
#include "plan.h"

/* The first lane with room, from search.from on. */
static uint32_t plan_lane_find(struct plan_search search)
{
	uint32_t lane = search.from;

	for (uint32_t n = search.nr_lanes; n; n--) {
		if (plan_lane_takes(&search.lanes[lane], search.read))
			return lane;
		lane = plan_lane_after(search.nr_lanes, lane);
	}
	return PLAN_NO_LANE;
}

/* The lane with the most room; of equals, the first from search.from on. */
static uint32_t plan_lane_emptiest(struct plan_search search)
{
	uint32_t best = PLAN_NO_LANE, slots = 0, lane = search.from;

	for (uint32_t n = search.nr_lanes; n; n--) {
		const struct plan_lane *at = &search.lanes[lane];

		if (at->slots > slots && plan_lane_takes(at, search.read)) {
			best = lane;
			slots = at->slots;
		}
		lane = plan_lane_after(search.nr_lanes, lane);
	}
	return best;
}

/* The remote address's own lane; when that one has failed, the next ready. */
static uint32_t plan_lane_of_addr(struct plan_search search,
				  uint64_t remote_addr)
{
	/* Fibonacci hashing: block sizes are powers of two. */
	uint64_t hash = remote_addr * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint32_t lane = (uint32_t)(hash * search.nr_lanes >> 32);

	for (uint32_t n = search.nr_lanes; n; n--) {
		if (search.lanes[lane].ready)
			break;
		lane = plan_lane_after(search.nr_lanes, lane);
	}
	return plan_lane_takes(&search.lanes[lane], search.read) ? lane
								 : PLAN_NO_LANE;
}

uint32_t plan_lane_choose(enum wrb_stripe stripe, struct plan_search search,
			  uint64_t remote_addr)
{
	switch (stripe) {
	case WRB_STRIPE_LEAST_LOADED:
		return plan_lane_emptiest(search);
	case WRB_STRIPE_OFFSET:
		return plan_lane_of_addr(search, remote_addr);
	case WRB_STRIPE_BATCH:
	case WRB_STRIPE_ROUND_ROBIN:
	default:
		return plan_lane_find(search);
	}
}
