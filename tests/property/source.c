// SPDX-License-Identifier: GPL-2.0-only
/* Where decisions come from: a seeded generator, or the bytes of a fuzzer. */
#include "source.h"

void source_from_seed(struct source *source, uint64_t seed)
{
	*source = (struct source){ .state = seed };
}

void source_from_bytes(struct source *source, const uint8_t *bytes, size_t nr)
{
	static const uint8_t none;

	*source =
		(struct source){ .bytes = nr ? bytes : &none, .nr_bytes = nr };
}

/* splitmix64 */
static uint32_t next_random(struct source *source)
{
	uint64_t z = source->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) >> 32);
}

static uint32_t next_byte(struct source *source)
{
	if (!source->nr_bytes)
		return 0;
	source->nr_bytes--;
	return *source->bytes++;
}

uint32_t source_below(struct source *source, uint32_t n)
{
	uint32_t value = 0;

	if (!source->bytes)
		return (uint32_t)((uint64_t)next_random(source) * n >> 32);
	for (uint32_t most = n - 1; most; most >>= 8)
		value = value << 8 | next_byte(source);
	return value % n;
}

uint32_t source_range(struct source *source, uint32_t lo, uint32_t hi)
{
	return lo + source_below(source, hi - lo + 1);
}

bool source_one_in(struct source *source, uint32_t n)
{
	return source_below(source, n) == n - 1;
}
