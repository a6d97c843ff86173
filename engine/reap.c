// SPDX-License-Identifier: GPL-2.0-only
/* Waits for completions, each wait with an end. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "reap.h"

/* A look at the clock after so many polls. */
#define POLLS_PER_LOOK 256
/* While spinning is bounded, a look at the clock after so many polls. */
#define POLLS_PER_SPIN 16
/* A look at the peer after so long. */
#define LOOK_MS 10
/* One sleep, which whatever happens to the CQ or to the peer ends. */
#define SLEEP_MS 50
/* Operations that end by flushes have so long; then the QPs are destroyed. */
#define DRAIN_MS 1000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

bool reap_has_one_cpu(void)
{
	cpu_set_t cpus;

	return !sched_getaffinity(0, sizeof(cpus), &cpus) &&
	       CPU_COUNT(&cpus) == 1;
}

static uint32_t outstanding(const struct reaper *r)
{
	return wrb_staged(r->queue) + wrb_inflight(r->queue);
}

static void progress(struct reaper *r)
{
	r->idle_since_ms = 0;
	r->spin_since_ns = 0;
	r->spun = false;
	r->overdue = false;
}

static void give_up(struct reaper *r)
{
	r->gave_up = true;
	wrb_abort(r->queue);
	progress(r);
}

/* The way out that needs nobody's help: without QPs nothing can be pending. */
static void destroy_qps(struct reaper *r)
{
	uint32_t i;

	if (r->qps_gone)
		return;
	r->qps_gone = true;
	r->transport->ops->destroy_qps(r->transport);
	for (i = 0; i < r->transport->nr_qps; i++)
		wrb_lane_replace(r->queue, i, NULL);
}

static void time_out(struct reaper *r)
{
	r->env->error(r->env->arg,
		      "nothing has completed for %u ms (io_timeout=) with %u "
		      "operations outstanding to %s: check that the target "
		      "still runs and that the path to it is up",
		      r->conf->io_timeout_ms, outstanding(r),
		      r->transport->peer);
	r->said = true;
	give_up(r);
}

/* Once operations are ending there is nothing more to learn. */
static void look_at_peer(struct reaper *r, uint64_t now)
{
	if (r->gave_up || now - r->looked_ms < LOOK_MS)
		return;
	r->looked_ms = now;
	if (r->transport->ops->check(r->transport) >= 0)
		return;
	r->said = true;
	give_up(r);
}

/* A device that is being removed may work on until its users let go of it. */
static void look_in_passing(struct reaper *r)
{
	if (++r->polls % POLLS_PER_LOOK == 0)
		look_at_peer(r, now_ms());
}

/* Pieces of an operation complete long before it does. */
static bool pieces_completed(struct reaper *r)
{
	struct wrb_stats stats;
	uint64_t before = r->cqes;

	wrb_stats_get(r->queue, &stats);
	r->cqes = stats.cqes;
	return stats.cqes != before;
}

/*
 * Whether the time is over, and was so before the last poll: this thread may
 * have stood still while completions came.
 */
static bool time_is_over(struct reaper *r, uint64_t now)
{
	const uint64_t limit = r->gave_up ? DRAIN_MS : r->conf->io_timeout_ms;
	const bool polled_since = r->overdue;

	r->overdue = r->idle_since_ms && now - r->idle_since_ms >= limit;
	return r->overdue && polled_since;
}

/* Whether waiting makes sense any longer. */
static bool look(struct reaper *r)
{
	uint64_t now = now_ms();

	if (pieces_completed(r))
		progress(r);
	if (!r->idle_since_ms)
		r->idle_since_ms = now;
	look_at_peer(r, now);
	if (time_is_over(r, now)) {
		if (r->gave_up)
			destroy_qps(r);
		else
			time_out(r);
	}
	if (!r->qps_gone || outstanding(r))
		return true;
	r->env->error(r->env->arg, "completions are missing: this is a defect "
				   "of the engine, please report it");
	return false;
}

/* Whether poll_spin_us have gone by since the first poll that found nothing. */
static bool spun_enough(struct reaper *r)
{
	uint64_t now;

	if (r->spun || (r->spin_since_ns && r->polls % POLLS_PER_SPIN))
		return r->spun;
	now = now_ns();
	if (!r->spin_since_ns)
		r->spin_since_ns = now;
	r->spun = now - r->spin_since_ns >=
		  (uint64_t)r->conf->poll_spin_us * 1000;
	return r->spun;
}

static bool sleeps(struct reaper *r)
{
	if (r->gave_up || r->conf->poll == POLL_BUSY)
		return false;
	return r->conf->poll == POLL_EVENT || spun_enough(r);
}

/* Between two polls that found nothing; false: nothing will come. */
static bool idle(struct reaper *r)
{
	int rc;

	if (sleeps(r)) {
		rc = r->transport->ops->wait(r->transport, SLEEP_MS);
		if (rc < 0) {
			r->said = true;
			give_up(r);
		}
		return rc == 1 ? true : look(r);
	}
	if (r->yields)
		sched_yield();
	if (r->polls % POLLS_PER_LOOK)
		return true;
	return look(r);
}

/* There may be room now for what had none, or no lane is left to wait for. */
static void submit_rest(struct reaper *r)
{
	if (wrb_submit(r->queue) == -ENOTCONN)
		give_up(r);
}

static void lose_cq(struct reaper *r)
{
	if (!r->said)
		r->env->error(r->env->arg,
			      "the completion queue on %s failed: see the "
			      "kernel's log for the device",
			      r->transport->device);
	r->said = true;
	r->gave_up = true;
	destroy_qps(r);
	wrb_abort(r->queue);
}

uint32_t reap(struct reaper *r, struct wrb_done *done, uint32_t min,
	      uint32_t max)
{
	uint32_t nr = 0;
	int got;

	for (;;) {
		got = wrb_poll(r->queue, done + nr, max - nr);
		if (got > 0) {
			nr += (uint32_t)got;
			progress(r);
		} else if (got < 0) {
			lose_cq(r);
		}
		look_in_passing(r);
		if (wrb_staged(r->queue))
			submit_rest(r);
		if (nr >= min)
			return nr;
		if (got <= 0 && !idle(r))
			return nr;
	}
}

void reap_end(struct reaper *r)
{
	struct wrb_done done[32];

	if (outstanding(r) && !r->gave_up)
		give_up(r);
	while (outstanding(r) && reap(r, done, 1, 32))
		;
	destroy_qps(r);
}
