/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The planning that wrb.h documents, done the slow and obvious way: sort,
 * merge, cut. It knows neither lanes nor room.
 */
#ifndef REF_PLAN_H
#define REF_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "wrb.h"

#define REF_MAX_SGE 16

struct ref_rules {
	uint32_t max_sge; /* 1..REF_MAX_SGE */
	uint32_t max_msg_bytes;
	uint32_t chunk_bytes; /* 0: none */
	uint32_t max_chunks;  /* 0: no bound */
	bool merge;
	bool sort;
};

struct ref_op {
	uint64_t local_addr;
	uint64_t remote_addr;
	uint32_t length;
	uint32_t local; /* region */
	uint32_t remote;
	enum wrb_dir dir;
};

struct ref_sge {
	uint64_t addr;
	uint64_t length;
	uint32_t region;
};

struct ref_wr {
	enum wrb_dir dir;
	uint64_t remote_addr;
	uint64_t length;
	uint32_t remote; /* region */
	uint32_t run;	 /* WRs cut from the same run have the same number */
	uint32_t nr_sges;
	struct ref_sge sges[REF_MAX_SGE];
};

/*
 * Plans nr operations; they are put in order when rules->sort is set. Returns
 * how many WRs there are; the first max of them are written to wrs.
 */
uint32_t ref_plan(const struct ref_rules *rules, struct ref_op *ops,
		  uint32_t nr, struct ref_wr *wrs, uint32_t max);

#endif /* REF_PLAN_H */
