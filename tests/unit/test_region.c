// SPDX-License-Identifier: GPL-2.0-only
/* Region ids, bounds, keys. */
#include "region.h"

#include "fixture.h"

static int setup(void **state)
{
	struct region_table *table = malloc(sizeof(*table));

	assert_non_null(table);
	assert_int_equal(region_table_init(table, 2), 0);
	*state = table;
	return 0;
}

static int teardown(void **state)
{
	region_table_free(*state);
	free(*state);
	return 0;
}

static struct wrb_region region_of(uint64_t addr, uint64_t length)
{
	static const uint32_t keys[2] = { 0x10, 0x20 };

	return (struct wrb_region){
		.side = WRB_REMOTE,
		.addr = addr,
		.length = length,
		.keys = keys,
	};
}

static void region_add_copies_keys(void **state)
{
	struct region_table *table = *state;
	uint32_t keys[2] = { 1, 2 };
	struct wrb_region region = region_of(0x1000, 64);
	const struct region *found;

	region.keys = keys;
	assert_int_equal(region_add(table, &region), 0);
	keys[0] = keys[1] = 99;
	found = region_get(table, 0, WRB_REMOTE);
	assert_non_null(found);
	assert_int_equal(found->keys[0], 1);
	assert_int_equal(found->keys[1], 2);
	assert_int_equal(found->addr, 0x1000);
	assert_int_equal(found->length[WRB_REMOTE], 64);
}

static void region_add_bad_field_einval(void **state)
{
	struct wrb_region region = region_of(0, 0);

	assert_int_equal(region_add(*state, NULL), -EINVAL);
	assert_int_equal(region_add(*state, &region), -EINVAL);
	region.length = 1;
	region.keys = NULL;
	assert_int_equal(region_add(*state, &region), -EINVAL);
	region = region_of(0, 1);
	region.side = (enum wrb_side)2;
	assert_int_equal(region_add(*state, &region), -EINVAL);
}

static void region_add_length_above_2_48_erange(void **state)
{
	struct wrb_region region = region_of(0, REGION_MAX_BYTES + 1);

	assert_int_equal(region_add(*state, &region), -ERANGE);
	region.length = REGION_MAX_BYTES;
	assert_int_equal(region_add(*state, &region), 0);
}

static void region_add_wrapping_addr_erange(void **state)
{
	struct wrb_region region = region_of(UINT64_MAX - 14, 16);

	assert_int_equal(region_add(*state, &region), -ERANGE);
	region.addr = UINT64_MAX - 16;
	assert_int_equal(region_add(*state, &region), 0);
}

static void region_remove_id_is_given_out_again(void **state)
{
	struct region_table *table = *state;
	struct wrb_region region = region_of(0x1000, 64);

	for (int id = 0; id < 3; id++)
		assert_int_equal(region_add(table, &region), id);
	region_remove(table, 1);
	assert_false(region_exists(table, 1));
	assert_true(region_exists(table, 2));
	assert_null(region_get(table, 1, WRB_REMOTE));
	assert_int_equal(region_add(table, &region), 1);
	assert_int_equal(region_add(table, &region), 3);
}

static void region_get_wrong_side_or_id_null(void **state)
{
	struct region_table *table = *state;
	struct wrb_region region = region_of(0x1000, 64);

	assert_null(region_get(table, 0, WRB_LOCAL));
	assert_int_equal(region_add(table, &region), 0);
	assert_null(region_get(table, 0, WRB_LOCAL));
	assert_non_null(region_get(table, 0, WRB_REMOTE));
	assert_null(region_get(table, 1, WRB_REMOTE));
	assert_null(region_get(table, UINT32_MAX, WRB_REMOTE));
	assert_false(region_exists(table, -1));
	assert_false(region_exists(table, INT32_MAX));
}

static void region_add_table_full_enospc(void **state)
{
	struct region_table *table = *state;
	struct wrb_region region = region_of(0x1000, 64);

	for (int id = 0; id < WRB_MAX_REGIONS; id++)
		assert_int_equal(region_add(table, &region), id);
	assert_int_equal(region_add(table, &region), -ENOSPC);
	region_remove(table, 4095);
	assert_int_equal(region_add(table, &region), 4095);
}

/* The same of either region, the other one being large enough. */
static bool holds_of(uint64_t bytes, uint64_t offset, uint32_t length)
{
	const uint64_t large = REGION_MAX_BYTES;
	const bool local = regions_hold((u64_pair){ bytes, large },
					(u64_pair){ offset, 0 }, length);
	const bool remote = regions_hold((u64_pair){ large, bytes },
					 (u64_pair){ 0, offset }, length);

	assert_int_equal(local, remote);
	return local;
}

static bool holds(uint64_t offset, uint32_t length)
{
	return holds_of(100, offset, length);
}

static void regions_hold_no_sum_wraps(void **state)
{
	(void)state;
	assert_true(holds(0, 100));
	assert_true(holds(99, 1));
	assert_false(holds(0, 0));
	assert_false(holds(100, 0));
	assert_false(holds(0, 101));
	assert_false(holds(100, 1));
	assert_false(holds(UINT64_MAX, 2));
	assert_false(holds(2, UINT32_MAX));
	assert_true(holds_of(REGION_MAX_BYTES, REGION_MAX_BYTES - 1, 1));
	assert_false(holds_of(REGION_MAX_BYTES, REGION_MAX_BYTES, 1));
	assert_false(holds_of(0, 0, 1));
	assert_false(holds(UINT64_MAX - 3, UINT32_MAX));
	for (uint32_t shift = 7; shift < 64; shift++)
		for (int near = -2; near <= 2; near++) {
			uint64_t offset = (UINT64_C(1) << shift) + near;

			assert_false(holds(offset, 1));
			assert_false(holds(offset, UINT32_MAX));
		}
}

#define region_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		region_test(region_add_copies_keys),
		region_test(region_add_bad_field_einval),
		region_test(region_add_length_above_2_48_erange),
		region_test(region_add_wrapping_addr_erange),
		region_test(region_remove_id_is_given_out_again),
		region_test(region_get_wrong_side_or_id_null),
		region_test(region_add_table_full_enospc),
		cmocka_unit_test(regions_hold_no_sum_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
