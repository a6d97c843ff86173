// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* One QP's ledger. */
#include "lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t round_up_pow2(uint32_t n)
{
	return n < 2 ? 1 : UINT32_C(1) << (32 - __builtin_clz(n - 1));
}

static void lane_link_templates(struct lane *lane, uint32_t max_chain)
{
	for (uint32_t i = 0; i < max_chain; i++) {
		lane->wrs[i].next = &lane->wrs[i + 1];
		lane->wrs[i].sg_list = &lane->sges[(size_t)i * lane->max_sge];
		lane->wrs[i].num_sge = 1;
	}
}

int lane_init(struct lane *lane, uint32_t index, struct ibv_qp *qp,
	      uint32_t slots, uint32_t max_chain, uint32_t max_sge)
{
	uint32_t entries = round_up_pow2(slots + 1); /* and the marker */

	memset(lane, 0, sizeof(*lane));
	lane->wrs = calloc(max_chain + 1, sizeof(*lane->wrs));
	lane->sges = calloc((size_t)max_chain * max_sge, sizeof(*lane->sges));
	lane->ring = calloc(entries, sizeof(*lane->ring));
	if (!lane->wrs || !lane->sges || !lane->ring) {
		lane_free(lane);
		return -ENOMEM;
	}
	lane->qp = qp;
	lane->index = index;
	lane->ring_mask = entries - 1;
	lane->max_sge = max_sge;
	lane->next_wr = lane->wrs;
	lane_link_templates(lane, max_chain);
	return 0;
}

void lane_renew(struct lane *lane, struct ibv_qp *qp)
{
	lane->qp = qp;
	lane->state = qp ? WRB_LANE_READY : WRB_LANE_DEAD;
	lane->marker = false;
	lane->moved = false;
	lane->first_status = IBV_WC_SUCCESS;
	lane->first_vendor_err = 0;
	lane->first_dir = WRB_WRITE;
	lane->post_errno = 0;
}

void lane_free(struct lane *lane)
{
	free(lane->wrs);
	free(lane->sges);
	free(lane->ring);
}
