// SPDX-License-Identifier: GPL-2.0-only
/* A sync reads behind the WRITEs of every lane, and fails when one does. */
#include <errno.h>
#include <string.h>

#include "../../engine/sync.h"
#include "peer.h"

/* A place of its own for the byte that is read. */
#define READ_AT (NR_OPS - 1)

struct world {
	struct fixture f;
	struct sync sync;
};

static void begin(struct world *w, uint32_t sq_depth)
{
	peer_start(&w->f, sq_depth, POLL_BUSY);
	memset(&w->sync, 0, sizeof(w->sync));
	assert_int_equal(sync_init(&w->sync, NR_LANES), 0);
}

static void end(struct world *w)
{
	sync_free(&w->sync);
	peer_stop(&w->f);
}

static void sync_start(struct world *w)
{
	struct wrb_op op = peer_op(&w->f, READ_AT, WRB_READ);

	op.length = 1;
	sync_begin(&w->sync, &op);
}

/* Reaps what is not the sync's, nr operations. */
static void reap_others(struct world *w, uint32_t nr)
{
	assert_int_equal(sync_others(&w->sync, w->f.reaper.queue), nr);
	assert_int_equal(
		sync_reap(&w->sync, &w->f.reaper, w->f.done, nr, NR_OPS), nr);
	assert_int_equal(sync_others(&w->sync, w->f.reaper.queue), 0);
}

static void whole_sync(struct world *w)
{
	sync_start(w);
	assert_int_equal(sync_post(&w->sync, w->f.reaper.queue), 0);
	sync_wait(&w->sync, &w->f.reaper);
	assert_int_equal(w->sync.nr_out, 0);
}

static void sync_reads_once_on_each_used_lane(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 64);
	/* Each submit goes to the next lane. */
	peer_submit(&w.f, 4);
	sync_start(&w);
	assert_int_equal(sync_post(&w.sync, w.f.reaper.queue), 0);
	assert_int_equal(w.sync.nr_out, 1);
	reap_others(&w, 4);
	sync_wait(&w.sync, &w.f.reaper);
	assert_int_equal(w.sync.stats.reads, 1);

	peer_submit(&w.f, 4);
	peer_submit(&w.f, 4);
	sync_start(&w);
	assert_int_equal(sync_post(&w.sync, w.f.reaper.queue), 0);
	assert_int_equal(w.sync.nr_out, 2);
	reap_others(&w, 8);
	sync_wait(&w.sync, &w.f.reaper);
	assert_int_equal(w.sync.stats.reads, 3);
	assert_int_equal(w.sync.stats.syncs, 2);
	assert_int_equal(w.sync.end.error, 0);
	end(&w);
}

static void sync_of_nothing_reads_nothing(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 64);
	whole_sync(&w);
	assert_int_equal(w.sync.stats.reads, 0);
	peer_submit(&w.f, 1);
	assert_int_equal(reap(&w.f.reaper, w.f.done, 1, NR_OPS), 1);
	whole_sync(&w);
	assert_int_equal(w.sync.stats.reads, 1);
	/* The READ itself is nothing to be synced. */
	whole_sync(&w);
	assert_int_equal(w.sync.stats.reads, 1);
	assert_int_equal(w.sync.stats.syncs, 3);
	end(&w);
}

static void sync_ends_after_the_writes_before_it(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 64);
	memset(w.f.local, 0x5a, sizeof(w.f.local));
	peer_submit(&w.f, READ_AT);
	whole_sync(&w);
	assert_memory_equal(w.f.remote, w.f.local, READ_AT * OP_BYTES);
	end(&w);
}

static void sync_on_a_full_lane_asks_to_be_called_again(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 4);
	memdev_freeze(w.f.peer.dev, 1);
	peer_submit(&w.f, 3);
	sync_start(&w);
	assert_int_equal(sync_post(&w.sync, w.f.reaper.queue), -EAGAIN);
	assert_int_equal(w.sync.nr_out, 0);
	memdev_freeze(w.f.peer.dev, 0);
	reap_others(&w, 3);
	assert_int_equal(sync_post(&w.sync, w.f.reaper.queue), 0);
	assert_int_equal(w.sync.nr_out, 1);
	sync_wait(&w.sync, &w.f.reaper);
	assert_int_equal(w.sync.end.error, 0);
	end(&w);
}

static void sync_whose_read_fails_fails_on_its_lane(void **state)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_WR,
		.nth = 2,
		.value = IBV_WC_REM_ACCESS_ERR,
	};
	struct world w;

	(void)state;
	begin(&w, 64);
	assert_int_equal(memdev_fault_add(w.f.peer.dev, &fault), 0);
	peer_submit(&w.f, 1);
	sync_start(&w);
	assert_int_equal(sync_post(&w.sync, w.f.reaper.queue), 0);
	reap_others(&w, 1);
	assert_int_equal(peer_count_failed(&w.f, 1), 0);
	sync_wait(&w.sync, &w.f.reaper);
	assert_int_equal(w.sync.end.error, -EIO);
	assert_int_equal(w.sync.end.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(w.sync.stats.reads_failed, 1);
	end(&w);
}

/* What lay on it is not known to be placed; that is told once. */
static void sync_with_a_dead_lane_fails_once(void **state)
{
	const struct memdev_fault fault = {
		.kind = MEMDEV_FAIL_WR,
		.nth = 1,
		.value = IBV_WC_RETRY_EXC_ERR,
	};
	struct world w;

	(void)state;
	begin(&w, 64);
	assert_int_equal(memdev_fault_add(w.f.peer.dev, &fault), 0);
	peer_submit(&w.f, 1);
	assert_int_equal(reap(&w.f.reaper, w.f.done, 1, NR_OPS), 1);
	assert_int_equal(peer_count_failed(&w.f, 1), 1);
	whole_sync(&w);
	assert_int_equal(w.sync.end.error, -ECANCELED);
	assert_int_equal(w.sync.end.lane, 0);
	assert_int_equal(w.sync.stats.reads, 0);
	peer_submit(&w.f, 1);
	assert_int_equal(reap(&w.f.reaper, w.f.done, 1, NR_OPS), 1);
	whole_sync(&w);
	assert_int_equal(w.sync.end.error, 0);
	assert_int_equal(w.sync.stats.reads, 1);
	end(&w);
}

static void sync_of_a_silent_device_ends_after_io_timeout(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 64);
	peer_submit(&w.f, 1);
	assert_int_equal(reap(&w.f.reaper, w.f.done, 1, NR_OPS), 1);
	memdev_freeze(w.f.peer.dev, 1);
	whole_sync(&w);
	assert_int_not_equal(w.sync.end.error, 0);
	assert_int_equal(w.f.heard.nr, 1);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sync_reads_once_on_each_used_lane),
		cmocka_unit_test(sync_of_nothing_reads_nothing),
		cmocka_unit_test(sync_ends_after_the_writes_before_it),
		cmocka_unit_test(sync_on_a_full_lane_asks_to_be_called_again),
		cmocka_unit_test(sync_whose_read_fails_fails_on_its_lane),
		cmocka_unit_test(sync_with_a_dead_lane_fails_once),
		cmocka_unit_test(sync_of_a_silent_device_ends_after_io_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
