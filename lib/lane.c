// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* One QP's ledger. */
#include "lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int chain_init(struct chain *chain, uint32_t max_chain, uint32_t max_sge)
{
	chain->wrs = calloc(max_chain + 1, sizeof(*chain->wrs));
	chain->sges = calloc((size_t)max_chain * max_sge, sizeof(*chain->sges));
	if (!chain->wrs || !chain->sges)
		return -ENOMEM;
	for (uint32_t i = 0; i < max_chain; i++) {
		chain->wrs[i].next = &chain->wrs[i + 1];
		chain->wrs[i].sg_list = &chain->sges[(size_t)i * max_sge];
		chain->wrs[i].num_sge = 1;
	}
	return 0;
}

void chain_free(struct chain *chain)
{
	free(chain->wrs);
	free(chain->sges);
}

int lane_init(struct lane *lane, uint32_t index, struct ibv_qp *qp,
	      uint32_t slots, const struct chain *chain)
{
	uint32_t entries = round_up_pow2(slots + 1); /* and the marker */

	memset(lane, 0, sizeof(*lane));
	lane->ring = calloc(entries, sizeof(*lane->ring));
	if (!lane->ring)
		return -ENOMEM;
	lane->qp = qp;
	lane->index = index;
	lane->ring_mask = entries - 1;
	lane->wrs = chain->wrs;
	lane->next_wr = chain->wrs;
	return 0;
}

void lane_renew(struct lane *lane, struct ibv_qp *qp)
{
	lane->qp = qp;
	lane->state = qp ? WRB_LANE_READY : WRB_LANE_DEAD;
	lane->marker = false;
	lane->to_move = false;
	lane->moved = false;
	if (!qp)
		return;
	lane->first_status = IBV_WC_SUCCESS;
	lane->first_vendor_err = 0;
	lane->first_dir = WRB_WRITE;
	lane->post_errno = 0;
}

void lane_free(struct lane *lane)
{
	free(lane->ring);
}
