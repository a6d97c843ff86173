/* SPDX-License-Identifier: GPL-2.0-only */
/* What the engine says to a test in place of a user. */
#ifndef HEARD_H
#define HEARD_H

#include <stdarg.h>
#include <stdio.h>

struct heard {
	unsigned int nr; /* sentences */
	char last[512];
};

/* engine_env's error(); arg is a struct heard. */
__attribute__((__format__(__printf__, 2, 3))) static inline void
heard_error(void *arg, const char *fmt, ...)
{
	struct heard *heard = arg;
	va_list args;

	heard->nr++;
	va_start(args, fmt);
	vsnprintf(heard->last, sizeof(heard->last), fmt, args);
	va_end(args);
}

#endif /* HEARD_H */
