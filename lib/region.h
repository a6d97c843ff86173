/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Region ids: addresses, bounds, and a key per lane. */
#ifndef WRB_REGION_H
#define WRB_REGION_H

#include <errno.h>
#include <stdbool.h>

#include "compiler.h"
#include "wrb.h"

#define REGION_MAX_BYTES (UINT64_C(1) << 48)

struct region {
	uint64_t addr;
	uint64_t length[2]; /* by side: 0 for the one that it is not of */
	uint32_t *keys;	    /* one per lane */
};

struct region_table {
	struct region *regions; /* mask + 1, a power of two */
	uint32_t mask;
	uint32_t nr_lanes;
};

/* An empty table; 0 or -ENOMEM. */
int region_table_init(struct region_table *table, uint32_t nr_lanes);

/* The id, or -errno as wrb_region_add() says. */
int region_add(struct region_table *table, const struct wrb_region *region);
/* The id exists. */
void region_remove(struct region_table *table, int id);
void region_table_free(struct region_table *table);

static inline bool region_exists(const struct region_table *table, int id)
{
	return id >= 0 && (uint32_t)id <= table->mask &&
	       table->regions[id].keys;
}

/* The region, or NULL when id is unknown or of the other side. */
static inline const struct region *region_get(const struct region_table *table,
					      uint32_t id, enum wrb_side side)
{
	if (id > table->mask || !table->regions[id].length[side])
		return NULL;
	return &table->regions[id];
}

/*
 * At least one byte, and all in both regions. They have REGION_MAX_BYTES at
 * most; so, as numbers with a sign, no offset may be below 0, nor what is left
 * behind it, nor what is left behind the last byte.
 */
static always_inline bool regions_hold(u64_pair bytes, u64_pair offsets,
				       uint32_t length)
{
	const u64_pair rest = bytes - offsets;

	return length && !pair_below_0(offsets | rest | (rest - length));
}

#endif /* WRB_REGION_H */
