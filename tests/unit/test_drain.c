// SPDX-License-Identifier: GPL-2.0-only
/* Lanes that failed: draining, dead, replaced; and giving up. */
#include "fixture.h"

#define BYTES 64

static uint64_t device_posts(const struct fixture *f)
{
	struct memdev_stats stats;

	memdev_stats_get(f->dev, &stats);
	return stats.posts;
}

/* A lane with nr WRs in flight that nothing executes. */
static void start_frozen(struct fixture *f, uint32_t lanes, uint32_t nr)
{
	fixture_start(f, lanes, 16);
	fixture_add_row(f, nr, BYTES, 0);
	memdev_freeze(f->dev, 1);
	assert_int_equal(wrb_submit(f->queue), nr);
}

static void replace(struct fixture *f, uint32_t lane)
{
	memdev_qp_destroy(f->qps[lane]);
	f->qps[lane] = fixture_qp(f);
	assert_int_equal(wrb_lane_replace(f->queue, lane, f->qps[lane]), 0);
}

static void drain_until_marker_then_dead_and_empty(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 5);
	wrb_abort(f->queue);
	fixture_poll(f, 64);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DRAINING);
	/* The marker is no WR of the caller's. */
	assert_int_equal(fixture_lane(f, 0).inflight, 5);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 5, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_int_equal(fixture_lane(f, 0).inflight, 0);
	assert_ptr_equal(fixture_lane(f, 0).qp, f->qps[0]);
}

static void drain_full_lane_has_slot_for_marker(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 15);
	assert_int_equal(fixture_lane(f, 0).inflight, fixture_lane(f, 0).slots);
	wrb_abort(f->queue);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 15, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

static void drain_empty_lane_dead_at_once_without_marker(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	wrb_abort(f->queue);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_DEAD);
	assert_int_equal(device_posts(f), 0);
}

static void drain_marker_refused_is_tried_again(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 3);
	fixture_fault(f, MEMDEV_FAIL_POST, 1, ENOMEM);
	wrb_abort(f->queue);
	assert_int_equal(device_posts(f), 2);
	fixture_poll(f, 64);
	assert_int_equal(device_posts(f), 3);
	fixture_poll(f, 64);
	assert_int_equal(device_posts(f), 3);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

static void drain_marker_always_refused_flushes_suffice(void **state)
{
	struct fixture *f = *state;
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_POST,
		.nth = 1,
		.every = 1,
		.value = ENOMEM,
	};

	start_frozen(f, 1, 3);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	wrb_abort(f->queue);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

/* Without a CQE of the failure a flush tells only that something failed. */
static void drain_qp_error_fails_lost_cqe_is_no_success(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 16);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_POST, 3, ENOMEM);
	fixture_fault(f, MEMDEV_FAIL_QP_ERROR, 1, EPERM);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_OP_ERR);
	fixture_fault(f, MEMDEV_DROP_CQE, 1, 0);
	assert_int_equal(wrb_submit(f->queue), 2);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 2, -ECANCELED);
	assert_int_equal(wrb_staged(f->queue), 2);
}

static void drain_marker_lost_replace_ends_it(void **state)
{
	struct fixture *f = *state;
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_DOORBELL,
		.nth = 1,
		.every = 1,
		.value = EIO,
	};

	fixture_start(f, 1, 16);
	fixture_add_row(f, 3, BYTES, 0);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	assert_int_equal(wrb_submit(f->queue), 3);
	fixture_reap(f);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DRAINING);
	assert_int_equal(wrb_inflight(f->queue), 3);
	memdev_fault_clear(f->dev);
	replace(f, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, -ECANCELED);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
}

static void drain_qp_error_fails_marker_still_shows_end(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 4);
	fixture_fault(f, MEMDEV_FAIL_QP_ERROR, 1, EPERM);
	wrb_abort(f->queue);
	assert_int_equal(f->nr_lines, 1);
	assert_non_null(strstr(f->line, "lane 0"));
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	/* The QP was still good, so their CQE says that they succeeded. */
	fixture_assert_errors(f, 1, 4, 0);
	fixture_assert_memory(f);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

static int count_call(void *arg, struct ibv_qp *qp)
{
	++*(uint32_t *)arg;
	return memdev_qp_error(NULL, qp);
}

/* As fixture_start(), counting how often a QP is moved to the error state. */
static void start_counting(struct fixture *f, uint32_t lanes, uint32_t *calls)
{
	fixture_lanes(f, lanes, 32);
	f->attr.qp_error = count_call;
	f->attr.qp_error_arg = calls;
	fixture_queue(f);
}

static void drain_moves_qp_once(void **state)
{
	struct fixture *f = *state;
	uint32_t calls = 0;

	start_counting(f, 1, &calls);
	fixture_add_row(f, 8, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 8);
	fixture_reap(f);
	wrb_abort(f->queue);
	wrb_abort(f->queue);
	assert_int_equal(calls, 1);
}

static void drain_other_lanes_carry_on(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 3, 16);
	f->attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	fixture_queue(f);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_RETRY_EXC_ERR);
	fixture_add_row(f, 3, BYTES, 0);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	fixture_assert_errors(f, 2, 3, 0);
	fixture_add_row(f, 40, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 4, 43, 0);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_READY);
}

/* -- an operation that fails while part of it is still staged ----------- */

static void broken_open_op_ends_without_a_submit(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 4);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	fixture_add(f, WRB_WRITE, 900, 900, 50);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 3);
	for (int i = 0; i < 4; i++)
		fixture_poll(f, 64);
	assert_int_equal(fixture_error(f, 1), -EIO);
	assert_int_equal(f->ends[1].done.status, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_staged(f->queue), 1);
	assert_int_equal(wrb_submit(f->queue), -ENOTCONN);
}

static void broken_open_op_still_in_flight_waits_for_it(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 2, 3);
	f->attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	assert_int_equal(wrb_submit(f->queue), 4);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_OP_ERR);
	memdev_schedule(f->dev, 1, 1);
	while (fixture_lane(f, 0).first_status == IBV_WC_SUCCESS &&
	       fixture_lane(f, 1).first_status == IBV_WC_SUCCESS)
		assert_int_equal(fixture_poll(f, 64), 0);
	memdev_freeze(f->dev, 1);
	assert_int_equal(wrb_submit(f->queue), 0);
	assert_int_equal(wrb_staged(f->queue), 0);
	assert_int_equal(wrb_inflight(f->queue), 1);
	memdev_freeze(f->dev, 0);
	memdev_schedule(f->dev, 0, 0);
	fixture_reap(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
}

/* -- abort -------------------------------------------------------------- */

static void abort_staged_and_in_flight_end_once(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 15);
	fixture_add_row(f, 20, BYTES, 0);
	wrb_abort(f->queue);
	assert_int_equal(wrb_staged(f->queue), 0);
	assert_int_equal(wrb_inflight(f->queue), 35);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 35, -ECANCELED);
	assert_int_equal(wrb_room(f->queue), 64);
}

static void abort_open_op_ends_once(void **state)
{
	struct fixture *f = *state;

	fixture_lanes(f, 1, 4);
	f->attr.chunk_bytes = 100;
	fixture_queue(f);
	fixture_add(f, WRB_WRITE, 0, 0, 900);
	assert_int_equal(wrb_submit(f->queue), 3);
	wrb_abort(f->queue);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 1, -ECANCELED);
	assert_int_equal(wrb_room(f->queue), 64);
}

static void abort_twice_same_as_once(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 2, 4);
	wrb_abort(f->queue);
	wrb_abort(f->queue);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	wrb_abort(f->queue);
	fixture_assert_errors(f, 1, 4, -ECANCELED);
	assert_int_equal(f->nr_ended, 4);
}

static void abort_later_submit_enotconn(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 16);
	wrb_abort(f->queue);
	assert_int_equal(wrb_submit(f->queue), 0);
	fixture_add_row(f, 1, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), -ENOTCONN);
	assert_int_equal(wrb_explain(f->queue, NULL, 0), -ENOTCONN);
	assert_int_equal(wrb_staged(f->queue), 1);
	replace(f, 0);
	fixture_run(f);
	fixture_assert_errors(f, 1, 1, 0);
	fixture_assert_memory(f);
}

/* -- replace ------------------------------------------------------------ */

static void replace_ready_or_unknown_lane_refused(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	assert_int_equal(wrb_lane_replace(f->queue, 0, f->qps[0]), -EBUSY);
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), -EBUSY);
	assert_int_equal(wrb_lane_replace(f->queue, 2, f->qps[0]), -EINVAL);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_READY);
}

static void replace_draining_lane_ends_its_ops(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 5);
	wrb_abort(f->queue);
	replace(f, 0);
	assert_int_equal(fixture_poll(f, 64), 5);
	fixture_assert_errors(f, 1, 5, -ECANCELED);
	memdev_freeze(f->dev, 0);
	fixture_add_row(f, 40, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 6, 45, 0);
	fixture_assert_memory(f);
	assert_int_equal(fixture_stats(f).stale, 0);
}

static struct ibv_wc kept; /* of a QP that was destroyed */
static int nr_kept;

static int poll_kept(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	(void)cq;
	(void)nr;
	if (!nr_kept)
		return 0;
	*wc = kept;
	return nr_kept--;
}

static void keep(struct fixture *f, struct ibv_wc wc)
{
	kept = wc;
	nr_kept = 1;
	f->cq->context->ops.poll_cq = poll_kept;
}

/* A device may keep the CQEs of a QP that is gone, as soft-RoCE does. */
static void replace_takes_the_cqes_that_were_kept(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 5);
	wrb_abort(f->queue);
	memdev_qp_destroy(f->qps[0]);
	keep(f, (struct ibv_wc){ .wr_id = wr_id_make(0, 2) });
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
	assert_int_equal(nr_kept, 0);
	fixture_reap(f);
	fixture_assert_errors(f, 1, 3, 0);
	fixture_assert_errors(f, 4, 5, -ECANCELED);
}

/* Several QPs may be gone before the first of their lanes is replaced. */
static void replace_touches_no_qp(void **state)
{
	struct fixture *f = *state;
	uint32_t calls = 0;

	start_counting(f, 2, &calls);
	fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_OP_ERR);
	fixture_add_row(f, 2, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 2);
	fixture_reap(f);
	assert_int_equal(calls, 1);
	fixture_add_row(f, 5, BYTES, 0);
	memdev_freeze(f->dev, 1);
	assert_int_equal(wrb_submit(f->queue), 5);
	memdev_qp_destroy(f->qps[0]);
	memdev_qp_destroy(f->qps[1]);
	keep(f, (struct ibv_wc){ .wr_id = wr_id_make(1, 0),
				 .status = IBV_WC_WR_FLUSH_ERR });
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_DRAINING);
	assert_int_equal(fixture_lane(f, 1).inflight, 4);
	assert_int_equal(wrb_lane_replace(f->queue, 1, NULL), 0);
	assert_int_equal(calls, 1);
	fixture_reap(f);
	fixture_assert_errors(f, 3, 7, -ECANCELED);
}

/* What other lanes have ended meanwhile waits for the next poll. */
static void replace_keeps_the_ends_of_other_lanes(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 16);
	fixture_add_row(f, 3, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 3);
	fixture_reap(f);
	fixture_add_row(f, 4, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 4);
	replace(f, 0);
	assert_int_equal(fixture_poll(f, 64), 4);
	fixture_assert_errors(f, 4, 7, 0);
}

static void replace_with_qp_of_another_cq_refused(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_send_sge = 1 };
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	fixture_start(f, 1, 16);
	wrb_abort(f->queue);
	assert_int_equal(memdev_cq_create(f->dev, 16, &cq), 0);
	assert_int_equal(memdev_qp_create(f->dev, cq, &cap, &qp), 0);
	assert_int_equal(wrb_lane_replace(f->queue, 0, qp), -EINVAL);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

static void replace_after_the_cq_failed_lanes_drain_again(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 1, 5);
	fixture_fault(f, MEMDEV_FAIL_POLL, 1, EIO);
	assert_int_equal(fixture_poll(f, 64), -EIO);
	replace(f, 0);
	assert_int_equal(fixture_poll(f, 64), 5);
	fixture_add_row(f, 4, BYTES, 0);
	assert_int_equal(wrb_submit(f->queue), 4);
	wrb_abort(f->queue);
	memdev_freeze(f->dev, 0);
	fixture_reap(f);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
}

static void replace_dead_lane_forgets_failure(void **state)
{
	struct fixture *f = *state;
	struct wrb_lane_info info;

	fixture_start(f, 1, 16);
	fixture_add_row(f, 3, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 3);
	fixture_reap(f);
	replace(f, 0);
	info = fixture_lane(f, 0);
	assert_int_equal(info.state, WRB_LANE_READY);
	assert_ptr_equal(info.qp, f->qps[0]);
	assert_int_equal(info.inflight, 0);
	assert_int_equal(info.first_status, IBV_WC_SUCCESS);
	assert_int_equal(info.first_vendor_err, 0);
	fixture_add_row(f, 20, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 4, 23, 0);
}

static void replace_with_none_keeps_failure_until_ready(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 1, 16);
	fixture_add_row(f, 3, BYTES, 0);
	fixture_fault(f, MEMDEV_FAIL_WR, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(wrb_submit(f->queue), 3);
	fixture_reap(f);
	memdev_qp_destroy(f->qps[0]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
		assert_int_equal(fixture_lane(f, 0).first_status,
				 IBV_WC_REM_OP_ERR);
	}
	assert_int_equal(wrb_lane_replace(f->queue, 0, fixture_qp(f)), 0);
	assert_int_equal(fixture_lane(f, 0).first_status, IBV_WC_SUCCESS);
}

static void replace_with_none_dead_until_replaced_again(void **state)
{
	struct fixture *f = *state;

	start_frozen(f, 2, 5);
	wrb_abort(f->queue);
	memdev_qp_destroy(f->qps[0]);
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
	assert_int_equal(fixture_lane(f, 0).state, WRB_LANE_DEAD);
	assert_null(fixture_lane(f, 0).qp);
	assert_int_equal(wrb_lane_replace(f->queue, 0, NULL), 0);
	assert_int_equal(wrb_lane_replace(f->queue, 0, fixture_qp(f)), 0);
	memdev_freeze(f->dev, 0);
	fixture_add_row(f, 20, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 6, 25, 0);
	assert_int_equal(fixture_lane(f, 1).state, WRB_LANE_DEAD);
}

static void replace_lane_again_and_again_keeps_counts(void **state)
{
	struct fixture *f = *state;

	fixture_start(f, 2, 8);
	for (int round = 0; round < 20; round++) {
		uint32_t lane = round & 1;

		fixture_fault(f, MEMDEV_FAIL_WR, 1, IBV_WC_REM_OP_ERR);
		fixture_add_row(f, 5, BYTES, 0);
		fixture_run(f);
		if (fixture_lane(f, lane).state == WRB_LANE_READY)
			lane = !lane;
		assert_int_equal(fixture_lane(f, lane).state, WRB_LANE_DEAD);
		replace(f, lane);
	}
	assert_int_equal(f->nr_ended, 100);
	assert_int_equal(wrb_room(f->queue), 64);
	fixture_add_row(f, 60, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 101, 160, 0);
}

static void replace_then_rekey_uses_the_new_key(void **state)
{
	struct fixture *f = *state;
	struct memdev_mr mr;

	fixture_start(f, 1, 16);
	memdev_mr_dereg(f->dev, f->remote_mr.lkey);
	assert_int_equal(
		memdev_mr_reg(f->dev, f->remote, FIX_BYTES,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			      &mr),
		0);
	fixture_add_row(f, 1, BYTES, 0);
	fixture_run(f);
	assert_int_equal(fixture_error(f, 1), -EIO);
	replace(f, 0);
	assert_int_equal(wrb_region_rekey(f->queue, f->remote_id, 0, mr.rkey),
			 0);
	fixture_add_row(f, 4, BYTES, 0);
	fixture_run(f);
	fixture_assert_errors(f, 2, 5, 0);
	fixture_assert_memory(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(drain_until_marker_then_dead_and_empty),
		fixture_test(drain_full_lane_has_slot_for_marker),
		fixture_test(drain_empty_lane_dead_at_once_without_marker),
		fixture_test(drain_marker_refused_is_tried_again),
		fixture_test(drain_marker_always_refused_flushes_suffice),
		fixture_test(drain_marker_lost_replace_ends_it),
		fixture_test(drain_qp_error_fails_marker_still_shows_end),
		fixture_test(drain_qp_error_fails_lost_cqe_is_no_success),
		fixture_test(drain_moves_qp_once),
		fixture_test(drain_other_lanes_carry_on),
		fixture_test(broken_open_op_ends_without_a_submit),
		fixture_test(broken_open_op_still_in_flight_waits_for_it),
		fixture_test(abort_staged_and_in_flight_end_once),
		fixture_test(abort_open_op_ends_once),
		fixture_test(abort_twice_same_as_once),
		fixture_test(abort_later_submit_enotconn),
		fixture_test(replace_ready_or_unknown_lane_refused),
		fixture_test(replace_draining_lane_ends_its_ops),
		fixture_test(replace_takes_the_cqes_that_were_kept),
		fixture_test(replace_touches_no_qp),
		fixture_test(replace_keeps_the_ends_of_other_lanes),
		fixture_test(replace_with_qp_of_another_cq_refused),
		fixture_test(replace_after_the_cq_failed_lanes_drain_again),
		fixture_test(replace_dead_lane_forgets_failure),
		fixture_test(replace_with_none_keeps_failure_until_ready),
		fixture_test(replace_with_none_dead_until_replaced_again),
		fixture_test(replace_lane_again_and_again_keeps_counts),
		fixture_test(replace_then_rekey_uses_the_new_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
