/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations: staged, in flight, done; and how many WRs each still awaits.
 *
 * An operation is free, staged, in flight, or done. A WR names its first
 * operation and how many follow; `next` leads from one to the other while a WR
 * carries both.
 */
#ifndef WRB_OP_TABLE_H
#define WRB_OP_TABLE_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "compiler.h"
#include "wrb.h"

/*
 * What an operation is, in one word, so that it is written and compared at
 * once: local region, remote region, direction, state; 16 bits each. All but
 * the state lie as in a struct wrb_op of a little-endian machine, which thus
 * loads them at once.
 */
#define OP_REMOTE_SHIFT 16
#define OP_DIR_SHIFT	32
#define OP_STATE_SHIFT	48
#define OP_READ		(UINT64_C(1) << OP_DIR_SHIFT)
#define OP_KIND		((UINT64_C(0xffff) << OP_REMOTE_SHIFT) | OP_READ)
#define OP_STATE	(UINT64_C(0xffff) << OP_STATE_SHIFT)

/* Goes out in several WRs: struct op_cut counts. */
#define OP_CUT (UINT64_C(1) << OP_STATE_SHIFT)
/*
 * Staged, although some of it was planned: it needs more WRs. Counts as one
 * more in nr_wrs, so that it cannot end meanwhile.
 */
#define OP_OPEN (UINT64_C(2) << OP_STATE_SHIFT)
/* Seen by the unwinding of a short post. */
#define OP_SETTLED (UINT64_C(4) << OP_STATE_SHIFT)
/* Some of it failed: done says how. */
#define OP_FAILED (UINT64_C(8) << OP_STATE_SHIFT)

/* One cache line. What does not fit is in struct op_cut, and rarely needed. */
struct op {
	/* As it will be handed back; unless it failed, only user is valid. */
	struct wrb_done done;
	uint64_t what; /* op_what() */
	union {
		struct {
			uint64_t local_addr;
			uint64_t remote_addr;
		};
		u64_pair addrs;
	};
	uint32_t length;
	uint32_t next;
} __attribute__((__aligned__(64)));

/* The accounts of an operation that is cut; valid with OP_CUT only. */
struct op_cut {
	uint32_t nr_wrs;	/* planned and not retired */
	uint32_t nr_planned;	/* planned and taken, ever */
	uint32_t planned_bytes; /* OP_OPEN: from its start */
	uint32_t pieces_left;	/* OP_OPEN: WRs for the rest of it */
};

/* A list through next; what its last operation leads to is not defined. */
struct op_list {
	uint32_t head;
	uint32_t nr;
	uint32_t *link; /* where the next one's index goes */
};

/* So many entries behind an array may be read, to fetch what will be used. */
#define OP_ROW_AHEAD 8

/*
 * Indices in order, [head, head + nr) of an array of twice as many as there are
 * operations; they move when they reach its end.
 */
struct op_row {
	uint32_t *at;
	uint32_t size;
	uint32_t head;
	uint32_t nr;
};

struct op_table {
	struct op *ops;
	struct op_cut *cuts; /* beside ops */
	uint32_t *free;	     /* a stack: what was used last is used next */
	uint32_t nr_free;
	uint32_t nr_ops;
	struct op_row staged;
	struct op_list done;
};

/* 0, or -ENOMEM; op_table_free() is due either way. */
int op_table_init(struct op_table *table, uint32_t nr_ops);
void op_table_free(struct op_table *table);

static inline struct op *op_get(const struct op_table *table, uint32_t index)
{
	return &table->ops[index];
}

static always_inline void op_list_reset(struct op_list *list)
{
	list->nr = 0;
	list->link = &list->head;
}

static always_inline void op_list_push(struct op_table *table,
				       struct op_list *list, uint32_t index)
{
	*list->link = index;
	list->link = &table->ops[index].next;
	list->nr++;
}

static inline uint32_t op_list_pop(struct op_table *table, struct op_list *list)
{
	uint32_t index = list->head;

	list->head = table->ops[index].next;
	if (!--list->nr)
		list->link = &list->head;
	return index;
}

/* Makes room behind for n more; there are never more than operations. */
static always_inline void op_row_reserve(struct op_row *row, uint32_t n)
{
	if (likely(row->size - row->head - row->nr >= n))
		return;
	memmove(row->at, row->at + row->head, row->nr * sizeof(*row->at));
	row->head = 0;
}

/* The first of them, and past the last. */
static always_inline uint32_t *op_row_begin(const struct op_row *row)
{
	return row->at + row->head;
}

static always_inline uint32_t *op_row_end(const struct op_row *row)
{
	return op_row_begin(row) + row->nr;
}

static inline void op_row_push(struct op_row *row, uint32_t index)
{
	op_row_reserve(row, 1);
	*op_row_end(row) = index;
	row->nr++;
}

static inline void op_row_push_front(struct op_row *row, uint32_t index)
{
	if (!row->head) {
		row->head = row->size - row->nr;
		memmove(row->at + row->head, row->at,
			row->nr * sizeof(*row->at));
	}
	row->at[--row->head] = index;
	row->nr++;
}

/* Cuts the first n off. */
static always_inline void op_row_drop(struct op_row *row, uint32_t n)
{
	row->nr -= n;
	row->head = row->nr ? row->head + n : 0;
}

static inline uint32_t op_row_pop(struct op_row *row)
{
	uint32_t index = *op_row_begin(row);

	op_row_drop(row, 1);
	return index;
}

static inline void op_release(struct op_table *table, uint32_t index)
{
	table->free[table->nr_free++] = index;
}

/* Without a state; a dir that there is not reaches into it. */
static always_inline uint64_t op_what(uint16_t local, uint16_t remote,
				      enum wrb_dir dir)
{
	return local | (uint64_t)remote << OP_REMOTE_SHIFT |
	       (uint64_t)(uint32_t)dir << OP_DIR_SHIFT;
}

static always_inline uint32_t what_local(uint64_t what)
{
	return (uint16_t)what;
}

static always_inline uint32_t what_remote(uint64_t what)
{
	return (uint16_t)(what >> OP_REMOTE_SHIFT);
}

/* An enum wrb_dir, or what is none and was given as one. */
static always_inline uint32_t what_dir(uint64_t what)
{
	return (uint32_t)(what >> OP_DIR_SHIFT);
}

static always_inline uint32_t op_local(const struct op *op)
{
	return what_local(op->what);
}

static always_inline uint32_t op_remote(const struct op *op)
{
	return what_remote(op->what);
}

static always_inline bool op_is_read(const struct op *op)
{
	return (op->what & OP_READ) != 0;
}

static always_inline bool op_failed(const struct op *op)
{
	return op->what & OP_FAILED;
}

static inline int op_error(enum ibv_wc_status status)
{
	return status == IBV_WC_WR_FLUSH_ERR ? -ECANCELED : -EIO;
}

/* Records a failure; the first one counts. */
static inline void op_fail(struct op *op, enum ibv_wc_status status,
			   uint32_t vendor_err, uint32_t lane)
{
	if (op_failed(op))
		return;
	op->what |= OP_FAILED;
	op->done.error = op_error(status);
	op->done.status = status;
	op->done.vendor_err = vendor_err;
	op->done.lane = lane;
}

#endif /* WRB_OP_TABLE_H */
