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
	struct ibv_cq cq;
	struct rdma_device taker, neighbour, elsewhere;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->taker.verbs = &f->verbs;
	f->neighbour.verbs = &f->verbs;
	f->neighbour.cq = &f->cq;
	f->elsewhere.verbs = &f->other_verbs;
	rdma_device_list(&f->taker);
	rdma_device_list(&f->neighbour);
	rdma_device_list(&f->elsewhere);
}

static void end(struct fixture *f)
{
	rdma_device_unlist(&f->taker);
	rdma_device_unlist(&f->neighbour);
	rdma_device_unlist(&f->elsewhere);
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
	rdma_device_note(&f.verbs, &event); /* a target's, or a trial's */
	assert_null(rdma_device_failed(&f.taker));
	qp.qp_context = &f.neighbour;
	rdma_device_note(&f.verbs, &event);
	assert_null(rdma_device_failed(&f.taker));
	assert_string_equal(rdma_device_failed(&f.neighbour),
			    ibv_event_type_str(IBV_EVENT_QP_FATAL));
	end(&f);
}

static void event_of_what_is_no_device_of_ours_is_left_alone(void **state)
{
	struct rdma_device gone = { .failed = "untouched" };
	struct ibv_qp qp = { .qp_context = &gone };
	const struct ibv_async_event event = {
		.event_type = IBV_EVENT_QP_FATAL,
		.element.qp = &qp,
	};
	struct fixture f;

	(void)state;
	start(&f);
	rdma_device_unlist(&gone);
	rdma_device_note(&f.verbs, &event);
	assert_string_equal(gone.failed, "untouched");
	rdma_device_list(&gone);
	rdma_device_unlist(&gone);
	rdma_device_note(&f.verbs, &event);
	assert_string_equal(gone.failed, "untouched");
	end(&f);
}

static void event_of_a_cq_is_its_owners(void **state)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_CQ_ERR };
	struct fixture f;

	(void)state;
	start(&f);
	event.element.cq = &f.cq;
	rdma_device_note(&f.verbs, &event);
	assert_null(rdma_device_failed(&f.taker));
	assert_non_null(rdma_device_failed(&f.neighbour));
	end(&f);
}

static void event_of_the_device_is_everyones_on_it(void **state)
{
	const struct ibv_async_event event = {
		.event_type = IBV_EVENT_DEVICE_FATAL,
	};
	struct fixture f;

	(void)state;
	start(&f);
	rdma_device_note(&f.verbs, &event);
	assert_non_null(rdma_device_failed(&f.taker));
	assert_non_null(rdma_device_failed(&f.neighbour));
	assert_null(rdma_device_failed(&f.elsewhere));
	end(&f);
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
	rdma_device_note(&f.verbs, &event);
	assert_null(rdma_device_failed(&f.taker));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_of_a_qp_is_its_owners),
		cmocka_unit_test(
			event_of_what_is_no_device_of_ours_is_left_alone),
		cmocka_unit_test(event_of_a_cq_is_its_owners),
		cmocka_unit_test(event_that_is_no_failure_is_nobodys),
		cmocka_unit_test(event_of_the_device_is_everyones_on_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
