// SPDX-License-Identifier: GPL-2.0-only
/* The table of operations and its lists. */
#include "op_table.h"

#include "fixture.h"

static int setup(void **state)
{
	struct op_table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	assert_int_equal(op_table_init(table, 8), 0);
	*state = table;
	return 0;
}

static int teardown(void **state)
{
	op_table_free(*state);
	free(*state);
	return 0;
}

static uint32_t take(struct op_table *table)
{
	return table->free[--table->nr_free];
}

static void op_table_new_every_op_is_free_once(void **state)
{
	struct op_table *table = *state;
	uint32_t seen = 0;

	assert_int_equal(table->nr_free, 8);
	while (table->nr_free)
		seen |= 1u << take(table);
	assert_int_equal(seen, 0xff);
}

static void op_table_entries_are_cache_lines(void **state)
{
	struct op_table *table = *state;

	assert_int_equal((uintptr_t)op_get(table, 0) % 64, 0);
	assert_int_equal((char *)op_get(table, 1) - (char *)op_get(table, 0),
			 64);
}

static void op_release_last_released_is_next_taken(void **state)
{
	struct op_table *table = *state;
	uint32_t first = take(table), second = take(table);

	op_release(table, second);
	op_release(table, first);
	assert_int_equal(take(table), first);
	assert_int_equal(take(table), second);
}

static void op_list_push_pop_first_in_first_out(void **state)
{
	struct op_table *table = *state;
	struct op_list *list = &table->done;

	for (uint32_t i = 0; i < 8; i++)
		op_list_push(table, list, i ^ 5);
	assert_int_equal(list->nr, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(op_list_pop(table, list), i ^ 5);
	assert_int_equal(list->nr, 0);
}

static void op_list_emptied_starts_over(void **state)
{
	struct op_table *table = *state;
	struct op_list *list = &table->done;

	op_list_push(table, list, 3);
	assert_int_equal(op_list_pop(table, list), 3);
	op_list_push(table, list, 4);
	op_list_push(table, list, 3);
	assert_int_equal(list->nr, 2);
	assert_int_equal(op_list_pop(table, list), 4);
	assert_int_equal(op_list_pop(table, list), 3);
}

static void op_row_push_front_comes_first(void **state)
{
	struct op_table *table = *state;
	struct op_row *row = &table->staged;

	op_row_push_front(row, 2);
	op_row_push(row, 3);
	op_row_push_front(row, 1);
	op_row_push(row, 4);
	assert_int_equal(row->nr, 4);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(op_row_pop(row), i);
}

static void op_row_drop_leaves_the_rest(void **state)
{
	struct op_table *table = *state;
	struct op_row *row = &table->staged;

	for (uint32_t i = 0; i < 5; i++)
		op_row_push(row, i);
	op_row_drop(row, 3);
	op_row_push(row, 7);
	assert_int_equal(op_row_pop(row), 3);
	assert_int_equal(op_row_pop(row), 4);
	assert_int_equal(op_row_pop(row), 7);
	op_row_push(row, 6);
	op_row_drop(row, 1);
	op_row_push(row, 5);
	assert_int_equal(row->nr, 1);
	assert_int_equal(op_row_pop(row), 5);
}

/* For ever full, at both of its ends: what is in it moves, and stays. */
static void op_row_at_its_ends_keeps_order(void **state)
{
	struct op_table *table = *state;
	struct op_row *row = &table->staged;
	uint32_t first = 1000;

	for (uint32_t i = 0; i < 8; i++)
		op_row_push(row, first + i);
	for (uint32_t n = 0; n < 100; n++) {
		assert_int_equal(op_row_pop(row), first);
		first++;
		op_row_push(row, first + 7);
	}
	for (uint32_t n = 0; n < 100; n++) {
		row->nr--; /* the last */
		first--;
		op_row_push_front(row, first);
	}
	assert_int_equal(row->nr, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(op_row_pop(row), first + i);
}

static void op_what_gives_regions_and_direction_back(void **state)
{
	struct op *op = op_get(*state, 0);

	op->what = op_what(3, UINT16_MAX, WRB_READ) | OP_STATE;
	assert_int_equal(op_local(op), 3);
	assert_int_equal(op_remote(op), UINT16_MAX);
	assert_true(op_is_read(op));
	op->what = op_what(UINT16_MAX, 7, WRB_WRITE);
	assert_int_equal(op_local(op), UINT16_MAX);
	assert_int_equal(op_remote(op), 7);
	assert_false(op_is_read(op));
}

static void op_fail_twice_first_counts(void **state)
{
	struct op *op = op_get(*state, 0);

	op->done = (struct wrb_done){ 0 };
	op->what = op_what(0, 0, WRB_WRITE);
	op_fail(op, IBV_WC_REM_ACCESS_ERR, 0x77, 255);
	op_fail(op, IBV_WC_WR_FLUSH_ERR, 0x88, 1);
	assert_int_equal(op->done.error, -EIO);
	assert_int_equal(op->done.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(op->done.vendor_err, 0x77);
	assert_int_equal(op->done.lane, 255);
}

static void op_fail_flush_canceled(void **state)
{
	struct op *op = op_get(*state, 0);

	op->done = (struct wrb_done){ 0 };
	op->what = op_what(0, 0, WRB_WRITE);
	op_fail(op, IBV_WC_WR_FLUSH_ERR, 0, 3);
	assert_int_equal(op->done.error, -ECANCELED);
}

#define table_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		table_test(op_table_new_every_op_is_free_once),
		table_test(op_table_entries_are_cache_lines),
		table_test(op_release_last_released_is_next_taken),
		table_test(op_list_push_pop_first_in_first_out),
		table_test(op_list_emptied_starts_over),
		table_test(op_row_push_front_comes_first),
		table_test(op_row_drop_leaves_the_rest),
		table_test(op_row_at_its_ends_keeps_order),
		table_test(op_what_gives_regions_and_direction_back),
		table_test(op_fail_twice_first_counts),
		table_test(op_fail_flush_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
