// SPDX-License-Identifier: GPL-2.0-only
/* Who is told of a device's events, whichever job has taken them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rdma_device.h"

/* Two jobs on one device, the first of which takes its events; one on another. */
struct fixture {
	struct ibv_context verbs, other_verbs;
	struct rdma_device taker, neighbour, elsewhere;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->taker.verbs = &f->verbs;
	f->neighbour.verbs = &f->verbs;
	f->elsewhere.verbs = &f->other_verbs;
}

static void event_of_a_qp_is_its_owners(void **state)
{
	struct ibv_qp qp = { 0 };
	struct ibv_async_event event = {
		.event_type = IBV_EVENT_QP_FATAL,
		.element.qp = &qp,
	};
	struct fixture f;

	(void)state;
	start(&f);
	rdma_device_note(&f.taker, &event); /* a target's, or a trial's */
	assert_null(rdma_device_failed(&f.taker));
	qp.qp_context = &f.neighbour;
	rdma_device_note(&f.taker, &event);
	assert_null(rdma_device_failed(&f.taker));
	assert_string_equal(rdma_device_failed(&f.neighbour),
			    ibv_event_type_str(IBV_EVENT_QP_FATAL));
}

static void event_of_a_cq_is_its_owners(void **state)
{
	struct ibv_cq cq = { 0 };
	struct ibv_async_event event = {
		.event_type = IBV_EVENT_CQ_ERR,
		.element.cq = &cq,
	};
	struct fixture f;

	(void)state;
	start(&f);
	cq.cq_context = &f.neighbour;
	rdma_device_note(&f.taker, &event);
	assert_null(rdma_device_failed(&f.taker));
	assert_non_null(rdma_device_failed(&f.neighbour));
}

static void event_of_the_device_is_everyones_on_it(void **state)
{
	const struct ibv_async_event event = {
		.event_type = IBV_EVENT_DEVICE_FATAL,
	};
	struct fixture f;

	(void)state;
	start(&f);
	rdma_device_note(&f.taker, &event);
	assert_non_null(rdma_device_failed(&f.taker));
	assert_non_null(rdma_device_failed(&f.neighbour));
	assert_null(rdma_device_failed(&f.elsewhere));
}

static void event_that_is_no_failure_is_nobodys(void **state)
{
	struct ibv_qp qp = { 0 };
	const struct ibv_async_event event = {
		.event_type = IBV_EVENT_COMM_EST,
		.element.qp = &qp,
	};
	struct fixture f;

	(void)state;
	start(&f);
	qp.qp_context = &f.taker;
	rdma_device_note(&f.taker, &event);
	assert_null(rdma_device_failed(&f.taker));
}

int main(void)
{
	/* In this order: the device's event outlives its test. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_of_a_qp_is_its_owners),
		cmocka_unit_test(event_of_a_cq_is_its_owners),
		cmocka_unit_test(event_that_is_no_failure_is_nobodys),
		cmocka_unit_test(event_of_the_device_is_everyones_on_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
