/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue over the device in memory, the memory that it moves, a model of what
 * that memory must look like, and what became of every operation.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memdev.h"
#include "queue.h"
#include "wrb.h"

#define FIX_BYTES 65536 /* of local and of remote memory */
#define FIX_LANES 8
#define FIX_OPS	  4096 /* that a test can add */

/* What became of an operation. */
struct fix_end {
	uint32_t nr; /* times that it was handed back */
	struct wrb_done done;
};

struct fixture {
	struct memdev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qps[FIX_LANES];
	struct wrb_attr attr;
	struct wrb_queue *queue;
	int local_id;
	int remote_id;
	struct memdev_mr local_mr;
	struct memdev_mr remote_mr;
	uint8_t local[FIX_BYTES];
	uint8_t remote[FIX_BYTES];
	uint8_t model_local[FIX_BYTES];
	uint8_t model_remote[FIX_BYTES];
	uint32_t nr_added; /* operation n has user n, from 1 */
	uint32_t nr_ended;
	struct fix_end ends[FIX_OPS + 1];
	uint32_t order[FIX_OPS]; /* in which they were handed back */
	uint32_t nr_lines;	 /* logged */
	char line[256];		 /* the last one */
};

/* cmocka's: a device and filled memory; no queue yet. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The CQ, the QPs with max_send_wr WRs, and f->attr; max_ops is 64. */
void fixture_lanes(struct fixture *f, uint32_t nr, uint32_t max_send_wr);
/* The queue that f->attr says, and both regions. */
void fixture_queue(struct fixture *f);
/* Both. */
void fixture_start(struct fixture *f, uint32_t nr, uint32_t max_send_wr);

/* One more QP for the same CQ. */
struct ibv_qp *fixture_qp(struct fixture *f);

/* An operation with the next user number. */
struct wrb_op fixture_op(struct fixture *f, enum wrb_dir dir, uint64_t local,
			 uint64_t remote, uint32_t length);
/* Adds one and tells the model; returns its user number. */
uint32_t fixture_add(struct fixture *f, enum wrb_dir dir, uint64_t local,
		     uint64_t remote, uint32_t length);
/* Adds nr WRITEs of length bytes, gap bytes apart, from offset 0 on. */
void fixture_add_row(struct fixture *f, uint32_t nr, uint32_t length,
		     uint32_t gap);
/* The model takes the bytes of an operation as moved. */
void fixture_expect(struct fixture *f, enum wrb_dir dir, uint64_t local,
		    uint64_t remote, uint32_t length);

/* One poll; returns what it returned. */
int fixture_poll(struct fixture *f, uint32_t max);
/* Polls and submits until nothing is staged, in flight, or moves any more. */
void fixture_run(struct fixture *f);
/* Polls until nothing is in flight, or moves any more. */
void fixture_reap(struct fixture *f);

/* The error of an operation that was handed back exactly once. */
int fixture_error(const struct fixture *f, uint32_t user);
/* Operations first..last were handed back once, with this error. */
void fixture_assert_errors(const struct fixture *f, uint32_t first,
			   uint32_t last, int error);
/* Memory is as the model says; every byte of it. */
void fixture_assert_memory(const struct fixture *f);

void fixture_fault(struct fixture *f, enum memdev_fault_kind kind, uint64_t nth,
		   int value);
struct wrb_stats fixture_stats(const struct fixture *f);
struct wrb_lane_info fixture_lane(const struct fixture *f, uint32_t lane);

#define fixture_test(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif /* FIXTURE_H */
