// SPDX-License-Identifier: GPL-2.0-only
/* Compares plans: explained with posted, and both with the reference. */
#include "plan_check.h"

#include <errno.h>
#include <string.h>

#include "noalloc.h"
#include "../ref/ref_plan.h"

static bool same_wr(const struct wrb_plan_wr *a, const struct wrb_plan_wr *b)
{
	return a->dir == b->dir && a->nr_ops == b->nr_ops &&
	       a->nr_sges == b->nr_sges && a->length == b->length &&
	       a->remote_addr == b->remote_addr && a->rkey == b->rkey &&
	       !a->signalled == !b->signalled && !a->chain_end == !b->chain_end;
}

/* The first of them are the same when there is no room for the others. */
static void explain_some(struct world *world, const struct explained *all)
{
	static struct wrb_plan_wr some[MAX_WRS];
	uint32_t nr = (uint32_t)all->nr;
	uint32_t max = source_below(world->source, nr + 1);

	if (wrb_explain(world->queue, some, max) != all->nr)
		world_fail(world, "wrb_explain() of %u: another number", max);
	for (uint32_t i = 0; i < max; i++)
		if (some[i].lane != all->wrs[i].lane ||
		    !same_wr(&some[i], &all->wrs[i]))
			world_fail(world, "wrb_explain() of %u: WR %u differs",
				   max, i);
}

void plan_explain(struct world *world, struct explained *explained)
{
	uint32_t staged = wrb_staged(world->queue);
	uint32_t inflight = wrb_inflight(world->queue);
	uint64_t calls = noalloc_nr_calls;
	uint32_t nr_posted = world->nr_posted;

	explained->nr = wrb_explain(world->queue, explained->wrs, MAX_WRS);
	if (noalloc_nr_calls != calls)
		world_fail(world, "I9: wrb_explain() allocates");
	if (explained->nr < 0 && explained->nr != -ENOTCONN)
		world_fail(world, "wrb_explain(): %d", explained->nr);
	if (explained->nr > 0 && source_one_in(world->source, 4))
		explain_some(world, explained);
	if (world->nr_posted != nr_posted)
		world_fail(world, "wrb_explain() posts");
	if (wrb_staged(world->queue) != staged ||
	    wrb_inflight(world->queue) != inflight)
		world_fail(world, "wrb_explain() changes what is staged");
}

/* -- the reference --------------------------------------------------------- */

static struct ref_rules rules_of(const struct world *world)
{
	return (struct ref_rules){
		.max_sge = world->max_sge,
		.max_msg_bytes = world->attr.limits.max_msg_bytes,
		.chunk_bytes = world->attr.chunk_bytes,
		.max_chunks = world->attr.max_chunks,
		.merge = world->attr.flags & WRB_MERGE,
		.sort = world->attr.flags & WRB_SORT,
	};
}

static struct ref_op ref_op_of(const struct model_op *op)
{
	bool write = op->op.dir == WRB_WRITE;

	return (struct ref_op){
		.local_addr = (uintptr_t)(write ? op->from : op->to),
		.remote_addr = (uintptr_t)(write ? op->to : op->from),
		.length = op->op.length,
		.local = op->op.local,
		.remote = op->op.remote,
		.dir = op->op.dir,
	};
}

/* The operations that are staged, in the order in which they were added. */
static uint32_t ref_ops_collect(const struct world *world, struct ref_op *ops,
				uint64_t *bytes)
{
	uint32_t nr = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < world->nr_added; i++) {
		const struct model_op *op = world->added[i];

		if (op->done || op->sent_bytes)
			continue;
		ops[nr++] = ref_op_of(op);
		*bytes += op->op.length;
	}
	return nr;
}

/* Pieces of a run may differ by one byte, in any order. */
static bool wr_matches(const struct wrb_plan_wr *wr, const struct ref_wr *ref,
		       bool run_starts)
{
	if (wr->dir != ref->dir || wr->length > ref->length + 1 ||
	    wr->length + 1 < ref->length)
		return false;
	return !run_starts || wr->remote_addr == ref->remote_addr;
}

static void compare(struct world *world, const struct explained *explained,
		    const struct ref_wr *ref, uint32_t nr)
{
	if ((uint32_t)explained->nr != nr) {
		world_fail(world, "I6: %d WRs planned, the reference has %u",
			   explained->nr, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		bool run_starts = !i || ref[i].run != ref[i - 1].run;

		if (!wr_matches(&explained->wrs[i], &ref[i], run_starts))
			world_fail(world,
				   "I6: WR %u of the plan is not the "
				   "reference's",
				   i);
	}
}

static uint64_t explained_bytes(const struct explained *explained)
{
	uint64_t bytes = 0;

	for (int i = 0; i < explained->nr; i++)
		bytes += explained->wrs[i].length;
	return bytes;
}

void plan_check_reference(struct world *world,
			  const struct explained *explained)
{
	static struct ref_wr wrs[MAX_WRS];
	struct ref_op ops[MAX_OPS];
	struct ref_rules rules = rules_of(world);
	uint64_t bytes;
	uint32_t nr;

	if (!world->staged_known || explained->nr < 0 ||
	    explained->nr > MAX_WRS)
		return;
	nr = ref_ops_collect(world, ops, &bytes);
	if (explained_bytes(explained) != bytes)
		return;
	nr = ref_plan(&rules, ops, nr, wrs, MAX_WRS);
	compare(world, explained, wrs, nr);
}

/* -- what was posted ------------------------------------------------------- */

/* The next WR of a lane from i on. */
static uint32_t next_of_lane(const struct wrb_plan_wr *wrs, uint32_t nr,
			     uint32_t i, uint32_t lane)
{
	while (i < nr && wrs[i].lane != lane)
		i++;
	return i;
}

static void check_lane(struct world *world, const struct explained *explained,
		       uint32_t lane)
{
	uint32_t nr = (uint32_t)explained->nr, nr_posted = world->nr_posted;
	uint32_t i = next_of_lane(explained->wrs, nr, 0, lane);
	uint32_t k = next_of_lane(world->posted, nr_posted, 0, lane);

	while (i < nr && k < nr_posted) {
		if (!same_wr(&explained->wrs[i], &world->posted[k])) {
			world_fail(world,
				   "WR %u of the plan was explained "
				   "otherwise than posted",
				   i);
			return;
		}
		i = next_of_lane(explained->wrs, nr, i + 1, lane);
		k = next_of_lane(world->posted, nr_posted, k + 1, lane);
	}
	if (i < nr || k < nr_posted)
		world_fail(world,
			   "lane %u: explained and posted WRs differ "
			   "in number",
			   lane);
}

void plan_check_posted(struct world *world, const struct explained *explained)
{
	if (explained->nr < 0) {
		if (world->nr_posted)
			world_fail(world, "posted without a lane");
		return;
	}
	if ((uint32_t)explained->nr != world->nr_posted)
		world_fail(world, "%d WRs explained, %u posted", explained->nr,
			   world->nr_posted);
	for (uint32_t i = 0; i < world->attr.nr_qps; i++)
		check_lane(world, explained, i);
}
