// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The life of a queue: create, regions, poll, failure, counters. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "complete.h"
#include "drain.h"

#define DEFAULT_CHAIN 128

#define STR(x)			     #x
#define VERSION(major, minor, patch) STR(major) "." STR(minor) "." STR(patch)

wrb_export const char *wrb_version(void)
{
	return VERSION(WRB_VERSION_MAJOR, WRB_VERSION_MINOR, WRB_VERSION_PATCH);
}

wrb_export void(wrb_attr_init)(struct wrb_attr *attr, size_t size)
{
	memset(attr, 0, size);
	attr->size = size;
}

/* -- create ------------------------------------------------------------- */

static int qp_error_verbs(void *arg, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)arg;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* Brings a caller's attr, maybe of an older release, to this one's size. */
static int attr_read(const struct wrb_attr *attr, struct wrb_attr *full)
{
	size_t least = offsetof(struct wrb_attr, qp_error_arg) +
		       sizeof(attr->qp_error_arg);

	if (!attr || attr->size < least || attr->size > sizeof(*full))
		return -EINVAL;
	memset(full, 0, sizeof(*full));
	memcpy(full, attr, attr->size);
	return 0;
}

static bool attr_has_lanes(const struct wrb_attr *attr)
{
	if (!attr->qps || !attr->cq || !attr->nr_qps ||
	    attr->nr_qps > WRB_MAX_LANES)
		return false;
	for (uint32_t i = 0; i < attr->nr_qps; i++)
		if (!attr->qps[i] || attr->qps[i]->send_cq != attr->cq)
			return false;
	return true;
}

static int attr_check(const struct wrb_attr *attr)
{
	const struct wrb_limits *limits = &attr->limits;

	if (!attr_has_lanes(attr))
		return -EINVAL;
	if (!attr->max_ops || attr->max_ops > WRB_MAX_OPS)
		return -EINVAL;
	if (limits->max_send_wr < 2 || limits->max_send_wr > INT32_MAX ||
	    !limits->max_send_sge || !limits->max_msg_bytes)
		return -EINVAL;
	if (attr->flags & ~(uint32_t)(WRB_MERGE | WRB_SORT) ||
	    (uint32_t)attr->stripe > WRB_STRIPE_OFFSET)
		return -EINVAL;
	if (attr->max_sge > limits->max_send_sge || attr->max_sge > WRB_MAX_SGE)
		return -E2BIG;
	if ((uint64_t)limits->max_send_wr * attr->nr_qps > limits->max_cqe)
		return -ENOSPC;
	return 0;
}

static uint32_t min_nonzero(uint32_t asked, uint32_t cap)
{
	return asked && asked < cap ? asked : cap;
}

static void rules_set(struct plan_rules *rules, const struct wrb_attr *attr)
{
	uint32_t sge = attr->limits.max_send_sge;
	uint32_t msg = attr->limits.max_msg_bytes;
	bool cuts = attr->max_chunks != 1; /* what a message can hold */

	*rules = (struct plan_rules){
		.nr_lanes = attr->nr_qps,
		.max_sge = attr->max_sge ? attr->max_sge
					 : min_nonzero(sge, WRB_MAX_SGE),
		.max_msg_bytes = msg,
		.chunk_bytes = attr->chunk_bytes,
		.max_chunks = attr->max_chunks,
		.cut_above = min_nonzero(cuts ? attr->chunk_bytes : 0, msg),
		.stripe = attr->stripe,
		.merge = attr->flags & WRB_MERGE,
	};
}

static void flight_set(struct flight *flight, const struct wrb_attr *attr)
{
	uint32_t slots = attr->limits.max_send_wr - 1;

	flight->cq = attr->cq;
	flight->slots = slots;
	flight->read_depth = min_nonzero(attr->read_depth, slots);
	flight->max_chain = min_nonzero(
		attr->max_chain ? attr->max_chain : DEFAULT_CHAIN, slots);
	flight->signal_interval =
		attr->signal_interval ? attr->signal_interval : UINT32_MAX;
	flight->max_inline = attr->limits.max_inline;
	flight->qp_error = attr->qp_error ? attr->qp_error : qp_error_verbs;
	flight->qp_error_arg = attr->qp_error_arg;
	flight->log = (struct log){ attr->log, attr->log_arg };
}

/*
 * Under WRB_STRIPE_BATCH a lane's chain is posted before the next lane's
 * begins: one is enough.
 */
static int chains_init(struct wrb_queue *queue, const struct wrb_attr *attr)
{
	struct flight *flight = &queue->flight;
	uint32_t nr = attr->stripe == WRB_STRIPE_BATCH ? 1 : attr->nr_qps;

	flight->chains = calloc(nr, sizeof(*flight->chains));
	if (!flight->chains)
		return -ENOMEM;
	flight->nr_chains = nr;
	for (uint32_t i = 0; i < nr; i++) {
		int err = chain_init(&flight->chains[i], flight->max_chain,
				     queue->rules.max_sge);

		if (err)
			return err;
	}
	return 0;
}

static int lanes_init(struct wrb_queue *queue, const struct wrb_attr *attr)
{
	struct flight *flight = &queue->flight;

	flight->lanes = aligned_alloc(64, attr->nr_qps * sizeof(struct lane));
	if (!flight->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < attr->nr_qps; i++) {
		int err = lane_init(&flight->lanes[i], i, attr->qps[i],
				    flight->slots,
				    &flight->chains[i % flight->nr_chains]);

		if (err)
			return err;
		flight->nr_lanes = i + 1;
		flight_lane_ready(flight, i);
	}
	return 0;
}

static int scratch_init(struct wrb_queue *queue, const struct wrb_attr *attr)
{
	struct flight *flight = &queue->flight;
	uint32_t sge = queue->rules.max_sge;

	queue->run_segs = calloc(sge, sizeof(*queue->run_segs));
	queue->piece_segs = calloc(sge, sizeof(*queue->piece_segs));
	queue->dry_room = calloc(attr->nr_qps, sizeof(*queue->dry_room));
	flight->room = calloc(attr->nr_qps, sizeof(*flight->room));
	flight->dirty = calloc(attr->nr_qps, sizeof(*flight->dirty));
	flight->scratch = calloc(attr->max_ops, sizeof(*flight->scratch));
	if (!queue->run_segs || !queue->piece_segs || !queue->dry_room ||
	    !flight->room || !flight->dirty || !flight->scratch)
		return -ENOMEM;
	if (!(attr->flags & WRB_SORT))
		return 0;
	queue->sort_items =
		calloc(attr->max_ops, 2 * sizeof(*queue->sort_items));
	return queue->sort_items ? 0 : -ENOMEM;
}

wrb_export int wrb_queue_create(const struct wrb_attr *user_attr,
				struct wrb_queue **out)
{
	struct wrb_queue *queue;
	struct wrb_attr attr;
	int err = attr_read(user_attr, &attr);

	if (!err)
		err = out ? attr_check(&attr) : -EINVAL;
	if (err)
		return err;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->flags = attr.flags;
	rules_set(&queue->rules, &attr);
	flight_set(&queue->flight, &attr);
	err = scratch_init(queue, &attr);
	if (!err)
		err = op_table_init(&queue->flight.ops, attr.max_ops);
	if (!err)
		err = region_table_init(&queue->flight.regions, attr.nr_qps);
	if (!err)
		err = chains_init(queue, &attr);
	if (!err)
		err = lanes_init(queue, &attr);
	if (err) {
		wrb_queue_destroy(queue);
		return err;
	}
	*out = queue;
	return 0;
}

wrb_export void wrb_queue_destroy(struct wrb_queue *queue)
{
	struct flight *flight;

	if (!queue)
		return;
	flight = &queue->flight;
	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		lane_free(&flight->lanes[i]);
	free(flight->lanes);
	for (uint32_t i = 0; i < flight->nr_chains; i++)
		chain_free(&flight->chains[i]);
	free(flight->chains);
	free(flight->room);
	free(flight->dirty);
	free(flight->scratch);
	op_table_free(&flight->ops);
	region_table_free(&flight->regions);
	free(queue->run_segs);
	free(queue->piece_segs);
	free(queue->sort_items);
	free(queue->dry_room);
	free(queue);
}

/* -- regions ------------------------------------------------------------ */

static bool queue_busy(const struct wrb_queue *queue)
{
	return queue->flight.ops.nr_free != queue->flight.ops.nr_ops;
}

wrb_export int wrb_region_add(struct wrb_queue *queue,
			      const struct wrb_region *region)
{
	return region_add(&queue->flight.regions, region);
}

wrb_export int wrb_region_remove(struct wrb_queue *queue, int region)
{
	if (!region_exists(&queue->flight.regions, region))
		return -EINVAL;
	if (queue_busy(queue))
		return -EBUSY;
	region_remove(&queue->flight.regions, region);
	return 0;
}

wrb_export int wrb_region_rekey(struct wrb_queue *queue, int region,
				uint32_t lane, uint32_t key)
{
	struct flight *flight = &queue->flight;

	if (!region_exists(&flight->regions, region) ||
	    lane >= flight->nr_lanes)
		return -EINVAL;
	if (flight->lanes[lane].state == WRB_LANE_READY && queue_busy(queue))
		return -EBUSY;
	flight->regions.regions[region].keys[lane] = key;
	return 0;
}

/* -- poll --------------------------------------------------------------- */

wrb_export int wrb_poll(struct wrb_queue *queue, struct wrb_done *done,
			uint32_t max)
{
	struct flight *flight = &queue->flight;
	int nr;

	if (unlikely(!max))
		return -EINVAL;
	nr = complete_poll(flight, done, max);
	if (unlikely(flight->nr_broken))
		complete_broken(flight);
	return nr;
}

/* -- failure ------------------------------------------------------------ */

wrb_export int wrb_lane_state(const struct wrb_queue *queue, uint32_t index,
			      struct wrb_lane_info *info)
{
	const struct lane *lane;

	if (index >= queue->flight.nr_lanes)
		return -EINVAL;
	lane = &queue->flight.lanes[index];
	*info = (struct wrb_lane_info){
		.state = lane->state,
		.qp = lane->qp,
		.inflight = lane_inflight(lane) - lane->marker,
		.slots = queue->flight.slots,
		.first_status = lane->first_status,
		.first_vendor_err = lane->first_vendor_err,
		.first_dir = lane->first_dir,
		.post_errno = lane->post_errno,
	};
	return 0;
}

wrb_export int wrb_lane_replace(struct wrb_queue *queue, uint32_t index,
				struct ibv_qp *qp)
{
	struct flight *flight = &queue->flight;
	struct lane *lane;

	if (index >= flight->nr_lanes || (qp && qp->send_cq != flight->cq))
		return -EINVAL;
	lane = &flight->lanes[index];
	if (lane->state == WRB_LANE_READY)
		return -EBUSY;
	complete_lost(flight, lane);
	if (flight->nr_broken)
		complete_broken(flight);
	flight->nr_draining -= lane->state == WRB_LANE_DRAINING;
	lane_renew(lane, qp);
	if (!qp)
		return 0;
	flight->cq_failed = false;
	flight_lane_ready(flight, index);
	return 0;
}

wrb_export void wrb_abort(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;
	struct op_row *staged = &flight->ops.staged;

	for (uint32_t i = 0; i < flight->nr_lanes; i++)
		drain_begin(flight, &flight->lanes[i]);
	drain_progress(flight);
	while (staged->nr) {
		uint32_t index = op_row_pop(staged);

		op_fail(op_get(&flight->ops, index), IBV_WC_WR_FLUSH_ERR, 0, 0);
		complete_staged(flight, index);
	}
	flight->nr_broken = 0;
}

/* -- observation -------------------------------------------------------- */

wrb_export uint32_t wrb_room(const struct wrb_queue *queue)
{
	return queue->flight.ops.nr_free;
}

wrb_export uint32_t wrb_staged(const struct wrb_queue *queue)
{
	return queue->flight.ops.staged.nr;
}

wrb_export uint32_t wrb_inflight(const struct wrb_queue *queue)
{
	const struct op_table *ops = &queue->flight.ops;

	return ops->nr_ops - ops->nr_free - ops->staged.nr;
}

wrb_export void wrb_stats_get(const struct wrb_queue *queue,
			      struct wrb_stats *stats)
{
	const struct flight *flight = &queue->flight;

	*stats = flight->stats;
	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		const struct lane *lane = &flight->lanes[i];

		stats->bytes += lane->stats.bytes;
		stats->wrs += lane->stats.wrs;
		stats->sges += lane->stats.wrs + lane->extra_sges;
		stats->signalled += lane->signalled;
		stats->doorbells += lane->stats.doorbells;
	}
}

wrb_export int wrb_lane_stats_get(const struct wrb_queue *queue, uint32_t index,
				  struct wrb_lane_stats *stats)
{
	if (index >= queue->flight.nr_lanes)
		return -EINVAL;
	*stats = queue->flight.lanes[index].stats;
	return 0;
}

wrb_export void wrb_stats_reset(struct wrb_queue *queue)
{
	struct flight *flight = &queue->flight;

	memset(&flight->stats, 0, sizeof(flight->stats));
	for (uint32_t i = 0; i < flight->nr_lanes; i++) {
		struct lane *lane = &flight->lanes[i];

		memset(&lane->stats, 0, sizeof(lane->stats));
		lane->extra_sges = 0;
		lane->signalled = 0;
	}
}
