// SPDX-License-Identifier: GPL-2.0-only
/* Waiting for completions ends, whatever the device and the peer do. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "peer.h"

static void reap_of_submitted_returns_all(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), 0);
	assert_int_equal(f.peer.nr_waits, 0);
	peer_stop(&f);
	assert_int_equal(f.heard.nr, 0);
}

static void reap_of_nothing_with_min_0_returns_0(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	assert_int_equal(reap(&f.reaper, f.done, 0, NR_OPS), 0);
	peer_stop(&f);
}

static void reap_with_short_queues_submits_the_rest(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 3, POLL_BUSY);
	peer_submit(&f, NR_OPS);
	assert_true(wrb_staged(f.reaper.queue) > 0);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), 0);
	peer_stop(&f);
}

static void reap_of_a_silent_device_ends_after_io_timeout(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	memdev_freeze(f.peer.dev, 1);
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.heard.nr, 1);
	assert_non_null(strstr(f.heard.last, "io_timeout="));
	assert_non_null(strstr(f.heard.last, "10.0.0.1:7471"));
	peer_stop(&f);
}

static void reap_of_a_lost_peer_ends_at_once(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	f.conf.io_timeout_ms = 3600000;
	memdev_freeze(f.peer.dev, 1);
	f.peer.check_result = -ECONNRESET;
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), NR_OPS);
	/* The transport has said it. */
	assert_true(f.reaper.said);
	assert_int_equal(f.heard.nr, 0);
	peer_stop(&f);
}

static void reap_of_a_lost_peer_that_still_answers_ends(void **state)
{
	struct fixture f;
	uint32_t failed = 0;
	int64_t tries;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	f.peer.check_result = -ENODEV;
	for (tries = 0; tries < 1000000 && !failed; tries++) {
		peer_submit(&f, 1);
		assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
		failed = peer_count_failed(&f, 1);
	}
	assert_int_equal(failed, 1);
	assert_int_equal(f.peer.nr_checks, 1);
	assert_true(f.reaper.said);
	peer_stop(&f);
}

static void reap_by_event_of_a_lost_peer_ends(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	f.peer.wait_result = -ECONNRESET;
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.peer.nr_waits, 1);
	peer_stop(&f);
}

static void reap_by_event_times_out_too(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	peer_submit(&f, 1);
	assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
	assert_int_equal(f.heard.nr, 1);
	assert_int_equal(peer_count_failed(&f, 1), 1);
	peer_stop(&f);
}

/* The time counts from the last completion, and pieces have theirs. */
static void reap_of_an_operation_in_pieces_takes_its_time(void **state)
{
	const enum conf_poll polls[] = { POLL_EVENT, POLL_ADAPTIVE };
	struct fixture f;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		/* A WR of each lane at a time, 32 times. */
		peer_start_cut(&f, 2, polls[i], 1);
		f.peer.wait_ms = 3;
		peer_submit(&f, 1);
		assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
		assert_true(f.peer.nr_waits * f.peer.wait_ms >
			    f.conf.io_timeout_ms);
		assert_int_equal(peer_count_failed(&f, 1), 0);
		assert_int_equal(f.heard.nr, 0);
		peer_stop(&f);
	}
}

static void reap_that_stood_still_polls_before_it_gives_up(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	/* The first look begins the time, the second finds it over. */
	f.peer.wait_ms = f.conf.io_timeout_ms + 10;
	f.peer.thaws_at = 2;
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), 0);
	assert_int_equal(f.heard.nr, 0);
	peer_stop(&f);
}

static void reap_that_times_out_tells_all_that_is_out(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 3, POLL_BUSY);
	memdev_freeze(f.peer.dev, 1);
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_non_null(strstr(f.heard.last, " 32 operations outstanding "));
	peer_stop(&f);
}

static void reap_by_event_polls_once_more_before_it_sleeps(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	/* What comes while the CQ is armed rings no bell. */
	f.peer.wait_result = 1;
	f.peer.thaws_at = 1;
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(f.peer.nr_waits, 1);
	assert_int_equal(peer_count_failed(&f, NR_OPS), 0);
	peer_stop(&f);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void reap_adaptive_spins_for_its_time_then_sleeps(void **state)
{
	const uint32_t spin_us[] = { 0, 20000 };
	uint64_t started;
	struct fixture f;
	int i, round;

	(void)state;
	for (i = 0; i < 2; i++) {
		peer_start(&f, 64, POLL_ADAPTIVE);
		f.conf.io_timeout_ms = 10000;
		f.conf.poll_spin_us = spin_us[i];
		f.peer.thaws_at = 1;
		/* Time to spin is given anew after each success. */
		for (round = 0; round < 2; round++) {
			f.peer.nr_waits = 0;
			memdev_freeze(f.peer.dev, 1);
			peer_submit(&f, 1);
			started = now_us();
			assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
			assert_true(now_us() - started >= spin_us[i]);
			assert_int_equal(f.peer.nr_waits, 1);
			assert_int_equal(peer_count_failed(&f, 1), 0);
		}
		peer_stop(&f);
	}
}

static void reap_adaptive_with_completions_does_not_sleep(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_ADAPTIVE);
	f.conf.poll_spin_us = 1000000;
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(f.peer.nr_waits, 0);
	peer_stop(&f);
}

static void reap_adaptive_times_out_too(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_ADAPTIVE);
	f.conf.poll_spin_us = 1000;
	memdev_freeze(f.peer.dev, 1);
	peer_submit(&f, 1);
	assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
	assert_int_equal(f.heard.nr, 1);
	assert_true(f.peer.nr_waits > 0);
	peer_stop(&f);
}

static void reap_of_failed_lanes_returns_every_operation(void **state)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_WR,
		.nth = 1,
		.every = 1,
		.value = IBV_WC_REM_ACCESS_ERR,
	};
	struct fixture f;
	uint32_t i;

	(void)state;
	peer_start(&f, 4, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), NR_OPS);
	for (i = 0; i < NR_OPS; i++)
		if (f.done[i].status == IBV_WC_REM_ACCESS_ERR)
			break;
	assert_true(i < NR_OPS);
	/* Nor does what comes later hang. */
	peer_submit(&f, 4);
	assert_int_equal(reap(&f.reaper, f.done, 4, NR_OPS), 4);
	assert_int_equal(peer_count_failed(&f, 4), 4);
	peer_stop(&f);
}

static void reap_of_a_failed_cq_returns_every_operation(void **state)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_POLL,
		.nth = 1,
		.every = 1,
		.value = 1,
	};
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	peer_submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(peer_count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.heard.nr, 1);
	assert_non_null(strstr(f.heard.last, "mem0"));
	peer_stop(&f);
}

static void reap_with_a_lost_cqe_ends_by_itself(void **state)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_DROP_CQE,
		.nth = 1,
		.every = 1,
	};
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	peer_submit(&f, 1);
	assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
	assert_int_equal(peer_count_failed(&f, 1), 1);
	assert_int_equal(f.peer.nr_destroys, 1);
	peer_stop(&f);
}

static void reap_end_with_operations_out_ends_them(void **state)
{
	struct fixture f;

	(void)state;
	peer_start(&f, 64, POLL_BUSY);
	peer_submit(&f, NR_OPS);
	reap_end(&f.reaper);
	assert_int_equal(f.peer.nr_destroys, 1);
	reap_end(&f.reaper);
	assert_int_equal(f.peer.nr_destroys, 1);
	peer_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reap_of_submitted_returns_all),
		cmocka_unit_test(reap_of_nothing_with_min_0_returns_0),
		cmocka_unit_test(reap_with_short_queues_submits_the_rest),
		cmocka_unit_test(reap_of_a_silent_device_ends_after_io_timeout),
		cmocka_unit_test(reap_of_a_lost_peer_ends_at_once),
		cmocka_unit_test(reap_of_a_lost_peer_that_still_answers_ends),
		cmocka_unit_test(reap_by_event_of_a_lost_peer_ends),
		cmocka_unit_test(reap_by_event_times_out_too),
		cmocka_unit_test(reap_of_an_operation_in_pieces_takes_its_time),
		cmocka_unit_test(
			reap_that_stood_still_polls_before_it_gives_up),
		cmocka_unit_test(reap_that_times_out_tells_all_that_is_out),
		cmocka_unit_test(
			reap_by_event_polls_once_more_before_it_sleeps),
		cmocka_unit_test(reap_adaptive_spins_for_its_time_then_sleeps),
		cmocka_unit_test(reap_adaptive_with_completions_does_not_sleep),
		cmocka_unit_test(reap_adaptive_times_out_too),
		cmocka_unit_test(reap_of_failed_lanes_returns_every_operation),
		cmocka_unit_test(reap_of_a_failed_cq_returns_every_operation),
		cmocka_unit_test(reap_with_a_lost_cqe_ends_by_itself),
		cmocka_unit_test(reap_end_with_operations_out_ends_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
