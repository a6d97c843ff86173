/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * While armed, a call of malloc() and its kin ends the program with a message.
 * Does nothing under sanitizers and valgrind, which bring their own.
 */
#ifndef NO_ALLOC_H
#define NO_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

void no_alloc_arm(void);
void no_alloc_disarm(void);
bool no_alloc_works(void);
/* Asked of the allocator so far. */
uint64_t no_alloc_bytes(void);

#endif /* NO_ALLOC_H */
