/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares plans: explained with posted, and both with the reference. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "world.h"

/* wrb_explain() of now. */
struct explained {
	struct wrb_plan_wr wrs[MAX_WRS];
	int nr;
};
void plan_explain(struct world *world, struct explained *explained);

/* I6, where what is staged is known and all of it goes out. */
void plan_check_reference(struct world *world,
			  const struct explained *explained);

/* What was explained is what was then posted. */
void plan_check_posted(struct world *world, const struct explained *explained);

#endif /* PLAN_CHECK_H */
