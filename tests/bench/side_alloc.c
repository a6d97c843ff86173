// SPDX-License-Identifier: GPL-2.0-only
/*
 * A planner as transport libraries have them: a copy of the requests, an array
 * of indices sorted through a comparator where order matters, a pass that makes
 * runs, a zeroed block for each WR and one for its SGEs, arrays of WRs, and a
 * record of each for its completion. Once with a heap block for each of these
 * (side_alloc), once from memory that is kept from batch to batch (side_reuse).
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct alloc_side {
	struct walk_dev dev;
	uint64_t region_bytes;
	uint32_t nr_lanes, lane;
	bool keep; /* take blocks from the arena */
	char *arena;
	size_t used;
};

struct run {
	struct ibv_sge *sges;
	uint32_t nr_sges;
	uint32_t *members; /* indices of requests */
	uint32_t nr_members;
	uint64_t remote;
	uint64_t length;
	enum wrb_dir dir;
};

/* A WR with what it needs at its end; wr_id is its address. */
struct request {
	struct ibv_send_wr wr;
	struct run run;
	uint32_t ends; /* operations that end with it */
};

#define ARENA_BYTES (256u << 20)

static void *take(struct alloc_side *side, size_t bytes)
{
	void *block;

	if (!side->keep) {
		block = malloc(bytes);
		if (!block)
			abort();
		return block;
	}
	bytes = (bytes + 15) & ~(size_t)15;
	block = side->arena + side->used;
	side->used += bytes;
	if (side->used > ARENA_BYTES)
		abort();
	return block;
}

static void give(struct alloc_side *side, void *block)
{
	if (!side->keep)
		free(block);
}

static void *make(const struct bench_work *work, bool keep)
{
	struct alloc_side *side = calloc(1, sizeof(*side));

	if (!side)
		abort();
	walk_dev_init(&side->dev);
	side->region_bytes = work->region_bytes;
	side->nr_lanes = work->lanes;
	side->keep = keep;
	if (!keep)
		return side;
	side->arena = malloc(ARENA_BYTES);
	if (!side->arena)
		abort();
	return side;
}

static void *alloc_make(const struct bench_work *work)
{
	return make(work, false);
}

static void *reuse_make(const struct bench_work *work)
{
	return make(work, true);
}

static int by_remote(const void *a, const void *b, void *ops)
{
	const struct wrb_op *x = &((struct wrb_op *)ops)[*(const uint32_t *)a];
	const struct wrb_op *y = &((struct wrb_op *)ops)[*(const uint32_t *)b];

	return (x->remote_offset > y->remote_offset) -
	       (x->remote_offset < y->remote_offset);
}

static uint32_t *order(struct alloc_side *side, const struct bench_work *work,
		       struct wrb_op *ops)
{
	uint32_t *indices = take(side, work->batch * sizeof(*indices));

	for (uint32_t i = 0; i < work->batch; i++)
		indices[i] = i;
	if (work->shape->sort)
		qsort_r(indices, work->batch, sizeof(*indices), by_remote, ops);
	return indices;
}

static void check(const struct alloc_side *side, const struct wrb_op *ops,
		  uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (ops[i].local_offset + ops[i].length > side->region_bytes ||
		    ops[i].remote_offset + ops[i].length > side->region_bytes)
			abort();
}

static bool joins(const struct bench_work *work, const struct run *run,
		  const struct wrb_op *op)
{
	return work->shape->merge && run->nr_sges &&
	       op->remote_offset == run->remote + run->length &&
	       op->dir == run->dir && run->nr_sges < BENCH_MAX_SGE;
}

static void run_begin(struct alloc_side *side, struct run *run,
		      const struct bench_work *work, const struct wrb_op *op)
{
	uint32_t room = work->shape->merge ? work->batch : 1;

	run->sges = take(side, BENCH_MAX_SGE * sizeof(*run->sges));
	run->members = take(side, room * sizeof(*run->members));
	run->nr_sges = 0;
	run->nr_members = 0;
	run->remote = op->remote_offset;
	run->length = 0;
	run->dir = op->dir;
}

static void run_add(struct run *run, const struct wrb_op *op, uint32_t index)
{
	uint64_t addr = BENCH_BASE + op->local_offset;
	struct ibv_sge *last = run->sges + run->nr_sges - 1;

	if (run->nr_sges && last->addr + last->length == addr)
		last->length += op->length;
	else
		run->sges[run->nr_sges++] = (struct ibv_sge){
			.addr = addr, .length = op->length, .lkey = op->local
		};
	run->members[run->nr_members++] = index;
	run->length += op->length;
}

static uint32_t make_runs(struct alloc_side *side,
			  const struct bench_work *work,
			  const struct wrb_op *ops, const uint32_t *indices,
			  struct run *runs)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < work->batch; i++) {
		const struct wrb_op *op = &ops[indices[i]];

		if (!nr || !joins(work, &runs[nr - 1], op))
			run_begin(side, &runs[nr++], work, op);
		run_add(&runs[nr - 1], op, indices[i]);
	}
	return nr;
}

static struct request *request_new(struct alloc_side *side,
				   const struct run *run, uint64_t at,
				   uint64_t length)
{
	struct request *request = take(side, sizeof(*request));

	memset(request, 0, sizeof(*request));
	request->run = *run;
	request->wr.wr_id = (uintptr_t)request;
	request->wr.opcode =
		run->dir == WRB_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	request->wr.wr.rdma.remote_addr = BENCH_BASE + run->remote + at;
	request->wr.sg_list = run->sges;
	request->wr.num_sge = (int)run->nr_sges;
	if (length != run->length) {
		request->wr.sg_list = take(side, sizeof(struct ibv_sge));
		*request->wr.sg_list = run->sges[0];
		request->wr.sg_list->addr += at;
		request->wr.sg_list->length = (uint32_t)length;
		request->wr.num_sge = 1;
	}
	request->ends = at + length == run->length ? run->nr_members : 0;
	return request;
}

static uint32_t make_requests(struct alloc_side *side,
			      const struct bench_work *work,
			      const struct run *runs, uint32_t nr_runs,
			      struct request **requests)
{
	uint64_t chunk = work->shape->chunk_bytes;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_runs; i++) {
		uint64_t step = chunk ? chunk : runs[i].length;

		for (uint64_t at = 0; at < runs[i].length; at += step)
			requests[nr++] = request_new(side, &runs[i], at, step);
	}
	return nr;
}

static void post(struct alloc_side *side, struct request **requests,
		 uint32_t nr)
{
	struct ibv_qp *qp = side->dev.qp_list[side->lane];
	struct ibv_send_wr *bad;

	side->lane = side->lane + 1 == side->nr_lanes ? 0 : side->lane + 1;
	for (uint32_t i = 0; i + 1 < nr; i++)
		requests[i]->wr.next = &requests[i + 1]->wr;
	requests[nr - 1]->wr.send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(qp, &requests[0]->wr, &bad))
		abort();
}

static void end(struct alloc_side *side, const struct bench_work *work,
		struct request **requests, uint32_t nr)
{
	struct ibv_wc wc[16];
	uint32_t ended = 0;

	while (ibv_poll_cq(&side->dev.cq, 16, wc) > 0)
		;
	for (uint32_t i = 0; i < nr; i++) {
		struct request *request = requests[i];

		for (uint32_t k = 0; k < request->ends; k++) {
			work->done[ended].user =
				work->ops[request->run.members[k]].user;
			work->done[ended++].error = 0;
		}
		if (request->wr.sg_list != request->run.sges)
			give(side, request->wr.sg_list);
		if (request->ends) {
			give(side, request->run.sges);
			give(side, request->run.members);
		}
		give(side, request);
	}
	if (ended != work->batch)
		abort();
}

static void alloc_run(void *arg, const struct bench_work *work)
{
	struct alloc_side *side = arg;
	uint32_t pieces =
		work->shape->chunk_bytes
			? work->shape->op_bytes / work->shape->chunk_bytes
			: 1;
	struct wrb_op *ops;
	struct request **requests;
	struct run *runs;
	uint32_t *indices, nr;

	side->used = 0;
	ops = take(side, work->batch * sizeof(*ops));
	memcpy(ops, work->ops, work->batch * sizeof(*ops));
	check(side, ops, work->batch);
	indices = order(side, work, ops);
	runs = take(side, work->batch * sizeof(*runs));
	nr = make_runs(side, work, ops, indices, runs);
	requests = take(side, (size_t)nr * pieces * sizeof(struct request *));
	nr = make_requests(side, work, runs, nr, requests);
	post(side, requests, nr);
	end(side, work, requests, nr);
	give(side, requests);
	give(side, runs);
	give(side, indices);
	give(side, ops);
}

static void alloc_drop(void *arg)
{
	struct alloc_side *side = arg;

	walk_dev_free(&side->dev);
	free(side->arena);
	free(side);
}

const struct bench_side side_alloc = { "allocating", alloc_make, alloc_run,
				       alloc_drop };
const struct bench_side side_reuse = { "reusing", reuse_make, alloc_run,
				       alloc_drop };
