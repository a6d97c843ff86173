/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands between this program and librdmacm and libibverbs, and between these
 * two: fails one call, and counts what is made and not destroyed.
 */
#ifndef E2E_SHIM_H
#define E2E_SHIM_H

#include <stdint.h>

#define SHIM_NAME 40

/* May lie in memory that another process shares. */
struct shim {
	uint32_t fail_at; /* the call of this number fails; 0: none */
	uint32_t nr_calls;
	int32_t nr_held;	/* ids, channels, PDs, CQs, QPs, MRs */
	char failed[SHIM_NAME]; /* the function that was made to fail */
	char always[SHIM_NAME]; /* every call of this one fails */
};

/* The state in use; a zeroed one of the program's own at first. */
extern struct shim *shim;

/* Starts counting calls. */
void shim_arm(struct shim *state, uint32_t nth, const char *always);

/* No call is made to fail any more; failed still tells which one was. */
void shim_disarm(struct shim *state);

#endif /* E2E_SHIM_H */
