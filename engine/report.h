/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a job says at its end: one line for people, one line of JSON for
 * programs. Knows nothing of fio.
 */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include <stdint.h>

#include "conf.h"
#include "serve.h"
#include "sync.h"
#include "transport.h"

struct report_job {
	const char *name;
	unsigned int number; /* among the clones of numjobs= */
	const struct engine_conf *conf;
	const struct sync_stats *syncs;
	uint64_t refused;   /* I/Os that lie outside of the region */
	double cpu_seconds; /* of the job's thread since it was set up */
};

/*
 * Both return a string that the caller frees, without a newline at its end;
 * NULL: out of memory. The line's tokens are key=value.
 */
char *report_line(const struct report_job *job, const struct wrb_queue *queue,
		  const struct transport *transport);
char *report_json(const struct report_job *job, const struct wrb_queue *queue,
		  const struct transport *transport);

/* The same for a target. */
char *report_target_line(const struct engine_conf *conf,
			 const struct serve_stats *stats, uint64_t bytes);

/*
 * Makes the file, or empties it if told. 0 or -errno; -ENXIO: a FIFO or a
 * socket.
 */
int report_file_start(const char *path, bool empties);
/*
 * Appends a line by one write(2) where it can be, so that jobs may share a
 * file; all of it or, in a file, nothing. 0 or -errno.
 */
int report_file_add(const char *path, const char *line);

#endif /* ENGINE_REPORT_H */
