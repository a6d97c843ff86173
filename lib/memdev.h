/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RC device in memory: its own ibv_context, CQs, QPs and memory regions,
 * for tests and for running without RDMA hardware. It moves the bytes.
 *
 * Only the inline verbs work on its objects (ibv_post_send(), ibv_poll_cq(),
 * ibv_req_notify_cq()); what libibverbs exports does not, and is replaced by
 * the calls below. Not part of libwrb: a convenience library.
 *
 * Each QP is connected to the device's own memory: remote addresses and rkeys
 * are those of regions registered here. WRs are taken at post and executed in
 * order, per QP, when the CQ is polled, so a buffer that is used again too
 * early shows. A slot of the send queue is free again when a CQE of its WR, or
 * of a later WR of its QP, has been polled (IBA 1.4, 10.8.5.1).
 *
 * ibv_post_send() takes RDMA READ and WRITE, inline WRITEs too. EINVAL: another
 * opcode, too many SGEs, more inline bytes than granted, or an inline READ.
 * ENOMEM: the send queue is full. WRs before *bad_wr are taken. On a QP in the
 * error state WRs are taken and flushed.
 *
 * A WR fails as it is executed: IBV_WC_LOC_LEN_ERR, it is longer than
 * max_msg_bytes; IBV_WC_REM_ACCESS_ERR or IBV_WC_LOC_PROT_ERR, a key, a range
 * or a right is wrong at the remote or the local side, the remote side being
 * looked at first. Nothing moves unless a later SGE is the one that is wrong.
 * Its QP goes to the error state, as with memdev_qp_error().
 *
 * A CQE has wr_id, status, opcode, byte_len, vendor_err, qp_num, and wc_flags
 * 0; the other fields are left alone. As with any verbs device opcode and
 * byte_len mean nothing unless status is IBV_WC_SUCCESS, and are poisoned then.
 *
 * A CQE that finds the CQ full breaks the CQ: every later poll fails with -EIO.
 *
 * A device and all that belongs to it is used by one thread at a time.
 */
#ifndef MEMDEV_H
#define MEMDEV_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct memdev;

/* What the device grants at most; 0 in a field takes the default. */
struct memdev_attr {
	uint32_t max_qp_wr;	/* default 32768 */
	uint32_t max_sge;	/* default 32 */
	uint32_t max_inline;	/* bytes, default 256 */
	uint32_t max_cqe;	/* default 1048576 */
	uint32_t max_msg_bytes; /* default 1 GiB */
};

/* Of a CQE that tells a failure. */
#define MEMDEV_VENDOR_ERR      0x4d00 /* vendor_err, plus the status */
#define MEMDEV_POISON_OPCODE   IBV_WC_RECV
#define MEMDEV_POISON_BYTE_LEN 0xdeadbeef

/*
 * A key is never 0, and an rkey is never an lkey of any region. Keys of a
 * region that is no more stay refused until their entry of the table has been
 * used again 127 times.
 */
struct memdev_mr {
	uint32_t lkey;
	uint32_t rkey;
};

/*
 * Returns 0 and the device; attr may be NULL. -EINVAL: more than 2^24 WRs or
 * CQEs, 1024 SGEs, 64 KiB inline or 2 GiB a message; -ENOMEM.
 */
int memdev_open(const struct memdev_attr *attr, struct memdev **dev);

/* Frees the device and everything left on it. NULL is allowed. */
void memdev_close(struct memdev *dev);

/* What the device grants, with defaults filled in. */
void memdev_query(const struct memdev *dev, struct memdev_attr *attr);

struct ibv_context *memdev_context(struct memdev *dev);

/* -EINVAL: cqe is 0 or above max_cqe; -ENOMEM. */
int memdev_cq_create(struct memdev *dev, uint32_t cqe, struct ibv_cq **cq);

/* -EBUSY: a QP still uses it. */
int memdev_cq_destroy(struct ibv_cq *cq);

/*
 * Makes a QP that is already connected (RTS). cap->max_send_wr,
 * max_send_sge and max_inline_data are asked for and, on success, granted
 * exactly. -EINVAL: above what the device has, or no WRs; -ENOMEM.
 */
int memdev_qp_create(struct memdev *dev, struct ibv_cq *cq,
		     struct ibv_qp_cap *cap, struct ibv_qp **qp);

/* Destroys a QP; its WRs and its CQEs not yet polled vanish with it. */
int memdev_qp_destroy(struct ibv_qp *qp);

/*
 * Moves a QP to the error state: what it has not executed is flushed, each WR
 * with a CQE, signalled or not. Fits wrb_attr.qp_error; arg is not used.
 */
int memdev_qp_error(void *arg, struct ibv_qp *qp);

/*
 * Registers memory. access as ibv_reg_mr(): IBV_ACCESS_LOCAL_WRITE,
 * IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE. The memory stays the
 * caller's. -EINVAL: length is 0, the range wraps, or REMOTE_WRITE without
 * LOCAL_WRITE; -ENOMEM.
 */
int memdev_mr_reg(struct memdev *dev, void *addr, uint64_t length, int access,
		  struct memdev_mr *mr);

/* -EINVAL: no such key. */
int memdev_mr_dereg(struct memdev *dev, uint32_t lkey);

/* Counters of what callers did, for tests. */
struct memdev_stats {
	uint64_t posts;	      /* ibv_post_send() calls */
	uint64_t wrs;	      /* WRs taken */
	uint64_t polls;	      /* ibv_poll_cq() calls */
	uint64_t cqes;	      /* CQEs produced */
	uint64_t executed;    /* WRs that moved their bytes */
	uint64_t flushed;     /* WRs flushed */
	uint64_t overflows;   /* CQEs that found the CQ full */
	uint64_t faults;      /* that struck */
	uint32_t max_sq_used; /* most slots of one send queue in use at once */
};
void memdev_stats_get(const struct memdev *dev, struct memdev_stats *stats);

/* Faults, for tests. Counting starts at the call that sets the fault. */
enum memdev_fault_kind {
	/*
	 * The nth WR handed to ibv_post_send() (device-wide, from 1) is not
	 * taken: the call returns value (an errno) and *bad_wr is that WR. WRs
	 * before it in the chain are taken; WRs after it, or that find the
	 * send queue full, are not counted. A negative value: returns -1 and
	 * sets errno to -value, as some providers do.
	 */
	MEMDEV_FAIL_POST,
	/*
	 * The nth call of ibv_post_send() takes the first `taken` WRs of its
	 * chain (all of them when the chain is shorter), returns value, and
	 * sets *bad_wr to NULL, as a provider does whose doorbell fails. A
	 * negative value as above.
	 */
	MEMDEV_FAIL_DOORBELL,
	/*
	 * The nth WR to be executed (device-wide, flushes not counted) fails
	 * with status value: a CQE, signalled or not, and its QP goes to the
	 * error state.
	 */
	MEMDEV_FAIL_WR,
	/* The nth CQE produced is lost. */
	MEMDEV_DROP_CQE,
	/* The nth ibv_poll_cq() returns -value. */
	MEMDEV_FAIL_POLL,
	/* The nth memdev_qp_error() does nothing and returns value. */
	MEMDEV_FAIL_QP_ERROR,
};

struct memdev_fault {
	enum memdev_fault_kind kind;
	uint64_t nth;	/* from 1 */
	uint64_t every; /* 0: once; else again each `every` events after */
	int value;
	uint32_t taken; /* MEMDEV_FAIL_DOORBELL */
};

/*
 * Adds a fault; at most 16 at once, those that have struck for good not
 * counted. -ENOSPC; -EINVAL: no such kind, nth is 0, or value is 0 where the
 * kind has one.
 */
int memdev_fault_add(struct memdev *dev, const struct memdev_fault *fault);
void memdev_fault_clear(struct memdev *dev);

/*
 * How WRs are executed: by default a poll executes what is posted, QP after QP
 * in turn, until it has the CQEs that it was asked for; a CQ that is too small
 * for all that is posted overruns nevertheless. With a seed other than 0 each
 * poll executes a random number of WRs (0..max_per_poll; 0 counts as 1) of
 * random QPs, so that lanes overtake each other; order within a QP stays.
 */
void memdev_schedule(struct memdev *dev, uint64_t seed, uint32_t max_per_poll);

/* Nothing is executed while frozen; posts are taken, polls find nothing new. */
void memdev_freeze(struct memdev *dev, int frozen);

#endif /* MEMDEV_H */
