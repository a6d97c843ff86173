// SPDX-License-Identifier: GPL-2.0-only
/* A queue over the device in memory, and a model of what it must move. */
#include "fixture.h"

#define RIGHTS                                             \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_WRITE)

/* No two stretches of 8 bytes are alike. */
static void fill(uint8_t *memory, uint32_t seed)
{
	for (uint32_t i = 0; i < FIX_BYTES; i++) {
		seed = seed * 1664525 + 1013904223;
		memory[i] = seed >> 24;
	}
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fill(f->local, 1);
	fill(f->remote, 2);
	memcpy(f->model_local, f->local, FIX_BYTES);
	memcpy(f->model_remote, f->remote, FIX_BYTES);
	assert_int_equal(memdev_open(NULL, &f->dev), 0);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	wrb_queue_destroy(f->queue);
	memdev_close(f->dev);
	free(f);
	return 0;
}

static void count_line(void *arg, const char *line)
{
	struct fixture *f = arg;

	f->nr_lines++;
	strncpy(f->line, line, sizeof(f->line) - 1);
}

static void fixture_attr(struct fixture *f, uint32_t nr, uint32_t max_send_wr)
{
	wrb_attr_init(&f->attr);
	f->attr.qps = f->qps;
	f->attr.nr_qps = nr;
	f->attr.cq = f->cq;
	f->attr.max_ops = 64;
	f->attr.qp_error = memdev_qp_error;
	f->attr.log = count_line;
	f->attr.log_arg = f;
	f->attr.limits = (struct wrb_limits){
		.max_send_wr = max_send_wr,
		.max_send_sge = 4,
		.max_cqe = nr * max_send_wr,
		.max_msg_bytes = 1u << 30,
	};
}

struct ibv_qp *fixture_qp(struct fixture *f)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = f->attr.limits.max_send_wr,
		.max_send_sge = 16,
		.max_inline_data = 64,
	};
	struct ibv_qp *qp;

	assert_int_equal(memdev_qp_create(f->dev, f->cq, &cap, &qp), 0);
	return qp;
}

void fixture_lanes(struct fixture *f, uint32_t nr, uint32_t max_send_wr)
{
	assert_true(nr <= FIX_LANES);
	assert_int_equal(memdev_cq_create(f->dev, nr * max_send_wr, &f->cq), 0);
	fixture_attr(f, nr, max_send_wr);
	for (uint32_t i = 0; i < nr; i++)
		f->qps[i] = fixture_qp(f);
}

static int fixture_region(struct fixture *f, enum wrb_side side, void *memory,
			  uint32_t key)
{
	uint32_t keys[FIX_LANES];
	struct wrb_region region = {
		.side = side,
		.addr = (uintptr_t)memory,
		.length = FIX_BYTES,
		.keys = keys,
	};

	for (uint32_t i = 0; i < FIX_LANES; i++)
		keys[i] = key;
	return wrb_region_add(f->queue, &region);
}

void fixture_queue(struct fixture *f)
{
	struct memdev_mr *local = &f->local_mr, *remote = &f->remote_mr;

	assert_int_equal(
		memdev_mr_reg(f->dev, f->local, FIX_BYTES, RIGHTS, local), 0);
	assert_int_equal(
		memdev_mr_reg(f->dev, f->remote, FIX_BYTES, RIGHTS, remote), 0);
	assert_int_equal(wrb_queue_create(&f->attr, &f->queue), 0);
	f->local_id = fixture_region(f, WRB_LOCAL, f->local, local->lkey);
	f->remote_id = fixture_region(f, WRB_REMOTE, f->remote, remote->rkey);
	assert_true(f->local_id >= 0);
	assert_true(f->remote_id >= 0);
}

void fixture_start(struct fixture *f, uint32_t nr, uint32_t max_send_wr)
{
	fixture_lanes(f, nr, max_send_wr);
	fixture_queue(f);
}

struct wrb_op fixture_op(struct fixture *f, enum wrb_dir dir, uint64_t local,
			 uint64_t remote, uint32_t length)
{
	return (struct wrb_op){
		.user = (void *)(uintptr_t)(f->nr_added + 1),
		.local_offset = local,
		.remote_offset = remote,
		.length = length,
		.local = (uint16_t)f->local_id,
		.remote = (uint16_t)f->remote_id,
		.dir = dir,
	};
}

void fixture_expect(struct fixture *f, enum wrb_dir dir, uint64_t local,
		    uint64_t remote, uint32_t length)
{
	if (dir == WRB_READ)
		memcpy(f->model_local + local, f->model_remote + remote,
		       length);
	else
		memcpy(f->model_remote + remote, f->model_local + local,
		       length);
}

uint32_t fixture_add(struct fixture *f, enum wrb_dir dir, uint64_t local,
		     uint64_t remote, uint32_t length)
{
	struct wrb_op op = fixture_op(f, dir, local, remote, length);

	assert_true(f->nr_added < FIX_OPS);
	assert_int_equal(wrb_add(f->queue, &op), 0);
	fixture_expect(f, dir, local, remote, length);
	return ++f->nr_added;
}

void fixture_add_row(struct fixture *f, uint32_t nr, uint32_t length,
		     uint32_t gap)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t offset = (uint64_t)i * (length + gap);

		fixture_add(f, WRB_WRITE, offset, offset, length);
	}
}

static void note_end(struct fixture *f, const struct wrb_done *done)
{
	uintptr_t user = (uintptr_t)done->user;

	assert_in_range(user, 1, f->nr_added);
	f->ends[user].nr++;
	f->ends[user].done = *done;
	f->order[f->nr_ended++] = (uint32_t)user;
}

int fixture_poll(struct fixture *f, uint32_t max)
{
	struct wrb_done done[256];
	int nr;

	assert_true(max <= 256);
	nr = wrb_poll(f->queue, done, max);
	for (int i = 0; i < nr; i++)
		note_end(f, &done[i]);
	return nr;
}

void fixture_reap(struct fixture *f)
{
	for (int idle = 0; idle < 4 && wrb_inflight(f->queue); idle++)
		if (fixture_poll(f, 64) > 0)
			idle = 0;
}

void fixture_run(struct fixture *f)
{
	for (int idle = 0; idle < 4; idle++) {
		int posted = wrb_submit(f->queue);

		if (posted > 0 || fixture_poll(f, 64) > 0)
			idle = 0;
		if (!wrb_staged(f->queue) && !wrb_inflight(f->queue))
			return;
	}
}

int fixture_error(const struct fixture *f, uint32_t user)
{
	if (f->ends[user].nr != 1)
		fail_msg("operation %u was handed back %u times", user,
			 f->ends[user].nr);
	return f->ends[user].done.error;
}

void fixture_assert_errors(const struct fixture *f, uint32_t first,
			   uint32_t last, int error)
{
	for (uint32_t user = first; user <= last; user++)
		if (fixture_error(f, user) != error)
			fail_msg("operation %u ended with %d, not %d", user,
				 f->ends[user].done.error, error);
}

void fixture_assert_memory(const struct fixture *f)
{
	assert_memory_equal(f->local, f->model_local, FIX_BYTES);
	assert_memory_equal(f->remote, f->model_remote, FIX_BYTES);
}

void fixture_fault(struct fixture *f, enum memdev_fault_kind kind, uint64_t nth,
		   int value)
{
	const struct memdev_fault fault = {
		.kind = kind,
		.nth = nth,
		.value = value,
	};

	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
}

struct wrb_stats fixture_stats(const struct fixture *f)
{
	struct wrb_stats stats;

	wrb_stats_get(f->queue, &stats);
	return stats;
}

struct wrb_lane_info fixture_lane(const struct fixture *f, uint32_t lane)
{
	struct wrb_lane_info info;

	assert_int_equal(wrb_lane_state(f->queue, lane, &info), 0);
	return info;
}
