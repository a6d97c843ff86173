// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine, linked so that it calls the library by way of this: at the end of
 * a job it says how many READs of syncs were posted without a poll in between.
 */
#include <stdint.h>
#include <stdio.h>

#include "wrb.h"

/* Of the one job. */
static struct {
	uint32_t now;
	uint32_t most;
} row;

/* What -Wl,--wrap= makes of a name, and of the one behind it. */
int __real_wrb_lane_post(struct wrb_queue *queue, uint32_t lane,
			 const struct wrb_op *op);
int __real_wrb_poll(struct wrb_queue *queue, struct wrb_done *done,
		    uint32_t max);
void __real_wrb_queue_destroy(struct wrb_queue *queue);
int __wrap_wrb_lane_post(struct wrb_queue *queue, uint32_t lane,
			 const struct wrb_op *op);
int __wrap_wrb_poll(struct wrb_queue *queue, struct wrb_done *done,
		    uint32_t max);
void __wrap_wrb_queue_destroy(struct wrb_queue *queue);

int __wrap_wrb_lane_post(struct wrb_queue *queue, uint32_t lane,
			 const struct wrb_op *op)
{
	int rc = __real_wrb_lane_post(queue, lane, op);

	if (!rc && ++row.now > row.most)
		row.most = row.now;
	return rc;
}

int __wrap_wrb_poll(struct wrb_queue *queue, struct wrb_done *done,
		    uint32_t max)
{
	row.now = 0;
	return __real_wrb_poll(queue, done, max);
}

void __wrap_wrb_queue_destroy(struct wrb_queue *queue)
{
	fprintf(stderr, "order: %u at once\n", row.most);
	__real_wrb_queue_destroy(queue);
}
