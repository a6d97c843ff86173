/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for completions, each wait with an end: what does not complete within
 * io_timeout, or loses its peer, is ended with errors. Knows nothing of fio.
 */
#ifndef ENGINE_REAP_H
#define ENGINE_REAP_H

#include "conf.h"
#include "env.h"
#include "transport.h"

/* Set up the first group; the rest starts as zeros. */
struct reaper {
	struct wrb_queue *queue;
	struct transport *transport;
	const struct engine_env *env;
	const struct engine_conf *conf;
	/*
	 * Between busy polls the CPU is given away: there is no other one that
	 * what is waited for could run on. See reap_has_one_cpu().
	 */
	bool yields;

	bool gave_up;  /* the queue was aborted: its operations are ending */
	bool said;     /* the user knows why */
	bool qps_gone; /* nothing can arrive any more */
	uint32_t polls;
	uint64_t idle_since_ms; /* 0: not idle */
	uint64_t cqes;		/* polled until the last look */
	uint64_t spin_since_ns; /* POLL_ADAPTIVE; 0: does not spin */
	bool spun;		/* long enough: sleeps until progress */
	bool overdue;		/* idle for too long, at the last look */
	uint64_t looked_ms;
};

/* Whether this thread may run on a single CPU only. */
bool reap_has_one_cpu(void);

/*
 * Hands over at least min and at most max operations that have ended, and
 * submits what had been waiting for room. Fewer than min only if the queue has
 * no more; that is a defect, and has been said.
 */
uint32_t reap(struct reaper *r, struct wrb_done *done, uint32_t min,
	      uint32_t max);

/*
 * Ends everything that is still out and destroys the QPs: after it no transfer
 * touches local memory. May be called again.
 */
void reap_end(struct reaper *r);

#endif /* ENGINE_REAP_H */
