// SPDX-License-Identifier: GPL-2.0-only
/* Short posts: what was taken ends, what was not is staged again. */
#include "fixture.h"

#define BYTES 64

/* A post fails at the nth WR of a batch of eight. */
static void short_post_at(struct fixture *f, uint32_t nth)
{
	fixture_start(f, 2, 32);
	fixture_add_row(f, 8, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, nth, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), nth - 1);
	assert_int_equal(wrb_staged(f->queue), 8 - (nth - 1));
	assert_int_equal(wrb_inflight(f->queue), nth - 1);
	assert_int_equal(fixture_lane(f, 0).post_errno, ENOMEM);
	assert_int_not_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
	assert_int_equal(fixture_stats(f).short_posts, 1);
	fixture_run(f);
	for (uint32_t user = 1; user < nth; user++)
		assert_in_range(-fixture_error(f, user), 0, ECANCELED);
	fixture_assert_errors(f, nth, 8, 0);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_int_equal(f->nr_ended, 8);
}

static void short_post_any_position_rest_is_sent_again(void **state)
{
	for (uint32_t nth = 1; nth <= 8; nth++) {
		short_post_at(*state, nth);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

/* All of a lane's operations come back, and the second lane is unharmed. */
static void doorbell_fails(struct fixture *f, int value, uint32_t taken)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_DOORBELL,
		.nth = 1,
		.value = value,
		.taken = taken,
	};

	fixture_start(f, 2, 32);
	fixture_add_row(f, 8, BYTES, 0);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	assert_int_equal(wrb_submit(f->queue), 8);
	assert_int_equal(wrb_staged(f->queue), 0);
	fixture_run(f);
	assert_int_equal(f->nr_ended, 8);
	fixture_assert_errors(f, 1, 8, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_READY);
	assert_int_equal(fixture_lane(f, 0).post_errno, abs(value));
}

static void bad_wr_null_all_end_by_flush(void **state)
{
	doorbell_fails(*state, EIO, 8);
}

static void bad_wr_null_some_taken_marker_ends_rest(void **state)
{
	doorbell_fails(*state, EIO, 3);
}

static void bad_wr_null_none_taken_marker_ends_all(void **state)
{
	doorbell_fails(*state, EIO, 0);
}

static void bad_wr_null_minus_one_reads_errno(void **state)
{
	doorbell_fails(*state, -EAGAIN, 8);
}

static void short_post_minus_one_reads_errno(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 2, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 2, -EBADF);
	assert_int_equal(wrb_submit(f->queue), 1);
	assert_int_equal(fixture_lane(f, 0).post_errno, EBADF);
}

static void short_post_restaged_keep_order_before_later_ones(void **state)
{
	struct fixture *f = *state;
	struct wrb_plan_wr wrs[8];

	fixture_start(f, 2, 8);
	fixture_add_row(f, 6, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 3, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), 2);
	fixture_add(f, WRB_WRITE, 1024, 1024, BYTES);
	assert_int_equal(wrb_explain(f->queue, wrs, 8), 5);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(wrs[i].remote_addr,
				 (uintptr_t)f->remote + (i + 2) * BYTES);
	assert_int_equal(wrs[4].remote_addr, (uintptr_t)f->remote + 1024);
}

static void short_post_middle_of_chains_only_rest_restaged(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 32);
	f->attr.max_chain = 4;
	fixture_queue(f);
	fixture_add_row(f, 12, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 6, ENOMEM);
	/* Chains of lane 0: 4, then 1 of 4; lane 1 takes the rest, 4. */
	assert_int_equal(wrb_submit(f->queue), 9);
	assert_int_equal(wrb_staged(f->queue), 3);
	fixture_run(f);
	fixture_assert_errors(f, 6, 12, 0);
	assert_int_equal(f->nr_ended, 12);
}

static void short_post_op_taken_in_part_fails(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 32);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 400);
	fixture_add(f, WRB_WRITE, 400, 400, 400);
	fixture_fault(f, MEMDEV_FAIL_POST, 3, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), 2);
	assert_int_equal(wrb_staged(f->queue), 1);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	assert_int_equal(f->ends[1].done.status, IBV_WC_GENERAL_ERR);
	assert_int_equal(f->ends[1].done.lane, 0);
	assert_int_equal(fixture_error(f, 2), 0);
}

static void short_post_open_op_of_nothing_taken_goes_again(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 4);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	fixture_fault(f, MEMDEV_FAIL_POST, 1, ENOMEM);
	f->attr.stripe = WRB_STRIPE_BATCH;
	assert_int_equal(wrb_submit(f->queue), 3);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 2), 0);
	fixture_assert_memory(f);
}

static void short_post_single_lane_open_op_is_staged_once(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 4);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	fixture_add(f, WRB_WRITE, 1000, 1000, 50);
	fixture_fault(f, MEMDEV_FAIL_POST, 1, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(wrb_staged(f->queue), 2);
	assert_int_equal(wrb_submit(f->queue), -ENOTCONN);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	memdev_qp_destroy(f->qps[0]);
	assert_int_equal(wrb_lane_replace(f->queue, 0, fixture_qp(f)), 0);
	fixture_run(f);
	fixture_assert_errors(f, 1, 2, 0);
	fixture_assert_memory(f);
}

static void short_post_merged_wr_all_its_ops_restaged(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 32);
	f->attr.flags = WRB_MERGE;
	fixture_queue(f);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 1, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(wrb_staged(f->queue), 4);
	fixture_run(f);
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_memory(f);
	assert_int_equal(fixture_stats(f).wrs, 1);
}

static void short_post_every_lane_all_restaged_enotconn(void **state)
{
	struct fixture *f = *state;
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_POST,
		.nth = 1,
		.every = 1,
		.value = ENOMEM,
	};

	fixture_lanes(f, 3, 32);
	f->attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	fixture_queue(f);
	fixture_add_row(f, 9, BYTES, 0);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(wrb_staged(f->queue), 9);
	assert_int_equal(wrb_submit(f->queue), -ENOTCONN);
	assert_int_equal(wrb_inflight(f->queue), 0);
}

static void short_post_stats_count_what_was_taken(void **state)
{
	struct fixture *f = *state;
	struct wrb_lane_stats lane;
	struct wrb_stats stats;

	fixture_lanes(f, 1, 32);
	f->attr.flags = WRB_MERGE;
	f->attr.signal_interval = 1;
	fixture_queue(f);
	/* Four WRs of two SGEs. */
	for (uint32_t i = 0; i < 8; i++)
		fixture_add(f, WRB_WRITE, i * 2 * BYTES,
			    i / 2 * 1024 + i % 2 * BYTES, BYTES);
	fixture_fault(f, MEMDEV_FAIL_POST, 3, ENOMEM);
	assert_int_equal(wrb_submit(f->queue), 2);
	stats = fixture_stats(f);
	assert_int_equal(stats.wrs, 2);
	assert_int_equal(stats.sges, 4);
	assert_int_equal(stats.bytes, 4 * BYTES);
	assert_int_equal(stats.signalled, 2);
	assert_int_equal(wrb_lane_stats_get(f->queue, 0, &lane), 0);
	assert_int_equal(lane.wrs, 2);
	assert_int_equal(lane.bytes, 4 * BYTES);
	assert_int_equal(lane.max_inflight, 2);
}

static void short_post_is_logged_once(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 3, ENOMEM);
	wrb_submit(f->queue);
	assert_int_equal(f->nr_lines, 1);
	assert_non_null(strstr(f->line, "lane 0"));
	assert_non_null(strstr(f->line, "4 WRs"));
	assert_non_null(strstr(f->line, "2 were taken"));
}

/* -- signals and chains ------------------------------------------------- */

static void post_signal_interval_last_is_always_signalled(void **state)
{
	static const struct {
		uint32_t interval, nr, signalled;
	} cases[] = { { 1, 5, 5 },
		      { 2, 5, 3 },
		      { 4, 8, 2 },
		      { 0, 7, 1 },
		      { 100, 7, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f = *state;

		fixture_lanes(f, 1, 32);
		f->attr.signal_interval = cases[i].interval;
		fixture_queue(f);
		fixture_add_row(f, cases[i].nr, BYTES, 0);
		assert_int_equal(wrb_submit(f->queue), cases[i].nr);
		assert_int_equal(fixture_stats(f).signalled,
				 cases[i].signalled);
		fixture_run(f);
		assert_int_equal(fixture_stats(f).cqes, cases[i].signalled);
		fixture_assert_errors(f, 1, cases[i].nr, 0);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void post_max_chain_splits_doorbells(void **state)
{
	struct fixture *f = *state;
	struct memdev_stats dev;

	fixture_lanes(f, 1, 64);
	f->attr.max_chain = 3;
	fixture_queue(f);
	fixture_add_row(f, 10, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 10);
	memdev_stats_get(f->dev, &dev);
	assert_int_equal(dev.posts, 4);
	assert_int_equal(fixture_stats(f).doorbells, 4);
	fixture_run(f);
	fixture_assert_errors(f, 1, 10, 0);
	fixture_assert_memory(f);
}

static void post_small_write_goes_inline(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 8);
	f->attr.limits.max_inline = 64;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 64);
	fixture_add(f, WRB_WRITE, 64, 64, 65);
	fixture_add(f, WRB_READ, 1024, 1024, 8);
	assert_int_equal(wrb_submit(f->queue), 3);
	/* Inline data was copied at the post; the other WRITE reads later. */
	memset(f->local, 0xaa, 129);
	memset(f->model_local, 0xaa, 129);
	memset(f->model_remote + 64, 0xaa, 65);
	fixture_run(f);
	fixture_assert_errors(f, 1, 3, 0);
	fixture_assert_memory(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(short_post_any_position_rest_is_sent_again),
		fixture_test(bad_wr_null_all_end_by_flush),
		fixture_test(bad_wr_null_some_taken_marker_ends_rest),
		fixture_test(bad_wr_null_none_taken_marker_ends_all),
		fixture_test(bad_wr_null_minus_one_reads_errno),
		fixture_test(short_post_minus_one_reads_errno),
		fixture_test(short_post_restaged_keep_order_before_later_ones),
		fixture_test(short_post_middle_of_chains_only_rest_restaged),
		fixture_test(short_post_op_taken_in_part_fails),
		fixture_test(short_post_open_op_of_nothing_taken_goes_again),
		fixture_test(short_post_single_lane_open_op_is_staged_once),
		fixture_test(short_post_merged_wr_all_its_ops_restaged),
		fixture_test(short_post_every_lane_all_restaged_enotconn),
		fixture_test(short_post_stats_count_what_was_taken),
		fixture_test(short_post_is_logged_once),
		fixture_test(post_signal_interval_last_is_always_signalled),
		fixture_test(post_max_chain_splits_doorbells),
		fixture_test(post_small_write_goes_inline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
