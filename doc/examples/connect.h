/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the programs of doc/libwrb.md: connected queue pairs between two
 * processes, by librdmacm.
 *
 * Calls return 0, or -errno after a sentence on stderr.
 */
#ifndef CONNECT_H
#define CONNECT_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>
#include <wrb.h>

#define MAX_LANES 8

/* The initiator's end. */
struct peer {
	uint32_t nr_lanes;
	uint32_t depth; /* WRs that each QP was made for */
	struct rdma_cm_id *ids[MAX_LANES];
	struct ibv_qp *qps[MAX_LANES];
	struct ibv_cq *cq; /* of all QPs, with an entry for every WR */
	/* The target's memory. */
	uint64_t remote_addr;
	uint64_t remote_bytes;
	uint32_t rkey;
};

/* Connects nr_lanes QPs of depth WRs to a target that lends its memory. */
int peer_open(struct peer *peer, const char *host, uint32_t nr_lanes,
	      uint32_t depth);

/* What libwrb has to know of these QPs; the rest of *attr is its defaults. */
int peer_attr(struct peer *peer, struct wrb_attr *attr);

/* Disconnects; after it the device does not touch memory any more. */
void peer_close(struct peer *peer);

/* The target: lends memory to one initiator of nr_lanes QPs until it leaves. */
int peer_lend(void *memory, size_t bytes, uint32_t nr_lanes);

#endif /* CONNECT_H */
