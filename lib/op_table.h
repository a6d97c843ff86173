/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations: staged, in flight, done; and how many WRs each still awaits.
 *
 * An operation is on one of three lists (free, staged, done) or in flight. Its
 * `next` leads to the operation that was staged after it, and stays right
 * while a WR carries both: a WR names its first operation and how many follow.
 */
#ifndef WRB_OP_TABLE_H
#define WRB_OP_TABLE_H

#include <stdbool.h>

#include "compiler.h"
#include "wrb.h"

#define OP_NONE UINT32_MAX

enum op_flags {
	/*
	 * Staged, although some of it was planned: it needs more WRs. Counts
	 * as one more in nr_wrs, so that it cannot end meanwhile.
	 */
	OP_OPEN = 1 << 0,
	OP_SETTLED = 1 << 1, /* seen by the unwinding of a short post */
};

/* One cache line. */
struct op {
	void *user;
	uint64_t local_addr;
	uint64_t remote_addr;
	uint32_t length;
	uint32_t next;
	uint16_t local;
	uint16_t remote;
	uint8_t dir;
	uint8_t flags;
	uint8_t status;	 /* enum ibv_wc_status of the first WR that failed */
	uint32_t nr_wrs; /* planned and not retired */
	uint32_t nr_planned; /* planned and taken, ever */
	uint32_t planned_bytes;
	uint32_t pieces_left; /* OP_OPEN: WRs for the rest of it */
	uint32_t vendor_err;
	uint16_t lane; /* that the failure was on */
} __attribute__((__aligned__(64)));

struct op_list {
	uint32_t head;
	uint32_t tail;
	uint32_t nr;
};

struct op_table {
	struct op *ops;
	uint32_t *free; /* a stack: what was used last is used next */
	uint32_t nr_free;
	uint32_t nr_ops;
	struct op_list staged;
	struct op_list done;
};

int op_table_init(struct op_table *table, uint32_t nr_ops);
void op_table_free(struct op_table *table);

static inline struct op *op_get(const struct op_table *table, uint32_t index)
{
	return &table->ops[index];
}

static inline void op_list_push(struct op_table *table, struct op_list *list,
				uint32_t index)
{
	table->ops[index].next = OP_NONE;
	if (list->nr++)
		table->ops[list->tail].next = index;
	else
		list->head = index;
	list->tail = index;
}

static inline uint32_t op_list_pop(struct op_table *table, struct op_list *list)
{
	uint32_t index = list->head;

	list->head = table->ops[index].next;
	list->nr--;
	return index;
}

static inline void op_release(struct op_table *table, uint32_t index)
{
	table->free[table->nr_free++] = index;
}

/* Records a failure; the first one counts. */
static inline void op_fail(struct op *op, enum ibv_wc_status status,
			   uint32_t vendor_err, uint32_t lane)
{
	if (op->status != IBV_WC_SUCCESS)
		return;
	op->status = status;
	op->vendor_err = vendor_err;
	op->lane = lane;
}

#endif /* WRB_OP_TABLE_H */
