/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lines for the caller's log. Only where something failed. */
#ifndef WRB_LOG_H
#define WRB_LOG_H

#include "compiler.h"
#include "wrb.h"

struct log {
	wrb_log_fn fn;
	void *arg;
};

/*
 * Formats one line of at most 255 bytes. Does nothing without a callback. An
 * error goes in as %m: strerror() allocates for a number that it does not know.
 */
void log_line(const struct log *log, const char *fmt, ...) cold
	wrb_printf(2, 3);

#endif /* WRB_LOG_H */
