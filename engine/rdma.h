/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the transport over RDMA share. */
#ifndef ENGINE_RDMA_H
#define ENGINE_RDMA_H

#include "cm.h"
#include "handshake.h"
#include "rdma_device.h"
#include "token.h"

#define RDMA_WHY_TEXT 256

enum lane_state {
	LANE_IDLE,
	LANE_ADDR,
	LANE_ROUTE,
	LANE_CONNECTING,
	LANE_UP,
};

struct lane {
	enum lane_state state;
	struct rdma_cm_id *id; /* its context is the lane */
	int64_t start_at;
	bool answered;		    /* the target's challenge, once */
	bool failed;		    /* an attempt before this one */
	uint8_t hello[HELLO_BYTES]; /* sent last */
	struct token_ends ends;
};

struct rdma {
	struct transport t;
	struct transport_attr attr;
	struct cm_addrs targets;
	struct cm_addrs locals; /* none without bindname */
	uint32_t target;	/* in use, of targets */
	uint32_t unusable;	/* bit mask of targets */
	struct rdma_event_channel *channel;
	struct rdma_device dev;
	struct rdma_cm_id *anchor; /* keeps dev open while lanes come and go */
	struct ibv_mr *mr;
	uint64_t client;
	uint64_t challenge; /* of the target; 0: none yet */
	int64_t deadline;
	uint32_t nr_up;
	uint32_t nr_connecting;
	bool armed;
	int lost; /* said already */
	char peer[CM_ADDR_TEXT];
	char why[RDMA_WHY_TEXT]; /* the last attempt failed */
	int why_error;
	struct lane *lanes;
	struct ibv_qp **qps;
	uint32_t *keys; /* of the target, then of local memory */
};

#define say(r, ...) ((r)->attr.env->error((r)->attr.env->arg, __VA_ARGS__))

static inline uint32_t lane_index(const struct rdma *r, const struct lane *lane)
{
	return (uint32_t)(lane - r->lanes);
}

/*
 * Begins to connect an idle lane. 0, or an error that ends all of it and was
 * said; so with the next one.
 */
int rdma_lane_start(struct rdma *r, struct lane *lane);

/* Takes an event of a lane, or of the anchor, a step further. */
int rdma_lane_event(struct rdma *r, const struct cm_event *event);

/* A lane that has a QP has it no more. */
void rdma_lane_drop_qp(struct rdma *r, struct lane *lane);

/* Says why the target refuses a lane; returns a negative errno for it. */
int rdma_say_refusal(struct rdma *r, const struct lane *lane,
		     const struct refusal *refusal);
void rdma_say_too_small(struct rdma *r, uint64_t bytes);
void rdma_say_no_access(struct rdma *r, uint64_t access);
void rdma_say_version(struct rdma *r, uint16_t version);

#endif /* ENGINE_RDMA_H */
