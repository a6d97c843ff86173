// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: what a person would write by hand for one of the shapes, in plain
 * C: bounds checks, a prefilled template ring, admission, a ring ledger,
 * completion by serial. It knows one region and no failures, and has a loop of
 * its own for each shape; what a general library costs beyond it is the ratio.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct floor_lane {
	struct ibv_qp *qp;
	uint64_t head, tail;
	/* What a WR ends: nr users from first on in the users' ring. */
	struct floor_wr {
		uint32_t first, nr;
	} ring[BENCH_SLOTS];
};

struct sort_key {
	uint64_t key;
	uint32_t index;
};

struct floor_side {
	struct walk_dev dev;
	uint64_t region_bytes;
	uint32_t nr_lanes, lane, chain;
	uint32_t users_head;
	void *users[2 * BENCH_MAX_OPS];
	struct ibv_send_wr wrs[BENCH_CHAIN + 1];
	struct ibv_sge sges[BENCH_CHAIN * BENCH_MAX_SGE];
	struct floor_lane lanes[BENCH_MAX_LANES];
	struct sort_key *keys, *spare;
};

#define USERS_MASK (2 * BENCH_MAX_OPS - 1)

static void *floor_make(const struct bench_work *work)
{
	struct floor_side *side = calloc(1, sizeof(*side));

	if (!side)
		abort();
	walk_dev_init(&side->dev);
	side->region_bytes = work->region_bytes;
	side->nr_lanes = work->lanes;
	for (uint32_t i = 0; i < work->lanes; i++)
		side->lanes[i].qp = side->dev.qp_list[i];
	for (uint32_t i = 0; i < BENCH_CHAIN; i++) {
		side->wrs[i].next = &side->wrs[i + 1];
		side->wrs[i].sg_list = &side->sges[i * BENCH_MAX_SGE];
		side->wrs[i].num_sge = 1;
	}
	side->keys = calloc(BENCH_MAX_OPS, sizeof(*side->keys));
	side->spare = calloc(BENCH_MAX_OPS, sizeof(*side->spare));
	if (!side->keys || !side->spare)
		abort();
	return side;
}

static inline void floor_post(struct floor_side *side, struct floor_lane *lane)
{
	struct ibv_send_wr *last = &side->wrs[side->chain - 1], *bad;

	if (!side->chain)
		return;
	last->send_flags = IBV_SEND_SIGNALED;
	last->next = NULL;
	if (ibv_post_send(lane->qp, side->wrs, &bad))
		abort();
	last->next = last + 1;
	side->chain = 0;
}

static inline bool in_bounds(const struct floor_side *side,
			     const struct wrb_op *op)
{
	return op->length && op->local_offset <= side->region_bytes &&
	       op->length <= side->region_bytes - op->local_offset &&
	       op->remote_offset <= side->region_bytes &&
	       op->length <= side->region_bytes - op->remote_offset;
}

static inline struct ibv_send_wr *floor_wr(struct floor_side *side,
					   struct floor_lane *lane,
					   uint32_t first, uint32_t nr)
{
	struct ibv_send_wr *wr = &side->wrs[side->chain++];
	struct floor_wr *entry = &lane->ring[lane->head & (BENCH_SLOTS - 1)];

	entry->first = first;
	entry->nr = nr;
	wr->wr_id = (uint64_t)(lane - side->lanes) << 48 | lane->head++;
	return wr;
}

static inline void floor_fill(struct ibv_send_wr *wr, const struct wrb_op *op,
			      uint64_t skip, uint32_t length)
{
	wr->opcode = op->dir == WRB_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->send_flags = 0;
	wr->num_sge = 1;
	wr->wr.rdma.remote_addr = BENCH_BASE + op->remote_offset + skip;
	wr->wr.rdma.rkey = op->remote;
	wr->sg_list[0].addr = BENCH_BASE + op->local_offset + skip;
	wr->sg_list[0].length = length;
	wr->sg_list[0].lkey = op->local;
}

static inline void floor_admit(struct floor_side *side, struct floor_lane *lane,
			       const struct wrb_op *op)
{
	if (!in_bounds(side, op) || lane->head - lane->tail == BENCH_SLOTS)
		abort();
}

static inline uint32_t floor_user(struct floor_side *side,
				  const struct wrb_op *op)
{
	side->users[side->users_head & USERS_MASK] = op->user;
	return side->users_head++;
}

static inline void floor_flush(struct floor_side *side, struct floor_lane *lane)
{
	if (side->chain == BENCH_CHAIN)
		floor_post(side, lane);
}

/* One WR for each operation. */
static void plain(struct floor_side *side, struct floor_lane *lane,
		  const struct bench_work *work)
{
	for (uint32_t i = 0; i < work->batch; i++) {
		const struct wrb_op *op = &work->ops[i];

		floor_admit(side, lane, op);
		floor_fill(floor_wr(side, lane, floor_user(side, op), 1), op, 0,
			   op->length);
		floor_flush(side, lane);
	}
}

/* Each operation in pieces of chunk_bytes; the last piece ends it. */
static void cut(struct floor_side *side, struct floor_lane *lane,
		const struct bench_work *work)
{
	uint32_t chunk = work->shape->chunk_bytes;

	for (uint32_t i = 0; i < work->batch; i++) {
		const struct wrb_op *op = &work->ops[i];
		uint32_t user = floor_user(side, op);

		for (uint32_t at = 0; at < op->length; at += chunk) {
			uint32_t rest = op->length - at;

			floor_admit(side, lane, op);
			floor_fill(floor_wr(side, lane, user, rest <= chunk),
				   op, at, rest < chunk ? rest : chunk);
			floor_flush(side, lane);
		}
	}
}

/* The operation at place i, in the order in which they are to be sent. */
static inline const struct wrb_op *
op_at(const struct floor_side *side, const struct bench_work *work, uint32_t i)
{
	return &work->ops[work->shape->sort ? side->keys[i].index : i];
}

/* Neighbours in remote memory go out in one WR. */
static void merge(struct floor_side *side, struct floor_lane *lane,
		  const struct bench_work *work)
{
	uint32_t i = 0;

	while (i < work->batch) {
		const struct wrb_op *op = op_at(side, work, i);
		uint32_t first = floor_user(side, op);
		struct ibv_send_wr *wr = floor_wr(side, lane, first, 1);
		struct ibv_sge *sge = wr->sg_list;
		uint64_t end = op->remote_offset + op->length;

		floor_admit(side, lane, op);
		floor_fill(wr, op, 0, op->length);
		while (++i < work->batch) {
			const struct wrb_op *next = op_at(side, work, i);
			uint64_t addr = BENCH_BASE + next->local_offset;

			if (next->remote_offset != end || next->dir != op->dir)
				break;
			if (addr != sge->addr + sge->length) {
				if (wr->num_sge == BENCH_MAX_SGE)
					break;
				sge = &wr->sg_list[wr->num_sge++];
				sge->addr = addr;
				sge->length = 0;
				sge->lkey = next->local;
			}
			floor_admit(side, lane, next);
			sge->length += next->length;
			end += next->length;
			floor_user(side, next);
		}
		lane->ring[(lane->head - 1) & (BENCH_SLOTS - 1)].nr =
			side->users_head - first;
		floor_flush(side, lane);
	}
}

static void insertion(struct sort_key *keys, uint32_t nr)
{
	for (uint32_t i = 1; i < nr; i++) {
		struct sort_key key = keys[i];
		uint32_t k = i;

		for (; k && keys[k - 1].key > key.key; k--)
			keys[k] = keys[k - 1];
		keys[k] = key;
	}
}

static void radix(const struct sort_key *from, struct sort_key *to, uint32_t nr,
		  uint32_t shift)
{
	uint32_t place[256] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		place[from[i].key >> shift & 255]++;
	for (uint32_t d = 0; d < 256; d++) {
		uint32_t count = place[d];

		place[d] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < nr; i++)
		to[place[from[i].key >> shift & 255]++] = from[i];
}

static void sort(struct floor_side *side, const struct bench_work *work)
{
	uint64_t differ = 0;

	for (uint32_t i = 0; i < work->batch; i++) {
		side->keys[i].key = work->ops[i].remote_offset;
		side->keys[i].index = i;
		differ |= side->keys[i].key ^ side->keys[0].key;
	}
	if (work->batch <= 32) {
		insertion(side->keys, work->batch);
		return;
	}
	for (uint32_t shift = (uint32_t)__builtin_ctzll(differ);
	     shift < 64 && differ >> shift; shift += 8) {
		struct sort_key *swap = side->keys;

		radix(side->keys, side->spare, work->batch, shift);
		side->keys = side->spare;
		side->spare = swap;
	}
}

static uint32_t retire(struct floor_side *side, const struct bench_work *work)
{
	struct ibv_wc wc[16];
	uint32_t ended = 0;
	int nr;

	while ((nr = ibv_poll_cq(&side->dev.cq, 16, wc)) > 0)
		for (int i = 0; i < nr; i++) {
			struct floor_lane *lane =
				&side->lanes[wc[i].wr_id >> 48];
			uint64_t end = (wc[i].wr_id & 0xffffffffffff) + 1;

			if (wc[i].status)
				abort();
			while (lane->tail != end) {
				struct floor_wr *wr =
					&lane->ring[lane->tail++ &
						    (BENCH_SLOTS - 1)];

				for (uint32_t k = 0; k < wr->nr; k++) {
					struct wrb_done *done =
						&work->done[ended++];

					done->user =
						side->users[(wr->first + k) &
							    USERS_MASK];
					done->error = 0;
				}
			}
		}
	return ended;
}

static void floor_run(void *arg, const struct bench_work *work)
{
	struct floor_side *side = arg;
	struct floor_lane *lane = &side->lanes[side->lane];

	side->lane = side->lane + 1 == side->nr_lanes ? 0 : side->lane + 1;
	if (work->shape->sort)
		sort(side, work);
	if (work->shape->chunk_bytes)
		cut(side, lane, work);
	else if (work->shape->merge)
		merge(side, lane, work);
	else
		plain(side, lane, work);
	floor_post(side, lane);
	if (retire(side, work) != work->batch)
		abort();
}

static void floor_drop(void *arg)
{
	struct floor_side *side = arg;

	walk_dev_free(&side->dev);
	free(side->keys);
	free(side->spare);
	free(side);
}

const struct bench_side side_floor = { "floor", floor_make, floor_run,
				       floor_drop };
