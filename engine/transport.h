/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An initiator's way to its target: connected QPs, their CQ, the target's
 * region, registered local memory. Two kinds: transport_rdma and
 * transport_memory. Knows nothing of fio. One thread.
 */
#ifndef ENGINE_TRANSPORT_H
#define ENGINE_TRANSPORT_H

#include <stddef.h>

#include "conf.h"
#include "env.h"

struct transport_attr {
	const struct engine_conf *conf;
	const struct engine_env *env;
	uint32_t job_number;   /* of all jobs, from 0: spreads them over CPUs */
	uint32_t nr_ops;       /* operations in flight at most: fio's iodepth */
	uint32_t max_op_bytes; /* longest operation */
	uint64_t
		region_bytes; /* offset + size of the job: the region's least */
	enum conf_access need; /* what the job will do */
	bool reads_to_sync;    /* for its syncs alone needs it to read */
};

/*
 * Everything that the queue needs; read-only for its user. Embedded by each
 * kind in a struct of its own.
 */
struct transport {
	const struct transport_ops *ops;
	uint32_t nr_qps;
	struct ibv_qp **qps; /* nr_qps */
	struct ibv_cq *cq;
	struct wrb_limits limits; /* granted */
	uint32_t max_sge;	  /* to be used, <= limits.max_send_sge */
	uint32_t rd_atomic;	  /* granted: READs that a QP can have out */
	uint64_t region_addr;	  /* the target's region */
	uint64_t region_bytes;
	const uint32_t *rkeys;	  /* nr_qps */
	const uint32_t *lkeys;	  /* nr_qps, after reg() */
	wrb_qp_error_fn qp_error; /* may be NULL, see wrb_attr */
	void *qp_error_arg;
	const char *peer;   /* "10.0.0.1:7471", or "memory" */
	const char *device; /* "rxe0", or "memory" */
};

struct transport_ops {
	const char *name;
	/*
	 * Connects within conf->connect_timeout_ms, all QPs side by side, and
	 * checks that the region is large enough and may be used as needed.
	 * 0, or -errno after one sentence through env->error, with everything
	 * undone.
	 */
	int (*open)(const struct transport_attr *attr, struct transport **t);
	/* Registers local memory, once. 0, or -errno after one sentence. */
	int (*reg)(struct transport *t, void *addr, size_t length);
	/*
	 * Sleeps until the CQ may hold something or timeout_ms have passed;
	 * what becomes of the peer meanwhile is for check() to find. Arms the
	 * CQ and lets the caller poll once more: 0: poll now; 1: armed just
	 * now: poll, then call again to sleep. -errno: as check().
	 */
	int (*wait)(struct transport *t, int timeout_ms);
	/*
	 * Looks, without waiting, whether the peer has gone: 0, or -errno
	 * after one sentence (said once).
	 */
	int (*check)(struct transport *t);
	/*
	 * Destroys the QPs: no CQE and no data can arrive after it. Bounded
	 * in time whatever the peer does.
	 */
	void (*destroy_qps)(struct transport *t);
	/* Deregisters local memory; the QPs have been destroyed before. */
	void (*dereg)(struct transport *t);
	/* Frees everything, in any state after open(). */
	void (*close)(struct transport *t);
};

extern const struct transport_ops transport_rdma;
extern const struct transport_ops transport_memory;

#endif /* ENGINE_TRANSPORT_H */
