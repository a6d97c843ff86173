// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a request costs from wrb_addv() to the end of wrb_poll(), beside a
 * floor written by hand and two planners as transport libraries have them, all
 * in one run. The provider is a walk over the chain, so that the figures are
 * the planners' own.
 *
 * usage: bench_plan [--csv] [--rounds N] [--ms N] [--case NAME] [--batch N]
 *                   [--lanes N] [--side NAME]
 *        bench_plan --runs N ...   N batches of each, timing nothing: for a
 *                                  profiler, or to count instructions
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static const struct bench_case shapes[] = {
	{ "scattered", 1024, 2048, 0, false, false },
	{ "scattered-merge", 1024, 2048, 0, true, false },
	{ "unsorted", 1024, 2048, 0, true, true },
	{ "contiguous", 1024, 1024, 0, true, false },
	{ "chunked", 1u << 20, 1u << 20, 1u << 16, false, false },
};

static const struct bench_side *const sides[] = { &side_wrb, &side_floor,
						  &side_alloc, &side_reuse };
#define NR_SHAPES  (sizeof(shapes) / sizeof(shapes[0]))
#define NR_SIDES   (sizeof(sides) / sizeof(sides[0]))
#define MAX_ROUNDS 99

static const uint32_t batches[] = { 1, 8, 32, 128, 512, 4096, 0 };
static const uint32_t lane_counts[] = { 1, 4, 64, 0 };

struct settings {
	bool csv;
	uint32_t rounds;
	uint32_t ms; /* of one measurement */
	const char *shape, *side;
	uint32_t batch, lanes; /* 0: all */
	uint32_t runs;	       /* 0: measure */
};

/* -- allocations, counted ----------------------------------------------- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t nr, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

static uint64_t nr_allocations;

void *malloc(size_t bytes)
{
	nr_allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t nr, size_t bytes)
{
	nr_allocations++;
	return __libc_calloc(nr, bytes);
}

void *realloc(void *block, size_t bytes)
{
	nr_allocations++;
	return __libc_realloc(block, bytes);
}

/* -- the work ----------------------------------------------------------- */

static uint32_t pieces(const struct bench_case *shape)
{
	return shape->chunk_bytes ? shape->op_bytes / shape->chunk_bytes : 1;
}

static void shuffle(struct wrb_op *ops, uint32_t nr)
{
	uint64_t state = 88172645463325252u;

	for (uint32_t i = nr; i > 1; i--) {
		struct wrb_op swap = ops[i - 1];
		uint32_t k;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		k = (uint32_t)(state % i);
		ops[i - 1] = ops[k];
		ops[k] = swap;
	}
}

/* A batch counts WRs where operations are cut, so that figures are per WR. */
static void work_make(struct bench_work *work, const struct bench_case *shape,
		      uint32_t batch, uint32_t lanes)
{
	uint32_t nr = batch / pieces(shape);

	if (!nr)
		nr = 1;
	*work = (struct bench_work){
		.shape = shape,
		.batch = nr,
		.lanes = lanes,
		.ops = calloc(nr, sizeof(*work->ops)),
		.done = calloc(nr, sizeof(*work->done)),
		.region_bytes = (uint64_t)nr * shape->stride,
	};
	if (!work->ops || !work->done)
		abort();
	for (uint32_t i = 0; i < nr; i++)
		work->ops[i] = (struct wrb_op){
			.user = &work->ops[i],
			.local_offset = (uint64_t)i * shape->stride,
			.remote_offset = (uint64_t)i * shape->stride,
			.length = shape->op_bytes,
			.local = 0,
			.remote = 1,
			.dir = WRB_WRITE,
		};
	if (shape->sort)
		shuffle(work->ops, nr);
}

static void work_free(struct bench_work *work)
{
	free(work->ops);
	free(work->done);
}

/* -- measuring ---------------------------------------------------------- */

/* The thread's own: what else runs here must not count. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ns per WR over about ms milliseconds. */
static double measure(const struct bench_side *side, void *arg,
		      const struct bench_work *work, uint32_t ms)
{
	uint32_t wrs = work->batch * pieces(work->shape);
	uint32_t at_once = wrs < 4096 ? 4096 / wrs : 1;
	double began = now_ns(), ended;
	uint64_t runs = 0;

	do {
		for (uint32_t i = 0; i < at_once; i++)
			side->run(arg, work);
		runs += at_once;
		ended = now_ns();
	} while (ended - began < ms * 1e6);
	return (ended - began) / (double)(runs * wrs);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return nr % 2 ? values[nr / 2]
		      : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}

static double allocations(const struct bench_side *side, void *arg,
			  const struct bench_work *work)
{
	uint64_t before = nr_allocations;

	for (int i = 0; i < 10; i++)
		side->run(arg, work);
	return (double)(nr_allocations - before) / 10;
}

struct row {
	double ns[NR_SIDES];
	double allocations[NR_SIDES];
	double per_floor;  /* libwrb / floor */
	double allocating; /* the allocating planner / libwrb */
};

/* Of two sides measured in turn, round by round: the clock's pace cancels. */
static double median_ratio(const double *ns, const double *beside, uint32_t nr)
{
	double ratios[MAX_ROUNDS];

	for (uint32_t r = 0; r < nr; r++)
		ratios[r] = beside[r] > 0 ? ns[r] / beside[r] : 0;
	return median(ratios, nr);
}

static bool wanted(const char *only, const char *name)
{
	return !only || !strcmp(only, name);
}

static void row_measure(const struct settings *set,
			const struct bench_work *work, struct row *row)
{
	double ns[NR_SIDES][MAX_ROUNDS];
	void *args[NR_SIDES] = { NULL };

	for (uint32_t s = 0; s < NR_SIDES; s++) {
		if (!wanted(set->side, sides[s]->name))
			continue;
		args[s] = sides[s]->make(work);
		for (int warm = 0; warm < 3; warm++)
			sides[s]->run(args[s], work);
		row->allocations[s] = allocations(sides[s], args[s], work);
	}
	for (uint32_t r = 0; r < set->rounds; r++)
		for (uint32_t s = 0; s < NR_SIDES; s++)
			ns[s][r] = args[s] ? measure(sides[s], args[s], work,
						     set->ms)
					   : 0;
	row->per_floor = median_ratio(ns[0], ns[1], set->rounds);
	row->allocating = median_ratio(ns[2], ns[0], set->rounds);
	for (uint32_t s = 0; s < NR_SIDES; s++) {
		row->ns[s] = median(ns[s], set->rounds);
		if (args[s])
			sides[s]->drop(args[s]);
	}
}

/* How much dearer a WR of one work is than one of another, with a side. */
static double growth(const struct settings *set, const struct bench_side *side,
		     const struct bench_work *from, const struct bench_work *to)
{
	void *from_arg = side->make(from), *to_arg = side->make(to);
	double before[MAX_ROUNDS], after[MAX_ROUNDS];

	for (int warm = 0; warm < 3; warm++) {
		side->run(from_arg, from);
		side->run(to_arg, to);
	}
	for (uint32_t r = 0; r < set->rounds; r++) {
		before[r] = measure(side, from_arg, from, set->ms);
		after[r] = measure(side, to_arg, to, set->ms);
	}
	side->drop(from_arg);
	side->drop(to_arg);
	return median_ratio(after, before, set->rounds);
}

/* -- printing ----------------------------------------------------------- */

static void print_head(const struct settings *set)
{
	if (set->csv)
		puts("case,lanes,batch,libwrb_ns,floor_ns,allocating_ns,"
		     "reusing_ns,libwrb_per_floor,allocating_per_libwrb,libwrb_"
		     "allocations,allocating_allocations");
	else
		puts("ns per WR (median)                libwrb  floor  alloc  "
		     "reuse   libwrb/  alloc/   allocations per batch\n"
		     "case             lanes  batch                            "
		     "     floor    libwrb   libwrb   allocating");
}

static void print_row(const struct settings *set, const struct bench_work *work,
		      uint32_t batch, const struct row *row)
{
	const char *format =
		set->csv ? "%s,%u,%u,%.2f,%.2f,%.2f,%.2f,%.3f,%.3f,%.1f,%.1f\n"
			 : "%-16s %5u %6u %9.2f %6.2f %6.1f %6.1f %8.2f %8.2f "
			   "%8.1f %10.1f\n";

	printf(format, work->shape->name, work->lanes, batch, row->ns[0],
	       row->ns[1], row->ns[2], row->ns[3], row->per_floor,
	       row->allocating, row->allocations[0], row->allocations[2]);
	fflush(stdout);
}

static void print_growth(const struct settings *set,
			 const struct bench_case *shape, const char *what,
			 const struct bench_work *from,
			 const struct bench_work *to)
{
	printf(set->csv ? "growth,%s,%s,%.3f,%.3f\n"
			: "%-16s %-28s %7.2f %7.2f\n",
	       shape->name, what, growth(set, &side_wrb, from, to),
	       growth(set, &side_floor, from, to));
	fflush(stdout);
}

/* Larger batches and more lanes: both ends of each, in turn. */
static void run_growth(const struct settings *set,
		       const struct bench_case *shape)
{
	struct bench_work few, many, lanes;

	if (!wanted(set->shape, shape->name))
		return;
	work_make(&few, shape, 128, 1);
	work_make(&many, shape, 4096, 1);
	work_make(&lanes, shape, 4096, 64);
	print_growth(set, shape, "batch 128 -> 4096, 1 lane", &few, &many);
	print_growth(set, shape, "1 -> 64 lanes, batch 4096", &many, &lanes);
	work_free(&few);
	work_free(&many);
	work_free(&lanes);
}

static void print_all_growth(const struct settings *set)
{
	if (!set->csv)
		puts("\nns per WR, second / first                      libwrb  "
		     " floor");
	for (uint32_t s = 0; s < NR_SHAPES; s++)
		run_growth(set, &shapes[s]);
}

/* Bytes of heap in use before and after one batch of 65,536. */
static void print_retained(const struct settings *set)
{
	struct bench_work work;

	work_make(&work, &shapes[0], BENCH_MAX_OPS, 1);
	for (uint32_t s = 0; s < NR_SIDES; s++) {
		long before, after;
		void *arg;

		if (sides[s] == &side_floor)
			continue;
		arg = sides[s]->make(&work);
		before = (long)mallinfo2().uordblks;
		sides[s]->run(arg, &work);
		after = (long)mallinfo2().uordblks;
		printf(set->csv ? "retained,%s,%ld\n"
				: "bytes retained after a batch of 65536: %s "
				  "%ld\n",
		       sides[s]->name, after - before);
		sides[s]->drop(arg);
	}
	work_free(&work);
}

/* -- main --------------------------------------------------------------- */

static uint32_t number(const char *text, uint32_t max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > max) {
		fprintf(stderr, "bench_plan: \"%s\" is not in 1..%u\n", text,
			max);
		exit(2);
	}
	return (uint32_t)value;
}

static void settings_read(struct settings *set, int argc, char **argv)
{
	static const struct option options[] = {
		{ "csv", no_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "ms", required_argument, NULL, 'm' },
		{ "case", required_argument, NULL, 'k' },
		{ "batch", required_argument, NULL, 'b' },
		{ "lanes", required_argument, NULL, 'l' },
		{ "side", required_argument, NULL, 's' },
		{ "runs", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'c':
			set->csv = true;
			break;
		case 'r':
			set->rounds = number(optarg, MAX_ROUNDS);
			break;
		case 'm':
			set->ms = number(optarg, 10000);
			break;
		case 'k':
			set->shape = optarg;
			break;
		case 'b':
			set->batch = number(optarg, 4096);
			break;
		case 'l':
			set->lanes = number(optarg, BENCH_MAX_LANES);
			break;
		case 's':
			set->side = optarg;
			break;
		case 'n':
			set->runs = number(optarg, 1000000);
			break;
		default:
			exit(2);
		}
}

/* So many batches of each side, and nothing else. */
static void repeat(const struct settings *set, const struct bench_work *work)
{
	for (uint32_t s = 0; s < NR_SIDES; s++) {
		void *arg;

		if (!wanted(set->side, sides[s]->name))
			continue;
		arg = sides[s]->make(work);
		for (uint32_t i = 0; i < set->runs; i++)
			sides[s]->run(arg, work);
		sides[s]->drop(arg);
	}
}

static void run_one(const struct settings *set, const struct bench_case *shape,
		    uint32_t lanes, uint32_t batch)
{
	struct bench_work work;
	struct row row = { 0 };

	if ((set->batch && set->batch != batch) ||
	    (set->lanes && set->lanes != lanes) ||
	    !wanted(set->shape, shape->name))
		return;
	work_make(&work, shape, batch, lanes);
	if (set->runs) {
		repeat(set, &work);
	} else {
		row_measure(set, &work, &row);
		print_row(set, &work, batch, &row);
	}
	work_free(&work);
}

int main(int argc, char **argv)
{
	struct settings set = { .rounds = 7, .ms = 3 };

	settings_read(&set, argc, argv);
	if (!set.runs)
		print_head(&set);
	for (uint32_t s = 0; s < NR_SHAPES; s++)
		for (uint32_t l = 0; lane_counts[l]; l++)
			for (uint32_t b = 0; batches[b]; b++)
				run_one(&set, &shapes[s], lane_counts[l],
					batches[b]);
	if (!set.batch && !set.lanes && !set.side && !set.runs)
		print_all_growth(&set);
	if (!set.shape && !set.side && !set.runs)
		print_retained(&set);
	return 0;
}
