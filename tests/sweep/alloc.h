/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts what a program allocates and frees, and fails an allocation. Linked
 * with --wrap, so that it works under sanitizers and valgrind too; sees what the
 * program itself calls, not what shared libraries do.
 */
#ifndef SWEEP_ALLOC_H
#define SWEEP_ALLOC_H

#include <stdint.h>

extern int64_t alloc_nr_live;

/* The nth allocation from now on fails; 0: none does. */
void alloc_fail_at(uint64_t nth);

/* Since alloc_fail_at(). */
uint64_t alloc_nr_calls(void);

#endif /* SWEEP_ALLOC_H */
