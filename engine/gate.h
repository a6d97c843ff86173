/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may come in to a target: looks at a connection request before anything is
 * made for it, by allow=, by the hello, by token=, by what the job needs. Keeps
 * nothing of a request, however many there are.
 */
#ifndef ENGINE_GATE_H
#define ENGINE_GATE_H

#include "cm.h"
#include "conf.h"
#include "env.h"
#include "handshake.h"
#include "region_mem.h"
#include "token.h"

struct gate {
	const struct engine_conf *conf;
	const struct engine_env *env;
	const struct region_mem *mem;
	struct challenger challenger;
};

/* 0, or -errno after one sentence. */
int gate_init(struct gate *gate, const struct engine_conf *conf,
	      const struct engine_env *env, const struct region_mem *mem);

/*
 * 0 and what the request says; or -errno, and why not. No value of a refusal
 * tells anything of the target before a token is proven.
 */
int gate_check(const struct gate *gate, const struct cm_event *request,
	       struct hello *hello, struct refusal *no);

/* Adds this side's proof to the answer. 0 or -errno. */
int gate_prove(const struct gate *gate, const struct cm_event *request,
	       uint8_t welcome[WELCOME_BYTES]);

/*
 * A request that gate_check() let in was turned away after all, or its
 * connection has ended: its proof is not good again.
 */
void gate_forget(struct gate *gate);

/* One line for the log. */
void gate_say(const struct gate *gate, struct rdma_cm_id *id,
	      const struct refusal *refusal);

#endif /* ENGINE_GATE_H */
