/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Region ids: addresses, bounds, and a key per lane. */
#ifndef WRB_REGION_H
#define WRB_REGION_H

#include <errno.h>
#include <stdbool.h>

#include "compiler.h"
#include "wrb.h"

#define REGION_MAX_BYTES (UINT64_C(1) << 48)
#define REGION_FREE	 2 /* side of an id that is not in use */

struct region {
	uint64_t addr;
	uint64_t length;
	uint32_t *keys; /* one per lane */
	uint32_t side;
};

struct region_table {
	struct region *regions;
	uint32_t nr; /* ids below it are or were in use */
	uint32_t nr_lanes;
};

/* The id, or -errno as wrb_region_add() says. */
int region_add(struct region_table *table, const struct wrb_region *region);
/* The id exists. */
void region_remove(struct region_table *table, int id);
void region_table_free(struct region_table *table);

static inline bool region_exists(const struct region_table *table, int id)
{
	return id >= 0 && (uint32_t)id < table->nr &&
	       table->regions[id].side != REGION_FREE;
}

/* The region, or NULL when id is unknown or of the other side. */
static inline const struct region *region_get(const struct region_table *table,
					      uint32_t id, enum wrb_side side)
{
	if (unlikely(id >= table->nr))
		return NULL;
	if (unlikely(table->regions[id].side != (uint32_t)side))
		return NULL;
	return &table->regions[id];
}

/* Written so that no sum can wrap. */
static inline bool region_holds(const struct region *region, uint64_t offset,
				uint64_t length)
{
	return likely(offset <= region->length &&
		      length <= region->length - offset);
}

#endif /* WRB_REGION_H */
