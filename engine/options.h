/* SPDX-License-Identifier: GPL-2.0-only */
/* fio's options, the engine's own and the core's, turned into engine_conf. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include "fio_api.h"

#include "conf.h"
#include "env.h"

/* For struct ioengine_ops. */
extern struct fio_option engine_options[];
extern const int engine_option_bytes;

/*
 * Reads and checks all that the user has set. 0, or a positive errno after one
 * sentence that names the option, its value and what it may be.
 */
int options_read(struct thread_data *td, const struct engine_env *env,
		 struct engine_conf *conf);

/*
 * How large the job's file is: filesize=, or the end of what offset=,
 * offset_increment= and size= reach. A job that would be cut to fit is
 * refused. 0, or a positive errno after one sentence.
 */
int options_file_bytes(const struct thread_data *td,
		       const struct engine_env *env, uint64_t *bytes);

/* In which process fio sets the job up; 0: it has not yet. */
void options_note_setup(struct thread_data *td);
pid_t options_setup_pid(const struct thread_data *td);

/*
 * Once for all clones of a job: a sentence if it sets what its role does not use;
 * one if it asks for batches and fio's reaping will break them into single
 * doorbells; one if its token is open to everyone.
 */
void options_advise(const struct thread_data *td,
		    const struct engine_conf *conf,
		    const struct engine_env *env);

#endif /* ENGINE_OPTIONS_H */
