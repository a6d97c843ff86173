// SPDX-License-Identifier: GPL-2.0-only
/* The sort of staged operations: in order, stable, nothing lost. */
#include "plan.h"

#include "fixture.h"

#define MAX 4096

struct sorter {
	struct op_table table;
	struct plan_sort_item items[2 * MAX];
};

typedef uint64_t (*key_fn)(uint32_t i, uint32_t nr);

static int setup(void **state)
{
	struct sorter *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(op_table_init(&s->table, MAX), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct sorter *s = *state;

	op_table_free(&s->table);
	free(s);
	return 0;
}

/* Operation i is the i-th staged; it lies at an index that is not i. */
static uint32_t index_of(uint32_t i)
{
	return i * 2053 % MAX;
}

static void stage(struct sorter *s, uint32_t nr, key_fn key)
{
	op_row_drop(&s->table.staged, s->table.staged.nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct op *op = op_get(&s->table, index_of(i));

		op->remote_addr = key(i, nr);
		op->length = i; /* its place before the sort */
		op_row_push(&s->table.staged, index_of(i));
	}
}

static void assert_sorted(struct sorter *s, uint32_t nr)
{
	const uint32_t *row = op_row_begin(&s->table.staged);
	const struct op *before = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		const struct op *op = op_get(&s->table, row[i]);

		if (before && before->remote_addr == op->remote_addr)
			assert_true(before->length < op->length);
		else if (before)
			assert_true(before->remote_addr < op->remote_addr);
		before = op;
	}
}

static void check(void **state, key_fn key)
{
	static const uint32_t sizes[] = { 1, 2, 3, 31, 32, 33, 255, MAX };
	struct sorter *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		stage(s, sizes[i], key);
		plan_sort(s->table.ops, op_row_begin(&s->table.staged),
			  sizes[i], s->items, s->items + MAX);
		assert_sorted(s, sizes[i]);
	}
}

static uint64_t key_equal(uint32_t i, uint32_t nr)
{
	(void)i;
	(void)nr;
	return 42;
}

static uint64_t key_rising(uint32_t i, uint32_t nr)
{
	(void)nr;
	return i;
}

static uint64_t key_falling(uint32_t i, uint32_t nr)
{
	return (uint64_t)(nr - i) << 12;
}

static uint64_t key_random(uint32_t i, uint32_t nr)
{
	(void)nr;
	return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t key_few(uint32_t i, uint32_t nr)
{
	return key_random(i, nr) % 5;
}

static uint64_t key_top_bits(uint32_t i, uint32_t nr)
{
	return key_random(i, nr) >> 61 << 61 | 0xfff;
}

static uint64_t key_both_ends(uint32_t i, uint32_t nr)
{
	uint64_t random = key_random(i, nr);

	return (random & 1) << 63 | (random & 6);
}

static uint64_t key_last_two_swapped(uint32_t i, uint32_t nr)
{
	return i + 1 == nr ? nr - 2 : i + 2 == nr ? nr - 1 : i;
}

static void sort_all_equal_keeps_order(void **state)
{
	check(state, key_equal);
}

static void sort_sorted_stays(void **state)
{
	check(state, key_rising);
}

static void sort_reversed_turns_round(void **state)
{
	check(state, key_falling);
}

static void sort_random_in_order(void **state)
{
	check(state, key_random);
}

static void sort_many_equals_stable(void **state)
{
	check(state, key_few);
}

static void sort_high_bits_differ_in_order(void **state)
{
	check(state, key_top_bits);
}

static void sort_first_and_last_bits_differ_in_order(void **state)
{
	check(state, key_both_ends);
}

static void sort_last_two_swapped_in_order(void **state)
{
	check(state, key_last_two_swapped);
}

#define sort_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		sort_test(sort_all_equal_keeps_order),
		sort_test(sort_sorted_stays),
		sort_test(sort_reversed_turns_round),
		sort_test(sort_random_in_order),
		sort_test(sort_many_equals_stable),
		sort_test(sort_high_bits_differ_in_order),
		sort_test(sort_first_and_last_bits_differ_in_order),
		sort_test(sort_last_two_swapped_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
