// SPDX-License-Identifier: GPL-2.0-only
/* A connection request: who may come in, and with what. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static void refuse(struct server *s, struct rdma_cm_id *id,
		   const struct refusal *refusal)
{
	uint8_t wire[REFUSAL_BYTES];

	/* An initiator with a token is asked once: that is no refusal. */
	if (refusal->reason != REFUSED_CHALLENGE) {
		s->stats->refused++;
		if (serve_may_log(s))
			gate_say(&s->gate, id, refusal);
	}
	refusal_encode(refusal, wire);
	rdma_reject(id, wire, sizeof(wire));
	rdma_destroy_id(id);
}

static int no_resources(struct refusal *no, int err)
{
	no->reason = REFUSED_RESOURCES;
	no->value = (uint64_t)-err;
	return err;
}

static bool same_peer(const struct client *client, struct rdma_cm_id *id)
{
	uint32_t i;

	for (i = 0; i < client->nr_conns; i++)
		if (client->conns[i].id)
			return cm_addr_same_host(
				rdma_get_peer_addr(client->conns[i].id),
				rdma_get_peer_addr(id));
	return false;
}

/* What its clients have announced, whether they are there yet or not. */
static uint32_t nr_qps(const struct server *s)
{
	const struct client *client;
	uint32_t nr = 0;

	for (client = s->clients; client; client = client->next)
		nr += client->nr_conns;
	return nr;
}

/* Is there room for one more client? */
static int check_room(const struct server *s, const struct hello *hello,
		      struct refusal *no)
{
	const struct engine_conf *conf = s->conf;

	if (serve_is_full(s)) {
		no->reason = REFUSED_ENDING;
		return -ECONNREFUSED;
	}
	if (conf->max_clients && serve_nr_clients(s) >= conf->max_clients) {
		no->reason = REFUSED_CLIENTS;
		no->value = conf->max_clients;
		return -EBUSY;
	}
	if (conf->max_qps && nr_qps(s) + hello->nr_lanes > conf->max_qps) {
		no->reason = REFUSED_QPS;
		no->value = conf->max_qps;
		return -EBUSY;
	}
	return 0;
}

/* The connection's place in its client, which is made for the first one. */
static int find_place(struct server *s, struct rdma_cm_id *id,
		      const struct hello *hello, struct refusal *no,
		      struct conn **conn)
{
	struct client *client = serve_client_find(s, hello->client);
	int ret;

	if (!client) {
		ret = check_room(s, hello, no);
		if (ret)
			return ret;
		ret = serve_client_new(s, id, hello, &client);
		if (ret)
			return no_resources(no, ret);
	} else if (client->nr_conns != hello->nr_lanes ||
		   client->verbs != id->verbs || !same_peer(client, id) ||
		   client->conns[hello->lane].id) {
		no->reason = REFUSED_LANE;
		return -EEXIST;
	}
	*conn = &client->conns[hello->lane];
	return 0;
}

static int make_qp(const struct client *client, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.send_cq = client->cq,
		.recv_cq = client->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	return cm_result(rdma_create_qp(id, client->export->pd, &init));
}

static int accept_conn(struct server *s, const struct client *client,
		       const struct cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	const struct export *export = client->export;
	struct welcome welcome = {
		.addr = (uintptr_t)s->mem->addr,
		.bytes = s->mem->bytes,
		.rkey = export->mr->rkey,
		.access = s->conf->access,
	};
	uint8_t wire[WELCOME_BYTES];
	int ret;
	struct rdma_conn_param param = {
		.private_data = wire,
		.private_data_len = sizeof(wire),
		.responder_resources = event->responder_resources,
		.initiator_depth = 0,
		.flow_control = 1,
		.rnr_retry_count = s->conf->rnr_retry,
	};

	ret = cm_set_ack_timeout(s->env, id, s->conf->ack_timeout);
	if (ret)
		return ret;
	if (param.responder_resources > export->max_responder_res)
		param.responder_resources = export->max_responder_res;
	welcome_encode(&welcome, wire);
	ret = gate_prove(&s->gate, event, wire);
	return ret ? ret : cm_result(rdma_accept(id, &param));
}

/* Most often because it has given up while this process was held up. */
static void say_not_accepted(struct server *s, struct rdma_cm_id *id, int err)
{
	char peer[CM_ADDR_TEXT];

	if (!serve_may_log(s))
		return;
	cm_addr_text(rdma_get_peer_addr(id), peer);
	info(s, "cannot accept %s: %s; it may have given up meanwhile", peer,
	     strerror(-err));
}

static int admit(struct server *s, const struct cm_event *event,
		 struct refusal *no)
{
	struct rdma_cm_id *id = event->id;
	struct client *client;
	struct hello hello;
	struct conn *conn;
	int ret;

	ret = gate_check(&s->gate, event, &hello, no);
	if (ret)
		return ret;
	ret = find_place(s, id, &hello, no, &conn);
	if (ret)
		goto undo_proof;
	client = conn->client;
	assert(client);
	ret = make_qp(client, id);
	if (ret)
		goto undo_client;
	id->context = conn;
	ret = accept_conn(s, client, event);
	if (ret) {
		say_not_accepted(s, id, ret);
		goto undo_qp;
	}
	conn->id = id;
	conn->deadline = cm_now_ms() + s->conf->connect_timeout_ms;
	client->nr_here++;
	return 0;
undo_qp:
	rdma_destroy_qp(id);
undo_client:
	if (!client->nr_here) {
		serve_client_unlink(s, client);
		serve_client_free(s, client);
	}
	no_resources(no, ret);
undo_proof:
	gate_forget(&s->gate);
	return ret;
}

void serve_request(struct server *s, const struct cm_event *event)
{
	struct refusal no = { .version = HANDSHAKE_VERSION };

	event->id->context = NULL;
	if (admit(s, event, &no))
		refuse(s, event->id, &no);
}
