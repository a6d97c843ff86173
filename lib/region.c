// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Region ids: addresses, bounds, and a key per lane. */
#include "region.h"

#include <stdlib.h>
#include <string.h>

static int region_check(const struct wrb_region *region)
{
	if (!region || !region->keys || !region->length)
		return -EINVAL;
	if (region->side != WRB_LOCAL && region->side != WRB_REMOTE)
		return -EINVAL;
	if (region->length > REGION_MAX_BYTES)
		return -ERANGE;
	if (region->addr > UINT64_MAX - (region->length - 1))
		return -ERANGE;
	return 0;
}

static int region_table_grow(struct region_table *table)
{
	struct region *regions;

	if (table->nr == WRB_MAX_REGIONS)
		return -ENOSPC;
	regions = realloc(table->regions, (table->nr + 1) * sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	regions[table->nr].side = REGION_FREE;
	regions[table->nr].keys = NULL;
	table->regions = regions;
	return (int)table->nr++;
}

static int region_id_get(struct region_table *table)
{
	for (uint32_t id = 0; id < table->nr; id++)
		if (table->regions[id].side == REGION_FREE)
			return (int)id;
	return region_table_grow(table);
}

int region_add(struct region_table *table, const struct wrb_region *region)
{
	size_t bytes = table->nr_lanes * sizeof(uint32_t);
	int err = region_check(region);
	uint32_t *keys;
	int id;

	if (err)
		return err;
	keys = malloc(bytes);
	if (!keys)
		return -ENOMEM;
	id = region_id_get(table);
	if (id < 0) {
		free(keys);
		return id;
	}
	memcpy(keys, region->keys, bytes);
	table->regions[id] = (struct region){
		.addr = region->addr,
		.length = region->length,
		.keys = keys,
		.side = region->side,
	};
	return id;
}

void region_remove(struct region_table *table, int id)
{
	free(table->regions[id].keys);
	table->regions[id] = (struct region){ .side = REGION_FREE };
}

void region_table_free(struct region_table *table)
{
	for (uint32_t id = 0; id < table->nr; id++)
		free(table->regions[id].keys);
	free(table->regions);
}
