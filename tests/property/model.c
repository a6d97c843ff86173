// SPDX-License-Identifier: GPL-2.0-only
/* What each operation is to move, what WRs move of it, and how it ends. */
#include "model.h"

#include <errno.h>
#include <string.h>

static struct side *side_of(struct world *world, enum wrb_side which)
{
	return &world->side[which];
}

/* The side that an operation writes to. */
static enum wrb_side to_side(enum wrb_dir dir)
{
	return dir == WRB_WRITE ? WRB_REMOTE : WRB_LOCAL;
}

/* -- new operations -------------------------------------------------------- */

/* An offset in a region's middle that nobody had; 0: it is full. */
static uint32_t give_place(struct world *world, struct side *side,
			   uint32_t region, uint32_t length, bool adjacent)
{
	uint32_t gap = adjacent ? 0 : source_range(world->source, 1, 16);
	uint32_t start = side->given[region] + gap;

	if (start + length > 2 * quarter(side))
		return 0;
	side->given[region] = start + length;
	return quarter(side) + start;
}

static bool is_source(const struct side *side, uint32_t offset, uint32_t length)
{
	uint32_t end = offset + length;

	return end <= quarter(side) ||
	       (offset >= 3 * quarter(side) && end <= side->region_bytes);
}

/* An offset in the first or the last quarter of a region. */
static uint32_t find_source(struct world *world, const struct side *side,
			    uint32_t next, uint32_t length, bool adjacent)
{
	uint32_t start =
		source_one_in(world->source, 2) ? 3 * quarter(side) : 0;

	if (adjacent && next != MODEL_NONE && is_source(side, next, length))
		return next;
	/* So that operations with the same address are not too rare. */
	if (source_one_in(world->source, 6))
		return start;
	return start + source_below(world->source, quarter(side) - length + 1);
}

struct model_op *model_op_new(struct world *world, struct model_cursor *cursor,
			      uint32_t length, const bool adjacent[2])
{
	enum wrb_side to = to_side(cursor->dir), from = !to;
	struct side *to_mem = side_of(world, to);
	struct side *from_mem = side_of(world, from);
	struct model_op *op = &world->ops[world->nr_ops];
	uint32_t offset[2];

	if (world->nr_ops == MAX_OPS)
		return NULL;
	offset[to] = give_place(world, to_mem, cursor->region[to], length,
				adjacent[to]);
	if (!offset[to])
		return NULL;
	offset[from] = find_source(world, from_mem, cursor->next[from], length,
				   adjacent[from]);
	cursor->next[from] = offset[from] + length;
	world->nr_ops++;
	op->to = to_mem->bytes + cursor->region[to] * to_mem->region_bytes +
		 offset[to];
	op->from = from_mem->bytes +
		   cursor->region[from] * from_mem->region_bytes + offset[from];
	op->op = (struct wrb_op){
		.user = op,
		.local_offset = offset[WRB_LOCAL],
		.remote_offset = offset[WRB_REMOTE],
		.length = length,
		.local = (uint16_t)world->side[WRB_LOCAL]
				 .ids[cursor->region[WRB_LOCAL]],
		.remote = (uint16_t)world->side[WRB_REMOTE]
				  .ids[cursor->region[WRB_REMOTE]],
		.dir = cursor->dir,
	};
	return op;
}

/* Enters whose the bytes are that an operation writes; 0: nobody's. */
static void own(struct world *world, const struct model_op *op, uint16_t number)
{
	struct side *to = side_of(world, to_side(op->op.dir));

	for (uint32_t i = 0; i < op->op.length; i++)
		to->owner[op->to - to->bytes + i] = number;
}

void model_op_added(struct world *world, struct model_op *op)
{
	own(world, op, (uint16_t)(op - world->ops + 1));
	op->added = true;
	world->added[world->nr_added++] = op;
}

void model_op_forgotten(struct world *world, struct model_op *op)
{
	own(world, op, 0);
	op->added = false;
	world->nr_added--;
}

/* -- WRs ------------------------------------------------------------------- */

static void sent_set(struct world *world, struct side *to, struct model_op *op,
		     uint32_t offset, uint32_t length)
{
	uint8_t *sent = to->sent + (op->to + offset - to->bytes);

	if (memchr(sent, 1, length))
		world_fail(world, "I1: operation %td: bytes posted twice",
			   op - world->ops);
	memset(sent, 1, length);
	op->sent_bytes += length;
	op->nr_wrs++;
}

static void sent_clear(struct side *to, struct model_op *op, uint32_t offset,
		       uint32_t length)
{
	memset(to->sent + (op->to + offset - to->bytes), 0, length);
	op->sent_bytes -= length;
	op->nr_wrs--;
}

static void op_event(struct world *world, struct model_op *op, uint32_t offset,
		     uint32_t length, enum model_event event)
{
	struct side *to = side_of(world, to_side(op->op.dir));

	switch (event) {
	case MODEL_POST:
		if (op->done || op->failed)
			world_fail(world,
				   "I7: operation %td: posted after it has "
				   "failed or was handed back",
				   op - world->ops);
		sent_set(world, to, op, offset, length);
		break;
	case MODEL_FAIL:
		op->failed = true;
		break;
	case MODEL_REFUSE:
		sent_clear(to, op, offset, length);
		break;
	case MODEL_OVER:
		op->nr_wrs--;
		break;
	}
}

/* The operation that a destination belongs to. */
static struct model_op *op_at(struct world *world, enum wrb_dir dir,
			      const uint8_t *to)
{
	struct side *side = side_of(world, to_side(dir));
	uintptr_t offset = (uintptr_t)to - (uintptr_t)side->bytes;

	if (offset >= SIDE_BYTES || !side->owner[offset])
		return NULL;
	return &world->ops[side->owner[offset] - 1];
}

/*
 * One stretch of an SGE, as long as it stays in one operation; returns its
 * length, or 0 when it is none of an operation's.
 */
static uint32_t model_stretch(struct world *world, enum wrb_dir dir,
			      uint8_t *local, uint8_t *remote, uint32_t most,
			      enum model_event event)
{
	uint8_t *to = dir == WRB_WRITE ? remote : local;
	uint8_t *from = dir == WRB_WRITE ? local : remote;
	struct model_op *op = op_at(world, dir, to);
	uint32_t offset, length;

	if (!op || op->op.dir != dir) {
		world_fail(world, "I1: a WR moves bytes of no operation");
		return 0;
	}
	offset = (uint32_t)(to - op->to);
	length = op->op.length - offset < most ? op->op.length - offset : most;
	if (from != op->from + offset) {
		world_fail(world, "I1: operation %td: a WR pairs wrong bytes",
			   op - world->ops);
		return 0;
	}
	op_event(world, op, offset, length, event);
	return length;
}

uint32_t model_wr(struct world *world, const struct ledger_wr *wr,
		  enum model_event event)
{
	uint8_t *remote = (uint8_t *)(uintptr_t)wr->remote_addr;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < wr->nr_sges; i++) {
		uint8_t *local = (uint8_t *)(uintptr_t)wr->sges[i].addr;
		uint32_t left = wr->sges[i].length, length;

		for (; left; left -= length) {
			length = model_stretch(world, wr->dir, local, remote,
					       left, event);
			if (!length)
				return nr;
			local += length;
			remote += length;
			nr++;
		}
	}
	return nr;
}

/* -- ends ------------------------------------------------------------------ */

static struct model_op *op_of(struct world *world, const void *user)
{
	uintptr_t offset = (uintptr_t)user - (uintptr_t)world->ops;

	if (offset % sizeof(struct model_op) ||
	    offset / sizeof(struct model_op) >= world->nr_ops)
		return NULL;
	return &world->ops[offset / sizeof(struct model_op)];
}

static int error_of(enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return 0;
	return status == IBV_WC_WR_FLUSH_ERR ? -ECANCELED : -EIO;
}

/*
 * A flush whose CQE is lost looks like a WR that was executed without one:
 * there the library cannot know.
 */
static bool data_is_told(const struct world *world)
{
	return !(world->faults & 1u << MEMDEV_DROP_CQE) || !world->aborted;
}

static void check_success(struct world *world, const struct model_op *op)
{
	if (op->sent_bytes != op->op.length)
		world_fail(world,
			   "I1: operation %td: done with %u of %u bytes "
			   "posted",
			   op - world->ops, op->sent_bytes, op->op.length);
	if (data_is_told(world) && memcmp(op->to, op->from, op->op.length))
		world_fail(world,
			   "I1: operation %td: done, its bytes have "
			   "not moved",
			   op - world->ops);
}

void model_op_done(struct world *world, const struct wrb_done *done)
{
	struct model_op *op = op_of(world, done->user);

	if (!op || !op->added || op->done) {
		world_fail(world, "I7: handed back twice, or never added");
		return;
	}
	op->done = true;
	op->error = done->error;
	world->nr_done++;
	if (done->error != error_of(done->status))
		world_fail(world, "operation %td: error %d with status %d",
			   op - world->ops, done->error, done->status);
	if (op->nr_wrs)
		world_fail(world,
			   "I7: operation %td: handed back while %u of "
			   "its WRs are in flight",
			   op - world->ops, op->nr_wrs);
	if (!done->error)
		check_success(world, op);
	else if (!world_may_fail(world))
		world_fail(world,
			   "operation %td: error %d, status %d out of "
			   "nothing",
			   op - world->ops, done->error, done->status);
	if (done->lane >= world->attr.nr_qps)
		world_fail(world, "operation %td: lane %u", op - world->ops,
			   done->lane);
}

/*
 * Puts in `expect` what an operation's bytes must be. Of one that has failed
 * each byte may have moved or not.
 */
static void expect_op(struct world *world, const struct model_op *op,
		      uint8_t *expect)
{
	bool told = op->done && !op->error && data_is_told(world);

	if (told) {
		memcpy(expect, op->from, op->op.length);
		return;
	}
	for (uint32_t i = 0; i < op->op.length; i++)
		if (op->to[i] == op->from[i])
			expect[i] = op->from[i];
}

static void check_side(struct world *world, enum wrb_side which)
{
	struct side *side = side_of(world, which);
	uint8_t expect[SIDE_BYTES];

	memcpy(expect, world_image(side), SIDE_BYTES);
	for (uint32_t i = 0; i < world->nr_added; i++) {
		const struct model_op *op = world->added[i];

		if (to_side(op->op.dir) == which)
			expect_op(world, op, expect + (op->to - side->bytes));
	}
	if (memcmp(side->bytes, expect, SIDE_BYTES))
		world_fail(world, "I1: %s memory is not what it should be",
			   which ? "remote" : "local");
}

void model_check_memory(struct world *world)
{
	check_side(world, WRB_LOCAL);
	check_side(world, WRB_REMOTE);
}

uint32_t model_nr_unsent(const struct world *world)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < world->nr_ops; i++) {
		const struct model_op *op = &world->ops[i];

		nr += op->added && !op->done && op->sent_bytes < op->op.length;
	}
	return nr;
}
