/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sides of bench_plan share: the work, and a provider that is a walk. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "wrb.h"

#define BENCH_MAX_LANES 64
#define BENCH_SLOTS	8192 /* per lane */
#define BENCH_CHAIN	128  /* WRs per post */
#define BENCH_MAX_SGE	16
#define BENCH_MAX_OPS	65536
#define BENCH_BASE	(UINT64_C(1) << 40) /* where both regions begin */

/* One shape of work. */
struct bench_case {
	const char *name;
	uint32_t op_bytes;
	uint32_t stride;      /* between operations; op_bytes: contiguous */
	uint32_t chunk_bytes; /* 0: no cut */
	bool merge;
	bool sort; /* operations come in random order and are to be sorted */
};

/* The same requests for every side. */
struct bench_work {
	const struct bench_case *shape;
	uint32_t batch;
	uint32_t lanes;
	struct wrb_op *ops;    /* batch */
	struct wrb_done *done; /* batch */
	uint64_t region_bytes;
};

struct bench_side {
	const char *name;
	void *(*make)(const struct bench_work *work);
	/* One batch: take the operations, post them, complete them all. */
	void (*run)(void *side, const struct bench_work *work);
	void (*drop)(void *side);
};

extern const struct bench_side side_wrb;
extern const struct bench_side side_floor;
extern const struct bench_side side_alloc; /* a heap block per WR and array */
extern const struct bench_side side_reuse; /* the same on memory kept */

/*
 * A device whose ibv_post_send() walks the chain and keeps the wr_id of what
 * is signalled, and whose ibv_poll_cq() returns these. Moves nothing.
 */
struct walk_dev {
	struct ibv_context context;
	struct ibv_qp qps[BENCH_MAX_LANES];
	struct ibv_qp *qp_list[BENCH_MAX_LANES];
	struct ibv_cq cq;
	uint64_t *ring; /* wr_ids, 2^17 of them */
	uint32_t head, tail;
	uint64_t wrs, doorbells, bytes;
};

void walk_dev_init(struct walk_dev *dev);
void walk_dev_free(struct walk_dev *dev);

#endif /* BENCH_H */
