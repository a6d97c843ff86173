/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lane that failed: its QP goes to the error state once, and a marker is
 * posted behind everything else. A QP in the error state flushes every WR with
 * a CQE, in order (IBA 1.4, 10.3.1.7), so the marker's CQE shows that nothing
 * is left. The marker is a signalled WRITE of no bytes.
 */
#ifndef WRB_DRAIN_H
#define WRB_DRAIN_H

#include "flight.h"

/*
 * Ready -> draining. Nothing happens to a lane in another state, and nothing to
 * the QP before drain_progress().
 */
void drain_begin(struct flight *flight, struct lane *lane);

/*
 * Moves QPs to the error state that are to be, puts the marker where it is still
 * missing, and calls dead what is empty. Called once per poll while lanes drain.
 */
void drain_progress(struct flight *flight);

#endif /* WRB_DRAIN_H */
