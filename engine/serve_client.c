// SPDX-License-Identifier: GPL-2.0-only
/* The target's clients: their registrations and connections, and their ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

#define LOG_EVERY_MS 1000

bool serve_may_log(struct server *s)
{
	int64_t now = cm_now_ms();

	if (now < s->log_at) {
		s->unlogged++;
		return false;
	}
	s->log_at = now + LOG_EVERY_MS;
	if (s->unlogged)
		info(s, "%u more refusals were not shown", s->unlogged);
	s->unlogged = 0;
	return true;
}

static int export_shared(struct server *s, struct rdma_cm_id *id,
			 struct export **export)
{
	struct export *made;
	int ret;

	for (made = s->shared; made; made = made->next) {
		if (made->pd->context == id->verbs) {
			*export = made;
			return 0;
		}
	}
	ret = export_new(id->verbs, s->mem, s->conf->access, &made);
	if (ret)
		return ret;
	ret = export_anchor(made, s->channel, id);
	if (ret) {
		export_free(made);
		return ret;
	}
	made->next = s->shared;
	s->shared = made;
	*export = made;
	return 0;
}

void serve_client_free(struct server *s, struct client *client)
{
	if (client->cq)
		ibv_destroy_cq(client->cq);
	if (client->export && s->conf->isolate)
		export_free(client->export);
	free(client);
}

static int client_open(struct server *s, struct client *client,
		       struct rdma_cm_id *id)
{
	int ret;

	client->cq =
		ibv_create_cq(id->verbs, (int)client->nr_conns, NULL, NULL, 0);
	if (!client->cq)
		return cm_result(-1);
	if (s->conf->isolate)
		ret = export_new(id->verbs, s->mem, s->conf->access,
				 &client->export);
	else
		ret = export_shared(s, id, &client->export);
	return ret;
}

int serve_client_new(struct server *s, struct rdma_cm_id *id,
		     const struct hello *hello, struct client **client)
{
	struct client *made;
	uint32_t i;
	int ret;

	made = calloc(1,
		      sizeof(*made) + hello->nr_lanes * sizeof(made->conns[0]));
	if (!made)
		return -ENOMEM;
	made->key = hello->client;
	made->verbs = id->verbs;
	made->nr_conns = hello->nr_lanes;
	for (i = 0; i < made->nr_conns; i++)
		made->conns[i].client = made;
	ret = client_open(s, made, id);
	if (ret) {
		serve_client_free(s, made);
		return ret;
	}
	/* Pinning a large region takes its time, which is not the client's. */
	made->deadline = cm_now_ms() + s->conf->connect_timeout_ms;
	made->next = s->clients;
	s->clients = made;
	*client = made;
	return 0;
}

void serve_client_unlink(struct server *s, struct client *client)
{
	struct client **at = &s->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
}

uint32_t serve_nr_clients(const struct server *s)
{
	const struct client *client;
	uint32_t nr = 0;

	for (client = s->clients; client; client = client->next)
		nr++;
	return nr;
}

struct client *serve_client_find(const struct server *s, uint64_t key)
{
	struct client *client = s->clients;

	while (client && client->key != key)
		client = client->next;
	return client;
}

static void client_say_gone(struct server *s, const struct client *client,
			    struct rdma_cm_id *id)
{
	char peer[CM_ADDR_TEXT];

	cm_addr_text(rdma_get_peer_addr(id), peer);
	if (client->complete)
		info(s, "client %s has gone, %u left", peer,
		     serve_nr_clients(s));
	else if (serve_may_log(s))
		info(s,
		     "client %s came with too few of its %u QPs and has "
		     "gone",
		     peer, client->nr_conns);
}

void serve_conn_close(struct server *s, struct conn *conn)
{
	struct client *client = conn->client;
	struct rdma_cm_id *id = conn->id;

	if (conn->up)
		client->nr_up--;
	client->nr_here--;
	conn->id = NULL;
	conn->up = false;
	conn->probing = false;
	gate_forget(&s->gate);
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	if (!client->nr_here) {
		serve_client_unlink(s, client);
		client_say_gone(s, client, id);
		s->nr_gone += client->complete;
		serve_client_free(s, client);
	}
	rdma_destroy_id(id);
}

void serve_client_close(struct server *s, struct client *client)
{
	uint32_t left = client->nr_here;
	uint32_t i;

	for (i = 0; i < client->nr_conns; i++)
		if (client->conns[i].id)
			rdma_disconnect(client->conns[i].id);
	for (i = 0; left; i++) {
		if (client->conns[i].id) {
			left--;
			serve_conn_close(s, &client->conns[i]);
		}
	}
}

void serve_conn_lost(struct server *s, struct conn *conn, const char *why)
{
	struct client *client = conn->client;
	char peer[CM_ADDR_TEXT];

	if (client->complete && client->nr_here == 1)
		s->stats->lost++;
	if (serve_may_log(s)) {
		cm_addr_text(rdma_get_peer_addr(conn->id), peer);
		info(s, "lost a QP of client %s: %s", peer, why);
	}
	serve_conn_close(s, conn);
}
