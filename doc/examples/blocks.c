// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second program of doc/libwrb.md: scattered blocks are pulled from another
 * process in batches over four QPs, as a KV cache moves between LLM hosts.
 *
 *	blocks                  lends memory until an initiator has come and gone
 *	blocks HOST             pulls it, block by block, and looks at each byte
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wrb.h>

#include "connect.h"

#define NR_LANES    4
#define BLOCK_BYTES 4096u
#define NR_BLOCKS   4096u /* a power of two */
#define BATCH	    128u
#define BYTES	    ((size_t)NR_BLOCKS * BLOCK_BYTES)

/* Where block i of the sequence lies: scattered, and another place on each side. */
static uint32_t place(uint32_t i, uint32_t side)
{
	return i * (side ? 2654435761u : 40503u) % NR_BLOCKS;
}

static int create_queue(struct peer *peer, struct wrb_queue **queue)
{
	struct wrb_attr attr;
	int err;

	err = peer_attr(peer, &attr);
	if (err)
		return err;
	attr.max_ops = BATCH;
	attr.stripe = WRB_STRIPE_ROUND_ROBIN;
	return wrb_queue_create(&attr, queue);
}

/* Every lane has a key of its own; here one registration serves all of them. */
static int add_region(struct wrb_queue *queue, enum wrb_side side,
		      uint64_t addr, uint32_t key)
{
	uint32_t keys[NR_LANES] = { key, key, key, key };
	struct wrb_region region = {
		.side = side,
		.addr = addr,
		.length = BYTES,
		.keys = keys,
	};

	return wrb_region_add(queue, &region);
}

static int add_batch(struct wrb_queue *queue, uint32_t first, int local,
		     int remote)
{
	struct wrb_op ops[BATCH];

	for (uint32_t i = 0; i < BATCH; i++) {
		uint64_t from = place(first + i, WRB_REMOTE);
		uint64_t to = place(first + i, WRB_LOCAL);

		ops[i] = (struct wrb_op){
			.local_offset = to * BLOCK_BYTES,
			.remote_offset = from * BLOCK_BYTES,
			.length = BLOCK_BYTES,
			.local = (uint16_t)local,
			.remote = (uint16_t)remote,
			.dir = WRB_READ,
		};
	}
	return wrb_addv(queue, ops, BATCH);
}

/* Hands back how many have ended, or the error of one that failed. */
static int reap(struct wrb_queue *queue)
{
	struct wrb_done done[BATCH];
	int nr = wrb_poll(queue, done, BATCH);

	for (int i = 0; i < nr; i++) {
		if (done[i].error) {
			fprintf(stderr, "a block failed: %s\n",
				ibv_wc_status_str(done[i].status));
			return done[i].error;
		}
	}
	return nr;
}

/* A batch is added when there is room for all of it, so that it stays whole. */
static int pull(struct wrb_queue *queue, int local, int remote)
{
	uint32_t nr_added = 0, nr_done = 0;
	int ret;

	while (nr_done < NR_BLOCKS) {
		if (nr_added < NR_BLOCKS && wrb_room(queue) >= BATCH) {
			ret = add_batch(queue, nr_added, local, remote);
			if (ret < 0)
				return ret;
			nr_added += BATCH;
		}
		ret = wrb_submit(queue);
		if (ret >= 0)
			ret = reap(queue);
		if (ret < 0)
			return ret;
		nr_done += (uint32_t)ret;
	}
	return 0;
}

/* The target's memory: every word is its own offset. */
static void fill(uint64_t *words)
{
	for (size_t i = 0; i < BYTES / sizeof(*words); i++)
		words[i] = i * sizeof(*words);
}

static int compare(const uint64_t *words)
{
	size_t words_per_block = BLOCK_BYTES / sizeof(*words);

	for (uint32_t i = 0; i < NR_BLOCKS; i++) {
		uint64_t to = place(i, WRB_LOCAL) * words_per_block;
		uint64_t from = place(i, WRB_REMOTE) * words_per_block;

		for (size_t k = 0; k < words_per_block; k++) {
			if (words[to + k] != (from + k) * sizeof(*words)) {
				fprintf(stderr, "block %u is wrong\n", i);
				return -EIO;
			}
		}
	}
	return 0;
}

static int pull_all(struct peer *peer, uint64_t *words)
{
	struct wrb_queue *queue;
	struct wrb_stats stats;
	struct ibv_mr *mr;
	int err, local, remote;

	mr = ibv_reg_mr(peer->ids[0]->pd, words, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return -errno;
	err = create_queue(peer, &queue);
	if (err)
		goto undo_reg;
	local = add_region(queue, WRB_LOCAL, (uintptr_t)words, mr->lkey);
	remote = add_region(queue, WRB_REMOTE, peer->remote_addr, peer->rkey);
	err = local < 0 ? local : remote < 0 ? remote : 0;
	if (!err)
		err = pull(queue, local, remote);
	wrb_stats_get(queue, &stats);
	printf("%" PRIu64 " blocks, %" PRIu64 " WRs, %" PRIu64 " doorbells\n",
	       stats.done, stats.wrs, stats.doorbells);
	wrb_queue_destroy(queue);
undo_reg:
	ibv_dereg_mr(mr);
	return err;
}

static int initiator(const char *host, uint64_t *words)
{
	struct peer peer;
	int err;

	err = peer_open(&peer, host, NR_LANES, BATCH + 1);
	if (err)
		return err;
	if (peer.remote_bytes < BYTES)
		err = -ERANGE;
	else
		err = pull_all(&peer, words);
	peer_close(&peer);
	if (!err)
		err = compare(words);
	if (err)
		fprintf(stderr, "the blocks were not pulled: %s\n",
			strerror(-err));
	else
		printf("every block is right\n");
	return err;
}

int main(int argc, char **argv)
{
	uint64_t *words = calloc(1, BYTES);
	int err = -ENOMEM;

	if (words && argc == 2) {
		err = initiator(argv[1], words);
	} else if (words) {
		fill(words);
		err = peer_lend(words, BYTES, NR_LANES);
	}
	free(words);
	return err ? 1 : 0;
}
