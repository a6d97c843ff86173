/* SPDX-License-Identifier: GPL-2.0-only */
/* A target's region as one device knows it: for one client, or shared. */
#ifndef ENGINE_EXPORT_H
#define ENGINE_EXPORT_H

#include <rdma/rdma_cma.h>

#include "conf.h"
#include "env.h"
#include "region_mem.h"

struct export
{
	struct export *next; /* the owner's */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct rdma_cm_id *anchor; /* see export_anchor() */
	uint8_t max_responder_res; /* READs that a QP can serve at once */
};

/*
 * Registers mem with no more rights than access. 0, or -errno without a word:
 * -EFBIG: it is more than the device registers at once; -ENOMEM may be the
 * limit on locked memory.
 */
int export_new(struct ibv_context *verbs, const struct region_mem *mem,
	       enum conf_access access, struct export **export);

/*
 * Keeps the export's device open, which is that of id, until export_free(), by
 * a CM id of its own: so that it may outlive its first client.
 */
int export_anchor(struct export *export, struct rdma_event_channel *channel,
		  struct rdma_cm_id *id);

/* The QPs in its PD are gone already. */
void export_free(struct export *export);

/*
 * Will any device take this memory at all? Better told when the target starts
 * than to each client. 0, or -errno after one sentence.
 */
int export_try(const struct engine_conf *conf, const struct engine_env *env,
	       const struct region_mem *mem);

#endif /* ENGINE_EXPORT_H */
