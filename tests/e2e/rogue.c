// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer that misbehaves, over raw librdmacm: attacks a target as a client
 * would, or plays a target that initiators regret. Takes no part in any test
 * by itself; see guest-rogue.sh and guest-security.sh.
 *
 *	rogue list clients|targets	the cases' names, one a line
 *	rogue client ADDRESS PORT CASE	0 when the target answered as it should
 *	rogue target PORT		all targets until killed, case number
 *					N at PORT + N
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rogue.h"

#define MAX_QP_NUM 0xffffff

void die(const char *what)
{
	fprintf(stderr, "rogue: %s: %s\n", what, strerror(errno));
	exit(2);
}

int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

struct rdma_event_channel *open_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel)
		die("rdma_create_event_channel()");
	return channel;
}

uint32_t some_qp_num(void)
{
	static uint32_t nr_calls;
	static uint32_t base;

	if (!base)
		base = (uint32_t)now_ms() * 16;
	return (base + ++nr_calls) & MAX_QP_NUM;
}

void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 8,
		},
	};

	if (rdma_create_qp(id, NULL, &init))
		die("rdma_create_qp()");
}

void spoil_message(const struct spoil *spoil, struct message *message)
{
	unsigned int i = spoil->width;
	uint64_t value = spoil->value;

	for (; i; i--, value >>= 8)
		message->wire[spoil->at + i - 1] = (uint8_t)value;
	message->bytes = spoil->bytes;
}

static int list(const char *(*name)(size_t))
{
	size_t i;

	for (i = 0; name(i); i++)
		printf("%s\n", name(i));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "client"))
		return rogue_client(argv[2], argv[3], argv[4]);
	if (argc == 3 && !strcmp(argv[1], "target"))
		return rogue_target((uint16_t)atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "list"))
		return list(strcmp(argv[2], "clients") ? rogue_target_name
						       : rogue_client_name);
	fprintf(stderr, "usage: rogue list|client|target ..., see rogue.c\n");
	return 2;
}
