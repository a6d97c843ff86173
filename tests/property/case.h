/* SPDX-License-Identifier: GPL-2.0-only */
/* One case: what a source decides, and every invariant checked on the way. */
#ifndef CASE_H
#define CASE_H

#include "world.h"

/* NULL when all held; else what did not. The text lasts until the next case. */
const char *case_run(struct source *source);

/* The same with what is fixed; *nr_faults: how many faults have struck. */
const char *case_run_fixed(struct source *source,
			   const struct world_fixed *fixed,
			   uint64_t *nr_faults);

#endif /* CASE_H */
