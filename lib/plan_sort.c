// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Orders staged operations by remote address, stable, without allocating. */
#include <string.h>

#include "plan.h"

#define DIGIT_BITS    8
#define NR_DIGITS     (1u << DIGIT_BITS)
#define INSERTION_MAX 32 /* up to here insertion sort wins */

/* Bits in which keys differ; 0 in *sorted when they are out of order. */
static uint64_t collect(const struct op *ops, const uint32_t *row, uint32_t nr,
			struct plan_sort_item *items, bool *sorted)
{
	uint64_t first = ops[row[0]].remote_addr, last = 0, differ = 0;

	*sorted = true;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t key = ops[row[i]].remote_addr;

		items[i] = (struct plan_sort_item){ key, row[i] };
		differ |= key ^ first;
		*sorted &= key >= last;
		last = key;
	}
	return differ;
}

static void insertion_sort(struct plan_sort_item *items, uint32_t nr)
{
	for (uint32_t i = 1; i < nr; i++) {
		struct plan_sort_item item = items[i];
		uint32_t k = i;

		for (; k && items[k - 1].key > item.key; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

static always_inline uint32_t digit(const struct plan_sort_item *item,
				    uint32_t shift)
{
	return item->key >> shift & (NR_DIGITS - 1);
}

/* Where the first item of each digit goes. */
static void digit_places(const struct plan_sort_item *items, uint32_t nr,
			 uint32_t shift, uint32_t place[NR_DIGITS])
{
	uint32_t sum = 0;

	memset(place, 0, NR_DIGITS * sizeof(*place));
	for (uint32_t i = 0; i < nr; i++)
		place[digit(&items[i], shift)]++;
	for (uint32_t d = 0; d < NR_DIGITS; d++) {
		uint32_t count = place[d];

		place[d] = sum;
		sum += count;
	}
}

/* Sorts by the digits in which keys differ; the last pass writes the row. */
static void radix_sort(struct plan_sort_item *items,
		       struct plan_sort_item *scratch, uint32_t nr,
		       uint64_t differ, uint32_t *row)
{
	uint32_t shift = (uint32_t)__builtin_ctzll(differ);
	uint32_t place[NR_DIGITS];

	for (differ >>= shift; differ >= NR_DIGITS; differ >>= DIGIT_BITS) {
		struct plan_sort_item *swap = items;

		digit_places(items, nr, shift, place);
		for (uint32_t i = 0; i < nr; i++)
			scratch[place[digit(&items[i], shift)]++] = items[i];
		items = scratch;
		scratch = swap;
		shift += DIGIT_BITS;
	}
	digit_places(items, nr, shift, place);
	for (uint32_t i = 0; i < nr; i++)
		row[place[digit(&items[i], shift)]++] = items[i].op;
}

void plan_sort(const struct op *ops, uint32_t *row, uint32_t nr,
	       struct plan_sort_item *items, struct plan_sort_item *scratch)
{
	uint64_t differ;
	bool sorted;

	if (nr < 2)
		return;
	differ = collect(ops, row, nr, items, &sorted);
	if (sorted)
		return;
	if (nr > INSERTION_MAX) {
		radix_sort(items, scratch, nr, differ, row);
		return;
	}
	insertion_sort(items, nr);
	for (uint32_t i = 0; i < nr; i++)
		row[i] = items[i].op;
}
