/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts below fio's callbacks need of their surroundings, so that
 * they know nothing of fio and can be tested without it.
 */
#ifndef ENGINE_ENV_H
#define ENGINE_ENV_H

#include <stdbool.h>

struct engine_env {
	void *arg;
	/*
	 * One sentence for the user: what failed, why, and the cure. No
	 * newline at its end. Said by the function that decides the failure,
	 * once.
	 */
	void (*error)(void *arg, const char *fmt, ...)
		__attribute__((__format__(__printf__, 2, 3)));
	/* A line that is no failure. */
	void (*info)(void *arg, const char *fmt, ...)
		__attribute__((__format__(__printf__, 2, 3)));
	/* Whoever waits asks this at least every 50 ms, and gives up if true. */
	bool (*stopping)(void *arg);
};

#endif /* ENGINE_ENV_H */
