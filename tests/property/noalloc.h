/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices allocations of memory where there must be none. Without
 * CHECK_ALLOCATIONS (under sanitizers, which replace the allocator themselves)
 * it notices nothing.
 */
#ifndef NOALLOC_H
#define NOALLOC_H

#include <stdint.h>

#ifdef CHECK_ALLOCATIONS
/* Calls of malloc() and its kin, and of free() with memory, so far. */
extern uint64_t noalloc_nr_calls;
#else
#define noalloc_nr_calls ((uint64_t)0)
#endif

#endif /* NOALLOC_H */
