// SPDX-License-Identifier: GPL-2.0-only
/* A sync: READs behind the WRITEs of each lane. */
#include <errno.h>
#include <stdlib.h>

#include "sync.h"

int sync_init(struct sync *sync, uint32_t nr_lanes)
{
	sync->marks = calloc(nr_lanes, sizeof(*sync->marks));
	sync->nr_lanes = nr_lanes;
	return sync->marks ? 0 : -ENOMEM;
}

void sync_free(struct sync *sync)
{
	free(sync->marks);
	sync->marks = NULL;
}

static uint64_t lane_wrs(const struct wrb_queue *queue, uint32_t lane)
{
	struct wrb_lane_stats stats = { 0 };

	wrb_lane_stats_get(queue, lane, &stats);
	return stats.wrs;
}

static void fail(struct sync *sync, const struct wrb_done *end)
{
	if (!sync->end.error)
		sync->end = *end;
}

void sync_begin(struct sync *sync, const struct wrb_op *op)
{
	sync->op = *op;
	sync->next_lane = 0;
	sync->end = (struct wrb_done){ .user = op->user };
	sync->stats.syncs++;
}

static int post_on(struct sync *sync, struct wrb_queue *queue, uint32_t lane)
{
	const struct wrb_done not_posted = {
		.user = sync->op.user,
		.error = -ECANCELED,
		.status = IBV_WC_WR_FLUSH_ERR,
		.lane = lane,
	};
	int rc = wrb_lane_post(queue, lane, &sync->op);

	if (rc == -EAGAIN)
		return rc;
	if (rc) {
		fail(sync, &not_posted);
	} else {
		sync->nr_out++;
		sync->stats.reads++;
	}
	/* One that failed has said so; the next sync is about what follows. */
	sync->marks[lane] = lane_wrs(queue, lane);
	return 0;
}

int sync_post(struct sync *sync, struct wrb_queue *queue)
{
	int rc;

	for (; sync->next_lane < sync->nr_lanes; sync->next_lane++) {
		const uint32_t lane = sync->next_lane;

		if (lane_wrs(queue, lane) == sync->marks[lane])
			continue;
		rc = post_on(sync, queue, lane);
		if (rc)
			return rc;
	}
	return 0;
}

/* Takes the READs out of what was reaped; returns how many others there are. */
static uint32_t take_reads(struct sync *sync, struct wrb_done *done,
			   uint32_t nr)
{
	uint32_t kept = 0;
	uint32_t i;

	if (!sync->nr_out)
		return nr;
	for (i = 0; i < nr; i++) {
		if (done[i].user != sync->op.user) {
			done[kept++] = done[i];
			continue;
		}
		sync->nr_out--;
		if (!done[i].error)
			continue;
		sync->stats.reads_failed++;
		fail(sync, &done[i]);
	}
	return kept;
}

uint32_t sync_reap(struct sync *sync, struct reaper *r, struct wrb_done *done,
		   uint32_t min, uint32_t max)
{
	uint32_t nr = 0;
	uint32_t got;

	do {
		got = reap(r, done + nr, min - nr, max - nr);
		nr += take_reads(sync, done + nr, got);
	} while (got && nr < min);
	return nr;
}

void sync_wait(struct sync *sync, struct reaper *r)
{
	struct wrb_done done[32];
	uint32_t got = 1;

	while (sync->nr_out && got) {
		got = reap(r, done, 1, sizeof(done) / sizeof(done[0]));
		take_reads(sync, done, got);
	}
}
