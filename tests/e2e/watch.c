// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine with an eye on it: an ioengine that loads the engine, lets it
 * work, and after each sync looks at the target's memory as another process
 * sees it, through the file that it is. A byte that was written before the
 * sync and is not there fails the job. No job may write a byte twice.
 *
 * WATCH_ENGINE	path of the engine
 * WATCH_REGION	the file: region_mem= of the target
 * WATCH_LOG	a file: how many syncs and bytes were looked at
 * WATCH_BLIND	set: the engine hears of no sync, so that bytes are missing
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../engine/fio_api.h"

typedef enum fio_q_status (*queue_fn)(struct thread_data *, struct io_u *);

static queue_fn engine_queue;

/* Of the one job. */
static struct watch {
	const unsigned char *region;
	unsigned char *expect;
	unsigned char *written; /* 1: since the last sync */
	size_t bytes;
	int log;
	unsigned long syncs;
	unsigned long checked;
} watch;

static void die(const char *what)
{
	log_err("watch: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void watch_begin(void)
{
	int fd = open(getenv("WATCH_REGION"), O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("WATCH_REGION");
	watch.log =
		open(getenv("WATCH_LOG"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (watch.log < 0)
		die("WATCH_LOG");
	watch.bytes = (size_t)st.st_size;
	watch.region = mmap(NULL, watch.bytes, PROT_READ, MAP_SHARED, fd, 0);
	watch.expect = calloc(2, watch.bytes);
	if (watch.region == MAP_FAILED || !watch.expect)
		die("memory");
	watch.written = watch.expect + watch.bytes;
	close(fd);
}

static void note_write(const struct io_u *io_u)
{
	if (io_u->offset + io_u->xfer_buflen > watch.bytes)
		die("a write beyond the region");
	memcpy(watch.expect + io_u->offset, io_u->xfer_buf, io_u->xfer_buflen);
	memset(watch.written + io_u->offset, 1, io_u->xfer_buflen);
}

static size_t count_missing(void)
{
	size_t missing = 0;
	size_t i;

	for (i = 0; i < watch.bytes; i++) {
		watch.checked += watch.written[i];
		missing +=
			watch.written[i] && watch.region[i] != watch.expect[i];
		watch.written[i] = 0;
	}
	return missing;
}

static void look(struct io_u *io_u)
{
	size_t missing = count_missing();
	char line[64];
	int length;

	watch.syncs++;
	length = snprintf(line, sizeof(line), "%lu %lu\n", watch.syncs,
			  watch.checked);
	if (pwrite(watch.log, line, (size_t)length, 0) != length)
		die("WATCH_LOG");
	if (!missing)
		return;
	log_err("watch: after sync %lu %zu bytes are not what was written\n",
		watch.syncs, missing);
	io_u->error = EIO;
}

static enum fio_q_status watch_queue(struct thread_data *td, struct io_u *io_u)
{
	enum fio_q_status status = FIO_Q_COMPLETED;

	if (!watch.region)
		watch_begin();
	if (!ddir_sync(io_u->ddir)) {
		if (io_u->ddir == DDIR_WRITE)
			note_write(io_u);
		return engine_queue(td, io_u);
	}
	if (!getenv("WATCH_BLIND"))
		status = engine_queue(td, io_u);
	if (status == FIO_Q_COMPLETED && !io_u->error)
		look(io_u);
	return status;
}

__attribute__((__visibility__("default"))) void
get_ioengine(struct ioengine_ops **ops);

/* fio asks for it more than once. */
void get_ioengine(struct ioengine_ops **ops)
{
	void (*get)(struct ioengine_ops * *ops);
	void *engine = dlopen(getenv("WATCH_ENGINE"), RTLD_NOW);

	*ops = NULL;
	get = engine ? dlsym(engine, "get_ioengine") : NULL;
	if (!get) {
		log_err("watch: WATCH_ENGINE: %s\n", dlerror());
		return;
	}
	get(ops);
	if (!*ops || (*ops)->queue == watch_queue)
		return;
	engine_queue = (*ops)->queue;
	(*ops)->queue = watch_queue;
}
