// SPDX-License-Identifier: GPL-2.0-only
/* One QP's ledger: ring, templates, serials. */
#include "lane.h"

#include "fixture.h"

static struct ibv_qp some_qp;

static struct chain chain;

static int setup(void **state)
{
	struct lane *lane = aligned_alloc(64, sizeof(*lane));

	assert_non_null(lane);
	assert_int_equal(chain_init(&chain, 4, 3), 0);
	assert_int_equal(lane_init(lane, 9, &some_qp, 5, &chain), 0);
	*state = lane;
	return 0;
}

static int teardown(void **state)
{
	lane_free(*state);
	chain_free(&chain);
	free(*state);
	return 0;
}

static void lane_new_is_ready_and_empty(void **state)
{
	const struct lane *lane = *state;

	assert_int_equal(lane->state, WRB_LANE_READY);
	assert_ptr_equal(lane->qp, &some_qp);
	assert_int_equal(lane_chain(lane), 0);
	assert_int_equal(lane_inflight(lane), 0);
}

static void lane_ring_holds_slots_and_marker(void **state)
{
	struct lane lane;

	(void)state;
	for (uint32_t slots = 1; slots < 70; slots++) {
		assert_int_equal(lane_init(&lane, 0, NULL, slots, &chain), 0);
		assert_true(lane.ring_mask >= slots);
		assert_int_equal(lane.ring_mask & (lane.ring_mask + 1), 0);
		assert_true(lane.ring_mask < 2 * slots + 1);
		lane_free(&lane);
	}
}

static void chain_templates_are_linked_with_own_sges(void **state)
{
	const struct lane *lane = *state;

	assert_ptr_equal(lane->wrs, chain.wrs);
	for (uint32_t i = 0; i < 4; i++) {
		assert_ptr_equal(chain.wrs[i].next, &chain.wrs[i + 1]);
		assert_ptr_equal(chain.wrs[i].sg_list, &chain.sges[i * 3]);
	}
}

static void lane_enter_keeps_what_each_wr_carries(void **state)
{
	struct lane *lane = *state;

	for (uint32_t i = 0; i < 4; i++) {
		const struct plan_wr plan = {
			.first_op = 40 + i,
			.nr_ops = i + 1,
			.read = i & 1,
			.cut = i & 2,
		};

		lane_enter(lane, wr_id_make(9, i), &plan);
		lane->head++;
	}
	for (uint32_t i = 0; i < 4; i++) {
		const struct lane_wr *wr = lane_entry(lane, i);

		assert_int_equal(wr->first_op, 40 + i);
		assert_int_equal(lane_wr_nr_ops(wr), i + 1);
		assert_int_equal(lane_wr_reads(wr), i & 1);
		assert_int_equal(lane_wr_cut(wr), i >> 1);
	}
	assert_int_equal(lane_chain(lane), 4);
	lane->posted = lane->head;
	assert_int_equal(lane_chain(lane), 0);
	assert_int_equal(lane_inflight(lane), 4);
}

static void lane_enter_most_ops_fit(void **state)
{
	struct lane *lane = *state;

	struct plan_wr plan = { .nr_ops = WRB_MAX_OPS, .read = true };
	const struct lane_wr *wr = lane_entry(lane, 0);

	lane_enter(lane, 0, &plan);
	assert_int_equal(lane_wr_nr_ops(wr), WRB_MAX_OPS);
	assert_int_equal(lane_wr_whole_ops(wr), WRB_MAX_OPS);
	assert_int_equal(lane_wr_reads(wr), 1);
	plan.cut = true;
	lane_enter(lane, 0, &plan);
	assert_int_equal(lane_wr_nr_ops(wr), WRB_MAX_OPS);
	assert_true(lane_wr_whole_ops(wr) > WRB_MAX_OPS);
}

static void lane_entry_wraps_in_ring(void **state)
{
	const struct plan_wr plan = { .first_op = 7, .nr_ops = 1 };
	struct lane *lane = *state;

	lane_enter(lane, lane->ring_mask + 1ull, &plan);
	assert_int_equal(lane->ring[0].first_op, 7);
}

static void lane_renew_forgets_failure_keeps_serials(void **state)
{
	struct lane *lane = *state;
	struct ibv_qp other;

	lane->head = lane->posted = lane->tail = 77;
	lane->state = WRB_LANE_DEAD;
	lane->marker = lane->moved = true;
	lane->first_status = IBV_WC_GENERAL_ERR;
	lane->post_errno = ENOMEM;
	lane_renew(lane, &other);
	assert_int_equal(lane->state, WRB_LANE_READY);
	assert_ptr_equal(lane->qp, &other);
	assert_false(lane->marker || lane->moved);
	assert_int_equal(lane->first_status, IBV_WC_SUCCESS);
	assert_int_equal(lane->post_errno, 0);
	assert_int_equal(lane->head, 77);
}

static void lane_renew_without_qp_dead_keeps_failure(void **state)
{
	struct lane *lane = *state;

	lane->first_status = IBV_WC_GENERAL_ERR;
	lane->first_vendor_err = 7;
	lane->first_dir = WRB_READ;
	lane->post_errno = ENOMEM;
	lane_renew(lane, NULL);
	assert_int_equal(lane->state, WRB_LANE_DEAD);
	assert_null(lane->qp);
	assert_int_equal(lane->first_status, IBV_WC_GENERAL_ERR);
	assert_int_equal(lane->first_vendor_err, 7);
	assert_int_equal(lane->first_dir, WRB_READ);
	assert_int_equal(lane->post_errno, ENOMEM);
}

static void wr_id_parts_come_back(void **state)
{
	const uint64_t last = WR_ID_SERIAL_MASK;
	uint64_t id = wr_id_make(WRB_MAX_LANES - 1, last);

	(void)state;
	assert_int_equal(wr_id_lane(id), WRB_MAX_LANES - 1);
	assert_true(wr_id_serial(id) == last);
	id = wr_id_make(3, last + 1);
	assert_int_equal(wr_id_lane(id), 3);
	assert_true(wr_id_serial(id) == 0);
	assert_true(wr_id_left(wr_id_make(3, last - 5)) == 5);
}

#define lane_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		lane_test(lane_new_is_ready_and_empty),
		cmocka_unit_test(lane_ring_holds_slots_and_marker),
		lane_test(chain_templates_are_linked_with_own_sges),
		lane_test(lane_enter_keeps_what_each_wr_carries),
		lane_test(lane_enter_most_ops_fit),
		lane_test(lane_entry_wraps_in_ring),
		lane_test(lane_renew_forgets_failure_keeps_serials),
		lane_test(lane_renew_without_qp_dead_keeps_failure),
		cmocka_unit_test(wr_id_parts_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
