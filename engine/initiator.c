// SPDX-License-Identifier: GPL-2.0-only
/*
 * The role that issues I/O: fio's queue stages an operation, its commit submits
 * what is staged, its getevents hands over what has ended.
 */
#include "role.h"

#include "io_map.h"
#include "options.h"
#include "reap.h"
#include "report.h"
#include "sync.h"
#include "transport.h"

struct initiator {
	struct job job;
	struct io_map map;
	struct reaper reaper; /* holds queue and transport */
	struct sync sync;
	struct io_u **added;   /* since the last commit, iodepth entries */
	struct wrb_done *done; /* of the last getevents, iodepth entries */
	uint32_t nr_added;
	uint32_t nr_done;
	bool said_failure;   /* the first error was an operation's */
	uint64_t nr_outside; /* of the region; the first of them was said */
	double cpu_at_start; /* seconds */
	uint32_t qp_nums[WRB_MAX_LANES];
};

static struct initiator *to_initiator(struct job *job)
{
	return (struct initiator *)job;
}

/* What the job's thread has used, in seconds. */
static double cpu_seconds(void)
{
	struct timespec used;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used))
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static bool log_has_syncs(struct thread_data *td)
{
	const struct io_piece *piece;
	struct flist_head *entry;

	flist_for_each(entry, &td->io_log_list)
	{
		piece = flist_entry(entry, struct io_piece, list);
		if (ddir_sync(piece->ddir))
			return true;
	}
	return false;
}

static bool job_syncs(struct thread_data *td)
{
	const struct thread_options *o = &td->o;

	if (o->read_iolog_file)
		return log_has_syncs(td);
	return td_write(td) && (o->fsync_blocks || o->fdatasync_blocks ||
				o->end_fsync || o->fsync_on_close);
}

/* Apart from syncs. */
static int access_needed(struct thread_data *td)
{
	bool verifies = td->o.verify != VERIFY_NONE && td->o.do_verify;
	int need = 0;

	if (td_write(td) && !td->o.verify_only)
		need |= ACCESS_WRITE;
	if (td_read(td) || verifies)
		need |= ACCESS_READ;
	return need;
}

static int open_transport(struct initiator *in)
{
	struct job *job = &in->job;
	const struct transport_ops *ops = &transport_rdma;
	const bool syncs = job_syncs(job->td);
	const int need = access_needed(job->td);
	const struct transport_attr attr = {
		.conf = &job->conf,
		.env = &job->env,
		.job_number = job->td->thread_number - 1,
		.nr_ops = job->td->o.iodepth,
		.max_op_bytes = (uint32_t)td_max_bs(job->td),
		.region_bytes = job->region_bytes,
		.need = need | (syncs ? ACCESS_READ : 0),
		.reads_to_sync = syncs && !(need & ACCESS_READ),
	};
	struct transport *t;
	uint32_t i;
	int rc;

	if (job->conf.transport == TRANSPORT_MEMORY)
		ops = &transport_memory;
	rc = ops->open(&attr, &t);
	if (rc)
		return -rc;
	for (i = 0; i < t->nr_qps; i++)
		in->qp_nums[i] = t->qps[i]->qp_num;
	in->reaper.transport = t;
	return 0;
}

static int initiator_init(struct job *job)
{
	struct initiator *in = to_initiator(job);
	unsigned int depth = job->td->o.iodepth;

	options_advise(job->td, &job->conf, &job->env);
	in->reaper.env = &job->env;
	in->reaper.conf = &job->conf;
	in->reaper.yields = reap_has_one_cpu();
	in->added = calloc(depth, sizeof(struct io_u *));
	in->done = calloc(depth, sizeof(struct wrb_done));
	if (!in->added || !in->done) {
		job->env.error(job->env.arg,
			       "no memory for iodepth=%u: lower it", depth);
		return ENOMEM;
	}
	return open_transport(in);
}

/* A batch goes out in one doorbell, however large the user makes it. */
static uint32_t longest_chain(const struct thread_data *td)
{
	const uint32_t usual = 128;

	return td->o.iodepth_batch > usual ? td->o.iodepth_batch : usual;
}

static int make_queue(struct initiator *in)
{
	const struct engine_conf *conf = &in->job.conf;
	const struct transport *t = in->reaper.transport;
	struct wrb_attr attr;

	wrb_attr_init(&attr);
	attr.qps = t->qps;
	attr.nr_qps = t->nr_qps;
	attr.cq = t->cq;
	attr.limits = t->limits;
	attr.max_ops = sync_places(in->job.td->o.iodepth, t->nr_qps);
	attr.chunk_bytes = conf->chunk_bytes;
	attr.max_chunks = conf->max_chunks;
	attr.max_sge = t->max_sge;
	attr.signal_interval = conf->signal_interval;
	attr.max_chain = longest_chain(in->job.td);
	attr.read_depth = conf->read_depth;
	attr.flags =
		(conf->merge ? WRB_MERGE : 0) | (conf->sort ? WRB_SORT : 0);
	attr.stripe = conf->stripe;
	attr.qp_error = t->qp_error;
	attr.qp_error_arg = t->qp_error_arg;
	return wrb_queue_create(&attr, &in->reaper.queue);
}

static int add_regions(struct initiator *in)
{
	const struct transport *t = in->reaper.transport;
	const struct thread_data *td = in->job.td;
	const struct wrb_region local = {
		.side = WRB_LOCAL,
		.addr = (uintptr_t)td->orig_buffer,
		.length = td->orig_buffer_size,
		.keys = t->lkeys,
	};
	const struct wrb_region remote = {
		.side = WRB_REMOTE,
		.addr = t->region_addr,
		.length = t->region_bytes,
		.keys = t->rkeys,
	};
	int rc;

	rc = wrb_region_add(in->reaper.queue, &local);
	if (rc < 0)
		return rc;
	in->map.local = (uint16_t)rc;
	rc = wrb_region_add(in->reaper.queue, &remote);
	if (rc < 0)
		return rc;
	in->map.remote = (uint16_t)rc;
	in->map.buffers = td->orig_buffer;
	return 0;
}

static int initiator_post_init(struct job *job)
{
	struct initiator *in = to_initiator(job);
	struct transport *t = in->reaper.transport;
	struct thread_data *td = job->td;
	int rc;

	/* fio 3.33 goes on when it could not allocate the buffers. */
	if (td->error || !td->orig_buffer) {
		job->env.error(job->env.arg,
			       "fio has no buffers (%zu bytes asked): lower "
			       "iodepth= or bs=, or change iomem=",
			       td->orig_buffer_size);
		return td->error ? td->error : ENOMEM;
	}
	rc = t->ops->reg(t, td->orig_buffer, td->orig_buffer_size);
	if (rc)
		return -rc;
	rc = make_queue(in);
	if (!rc)
		rc = add_regions(in);
	if (!rc)
		rc = sync_init(&in->sync, t->nr_qps);
	if (rc)
		job->env.error(job->env.arg,
			       "cannot make a queue of %u operations over %u "
			       "QPs with sq_depth=%u: %s",
			       td->o.iodepth, t->nr_qps, t->limits.max_send_wr,
			       strerror(-rc));
	in->cpu_at_start = cpu_seconds();
	return -rc;
}

static void describe(struct initiator *in, const struct wrb_done *done,
		     char *text, size_t bytes, const char **cure)
{
	struct wrb_lane_info lane = { 0 };
	const struct io_failure failure = {
		.done = done,
		.lane = &lane,
		.qp_num = in->qp_nums[done->lane % WRB_MAX_LANES],
		.nr_lanes = in->reaper.transport->nr_qps,
		.ended = in->reaper.said && !in->said_failure,
		.peer = in->reaper.transport->peer,
	};

	wrb_lane_state(in->reaper.queue, done->lane, &lane);
	io_map_describe(done->user, &failure, text, bytes);
	*cure = io_map_cure(&failure);
}

/* Once a job; what fails after it is in the counters. */
static void say_failure(struct initiator *in, const struct wrb_done *done)
{
	const struct engine_env *env = &in->job.env;
	const char *cure;
	char text[256];

	if (in->reaper.said)
		return;
	in->reaper.said = true;
	in->said_failure = true;
	describe(in, done, text, sizeof(text), &cure);
	env->error(env->arg, "%s; %s", text, cure);
}

static void say_outside(struct job *job, const struct io_u *io_u)
{
	struct initiator *in = to_initiator(job);

	if (in->nr_outside++)
		return;
	job->env.error(job->env.arg,
		       "%llu bytes at offset %llu are outside of the "
		       "region of %llu bytes, or of fio's buffers: "
		       "check size= and offset= at both ends",
		       io_u->xfer_buflen, io_u->offset,
		       (unsigned long long)in->reaper.transport->region_bytes);
}

/* EIO, whatever the queue says: it is what continue_on_error= goes on after. */
static enum fio_q_status refuse(struct job *job, struct io_u *io_u)
{
	say_outside(job, io_u);
	io_u->error = EIO;
	return FIO_Q_COMPLETED;
}

static struct timespec issue_time(struct thread_data *td)
{
	struct timespec now;

	fio_gettime(&now, NULL);
	if (td->o.read_iolog_file)
		td->last_issue = now;
	return now;
}

/* Hands fio all that is out; false when it does not come. */
static bool settle(struct initiator *in)
{
	struct thread_data *td = in->job.td;
	uint32_t nr;

	for (;;) {
		nr = sync_others(&in->sync, in->reaper.queue);
		if (!nr)
			break;
		/* Errors of what it hands over are fio's to count. */
		if (!io_u_queued_complete(td, (int)nr))
			return false;
	}
	sync_wait(&in->sync, &in->reaper);
	return true;
}

static bool sync_lanes(struct initiator *in)
{
	struct wrb_queue *queue = in->reaper.queue;
	int rc;

	if (wrb_staged(queue) && !settle(in))
		return false;
	do {
		rc = sync_post(&in->sync, queue);
		if (!settle(in))
			return false;
	} while (rc == -EAGAIN);
	return !in->sync.end.error;
}

/*
 * Here, and not in getevents: releases of fio issue one sync after the other
 * while one is in flight, or while writes before it are. The READ leaves no
 * trace in a buffer that fio may have filled with a pattern.
 */
static enum fio_q_status initiator_sync(struct initiator *in, struct io_u *io_u)
{
	struct thread_data *td = in->job.td;
	char *byte = io_u->buf;
	const char kept = *byte;
	struct wrb_op read;

	/* Some releases have no counter for data syncs, and write beyond. */
	io_u->ddir = DDIR_SYNC;
	if (fio_fill_issue_time(td))
		io_u->issue_time = issue_time(td);
	td_io_commit(td);
	io_map_sync(&in->map, io_u, &read);
	sync_begin(&in->sync, &read);
	if (!sync_lanes(in)) {
		say_failure(in, &in->sync.end);
		io_u->error = EIO;
	}
	*byte = kept;
	return FIO_Q_COMPLETED;
}

static enum fio_q_status queue_other(struct initiator *in, struct io_u *io_u)
{
	if (ddir_sync(io_u->ddir))
		return initiator_sync(in, io_u);
	return FIO_Q_COMPLETED; /* nothing to transfer */
}

static enum fio_q_status initiator_queue(struct job *job, struct io_u *io_u)
{
	struct initiator *in = to_initiator(job);
	struct wrb_op op;
	int rc;

	if (io_u->ddir != DDIR_READ && io_u->ddir != DDIR_WRITE)
		return queue_other(in, io_u);
	io_map_op(&in->map, io_u, &op);
	rc = wrb_add(in->reaper.queue, &op);
	if (rc == -EAGAIN)
		return FIO_Q_BUSY;
	if (rc)
		return refuse(job, io_u);
	in->added[in->nr_added++] = io_u;
	NOTE_ISSUED(job->td);
	return FIO_Q_QUEUED;
}

/* Latency counts from here: fio leaves the stamp to the engine. */
static void stamp_issued(struct initiator *in)
{
	struct thread_data *td = in->job.td;
	struct timespec now = issue_time(td);
	uint32_t i;

	for (i = 0; i < in->nr_added; i++) {
		in->added[i]->issue_time = now;
		io_u_queued(td, in->added[i]);
	}
}

/*
 * How a submit fares shows in what reap() hands over. fio counts only those
 * commits that it did not call from its own getevents, and waits for ever on
 * the difference (io_u_quiesce); so the sum is put right here.
 */
static void initiator_commit(struct job *job)
{
	struct initiator *in = to_initiator(job);
	struct thread_data *td = job->td;

	if (!in->nr_added)
		return;
	wrb_submit(in->reaper.queue);
	if (fio_fill_issue_time(td))
		stamp_issued(in);
	io_u_mark_submit(td, in->nr_added);
	in->nr_added = 0;
	td->io_u_in_flight += td->io_u_queued;
	td->io_u_queued = 0;
}

static int initiator_getevents(struct job *job, unsigned int min,
			       unsigned int max)
{
	struct initiator *in = to_initiator(job);

	in->nr_done = sync_reap(&in->sync, &in->reaper, in->done, min, max);
	if (in->nr_done < min)
		td_verror(job->td, EIO, "rdma_batch getevents");
	return (int)in->nr_done;
}

static struct io_u *initiator_event(struct job *job, int event)
{
	struct initiator *in = to_initiator(job);
	const struct wrb_done *done = &in->done[event];
	struct io_u *io_u = done->user;

	if (done->error)
		say_failure(in, done);
	io_u->error = (unsigned int)io_map_error(done);
	return io_u;
}

static char *initiator_errdetails(struct job *job, const struct io_u *io_u)
{
	struct initiator *in = to_initiator(job);
	char text[256] = "no details";
	const char *cure;
	uint32_t i;

	for (i = 0; i < in->nr_done; i++)
		if (in->done[i].user == io_u)
			describe(in, &in->done[i], text, sizeof(text), &cure);
	return strdup(text);
}

static void initiator_quiesce(struct job *job)
{
	struct initiator *in = to_initiator(job);
	struct transport *t = in->reaper.transport;

	if (!t)
		return;
	if (in->reaper.queue)
		reap_end(&in->reaper);
	else
		t->ops->destroy_qps(t);
	t->ops->dereg(t);
}

static void write_stats_file(struct initiator *in, const struct report_job *who)
{
	const struct engine_env *env = &in->job.env;
	const char *path = in->job.conf.stats_file;
	char *json;
	int rc = -ENOMEM;

	json = report_json(who, in->reaper.queue, in->reaper.transport);
	if (json)
		rc = report_file_add(path, json);
	free(json);
	if (!rc)
		return;
	env->error(env->arg, "stats_file=%s was not written: %s", path,
		   strerror(-rc));
	/* After this fio still looks whether the job has failed. */
	td_verror(in->job.td, -rc, "rdma_batch stats_file");
}

static void report(struct initiator *in)
{
	const struct job *job = &in->job;
	const struct report_job who = {
		.name = job->td->o.name,
		.number = job->td->subjob_number,
		.conf = &job->conf,
		.syncs = &in->sync.stats,
		.refused = in->nr_outside,
		.cpu_seconds = cpu_seconds() - in->cpu_at_start,
	};
	char *line;

	line = report_line(&who, in->reaper.queue, in->reaper.transport);
	if (line)
		job->env.info(job->env.arg, "%s", line);
	free(line);
	if (job->conf.stats_file)
		write_stats_file(in, &who);
}

static void initiator_cleanup(struct job *job)
{
	struct initiator *in = to_initiator(job);
	struct transport *t = in->reaper.transport;

	initiator_quiesce(job);
	if (in->reaper.queue)
		report(in);
	wrb_queue_destroy(in->reaper.queue);
	if (t)
		t->ops->close(t);
	sync_free(&in->sync);
	free(in->added);
	free(in->done);
}

const struct role initiator_role = {
	.job_bytes = sizeof(struct initiator),
	.init = initiator_init,
	.post_init = initiator_post_init,
	.queue = initiator_queue,
	.commit = initiator_commit,
	.getevents = initiator_getevents,
	.event = initiator_event,
	.errdetails = initiator_errdetails,
	.quiesce = initiator_quiesce,
	.cleanup = initiator_cleanup,
};
