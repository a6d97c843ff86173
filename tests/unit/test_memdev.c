/* SPDX-License-Identifier: GPL-2.0-only */
/* Every promise of memdev.h, one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memdev.h"

#define NR_QPS	  3
#define NR_SLOTS  8
#define NR_CQES	  64
#define NR_SGES	  4
#define NR_INLINE 64
#define BUF_BYTES 4096
#define MAX_MSG	  2048
#define ALL_ACCESS                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_WRITE)

struct fixture {
	struct memdev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qps[NR_QPS];
	unsigned char local[BUF_BYTES];
	unsigned char remote[BUF_BYTES];
	struct memdev_mr local_mr;
	struct memdev_mr remote_mr;
};

/* A WR with one SGE of its own. */
struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
};

static struct ibv_qp *qp_make(struct fixture *f, struct ibv_cq *cq)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = NR_SLOTS,
		.max_send_sge = NR_SGES,
		.max_inline_data = NR_INLINE,
	};
	struct ibv_qp *qp;

	assert_int_equal(memdev_qp_create(f->dev, cq, &cap, &qp), 0);
	return qp;
}

static int setup(void **state)
{
	struct memdev_attr attr = { .max_msg_bytes = MAX_MSG };
	struct fixture *f = calloc(1, sizeof(*f));
	int i;

	assert_non_null(f);
	for (i = 0; i < BUF_BYTES; i++) {
		f->local[i] = i * 7 + i / 256;
		f->remote[i] = 255 - i * 3 - i / 256;
	}
	assert_int_equal(memdev_open(&attr, &f->dev), 0);
	assert_int_equal(memdev_cq_create(f->dev, NR_CQES, &f->cq), 0);
	for (i = 0; i < NR_QPS; i++)
		f->qps[i] = qp_make(f, f->cq);
	assert_int_equal(memdev_mr_reg(f->dev, f->local, BUF_BYTES, ALL_ACCESS,
				       &f->local_mr),
			 0);
	assert_int_equal(memdev_mr_reg(f->dev, f->remote, BUF_BYTES, ALL_ACCESS,
				       &f->remote_mr),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	memdev_close(f->dev);
	free(f);
	return 0;
}

static uint64_t addr_of(const void *p)
{
	return (uintptr_t)p;
}

/* A signalled WRITE between equal offsets; tests change what they need. */
static void request_init(struct fixture *f, struct request *r, uint64_t wr_id,
			 uint32_t offset, uint32_t length)
{
	memset(r, 0, sizeof(*r));
	r->sge.addr = addr_of(f->local + offset);
	r->sge.length = length;
	r->sge.lkey = f->local_mr.lkey;
	r->wr.wr_id = wr_id;
	r->wr.sg_list = &r->sge;
	r->wr.num_sge = 1;
	r->wr.opcode = IBV_WR_RDMA_WRITE;
	r->wr.send_flags = IBV_SEND_SIGNALED;
	r->wr.wr.rdma.remote_addr = addr_of(f->remote + offset);
	r->wr.wr.rdma.rkey = f->remote_mr.rkey;
}

/* nr WRs of 16 bytes with wr_ids from first on, chained. */
static void chain_init(struct fixture *f, struct request *r, int nr,
		       uint64_t first, unsigned int flags)
{
	int i;

	for (i = 0; i < nr; i++) {
		request_init(f, r + i, first + i, 16 * i, 16);
		r[i].wr.send_flags = flags;
		r[i].wr.next = i + 1 < nr ? &r[i + 1].wr : NULL;
	}
}

static int post(struct ibv_qp *qp, struct request *r)
{
	struct ibv_send_wr *bad_wr;

	return ibv_post_send(qp, &r->wr, &bad_wr);
}

static void post_chain(struct fixture *f, struct ibv_qp *qp, int nr,
		       uint64_t first, unsigned int flags)
{
	struct request r[NR_SLOTS];

	chain_init(f, r, nr, first, flags);
	assert_int_equal(post(qp, r), 0);
}

/* One CQE, of this WR and with this status. */
static struct ibv_wc expect_wc(struct fixture *f, uint64_t wr_id,
			       enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	return wc;
}

static void expect_none(struct fixture *f)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), 0);
}

static void expect_flushes(struct fixture *f, uint64_t first, int nr)
{
	while (nr--)
		expect_wc(f, first++, IBV_WC_WR_FLUSH_ERR);
	expect_none(f);
}

/* The WR fails with the status, nothing moves, the QP is in error. */
static void expect_failure(struct fixture *f, struct request *r,
			   enum ibv_wc_status status)
{
	unsigned char local[BUF_BYTES], remote[BUF_BYTES];

	memcpy(local, f->local, BUF_BYTES);
	memcpy(remote, f->remote, BUF_BYTES);
	assert_int_equal(post(f->qps[0], r), 0);
	expect_wc(f, r->wr.wr_id, status);
	assert_memory_equal(local, f->local, BUF_BYTES);
	assert_memory_equal(remote, f->remote, BUF_BYTES);
	assert_int_equal(f->qps[0]->state, IBV_QPS_ERR);
}

static struct memdev_stats stats(struct fixture *f)
{
	struct memdev_stats s;

	memdev_stats_get(f->dev, &s);
	return s;
}

static void fault_add(struct fixture *f, enum memdev_fault_kind kind,
		      uint64_t nth, uint64_t every, int value)
{
	struct memdev_fault fault = {
		.kind = kind,
		.nth = nth,
		.every = every,
		.value = value,
	};

	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
}

/* -- moving bytes -------------------------------------------------------- */

static void write_of_any_length_moves_its_bytes(void **state)
{
	struct fixture *f = *state;
	unsigned char before[BUF_BYTES];
	struct request r;
	uint32_t length;

	memcpy(before, f->remote, BUF_BYTES);
	for (length = 1; length <= 300; length++) {
		memcpy(f->remote, before, BUF_BYTES);
		request_init(f, &r, length, 100, length);
		assert_int_equal(post(f->qps[0], &r), 0);
		expect_wc(f, length, IBV_WC_SUCCESS);
		assert_memory_equal(f->remote, before, 100);
		assert_memory_equal(f->remote + 100, f->local + 100, length);
		assert_memory_equal(f->remote + 100 + length,
				    before + 100 + length,
				    BUF_BYTES - 100 - length);
	}
}

static void read_of_any_length_moves_its_bytes(void **state)
{
	struct fixture *f = *state;
	struct request r;
	struct ibv_wc wc;
	uint32_t length;

	for (length = 1; length <= 300; length++) {
		memset(f->local, 0, BUF_BYTES);
		request_init(f, &r, length, 50, length);
		r.wr.opcode = IBV_WR_RDMA_READ;
		assert_int_equal(post(f->qps[0], &r), 0);
		wc = expect_wc(f, length, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, length);
		assert_int_equal(f->local[49], 0);
		assert_memory_equal(f->local + 50, f->remote + 50, length);
		assert_int_equal(f->local[50 + length], 0);
	}
}

/* Four SGEs in reverse order, one of them empty and without a key. */
static void sges_init(struct fixture *f, struct ibv_sge *sges)
{
	static const uint32_t offsets[NR_SGES] = { 3000, 2000, 0, 1000 };
	static const uint32_t lengths[NR_SGES] = { 33, 700, 0, 5 };
	int i;

	for (i = 0; i < NR_SGES; i++) {
		sges[i].addr = addr_of(f->local + offsets[i]);
		sges[i].length = lengths[i];
		sges[i].lkey = lengths[i] ? f->local_mr.lkey : 0;
	}
}

static void write_of_many_sges_gathers_in_order(void **state)
{
	struct fixture *f = *state;
	struct ibv_sge sges[NR_SGES];
	struct request r;

	sges_init(f, sges);
	request_init(f, &r, 1, 64, 0);
	r.wr.sg_list = sges;
	r.wr.num_sge = NR_SGES;
	assert_int_equal(post(f->qps[0], &r), 0);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	assert_memory_equal(f->remote + 64, f->local + 3000, 33);
	assert_memory_equal(f->remote + 97, f->local + 2000, 700);
	assert_memory_equal(f->remote + 797, f->local + 1000, 5);
}

static void read_of_many_sges_scatters_in_order(void **state)
{
	struct fixture *f = *state;
	struct ibv_sge sges[NR_SGES];
	struct request r;
	struct ibv_wc wc;

	sges_init(f, sges);
	request_init(f, &r, 1, 64, 0);
	r.wr.sg_list = sges;
	r.wr.num_sge = NR_SGES;
	r.wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(f->qps[0], &r), 0);
	wc = expect_wc(f, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 738);
	assert_memory_equal(f->local + 3000, f->remote + 64, 33);
	assert_memory_equal(f->local + 2000, f->remote + 97, 700);
	assert_memory_equal(f->local + 1000, f->remote + 797, 5);
}

static void write_onto_itself_moves_as_memmove(void **state)
{
	struct fixture *f = *state;
	unsigned char before[BUF_BYTES];
	uint32_t length;
	struct request r;

	for (length = 40; length <= 400; length *= 10) {
		memcpy(before, f->local, BUF_BYTES);
		request_init(f, &r, 1, 0, length);
		r.wr.wr.rdma.remote_addr = addr_of(f->local + 8);
		r.wr.wr.rdma.rkey = f->local_mr.rkey;
		assert_int_equal(post(f->qps[0], &r), 0);
		expect_wc(f, 1, IBV_WC_SUCCESS);
		assert_memory_equal(f->local + 8, before, length);
	}
}

static void write_without_bytes_needs_no_key(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 0);
	r.wr.num_sge = 0;
	r.wr.wr.rdma.rkey = 0;
	assert_int_equal(post(f->qps[0], &r), 0);
	expect_wc(f, 1, IBV_WC_SUCCESS);
}

static void write_until_polled_reads_the_buffer_late(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	assert_int_equal(post(f->qps[0], &r), 0);
	memset(f->local, 0x5a, 16);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	assert_memory_equal(f->remote, f->local, 16);
}

static void inline_write_copies_at_post(void **state)
{
	struct fixture *f = *state;
	unsigned char before[NR_INLINE];
	struct ibv_sge sges[2];
	struct request r;

	memcpy(before, f->local, NR_INLINE);
	request_init(f, &r, 1, 0, NR_INLINE);
	sges[0] = (struct ibv_sge){ addr_of(f->local), 20, 0 };
	sges[1] = (struct ibv_sge){ addr_of(f->local + 20), 44, 0 };
	r.wr.sg_list = sges;
	r.wr.num_sge = 2;
	r.wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(f->qps[0], &r), 0);
	memset(f->local, 0, NR_INLINE);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	assert_memory_equal(f->remote, before, NR_INLINE);
}

static void wc_of_a_success_tells_the_wr(void **state)
{
	struct fixture *f = *state;
	struct request r;
	struct ibv_wc wc;

	request_init(f, &r, 0xfedcba9876543210, 0, 16);
	assert_int_equal(post(f->qps[1], &r), 0);
	wc = expect_wc(f, 0xfedcba9876543210, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.qp_num, f->qps[1]->qp_num);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.wc_flags, 0);
	r.wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(f->qps[1], &r), 0);
	wc = expect_wc(f, 0xfedcba9876543210, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
}

/* -- order, slots, the CQ ------------------------------------------------ */

static void wrs_of_one_qp_complete_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t round, i;

	for (round = 0; round < 5; round++) {
		post_chain(f, f->qps[0], 3, 100 * round, IBV_SEND_SIGNALED);
		post_chain(f, f->qps[0], 4, 100 * round + 3, IBV_SEND_SIGNALED);
		for (i = 0; i < 7; i++)
			expect_wc(f, 100 * round + i, IBV_WC_SUCCESS);
		expect_none(f);
	}
}

static void writes_to_one_place_end_in_order(void **state)
{
	struct fixture *f = *state;
	struct request r[NR_SLOTS];
	int i;

	chain_init(f, r, NR_SLOTS, 0, 0);
	for (i = 0; i < NR_SLOTS; i++)
		r[i].wr.wr.rdma.remote_addr = addr_of(f->remote);
	r[NR_SLOTS - 1].wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(f->qps[0], r), 0);
	expect_wc(f, NR_SLOTS - 1, IBV_WC_SUCCESS);
	assert_memory_equal(f->remote, f->local + 16 * (NR_SLOTS - 1), 16);
}

static void unsignalled_wr_makes_no_cqe(void **state)
{
	struct fixture *f = *state;

	post_chain(f, f->qps[0], 4, 0, 0);
	expect_none(f);
	assert_memory_equal(f->remote, f->local, 64);
	assert_int_equal(stats(f).executed, 4);
	assert_int_equal(stats(f).cqes, 0);
}

static void post_to_a_full_queue_refuses_the_next_wr(void **state)
{
	struct fixture *f = *state;
	struct request r[NR_SLOTS + 2];
	struct ibv_send_wr *bad_wr = NULL;
	uint64_t i;

	chain_init(f, r, NR_SLOTS + 2, 0, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_post_send(f->qps[0], &r[0].wr, &bad_wr), ENOMEM);
	assert_ptr_equal(bad_wr, &r[NR_SLOTS].wr);
	for (i = 0; i < NR_SLOTS; i++)
		expect_wc(f, i, IBV_WC_SUCCESS);
	expect_none(f);
	assert_int_equal(stats(f).wrs, NR_SLOTS);
	assert_int_equal(stats(f).max_sq_used, NR_SLOTS);
}

static void slots_until_a_cqe_is_polled_stay_taken(void **state)
{
	struct fixture *f = *state;
	struct request r;

	post_chain(f, f->qps[0], NR_SLOTS, 0, 0);
	expect_none(f);
	assert_int_equal(stats(f).executed, NR_SLOTS);
	request_init(f, &r, 99, 0, 16);
	assert_int_equal(post(f->qps[0], &r), ENOMEM);
}

static void slots_before_a_polled_cqe_are_free(void **state)
{
	struct fixture *f = *state;
	struct request r[NR_SLOTS];

	chain_init(f, r, NR_SLOTS, 0, 0);
	r[4].wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(f->qps[0], r), 0);
	expect_wc(f, 4, IBV_WC_SUCCESS);
	post_chain(f, f->qps[0], 5, 10, IBV_SEND_SIGNALED);
	assert_int_equal(post(f->qps[0], r), ENOMEM);
	expect_wc(f, 10, IBV_WC_SUCCESS);
}

static void poll_of_a_few_serves_every_qp(void **state)
{
	struct fixture *f = *state;
	int i, seen[NR_QPS] = { 0 };
	struct request r;
	struct ibv_wc wc;

	for (i = 0; i < NR_QPS; i++)
		post_chain(f, f->qps[i], 4, i, IBV_SEND_SIGNALED);
	request_init(f, &r, 0, 0, 16);
	for (i = 0; i < 30; i++) {
		assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), 1);
		seen[wc.qp_num - f->qps[0]->qp_num]++;
		assert_int_equal(
			post(f->qps[wc.qp_num - f->qps[0]->qp_num], &r), 0);
	}
	for (i = 0; i < NR_QPS; i++)
		assert_int_equal(seen[i], 10);
}

static void poll_of_an_array_fills_it(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc[NR_CQES];

	post_chain(f, f->qps[0], 8, 0, IBV_SEND_SIGNALED);
	post_chain(f, f->qps[1], 8, 8, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_poll_cq(f->cq, 11, wc), 11);
	assert_int_equal(ibv_poll_cq(f->cq, NR_CQES, wc), 5);
	assert_int_equal(ibv_poll_cq(f->cq, NR_CQES, wc), 0);
	assert_int_equal(ibv_poll_cq(f->cq, 0, wc), 0);
}

static void cq_as_large_as_its_wrs_does_not_overrun(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc[3];
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int i;

	assert_int_equal(memdev_cq_create(f->dev, 5, &cq), 0);
	qp = qp_make(f, cq);
	for (i = 0; i < 20; i++) {
		post_chain(f, qp, 5, 0, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_poll_cq(cq, 3, wc), 3);
		assert_int_equal(ibv_poll_cq(cq, 3, wc), 2);
	}
	assert_int_equal(stats(f).overflows, 0);
}

static void cq_too_small_overruns_and_stays_bad(void **state)
{
	struct fixture *f = *state;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	assert_int_equal(memdev_cq_create(f->dev, 5, &cq), 0);
	qp = qp_make(f, cq);
	post_chain(f, qp, 6, 0, IBV_SEND_SIGNALED);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
	assert_int_equal(stats(f).overflows, 1);
	assert_int_equal(memdev_qp_destroy(qp), 0);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
}

static void cq_too_small_for_flushes_overruns(void **state)
{
	struct fixture *f = *state;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	assert_int_equal(memdev_cq_create(f->dev, 5, &cq), 0);
	qp = qp_make(f, cq);
	post_chain(f, qp, 6, 0, 0);
	assert_int_equal(memdev_qp_error(NULL, qp), 0);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
	assert_int_equal(stats(f).overflows, 1);
}

static void notify_of_a_cq_is_accepted(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ibv_req_notify_cq(f->cq, 0), 0);
}

/* -- what post refuses --------------------------------------------------- */

static void expect_refused(struct fixture *f, struct request *r)
{
	struct ibv_send_wr *bad_wr = NULL;
	struct request first;

	request_init(f, &first, 77, 0, 16);
	first.wr.next = &r->wr;
	assert_int_equal(ibv_post_send(f->qps[0], &first.wr, &bad_wr), EINVAL);
	assert_ptr_equal(bad_wr, &r->wr);
	expect_wc(f, 77, IBV_WC_SUCCESS);
	expect_none(f);
	assert_int_equal(f->qps[0]->state, IBV_QPS_RTS);
}

static void post_of_an_unknown_opcode_is_refused(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.opcode = IBV_WR_SEND;
	expect_refused(f, &r);
	r.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	expect_refused(f, &r);
}

static void post_of_too_many_sges_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ibv_sge sges[NR_SGES + 1] = { 0 };
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.sg_list = sges;
	r.wr.num_sge = NR_SGES + 1;
	expect_refused(f, &r);
	r.wr.num_sge = -1;
	expect_refused(f, &r);
}

static void post_of_too_many_inline_bytes_is_refused(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, NR_INLINE + 1);
	r.wr.send_flags |= IBV_SEND_INLINE;
	expect_refused(f, &r);
}

static void post_of_an_inline_read_is_refused(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.opcode = IBV_WR_RDMA_READ;
	r.wr.send_flags |= IBV_SEND_INLINE;
	expect_refused(f, &r);
}

/* -- keys, bounds, rights ------------------------------------------------ */

static void write_with_the_rkey_as_lkey_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.sge.lkey = f->local_mr.rkey;
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void write_with_the_lkey_as_rkey_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.wr.rdma.rkey = f->remote_mr.lkey;
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void write_with_key_zero_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.sge.lkey = 0;
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void write_with_a_key_never_given_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.wr.rdma.rkey = UINT32_MAX;
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void write_with_a_key_of_a_free_entry_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	/* What the next registration would be given. */
	request_init(f, &r, 1, 0, 16);
	r.sge.lkey = f->remote_mr.lkey + (1 << 8);
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void write_with_a_stale_key_fails(void **state)
{
	struct fixture *f = *state;
	struct memdev_mr mr;
	struct request r;
	int i;

	assert_int_equal(memdev_mr_dereg(f->dev, f->remote_mr.lkey), 0);
	for (i = 0; i < 40; i++) {
		assert_int_equal(memdev_mr_reg(f->dev, f->remote, BUF_BYTES,
					       ALL_ACCESS, &mr),
				 0);
		assert_int_not_equal(mr.rkey, f->remote_mr.rkey);
	}
	request_init(f, &r, 1, 0, 16);
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void write_after_dereg_while_queued_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	assert_int_equal(post(f->qps[0], &r), 0);
	assert_int_equal(memdev_mr_dereg(f->dev, f->local_mr.lkey), 0);
	expect_wc(f, 1, IBV_WC_LOC_PROT_ERR);
}

static void write_up_to_both_ends_succeeds(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 1);
	assert_int_equal(post(f->qps[0], &r), 0);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	request_init(f, &r, 2, BUF_BYTES - MAX_MSG, MAX_MSG);
	assert_int_equal(post(f->qps[0], &r), 0);
	expect_wc(f, 2, IBV_WC_SUCCESS);
	assert_memory_equal(f->remote + BUF_BYTES - MAX_MSG,
			    f->local + BUF_BYTES - MAX_MSG, MAX_MSG);
}

static void write_beyond_the_local_end_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 17);
	r.sge.addr = addr_of(f->local + BUF_BYTES - 16);
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void write_before_the_local_start_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.sge.addr--;
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void write_beyond_the_remote_end_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 17);
	r.wr.wr.rdma.remote_addr = addr_of(f->remote + BUF_BYTES - 16);
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void write_at_a_wrapping_remote_address_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.wr.rdma.remote_addr = UINT64_MAX - 7;
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void read_to_a_wrapping_local_address_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.opcode = IBV_WR_RDMA_READ;
	r.sge.addr = UINT64_MAX - 7;
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
}

static void wr_longer_than_the_message_limit_fails(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, MAX_MSG + 1);
	expect_failure(f, &r, IBV_WC_LOC_LEN_ERR);
}

static void wr_whose_length_exceeds_32_bits_fails(void **state)
{
	struct fixture *f = *state;
	struct ibv_sge sges[2];
	struct request r;

	request_init(f, &r, 1, 0, UINT32_MAX);
	sges[0] = r.sge;
	sges[1] = r.sge;
	sges[1].length = 17;
	r.wr.sg_list = sges;
	r.wr.num_sge = 2;
	expect_failure(f, &r, IBV_WC_LOC_LEN_ERR);
}

/* Registers both buffers anew with these rights and runs one WR. */
static void expect_rights(struct fixture *f, enum ibv_wr_opcode opcode,
			  int local, int remote, enum ibv_wc_status status)
{
	struct ibv_qp *qp = qp_make(f, f->cq);
	struct memdev_mr local_mr, remote_mr;
	struct request r;

	assert_int_equal(
		memdev_mr_reg(f->dev, f->local, BUF_BYTES, local, &local_mr),
		0);
	assert_int_equal(
		memdev_mr_reg(f->dev, f->remote, BUF_BYTES, remote, &remote_mr),
		0);
	request_init(f, &r, 1, 0, 16);
	r.wr.opcode = opcode;
	r.sge.lkey = local_mr.lkey;
	r.wr.wr.rdma.rkey = remote_mr.rkey;
	assert_int_equal(post(qp, &r), 0);
	expect_wc(f, 1, status);
	assert_int_equal(memdev_qp_destroy(qp), 0);
}

static void rights_of_both_sides_are_needed(void **state)
{
	static const int lw = IBV_ACCESS_LOCAL_WRITE;
	static const int rr = IBV_ACCESS_REMOTE_READ;
	static const int rw = IBV_ACCESS_REMOTE_WRITE;
	struct fixture *f = *state;

	expect_rights(f, IBV_WR_RDMA_WRITE, 0, lw | rw, IBV_WC_SUCCESS);
	expect_rights(f, IBV_WR_RDMA_WRITE, 0, lw | rr, IBV_WC_REM_ACCESS_ERR);
	expect_rights(f, IBV_WR_RDMA_READ, lw, rr, IBV_WC_SUCCESS);
	expect_rights(f, IBV_WR_RDMA_READ, lw, lw | rw, IBV_WC_REM_ACCESS_ERR);
	expect_rights(f, IBV_WR_RDMA_READ, rr, rr, IBV_WC_LOC_PROT_ERR);
}

static void inline_write_still_needs_the_rkey(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.wr.send_flags |= IBV_SEND_INLINE;
	r.wr.wr.rdma.rkey ^= 1;
	expect_failure(f, &r, IBV_WC_REM_ACCESS_ERR);
}

static void reg_of_a_bad_range_or_right_is_refused(void **state)
{
	struct fixture *f = *state;
	void *last = (void *)(UINTPTR_MAX - 15);
	struct memdev_mr mr;

	assert_int_equal(memdev_mr_reg(f->dev, f->local, 0, 0, &mr), -EINVAL);
	assert_int_equal(memdev_mr_reg(f->dev, last, 64, 0, &mr), -EINVAL);
	assert_int_equal(memdev_mr_reg(f->dev, f->local, 64,
				       IBV_ACCESS_REMOTE_WRITE, &mr),
			 -EINVAL);
}

static void dereg_of_a_key_not_live_is_refused(void **state)
{
	struct fixture *f = *state;
	uint32_t lkey = f->local_mr.lkey;

	assert_int_equal(memdev_mr_dereg(f->dev, f->local_mr.rkey), -EINVAL);
	assert_int_equal(memdev_mr_dereg(f->dev, lkey + (2 << 8)), -EINVAL);
	assert_int_equal(memdev_mr_dereg(f->dev, UINT32_MAX), -EINVAL);
	assert_int_equal(memdev_mr_dereg(f->dev, 0), -EINVAL);
	assert_int_equal(memdev_mr_dereg(f->dev, lkey), 0);
	assert_int_equal(memdev_mr_dereg(f->dev, lkey), -EINVAL);
}

static void reg_of_many_regions_keeps_every_key(void **state)
{
	struct fixture *f = *state;
	struct memdev_mr mrs[1000];
	struct request r;
	int i;

	for (i = 0; i < 1000; i++)
		assert_int_equal(
			memdev_mr_reg(f->dev, f->local + i, 1, 0, &mrs[i]), 0);
	for (i = 0; i < 1000; i++) {
		request_init(f, &r, i, i, 1);
		r.sge.lkey = mrs[i].lkey;
		assert_int_equal(post(f->qps[0], &r), 0);
		expect_wc(f, i, IBV_WC_SUCCESS);
	}
	assert_memory_equal(f->remote, f->local, 1000);
}

static void key_of_an_entry_used_again_differs_126_times(void **state)
{
	struct fixture *f = *state;
	struct memdev_mr mr;
	int round, i;

	assert_int_equal(memdev_mr_dereg(f->dev, f->local_mr.lkey), 0);
	/* The table has 16 entries at first, and one is in use. */
	for (round = 0; round < 126; round++) {
		for (i = 0; i < 15; i++) {
			assert_int_equal(
				memdev_mr_reg(f->dev, f->local, 1, 0, &mr), 0);
			assert_int_not_equal(mr.lkey, f->local_mr.lkey);
			assert_int_not_equal(mr.lkey & 0x7f, 0);
			assert_int_equal(memdev_mr_dereg(f->dev, mr.lkey), 0);
		}
	}
}

/* -- the error state ----------------------------------------------------- */

static void failure_of_an_unsignalled_wr_flushes_all_later(void **state)
{
	struct fixture *f = *state;
	struct request r[6];

	chain_init(f, r, 6, 0, 0);
	r[2].wr.wr.rdma.rkey ^= 1;
	r[4].wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(f->qps[0], r), 0);
	expect_wc(f, 2, IBV_WC_REM_ACCESS_ERR);
	expect_flushes(f, 3, 3);
	assert_int_equal(stats(f).executed, 2);
	assert_int_equal(stats(f).flushed, 3);
	assert_int_equal(stats(f).cqes, 4);
	assert_memory_equal(f->remote, f->local, 32);
	assert_memory_not_equal(f->remote + 32, f->local + 32, 16);
}

static void failure_of_one_qp_leaves_the_others(void **state)
{
	struct fixture *f = *state;
	struct request r;

	request_init(f, &r, 1, 0, 16);
	r.sge.lkey = 0;
	expect_failure(f, &r, IBV_WC_LOC_PROT_ERR);
	post_chain(f, f->qps[1], 1, 2, IBV_SEND_SIGNALED);
	expect_wc(f, 2, IBV_WC_SUCCESS);
}

static void wc_of_a_failure_has_no_opcode(void **state)
{
	struct fixture *f = *state;
	struct request r;
	struct ibv_wc wc;

	request_init(f, &r, 1, 0, 16);
	r.sge.lkey = 0;
	assert_int_equal(post(f->qps[2], &r), 0);
	wc = expect_wc(f, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.opcode, MEMDEV_POISON_OPCODE);
	assert_int_equal(wc.byte_len, MEMDEV_POISON_BYTE_LEN);
	assert_int_equal(wc.vendor_err,
			 MEMDEV_VENDOR_ERR + IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.qp_num, f->qps[2]->qp_num);
}

static void qp_error_with_wrs_queued_flushes_them(void **state)
{
	struct fixture *f = *state;
	struct request r[4];

	chain_init(f, r, 4, 10, 0);
	r[1].wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(f->qps[0], r), 0);
	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), 0);
	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), 0);
	expect_flushes(f, 10, 4);
	assert_int_equal(stats(f).executed, 0);
}

static void qp_error_after_execution_keeps_the_success(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc;

	post_chain(f, f->qps[0], 2, 0, IBV_SEND_SIGNALED);
	memdev_schedule(f->dev, 1, 1);
	while (!ibv_poll_cq(f->cq, 1, &wc))
		;
	assert_int_equal(wc.wr_id, 0);
	memdev_schedule(f->dev, 0, 0);
	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), 0);
	expect_flushes(f, 1, 1);
}

static void post_in_the_error_state_is_taken_and_flushed(void **state)
{
	struct fixture *f = *state;
	struct request r;

	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), 0);
	post_chain(f, f->qps[0], NR_SLOTS, 20, 0);
	request_init(f, &r, 99, 0, 16);
	assert_int_equal(post(f->qps[0], &r), ENOMEM);
	expect_flushes(f, 20, NR_SLOTS);
	post_chain(f, f->qps[0], 3, 40, IBV_SEND_SIGNALED);
	expect_flushes(f, 40, 3);
}

static void qp_destroy_with_cqes_pending_drops_only_its_own(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc;

	post_chain(f, f->qps[0], 4, 0, IBV_SEND_SIGNALED);
	post_chain(f, f->qps[1], 4, 10, IBV_SEND_SIGNALED);
	memdev_schedule(f->dev, 5, 100);
	while (stats(f).cqes < 8)
		assert_int_equal(ibv_poll_cq(f->cq, 1, &wc) < 0, 0);
	memdev_schedule(f->dev, 0, 0);
	assert_int_equal(memdev_qp_destroy(f->qps[0]), 0);
	while (ibv_poll_cq(f->cq, 1, &wc) == 1)
		assert_int_equal(wc.qp_num, f->qps[1]->qp_num);
	assert_int_equal(wc.wr_id, 13);
}

static void qp_destroy_with_wrs_queued_forgets_them(void **state)
{
	struct fixture *f = *state;

	post_chain(f, f->qps[0], 4, 0, IBV_SEND_SIGNALED);
	post_chain(f, f->qps[1], 1, 10, IBV_SEND_SIGNALED);
	assert_int_equal(memdev_qp_destroy(f->qps[0]), 0);
	expect_wc(f, 10, IBV_WC_SUCCESS);
	expect_none(f);
	assert_int_equal(stats(f).executed, 1);
}

static void cq_destroy_while_a_qp_uses_it_is_busy(void **state)
{
	struct fixture *f = *state;
	int i;

	for (i = 0; i < NR_QPS; i++) {
		assert_int_equal(memdev_cq_destroy(f->cq), -EBUSY);
		assert_int_equal(memdev_qp_destroy(f->qps[i]), 0);
	}
	assert_int_equal(memdev_cq_destroy(f->cq), 0);
}

/* -- what the device grants ---------------------------------------------- */

static void open_without_attr_grants_the_defaults(void **state)
{
	struct memdev_attr attr;
	struct memdev *dev;

	(void)state;
	assert_int_equal(memdev_open(NULL, &dev), 0);
	memdev_query(dev, &attr);
	assert_int_equal(attr.max_qp_wr, 32768);
	assert_int_equal(attr.max_sge, 32);
	assert_int_equal(attr.max_inline, 256);
	assert_int_equal(attr.max_cqe, 1048576);
	assert_int_equal(attr.max_msg_bytes, 1 << 30);
	memdev_close(dev);
	memdev_close(NULL);
}

static void open_with_too_large_an_attr_is_refused(void **state)
{
	struct memdev_attr attr = { .max_qp_wr = UINT32_MAX };
	struct memdev *dev = NULL;

	(void)state;
	assert_int_equal(memdev_open(&attr, &dev), -EINVAL);
	assert_null(dev);
}

static void create_above_what_is_granted_is_refused(void **state)
{
	struct memdev_attr attr = { 4, 2, 8, 16, 1024 };
	struct ibv_qp_cap cap = { 0 };
	struct memdev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	(void)state;
	assert_int_equal(memdev_open(&attr, &dev), 0);
	assert_int_equal(memdev_cq_create(dev, 0, &cq), -EINVAL);
	assert_int_equal(memdev_cq_create(dev, 17, &cq), -EINVAL);
	assert_int_equal(memdev_cq_create(dev, UINT32_MAX, &cq), -EINVAL);
	assert_int_equal(memdev_cq_create(dev, 16, &cq), 0);
	assert_int_equal(memdev_qp_create(dev, cq, &cap, &qp), -EINVAL);
	cap.max_send_wr = 5;
	assert_int_equal(memdev_qp_create(dev, cq, &cap, &qp), -EINVAL);
	cap.max_send_wr = 4;
	cap.max_send_sge = 3;
	assert_int_equal(memdev_qp_create(dev, cq, &cap, &qp), -EINVAL);
	cap.max_send_sge = 2;
	cap.max_inline_data = 9;
	assert_int_equal(memdev_qp_create(dev, cq, &cap, &qp), -EINVAL);
	cap.max_inline_data = 8;
	assert_int_equal(memdev_qp_create(dev, cq, &cap, &qp), 0);
	assert_ptr_equal(qp->context, memdev_context(dev));
	assert_ptr_equal(qp->send_cq, cq);
	memdev_close(dev);
}

/* -- faults -------------------------------------------------------------- */

static void fail_post_at_the_nth_wr_refuses_it(void **state)
{
	struct fixture *f = *state;
	struct ibv_send_wr *bad_wr = NULL;
	struct request r[4];

	fault_add(f, MEMDEV_FAIL_POST, 5, 0, EFAULT);
	post_chain(f, f->qps[1], 2, 0, IBV_SEND_SIGNALED);
	chain_init(f, r, 4, 10, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_post_send(f->qps[0], &r[0].wr, &bad_wr), EFAULT);
	assert_ptr_equal(bad_wr, &r[2].wr);
	assert_int_equal(ibv_post_send(f->qps[0], bad_wr, &bad_wr), 0);
	assert_int_equal(stats(f).wrs, 6);
}

static void fail_post_with_every_strikes_again(void **state)
{
	struct fixture *f = *state;
	struct request r;
	int i, err;

	fault_add(f, MEMDEV_FAIL_POST, 3, 2, ENOMEM);
	for (i = 1; i <= 9; i++) {
		request_init(f, &r, i, 0, 16);
		err = post(f->qps[0], &r);
		assert_int_equal(err, i >= 3 && i % 2 ? ENOMEM : 0);
	}
}

static void fail_post_with_a_negative_value_sets_errno(void **state)
{
	struct fixture *f = *state;
	struct request r;

	fault_add(f, MEMDEV_FAIL_POST, 1, 0, -ENOSPC);
	request_init(f, &r, 1, 0, 16);
	errno = 0;
	assert_int_equal(post(f->qps[0], &r), -1);
	assert_int_equal(errno, ENOSPC);
}

static void fail_doorbell_takes_some_and_names_none(void **state)
{
	struct memdev_fault fault = { MEMDEV_FAIL_DOORBELL, 2, 0, EIO, 3 };
	struct fixture *f = *state;
	struct ibv_send_wr *bad_wr;
	struct request r[5];
	uint64_t i;

	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	post_chain(f, f->qps[0], 1, 0, IBV_SEND_SIGNALED);
	chain_init(f, r, 5, 1, IBV_SEND_SIGNALED);
	bad_wr = &r[0].wr;
	assert_int_equal(ibv_post_send(f->qps[0], &r[0].wr, &bad_wr), EIO);
	assert_null(bad_wr);
	for (i = 0; i < 4; i++)
		expect_wc(f, i, IBV_WC_SUCCESS);
	expect_none(f);
}

static void fail_doorbell_of_a_short_chain_takes_all(void **state)
{
	struct memdev_fault fault = { MEMDEV_FAIL_DOORBELL, 1, 0, EIO, 100 };
	struct fixture *f = *state;
	struct ibv_send_wr *bad_wr;
	struct request r[2];

	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	chain_init(f, r, 2, 0, 0);
	bad_wr = &r[0].wr;
	assert_int_equal(ibv_post_send(f->qps[0], &r[0].wr, &bad_wr), EIO);
	assert_null(bad_wr);
	assert_int_equal(stats(f).wrs, 2);
}

static void fail_wr_at_the_nth_executed_flushes_later(void **state)
{
	struct fixture *f = *state;

	fault_add(f, MEMDEV_FAIL_WR, 2, 0, IBV_WC_RETRY_EXC_ERR);
	post_chain(f, f->qps[0], 4, 0, 0);
	expect_wc(f, 1, IBV_WC_RETRY_EXC_ERR);
	expect_flushes(f, 2, 2);
	assert_memory_not_equal(f->remote + 16, f->local + 16, 16);
}

static void drop_cqe_loses_just_that_one(void **state)
{
	struct fixture *f = *state;

	fault_add(f, MEMDEV_DROP_CQE, 2, 0, 0);
	post_chain(f, f->qps[0], 4, 0, IBV_SEND_SIGNALED);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	expect_wc(f, 2, IBV_WC_SUCCESS);
	expect_wc(f, 3, IBV_WC_SUCCESS);
	expect_none(f);
	assert_int_equal(stats(f).cqes, 4);
	post_chain(f, f->qps[0], NR_SLOTS, 0, 0);
}

static void fail_poll_returns_the_negative_value(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc;

	fault_add(f, MEMDEV_FAIL_POLL, 1, 2, EIO);
	post_chain(f, f->qps[0], 1, 0, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), -EIO);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), -EIO);
}

static void fail_qp_error_leaves_the_qp_alone(void **state)
{
	struct fixture *f = *state;

	fault_add(f, MEMDEV_FAIL_QP_ERROR, 1, 0, EPERM);
	post_chain(f, f->qps[0], 1, 0, IBV_SEND_SIGNALED);
	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), EPERM);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	assert_int_equal(memdev_qp_error(NULL, f->qps[0]), 0);
	assert_int_equal(f->qps[0]->state, IBV_QPS_ERR);
}

static void fault_counts_from_when_it_was_added(void **state)
{
	struct fixture *f = *state;

	fault_add(f, MEMDEV_FAIL_WR, 100, 0, IBV_WC_FATAL_ERR);
	post_chain(f, f->qps[0], 3, 0, IBV_SEND_SIGNALED);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	fault_add(f, MEMDEV_FAIL_WR, 2, 0, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	expect_wc(f, 2, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void fault_after_clear_does_not_strike(void **state)
{
	struct fixture *f = *state;

	fault_add(f, MEMDEV_FAIL_WR, 1, 1, IBV_WC_FATAL_ERR);
	memdev_fault_clear(f->dev);
	post_chain(f, f->qps[0], 1, 0, IBV_SEND_SIGNALED);
	expect_wc(f, 0, IBV_WC_SUCCESS);
}

static void fault_add_beyond_16_pending_has_no_space(void **state)
{
	struct memdev_fault fault = { MEMDEV_FAIL_POLL, 1, 0, EIO, 0 };
	struct fixture *f = *state;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 16; i++)
		assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
	assert_int_equal(memdev_fault_add(f->dev, &fault), -ENOSPC);
	assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), -EIO);
	assert_int_equal(memdev_fault_add(f->dev, &fault), 0);
}

static void fault_add_of_nonsense_is_refused(void **state)
{
	struct memdev_fault fault = { MEMDEV_FAIL_POLL, 0, 0, EIO, 0 };
	struct fixture *f = *state;

	assert_int_equal(memdev_fault_add(f->dev, &fault), -EINVAL);
	fault.nth = 1;
	fault.value = 0;
	assert_int_equal(memdev_fault_add(f->dev, &fault), -EINVAL);
	fault.value = 1;
	fault.kind = MEMDEV_FAIL_QP_ERROR + 1;
	assert_int_equal(memdev_fault_add(f->dev, &fault), -EINVAL);
}

/* -- schedule and freeze ------------------------------------------------- */

/* Posts on all QPs and polls all; a digest of the order of completion. */
static uint64_t run_interleaved(struct fixture *f, uint64_t seed)
{
	uint64_t digest = 0, next[NR_QPS] = { 0 };
	struct ibv_wc wc;
	int i, got, nr = 0;
	uint32_t qp;

	memdev_schedule(f->dev, seed, 5);
	for (i = 0; i < NR_QPS; i++)
		post_chain(f, f->qps[i], NR_SLOTS, 0, IBV_SEND_SIGNALED);
	while (nr < NR_QPS * NR_SLOTS) {
		got = ibv_poll_cq(f->cq, 1, &wc);
		assert_in_range(got, 0, 1);
		if (!got)
			continue;
		qp = wc.qp_num - f->qps[0]->qp_num;
		assert_int_equal(wc.wr_id, next[qp]++);
		digest = digest * 3 + qp;
		nr++;
	}
	expect_none(f);
	return digest;
}

static void schedule_with_a_seed_mixes_qps_but_not_wrs(void **state)
{
	struct fixture *f = *state;
	uint64_t in_turn, first, second;

	in_turn = run_interleaved(f, 0);
	first = run_interleaved(f, 1);
	second = run_interleaved(f, 2);
	assert_true(first != second);
	assert_true(first != in_turn);
	assert_true(first == run_interleaved(f, 1));
	assert_memory_equal(f->remote, f->local, 16 * NR_SLOTS);
}

static void schedule_executes_at_most_max_per_poll(void **state)
{
	struct fixture *f = *state;
	uint64_t before, done, most = 0;
	struct ibv_wc wc;

	memdev_schedule(f->dev, 7, 3);
	post_chain(f, f->qps[0], NR_SLOTS, 0, 0);
	post_chain(f, f->qps[1], NR_SLOTS, 0, 0);
	while (stats(f).executed < 2 * NR_SLOTS) {
		before = stats(f).executed;
		assert_int_equal(ibv_poll_cq(f->cq, 1, &wc), 0);
		done = stats(f).executed - before;
		most = done > most ? done : most;
	}
	assert_int_equal(most, 3);
}

static void freeze_holds_execution_until_thawed(void **state)
{
	struct fixture *f = *state;
	unsigned char before[16];

	memcpy(before, f->remote, 16);
	memdev_freeze(f->dev, 1);
	post_chain(f, f->qps[0], 2, 0, IBV_SEND_SIGNALED);
	post_chain(f, f->qps[1], 1, 10, 0);
	assert_int_equal(memdev_qp_error(NULL, f->qps[1]), 0);
	expect_none(f);
	assert_memory_equal(f->remote, before, 16);
	memdev_freeze(f->dev, 0);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	expect_wc(f, 10, IBV_WC_WR_FLUSH_ERR);
	expect_wc(f, 1, IBV_WC_SUCCESS);
	expect_none(f);
}

static void stats_count_what_callers_did(void **state)
{
	struct fixture *f = *state;
	struct memdev_stats s;

	post_chain(f, f->qps[0], 4, 0, IBV_SEND_SIGNALED);
	post_chain(f, f->qps[0], 2, 4, 0);
	expect_wc(f, 0, IBV_WC_SUCCESS);
	post_chain(f, f->qps[0], 1, 6, 0);
	s = stats(f);
	assert_int_equal(s.posts, 3);
	assert_int_equal(s.wrs, 7);
	assert_int_equal(s.polls, 1);
	assert_int_equal(s.max_sq_used, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(write_of_any_length_moves_its_bytes),
	TEST(read_of_any_length_moves_its_bytes),
	TEST(write_of_many_sges_gathers_in_order),
	TEST(read_of_many_sges_scatters_in_order),
	TEST(write_onto_itself_moves_as_memmove),
	TEST(write_without_bytes_needs_no_key),
	TEST(write_until_polled_reads_the_buffer_late),
	TEST(inline_write_copies_at_post),
	TEST(wc_of_a_success_tells_the_wr),
	TEST(wrs_of_one_qp_complete_in_order),
	TEST(writes_to_one_place_end_in_order),
	TEST(unsignalled_wr_makes_no_cqe),
	TEST(post_to_a_full_queue_refuses_the_next_wr),
	TEST(slots_until_a_cqe_is_polled_stay_taken),
	TEST(slots_before_a_polled_cqe_are_free),
	TEST(poll_of_a_few_serves_every_qp),
	TEST(poll_of_an_array_fills_it),
	TEST(cq_as_large_as_its_wrs_does_not_overrun),
	TEST(cq_too_small_overruns_and_stays_bad),
	TEST(cq_too_small_for_flushes_overruns),
	TEST(notify_of_a_cq_is_accepted),
	TEST(post_of_an_unknown_opcode_is_refused),
	TEST(post_of_too_many_sges_is_refused),
	TEST(post_of_too_many_inline_bytes_is_refused),
	TEST(post_of_an_inline_read_is_refused),
	TEST(write_with_the_rkey_as_lkey_fails),
	TEST(write_with_the_lkey_as_rkey_fails),
	TEST(write_with_key_zero_fails),
	TEST(write_with_a_key_never_given_fails),
	TEST(write_with_a_key_of_a_free_entry_fails),
	TEST(write_with_a_stale_key_fails),
	TEST(write_after_dereg_while_queued_fails),
	TEST(write_up_to_both_ends_succeeds),
	TEST(write_beyond_the_local_end_fails),
	TEST(write_before_the_local_start_fails),
	TEST(write_beyond_the_remote_end_fails),
	TEST(write_at_a_wrapping_remote_address_fails),
	TEST(read_to_a_wrapping_local_address_fails),
	TEST(wr_longer_than_the_message_limit_fails),
	TEST(wr_whose_length_exceeds_32_bits_fails),
	TEST(rights_of_both_sides_are_needed),
	TEST(inline_write_still_needs_the_rkey),
	TEST(reg_of_a_bad_range_or_right_is_refused),
	TEST(dereg_of_a_key_not_live_is_refused),
	TEST(reg_of_many_regions_keeps_every_key),
	TEST(key_of_an_entry_used_again_differs_126_times),
	TEST(failure_of_an_unsignalled_wr_flushes_all_later),
	TEST(failure_of_one_qp_leaves_the_others),
	TEST(wc_of_a_failure_has_no_opcode),
	TEST(qp_error_with_wrs_queued_flushes_them),
	TEST(qp_error_after_execution_keeps_the_success),
	TEST(post_in_the_error_state_is_taken_and_flushed),
	TEST(qp_destroy_with_cqes_pending_drops_only_its_own),
	TEST(qp_destroy_with_wrs_queued_forgets_them),
	TEST(cq_destroy_while_a_qp_uses_it_is_busy),
	TEST(open_without_attr_grants_the_defaults),
	TEST(open_with_too_large_an_attr_is_refused),
	TEST(create_above_what_is_granted_is_refused),
	TEST(fail_post_at_the_nth_wr_refuses_it),
	TEST(fail_post_with_every_strikes_again),
	TEST(fail_post_with_a_negative_value_sets_errno),
	TEST(fail_doorbell_takes_some_and_names_none),
	TEST(fail_doorbell_of_a_short_chain_takes_all),
	TEST(fail_wr_at_the_nth_executed_flushes_later),
	TEST(drop_cqe_loses_just_that_one),
	TEST(fail_poll_returns_the_negative_value),
	TEST(fail_qp_error_leaves_the_qp_alone),
	TEST(fault_counts_from_when_it_was_added),
	TEST(fault_after_clear_does_not_strike),
	TEST(fault_add_beyond_16_pending_has_no_space),
	TEST(fault_add_of_nonsense_is_refused),
	TEST(schedule_with_a_seed_mixes_qps_but_not_wrs),
	TEST(schedule_executes_at_most_max_per_poll),
	TEST(freeze_holds_execution_until_thawed),
	TEST(stats_count_what_callers_did),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
