// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target. One thread, one poll() loop over the CM's events. A client is
 * all connections that carry the same number in their hello; its memory
 * registration lives until the last of them has gone.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "export.h"
#include "gate.h"
#include "handshake.h"
#include "serve.h"

#define BACKLOG		 1024
#define LOG_EVERY_MS	 1000
#define PROBE_EVERY_MS	 10000
#define PROBE_TIMEOUT_MS 20000
#define PROBE_WCS	 16

struct client;

struct conn {
	struct client *client;
	struct rdma_cm_id *id; /* NULL: not here; its context is the conn */
	int64_t deadline;      /* to be up, or to answer a probe */
	int64_t probe_at;
	bool up;
	bool probing; /* a probe is out */
};

struct client {
	struct client *next;
	uint64_t key;
	struct ibv_context *verbs;
	struct export *export;
	struct ibv_cq *cq; /* of the probes */
	int64_t deadline;  /* to be complete */
	bool complete;	   /* was, once */
	uint32_t nr_here;
	uint32_t nr_up;
	uint32_t nr_conns;
	struct conn conns[];
};

struct server {
	const struct engine_conf *conf;
	const struct engine_env *env;
	const struct region_mem *mem;
	struct serve_stats *stats;
	struct gate gate;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct client *clients;
	struct export *shared;
	int64_t log_at; /* refusals are not logged before */
	uint32_t unlogged;
	uint32_t nr_gone; /* clients that were complete */
};

#define info(s, ...) ((s)->env->info((s)->env->arg, __VA_ARGS__))
#define say(s, ...)  ((s)->env->error((s)->env->arg, __VA_ARGS__))

static const char *access_text(enum conf_access access)
{
	switch (access) {
	case ACCESS_READ:
		return "ro";
	case ACCESS_WRITE:
		return "wo";
	default:
		return "rw";
	}
}

/* Whoever knocks must not be able to fill the log. */
static bool may_log(struct server *s)
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

/* -- clients --------------------------------------------------------------- */

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

static void client_free(struct server *s, struct client *client)
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

static int client_new(struct server *s, struct rdma_cm_id *id,
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
	made->deadline = cm_now_ms() + s->conf->connect_timeout_ms;
	for (i = 0; i < made->nr_conns; i++)
		made->conns[i].client = made;
	ret = client_open(s, made, id);
	if (ret) {
		client_free(s, made);
		return ret;
	}
	made->next = s->clients;
	s->clients = made;
	*client = made;
	return 0;
}

static void client_unlink(struct server *s, struct client *client)
{
	struct client **at = &s->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
}

static uint32_t nr_clients(const struct server *s)
{
	const struct client *client;
	uint32_t nr = 0;

	for (client = s->clients; client; client = client->next)
		nr++;
	return nr;
}

static struct client *client_find(const struct server *s, uint64_t key)
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
		info(s, "client %s has gone, %u left", peer, nr_clients(s));
	else if (may_log(s))
		info(s,
		     "client %s came with too few of its %u QPs and has "
		     "gone",
		     peer, client->nr_conns);
}

/*
 * Ends a connection; with the last one of a client, the client. Its PD and MR
 * go before the last id does, which may close the device.
 */
static void conn_close(struct server *s, struct conn *conn)
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
		client_unlink(s, client);
		client_say_gone(s, client, id);
		s->nr_gone += client->complete;
		client_free(s, client);
	}
	rdma_destroy_id(id);
}

/* Says goodbye on all connections before the first is destroyed. */
static void client_close(struct server *s, struct client *client)
{
	uint32_t left = client->nr_here;
	uint32_t i;

	for (i = 0; i < client->nr_conns; i++)
		if (client->conns[i].id)
			rdma_disconnect(client->conns[i].id);
	for (i = 0; left; i++) {
		if (client->conns[i].id) {
			left--;
			conn_close(s, &client->conns[i]);
		}
	}
}

static void conn_lost(struct server *s, struct conn *conn, const char *why)
{
	struct client *client = conn->client;
	char peer[CM_ADDR_TEXT];

	if (client->complete && client->nr_here == 1)
		s->stats->lost++;
	if (may_log(s)) {
		cm_addr_text(rdma_get_peer_addr(conn->id), peer);
		info(s, "lost a QP of client %s: %s", peer, why);
	}
	conn_close(s, conn);
}

/* -- requests -------------------------------------------------------------- */

static void refuse(struct server *s, struct rdma_cm_id *id,
		   const struct refusal *refusal)
{
	uint8_t wire[REFUSAL_BYTES];

	/* An initiator with a token is asked once: that is no refusal. */
	if (refusal->reason != REFUSED_CHALLENGE) {
		s->stats->refused++;
		if (may_log(s))
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

static bool is_full(const struct server *s)
{
	return s->conf->clients && s->stats->clients >= s->conf->clients;
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

	if (is_full(s)) {
		no->reason = REFUSED_ENDING;
		return -ECONNREFUSED;
	}
	if (conf->max_clients && nr_clients(s) >= conf->max_clients) {
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
	struct client *client = client_find(s, hello->client);
	int ret;

	if (!client) {
		ret = check_room(s, hello, no);
		if (ret)
			return ret;
		ret = client_new(s, id, hello, &client);
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
	uint8_t ack_timeout = s->conf->ack_timeout;
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

	if (ack_timeout)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				&ack_timeout, sizeof(ack_timeout));
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

	if (!may_log(s))
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
		client_unlink(s, client);
		client_free(s, client);
	}
	no_resources(no, ret);
undo_proof:
	gate_forget(&s->gate);
	return ret;
}

static void on_request(struct server *s, const struct cm_event *event)
{
	struct refusal no = { .version = HANDSHAKE_VERSION };

	event->id->context = NULL;
	if (admit(s, event, &no))
		refuse(s, event->id, &no);
}

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
	     client->nr_conns, nr_clients(s));
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
			client_close(s, client);
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
		conn_close(s, conn);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		conn_close(s, conn);
		break;
	default:
		break;
	}
}

static int on_event(struct server *s, const struct cm_event *event)
{
	const struct conn *conn = event->id->context;

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		on_request(s, event);
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
		conn_lost(s, conn, "it does not answer");
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
	conn_lost(s, conn, ibv_wc_status_str(wc->status));
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
			client_close(s, client);
		else
			drop_late_conns(s, client, now);
	}
}

static bool is_done(const struct server *s)
{
	return is_full(s) && s->nr_gone >= s->conf->clients && !s->clients;
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
		drop_late(s);
		probe_clients(s);
	}
	return 0;
}

/* -- begin and end ----------------------------------------------------------- */

static int listen_on(struct server *s, struct sockaddr *addr)
{
	int ret;

	ret = cm_result(
		rdma_create_id(s->channel, &s->listener, NULL, RDMA_PS_TCP));
	if (ret) {
		s->listener = NULL;
		return ret;
	}
	ret = cm_result(rdma_bind_addr(s->listener, addr));
	if (!ret)
		ret = cm_result(rdma_listen(s->listener, BACKLOG));
	if (ret) {
		rdma_destroy_id(s->listener);
		s->listener = NULL;
	}
	return ret;
}

/* Is it the address that is wrong, or the port that is taken? */
static bool is_local_address(struct server *s, const struct sockaddr *addr)
{
	struct sockaddr_storage copy;
	struct rdma_cm_id *id;
	int ret;

	cm_addr_copy(addr, 0, &copy);
	if (rdma_create_id(s->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	ret = rdma_bind_addr(id, (struct sockaddr *)&copy);
	rdma_destroy_id(id);
	return !ret;
}

static int say_unbound(struct server *s, const struct sockaddr *addr, int err)
{
	char text[CM_ADDR_TEXT];

	cm_addr_text(addr, text);
	/* The kernel says so too when one of the two is the any address. */
	if (err == -EADDRNOTAVAIL && is_local_address(s, addr))
		err = -EADDRINUSE;
	switch (err) {
	case -EADDRINUSE:
		say(s,
		    "cannot listen on %s: the port is in use, by another "
		    "RDMA listener (`rdma resource show cm_id`) or by a TCP "
		    "one (`ss -ltn`), which share it: choose another port",
		    text);
		break;
	case -EADDRNOTAVAIL:
		say(s,
		    "cannot listen on %s: it is not an address of this "
		    "host; see `ip addr`",
		    text);
		break;
	case -ENODEV:
		say(s,
		    "cannot listen on %s: it lies on no RDMA device; see "
		    "`rdma link`",
		    text);
		break;
	default:
		say(s, "cannot listen on %s: %s", text, strerror(-err));
	}
	return err;
}

/* IPv6's any address serves IPv4 too, where there is IPv6. */
static int listen_on_any(struct server *s)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(s->conf->port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(s->conf->port),
	};
	int ret;

	ret = listen_on(s, (struct sockaddr *)&six);
	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL)
		ret = listen_on(s, (struct sockaddr *)&four);
	return ret ? say_unbound(s, (struct sockaddr *)&six, ret) : 0;
}

static int start_listening(struct server *s)
{
	const struct engine_conf *conf = s->conf;
	struct cm_addrs addrs;
	struct sockaddr *addr = (struct sockaddr *)&addrs.addr[0];
	int ret;

	if (!conf->bindname)
		return listen_on_any(s);
	ret = cm_lookup(s->env, "bindname", conf->bindname, conf->port,
			cm_now_ms() + conf->connect_timeout_ms, &addrs);
	if (ret)
		return ret;
	ret = listen_on(s, addr);
	return ret ? say_unbound(s, addr, ret) : 0;
}

static void say_listening(struct server *s)
{
	char text[CM_ADDR_TEXT];

	cm_addr_text(rdma_get_local_addr(s->listener), text);
	info(s, "listening on %s, region %" PRIu64 " bytes, access=%s%s", text,
	     s->mem->bytes, access_text(s->conf->access),
	     s->conf->token.nr_bytes ? ", with a token" : "");
}

static void stop(struct server *s)
{
	struct export *export;

	if (s->listener)
		rdma_destroy_id(s->listener);
	while (s->clients)
		client_close(s, s->clients);
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
		ret = start_listening(&s);
	if (!ret) {
		say_listening(&s);
		stats->served = true;
		ret = serve_clients(&s);
	}
	stop(&s);
	return ret;
}
