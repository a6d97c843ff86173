// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Lines for the caller's log. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void log_line(const struct log *log, const char *fmt, ...)
{
	char line[256];
	va_list args;

	if (!log->fn)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	log->fn(log->arg, line);
}
