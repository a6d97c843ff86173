/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each operation is to move, what WRs move of it, and how it ends: the
 * checks of I1 and I7.
 */
#ifndef MODEL_H
#define MODEL_H

#include "world.h"

enum model_event {
	MODEL_POST,   /* the WR is about to be posted */
	MODEL_REFUSE, /* it was not taken after all */
	MODEL_FAIL,   /* its CQE told a failure */
	MODEL_OVER,   /* it cannot move a byte any more */
};

struct model_cursor {
	enum wrb_dir dir;
	uint32_t region[2]; /* by side */
	uint32_t next[2];   /* sources: offset in its region, or MODEL_NONE */
};
#define MODEL_NONE UINT32_MAX

/*
 * Makes an operation that writes to memory to which no other does; `adjacent`:
 * on that side of the wire it follows what the cursor came from, if there is
 * room. NULL: there is no more memory, or no more operations.
 */
struct model_op *model_op_new(struct world *world, struct model_cursor *cursor,
			      uint32_t length, const bool adjacent[2]);

/* The queue has taken it. */
void model_op_added(struct world *world, struct model_op *op);

/* The queue has not taken what was added last. */
void model_op_forgotten(struct world *world, struct model_op *op);

/*
 * Follows a WR through the operations whose bytes it moves; returns how many
 * there are.
 */
uint32_t model_wr(struct world *world, const struct ledger_wr *wr,
		  enum model_event event);

/* The queue has handed it back. */
void model_op_done(struct world *world, const struct wrb_done *done);

/* What memory holds at the end of a case. */
void model_check_memory(struct world *world);

/* Operations added of which not every byte was posted. */
uint32_t model_nr_unsent(const struct world *world);

#endif /* MODEL_H */
