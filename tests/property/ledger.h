/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands between the queue and the device: looks at every chain that is posted
 * and every CQE that is polled. The checks of I2, I3, I4, I5 and I8.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "world.h"

/* Takes the place of the device's post_send and poll_cq. */
void ledger_attach(struct world *world);

/* A lane has another QP. */
void ledger_lane_start(struct world *world, uint32_t lane, struct ibv_qp *qp);

/* A lane's QP was destroyed, and with it all it held. */
void ledger_lane_end(struct world *world, uint32_t lane);

/* I8: what is in flight will be heard of. */
void ledger_check_live(struct world *world);

#endif /* LEDGER_H */
