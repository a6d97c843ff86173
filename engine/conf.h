/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine's settings after validation; knows nothing of fio. */
#ifndef ENGINE_CONF_H
#define ENGINE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "allow.h"
#include "wrb.h"

#define CONF_TOKEN_BYTES 512

enum conf_role { ROLE_INITIATOR, ROLE_TARGET };
enum conf_transport { TRANSPORT_RDMA, TRANSPORT_MEMORY };
enum conf_poll { POLL_BUSY, POLL_EVENT, POLL_ADAPTIVE };
/* What fio's own rdma engine calls the direction; a hint. */
enum conf_verb { VERB_ANY, VERB_WRITE, VERB_READ, VERB_SEND, VERB_RECV };

/* What initiators may do with a target's region. */
enum conf_access {
	ACCESS_READ = 1 << 0,
	ACCESS_WRITE = 1 << 1,
	ACCESS_RW = ACCESS_READ | ACCESS_WRITE,
};

/* The word of access= for it. */
static inline const char *access_text(enum conf_access access)
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

enum conf_region_mem { REGION_MALLOC, REGION_HUGEPAGE, REGION_FILE };

/* A shared secret; nr_bytes 0: there is none. */
struct conf_token {
	uint16_t nr_bytes;
	uint8_t bytes[CONF_TOKEN_BYTES];
};

/* Strings are borrowed from fio's option memory, valid until cleanup. */
struct engine_conf {
	enum conf_role role;
	enum conf_transport transport;
	const char *hostname; /* initiator: the target; name or address */
	const char *bindname; /* local name or address; NULL: any */
	uint16_t port;

	uint32_t qps; /* 1..WRB_MAX_LANES */
	enum wrb_stripe stripe;
	bool merge;
	bool sort;
	uint32_t chunk_bytes;	  /* 0: do not cut */
	uint32_t max_chunks;	  /* 0: no bound */
	uint32_t max_sge;	  /* 0: what is needed, see transport_attr */
	uint32_t signal_interval; /* 0: last of each chain */
	uint32_t inline_bytes;
	uint32_t sq_depth;   /* 0: from iodepth and the device */
	uint32_t rd_atomic;  /* 0: what both devices grant */
	uint32_t read_depth; /* READs in a send queue; 0: as many as fit */
	enum conf_poll poll;
	uint32_t poll_spin_us; /* POLL_ADAPTIVE: before it sleeps */
	enum conf_verb verb;

	uint8_t retry_count; /* 0..7 */
	uint8_t rnr_retry;   /* of the peer's device, 0..7; 7 is for ever */
	uint8_t ack_timeout; /* 4.096 us * 2^n, 0..31; 0: the CM's choice */
	uint8_t tos;
	uint32_t connect_timeout_ms;
	uint32_t io_timeout_ms;

	uint32_t clients;     /* target: ends after so many; 0: never */
	uint32_t max_clients; /* target: at once; 0: no bound */
	uint32_t max_qps;     /* target: of all clients; 0: no bound */
	struct allow allow;   /* target */
	struct conf_token token;
	enum conf_access access;
	bool isolate; /* target: a PD and a registration for each client */
	enum conf_region_mem region_mem;
	const char *region_path; /* REGION_FILE */
	const char *stats_file;	 /* NULL: none */
};

#endif /* ENGINE_CONF_H */
