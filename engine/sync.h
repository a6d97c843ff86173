/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sync: what was written before it lies in the target's memory. Behind the
 * WRITEs of each lane goes a READ of one byte; one that has ended shows that
 * the WRITEs before it on its QP were placed (IBA 1.4, 9.5), which the end of
 * a WRITE does not promise. Knows nothing of fio.
 *
 * sync_begin(), sync_post() until it returns 0, sync_wait(); in between what
 * else is out is reaped by sync_reap().
 */
#ifndef ENGINE_SYNC_H
#define ENGINE_SYNC_H

#include "reap.h"

struct sync_stats {
	uint64_t syncs;
	uint64_t reads;	       /* posted for them */
	uint64_t reads_failed; /* of these, ended with an error */
};

struct sync {
	uint64_t *marks; /* WRs that each lane had carried at its last sync */
	uint32_t nr_lanes;
	/* The one under way. */
	struct wrb_op op;    /* its READ; user is nobody else's */
	uint32_t next_lane;  /* the first that is not done with */
	uint32_t nr_out;     /* READs posted and not back */
	struct wrb_done end; /* its first failure; error 0: none */
	struct sync_stats stats;
};

/*
 * Places that a queue needs: for fio's own operations, and for the READ on each
 * lane beside them, so that none of these waits for the one before it.
 */
static inline uint32_t sync_places(uint32_t nr_ops, uint32_t nr_lanes)
{
	return nr_ops + nr_lanes < WRB_MAX_OPS ? nr_ops + nr_lanes
					       : WRB_MAX_OPS;
}

/* 0, or -ENOMEM. */
int sync_init(struct sync *sync, uint32_t nr_lanes);
void sync_free(struct sync *sync);

/* op: the READ that is to be posted on each lane. */
void sync_begin(struct sync *sync, const struct wrb_op *op);

/*
 * Posts the READ on each lane that has carried anything since its last sync. 0
 * when none is left; -EAGAIN when one has no room now: reap, and call again. A
 * lane that does not take it fails the sync.
 */
int sync_post(struct sync *sync, struct wrb_queue *queue);

/* As reap(), of which it leaves out the READs of a sync. */
uint32_t sync_reap(struct sync *sync, struct reaper *r, struct wrb_done *done,
		   uint32_t min, uint32_t max);

/* Operations in the queue that are no READs of a sync. */
static inline uint32_t sync_others(const struct sync *sync,
				   const struct wrb_queue *queue)
{
	return wrb_staged(queue) + wrb_inflight(queue) - sync->nr_out;
}

/* Waits for the READs; nothing else may be out. */
void sync_wait(struct sync *sync, struct reaper *r);

#endif /* ENGINE_SYNC_H */
