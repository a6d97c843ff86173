// SPDX-License-Identifier: GPL-2.0-only
/*
 * fio's side of the engine: its callbacks, each a short way to the job's role.
 * A callback that fails has said one sentence, sets td's error and returns
 * non-zero, or fio would exit with status 0.
 */
#include <dlfcn.h>
#include <stdarg.h>

#include "fio_api.h"

#include "options.h"
#include "report.h"
#include "role.h"

/* The job of this thread, for errdetails() of releases that do not name it. */
static __thread struct thread_data *td_here;

static struct ioengine_ops ioengine;

/* Who speaks: the job's name, and its number among its clones. */
static void sign(const struct thread_data *td, char *name, size_t bytes)
{
	if (td->o.numjobs > 1 || td->subjob_number)
		snprintf(name, bytes, "%s.%u", td->o.name, td->subjob_number);
	else
		snprintf(name, bytes, "%s", td->o.name);
}

static void env_error(void *arg, const char *fmt, ...)
{
	char name[128];
	char *text = NULL;
	va_list args;

	sign(arg, name, sizeof(name));
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	log_err("rdma_batch: %s: %s\n", name, text ? text : fmt);
	free(text);
}

/*
 * To stderr by one write(2): stdout may be JSON. A server's client gets it
 * from fio's log. A line that cannot be written is nobody's failure.
 */
static void say(const char *line, size_t length)
{
	ssize_t written;

	if (is_backend) {
		log_info("%s", line);
		return;
	}
	written = write(STDERR_FILENO, line, length);
	(void)written;
}

static void env_info(void *arg, const char *fmt, ...)
{
	char name[128];
	char *text = NULL;
	char *line = NULL;
	va_list args;
	int length;

	sign(arg, name, sizeof(name));
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	length = asprintf(&line, "rdma_batch: %s: %s\n", name, text);
	if (length > 0) {
		say(line, (size_t)length);
		free(line);
	}
	free(text);
}

static bool env_stopping(void *arg)
{
	const struct thread_data *td = arg;

	return __atomic_load_n(&td->terminate, __ATOMIC_RELAXED);
}

static struct engine_env env_of(struct thread_data *td)
{
	return (struct engine_env){
		.arg = td,
		.error = env_error,
		.info = env_info,
		.stopping = env_stopping,
	};
}

/*
 * A last check that fio and the engine agree on where things are: a field
 * close to the start of struct thread_data and one far behind.
 */
static bool layout_fits(const struct thread_data *td)
{
	if (td->o.magic == OPT_MAGIC && td->io_ops == &ioengine)
		return true;
	log_err("rdma_batch: built for %s, but this fio's structures differ "
		"from that release: build the engine against the source that "
		"this fio was built from\n",
		ENGINE_FIO_VERSION);
	return false;
}

/*
 * fio sets all jobs up before the first begins, unless create_serialize=0: then
 * each does it by itself, perhaps when another has ended and reported.
 */
static int start_stats_file(const struct thread_data *td,
			    const struct engine_conf *conf,
			    const struct engine_env *env)
{
	int rc;

	if (!conf->stats_file || conf->role == ROLE_TARGET)
		return 0;
	rc = report_file_start(conf->stats_file, td->o.create_serialize);
	if (rc)
		env->error(env->arg, "stats_file=%s cannot be written: %s",
			   conf->stats_file,
			   rc == -ENXIO ? "it is a FIFO or a socket, name a "
					  "regular file"
					: strerror(-rc));
	return -rc;
}

/* In fio's first process: nothing of verbs may be done here. */
static int engine_setup(struct thread_data *td)
{
	const struct engine_env env = env_of(td);
	struct engine_conf conf;
	struct fio_file *f;
	unsigned int i;
	uint64_t bytes;
	int rc;

	if (!layout_fits(td))
		return EINVAL;
	rc = options_read(td, &env, &conf);
	if (!rc)
		rc = options_file_bytes(td, &env, &bytes);
	if (!rc)
		rc = start_stats_file(td, &conf, &env);
	if (rc) {
		td_verror(td, rc, "rdma_batch setup");
		return rc;
	}
	options_note_setup(td);
	for_each_file(td, f, i)
	{
		f->filetype = FIO_TYPE_FILE;
		f->real_file_size = bytes;
	}
	return 0;
}

static int make_job(struct thread_data *td)
{
	const struct engine_env env = env_of(td);
	const struct role *role = &initiator_role;
	struct engine_conf conf;
	uint64_t bytes;
	struct job *job;

	if (options_read(td, &env, &conf) ||
	    options_file_bytes(td, &env, &bytes))
		return EINVAL;
	if (conf.role == ROLE_TARGET)
		role = &target_role;
	job = calloc(1, role->job_bytes);
	if (!job) {
		env.error(env.arg, "no memory for the job");
		return ENOMEM;
	}
	job->td = td;
	job->role = role;
	job->conf = conf;
	job->env = env;
	job->region_bytes = bytes;
	td->io_ops_data = job;
	return 0;
}

static int engine_init(struct thread_data *td)
{
	struct job *job;
	int rc;

	td_here = td;
	rc = make_job(td);
	if (!rc) {
		job = td->io_ops_data;
		rc = job->role->init(job);
	}
	if (rc)
		td_verror(td, rc, "rdma_batch init");
	return rc;
}

static int engine_post_init(struct thread_data *td)
{
	struct job *job = td->io_ops_data;
	int rc = 0;

	if (job->role->post_init)
		rc = job->role->post_init(job);
	if (rc)
		td_verror(td, rc, "rdma_batch post_init");
	return rc;
}

static enum fio_q_status engine_queue(struct thread_data *td, struct io_u *io_u)
{
	struct job *job = td->io_ops_data;

	fio_ro_check(td, io_u);
	return job->role->queue(job, io_u);
}

static int engine_commit(struct thread_data *td)
{
	struct job *job = td->io_ops_data;

	job->role->commit(job);
	return 0;
}

static int engine_getevents(struct thread_data *td, unsigned int min,
			    unsigned int max, const struct timespec *t)
{
	struct job *job = td->io_ops_data;

	/* fio passes "for ever", or "not at all" when min is 0. */
	(void)t;
	return job->role->getevents(job, min, max);
}

static struct io_u *engine_event(struct thread_data *td, int event)
{
	struct job *job = td->io_ops_data;

	return job->role->event(job, event);
}

static char *engine_errdetails(ERRDETAILS_ARGS)
{
	struct job *job = ERRDETAILS_TD(td_here)->io_ops_data;

	return job->role->errdetails(job, io_u);
}

/* fio frees the buffers after its io_us and before cleanup. */
static void engine_io_u_free(struct thread_data *td, struct io_u *io_u)
{
	struct job *job = td->io_ops_data;

	(void)io_u;
	if (job && job->role->quiesce)
		job->role->quiesce(job);
}

static void engine_cleanup(struct thread_data *td)
{
	struct job *job = td->io_ops_data;

	if (!job)
		return;
	job->role->cleanup(job);
	free(job);
	td->io_ops_data = NULL;
}

/* fio's file is a name only. */
static int engine_file_nop(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	f->fd = -1;
	return 0;
}

/* Not const because fio links it in a list and keeps flags of its own. */
static struct ioengine_ops ioengine = {
	.name = "rdma_batch",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NODISKUTIL | FIO_NOEXTEND |
		 FIO_NO_OFFLOAD | FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup = engine_setup,
	.init = engine_init,
	.post_init = engine_post_init,
	.queue = engine_queue,
	.commit = engine_commit,
	.getevents = engine_getevents,
	.event = engine_event,
	.errdetails = engine_errdetails,
	.io_u_free = engine_io_u_free,
	.cleanup = engine_cleanup,
	.open_file = engine_file_nop,
	.close_file = engine_file_nop,
	.invalidate = engine_file_nop,
	.unlink_file = engine_file_nop,
	.options = engine_options,
};

__attribute__((__visibility__("default"))) void
get_ioengine(struct ioengine_ops **ops);

/* The only symbol that the engine exports; fio looks it up by name. */
void get_ioengine(struct ioengine_ops **ops)
{
	const char *running = dlsym(RTLD_DEFAULT, "fio_version_string");

	*ops = NULL;
	if (!running || strcmp(running, ENGINE_FIO_VERSION)) {
		log_err("rdma_batch: this engine was built for %s and does not "
			"fit %s: build it with ./configure --with-fio=DIR, DIR "
			"the source tree of the release that runs "
			"(engine/fetch-fio-source.sh gets it)\n",
			ENGINE_FIO_VERSION, running ? running : "this fio");
		return;
	}
	ioengine.option_struct_size = engine_option_bytes;
	*ops = &ioengine;
}
