// SPDX-License-Identifier: GPL-2.0-only
/* Runs random cases: property [cases] [seed]. A case's seed is told if it fails. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "case.h"

#ifndef NR_CASES
#define NR_CASES 100000
#endif

static uint64_t seed_of_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int run(uint64_t nr, uint64_t seed, const char *name)
{
	for (uint64_t i = 0; i < nr; i++) {
		struct source source;
		const char *why;

		source_from_seed(&source, seed + i);
		why = case_run(&source);
		if (!why)
			continue;
		printf("case %" PRIu64 " of seed %" PRIu64 ": %s\n"
		       "replay: %s 1 %" PRIu64 "\n",
		       i, seed, why, name, seed + i);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 0) : NR_CASES;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : seed_of_now();
	double start = seconds();

	printf("%" PRIu64 " cases from seed %" PRIu64 "\n", nr, seed);
	fflush(stdout);
	if (run(nr, seed, argv[0]))
		return 1;
	printf("all held, in %.1f s\n", seconds() - start);
	return 0;
}
