// SPDX-License-Identifier: GPL-2.0-only
/* From CQEs to ended operations: what retires, in which order, how it ended. */
#include "fixture.h"

#include "wr_id.h"

#define BYTES 64

static void assert_order(const struct fixture *f, uint32_t nr)
{
	assert_int_equal(f->nr_ended, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(f->order[i], i + 1);
}

static void cqe_of_last_wr_ends_all_before_it(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 9, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 9);
	assert_int_equal(fixture_poll(f, 64), 9);
	assert_int_equal(fixture_stats(f).cqes, 1);
	assert_order(f, 9);
	fixture_assert_errors(f, 1, 9, 0);
	fixture_assert_memory(f);
}

static void cqe_returns_slots_of_unsignalled_wrs(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 8);
	for (int round = 0; round < 5; round++) {
		fixture_add_row(f, 7, BYTES, 0);
		assert_int_equal(wrb_submit(f->queue), 7);
		assert_int_equal(fixture_poll(f, 64), 7);
	}
	fixture_assert_errors(f, 1, 35, 0);
}

static void cqe_returns_read_credits(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 16);
	f->attr.read_depth = 2;
	fixture_queue(f);
	for (uint32_t i = 0; i < 6; i++)
		fixture_add(f, WRB_READ, i * BYTES, i * BYTES, BYTES);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(wrb_submit(f->queue), 2);
		assert_int_equal(wrb_submit(f->queue), 0);
		assert_int_equal(fixture_poll(f, 64), 2);
	}
	assert_int_equal(fixture_stats(f).read_stalls, 4);
	fixture_assert_errors(f, 1, 6, 0);
	fixture_assert_memory(f);
}

static void cqes_more_than_one_batch_all_polled(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 64);
	f->attr.signal_interval = 1;
	fixture_queue(f);
	fixture_add_row(f, 50, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 50);
	assert_int_equal(fixture_poll(f, 64), 50);
	assert_order(f, 50);
}

static void lanes_overtake_each_other_each_op_once(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 4, 16);
	f->attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	f->attr.signal_interval = 3;
	fixture_queue(f);
	memdev_schedule(f->dev, 12345, 7);
	fixture_add_row(f, 60, BYTES, 0);
	for (int i = 0; i < 1000 && f->nr_ended < 60; i++) {
		wrb_submit(f->queue);
		fixture_poll(f, 5);
	}
	fixture_assert_errors(f, 1, 60, 0);
	fixture_assert_memory(f);
}

static void done_array_short_rest_comes_later_in_order(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 10, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 10);
	assert_int_equal(fixture_poll(f, 3), 3);
	assert_int_equal(wrb_inflight(f->queue), 7);
	assert_int_equal(wrb_room(f->queue), 57);
	assert_int_equal(fixture_poll(f, 3), 3);
	assert_int_equal(fixture_poll(f, 3), 3);
	assert_int_equal(fixture_poll(f, 3), 1);
	assert_int_equal(fixture_poll(f, 3), 0);
	assert_order(f, 10);
	fixture_assert_errors(f, 1, 10, 0);
}

static void done_array_short_failures_keep_their_cause(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 6, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 3, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 6);
	for (int i = 0; i < 10; i++)
		fixture_poll(f, 1);
	assert_order(f, 6);
	fixture_assert_errors(f, 1, 2, 0);
	assert_int_equal(fixture_error(f, 3), -EIO);
	assert_int_equal(f->ends[3].done.status, IBV_WC_REM_OP_ERR);
	fixture_assert_errors(f, 4, 6, -ECANCELED);
}

static void poll_max_zero_einval(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 8);
	assert_int_equal(wrb_poll(f->queue, NULL, 0), -EINVAL);
	assert_int_equal(fixture_poll(f, 1), 0);
}

/* -- failures ----------------------------------------------------------- */

static void wr_fails_before_it_good_after_it_flushed(void **state)
{
	struct fixture *f = *state;
	struct wrb_lane_info info;

	fixture_start(f, 2, 32);
	fixture_add_row(f, 2, BYTES, 0);
	fixture_add(f, WRB_READ, 1024, 2048, BYTES);
	fixture_add_row(f, 3, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 3, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wrb_submit(f->queue), 6);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 2, 0);
	assert_int_equal(fixture_error(f, 3), -EIO);
	assert_int_equal(f->ends[3].done.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(f->ends[3].done.vendor_err,
			 MEMDEV_VENDOR_ERR + IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(f->ends[3].done.lane, 0);
	fixture_assert_errors(f, 4, 6, -ECANCELED);
	info = fixture_lane(f, 0);
	assert_int_equal(info.first_status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(info.first_vendor_err,
			 MEMDEV_VENDOR_ERR + IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(info.first_dir, WRB_READ);
	assert_int_equal(info.post_errno, 0);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_READY);
	assert_int_equal(fixture_stats(f).failed, 4);
	assert_int_equal(fixture_stats(f).flushes, 3);
	assert_int_equal(f->nr_lines, 1);
}

static void op_on_two_lanes_one_fails_ends_once(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 32);
	f->attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 400);
	fixture_fault(f, MEMDEV_FAIL_WR, 3, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wrb_submit(f->queue), 4);
	fixture_reap(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	assert_int_equal(f->ends[1].done.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(f->ends[1].done.lane, 1);
	assert_int_equal(f->nr_ended, 1);
}

static void merged_wr_fails_all_its_ops_fail(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 32);
	f->attr.flags = WRB_MERGE;
	fixture_queue(f);
	fixture_add_row(f, 5, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wrb_submit(f->queue), 1);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 5, -EIO);
}

static void bad_rkey_op_fails_memory_untouched(void **state)
{
	struct fixture *f = *state;
	struct wrb_op op;

	fixture_start(f, 1, 32);
	assert_int_equal(
		wrb_region_rekey(f->queue, f->remote_id, 0, 0x12345680), 0);
	op = fixture_op(f, WRB_WRITE, 0, 0, BYTES);
	f->nr_added++;
	assert_int_equal(wrb_add(f->queue, &op), 0);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	assert_int_equal(f->ends[1].done.status, IBV_WC_REM_ACCESS_ERR);
	fixture_assert_memory(f);
}

static void failure_cqe_lost_flush_does_not_vouch_for_gap(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_add_row(f, 6, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 3, IBV_WC_REM_OP_ERR);
	fixture_fault(f, MEMDEV_DROP_CQE, 1, 0);
	assert_int_equal(wrb_submit(f->queue), 6);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 6, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).first_status, IBV_WC_WR_FLUSH_ERR);
}

static void abort_unsignalled_already_done_end_good(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 32);
	f->attr.max_chain = 4;
	fixture_queue(f);
	fixture_add_row(f, 8, BYTES, 0);
	memdev_schedule(f->dev, 3, 1);
	assert_int_equal(wrb_submit(f->queue), 8);
	while (f->nr_ended < 4)
		fixture_poll(f, 64);
	memdev_freeze(f->dev, 1);
	wrb_abort(f->queue);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_errors(f, 5, 8, -ECANCELED);
}

static void success_cqe_lost_next_one_ends_both(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_fault(f, MEMDEV_DROP_CQE, 1, 0);
	fixture_add_row(f, 3, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 3);
	assert_int_equal(fixture_poll(f, 64), 0);
	fixture_add_row(f, 1, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 1);
	assert_int_equal(fixture_poll(f, 64), 4);
	fixture_assert_errors(f, 1, 4, 0);
}

static void success_cqe_lost_abort_ends_all(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 32);
	fixture_fault(f, MEMDEV_DROP_CQE, 1, 0);
	fixture_add_row(f, 3, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 3);
	assert_int_equal(fixture_poll(f, 64), 0);
	wrb_abort(f->queue);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

/* -- stale CQEs --------------------------------------------------------- */

static void stale_cqe_of_former_qp_changes_nothing(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 8);
	fixture_add_row(f, 3, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 3);
	wrb_abort(f->queue);
	/* The former QP is not destroyed, so its CQEs do arrive. */
	memdev_freeze(f->dev, 1);
	assert_int_equal(wrb_lane_replace(f->queue, 0, fixture_qp(f)), 0);
	memdev_freeze(f->dev, 0);
	fixture_add_row(f, 2, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 2);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, -ECANCELED);
	fixture_assert_errors(f, 4, 5, 0);
	/* Three flushes and the marker. */
	assert_int_equal(fixture_stats(f).stale, 4);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
}

static void stale_cqe_of_unknown_lane_is_counted(void **state)
{
	struct fixture *f = *state;
	struct ibv_send_wr wr = {
		.wr_id = wr_id_make(77, 0),
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	fixture_start(f, 2, 8);
	assert_int_equal(ibv_post_send(f->qps[0], &wr, &bad), 0);
	wr.wr_id = wr_id_make(1, 5);
	assert_int_equal(ibv_post_send(f->qps[1], &wr, &bad), 0);
	assert_int_equal(fixture_poll(f, 64), 0);
	assert_int_equal(fixture_stats(f).stale, 2);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 1, 4, 0);
}

static void serial_wraps_at_48_bits_nothing_lost(void **state)
{
	const uint64_t starts[] = { WR_ID_SERIAL_MASK - 3,
				    (WR_ID_SERIAL_MASK << 3) + 5,
				    UINT64_C(1) << 62 };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct fixture *f = *state;
		struct lane *lane;

		fixture_start(f, 1, 8);
		lane = &f->queue->flight.lanes[0];
		lane->head = lane->posted = lane->tail = starts[i];
		fixture_add_row(f, 30, BYTES, 0);
		fixture_run(f);
		assert_order(f, 30);
		fixture_assert_errors(f, 1, 30, 0);
		fixture_assert_memory(f);
		assert_int_equal(fixture_stats(f).stale, 0);
		fixture_teardown(state);
		fixture_setup(state);
	}
}

static void serial_wraps_while_wr_fails_each_op_once(void **state)
{
	struct fixture *f = *state;
	struct lane *lane;

	fixture_start(f, 1, 16);
	lane = &f->queue->flight.lanes[0];
	lane->head = lane->posted = lane->tail = WR_ID_SERIAL_MASK - 2;
	fixture_fault(f, MEMDEV_FAIL_WR, 2, IBV_WC_REM_OP_ERR);
	fixture_add_row(f, 6, BYTES, 0);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), 0);
	assert_int_equal(fixture_error(f, 2), -EIO);
	fixture_assert_errors(f, 3, 6, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

/* -- a CQ that fails ---------------------------------------------------- */

static void cq_fails_eio_and_lanes_drain(void **state)
{
	struct fixture *f = *state;
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_POLL,
		.nth = 1,
		.every = 1,
		.value = EIO,
	};

	fixture_start(f, 2, 16);
	fixture_add_row(f, 4, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 4);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	assert_int_equal(fixture_poll(f, 64), -EIO);
	assert_int_equal(fixture_poll(f, 64), -EIO);
	assert_int_equal(f->nr_lines, 1);
	assert_int_equal(wrb_inflight(f->queue), 4);
	/* Lane 1 was empty, lane 0 cannot be: nobody says what became of it. */
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DRAINING);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_DEAD);
	memdev_qp_destroy(f->qps[0]);
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
	assert_int_equal(fixture_poll(f, 64), 4);
	assert_int_equal(fixture_poll(f, 64), -EIO);
	fixture_assert_errors(f, 1, 4, -ECANCELED);
}

static void cq_fails_what_had_ended_comes_first(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 16);
	fixture_add_row(f, 5, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 5);
	assert_int_equal(fixture_poll(f, 2), 2);
	fixture_fault(f, MEMDEV_FAIL_POLL, 1, EIO);
	assert_int_equal(fixture_poll(f, 64), 3);
	fixture_assert_errors(f, 1, 5, 0);
	assert_int_not_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(cqe_of_last_wr_ends_all_before_it),
		fixture_test(cqe_returns_slots_of_unsignalled_wrs),
		fixture_test(cqe_returns_read_credits),
		fixture_test(cqes_more_than_one_batch_all_polled),
		fixture_test(lanes_overtake_each_other_each_op_once),
		fixture_test(done_array_short_rest_comes_later_in_order),
		fixture_test(done_array_short_failures_keep_their_cause),
		fixture_test(poll_max_zero_einval),
		fixture_test(wr_fails_before_it_good_after_it_flushed),
		fixture_test(op_on_two_lanes_one_fails_ends_once),
		fixture_test(merged_wr_fails_all_its_ops_fail),
		fixture_test(bad_rkey_op_fails_memory_untouched),
		fixture_test(failure_cqe_lost_flush_does_not_vouch_for_gap),
		fixture_test(abort_unsignalled_already_done_end_good),
		fixture_test(success_cqe_lost_next_one_ends_both),
		fixture_test(success_cqe_lost_abort_ends_all),
		fixture_test(stale_cqe_of_former_qp_changes_nothing),
		fixture_test(stale_cqe_of_unknown_lane_is_counted),
		fixture_test(serial_wraps_at_48_bits_nothing_lost),
		fixture_test(serial_wraps_while_wr_fails_each_op_once),
		fixture_test(cq_fails_eio_and_lanes_drain),
		fixture_test(cq_fails_what_had_ended_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
