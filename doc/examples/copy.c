// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program of doc/libwrb.md: a text goes to another process by RDMA
 * WRITE and comes back by RDMA READ.
 *
 *	copy                    lends memory until an initiator has come and gone
 *	copy HOST TEXT          writes TEXT to it and reads it back
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <wrb.h>

#include "connect.h"

#define DEPTH 8

/* The first half is written to the target, the second takes what comes back. */
static char memory[2][64];

static int create_queue(struct peer *peer, struct wrb_queue **queue)
{
	struct wrb_attr attr;
	int err;

	err = peer_attr(peer, &attr);
	if (err)
		return err;
	attr.max_ops = DEPTH;
	return wrb_queue_create(&attr, queue);
}

static int add_regions(struct wrb_queue *queue, const struct peer *peer,
		       const struct ibv_mr *mr, struct wrb_op *op)
{
	struct wrb_region local = {
		.side = WRB_LOCAL,
		.addr = (uintptr_t)mr->addr,
		.length = mr->length,
		.keys = &mr->lkey,
	};
	struct wrb_region remote = {
		.side = WRB_REMOTE,
		.addr = peer->remote_addr,
		.length = peer->remote_bytes,
		.keys = &peer->rkey,
	};
	int local_id = wrb_region_add(queue, &local);
	int remote_id = wrb_region_add(queue, &remote);

	if (local_id < 0 || remote_id < 0)
		return local_id < 0 ? local_id : remote_id;
	op->local = (uint16_t)local_id;
	op->remote = (uint16_t)remote_id;
	return 0;
}

/* Stages one operation, posts it, and polls until it has ended. */
static int run(struct wrb_queue *queue, const struct wrb_op *op)
{
	struct wrb_done done;
	int ret;

	ret = wrb_add(queue, op);
	if (ret)
		return ret;
	do {
		ret = wrb_submit(queue);
		if (ret >= 0)
			ret = wrb_poll(queue, &done, 1);
	} while (!ret);
	if (ret < 0)
		return ret;
	if (done.error)
		fprintf(stderr, "the operation failed: %s\n",
			ibv_wc_status_str(done.status));
	return done.error;
}

static int write_and_read(struct wrb_queue *queue, const struct peer *peer,
			  const struct ibv_mr *mr)
{
	struct wrb_op op = { .length = sizeof(memory[0]) };
	int err;

	err = add_regions(queue, peer, mr, &op);
	if (err)
		return err;
	op.dir = WRB_WRITE;
	err = run(queue, &op);
	if (err)
		return err;
	op.dir = WRB_READ;
	op.local_offset = sizeof(memory[0]);
	return run(queue, &op);
}

static int copy(struct peer *peer)
{
	struct wrb_queue *queue;
	struct ibv_mr *mr;
	int err;

	mr = ibv_reg_mr(peer->ids[0]->pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return -errno;
	err = create_queue(peer, &queue);
	if (err)
		goto undo_reg;
	err = write_and_read(queue, peer, mr);
	wrb_queue_destroy(queue);
undo_reg:
	ibv_dereg_mr(mr);
	return err;
}

static int initiator(const char *host, const char *text)
{
	struct peer peer;
	int err;

	snprintf(memory[0], sizeof(memory[0]), "%s", text);
	err = peer_open(&peer, host, 1, DEPTH + 1);
	if (err)
		return err;
	err = copy(&peer);
	peer_close(&peer);
	if (err)
		fprintf(stderr, "nothing was copied: %s\n", strerror(-err));
	else
		printf("came back: %s\n", memory[1]);
	return err;
}

static int target(void)
{
	int err = peer_lend(memory[0], sizeof(memory[0]), 1);

	if (!err)
		printf("was written: %s\n", memory[0]);
	return err;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return target() ? 1 : 0;
	if (argc == 3)
		return initiator(argv[1], argv[2]) ? 1 : 0;
	fprintf(stderr, "usage: copy [HOST TEXT]\n");
	return 2;
}
