// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connects and disconnects as the engine does, without fio, over real devices:
 *
 *	setup sweep ADDRESS	 fails every call of set-up, one at a time, first
 *				 the initiator's, then a target's
 *	setup always ADDRESS	 each function of set-up fails whenever called
 *	setup cycles ADDRESS NR	 one target, NR connections one after the other
 *	setup target PORT FD ISOLATE	a target, for the others
 *
 * A failure is told in one sentence and all is undone; the next connection
 * works. Exits 0, or 1 after a line that says what did not hold.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cm.h"
#include "region_mem.h"
#include "serve.h"
#include "shim.h"
#include "transport.h"

#define PORT	     7471
#define REGION_BYTES 65536
#define NR_QPS	     2
#define BYTES	     4096
#define PATIENCE_MS  5000
/* To connect: the CM sends a message that was lost again after 4 s. */
#define TIMEOUT_MS 12000
#define SHORT_MS   700 /* the same, where it cannot succeed */
#define WARM_UP	   50  /* cycles */
#define PARTS	   10  /* of the others, to see whether they get slower */
#define PACE_TRIPS 500 /* through a pipe, to time beside them */
#define TEXT	   512

extern char **environ;

/* -- what is said ----------------------------------------------------------- */

static struct {
	uint32_t nr_errors;
	char last[TEXT];
} said;

__attribute__((__format__(__printf__, 2, 3))) static void
say_error(void *arg, const char *fmt, ...)
{
	va_list args;

	(void)arg;
	va_start(args, fmt);
	vsnprintf(said.last, sizeof(said.last), fmt, args);
	va_end(args);
	said.nr_errors++;
}

__attribute__((__format__(__printf__, 2, 3))) static void
say_info(void *arg, const char *fmt, ...)
{
	va_list args;

	(void)arg;
	/* Nobody reads the rest, and a full pipe would stop a target. */
	if (strncmp(fmt, "listening", strlen("listening")) != 0)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static bool is_stopped(void *arg)
{
	(void)arg;
	return stopped;
}

static const struct engine_env env = {
	.error = say_error,
	.info = say_info,
	.stopping = is_stopped,
};

__attribute__((__format__(__printf__, 1, 2))) static _Noreturn void
fail(const char *fmt, ...)
{
	va_list args;

	printf("FAILED: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(" (last said: %s)\n", said.last);
	exit(1);
}

/* librdmacm keeps a device open for as long as it likes. */
static bool is_device(const char *path)
{
	char to[TEXT];
	ssize_t length = readlink(path, to, sizeof(to) - 1);

	if (length < 0)
		return false;
	to[length] = '\0';
	return strstr(to, "uverbs") || strstr(to, "infinibandevent");
}

static int nr_descriptors(pid_t pid)
{
	char path[64], entry_path[TEXT];
	struct dirent *entry;
	int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		snprintf(entry_path, sizeof(entry_path), "%s/%s", path,
			 entry->d_name);
		nr += !is_device(entry_path);
	}
	closedir(dir);
	return nr;
}

static void sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* -- the initiator ---------------------------------------------------------- */

static struct engine_conf conf_of(const char *address)
{
	return (struct engine_conf){
		.hostname = address,
		.port = PORT,
		.qps = NR_QPS,
		.poll = POLL_EVENT,
		.retry_count = 7,
		.rnr_retry = 7,
		.connect_timeout_ms = TIMEOUT_MS,
		.io_timeout_ms = TIMEOUT_MS,
		.access = ACCESS_RW,
	};
}

static int poll_for(struct ibv_cq *cq)
{
	int64_t deadline = cm_now_ms() + PATIENCE_MS;
	struct ibv_wc wc;
	int nr;

	do {
		nr = ibv_poll_cq(cq, 1, &wc);
	} while (!nr && cm_now_ms() < deadline);
	return nr == 1 && wc.status == IBV_WC_SUCCESS ? 0 : -EIO;
}

/* One WRITE on each QP arrives. */
static int write_some(struct transport *t, void *memory)
{
	int ret = 0;

	for (uint32_t i = 0; i < t->nr_qps && !ret; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)memory,
			.length = BYTES,
			.lkey = t->lkeys[i],
		};
		struct ibv_send_wr *bad, wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma.remote_addr = t->region_addr,
			.wr.rdma.rkey = t->rkeys[i],
		};

		ret = ibv_post_send(t->qps[i], &wr, &bad);
		if (!ret)
			ret = poll_for(t->cq);
	}
	return ret;
}

static int connect_with(const struct engine_conf *conf)
{
	static uint8_t memory[BYTES];
	const struct transport_attr attr = {
		.conf = conf,
		.env = &env,
		.nr_ops = 4,
		.max_op_bytes = BYTES,
		.region_bytes = REGION_BYTES,
		.need = ACCESS_RW,
	};
	struct transport *t;
	int ret;

	said.nr_errors = 0;
	said.last[0] = '\0';
	ret = transport_rdma.open(&attr, &t);
	if (ret)
		return ret;
	ret = t->ops->reg(t, memory, sizeof(memory));
	if (!ret) {
		ret = write_some(t, memory);
		if (ret) /* its target may have ended since */
			say_error(NULL, "a write has failed");
	}
	t->ops->destroy_qps(t);
	t->ops->dereg(t);
	t->ops->close(t);
	return ret;
}

static int connect_once(const char *address)
{
	const struct engine_conf conf = conf_of(address);

	return connect_with(&conf);
}

/* -- the target ------------------------------------------------------------- */

struct target {
	struct shim *shim;
	int fd; /* of its memory */
	FILE *out;
	pid_t pid;
	int32_t nr_held; /* while it waits */
	int nr_descriptors;
};

static struct shim *map_shim(int fd)
{
	struct shim *state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);

	if (state == MAP_FAILED)
		fail("mmap(): %s", strerror(errno));
	return state;
}

static struct target target_new(void)
{
	struct target target = { .fd = memfd_create("shim", 0) };

	if (target.fd < 0 || ftruncate(target.fd, sizeof(struct shim)))
		fail("memfd_create(): %s", strerror(errno));
	target.shim = map_shim(target.fd);
	return target;
}

static void spawn(struct target *target, bool isolate)
{
	posix_spawn_file_actions_t actions;
	char port[16], fd[16];
	char *argv[] = {
		"setup", "target", port, fd, isolate ? "1" : "0", NULL
	};
	int ends[2];

	snprintf(port, sizeof(port), "%d", PORT);
	snprintf(fd, sizeof(fd), "%d", target->fd);
	if (pipe(ends))
		fail("pipe(): %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	if (posix_spawn(&target->pid, "/proc/self/exe", &actions, NULL, argv,
			environ))
		fail("posix_spawn()");
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	target->out = fdopen(ends[0], "r");
	if (!target->out)
		fail("fdopen()");
}

/* False when it ends instead. */
static bool target_starts(struct target *target, bool isolate)
{
	char line[TEXT];

	target->shim->nr_held = 0;
	spawn(target, isolate);
	while (fgets(line, sizeof(line), target->out)) {
		snprintf(said.last, sizeof(said.last), "%s", line);
		said.last[strcspn(said.last, "\n")] = '\0';
		if (!strstr(line, "listening"))
			continue;
		target->nr_held = target->shim->nr_held;
		target->nr_descriptors = nr_descriptors(target->pid);
		return true;
	}
	return false;
}

/* Its status, with its last line in said.last. */
static int target_ends(struct target *target)
{
	char line[TEXT];
	int status;

	kill(target->pid, SIGTERM);
	while (fgets(line, sizeof(line), target->out))
		snprintf(said.last, sizeof(said.last), "%s", line);
	said.last[strcspn(said.last, "\n")] = '\0';
	fclose(target->out);
	if (waitpid(target->pid, &status, 0) != target->pid)
		fail("waitpid(): %s", strerror(errno));
	if (!WIFEXITED(status))
		fail("the target died of signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static bool target_lives(const struct target *target)
{
	siginfo_t info = { 0 };

	waitid(P_PID, (id_t)target->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	return !info.si_pid;
}

/* What its client had is freed. */
static void target_settles(const struct target *target)
{
	int64_t deadline = cm_now_ms() + PATIENCE_MS;

	while (target_lives(target) &&
	       target->shim->nr_held > target->nr_held) {
		if (cm_now_ms() >= deadline)
			fail("the target holds %d objects, %d before",
			     target->shim->nr_held, target->nr_held);
		sleep_ms(5);
	}
}

static int be_target(uint16_t port, int fd, bool isolate)
{
	struct engine_conf conf = conf_of(NULL);
	struct serve_stats stats;
	struct region_mem mem;
	int before, ret;

	signal(SIGTERM, on_signal);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	shim = map_shim(fd);
	conf.role = ROLE_TARGET;
	conf.port = port;
	conf.isolate = isolate;
	if (region_mem_map(&conf, &env, REGION_BYTES, &mem))
		return 3;
	before = nr_descriptors(getpid());
	ret = serve(&conf, &env, &mem, &stats);
	if (nr_descriptors(getpid()) > before)
		printf("%d descriptors are open, not %d\n",
		       nr_descriptors(getpid()), before);
	else if (shim->nr_held)
		printf("%d objects are held\n", shim->nr_held);
	else if (said.nr_errors != (ret != 0))
		printf("said %u errors, returned %d\n", said.nr_errors, ret);
	else
		ret = printf("%s\n", ret ? said.last : "fine") < 0 || ret;
	if (ret != 0 && ret != 1)
		ret = 3;
	region_mem_unmap(&mem);
	return ret;
}

/* -- sweeps ----------------------------------------------------------------- */

static struct {
	uint32_t nr;
	uint32_t nr_failed;
} points;

static void point_told(const char *side, const char *name, const char *how)
{
	printf("%s, %s fails: %s\n", side, name, how);
	points.nr++;
}

/* A connection that may have failed; if so, cleanly. */
static void check_connection(const char *name, int ret)
{
	if (ret && said.nr_errors != 1)
		fail("%s: %d, with %u sentences", name, ret, said.nr_errors);
	if (!ret && said.nr_errors)
		fail("%s: connected, with %u sentences", name, said.nr_errors);
	points.nr_failed += ret != 0;
}

static void check_next(const char *address, const char *name)
{
	int ret = connect_once(address);

	if (ret || said.nr_errors)
		fail("after %s failed: no connection: %d", name, ret);
}

/* False when the connection takes fewer calls. */
static bool initiator_point(const struct engine_conf *conf, uint32_t nth,
			    const char *always)
{
	int32_t before = shim->nr_held;
	int descriptors = nr_descriptors(getpid());
	const char *name = shim->failed;
	int ret;

	shim_arm(shim, nth, always);
	ret = connect_with(conf);
	shim_disarm(shim);
	if (!name[0])
		return false;
	check_connection(name, ret);
	point_told("initiator", name, ret ? said.last : "tried again");
	if (shim->nr_held != before)
		fail("%s: %d objects are held, %d before", name, shim->nr_held,
		     before);
	if (nr_descriptors(getpid()) != descriptors)
		fail("%s: %d descriptors, %d before", name,
		     nr_descriptors(getpid()), descriptors);
	check_next(conf->hostname, name);
	return true;
}

static void sweep_initiator(const char *address)
{
	const struct engine_conf conf = conf_of(address);
	struct target target = target_new();
	uint32_t nth = 1;

	if (!target_starts(&target, true))
		fail("the target does not start");
	check_next(address, "nothing");
	while (initiator_point(&conf, nth, NULL))
		nth++;
	target_settles(&target);
	if (target_ends(&target))
		fail("the target has failed");
}

/* False when the fault did not strike. */
static bool target_point(struct target *target, const char *address,
			 bool isolate, uint32_t nth, const char *always)
{
	struct engine_conf conf = conf_of(address);
	/* Read where it is: the call may be one that comes after the connection. */
	const char *name = target->shim->failed;
	char how[TEXT] = "clients are served";
	bool up;
	int ret;

	if (always)
		conf.connect_timeout_ms = SHORT_MS;
	shim_arm(target->shim, nth, always);
	up = target_starts(target, isolate);
	if (up) {
		ret = connect_with(&conf);
		check_connection(name, ret);
		if (ret)
			snprintf(how, sizeof(how), "%s", said.last);
	}
	shim_disarm(target->shim);
	/* With isolate=0 what its first client had is kept for the next. */
	if (up && isolate)
		target_settles(target);
	/* One that fails from its events ends a little later. */
	if (up && !strcmp(name, "rdma_get_cm_event"))
		sleep_ms(100);
	if (up && target_lives(target))
		check_next(address, name);
	ret = target_ends(target);
	if (ret > 1 || (!up && !ret))
		fail("%s: the target's status is %d", name, ret);
	if (ret)
		snprintf(how, sizeof(how), "%s", said.last);
	points.nr_failed += ret && !up;
	if (name[0])
		point_told(isolate ? "target" : "target, isolate=0", name, how);
	return name[0];
}

static void sweep_target(const char *address, bool isolate)
{
	struct target target = target_new();
	uint32_t nth = 1;

	while (target_point(&target, address, isolate, nth, NULL))
		nth++;
}

static void report(void)
{
	printf("%u points, %u of them failed cleanly, the others went on\n",
	       points.nr, points.nr_failed);
}

static int sweep(const char *address)
{
	sweep_initiator(address);
	sweep_target(address, true);
	sweep_target(address, false);
	report();
	return 0;
}

static const char *const functions[] = {
	"ibv_alloc_pd",
	"ibv_create_comp_channel",
	"ibv_create_cq",
	"ibv_create_qp",
	"ibv_get_device_list",
	"ibv_modify_qp",
	"ibv_open_device",
	"ibv_query_device",
	"ibv_query_device_ex",
	"ibv_query_port",
	"ibv_query_qp",
	"ibv_reg_mr",
	"ibv_reg_mr_iova2",
	"rdma_accept",
	"rdma_bind_addr",
	"rdma_connect",
	"rdma_create_event_channel",
	"rdma_create_id",
	"rdma_create_qp",
	"rdma_get_cm_event",
	"rdma_listen",
	"rdma_reject",
	"rdma_resolve_addr",
	"rdma_resolve_route",
	"rdma_set_option",
};
#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static int always(const char *address)
{
	struct engine_conf conf = conf_of(address);
	struct target target = target_new(), other = target_new();

	conf.connect_timeout_ms = SHORT_MS;
	if (!target_starts(&target, true))
		fail("the target does not start");
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		initiator_point(&conf, 0, functions[i]);
	target_ends(&target);
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		target_point(&other, address, true, 0, functions[i]);
	report();
	return 0;
}

/* -- cycles ------------------------------------------------------------------ */

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static double median(double *times, uint32_t nr)
{
	qsort(times, nr, sizeof(*times), by_size);
	return times[nr / 2];
}

static double time_cycle(const char *address)
{
	double start = now_ms();

	check_next(address, "nothing");
	return now_ms() - start;
}

/*
 * How long a piece of work takes that is always the same, and a connection's
 * kind: system calls, in a kernel that is emulated like everything else. The
 * host's pace changes by half within a minute, and a cycle's time with it.
 */
static double time_pace(const int ends[2])
{
	double start = now_ms();
	char byte = 0;

	for (uint32_t i = 0; i < PACE_TRIPS; i++)
		if (write(ends[1], &byte, 1) != 1 ||
		    read(ends[0], &byte, 1) != 1)
			fail("a pipe does not work");
	return now_ms() - start;
}

/* What a tenth of the cycles took: medians. */
struct part {
	double ms;
	double paces; /* of one cycle, in times of the work beside it */
};

/* Times nr cycles in PARTS. */
static void time_cycles(const char *address, uint32_t nr,
			struct part parts[PARTS])
{
	const uint32_t per_part = nr / PARTS;
	double *times = calloc(2ul * per_part, sizeof(*times));
	double *paces = times + per_part;
	int ends[2];

	if (!times || pipe(ends))
		fail("no memory, or no pipe");
	for (uint32_t p = 0; p < PARTS; p++) {
		for (uint32_t i = 0; i < per_part; i++) {
			double pace = time_pace(ends);

			times[i] = time_cycle(address);
			paces[i] = 2 * times[i] / (pace + time_pace(ends));
		}
		parts[p] = (struct part){ median(times, per_part),
					  median(paces, per_part) };
	}
	close(ends[0]);
	close(ends[1]);
	free(times);
}

static void report_parts(uint32_t nr, const struct part parts[PARTS])
{
	printf("%u cycles of %d QPs; medians of each tenth, ms:", nr, NR_QPS);
	for (uint32_t p = 0; p < PARTS; p++)
		printf(" %.1f", parts[p].ms);
	printf("\ncycles in times of a fixed piece of work beside them:");
	for (uint32_t p = 0; p < PARTS; p++)
		printf(" %.1f", parts[p].paces);
	putchar('\n');
}

/* The first ones wait for caches and neighbours; they are not timed. */
static int cycles(const char *address, uint32_t nr)
{
	struct target target = target_new();
	int descriptors, target_descriptors;
	struct part parts[PARTS];
	int32_t objects;

	if (!target_starts(&target, true) || nr < WARM_UP + PARTS)
		fail("the target does not start, or too few cycles");
	for (uint32_t i = 0; i < WARM_UP; i++)
		time_cycle(address);
	target_settles(&target);
	objects = shim->nr_held;
	descriptors = nr_descriptors(getpid());
	target_descriptors = nr_descriptors(target.pid);
	time_cycles(address, nr - WARM_UP, parts);
	target_settles(&target);
	report_parts(nr, parts);
	printf("descriptors: %d before, %d after; of the target %d and %d\n",
	       descriptors, nr_descriptors(getpid()), target_descriptors,
	       nr_descriptors(target.pid));
	if (shim->nr_held != objects ||
	    nr_descriptors(getpid()) != descriptors ||
	    nr_descriptors(target.pid) != target_descriptors)
		fail("something is left behind");
	if (parts[PARTS - 1].paces > 1.5 * parts[0].paces)
		fail("the last cycles are slower than the first");
	return target_ends(&target);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "target") && argc > 4)
		return be_target((uint16_t)atoi(argv[2]), atoi(argv[3]),
				 atoi(argv[4]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "sweep"))
		return sweep(argv[2]);
	if (!strcmp(what, "always"))
		return always(argv[2]);
	if (!strcmp(what, "cycles") && argc > 3)
		return cycles(argv[2], (uint32_t)atoi(argv[3]));
	fprintf(stderr, "usage: see the top of setup.c\n");
	return 2;
}
