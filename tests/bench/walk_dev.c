// SPDX-License-Identifier: GPL-2.0-only
/* A provider reduced to a walk over the chain. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define RING_MASK ((1u << 17) - 1)

static int walk_post(struct ibv_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad)
{
	struct walk_dev *dev = qp->qp_context;

	(void)bad;
	for (; wr; wr = wr->next) {
		dev->bytes += wr->sg_list[wr->num_sge - 1].length;
		dev->wrs++;
		if (wr->send_flags & IBV_SEND_SIGNALED)
			dev->ring[dev->head++ & RING_MASK] = wr->wr_id;
	}
	dev->doorbells++;
	return 0;
}

static int walk_poll(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	struct walk_dev *dev = cq->cq_context;
	int i = 0;

	for (; i < nr && dev->tail != dev->head; i++) {
		wc[i].wr_id = dev->ring[dev->tail++ & RING_MASK];
		wc[i].status = IBV_WC_SUCCESS;
	}
	return i;
}

void walk_dev_init(struct walk_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	dev->ring = calloc(RING_MASK + 1, sizeof(*dev->ring));
	if (!dev->ring)
		abort();
	dev->context.ops.post_send = walk_post;
	dev->context.ops.poll_cq = walk_poll;
	dev->cq.context = &dev->context;
	dev->cq.cq_context = dev;
	for (uint32_t i = 0; i < BENCH_MAX_LANES; i++) {
		dev->qps[i].context = &dev->context;
		dev->qps[i].qp_context = dev;
		dev->qps[i].send_cq = &dev->cq;
		dev->qp_list[i] = &dev->qps[i];
	}
}

void walk_dev_free(struct walk_dev *dev)
{
	free(dev->ring);
}
