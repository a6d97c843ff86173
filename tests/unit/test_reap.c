/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for completions ends, whatever the device and the peer do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../engine/reap.h"
#include "memdev.h"

#define NR_OPS	 32
#define NR_LANES 2
#define OP_BYTES 64

/* A transport over memdev whose peer does what the test says. */
struct peer {
	struct transport t; /* first */
	struct memdev *dev;
	int check_result;
	int wait_result;
	unsigned int nr_checks;
	unsigned int nr_waits;
	unsigned int nr_destroys;
};

struct fixture {
	struct peer peer;
	struct ibv_qp *qps[NR_LANES];
	char local[NR_OPS * OP_BYTES];
	char remote[NR_OPS * OP_BYTES];
	struct engine_conf conf;
	struct engine_env env;
	struct reaper reaper;
	struct wrb_done done[NR_OPS];
	unsigned int nr_said;
	char said[512];
};

static void on_error(void *arg, const char *fmt, ...)
{
	struct fixture *f = arg;
	va_list args;

	f->nr_said++;
	va_start(args, fmt);
	vsnprintf(f->said, sizeof(f->said), fmt, args);
	va_end(args);
}

static int peer_check(struct transport *t)
{
	struct peer *peer = (struct peer *)t;

	peer->nr_checks++;
	return peer->check_result;
}

static int peer_wait(struct transport *t, int timeout_ms)
{
	struct peer *peer = (struct peer *)t;

	(void)timeout_ms;
	peer->nr_waits++;
	return peer->wait_result;
}

static void peer_destroy_qps(struct transport *t)
{
	struct peer *peer = (struct peer *)t;
	uint32_t i;

	peer->nr_destroys++;
	for (i = 0; i < t->nr_qps; i++)
		memdev_qp_destroy(t->qps[i]);
}

static const struct transport_ops peer_ops = {
	.name = "peer",
	.check = peer_check,
	.wait = peer_wait,
	.destroy_qps = peer_destroy_qps,
};

static void make_lanes(struct fixture *f, uint32_t sq_depth)
{
	struct ibv_qp_cap cap = { .max_send_wr = sq_depth, .max_send_sge = 1 };
	struct transport *t = &f->peer.t;
	int i;

	assert_int_equal(memdev_open(NULL, &f->peer.dev), 0);
	assert_int_equal(
		memdev_cq_create(f->peer.dev, NR_LANES * sq_depth, &t->cq), 0);
	for (i = 0; i < NR_LANES; i++)
		assert_int_equal(
			memdev_qp_create(f->peer.dev, t->cq, &cap, &f->qps[i]),
			0);
	t->ops = &peer_ops;
	t->qps = f->qps;
	t->nr_qps = NR_LANES;
	t->peer = "10.0.0.1:7471";
	t->device = "mem0";
	t->limits = (struct wrb_limits){
		.max_send_wr = sq_depth,
		.max_send_sge = 1,
		.max_cqe = NR_LANES * sq_depth,
		.max_msg_bytes = 1 << 20,
	};
}

static void add_region(struct fixture *f, enum wrb_side side, void *addr)
{
	struct memdev_mr mr;
	uint32_t keys[NR_LANES];
	struct wrb_region region = {
		.side = side,
		.addr = (uintptr_t)addr,
		.length = sizeof(f->local),
		.keys = keys,
	};
	int i;

	assert_int_equal(
		memdev_mr_reg(f->peer.dev, addr, region.length,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			      &mr),
		0);
	for (i = 0; i < NR_LANES; i++)
		keys[i] = side == WRB_LOCAL ? mr.lkey : mr.rkey;
	/* The local region is the first, and so has id 0. */
	assert_int_equal(wrb_region_add(f->reaper.queue, &region),
			 side == WRB_LOCAL ? 0 : 1);
}

static void start(struct fixture *f, uint32_t sq_depth, enum conf_poll poll)
{
	struct wrb_attr attr;

	memset(f, 0, sizeof(*f));
	make_lanes(f, sq_depth);
	f->conf.io_timeout_ms = 50;
	f->conf.poll = poll;
	f->env.arg = f;
	f->env.error = on_error;
	f->reaper.transport = &f->peer.t;
	f->reaper.conf = &f->conf;
	f->reaper.env = &f->env;
	wrb_attr_init(&attr);
	attr.qps = f->qps;
	attr.nr_qps = NR_LANES;
	attr.cq = f->peer.t.cq;
	attr.limits = f->peer.t.limits;
	attr.max_ops = NR_OPS;
	attr.qp_error = memdev_qp_error;
	assert_int_equal(wrb_queue_create(&attr, &f->reaper.queue), 0);
	add_region(f, WRB_LOCAL, f->local);
	add_region(f, WRB_REMOTE, f->remote);
}

static void submit(struct fixture *f, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct wrb_op op = {
			.user = &f->local[i * OP_BYTES],
			.local_offset = i * OP_BYTES,
			.remote_offset = i * OP_BYTES,
			.length = OP_BYTES,
			.local = 0,
			.remote = 1,
			.dir = WRB_WRITE,
		};

		assert_int_equal(wrb_add(f->reaper.queue, &op), 0);
	}
	wrb_submit(f->reaper.queue);
}

static uint32_t count_failed(const struct fixture *f, uint32_t nr)
{
	uint32_t failed = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		failed += f->done[i].error != 0;
	return failed;
}

static void stop(struct fixture *f)
{
	reap_end(&f->reaper);
	assert_int_equal(wrb_inflight(f->reaper.queue), 0);
	assert_int_equal(wrb_staged(f->reaper.queue), 0);
	wrb_queue_destroy(f->reaper.queue);
	memdev_close(f->peer.dev);
}

static void reap_of_submitted_returns_all(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_BUSY);
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), 0);
	assert_int_equal(f.peer.nr_waits, 0);
	stop(&f);
	assert_int_equal(f.nr_said, 0);
}

static void reap_of_nothing_with_min_0_returns_0(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_BUSY);
	assert_int_equal(reap(&f.reaper, f.done, 0, NR_OPS), 0);
	stop(&f);
}

static void reap_with_short_queues_submits_the_rest(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 3, POLL_BUSY);
	submit(&f, NR_OPS);
	assert_true(wrb_staged(f.reaper.queue) > 0);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), 0);
	stop(&f);
}

static void reap_of_a_silent_device_ends_after_io_timeout(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_BUSY);
	memdev_freeze(f.peer.dev, 1);
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.nr_said, 1);
	assert_non_null(strstr(f.said, "io_timeout="));
	assert_non_null(strstr(f.said, "10.0.0.1:7471"));
	stop(&f);
}

static void reap_of_a_lost_peer_ends_at_once(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_BUSY);
	f.conf.io_timeout_ms = 3600000;
	memdev_freeze(f.peer.dev, 1);
	f.peer.check_result = -ECONNRESET;
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), NR_OPS);
	/* The transport has said it. */
	assert_true(f.reaper.said);
	assert_int_equal(f.nr_said, 0);
	stop(&f);
}

static void reap_of_a_lost_peer_that_still_answers_ends(void **state)
{
	struct fixture f;
	uint32_t failed = 0;
	int64_t tries;

	(void)state;
	start(&f, 64, POLL_BUSY);
	f.peer.check_result = -ENODEV;
	for (tries = 0; tries < 1000000 && !failed; tries++) {
		submit(&f, 1);
		assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
		failed = count_failed(&f, 1);
	}
	assert_int_equal(failed, 1);
	assert_int_equal(f.peer.nr_checks, 1);
	assert_true(f.reaper.said);
	stop(&f);
}

static void reap_by_event_of_a_lost_peer_ends(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	f.peer.wait_result = -ECONNRESET;
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.peer.nr_waits, 1);
	stop(&f);
}

static void reap_by_event_times_out_too(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_EVENT);
	memdev_freeze(f.peer.dev, 1);
	submit(&f, 1);
	assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
	assert_int_equal(f.nr_said, 1);
	assert_int_equal(count_failed(&f, 1), 1);
	stop(&f);
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
	start(&f, 4, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), NR_OPS);
	for (i = 0; i < NR_OPS; i++)
		if (f.done[i].status == IBV_WC_REM_ACCESS_ERR)
			break;
	assert_true(i < NR_OPS);
	/* Nor does what comes later hang. */
	submit(&f, 4);
	assert_int_equal(reap(&f.reaper, f.done, 4, NR_OPS), 4);
	assert_int_equal(count_failed(&f, 4), 4);
	stop(&f);
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
	start(&f, 64, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	submit(&f, NR_OPS);
	assert_int_equal(reap(&f.reaper, f.done, NR_OPS, NR_OPS), NR_OPS);
	assert_int_equal(count_failed(&f, NR_OPS), NR_OPS);
	assert_int_equal(f.nr_said, 1);
	assert_non_null(strstr(f.said, "mem0"));
	stop(&f);
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
	start(&f, 64, POLL_BUSY);
	assert_int_equal(memdev_fault_add(f.peer.dev, &fault), 0);
	submit(&f, 1);
	assert_int_equal(reap(&f.reaper, f.done, 1, NR_OPS), 1);
	assert_int_equal(count_failed(&f, 1), 1);
	assert_int_equal(f.peer.nr_destroys, 1);
	stop(&f);
}

static void reap_end_with_operations_out_ends_them(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 64, POLL_BUSY);
	submit(&f, NR_OPS);
	reap_end(&f.reaper);
	assert_int_equal(f.peer.nr_destroys, 1);
	reap_end(&f.reaper);
	assert_int_equal(f.peer.nr_destroys, 1);
	stop(&f);
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
		cmocka_unit_test(reap_of_failed_lanes_returns_every_operation),
		cmocka_unit_test(reap_of_a_failed_cq_returns_every_operation),
		cmocka_unit_test(reap_with_a_lost_cqe_ends_by_itself),
		cmocka_unit_test(reap_end_with_operations_out_ends_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
