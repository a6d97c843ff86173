// SPDX-License-Identifier: GPL-2.0-only
/* For the programs of doc/libwrb.md: see connect.h. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "connect.h"

#define PORT "7475"

/* What a target tells whoever connects, big-endian. */
struct lent {
	uint64_t addr;
	uint64_t bytes;
	uint64_t rkey;
};

static int fail(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "%s: %s\n", what, strerror(err));
	return -err;
}

static int resolve(const char *host, struct rdma_addrinfo **info)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_flags = host ? 0 : RAI_PASSIVE,
	};

	if (rdma_getaddrinfo(host, PORT, &hints, info))
		return fail(errno == ENODEV ? "there is no RDMA device"
					    : "the address is not found");
	return 0;
}

static int create_qp(struct rdma_cm_id *id, struct ibv_cq *cq, uint32_t nr_wrs)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = nr_wrs,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &attr) ? fail("no queue pair") : 0;
}

/* As many READs at once as both devices have. */
static struct rdma_conn_param conn_param(const struct lent *lent)
{
	return (struct rdma_conn_param){
		.private_data = lent,
		.private_data_len = lent ? sizeof(*lent) : 0,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static int read_lent(struct peer *peer, const struct rdma_conn_param *param)
{
	struct lent lent;

	if (param->private_data_len < sizeof(lent)) {
		errno = EPROTO;
		return fail("the peer lends nothing");
	}
	memcpy(&lent, param->private_data, sizeof(lent));
	peer->remote_addr = be64toh(lent.addr);
	peer->remote_bytes = be64toh(lent.bytes);
	peer->rkey = (uint32_t)be64toh(lent.rkey);
	return 0;
}

/* The CQ needs the device, which is known once the first address is resolved. */
static int connect_lane(struct peer *peer, struct rdma_addrinfo *info,
			uint32_t nr_cqes)
{
	struct rdma_conn_param param = conn_param(NULL);
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_ep(&id, info, NULL, NULL))
		return fail("the target is not reached by RDMA");
	peer->ids[peer->nr_lanes] = id;
	if (!peer->cq)
		peer->cq =
			ibv_create_cq(id->verbs, (int)nr_cqes, NULL, NULL, 0);
	if (!peer->cq)
		return fail("no completion queue");
	err = create_qp(id, peer->cq, peer->depth);
	if (err)
		return err;
	if (rdma_connect(id, &param))
		return fail("the target does not answer");
	peer->qps[peer->nr_lanes++] = id->qp;
	return read_lent(peer, &id->event->param.conn);
}

int peer_open(struct peer *peer, const char *host, uint32_t nr_lanes,
	      uint32_t depth)
{
	struct rdma_addrinfo *info;
	int err;

	*peer = (struct peer){ .depth = depth };
	err = resolve(host, &info);
	if (err)
		return err;
	while (!err && peer->nr_lanes < nr_lanes)
		err = connect_lane(peer, info, nr_lanes * depth);
	rdma_freeaddrinfo(info);
	if (err)
		peer_close(peer);
	return err;
}

int peer_attr(struct peer *peer, struct wrb_attr *attr)
{
	int err;

	wrb_attr_init(attr);
	attr->qps = peer->qps;
	attr->nr_qps = peer->nr_lanes;
	attr->cq = peer->cq;
	err = wrb_limits_query(peer->qps[0], peer->ids[0]->port_num,
			       &attr->limits);
	/* The CQ was made for so many, whatever else the device granted. */
	attr->limits.max_send_wr = peer->depth;
	return err;
}

void peer_close(struct peer *peer)
{
	for (uint32_t i = 0; i < MAX_LANES; i++) {
		if (peer->qps[i])
			rdma_disconnect(peer->ids[i]);
		if (peer->ids[i])
			rdma_destroy_ep(peer->ids[i]);
	}
	if (peer->cq)
		ibv_destroy_cq(peer->cq);
	*peer = (struct peer){ 0 };
}

/*
 * All connections of a device share librdmacm's protection domain, and so a key
 * of one of them is good on all.
 */
static int accept_lane(struct rdma_cm_id *id, void *memory, size_t bytes,
		       struct ibv_mr **mr)
{
	struct rdma_conn_param param;
	struct lent lent;
	int err;

	if (!*mr)
		*mr = ibv_reg_mr(id->pd, memory, bytes,
				 IBV_ACCESS_LOCAL_WRITE |
					 IBV_ACCESS_REMOTE_READ |
					 IBV_ACCESS_REMOTE_WRITE);
	if (!*mr)
		return fail("the memory is not registered");
	err = create_qp(id, NULL, 1);
	if (err)
		return err;
	lent = (struct lent){
		.addr = htobe64((uintptr_t)memory),
		.bytes = htobe64(bytes),
		.rkey = htobe64((*mr)->rkey),
	};
	param = conn_param(&lent);
	return rdma_accept(id, &param) ? fail("no connection") : 0;
}

static void wait_until_gone(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	int gone = 0;

	while (!gone && !rdma_get_cm_event(id->channel, &event)) {
		gone = event->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(event);
	}
}

static int serve(struct rdma_cm_id *listener, void *memory, size_t bytes,
		 uint32_t nr_lanes)
{
	struct rdma_cm_id *ids[MAX_LANES] = { NULL };
	struct ibv_mr *mr = NULL;
	uint32_t nr = 0;
	int err = 0;

	for (; !err && nr < nr_lanes; nr++) {
		if (rdma_get_request(listener, &ids[nr]))
			err = fail("no request");
		else
			err = accept_lane(ids[nr], memory, bytes, &mr);
	}
	/* Destroying an end answers the peer, which waits for that. */
	for (uint32_t i = 0; i < nr && ids[i]; i++) {
		if (!err)
			wait_until_gone(ids[i]);
		rdma_destroy_ep(ids[i]);
	}
	if (mr)
		ibv_dereg_mr(mr);
	return err;
}

int peer_lend(void *memory, size_t bytes, uint32_t nr_lanes)
{
	struct rdma_addrinfo *info;
	struct rdma_cm_id *listener;
	int err;

	err = resolve(NULL, &info);
	if (err)
		return err;
	if (rdma_create_ep(&listener, info, NULL, NULL)) {
		err = fail("no RDMA device to listen on");
		goto undo_resolve;
	}
	if (rdma_listen(listener, (int)nr_lanes)) {
		err = fail("port " PORT " cannot be listened on");
		goto undo_create;
	}
	printf("lends %zu bytes at port " PORT "\n", bytes);
	fflush(stdout);
	err = serve(listener, memory, bytes, nr_lanes);
undo_create:
	rdma_destroy_ep(listener);
undo_resolve:
	rdma_freeaddrinfo(info);
	return err;
}
