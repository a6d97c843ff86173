/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Takes WRs into send queues in memory and executes them when polled. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "compiler.h"
#include "memdev.h"

#define CACHE_LINE    64
#define NR_FAULTS     16
#define FIRST_QP_NUM  0x11
#define FIRST_NR_MRS  16
#define MAX_NR_MRS    (1u << 23)
#define MAX_DEPTH     (1u << 24)
#define MAX_SGE	      1024
#define MAX_INLINE    65536
#define MAX_MSG_BYTES (1u << 31)

/* A key is index << 8 | tag << 7 | generation, so that 0 is never one. */
#define KEY_GENERATION 0x7f
#define KEY_REMOTE     0x80
#define KEY_SHIFT      8

/* A registration; with length 0 a free entry, and lkey is its next key. */
struct mem_mr {
	uint64_t addr;
	uint64_t length;
	uint32_t lkey;
	int access;
};

/*
 * An SGE of a slot. Not in the order of struct ibv_sge, lest the compiler join
 * the two halves in one load: callers have just stored them one by one, and
 * such a load has to wait until both stores have left the store buffer.
 */
struct mem_sge {
	uint64_t addr;
	uint32_t lkey;
	uint32_t length;
};

/* A slot of a send queue. Its payload is its SGEs, or its inline bytes. */
struct mem_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t length;
	uint32_t rkey;
	uint16_t nr_sges;
	uint8_t opcode;
	uint8_t flags;
	struct mem_sge payload[];
};

struct mem_cqe {
	uint64_t wr_id;
	struct mem_qp *qp;
	uint32_t sq_end; /* slots before this are free once it is polled */
	uint32_t byte_len;
	uint8_t status;
	uint8_t opcode;
};

TAILQ_HEAD(mem_turns, mem_qp);

struct mem_cq {
	struct ibv_cq cq;
	struct memdev *dev;
	struct mem_cqe *ring;
	uint32_t mask;
	uint32_t head; /* next entry to write */
	uint32_t tail; /* next entry to poll */
	uint32_t size;
	/* CQEs in the ring, and those that WRs already posted will make. */
	uint64_t due;
	bool bad;
	struct mem_turns turns; /* QPs with WRs to execute */
	uint32_t nr_qps;
	LIST_ENTRY(mem_cq) link;
};

struct mem_qp {
	struct ibv_qp qp;
	struct memdev *dev;
	struct mem_cq *cq;
	char *slots;
	size_t slot_bytes;
	uint32_t mask;
	uint32_t head; /* next slot to post to */
	uint32_t exec; /* next slot to execute */
	uint32_t tail; /* first slot that is not free */
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t max_inline;
	bool queued; /* in cq->turns */
	TAILQ_ENTRY(mem_qp) turn;
	LIST_ENTRY(mem_qp) link;
};

struct mem_fault {
	struct memdev_fault set; /* nth is 0: free */
	uint64_t seen;
};

struct memdev {
	struct ibv_context context;
	struct mem_mr *mrs;
	uint32_t mr_mask;
	uint32_t next_mr; /* where to look for a free one */
	uint32_t next_qp_num;
	bool faulty;
	bool frozen;
	uint32_t max_per_poll;
	uint64_t rng; /* 0: QP after QP */
	struct memdev_attr attr;
	struct memdev_stats stats;
	struct mem_fault faults[NR_FAULTS];
	LIST_HEAD(mem_cqs, mem_cq) cqs;
	LIST_HEAD(mem_qps, mem_qp) qps;
};

/* memdev_close() takes each off its list first: NOLINTBEGIN(*unix.Malloc) */
static always_inline struct mem_qp *to_qp(struct ibv_qp *qp)
{
	return (struct mem_qp *)((char *)qp - offsetof(struct mem_qp, qp));
}

static always_inline struct mem_cq *to_cq(struct ibv_cq *cq)
{
	return (struct mem_cq *)((char *)cq - offsetof(struct mem_cq, cq));
}
/* NOLINTEND(*unix.Malloc) */

/* -- faults -------------------------------------------------------------- */

static bool fault_is_due(const struct mem_fault *fault)
{
	const struct memdev_fault *set = &fault->set;

	if (fault->seen <= set->nth || !set->every)
		return fault->seen == set->nth;
	return (fault->seen - set->nth) % set->every == 0;
}

/* Counts one event of a kind; the fault that it meets, or NULL. */
static cold const struct memdev_fault *fault_event(struct memdev *dev,
						   enum memdev_fault_kind kind)
{
	const struct memdev_fault *due = NULL;
	struct mem_fault *fault;

	for (fault = dev->faults; fault < dev->faults + NR_FAULTS; fault++) {
		if (!fault->set.nth || fault->set.kind != kind)
			continue;
		fault->seen++;
		if (!fault_is_due(fault))
			continue;
		if (!fault->set.every)
			fault->set.nth = 0;
		due = due ? due : &fault->set;
	}
	dev->stats.faults += due != NULL;
	return due;
}

/* Providers differ in returning an errno, or -1 and errno. */
static int fault_errno(const struct memdev_fault *fault)
{
	if (fault->value > 0)
		return fault->value;
	errno = -fault->value;
	return -1;
}

int memdev_fault_add(struct memdev *dev, const struct memdev_fault *fault)
{
	struct mem_fault *slot = dev->faults;

	if (!fault->nth || fault->kind > MEMDEV_FAIL_QP_ERROR)
		return -EINVAL;
	if (!fault->value && fault->kind != MEMDEV_DROP_CQE)
		return -EINVAL;
	while (slot < dev->faults + NR_FAULTS && slot->set.nth)
		slot++;
	if (slot == dev->faults + NR_FAULTS)
		return -ENOSPC;
	slot->set = *fault;
	slot->seen = 0;
	dev->faulty = true;
	return 0;
}

void memdev_fault_clear(struct memdev *dev)
{
	memset(dev->faults, 0, sizeof(dev->faults));
	dev->faulty = false;
}

/* -- memory regions ------------------------------------------------------ */

/*
 * True when the key is live, allows what is needed, and covers the range, which
 * is not empty. A key holds its index, so a masked one cannot match.
 */
static always_inline bool mr_covers(const struct memdev *dev, uint32_t lkey,
				    uint64_t addr, uint64_t length, int access)
{
	const struct mem_mr *mr = dev->mrs + (lkey >> KEY_SHIFT & dev->mr_mask);
	uint64_t offset = addr - mr->addr;

	/* Below the start the offset wraps and is too large. */
	return likely(mr->lkey == lkey) && likely(offset < mr->length) &&
	       likely(length <= mr->length - offset) &&
	       likely((mr->access & access) == access);
}

static int mr_table_grow(struct memdev *dev, uint32_t nr)
{
	uint32_t i = dev->mrs ? dev->mr_mask + 1 : 0;
	struct mem_mr *mrs;

	if (nr > MAX_NR_MRS)
		return -ENOMEM;
	mrs = realloc(dev->mrs, nr * sizeof(*mrs));
	if (!mrs)
		return -ENOMEM;
	dev->next_mr = i;
	for (; i < nr; i++)
		mrs[i] = (struct mem_mr){ .lkey = i << KEY_SHIFT | 1 };
	dev->mr_mask = nr - 1;
	dev->mrs = mrs;
	return 0;
}

/* Goes round, so that the generations of an entry last longer. */
static struct mem_mr *mr_find_free(struct memdev *dev)
{
	uint32_t tries, nr = dev->mr_mask + 1;
	struct mem_mr *mr;

	for (tries = 0; tries < nr; tries++) {
		mr = &dev->mrs[dev->next_mr++ & dev->mr_mask];
		if (!mr->length)
			return mr;
	}
	if (mr_table_grow(dev, 2 * nr))
		return NULL;
	return &dev->mrs[dev->next_mr++];
}

int memdev_mr_reg(struct memdev *dev, void *addr, uint64_t length, int access,
		  struct memdev_mr *keys)
{
	uint64_t start = (uintptr_t)addr;
	struct mem_mr *mr;

	if (!length || length > UINT64_MAX - start)
		return -EINVAL;
	if ((access & IBV_ACCESS_REMOTE_WRITE) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	mr = mr_find_free(dev);
	if (!mr)
		return -ENOMEM;
	mr->addr = start;
	mr->length = length;
	mr->access = access;
	keys->lkey = mr->lkey;
	keys->rkey = mr->lkey | KEY_REMOTE;
	return 0;
}

int memdev_mr_dereg(struct memdev *dev, uint32_t lkey)
{
	uint32_t index = lkey >> KEY_SHIFT;
	struct mem_mr *mr = dev->mrs + (index & dev->mr_mask);

	if (mr->lkey != lkey || !mr->length)
		return -EINVAL;
	mr->length = 0;
	mr->lkey = index << KEY_SHIFT |
		   ((lkey & KEY_GENERATION) % KEY_GENERATION + 1);
	return 0;
}

/* -- execution ----------------------------------------------------------- */

static always_inline struct mem_wqe *qp_slot(const struct mem_qp *qp,
					     uint32_t index)
{
	return (struct mem_wqe *)(qp->slots +
				  (index & qp->mask) * qp->slot_bytes);
}

static always_inline uint32_t cq_ready(const struct mem_cq *cq)
{
	return cq->head - cq->tail;
}

struct block32 {
	uint64_t word[4];
};

/*
 * Local and remote memory may overlap: everything is loaded before anything is
 * stored. Lengths of 32 to 64 bytes are spared the call.
 */
static always_inline void copy_bytes(void *to, const void *from, size_t length)
{
	struct block32 first, last;

	if (length - sizeof(first) > sizeof(first)) {
		memmove(to, from, length);
		return;
	}
	memcpy(&first, from, sizeof(first));
	memcpy(&last, (const char *)from + length - sizeof(last), sizeof(last));
	memcpy(to, &first, sizeof(first));
	memcpy((char *)to + length - sizeof(last), &last, sizeof(last));
}

/* Remote to local memory. */
static always_inline enum ibv_wc_status move_read(const struct memdev *dev,
						  const struct mem_wqe *wqe)
{
	const struct mem_sge *sge = wqe->payload;
	const struct mem_sge *end = sge + wqe->nr_sges;
	const char *from = (const char *)(uintptr_t)wqe->remote_addr;

	if (unlikely(!mr_covers(dev, wqe->rkey ^ KEY_REMOTE, wqe->remote_addr,
				wqe->length, IBV_ACCESS_REMOTE_READ)))
		return IBV_WC_REM_ACCESS_ERR;
	for (; sge < end; from += sge->length, sge++) {
		if (unlikely(!sge->length))
			continue;
		if (unlikely(!mr_covers(dev, sge->lkey, sge->addr, sge->length,
					IBV_ACCESS_LOCAL_WRITE)))
			return IBV_WC_LOC_PROT_ERR;
		copy_bytes((void *)(uintptr_t)sge->addr, from, sge->length);
	}
	return IBV_WC_SUCCESS;
}

static always_inline enum ibv_wc_status gather(const struct memdev *dev,
					       const struct mem_wqe *wqe)
{
	const struct mem_sge *sge = wqe->payload;
	const struct mem_sge *end = sge + wqe->nr_sges;
	char *to = (char *)(uintptr_t)wqe->remote_addr;

	for (; sge < end; to += sge->length, sge++) {
		if (unlikely(!sge->length))
			continue;
		if (unlikely(!mr_covers(dev, sge->lkey, sge->addr, sge->length,
					0)))
			return IBV_WC_LOC_PROT_ERR;
		copy_bytes(to, (void *)(uintptr_t)sge->addr, sge->length);
	}
	return IBV_WC_SUCCESS;
}

/* Local to remote memory. */
static always_inline enum ibv_wc_status move_write(const struct memdev *dev,
						   const struct mem_wqe *wqe)
{
	if (unlikely(!mr_covers(dev, wqe->rkey ^ KEY_REMOTE, wqe->remote_addr,
				wqe->length, IBV_ACCESS_REMOTE_WRITE)))
		return IBV_WC_REM_ACCESS_ERR;
	if (likely(!(wqe->flags & IBV_SEND_INLINE)))
		return gather(dev, wqe);
	copy_bytes((void *)(uintptr_t)wqe->remote_addr, wqe->payload,
		   wqe->length);
	return IBV_WC_SUCCESS;
}

static always_inline enum ibv_wc_status wqe_move(const struct memdev *dev,
						 const struct mem_wqe *wqe)
{
	/* One test for both ends: 0 wraps. */
	if (unlikely(wqe->length - 1 >= dev->attr.max_msg_bytes)) {
		/* An empty message is valid with any key (IBA 1.4, C9-88). */
		return wqe->length ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
	}
	return wqe->opcode == IBV_WR_RDMA_READ ? move_read(dev, wqe)
					       : move_write(dev, wqe);
}

/* Nothing of the CQ can be trusted after an overrun: it is out of order. */
static cold void cq_overrun(struct mem_cq *cq)
{
	cq->dev->stats.overflows++;
	cq->bad = true;
}

static always_inline void cq_push(struct mem_cq *cq, struct mem_qp *qp,
				  const struct mem_wqe *wqe,
				  enum ibv_wc_status status)
{
	struct memdev *dev = cq->dev;
	struct mem_cqe *cqe = &cq->ring[cq->head & cq->mask];

	dev->stats.cqes++;
	if (unlikely(dev->faulty) && fault_event(dev, MEMDEV_DROP_CQE)) {
		cq->due--;
		return;
	}
	if (unlikely(cq_ready(cq) == cq->size)) {
		cq_overrun(cq);
		return;
	}
	cqe->wr_id = wqe->wr_id;
	cqe->qp = qp;
	cqe->sq_end = qp->exec;
	cqe->byte_len = wqe->length;
	cqe->status = status;
	cqe->opcode = wqe->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
						      : IBV_WC_RDMA_WRITE;
	cq->head++;
}

/* From here on each WR not yet executed makes a CQE, signalled or not. */
static cold void qp_set_error(struct mem_qp *qp)
{
	uint32_t i;

	if (qp->qp.state == IBV_QPS_ERR)
		return;
	qp->qp.state = IBV_QPS_ERR;
	for (i = qp->exec; i != qp->head; i++)
		qp->cq->due += !(qp_slot(qp, i)->flags & IBV_SEND_SIGNALED);
}

static cold void qp_fail_one(struct mem_qp *qp, const struct mem_wqe *wqe,
			     enum ibv_wc_status status)
{
	qp_set_error(qp);
	qp->exec++;
	cq_push(qp->cq, qp, wqe, status);
}

static cold void qp_flush_one(struct mem_qp *qp)
{
	qp->dev->stats.flushed++;
	qp_fail_one(qp, qp_slot(qp, qp->exec), IBV_WC_WR_FLUSH_ERR);
}

static cold enum ibv_wc_status wqe_execute_faulty(struct memdev *dev,
						  const struct mem_wqe *wqe)
{
	const struct memdev_fault *fault = fault_event(dev, MEMDEV_FAIL_WR);

	return fault ? (enum ibv_wc_status)fault->value : wqe_move(dev, wqe);
}

/* Executes WRs before end, up to and with the first that makes a CQE. */
static always_inline void qp_run(struct mem_qp *qp, uint32_t end)
{
	struct memdev *dev = qp->dev;
	const struct mem_wqe *wqe;
	enum ibv_wc_status status;
	uint32_t exec = qp->exec;

	if (unlikely(qp->qp.state == IBV_QPS_ERR)) {
		qp_flush_one(qp);
		return;
	}
	do {
		wqe = qp_slot(qp, exec);
		status = unlikely(dev->faulty) ? wqe_execute_faulty(dev, wqe)
					       : wqe_move(dev, wqe);
		if (unlikely(status != IBV_WC_SUCCESS))
			break;
		exec++;
	} while (!(wqe->flags & IBV_SEND_SIGNALED) && exec != end);
	dev->stats.executed += exec - qp->exec;
	qp->exec = exec;
	if (unlikely(status != IBV_WC_SUCCESS))
		qp_fail_one(qp, wqe, status);
	else if (wqe->flags & IBV_SEND_SIGNALED)
		cq_push(qp->cq, qp, wqe, IBV_WC_SUCCESS);
}

static always_inline void qp_wait_turn(struct mem_qp *qp)
{
	if (qp->queued || qp->exec == qp->head)
		return;
	TAILQ_INSERT_TAIL(&qp->cq->turns, qp, turn);
	qp->queued = true;
}

static always_inline void qp_take_turn(struct mem_qp *qp)
{
	TAILQ_REMOVE(&qp->cq->turns, qp, turn);
	qp->queued = false;
}

/*
 * Executes only as much as makes `want` CQEs: what is executed long before it
 * is polled has left the cache. Where hardware, which does not wait for polls,
 * would overrun the CQ, everything is executed and the CQ overruns here too.
 */
static always_inline void cq_run_in_turn(struct mem_cq *cq, uint32_t want)
{
	struct mem_qp *qp;

	while ((qp = TAILQ_FIRST(&cq->turns)) && likely(!cq->bad)) {
		if (unlikely(cq->due > cq->size))
			want = UINT32_MAX;
		if (cq_ready(cq) >= want)
			return;
		qp_take_turn(qp);
		do
			qp_run(qp, qp->head);
		while (qp->exec != qp->head && cq_ready(cq) < want);
		qp_wait_turn(qp);
	}
}

static uint64_t rng_next(struct memdev *dev)
{
	uint64_t x = dev->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	dev->rng = x;
	/* The low bits of a plain xorshift are its weak ones. */
	return x >> 16;
}

static struct mem_qp *cq_pick_random(struct mem_cq *cq)
{
	struct mem_qp *qp;
	uint32_t nr = 0;

	TAILQ_FOREACH(qp, &cq->turns, turn)
	nr++;
	nr = nr ? rng_next(cq->dev) % nr : 0;
	TAILQ_FOREACH(qp, &cq->turns, turn)
	if (!nr--)
		return qp;
	return NULL;
}

static cold void cq_run_at_random(struct mem_cq *cq)
{
	uint32_t nr = rng_next(cq->dev) % (cq->dev->max_per_poll + 1ull);
	struct mem_qp *qp;

	for (; nr && !cq->bad; nr--) {
		qp = cq_pick_random(cq);
		if (!qp)
			return;
		qp_run(qp, qp->exec + 1);
		if (qp->exec == qp->head)
			qp_take_turn(qp);
	}
}

void memdev_schedule(struct memdev *dev, uint64_t seed, uint32_t max_per_poll)
{
	dev->rng = seed;
	dev->max_per_poll = max_per_poll ? max_per_poll : 1;
}

void memdev_freeze(struct memdev *dev, int frozen)
{
	dev->frozen = frozen;
}

/* -- verbs --------------------------------------------------------------- */

static always_inline uint64_t store_sges(struct mem_wqe *wqe,
					 const struct ibv_send_wr *wr)
{
	const struct ibv_sge *from = wr->sg_list;
	struct mem_sge *to = wqe->payload;
	uint64_t length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		to[i].addr = from[i].addr;
		to[i].length = from[i].length;
		to[i].lkey = from[i].lkey;
		length += from[i].length;
	}
	return length;
}

static uint64_t store_bytes(struct mem_wqe *wqe, const struct ibv_send_wr *wr)
{
	char *to = (char *)wqe->payload;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
	return to - (char *)wqe->payload;
}

/* 0 or an errno, as what follows. */
static int inline_check(const struct mem_qp *qp, const struct ibv_send_wr *wr)
{
	uint64_t length = 0;
	int i;

	if (wr->opcode == IBV_WR_RDMA_READ)
		return EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length > qp->max_inline ? EINVAL : 0;
}

static always_inline int wr_check(const struct mem_qp *qp,
				  const struct ibv_send_wr *wr)
{
	if (unlikely(wr->opcode != IBV_WR_RDMA_WRITE &&
		     wr->opcode != IBV_WR_RDMA_READ))
		return EINVAL;
	if (unlikely((uint32_t)wr->num_sge > qp->max_sge))
		return EINVAL;
	return wr->send_flags & IBV_SEND_INLINE ? inline_check(qp, wr) : 0;
}

static always_inline void wqe_fill(struct mem_wqe *wqe,
				   const struct ibv_send_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->nr_sges = wr->num_sge;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->length = unlikely(wr->send_flags & IBV_SEND_INLINE)
			      ? store_bytes(wqe, wr)
			      : store_sges(wqe, wr);
}

static cold int wr_check_faulty(const struct mem_qp *qp,
				const struct ibv_send_wr *wr)
{
	const struct memdev_fault *fault;

	fault = fault_event(qp->dev, MEMDEV_FAIL_POST);
	return fault ? fault_errno(fault) : wr_check(qp, wr);
}

/* Takes at most max WRs of a chain; 0, or an errno and *bad_wr. */
static always_inline int qp_take_chain(struct mem_qp *qp,
				       struct ibv_send_wr *wr, uint32_t max,
				       struct ibv_send_wr **bad_wr)
{
	uint32_t head = qp->head;
	uint32_t room = qp->max_wr - (head - qp->tail);
	uint32_t end = head + (max < room ? max : room);
	uint32_t signalled = 0;
	int err = 0;

	for (; wr && head != end; wr = wr->next, head++) {
		err = unlikely(qp->dev->faulty) ? wr_check_faulty(qp, wr)
						: wr_check(qp, wr);
		if (unlikely(err))
			break;
		wqe_fill(qp_slot(qp, head), wr);
		signalled += !!(wr->send_flags & IBV_SEND_SIGNALED);
	}
	/* In the error state every WR makes a CQE. */
	qp->cq->due += likely(qp->qp.state == IBV_QPS_RTS) ? signalled
							   : head - qp->head;
	qp->head = head;
	if (likely(!wr) || (!err && max <= room))
		return 0;
	*bad_wr = wr;
	return err ? err : ENOMEM;
}

static always_inline void post_account(struct mem_qp *qp, uint32_t old_head)
{
	struct memdev_stats *stats = &qp->dev->stats;
	uint32_t used = qp->head - qp->tail;

	stats->posts++;
	stats->wrs += qp->head - old_head;
	if (used > stats->max_sq_used)
		stats->max_sq_used = used;
	qp_wait_turn(qp);
}

static cold int post_send_faulty(struct mem_qp *qp, struct ibv_send_wr *wr,
				 struct ibv_send_wr **bad_wr)
{
	const struct memdev_fault *fault;
	uint32_t old_head = qp->head;
	int err;

	fault = fault_event(qp->dev, MEMDEV_FAIL_DOORBELL);
	err = qp_take_chain(qp, wr, fault ? fault->taken : UINT32_MAX, bad_wr);
	post_account(qp, old_head);
	if (err || !fault)
		return err;
	*bad_wr = NULL;
	return fault_errno(fault);
}

static int memdev_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad_wr)
{
	struct mem_qp *qp = to_qp(ibqp);
	uint32_t old_head = qp->head;
	int err;

	if (unlikely(qp->dev->faulty))
		return post_send_faulty(qp, wr, bad_wr);
	err = qp_take_chain(qp, wr, UINT32_MAX, bad_wr);
	post_account(qp, old_head);
	return err;
}

static always_inline void cq_pop(struct mem_cq *cq, struct ibv_wc *wc)
{
	const struct mem_cqe *cqe = &cq->ring[cq->tail++ & cq->mask];

	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = 0;
	wc->byte_len = cqe->byte_len;
	wc->qp_num = cqe->qp->qp.qp_num;
	wc->wc_flags = 0;
	if (unlikely(cqe->status != IBV_WC_SUCCESS)) {
		wc->opcode = MEMDEV_POISON_OPCODE;
		wc->byte_len = MEMDEV_POISON_BYTE_LEN;
		wc->vendor_err = MEMDEV_VENDOR_ERR + cqe->status;
	}
	cqe->qp->tail = cqe->sq_end;
}

static void cq_run(struct mem_cq *cq, uint32_t want)
{
	if (unlikely(cq->dev->frozen))
		return;
	if (unlikely(cq->dev->rng))
		cq_run_at_random(cq);
	else
		cq_run_in_turn(cq, want);
}

static int memdev_poll_cq(struct ibv_cq *ibcq, int nr, struct ibv_wc *wc)
{
	const struct memdev_fault *fault = NULL;
	struct mem_cq *cq = to_cq(ibcq);
	int i;

	cq->dev->stats.polls++;
	if (unlikely(cq->dev->faulty))
		fault = fault_event(cq->dev, MEMDEV_FAIL_POLL);
	if (unlikely(fault))
		return -fault->value;
	if (unlikely(nr <= 0))
		return 0;
	cq_run(cq, nr);
	if (unlikely(cq->bad))
		return -EIO;
	for (i = 0; i < nr && cq_ready(cq); i++)
		cq_pop(cq, wc + i);
	cq->due -= i;
	/* An empty ring starts again where it is still in the cache. */
	if (!cq_ready(cq))
		cq->head = cq->tail = 0;
	return i;
}

/* Nobody can sleep on a CQ without a channel, so there is nothing to arm. */
static int memdev_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

/* -- life ---------------------------------------------------------------- */

static int attr_default(struct memdev_attr *attr)
{
	attr->max_qp_wr = attr->max_qp_wr ? attr->max_qp_wr : 32768;
	attr->max_sge = attr->max_sge ? attr->max_sge : 32;
	attr->max_inline = attr->max_inline ? attr->max_inline : 256;
	attr->max_cqe = attr->max_cqe ? attr->max_cqe : 1u << 20;
	attr->max_msg_bytes =
		attr->max_msg_bytes ? attr->max_msg_bytes : 1u << 30;
	if (attr->max_qp_wr > MAX_DEPTH || attr->max_cqe > MAX_DEPTH ||
	    attr->max_sge > MAX_SGE || attr->max_inline > MAX_INLINE ||
	    attr->max_msg_bytes > MAX_MSG_BYTES)
		return -EINVAL;
	return 0;
}

int memdev_open(const struct memdev_attr *attr, struct memdev **out)
{
	struct memdev_attr granted = { 0 };
	struct memdev *dev;

	if (attr)
		granted = *attr;
	if (attr_default(&granted))
		return -EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	if (mr_table_grow(dev, FIRST_NR_MRS)) {
		free(dev);
		return -ENOMEM;
	}
	dev->attr = granted;
	dev->next_qp_num = FIRST_QP_NUM;
	dev->context.cmd_fd = -1;
	dev->context.async_fd = -1;
	dev->context.num_comp_vectors = 1;
	dev->context.ops.post_send = memdev_post_send;
	dev->context.ops.poll_cq = memdev_poll_cq;
	dev->context.ops.req_notify_cq = memdev_req_notify_cq;
	LIST_INIT(&dev->cqs);
	LIST_INIT(&dev->qps);
	*out = dev;
	return 0;
}

void memdev_close(struct memdev *dev)
{
	struct mem_qp *qp;
	struct mem_cq *cq;

	if (!dev)
		return;
	while ((qp = LIST_FIRST(&dev->qps)))
		memdev_qp_destroy(&qp->qp);
	while ((cq = LIST_FIRST(&dev->cqs)))
		memdev_cq_destroy(&cq->cq);
	free(dev->mrs);
	free(dev);
}

void memdev_query(const struct memdev *dev, struct memdev_attr *attr)
{
	*attr = dev->attr;
}

struct ibv_context *memdev_context(struct memdev *dev)
{
	return &dev->context;
}

void memdev_stats_get(const struct memdev *dev, struct memdev_stats *stats)
{
	*stats = dev->stats;
}

int memdev_cq_create(struct memdev *dev, uint32_t cqe, struct ibv_cq **out)
{
	struct mem_cq *cq;
	uint32_t entries;

	if (!cqe || cqe > dev->attr.max_cqe)
		return -EINVAL;
	entries = round_up_pow2(cqe);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ring = calloc(entries, sizeof(*cq->ring));
	if (!cq->ring) {
		free(cq);
		return -ENOMEM;
	}
	cq->dev = dev;
	cq->mask = entries - 1;
	cq->size = cqe;
	cq->cq.context = &dev->context;
	cq->cq.cqe = cqe;
	TAILQ_INIT(&cq->turns);
	LIST_INSERT_HEAD(&dev->cqs, cq, link);
	*out = &cq->cq;
	return 0;
}

int memdev_cq_destroy(struct ibv_cq *ibcq)
{
	struct mem_cq *cq = to_cq(ibcq);

	if (cq->nr_qps)
		return -EBUSY;
	LIST_REMOVE(cq, link);
	free(cq->ring);
	free(cq);
	return 0;
}

static bool cap_fits(const struct memdev_attr *attr,
		     const struct ibv_qp_cap *cap)
{
	return cap->max_send_wr && cap->max_send_wr <= attr->max_qp_wr &&
	       cap->max_send_sge <= attr->max_sge &&
	       cap->max_inline_data <= attr->max_inline;
}

static size_t slot_size(const struct ibv_qp_cap *cap)
{
	size_t sges = cap->max_send_sge * sizeof(struct mem_sge);
	size_t bytes = sizeof(struct mem_wqe);

	bytes += sges > cap->max_inline_data ? sges : cap->max_inline_data;
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static struct mem_qp *qp_alloc(const struct ibv_qp_cap *cap)
{
	struct mem_qp *qp = calloc(1, sizeof(*qp));
	uint32_t slots = round_up_pow2(cap->max_send_wr);

	if (!qp)
		return NULL;
	qp->slot_bytes = slot_size(cap);
	qp->slots = aligned_alloc(CACHE_LINE, slots * qp->slot_bytes);
	if (!qp->slots) {
		free(qp);
		return NULL;
	}
	qp->mask = slots - 1;
	qp->max_wr = cap->max_send_wr;
	qp->max_sge = cap->max_send_sge;
	qp->max_inline = cap->max_inline_data;
	return qp;
}

int memdev_qp_create(struct memdev *dev, struct ibv_cq *cq,
		     struct ibv_qp_cap *cap, struct ibv_qp **out)
{
	struct mem_qp *qp;

	if (!cap_fits(&dev->attr, cap))
		return -EINVAL;
	qp = qp_alloc(cap);
	if (!qp)
		return -ENOMEM;
	qp->dev = dev;
	qp->cq = to_cq(cq);
	qp->cq->nr_qps++;
	qp->qp.context = &dev->context;
	qp->qp.send_cq = cq;
	qp->qp.recv_cq = cq;
	qp->qp.qp_num = dev->next_qp_num++;
	qp->qp.qp_type = IBV_QPT_RC;
	qp->qp.state = IBV_QPS_RTS;
	LIST_INSERT_HEAD(&dev->qps, qp, link);
	*out = &qp->qp;
	return 0;
}

static void cq_forget(struct mem_cq *cq, const struct mem_qp *qp)
{
	uint32_t i, kept = cq->tail;

	for (i = cq->tail; i != cq->head; i++) {
		if (cq->ring[i & cq->mask].qp == qp)
			cq->due--;
		else
			cq->ring[kept++ & cq->mask] = cq->ring[i & cq->mask];
	}
	cq->head = kept;
}

int memdev_qp_destroy(struct ibv_qp *ibqp)
{
	struct mem_qp *qp = to_qp(ibqp);

	/* In the error state every WR not yet executed has one CQE due. */
	qp_set_error(qp);
	qp->cq->due -= qp->head - qp->exec;
	cq_forget(qp->cq, qp);
	if (qp->queued)
		qp_take_turn(qp);
	qp->cq->nr_qps--;
	LIST_REMOVE(qp, link);
	free(qp->slots);
	free(qp);
	return 0;
}

int memdev_qp_error(void *arg, struct ibv_qp *ibqp)
{
	const struct memdev_fault *fault = NULL;
	struct mem_qp *qp = to_qp(ibqp);

	(void)arg;
	if (qp->dev->faulty)
		fault = fault_event(qp->dev, MEMDEV_FAIL_QP_ERROR);
	if (fault)
		return fault->value;
	qp_set_error(qp);
	return 0;
}
