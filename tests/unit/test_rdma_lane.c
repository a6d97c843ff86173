// SPDX-License-Identifier: GPL-2.0-only
/* What the connection manager says of a lane, and what that does to its QP. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "heard.h"
#include "rdma.h"

#define NR_LANES 3
#define ONE	 1 /* the lane that the events are of */

struct fixture {
	struct rdma r;
	struct lane lanes[NR_LANES];
	struct rdma_cm_id ids[NR_LANES];
	struct ibv_qp made[NR_LANES], *qps[NR_LANES];
	struct engine_env env;
	struct heard heard;
};

/* All lanes are up, with QPs that nobody may destroy: they are no real ones. */
static void start(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->env = (struct engine_env){ .arg = &f->heard, .error = heard_error };
	f->r.attr.env = &f->env;
	f->r.lanes = f->lanes;
	f->r.qps = f->qps;
	f->r.t.nr_qps = NR_LANES;
	f->r.nr_up = NR_LANES;
	strcpy(f->r.peer, "10.0.0.1:7471");
	for (uint32_t i = 0; i < NR_LANES; i++) {
		f->made[i].qp_num = 40 + i;
		f->ids[i].qp = &f->made[i];
		f->ids[i].context = &f->lanes[i];
		f->lanes[i].id = &f->ids[i];
		f->lanes[i].state = LANE_UP;
		f->qps[i] = &f->made[i];
	}
}

static int send_event(struct fixture *f, enum rdma_cm_event_type type)
{
	const struct cm_event event = {
		.type = type,
		.id = &f->ids[ONE],
		.status = -ETIMEDOUT,
	};

	return rdma_lane_event(&f->r, &event);
}

static void assert_untouched(const struct fixture *f)
{
	assert_int_equal(f->r.nr_up, NR_LANES);
	assert_int_equal(f->r.nr_connecting, 0);
	for (uint32_t i = 0; i < NR_LANES; i++) {
		assert_int_equal(f->lanes[i].state, LANE_UP);
		assert_ptr_equal(f->lanes[i].id, &f->ids[i]);
		assert_ptr_equal(f->ids[i].qp, &f->made[i]);
		assert_ptr_equal(f->qps[i], &f->made[i]);
	}
}

static void event_that_ends_a_lane_that_is_up_leaves_its_qp(void **state)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_ADDR_ERROR,    RDMA_CM_EVENT_ROUTE_ERROR,
		RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE,
		RDMA_CM_EVENT_REJECTED,	     RDMA_CM_EVENT_DISCONNECTED,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct fixture f;

		start(&f);
		assert_int_equal(send_event(&f, types[i]), -ECONNRESET);
		assert_untouched(&f);
		assert_int_equal(f.heard.nr, 1);
		assert_non_null(strstr(f.heard.last, "QP 2 of 3 (number 41)"));
		assert_non_null(strstr(f.heard.last, f.r.peer));
	}
}

static void event_that_changes_nothing_is_not_heard(void **state)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED,
		RDMA_CM_EVENT_ESTABLISHED,   RDMA_CM_EVENT_ADDR_CHANGE,
		RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct fixture f;

		start(&f);
		assert_int_equal(send_event(&f, types[i]), 0);
		assert_untouched(&f);
		assert_int_equal(f.heard.nr, 0);
	}
}

static void event_of_the_anchor_is_nobodys(void **state)
{
	struct rdma_cm_id anchor;
	struct fixture f;
	struct cm_event event = {
		.type = RDMA_CM_EVENT_DISCONNECTED,
		.id = &anchor,
	};

	(void)state;
	start(&f);
	anchor = f.ids[ONE];
	assert_int_equal(rdma_lane_event(&f.r, &event), 0);
	assert_untouched(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			event_that_ends_a_lane_that_is_up_leaves_its_qp),
		cmocka_unit_test(event_that_changes_nothing_is_not_heard),
		cmocka_unit_test(event_of_the_anchor_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
