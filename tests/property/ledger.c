// SPDX-License-Identifier: GPL-2.0-only
/* Looks at every chain that is posted and every CQE that is polled. */
#include "ledger.h"

#include <errno.h>
#include <string.h>

#include "model.h"

/* A callback of the device has no argument of ours. */
static struct world *the_world;
static int (*device_post)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr);
static int (*device_poll)(struct ibv_cq *cq, int nr, struct ibv_wc *wc);

static uint32_t lane_held(const struct ledger_lane *lane)
{
	return lane->head - lane->tail;
}

static struct ledger_wr *lane_wr(struct ledger_lane *lane, uint32_t serial)
{
	return &lane->ring[serial % RING];
}

static uint32_t lane_index(const struct world *world,
			   const struct ledger_lane *lane)
{
	return (uint32_t)(lane - world->lanes);
}

static enum wrb_lane_status lane_status(const struct world *world,
					const struct ledger_lane *lane)
{
	struct wrb_lane_info info = { .state = WRB_LANE_DEAD };

	wrb_lane_state(world->queue, lane_index(world, lane), &info);
	return info.state;
}

/* -- I2: fit --------------------------------------------------------------- */

/* The region that wholly holds a range; -1: none does. */
static int region_of(const struct side *side, uint64_t addr, uint64_t length)
{
	uint64_t offset = addr - (uintptr_t)side->bytes;
	uint32_t region = (uint32_t)(offset / side->region_bytes);

	if (offset >= SIDE_BYTES || region >= side->nr_regions)
		return -1;
	if (offset + length > (region + 1ull) * side->region_bytes)
		return -1;
	return (int)region;
}

static void check_sge(struct world *world, uint32_t lane,
		      const struct ibv_sge *sge)
{
	const struct side *side = &world->side[WRB_LOCAL];
	int region = region_of(side, sge->addr, sge->length);

	if (!sge->length)
		world_fail(world, "I2: an empty SGE");
	else if (region < 0)
		world_fail(world, "I2: an SGE outside of every region");
	else if (side->keys[region][lane].lkey != sge->lkey)
		world_fail(world, "I2: an SGE with a key not of its lane");
}

static void check_remote(struct world *world, uint32_t lane,
			 const struct ibv_send_wr *wr, uint64_t length)
{
	const struct side *side = &world->side[WRB_REMOTE];
	int region = region_of(side, wr->wr.rdma.remote_addr, length);

	if (region < 0)
		world_fail(world, "I2: a WR outside of every remote region");
	else if (side->keys[region][lane].rkey != wr->wr.rdma.rkey)
		world_fail(world, "I2: a WR with a key not of its lane");
}

static void check_length(struct world *world, const struct ibv_send_wr *wr,
			 uint64_t length)
{
	const struct wrb_attr *attr = &world->attr;

	if (length > attr->limits.max_msg_bytes)
		world_fail(world,
			   "I2: a WR of %ju bytes, the message limit "
			   "is %u",
			   (uintmax_t)length, attr->limits.max_msg_bytes);
	if (attr->chunk_bytes && !attr->max_chunks &&
	    length > attr->chunk_bytes)
		world_fail(world, "I2: a WR of %ju bytes, chunks have %u",
			   (uintmax_t)length, attr->chunk_bytes);
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return;
	if (wr->opcode != IBV_WR_RDMA_WRITE || length > attr->limits.max_inline)
		world_fail(world, "I2: %ju bytes inline, opcode %d",
			   (uintmax_t)length, wr->opcode);
}

static void check_fit(struct world *world, uint32_t lane,
		      const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	if (wr->num_sge < 1 || (uint32_t)wr->num_sge > world->max_sge) {
		world_fail(world, "I2: a WR with %d SGEs", wr->num_sge);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		check_sge(world, lane, &wr->sg_list[i]);
		length += wr->sg_list[i].length;
	}
	check_length(world, wr, length);
	check_remote(world, lane, wr, length);
}

/* -- I3: shape ------------------------------------------------------------- */

/* How many WRs a chain has; 0 when it does not end in time. */
static uint32_t chain_length(struct world *world, const struct ibv_send_wr *wr)
{
	uint32_t nr;

	for (nr = 0; wr && nr <= world->max_chain; nr++)
		wr = wr->next;
	if (!wr && nr)
		return nr;
	world_fail(world, "I3: a chain with a cycle, or of more than %u WRs",
		   world->max_chain);
	return 0;
}

static void check_opcode(struct world *world, const struct ibv_send_wr *wr)
{
	if (wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ)
		world_fail(world, "I3: a WR with opcode %d", wr->opcode);
	if (wr->send_flags & ~(unsigned)(IBV_SEND_SIGNALED | IBV_SEND_INLINE))
		world_fail(world, "I3: a WR with flags 0x%x", wr->send_flags);
}

/* -- I4: room -------------------------------------------------------------- */

static void check_room(struct world *world, struct ledger_lane *lane)
{
	if (lane_held(lane) > world->slots)
		world_fail(world, "I4: lane %u: %u WRs in flight, %u slots",
			   lane_index(world, lane), lane_held(lane),
			   world->slots);
	if (lane->nr_reads > world->read_depth)
		world_fail(world, "I4: lane %u: %u READs in flight, of %u",
			   lane_index(world, lane), lane->nr_reads,
			   world->read_depth);
}

/* -- I5: signal ------------------------------------------------------------ */

static void check_signal(struct world *world, struct ledger_lane *lane,
			 const struct ibv_send_wr *wr)
{
	bool signalled = wr->send_flags & IBV_SEND_SIGNALED;
	uint32_t interval = world->attr.signal_interval;

	lane->nr_silent = signalled ? 0 : lane->nr_silent + 1;
	if (!wr->next && !signalled)
		world_fail(world, "I5: the last WR of a chain is silent");
	if (interval && lane->nr_silent >= interval)
		world_fail(world, "I5: %u WRs without a signalled one, of %u",
			   lane->nr_silent, interval);
}

/* -- posting --------------------------------------------------------------- */

static struct ledger_wr wr_copy(const struct ibv_send_wr *wr)
{
	struct ledger_wr copy = {
		.wr_id = wr->wr_id,
		.remote_addr = wr->wr.rdma.remote_addr,
		.nr_sges = (uint32_t)wr->num_sge,
		.dir = wr->opcode == IBV_WR_RDMA_READ ? WRB_READ : WRB_WRITE,
		.signalled = wr->send_flags & IBV_SEND_SIGNALED,
	};

	for (int i = 0; i < wr->num_sge; i++)
		copy.sges[i] = wr->sg_list[i];
	return copy;
}

static void lane_hold(struct ledger_lane *lane, const struct ledger_wr *wr)
{
	*lane_wr(lane, lane->head++) = *wr;
	lane->nr_reads += wr->dir == WRB_READ;
}

/* As wrb_explain() would tell it. */
static void note_posted(struct world *world, const struct ledger_lane *lane,
			const struct ibv_send_wr *wr, uint32_t nr_ops)
{
	struct wrb_plan_wr *posted = &world->posted[world->nr_posted++];

	*posted = (struct wrb_plan_wr){
		.lane = lane_index(world, lane),
		.dir = wr->opcode == IBV_WR_RDMA_READ ? WRB_READ : WRB_WRITE,
		.nr_ops = nr_ops,
		.nr_sges = (uint32_t)wr->num_sge,
		.remote_addr = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
		.signalled = !!(wr->send_flags & IBV_SEND_SIGNALED),
		.chain_end = !wr->next,
	};
	for (int i = 0; i < wr->num_sge; i++)
		posted->length += wr->sg_list[i].length;
}

static void count_posted(struct world *world, const struct ledger_wr *wr)
{
	struct totals *totals = &world->totals;

	totals->wrs++;
	totals->sges += wr->nr_sges;
	totals->signalled += wr->signalled;
	for (uint32_t i = 0; i < wr->nr_sges; i++)
		totals->bytes += wr->sges[i].length;
}

static void post_one(struct world *world, struct ledger_lane *lane,
		     const struct ibv_send_wr *wr)
{
	struct ledger_wr copy;
	uint32_t nr_ops;

	check_opcode(world, wr);
	check_fit(world, lane_index(world, lane), wr);
	check_signal(world, lane, wr);
	if (world_failed(world))
		return;
	copy = wr_copy(wr);
	nr_ops = model_wr(world, &copy, MODEL_POST);
	note_posted(world, lane, wr, nr_ops);
	count_posted(world, &copy);
	lane_hold(lane, &copy);
	check_room(world, lane);
}

/* The last nr of the WRs that a lane holds were not taken. */
static void refuse(struct world *world, struct ledger_lane *lane, uint32_t nr)
{
	for (; nr; nr--) {
		struct ledger_wr *wr = lane_wr(lane, --lane->head);

		model_wr(world, wr, MODEL_REFUSE);
		lane->nr_reads -= wr->dir == WRB_READ;
		world->totals.wrs--;
		world->totals.sges -= wr->nr_sges;
		world->totals.signalled -= wr->signalled;
		for (uint32_t i = 0; i < wr->nr_sges; i++)
			world->totals.bytes -= wr->sges[i].length;
	}
}

/* How many WRs of a chain are not taken; without bad_wr all may be. */
static uint32_t nr_refused(const struct ibv_send_wr *wr,
			   const struct ibv_send_wr *bad, uint32_t nr)
{
	if (!bad)
		return 0;
	for (; wr != bad; wr = wr->next)
		nr--;
	return nr;
}

static int post_chain(struct world *world, struct ledger_lane *lane,
		      struct ibv_send_wr *chain, struct ibv_send_wr **bad_wr)
{
	uint32_t nr = chain_length(world, chain);
	int rc;

	if (lane_status(world, lane) != WRB_LANE_READY)
		world_fail(world, "a chain for a lane that is not ready");
	for (struct ibv_send_wr *wr = chain; wr && nr; wr = wr->next)
		if (!world_failed(world))
			post_one(world, lane, wr);
	if (world_failed(world)) {
		*bad_wr = chain;
		return EIO;
	}
	world->totals.doorbells++;
	rc = device_post(lane->qp, chain, bad_wr);
	if (!rc)
		return 0;
	world->totals.shorts++;
	if (!(world->faults &
	      (1u << MEMDEV_FAIL_POST | 1u << MEMDEV_FAIL_DOORBELL)))
		world_fail(world, "the device refused a WR: %d", rc);
	refuse(world, lane, nr_refused(chain, *bad_wr, nr));
	return rc;
}

/* The WR that shows that a lane's QP was drained. */
static int post_marker(struct world *world, struct ledger_lane *lane,
		       struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct ledger_wr copy = wr_copy(wr);
	int rc;

	if (lane_status(world, lane) != WRB_LANE_DRAINING)
		world_fail(world, "a marker on a lane that does not drain");
	if (wr->next || !copy.signalled)
		world_fail(world, "a marker that is silent or has company");
	rc = device_post(lane->qp, wr, bad_wr);
	if (rc && *bad_wr)
		return rc;
	lane_hold(lane, &copy);
	if (lane_held(lane) > world->slots + 1)
		world_fail(world, "I4: a marker without a slot");
	return rc;
}

static int ledger_post(struct ibv_qp *qp, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad_wr)
{
	struct ledger_lane *lane = qp->qp_context;

	if (!wr->num_sge)
		return post_marker(the_world, lane, wr, bad_wr);
	return post_chain(the_world, lane, wr, bad_wr);
}

/* -- polling --------------------------------------------------------------- */

static void lane_retire(struct world *world, struct ledger_lane *lane)
{
	struct ledger_wr *wr = lane_wr(lane, lane->tail++);

	model_wr(world, wr, MODEL_OVER);
	lane->nr_reads -= wr->dir == WRB_READ;
}

static struct ledger_lane *lane_of_qp(struct world *world, uint32_t qp_num)
{
	for (uint32_t i = 0; i < world->attr.nr_qps; i++) {
		struct ledger_lane *lane = &world->lanes[i];

		if (lane->qp && lane->qp->qp_num == qp_num)
			return lane;
	}
	return NULL;
}

static void see_cqe(struct world *world, const struct ibv_wc *wc)
{
	struct ledger_lane *lane = lane_of_qp(world, wc->qp_num);
	uint32_t end;

	world->totals.cqes++;
	if (!lane) {
		world_fail(world, "a CQE of a QP that is no more");
		return;
	}
	for (end = lane->tail; end != lane->head; end++)
		if (lane_wr(lane, end)->wr_id == wc->wr_id)
			break;
	if (end == lane->head) {
		world_fail(world, "a CQE of a WR that is not in flight");
		return;
	}
	if (wc->status != IBV_WC_SUCCESS)
		model_wr(world, lane_wr(lane, end), MODEL_FAIL);
	while (lane->tail != end + 1)
		lane_retire(world, lane);
}

static int ledger_poll(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	int polled = device_poll(cq, nr, wc);

	for (int i = 0; i < polled; i++)
		see_cqe(the_world, &wc[i]);
	if (polled < 0 && !(the_world->faults & 1u << MEMDEV_FAIL_POLL))
		world_fail(the_world, "I4: polling failed: %d", polled);
	return polled;
}

/* -- life ------------------------------------------------------------------ */

void ledger_attach(struct world *world)
{
	struct ibv_context *context = memdev_context(world->dev);

	the_world = world;
	device_post = context->ops.post_send;
	device_poll = context->ops.poll_cq;
	context->ops.post_send = ledger_post;
	context->ops.poll_cq = ledger_poll;
}

void ledger_lane_start(struct world *world, uint32_t index, struct ibv_qp *qp)
{
	struct ledger_lane *lane = &world->lanes[index];

	lane->qp = qp;
	lane->head = 0;
	lane->tail = 0;
	lane->nr_reads = 0;
	lane->nr_silent = 0;
	qp->qp_context = lane;
}

void ledger_lane_end(struct world *world, uint32_t index)
{
	struct ledger_lane *lane = &world->lanes[index];

	while (lane->tail != lane->head)
		lane_retire(world, lane);
	lane->qp = NULL;
}

static void lane_check_live(struct world *world, struct ledger_lane *lane)
{
	if (!lane_held(lane) || lane_status(world, lane) != WRB_LANE_READY)
		return;
	if (!lane_wr(lane, lane->head - 1)->signalled)
		world_fail(world,
			   "I8: lane %u: nothing will tell of its last "
			   "WR",
			   lane_index(world, lane));
}

void ledger_check_live(struct world *world)
{
	for (uint32_t i = 0; i < world->attr.nr_qps; i++)
		lane_check_live(world, &world->lanes[i]);
}
