// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Region ids: addresses, bounds, and a key per lane. */
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define REGIONS_AT_FIRST 4

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

int region_table_init(struct region_table *table, uint32_t nr_lanes)
{
	table->regions = calloc(REGIONS_AT_FIRST, sizeof(*table->regions));
	if (!table->regions)
		return -ENOMEM;
	table->mask = REGIONS_AT_FIRST - 1;
	table->nr_lanes = nr_lanes;
	return 0;
}

/* Doubles the table; the first new id. */
static int region_table_grow(struct region_table *table)
{
	uint32_t nr = table->mask + 1;
	struct region *regions;

	if (nr == WRB_MAX_REGIONS)
		return -ENOSPC;
	regions = realloc(table->regions, (size_t)2 * nr * sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	memset(regions + nr, 0, nr * sizeof(*regions));
	table->regions = regions;
	table->mask = 2 * nr - 1;
	return (int)nr;
}

static int region_id_get(struct region_table *table)
{
	for (uint32_t id = 0; id <= table->mask; id++)
		if (!table->regions[id].keys)
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
	table->regions[id].addr = region->addr;
	table->regions[id].length[region->side] = region->length;
	table->regions[id].keys = keys;
	return id;
}

void region_remove(struct region_table *table, int id)
{
	free(table->regions[id].keys);
	table->regions[id] = (struct region){ 0 };
}

void region_table_free(struct region_table *table)
{
	for (uint32_t id = 0; table->regions && id <= table->mask; id++)
		free(table->regions[id].keys);
	free(table->regions);
}
