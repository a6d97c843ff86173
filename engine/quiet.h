/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing without the signals that a write may raise, and die of. */
#ifndef ENGINE_QUIET_H
#define ENGINE_QUIET_H

#include <signal.h>

struct quiet {
	sigset_t before; /* the thread's mask */
};

/*
 * Between the two SIGXFSZ and SIGPIPE do not come: what is too large for
 * RLIMIT_FSIZE fails with EFBIG, a pipe that nobody reads with EPIPE.
 */
void quiet_begin(struct quiet *quiet);
void quiet_end(const struct quiet *quiet);

#endif /* ENGINE_QUIET_H */
