/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the target share. */
#ifndef ENGINE_SERVER_H
#define ENGINE_SERVER_H

#include "cm.h"
#include "export.h"
#include "gate.h"
#include "handshake.h"
#include "serve.h"

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

/*
 * Whether a refusal may be logged now: whoever knocks must not be able to fill
 * the log.
 */
bool serve_may_log(struct server *s);

uint32_t serve_nr_clients(const struct server *s);

/* All of clients= have come. */
static inline bool serve_is_full(const struct server *s)
{
	return s->conf->clients && s->stats->clients >= s->conf->clients;
}

/* The client whose connections carry this number, or NULL. */
struct client *serve_client_find(const struct server *s, uint64_t key);

/* A client with its registration, not linked yet; 0 or -errno. */
int serve_client_new(struct server *s, struct rdma_cm_id *id,
		     const struct hello *hello, struct client **client);

/* A client without connections. */
void serve_client_free(struct server *s, struct client *client);
void serve_client_unlink(struct server *s, struct client *client);

/* Says goodbye on all connections before the first is destroyed. */
void serve_client_close(struct server *s, struct client *client);

/*
 * Ends a connection; with the last one of a client, the client. Its PD and MR
 * go before the last id does, which may close the device.
 */
void serve_conn_close(struct server *s, struct conn *conn);

/* The same for one that ended without a goodbye, and says why. */
void serve_conn_lost(struct server *s, struct conn *conn, const char *why);

/* Takes a connection request: accepts or refuses it. */
void serve_request(struct server *s, const struct cm_event *event);

/* Listens on bindname, or on all addresses, and says so; 0, or -errno, said. */
int serve_listen(struct server *s);

#endif /* ENGINE_SERVER_H */
