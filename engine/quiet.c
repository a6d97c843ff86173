// SPDX-License-Identifier: GPL-2.0-only
/* Holds the signals of a failing write back, in this thread. */
#include "quiet.h"

#include <time.h>

static void raised_by_writes(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
	sigaddset(set, SIGPIPE);
}

void quiet_begin(struct quiet *quiet)
{
	sigset_t set;

	raised_by_writes(&set);
	pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
}

/* What was raised meanwhile is taken away: it has been told as an error. */
void quiet_end(const struct quiet *quiet)
{
	const struct timespec at_once = { 0 };
	sigset_t set;

	raised_by_writes(&set);
	while (sigtimedwait(&set, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}
