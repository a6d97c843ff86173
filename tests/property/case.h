/* SPDX-License-Identifier: GPL-2.0-only */
/* One case: what a source decides, and every invariant checked on the way. */
#ifndef CASE_H
#define CASE_H

#include "source.h"

/* NULL when all held; else what did not. The text lasts until the next case. */
const char *case_run(struct source *source);

#endif /* CASE_H */
