// SPDX-License-Identifier: GPL-2.0-only
/*
 * The role that lends its memory: serves initiators until it is interrupted or
 * has had as many as asked, and issues nothing.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "role.h"

#include "options.h"
#include "region_mem.h"
#include "report.h"
#include "serve.h"

struct target {
	struct job job;
	struct region_mem region;
};

static void report(const struct target *target, const struct serve_stats *stats)
{
	const struct job *job = &target->job;
	char *line =
		report_target_line(&job->conf, stats, target->region.bytes);

	if (line)
		job->env.info(job->env.arg, "%s", line);
	free(line);
}

/*
 * A fio that is killed leaves the jobs that it forked, and a target would serve,
 * and hold its port, for ever. A thread ends with fio; there the parent is
 * whoever started fio.
 */
static void end_with_parent(const struct thread_data *td)
{
	const pid_t parent = options_setup_pid(td);

	if (td->o.use_thread)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Unless create_serialize=0 fio's first process has set the job up. */
	if (parent && parent != getppid())
		raise(SIGTERM); /* it was killed before */
}

static int target_init(struct job *job)
{
	struct target *target = (struct target *)job;
	struct serve_stats stats = { 0 };
	int rc;

	end_with_parent(job->td);
	options_advise(job->td, &job->conf, &job->env);
	rc = region_mem_map(&job->conf, &job->env, job->region_bytes,
			    &target->region);
	if (rc)
		return -rc;
	rc = serve(&job->conf, &job->env, &target->region, &stats);
	if (stats.served)
		report(target, &stats);
	/* fio issues no I/O in a job that is done. */
	job->td->done = 1;
	return -rc;
}

/* What follows is never asked of a job that is done. */
static enum fio_q_status target_queue(struct job *job, struct io_u *io_u)
{
	(void)job;
	io_u->error = EINVAL;
	return FIO_Q_COMPLETED;
}

static void target_commit(struct job *job)
{
	(void)job;
}

static int target_getevents(struct job *job, unsigned int min, unsigned int max)
{
	(void)job;
	(void)min;
	(void)max;
	return 0;
}

static struct io_u *target_event(struct job *job, int event)
{
	(void)job;
	(void)event;
	return NULL;
}

static char *target_errdetails(struct job *job, const struct io_u *io_u)
{
	(void)job;
	(void)io_u;
	return strdup("a target issues no I/O");
}

static void target_cleanup(struct job *job)
{
	struct target *target = (struct target *)job;

	if (target->region.addr)
		region_mem_unmap(&target->region);
}

const struct role target_role = {
	.job_bytes = sizeof(struct target),
	.init = target_init,
	.queue = target_queue,
	.commit = target_commit,
	.getevents = target_getevents,
	.event = target_event,
	.errdetails = target_errdetails,
	.cleanup = target_cleanup,
};
