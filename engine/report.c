// SPDX-License-Identifier: GPL-2.0-only
/* What a job says at its end: one line for people, one line of JSON. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "quiet.h"
#include "report.h"

/* Whoever reads the pipe of a report may take so long to go on. */
#define PATIENCE_MS 1000

/* Beyond this many lanes a line for people shows the extremes. */
#define LANES_SHOWN 16

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static const char *stripe_name(enum wrb_stripe stripe)
{
	switch (stripe) {
	case WRB_STRIPE_BATCH:
		return "batch";
	case WRB_STRIPE_ROUND_ROBIN:
		return "round_robin";
	case WRB_STRIPE_LEAST_LOADED:
		return "least_loaded";
	case WRB_STRIPE_OFFSET:
		return "offset";
	}
	return "unknown";
}

/* Percent of all WRs that a lane carried. */
static double lane_share(const struct wrb_queue *queue, uint32_t lane,
			 uint64_t wrs)
{
	struct wrb_lane_stats stats;

	if (wrb_lane_stats_get(queue, lane, &stats))
		return 0;
	return 100 * ratio(stats.wrs, wrs);
}

static void print_shares(FILE *out, const struct wrb_queue *queue,
			 uint32_t nr_lanes, uint64_t wrs)
{
	double least = 100;
	double most = 0;
	double share;
	uint32_t i;

	fprintf(out, " lane_share=");
	for (i = 0; i < nr_lanes; i++) {
		share = lane_share(queue, i, wrs);
		least = share < least ? share : least;
		most = share > most ? share : most;
		if (nr_lanes <= LANES_SHOWN)
			fprintf(out, "%s%.1f", i ? "/" : "", share);
	}
	if (nr_lanes > LANES_SHOWN)
		fprintf(out, "%.2f..%.2f", least, most);
	fprintf(out, "%%");
}

static char *finish(FILE *out, char **text)
{
	int failed = ferror(out);

	if (fclose(out) || failed) {
		free(*text);
		return NULL;
	}
	return *text;
}

/*
 * The counters; fio's I/Os are its own, and so without the READs of syncs and
 * with those that the queue did not take.
 */
static void job_stats(const struct report_job *job,
		      const struct wrb_queue *queue, struct wrb_stats *s)
{
	wrb_stats_get(queue, s);
	s->ops += job->refused - job->syncs->reads;
	s->done += job->refused - job->syncs->reads;
	s->failed += job->refused - job->syncs->reads_failed;
}

static double cpu_per_op(const struct report_job *job,
			 const struct wrb_stats *s)
{
	return s->ops ? job->cpu_seconds / (double)s->ops : 0;
}

char *report_line(const struct report_job *job, const struct wrb_queue *queue,
		  const struct transport *t)
{
	struct wrb_stats s;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	job_stats(job, queue, &s);
	fprintf(out,
		"ops=%" PRIu64 " failed=%" PRIu64 " WRs=%" PRIu64
		" SGEs=%" PRIu64 " doorbells=%" PRIu64
		" WRs/doorbell=%.2f CQEs=%" PRIu64,
		s.ops, s.failed, s.wrs, s.sges, s.doorbells,
		ratio(s.wrs, s.doorbells), s.cqes);
	print_shares(out, queue, t->nr_qps, s.wrs);
	fprintf(out,
		" merged=%" PRIu64 " chunked=%" PRIu64 " chunks=%" PRIu64
		" read_stalls=%" PRIu64 " sq_stalls=%" PRIu64
		" flushes=%" PRIu64 " syncs=%" PRIu64 " sync_READs=%" PRIu64,
		s.merged, s.chunked, s.chunks, s.read_stalls, s.sq_stalls,
		s.flushes, job->syncs->syncs, job->syncs->reads);
	fprintf(out, " CPU=%.3fs CPU/op=%.2fus", job->cpu_seconds,
		1e6 * cpu_per_op(job, &s));
	fprintf(out,
		" stripe=%s peer=%s device=%s; granted: qps=%u sq=%u sge=%u "
		"inline=%u rd_atomic=%u max_msg=%u",
		stripe_name(job->conf->stripe), t->peer, t->device, t->nr_qps,
		t->limits.max_send_wr, t->max_sge, t->limits.max_inline,
		t->rd_atomic, t->limits.max_msg_bytes);
	return finish(out, &text);
}

/* Bytes of the character that text begins with; 0: none, or a NUL. */
static size_t utf8_bytes(const char *text)
{
	/* RFC 3629, section 4: the range of the second byte hangs on the first. */
	static const struct {
		uint8_t first, last;
		uint8_t least, most;
		uint8_t bytes;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const uint8_t *s = (const uint8_t *)text;
	size_t i, k;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (s[0] >= forms[i].first && s[0] <= forms[i].last)
			break;
	if (i == sizeof(forms) / sizeof(forms[0]) || s[1] < forms[i].least ||
	    s[1] > forms[i].most)
		return 0;
	for (k = 2; k < forms[i].bytes; k++)
		if (s[k] < 0x80 || s[k] > 0xbf)
			return 0;
	return forms[i].bytes;
}

static void print_json_string(FILE *out, const char *s)
{
	size_t bytes;

	putc('"', out);
	for (; *s; s += bytes ? bytes : 1) {
		bytes = utf8_bytes(s);
		if (!bytes)
			fprintf(out, "\\ufffd");
		else if ((unsigned char)*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fwrite(s, 1, bytes, out);
	}
	putc('"', out);
}

static void print_json_stats(FILE *out, const struct wrb_stats *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "ops", s->ops },
		{ "done", s->done },
		{ "failed", s->failed },
		{ "bytes", s->bytes },
		{ "wrs", s->wrs },
		{ "sges", s->sges },
		{ "signalled", s->signalled },
		{ "doorbells", s->doorbells },
		{ "cqes", s->cqes },
		{ "flushes", s->flushes },
		{ "stale", s->stale },
		{ "merged", s->merged },
		{ "chunked", s->chunked },
		{ "chunks", s->chunks },
		{ "read_stalls", s->read_stalls },
		{ "sq_stalls", s->sq_stalls },
		{ "short_posts", s->short_posts },
	};
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		fprintf(out, ",\"%s\":%" PRIu64, counters[i].name,
			counters[i].value);
	fprintf(out, ",\"wrs_per_doorbell\":%.4f", ratio(s->wrs, s->doorbells));
}

static void print_json_use(FILE *out, const struct report_job *job,
			   const struct wrb_stats *s)
{
	fprintf(out,
		",\"syncs\":%" PRIu64 ",\"sync_reads\":%" PRIu64
		",\"cpu_seconds\":%.6f,\"cpu_seconds_per_op\":%.9f",
		job->syncs->syncs, job->syncs->reads, job->cpu_seconds,
		cpu_per_op(job, s));
}

static void print_json_granted(FILE *out, const struct transport *t)
{
	fprintf(out,
		",\"granted\":{\"qps\":%u,\"sq_depth\":%u,\"max_send_sge\":%u,"
		"\"max_sge\":%u,\"inline_size\":%u,\"cqe\":%u,"
		"\"rd_atomic\":%u,\"max_msg_bytes\":%u}",
		t->nr_qps, t->limits.max_send_wr, t->limits.max_send_sge,
		t->max_sge, t->limits.max_inline, t->limits.max_cqe,
		t->rd_atomic, t->limits.max_msg_bytes);
}

static void print_json_lanes(FILE *out, const struct wrb_queue *queue,
			     uint32_t nr_lanes)
{
	struct wrb_lane_stats lane;
	uint32_t i;

	fprintf(out, ",\"lanes\":[");
	for (i = 0; i < nr_lanes; i++) {
		if (wrb_lane_stats_get(queue, i, &lane))
			break;
		fprintf(out,
			"%s{\"wrs\":%" PRIu64 ",\"bytes\":%" PRIu64
			",\"doorbells\":%" PRIu64 ",\"max_inflight\":%u}",
			i ? "," : "", lane.wrs, lane.bytes, lane.doorbells,
			lane.max_inflight);
	}
	putc(']', out);
}

char *report_json(const struct report_job *job, const struct wrb_queue *queue,
		  const struct transport *t)
{
	struct wrb_stats s;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	job_stats(job, queue, &s);
	fprintf(out, "{\"job\":");
	print_json_string(out, job->name);
	fprintf(out, ",\"job_number\":%u,\"transport\":\"%s\",\"peer\":",
		job->number, t->ops->name);
	print_json_string(out, t->peer);
	fprintf(out, ",\"device\":");
	print_json_string(out, t->device);
	fprintf(out,
		",\"engine_version\":\"%s\",\"libwrb_version\":\"%s\""
		",\"stripe\":\"%s\"",
		ENGINE_VERSION, wrb_version(), stripe_name(job->conf->stripe));
	print_json_stats(out, &s);
	print_json_use(out, job, &s);
	print_json_granted(out, t);
	print_json_lanes(out, queue, t->nr_qps);
	putc('}', out);
	return finish(out, &text);
}

char *report_target_line(const struct engine_conf *conf,
			 const struct serve_stats *stats, uint64_t bytes)
{
	char *text;

	if (asprintf(&text,
		     "port=%u region=%" PRIu64
		     " clients=%u qps=%u refused=%u lost=%u",
		     conf->port, bytes, stats->clients, stats->qps,
		     stats->refused, stats->lost) < 0)
		return NULL;
	return text;
}

/* A pipe without a name is /dev/stdout, or a shell's. */
static bool is_fifo(int fd)
{
	struct statfs fs;
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode) && !fstatfs(fd, &fs) &&
	       (unsigned long)fs.f_type != PIPEFS_MAGIC;
}

/* Non-blocking: a FIFO must not hold up whoever names one by mistake. */
static int open_file(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags,
		      0666);

	if (fd < 0)
		return -errno;
	if (!is_fifo(fd))
		return fd;
	close(fd);
	return -ENXIO;
}

int report_file_start(const char *path, bool empties)
{
	int fd = open_file(path, empties ? O_TRUNC : 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Room in a pipe or a terminal; a file never says that it has none now. */
static bool has_room(int fd)
{
	struct pollfd at = { .fd = fd, .events = POLLOUT };

	return poll(&at, 1, PATIENCE_MS) > 0;
}

/* Returns how much was written, and why not all as an errno or 0. */
static size_t write_text(int fd, const char *text, size_t bytes, int *err)
{
	size_t nr = 0;
	ssize_t got;

	*err = 0;
	while (nr < bytes && !*err) {
		got = write(fd, text + nr, bytes - nr);
		if (got >= 0)
			nr += (size_t)got;
		else if (errno != EINTR && (errno != EAGAIN || !has_room(fd)))
			*err = errno;
	}
	return nr;
}

/*
 * The next line must not follow a part of this one. Where another job's does
 * already there is nothing to be done.
 */
static void take_back(int fd, size_t bytes)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size != end)
		return;
	if (ftruncate(fd, end - (off_t)bytes))
		return;
}

static int add_text(int fd, const char *text, size_t bytes)
{
	struct quiet quiet;
	size_t written;
	int err;

	quiet_begin(&quiet);
	written = write_text(fd, text, bytes, &err);
	quiet_end(&quiet);
	if (err && written)
		take_back(fd, written);
	return -err;
}

int report_file_add(const char *path, const char *line)
{
	char *text;
	int length = asprintf(&text, "%s\n", line);
	int fd, rc;

	if (length < 0)
		return -ENOMEM;
	fd = open_file(path, O_APPEND);
	if (fd < 0) {
		free(text);
		return fd;
	}
	rc = add_text(fd, text, (size_t)length);
	free(text);
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}
