/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two things a job can be, initiator or target, as tables that the
 * engine's callbacks go through.
 *
 * Calls that fail have said one sentence and return a positive errno. Those
 * marked optional may be NULL.
 */
#ifndef ENGINE_ROLE_H
#define ENGINE_ROLE_H

#include "fio_api.h"

#include "conf.h"
#include "env.h"

/* A job, from init to cleanup; each role embeds it first in its own. */
struct job {
	struct thread_data *td;
	const struct role *role;
	struct engine_conf conf;
	struct engine_env env;
	uint64_t region_bytes; /* the job's offset and size, see options.h */
};

struct role {
	size_t job_bytes;
	int (*init)(struct job *job);
	/* Buffers exist. Optional. */
	int (*post_init)(struct job *job);
	enum fio_q_status (*queue)(struct job *job, struct io_u *io_u);
	void (*commit)(struct job *job);
	int (*getevents)(struct job *job, unsigned int min, unsigned int max);
	struct io_u *(*event)(struct job *job, int event);
	/* A string of malloc() that fio frees. */
	char *(*errdetails)(struct job *job, const struct io_u *io_u);
	/*
	 * No transfer touches fio's buffers any more when it returns. Called
	 * before they are freed, and any number of times. Optional.
	 */
	void (*quiesce)(struct job *job);
	/* Frees what init() made, however far that came; says the report. */
	void (*cleanup)(struct job *job);
};

extern const struct role initiator_role;
extern const struct role target_role;

#endif /* ENGINE_ROLE_H */
