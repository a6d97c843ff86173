/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polls the CQ, retires WRs by serial, turns CQEs into ended operations. */
#ifndef WRB_COMPLETE_H
#define WRB_COMPLETE_H

#include "flight.h"

/* As wrb_poll() with max > 0. */
int complete_poll(struct flight *flight, struct wrb_done *done, uint32_t max);

/* Ends everything in flight on a lane whose QP is no more. */
void complete_lost(struct flight *flight, struct lane *lane) cold;

/*
 * An operation that is staged no more, and will not be sent: ends it, unless
 * WRs of it are in flight.
 */
void complete_staged(struct flight *flight, uint32_t index);

/*
 * Ends the staged operations that have failed in part. To be called where WRs
 * may have failed, so that none of them is staged between two calls.
 */
void complete_broken(struct flight *flight) cold;

#endif /* WRB_COMPLETE_H */
