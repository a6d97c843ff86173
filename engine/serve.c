// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target. One thread, one poll() loop over the CM's events. A client is
 * all connections that carry the same number in their hello; its memory
 * registration lives until the last of them has gone.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

#define PROBE_EVERY_MS	 10000
#define PROBE_TIMEOUT_MS 20000
#define PROBE_WCS	 16

/* -- events ------------------------------------------------------------------ */

static void on_established(struct server *s, struct conn *conn)
{
	struct client *client = conn->client;
	char peer[CM_ADDR_TEXT];

	if (conn->up)
		return;
	conn->up = true;
	conn->probe_at = cm_now_ms() + PROBE_EVERY_MS;
	client->nr_up++;
	s->stats->qps++;
	if (client->complete || client->nr_up < client->nr_conns)
		return;
	client->complete = true;
	s->stats->clients++;
	cm_addr_text(rdma_get_peer_addr(conn->id), peer);
	info(s, "client %s is here with %u QPs, %u at once now", peer,
	     client->nr_conns, serve_nr_clients(s));
}

/* A shared registration's device goes, and all clients that use it. */
static void on_anchor_gone(struct server *s, struct rdma_cm_id *anchor)
{
	struct export **at = &s->shared;
	struct client *client, *next;
	struct export *export;

	while (*at && (*at)->anchor != anchor)
		at = &(*at)->next;
	export = *at;
	if (!export)
		return;
	for (client = s->clients; client; client = next) {
		next = client->next;
		if (client->export == export)
			serve_client_close(s, client);
	}
	*at = export->next;
	export_free(export);
}

/* Happens only where bindname= ties the listener to one device. */
static int on_listener_gone(struct server *s)
{
	say(s,
	    "the RDMA device of bindname=%s was removed: start the target "
	    "again when it is back",
	    s->conf->bindname ? s->conf->bindname : "(none)");
	return -ENODEV;
}

/* The listener's, or an anchor's. */
static int on_own_event(struct server *s, const struct cm_event *event)
{
	if (event->type != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	if (event->id == s->listener)
		return on_listener_gone(s);
	on_anchor_gone(s, event->id);
	return 0;
}

static void on_conn_event(struct server *s, const struct cm_event *event)
{
	struct conn *conn = event->id->context;

	switch (event->type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(s, conn);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_UNREACHABLE:
		s->stats->lost +=
			conn->client->complete && conn->client->nr_here == 1;
		serve_conn_close(s, conn);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		serve_conn_close(s, conn);
		break;
	default:
		break;
	}
}

static int on_event(struct server *s, const struct cm_event *event)
{
	const struct conn *conn = event->id->context;

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		serve_request(s, event);
	else if (!conn || conn->id != event->id)
		return on_own_event(s, event);
	else
		on_conn_event(s, event);
	return 0;
}

/* -- time ------------------------------------------------------------------- */

static bool is_late(const struct client *client, int64_t now)
{
	return !client->complete && now >= client->deadline;
}

/* Not up in time, or its probe has no answer: a device may retry for ever. */
static bool conn_is_late(const struct conn *conn, int64_t now)
{
	return conn->id && (!conn->up || conn->probing) &&
	       now >= conn->deadline;
}

static void drop_late_conns(struct server *s, struct client *client,
			    int64_t now)
{
	uint32_t left = client->nr_here;
	uint32_t i;

	for (i = 0; left && i < client->nr_conns; i++) {
		struct conn *conn = &client->conns[i];

		if (!conn_is_late(conn, now))
			continue;
		left--;
		serve_conn_lost(s, conn, "it does not answer");
	}
}

/*
 * A target only listens, and so would never learn that a client's host has
 * vanished. A write of no bytes needs no key and touches no memory, but the
 * client's device must answer it; the process may even be stopped.
 */
static void conn_probe(struct conn *conn, int64_t now)
{
	struct ibv_send_wr *bad, probe = {
		.wr_id = (uintptr_t)conn,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	conn->probe_at = now + PROBE_EVERY_MS;
	conn->deadline = now + PROBE_TIMEOUT_MS;
	conn->probing = !ibv_post_send(conn->id->qp, &probe, &bad);
}

static void probe_conns(struct client *client, int64_t now)
{
	uint32_t i;

	for (i = 0; i < client->nr_conns; i++) {
		struct conn *conn = &client->conns[i];

		if (conn->up && !conn->probing && now >= conn->probe_at)
			conn_probe(conn, now);
	}
}

/* False when the client is gone with what was lost. */
static bool probe_ended(struct server *s, const struct ibv_wc *wc)
{
	struct conn *conn = (struct conn *)(uintptr_t)wc->wr_id;
	bool last = conn->client->nr_here == 1;

	if (!conn->probing || wc->qp_num != conn->id->qp->qp_num)
		return true; /* of a QP that was destroyed since */
	conn->probing = false;
	if (wc->status == IBV_WC_SUCCESS)
		return true;
	serve_conn_lost(s, conn, ibv_wc_status_str(wc->status));
	return !last;
}

static void reap_probes(struct server *s, struct client *client)
{
	struct ibv_wc wcs[PROBE_WCS];
	int nr, i;

	do {
		nr = ibv_poll_cq(client->cq, PROBE_WCS, wcs);
		for (i = 0; i < nr; i++)
			if (!probe_ended(s, &wcs[i]))
				return;
	} while (nr == PROBE_WCS);
}

static void probe_clients(struct server *s)
{
	int64_t now = cm_now_ms();
	struct client *client, *next;

	for (client = s->clients; client; client = next) {
		next = client->next;
		probe_conns(client, now);
		reap_probes(s, client);
	}
}

static void drop_late(struct server *s)
{
	int64_t now = cm_now_ms();
	struct client *client, *next;

	for (client = s->clients; client; client = next) {
		next = client->next;
		if (is_late(client, now))
			serve_client_close(s, client);
		else
			drop_late_conns(s, client, now);
	}
}

static bool is_done(const struct server *s)
{
	return serve_is_full(s) && s->nr_gone >= s->conf->clients &&
	       !s->clients;
}

static int take_events(struct server *s)
{
	struct cm_event event;
	int ret;

	while ((ret = cm_next_event(s->channel, &event)) > 0) {
		ret = on_event(s, &event);
		if (ret || s->env->stopping(s->env->arg))
			return ret;
	}
	if (ret)
		say(s, "rdma_get_cm_event() failed: %s", strerror(-ret));
	return ret;
}

static int serve_clients(struct server *s)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	int ret;

	while (!s->env->stopping(s->env->arg) && !is_done(s)) {
		poll(&fd, 1, CM_SLICE_MS);
		ret = take_events(s);
		if (ret)
			return ret;
		/* First: answers may have come while this process stood still. */
		probe_clients(s);
		drop_late(s);
	}
	return 0;
}

/* -- begin and end ----------------------------------------------------------- */

static void stop(struct server *s)
{
	struct export *export;

	if (s->listener)
		rdma_destroy_id(s->listener);
	while (s->clients)
		serve_client_close(s, s->clients);
	while ((export = s->shared)) {
		s->shared = export->next;
		export_free(export);
	}
	rdma_destroy_event_channel(s->channel);
}

int serve(const struct engine_conf *conf, const struct engine_env *env,
	  const struct region_mem *mem, struct serve_stats *stats)
{
	struct server s = {
		.conf = conf,
		.env = env,
		.mem = mem,
		.stats = stats,
	};
	int ret;

	*stats = (struct serve_stats){ 0 };
	ret = gate_init(&s.gate, conf, env, mem);
	if (!ret)
		ret = cm_channel_open(env, &s.channel);
	if (ret)
		return ret;
	ret = export_try(conf, env, mem);
	if (!ret)
		ret = serve_listen(&s);
	if (!ret) {
		stats->served = true;
		ret = serve_clients(&s);
	}
	stop(&s);
	return ret;
}
