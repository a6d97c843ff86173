/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that one case works on: a queue on a device in memory, two sides of
 * memory, the operations, and a ledger of what was posted and completed. There
 * is one world at a time.
 *
 * The first broken rule of a case is kept in `why`; from there on the case
 * only has to end.
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "memdev.h"
#include "source.h"
#include "wrb.h"

#define MAX_LANES   64
#define MAX_SLOTS   64 /* per lane */
#define MAX_OPS	    192
#define MAX_REGIONS 3 /* per side */
#define MAX_SGES    8
#define MAX_WRS	    (MAX_LANES * MAX_SLOTS)
#define RING	    128 /* over MAX_SLOTS and a drain marker */
#define SIDE_BYTES  (24 * 1024)

/*
 * One side's memory, cut in equal regions. From the first and the last quarter
 * of a region operations take bytes, in the middle they put them: there every
 * byte belongs to one operation at most. Sources hold 0..127, destinations
 * start with 128..255, so a byte that was moved differs from one that was not.
 */
struct side {
	uint8_t bytes[SIDE_BYTES];
	uint16_t owner[SIDE_BYTES]; /* number of its operation, from 1 */
	uint8_t sent[SIDE_BYTES];   /* a WR that moves the byte was posted */
	uint32_t nr_regions;
	uint32_t region_bytes;
	uint32_t given[MAX_REGIONS]; /* bytes of the middle */
	int ids[MAX_REGIONS];
	struct memdev_mr keys[MAX_REGIONS][MAX_LANES];
};

struct model_op {
	struct wrb_op op; /* user leads back here */
	uint8_t *from;
	uint8_t *to;
	uint32_t sent_bytes;
	uint32_t nr_wrs; /* posted, and not seen to be over */
	bool added;
	bool failed; /* a CQE said so */
	bool done;
	int error;
};

static inline uint32_t quarter(const struct side *side)
{
	return side->region_bytes / 4;
}

struct ledger_wr {
	uint64_t wr_id;
	uint64_t remote_addr;
	struct ibv_sge sges[MAX_SGES];
	uint32_t nr_sges; /* 0: a drain marker */
	enum wrb_dir dir;
	bool signalled;
};

/* What a lane's QP holds: posted, and no CQE of it or of a later one polled. */
struct ledger_lane {
	struct ibv_qp *qp; /* NULL: it has none */
	struct ledger_wr ring[RING];
	uint32_t head;
	uint32_t tail;
	uint32_t nr_reads;
	uint32_t nr_silent; /* WRs since the last signalled one */
};

/* What the checks expect of the counters of the queue. */
struct totals {
	uint64_t wrs;
	uint64_t bytes;
	uint64_t sges;
	uint64_t signalled;
	uint64_t doorbells;
	uint64_t cqes;
	uint64_t shorts;
};

struct world {
	struct source *source;
	char why[256];

	struct memdev *dev;
	struct ibv_cq *cq;
	struct wrb_attr attr;
	struct ibv_qp_cap cap;
	struct wrb_queue *queue;
	/* The attr, with the defaults that wrb.h tells filled in. */
	uint32_t slots;
	uint32_t max_sge;
	uint32_t read_depth;
	uint32_t max_chain;

	uint32_t faults; /* 1 << enum memdev_fault_kind of those that are set */
	bool lasting;	 /* one of them strikes again and again */
	bool aborted;
	uint64_t nr_logged;

	struct side side[2]; /* by enum wrb_side */
	struct model_op ops[MAX_OPS];
	uint32_t nr_ops;
	struct model_op *added[MAX_OPS]; /* in the order of adding */
	uint32_t nr_added;
	uint32_t nr_done;
	/* What is staged is known, operation by operation: nothing open. */
	bool staged_known;

	struct ledger_lane lanes[MAX_LANES];
	struct totals totals;
	/* WRs of the last submit, as wrb_explain() tells them. */
	struct wrb_plan_wr posted[MAX_WRS];
	uint32_t nr_posted;
};

/* Notes a broken rule, with the names of design.md's invariants. */
void world_fail(struct world *world, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

static inline bool world_failed(const struct world *world)
{
	return world->why[0];
}

/* An operation may come back with an error. */
static inline bool world_may_fail(const struct world *world)
{
	return world->faults || world->aborted;
}

/* What is not left to a source. */
struct world_fixed {
	/* nr_qps, limits and how it plans; the rest is filled in. */
	struct wrb_attr attr;
	struct memdev_fault faults[2]; /* with nth 0: none */
	uint32_t nr_steps;
};

/*
 * Makes device, memory, faults and queue from decisions of a source; `fixed`
 * may be NULL.
 */
void world_open(struct world *world, struct source *source,
		const struct world_fixed *fixed);
void world_close(struct world *world);

/* What a side's memory holds at the start of a case. */
const uint8_t *world_image(const struct side *side);

/* Gives a lane a QP, takes it away, gives all regions other keys on a lane. */
struct ibv_qp *world_qp_new(struct world *world, uint32_t lane);
void world_qp_destroy(struct world *world, uint32_t lane);
void world_rekey(struct world *world, uint32_t lane);

#endif /* WORLD_H */
