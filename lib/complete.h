/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polls the CQ, retires WRs by serial, turns CQEs into ended operations. */
#ifndef WRB_COMPLETE_H
#define WRB_COMPLETE_H

#include "flight.h"

/* As wrb_poll() with max > 0. */
int complete_poll(struct flight *flight, struct wrb_done *done, uint32_t max);

/* Ends everything in flight on a lane whose QP is no more. */
void complete_lost(struct flight *flight, struct lane *lane) cold;

#endif /* WRB_COMPLETE_H */
