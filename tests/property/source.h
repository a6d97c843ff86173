/* SPDX-License-Identifier: GPL-2.0-only */
/* Where decisions come from: a seeded generator, or the bytes of a fuzzer. */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
	uint64_t state;
	const uint8_t *bytes; /* NULL: from state */
	size_t nr_bytes;
};

void source_from_seed(struct source *source, uint64_t seed);

/* After the last byte every answer is 0. The bytes stay the caller's. */
void source_from_bytes(struct source *source, const uint8_t *bytes, size_t nr);

/* 0..n-1; n is 1 at least. */
uint32_t source_below(struct source *source, uint32_t n);

/* lo..hi */
uint32_t source_range(struct source *source, uint32_t lo, uint32_t hi);

/* Once in n times. */
bool source_one_in(struct source *source, uint32_t n);

/* One of the numbers of an array. */
#define source_pick(source, array) \
	((array)[source_below((source), sizeof(array) / sizeof((array)[0]))])

#endif /* SOURCE_H */
