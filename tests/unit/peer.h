/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reaper over the device in memory, and a peer that does what the test says:
 * for tests of what waits.
 */
#ifndef PEER_H
#define PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../engine/reap.h"
#include "heard.h"
#include "memdev.h"

#define NR_OPS	 32
#define NR_LANES 2
#define OP_BYTES 64

/* The transport. */
struct peer {
	struct transport t; /* first */
	struct memdev *dev;
	int check_result;
	int wait_result;
	unsigned int nr_checks;
	unsigned int nr_waits;
	unsigned int wait_ms;  /* that each wait takes */
	unsigned int thaws_at; /* this wait, from 1, ends memdev_freeze() */
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
	struct heard heard;
};

/* A queue of NR_LANES lanes with sq_depth WRs, and io_timeout=50. */
void peer_start(struct fixture *f, uint32_t sq_depth, enum conf_poll poll);
/* The same, with operations that are cut into WRs of so many bytes. */
void peer_start_cut(struct fixture *f, uint32_t sq_depth, enum conf_poll poll,
		    uint32_t chunk_bytes);

/* The nth operation: writes to, or reads, the nth OP_BYTES of the region. */
struct wrb_op peer_op(struct fixture *f, uint32_t nth, enum wrb_dir dir);

/* Adds and submits the first nr WRITEs. */
void peer_submit(struct fixture *f, uint32_t nr);

/* How many of the first nr of f->done have failed. */
uint32_t peer_count_failed(const struct fixture *f, uint32_t nr);

/* Ends it, with nothing left out. */
void peer_stop(struct fixture *f);

#endif /* PEER_H */
