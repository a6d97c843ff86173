/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libwrb: work-request batching for RDMA.
 *
 * A queue takes one-sided operations (RDMA READ and RDMA WRITE), plans them
 * into as few work requests (WRs) as the settings allow, posts them in chains
 * to queue pairs (QPs) and hands every operation back exactly once.
 *
 * The library takes connected RC QPs and registered memory. It does not
 * connect, register memory, start threads, read the environment, print, or
 * keep globals. A QP of a queue is called a lane.
 *
 * Threads: a queue and everything reached through it belong to one thread at
 * a time; two queues share nothing.
 *
 * Errors: a call returns a count or 0, or a negative errno; after a negative
 * return the call has changed nothing, unless its text says otherwise. An
 * out-parameter is written on success only. What becomes of an operation once
 * it was added is told in its struct wrb_done, exactly once, and only there.
 *
 * Memory: wrb_queue_create() and wrb_region_add() allocate; wrb_add(),
 * wrb_addv(), wrb_submit(), wrb_poll() and the counters never allocate, lock
 * or make a system call of their own (the verbs provider may).
 */
#ifndef WRB_H
#define WRB_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WRB_VERSION_MAJOR 0
#define WRB_VERSION_MINOR 1
#define WRB_VERSION_PATCH 0

/* Bounds of the interface; a device may grant less. */
#define WRB_MAX_LANES	256
#define WRB_MAX_OPS	(1u << 20)
#define WRB_MAX_SGE	64
#define WRB_MAX_REGIONS 4096

struct wrb_queue;

enum wrb_dir {
	WRB_WRITE = 0, /* local memory -> remote memory, RDMA WRITE */
	WRB_READ = 1,  /* remote memory -> local memory, RDMA READ */
};

/* How the WRs of one wrb_submit() are spread over the lanes. */
enum wrb_stripe {
	/*
	 * All to one lane while it has room; the next submit starts on the
	 * next lane. Fewest doorbells: one per submit of max_chain WRs at
	 * most. The default.
	 */
	WRB_STRIPE_BATCH = 0,
	/* One WR to each lane in turn; the next submit starts one further. */
	WRB_STRIPE_ROUND_ROBIN = 1,
	/* Each WR to the lane with the fewest WRs in flight. */
	WRB_STRIPE_LEAST_LOADED = 2,
	/*
	 * By the remote address that the WR starts at: the same address
	 * always takes the same lane while that lane is ready. See wrb_addv()
	 * for the order that this gives.
	 */
	WRB_STRIPE_OFFSET = 3,
};

enum wrb_flags {
	/*
	 * Join operations that are neighbours in remote memory, and staged one
	 * after the other, in one WR. Off by default: it changes the message
	 * size that whoever measures has asked for.
	 */
	WRB_MERGE = 1 << 0,
	/*
	 * Order what is staged by remote address before planning; equal
	 * addresses keep their order. Helps WRB_MERGE. Off by default.
	 */
	WRB_SORT = 1 << 1,
};

/*
 * What the QPs, the CQ and the port were granted. Every field must be set; all
 * lanes of a queue have the same limits.
 *
 * Of max_send_wr one slot per lane is kept for the request that shows that a
 * failed QP has been drained, so a lane has max_send_wr - 1 slots for WRs.
 */
struct wrb_limits {
	uint32_t max_send_wr;	/* per QP, as granted; at least 2 */
	uint32_t max_send_sge;	/* per WR, as granted; at least 1 */
	uint32_t max_inline;	/* bytes, as granted; 0: never inline */
	uint32_t max_cqe;	/* entries of the CQ, as granted */
	uint32_t max_msg_bytes; /* of one WR: ibv_port_attr.max_msg_sz */
};

/*
 * A line for a log: a lane failed, a post came short. No newline at its end.
 * Neither this nor the next may call the queue that calls them.
 */
typedef void (*wrb_log_fn)(void *arg, const char *line);

/* Moves a QP to the error state; returns 0 or an errno. */
typedef int (*wrb_qp_error_fn)(void *arg, struct ibv_qp *qp);

/*
 * How a queue is made. wrb_attr_init() gives every field its default; the
 * caller then sets qps, nr_qps, cq, limits and max_ops at least.
 */
struct wrb_attr {
	size_t size;	     /* sizeof(struct wrb_attr) of the caller */
	struct ibv_qp **qps; /* nr_qps RC QPs in RTS, of which cq is send_cq */
	uint32_t nr_qps;     /* 1..WRB_MAX_LANES */
	struct ibv_cq *cq;   /* used by this queue alone */
	struct wrb_limits limits;
	uint32_t max_ops; /* staged and in flight at once, 1..WRB_MAX_OPS */
	/*
	 * Cut an operation, or a run of merged ones, that is longer than this
	 * into near-equal WRs: n = max(min(ceil(len / chunk_bytes),
	 * max_chunks), ceil(len / max_msg_bytes)). 0: cut only what exceeds
	 * max_msg_bytes.
	 */
	uint32_t chunk_bytes;
	uint32_t max_chunks; /* per operation or run; 0: no bound */
	uint32_t max_sge;    /* per WR; 0: limits.max_send_sge */
	/*
	 * At most this many WRs of a lane go by without a signalled one; the
	 * last WR of a chain is always signalled. 1: every WR is. 0: only the
	 * last of each chain.
	 */
	uint32_t signal_interval;
	/* READ WRs in flight per lane; 0: as many as there are slots. */
	uint32_t read_depth;
	/* WRs per ibv_post_send(); 0: 128, or the slots if they are fewer. */
	uint32_t max_chain;
	uint32_t flags; /* enum wrb_flags */
	enum wrb_stripe stripe;
	wrb_log_fn log; /* may be NULL */
	void *log_arg;
	/* NULL: ibv_modify_qp() to IBV_QPS_ERR. */
	wrb_qp_error_fn qp_error;
	void *qp_error_arg;
};

/* Which side of the wire a region lies on. */
enum wrb_side {
	WRB_LOCAL = 0,
	WRB_REMOTE = 1,
};

/* A range of registered memory, and its key on each lane. */
struct wrb_region {
	enum wrb_side side;
	uint64_t addr;	 /* local: virtual address; remote: as the peer says */
	uint64_t length; /* bytes, 1..2^48 */
	/*
	 * nr_qps keys, lkeys (local) or rkeys (remote), one for each lane;
	 * copied. Lanes on several devices have different ones.
	 */
	const uint32_t *keys;
};

/* One operation: length bytes between two regions. */
struct wrb_op {
	void *user;		/* comes back in wrb_done */
	uint64_t local_offset;	/* bytes from the local region's start */
	uint64_t remote_offset; /* bytes from the remote region's start */
	uint32_t length;	/* bytes, at least 1 */
	uint16_t local;		/* region id with side WRB_LOCAL */
	uint16_t remote;	/* region id with side WRB_REMOTE */
	enum wrb_dir dir;
};

/* The end of one operation. */
struct wrb_done {
	void *user;
	/*
	 * 0: every byte has moved (a WRITE: acknowledged by the peer's
	 * device). -EIO: a WR of it failed, see status. -ECANCELED: flushed
	 * or aborted; some of its bytes may have moved.
	 */
	int error;
	/*
	 * Of its first WR that failed. IBV_WC_GENERAL_ERR: the device refused
	 * a part of it in a post that came short. IBV_WC_WR_FLUSH_ERR, lane 0:
	 * it was staged when wrb_abort() was called.
	 */
	enum ibv_wc_status status;
	uint32_t vendor_err; /* of the same */
	uint32_t lane;	     /* of the same, or of its last WR */
};

enum wrb_lane_status {
	WRB_LANE_READY = 0,
	/* Failed; its QP is in the error state, what it carried is ending. */
	WRB_LANE_DRAINING = 1,
	/* Failed and empty: its QP may be destroyed or replaced. */
	WRB_LANE_DEAD = 2,
};

struct wrb_lane_info {
	enum wrb_lane_status state;
	struct ibv_qp *qp; /* NULL after wrb_lane_replace(.., NULL) */
	uint32_t inflight; /* WRs posted and not yet retired */
	uint32_t slots;	   /* WRs that it can hold */
	/* The first failure since the lane was last ready. */
	enum ibv_wc_status first_status; /* not a flush unless no other came */
	uint32_t first_vendor_err;
	enum wrb_dir first_dir; /* of the WR that failed */
	int post_errno; /* positive, of a post that came short; else 0 */
};

/* Counters since create or wrb_stats_reset(). */
struct wrb_stats {
	uint64_t ops;	    /* added */
	uint64_t done;	    /* handed back */
	uint64_t failed;    /* handed back with an error */
	uint64_t bytes;	    /* posted */
	uint64_t wrs;	    /* posted */
	uint64_t sges;	    /* posted */
	uint64_t signalled; /* WRs posted with IBV_SEND_SIGNALED */
	uint64_t doorbells; /* ibv_post_send() calls */
	uint64_t cqes;	    /* polled */
	uint64_t flushes;   /* WRs with operations whose CQE was a flush */
	uint64_t stale;	    /* CQEs that belonged to no WR in flight */
	/* As planned: what a short post did not take is counted again. */
	uint64_t merged;      /* operations that joined a WR begun by another */
	uint64_t chunked;     /* operations or runs that were cut */
	uint64_t chunks;      /* WRs that these became */
	uint64_t read_stalls; /* submits that stopped for want of READ credit */
	uint64_t sq_stalls;   /* submits that stopped for want of slots */
	uint64_t short_posts; /* ibv_post_send() calls that failed */
};

struct wrb_lane_stats {
	uint64_t wrs;
	uint64_t bytes;
	uint64_t doorbells;
	uint32_t max_inflight; /* most WRs in flight at once */
};

/* One WR that wrb_submit() would post. */
struct wrb_plan_wr {
	uint32_t lane;
	enum wrb_dir dir;
	uint32_t nr_ops; /* operations that it carries, whole or in part */
	uint32_t nr_sges;
	uint64_t length; /* bytes */
	uint64_t remote_addr;
	uint32_t rkey;
	int signalled; /* non-zero: asks for a CQE */
	int chain_end; /* non-zero: last of its ibv_post_send() */
};

/* "major.minor.patch" of the library that runs, not of the header. */
const char *wrb_version(void);

/*
 * Fills *attr with defaults, and attr->size. size is sizeof(struct wrb_attr)
 * as the caller was compiled with; fields beyond it are left alone.
 */
void wrb_attr_init(struct wrb_attr *attr, size_t size);
#define wrb_attr_init(attr) (wrb_attr_init)((attr), sizeof(struct wrb_attr))

/*
 * Reads what a QP, its send CQ and a port of its device were granted.
 *
 * Set-up call: asks the device through ibv_query_qp() and ibv_query_port()
 * (InfiniBand specification 1.4, 11.2.5.3 and 11.2.1.2).
 *
 * -EINVAL: qp is NULL. Else what the two calls returned.
 */
int wrb_limits_query(struct ibv_qp *qp, uint8_t port_num,
		     struct wrb_limits *limits);

/*
 * Makes a queue. Everything that it will ever need is allocated here, except
 * for regions; wrb(3) has the formula.
 *
 * The QPs and the CQ stay the caller's, must outlive the queue, and must not
 * be posted to or polled by anyone else meanwhile.
 *
 * -EINVAL: a field is out of its range, a pointer is missing, a QP completes
 * to another CQ, attr->size is larger than the library knows, or an unknown
 * flag is set. -E2BIG: max_sge exceeds limits.max_send_sge or WRB_MAX_SGE.
 * -ENOSPC: the CQ is smaller than the sum of the lanes' max_send_wr, so it
 * could overflow: every WR may need a CQE, because an unsignalled WR that fails
 * completes too (IBA 1.4, 11.4.1.1). -ENOMEM.
 */
int wrb_queue_create(const struct wrb_attr *attr, struct wrb_queue **queue);

/*
 * Frees a queue. NULL is allowed. Operations that were not handed back are
 * forgotten: abort and poll first, and destroy the QPs, or the device may
 * still write to local memory.
 */
void wrb_queue_destroy(struct wrb_queue *queue);

/*
 * Adds a region and returns its id (0..WRB_MAX_REGIONS - 1). Regions are kept
 * until removed; the memory and the registration stay the caller's.
 *
 * -EINVAL: side or keys is wrong, length is 0. -ERANGE: length is above 2^48
 * or addr + length wraps. -ENOSPC: WRB_MAX_REGIONS are in use. -ENOMEM.
 */
int wrb_region_add(struct wrb_queue *queue, const struct wrb_region *region);

/*
 * Gives a region another key on one lane, for a QP that it is about to get:
 * call it before wrb_lane_replace(), which makes the lane ready.
 *
 * -EINVAL: no such region or lane. -EBUSY: the lane is ready and operations
 * are staged or in flight.
 */
int wrb_region_rekey(struct wrb_queue *queue, int region, uint32_t lane,
		     uint32_t key);

/*
 * Removes a region; its id may be given out again.
 *
 * -EINVAL: no such region. -EBUSY: operations are staged or in flight.
 */
int wrb_region_remove(struct wrb_queue *queue, int region);

/*
 * Stages operations; posts nothing. The array is copied.
 *
 * Operations on overlapping memory have no order among each other, with two
 * exceptions: a WRITE or a READ behind a WRITE, on one lane in the order in
 * which they were staged (IBA 1.4, 10.8.3.3: a WRITE behind a READ would need a
 * fence, so wait for the READ to end). They are on one lane if there is but
 * one, or under WRB_STRIPE_OFFSET if they start at the same remote address and
 * are neither merged nor cut; WRB_SORT changes the order of all others.
 *
 * Returns how many of them, from the first on, were staged. Fewer than nr when
 * there is no more room, or at the first one that is refused. When that is the
 * first of all, returns instead: -EAGAIN: no room, poll and try again.
 * -EINVAL: unknown direction or region, wrong side, or length 0. -ERANGE: it
 * does not lie within its regions.
 */
int wrb_addv(struct wrb_queue *queue, const struct wrb_op *ops, uint32_t nr);

/* Stages one operation. Returns 0, or an error as wrb_addv() does. */
int wrb_add(struct wrb_queue *queue, const struct wrb_op *op);

/*
 * Plans what is staged and posts it, as far as slots and READ credits reach;
 * the rest stays staged for a later submit. Never waits.
 *
 * Returns how many WRs were posted; 0 when nothing is staged or nothing had
 * room. -ENOTCONN: something is staged and no lane is ready. A post that
 * fails does not fail the call: its lane drains, the operations that it
 * carried end with an error, and those of which nothing was taken are staged
 * again.
 */
int wrb_submit(struct wrb_queue *queue);

/*
 * Posts one operation on a lane of the caller's choice, now, behind what was
 * posted there; what is staged stays staged. For requests that must follow
 * others on their QP, as a READ that shows that WRITEs before it were placed
 * (IBA 1.4, 9.5). Rings a doorbell for this WR alone: not for bulk work.
 *
 * Returns 0, or the first of these that holds. -EINVAL, -ERANGE: no such lane,
 * or as wrb_addv(). -EMSGSIZE: it would be cut. -ENOTCONN: the lane is not
 * ready. -EAGAIN: no room for an operation, no slot or no READ credit on the
 * lane; poll and try again. -EIO: the device did not take it, and the lane
 * drains; that is what has changed.
 */
int wrb_lane_post(struct wrb_queue *queue, uint32_t lane,
		  const struct wrb_op *op);

/*
 * Polls the CQ until it is empty or max operations that have ended were handed
 * back. Never waits. Does not submit: after it there may be room for what is
 * staged.
 *
 * Returns how many entries of done were written, 0..max. -EINVAL: max is 0.
 * -EIO: the CQ itself failed (ibv_poll_cq() returned an error) and nothing was
 * left to hand back: no more completions will come; destroy the QPs and tell
 * wrb_lane_replace().
 */
int wrb_poll(struct wrb_queue *queue, struct wrb_done *done, uint32_t max);

/* Operations that wrb_addv() would take now. */
uint32_t wrb_room(const struct wrb_queue *queue);

/* Operations added of which nothing, or not yet everything, was posted. */
uint32_t wrb_staged(const struct wrb_queue *queue);

/* Operations added and not yet handed back, without the staged ones. */
uint32_t wrb_inflight(const struct wrb_queue *queue);

/* Reads a lane's state. -EINVAL: no such lane. */
int wrb_lane_state(const struct wrb_queue *queue, uint32_t lane,
		   struct wrb_lane_info *info);

/*
 * Ends whatever a lane still carries, with errors, and gives it another QP; or
 * none with qp == NULL, and then it stays dead until replaced again.
 *
 * The caller has destroyed the lane's former QP just before, with no submit or
 * poll in between: only then can its data arrive no more. So may several lanes
 * be replaced at once. CQEs that are still in the CQ are polled here. A lane may
 * be replaced while it drains, and so this is also what ends a drain that takes
 * too long. The new QP has the same limits and CQ; keys that differ are set
 * before, by wrb_region_rekey().
 *
 * -EINVAL: no such lane, or the QP completes to another CQ. -EBUSY: the lane is
 * ready; only a failure on it or wrb_abort() makes it otherwise.
 */
int wrb_lane_replace(struct wrb_queue *queue, uint32_t lane, struct ibv_qp *qp);

/*
 * Gives up: every lane goes to the error state and drains, every operation
 * that is staged ends with -ECANCELED. wrb_poll() hands them all back.
 */
void wrb_abort(struct wrb_queue *queue);

/* Copies the counters. */
void wrb_stats_get(const struct wrb_queue *queue, struct wrb_stats *stats);

/* Copies the counters of one lane. -EINVAL: no such lane. */
int wrb_lane_stats_get(const struct wrb_queue *queue, uint32_t lane,
		       struct wrb_lane_stats *stats);

/* Sets all counters to 0. */
void wrb_stats_reset(struct wrb_queue *queue);

/*
 * Dry run: the WRs that wrb_submit() would post now, in the order in which
 * they are planned. Posts nothing; what is staged is sorted, with WRB_SORT. Not
 * for the hot path.
 *
 * Returns how many there are; the first max of them are written to wrs.
 * -ENOTCONN as wrb_submit().
 */
int wrb_explain(struct wrb_queue *queue, struct wrb_plan_wr *wrs, uint32_t max);

#ifdef __cplusplus
}
#endif

#endif /* WRB_H */
