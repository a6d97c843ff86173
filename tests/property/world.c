// SPDX-License-Identifier: GPL-2.0-only
/* Makes a case's device, memory, faults and queue. */
#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "noalloc.h"

void world_fail(struct world *world, const char *format, ...)
{
	va_list args;

	if (world_failed(world))
		return;
	va_start(args, format);
	vsnprintf(world->why, sizeof(world->why), format, args);
	va_end(args);
}

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "cannot set up a case: %s: %d\n", what, failed);
	abort();
}

/* -- what the queue is like ------------------------------------------------ */

static void choose_limits(struct source *src, struct wrb_limits *limits,
			  uint32_t nr_lanes)
{
	bool roomy = source_one_in(src, 3);

	limits->max_send_wr =
		roomy ? MAX_SLOTS + 1 : source_range(src, 2, MAX_SLOTS + 1);
	if (!roomy && source_one_in(src, 3))
		limits->max_send_wr = source_range(src, 2, 6);
	limits->max_send_sge = source_range(src, 1, MAX_SGES);
	limits->max_inline =
		source_one_in(src, 2) ? source_range(src, 1, 256) : 0;
	limits->max_cqe = limits->max_send_wr * nr_lanes;
	limits->max_msg_bytes =
		source_one_in(src, 2) ? source_range(src, 16, 2000) : 1u << 30;
}

static uint32_t choose_max_ops(struct source *src)
{
	return source_one_in(src, 3) ? source_range(src, 1, 8)
				     : source_range(src, 8, 100);
}

static void log_count(void *arg, const char *line)
{
	struct world *world = arg;

	world->nr_logged += line[0] != '\0';
}

/* A number that is 0 half of the time. */
static uint32_t maybe(struct source *src, uint32_t most)
{
	return source_one_in(src, 2) ? source_range(src, 1, most) : 0;
}

/* Completes what was chosen, with the defaults that wrb.h tells. */
static void attr_complete(struct world *world)
{
	struct wrb_attr *attr = &world->attr;

	attr->qp_error = memdev_qp_error;
	attr->log_arg = world;
	world->slots = attr->limits.max_send_wr - 1;
	world->max_sge =
		attr->max_sge ? attr->max_sge : attr->limits.max_send_sge;
	world->read_depth = attr->read_depth ? attr->read_depth : world->slots;
	world->max_chain = attr->max_chain ? attr->max_chain : world->slots;
}

static void choose_attr(struct world *world)
{
	struct source *src = world->source;
	struct wrb_attr *attr = &world->attr;
	bool tiny = source_one_in(src, 8);

	wrb_attr_init(attr);
	attr->nr_qps =
		source_one_in(src, 200) ? MAX_LANES : source_range(src, 1, 8);
	choose_limits(src, &attr->limits, attr->nr_qps);
	attr->max_ops = choose_max_ops(src);
	attr->chunk_bytes = maybe(src, tiny ? 16 : 600);
	attr->max_chunks = maybe(src, 6);
	attr->max_sge = source_below(src, attr->limits.max_send_sge + 1);
	attr->signal_interval = maybe(src, 8);
	attr->read_depth = maybe(src, 8);
	attr->max_chain = maybe(src, 8);
	attr->flags = source_below(src, 4);
	attr->stripe = (enum wrb_stripe)source_below(src, 4);
	attr->log = source_one_in(src, 2) ? log_count : NULL;
}

static void fix_attr(struct world *world, const struct world_fixed *fixed)
{
	world->attr = fixed->attr;
	world->attr.log = log_count;
}

/* -- memory ---------------------------------------------------------------- */

static uint8_t source_byte(uint32_t i)
{
	return (uint8_t)((i * 2654435761u >> 16) & 0x7f);
}

static uint8_t *region_start(struct side *side, uint32_t region)
{
	return side->bytes + region * side->region_bytes;
}

static void side_register(struct world *world, struct side *side,
			  uint32_t region, uint32_t lane)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_WRITE;

	must(memdev_mr_reg(world->dev, region_start(side, region),
			   side->region_bytes, access,
			   &side->keys[region][lane]),
	     "memory region");
}

static void image_fill(uint8_t *image, const struct side *side)
{
	for (uint32_t i = 0; i < SIDE_BYTES; i++) {
		uint32_t part = i % side->region_bytes / quarter(side);

		image[i] = source_byte(i) | (part == 1 || part == 2 ? 0x80 : 0);
	}
}

const uint8_t *world_image(const struct side *side)
{
	static uint8_t images[MAX_REGIONS + 1][SIDE_BYTES];
	static bool filled[MAX_REGIONS + 1];

	if (!filled[side->nr_regions])
		image_fill(images[side->nr_regions], side);
	filled[side->nr_regions] = true;
	return images[side->nr_regions];
}

static void side_open(struct world *world, struct side *side)
{
	uint32_t nr = source_range(world->source, 1, MAX_REGIONS);

	side->nr_regions = nr;
	side->region_bytes = SIDE_BYTES / nr;
	memcpy(side->bytes, world_image(side), SIDE_BYTES);
	memset(side->owner, 0, sizeof(side->owner));
	memset(side->sent, 0, sizeof(side->sent));
	memset(side->given, 0, sizeof(side->given));
	for (uint32_t r = 0; r < nr; r++)
		for (uint32_t i = 0; i < world->attr.nr_qps; i++)
			side_register(world, side, r, i);
}

static uint32_t key_of(const struct side *side, enum wrb_side which,
		       uint32_t region, uint32_t lane)
{
	const struct memdev_mr *mr = &side->keys[region][lane];

	return which == WRB_LOCAL ? mr->lkey : mr->rkey;
}

static void side_add_regions(struct world *world, enum wrb_side which)
{
	struct side *side = &world->side[which];
	uint32_t keys[MAX_LANES];
	struct wrb_region region = { .side = which, .keys = keys };

	for (uint32_t r = 0; r < side->nr_regions; r++) {
		for (uint32_t i = 0; i < world->attr.nr_qps; i++)
			keys[i] = key_of(side, which, r, i);
		region.addr = (uintptr_t)region_start(side, r);
		region.length = side->region_bytes;
		side->ids[r] = wrb_region_add(world->queue, &region);
		must(side->ids[r] < 0, "region");
	}
}

/* -- faults ---------------------------------------------------------------- */

static int choose_errno(struct source *src)
{
	static const int errnos[] = {
		ENOMEM, EINVAL, EIO, -EIO, -ENOMEM, 4095
	};

	return source_pick(src, errnos);
}

static int choose_status(struct source *src)
{
	static const int statuses[] = { IBV_WC_REM_ACCESS_ERR,
					IBV_WC_RETRY_EXC_ERR,
					IBV_WC_RNR_RETRY_EXC_ERR,
					IBV_WC_LOC_PROT_ERR };

	return source_pick(src, statuses);
}

static int choose_value(struct source *src, enum memdev_fault_kind kind)
{
	switch (kind) {
	case MEMDEV_FAIL_WR:
		return choose_status(src);
	case MEMDEV_FAIL_POST:
	case MEMDEV_FAIL_DOORBELL:
		return choose_errno(src);
	default:
		return EIO;
	}
}

static void set_fault(struct world *world, const struct memdev_fault *fault)
{
	must(memdev_fault_add(world->dev, fault), "fault");
	world->faults |= 1u << fault->kind;
	world->lasting |= fault->every != 0;
}

static void choose_fault(struct world *world)
{
	struct source *src = world->source;
	struct memdev_fault fault = {
		.kind = source_below(src, MEMDEV_FAIL_QP_ERROR + 1),
		.nth = source_range(src, 1, source_one_in(src, 2) ? 6 : 50),
		.every = source_one_in(src, 3) ? source_range(src, 1, 20) : 0,
		.taken = source_below(src, 6),
	};

	/*
	 * A lost CQE is a broken device; what it means together with failures
	 * is nowhere said.
	 */
	if (fault.kind == MEMDEV_DROP_CQE && world->faults)
		return;
	if (world->faults & 1u << MEMDEV_DROP_CQE)
		return;
	fault.value = choose_value(src, fault.kind);
	set_fault(world, &fault);
}

static void fix_faults(struct world *world, const struct world_fixed *fixed)
{
	for (size_t i = 0; i < 2; i++)
		if (fixed->faults[i].nth)
			set_fault(world, &fixed->faults[i]);
}

static void choose_device_mood(struct world *world)
{
	struct source *src = world->source;

	if (source_one_in(src, 2))
		memdev_schedule(world->dev, source_range(src, 1, 65536),
				source_range(src, 1, 12));
	if (!source_one_in(src, 3))
		return;
	for (uint32_t n = source_range(src, 1, 3); n; n--)
		choose_fault(world);
}

/* -- life ------------------------------------------------------------------ */

struct ibv_qp *world_qp_new(struct world *world, uint32_t lane)
{
	struct ibv_qp *qp;

	must(memdev_qp_create(world->dev, world->cq, &world->cap, &qp), "QP");
	ledger_lane_start(world, lane, qp);
	return qp;
}

void world_qp_destroy(struct world *world, uint32_t lane)
{
	struct ibv_qp *qp = world->lanes[lane].qp;

	if (!qp)
		return;
	memdev_qp_destroy(qp);
	ledger_lane_end(world, lane);
}

static void rekey_side(struct world *world, enum wrb_side which, uint32_t lane)
{
	struct side *side = &world->side[which];

	for (uint32_t r = 0; r < side->nr_regions; r++) {
		must(memdev_mr_dereg(world->dev, side->keys[r][lane].lkey),
		     "deregister");
		side_register(world, side, r, lane);
		must(wrb_region_rekey(world->queue, side->ids[r], lane,
				      key_of(side, which, r, lane)),
		     "rekey");
	}
}

void world_rekey(struct world *world, uint32_t lane)
{
	rekey_side(world, WRB_LOCAL, lane);
	rekey_side(world, WRB_REMOTE, lane);
}

static void world_forget(struct world *world, struct source *source)
{
	world->source = source;
	world->why[0] = '\0';
	world->faults = 0;
	world->lasting = false;
	world->aborted = false;
	world->nr_ops = 0;
	world->nr_added = 0;
	world->nr_done = 0;
	world->staged_known = true;
	world->nr_posted = 0;
	memset(&world->totals, 0, sizeof(world->totals));
	memset(world->ops, 0, sizeof(world->ops));
}

static void device_open(struct world *world)
{
	const struct wrb_limits *limits = &world->attr.limits;
	struct memdev_attr attr = { .max_msg_bytes = limits->max_msg_bytes };

	world->cap = (struct ibv_qp_cap){
		.max_send_wr = limits->max_send_wr,
		.max_send_sge = limits->max_send_sge,
		.max_inline_data = limits->max_inline,
	};
	must(memdev_open(&attr, &world->dev), "device");
	must(memdev_cq_create(world->dev, limits->max_cqe, &world->cq), "CQ");
	ledger_attach(world);
}

void world_open(struct world *world, struct source *source,
		const struct world_fixed *fixed)
{
	struct ibv_qp *qps[MAX_LANES];

	world_forget(world, source);
	if (fixed)
		fix_attr(world, fixed);
	else
		choose_attr(world);
	attr_complete(world);
	device_open(world);
	side_open(world, &world->side[WRB_LOCAL]);
	side_open(world, &world->side[WRB_REMOTE]);
	for (uint32_t i = 0; i < world->attr.nr_qps; i++)
		qps[i] = world_qp_new(world, i);
	world->attr.qps = qps;
	world->attr.cq = world->cq;
	must(wrb_queue_create(&world->attr, &world->queue), "queue");
	world->attr.qps = NULL;
	side_add_regions(world, WRB_LOCAL);
	side_add_regions(world, WRB_REMOTE);
	if (fixed)
		fix_faults(world, fixed);
	else
		choose_device_mood(world);
}

void world_close(struct world *world)
{
	for (uint32_t i = 0; i < world->attr.nr_qps; i++)
		world_qp_destroy(world, i);
	wrb_queue_destroy(world->queue);
	memdev_close(world->dev);
}
