/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that includes fio's headers, and the only one that knows in
 * what its releases differ (3.30 to 3.42). fio keeps no binary interface from
 * one release to the next, so an engine fits the release it was built for.
 *
 * Of struct io_u only what lies before its last union is used: the layout from
 * there on depends on how fio was configured, and a release before 3.36 keeps
 * index and engine_data in one place.
 */
#ifndef ENGINE_FIO_API_H
#define ENGINE_FIO_API_H

#include "fio.h"
#include "optgroup.h"
#include "verify.h"

#if FIO_IOOPS_VERSION < 31
#error "fio 3.30 is the oldest release that this engine builds for"
#endif

/*
 * errdetails() is told its job from 3.36 on. Before that only the thread
 * knows; td_here names its job then.
 */
#if FIO_IOOPS_VERSION >= 36
#define ERRDETAILS_ARGS	       struct thread_data *td, struct io_u *io_u
#define ERRDETAILS_TD(td_here) (td)
#else
#define ERRDETAILS_ARGS	       struct io_u *io_u
#define ERRDETAILS_TD(td_here) (td_here)
#endif

/*
 * A sync is due after so many writes unless it was the last thing that a job
 * did. Before 3.38 fio looks at what has ended last, and so leaves syncs out
 * while writes are in flight; it is to be told what was issued.
 */
#if FIO_IOOPS_VERSION >= 36
#define NOTE_ISSUED(td) ((void)(td))
#else
#define NOTE_ISSUED(td) ((td)->last_was_sync = false)
#endif

#endif /* ENGINE_FIO_API_H */
