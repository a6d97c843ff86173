/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An initiator's objects on one RDMA device: PD, CQ and its channel, and what
 * its QPs are made with. The device itself is librdmacm's; it must stay open
 * (some CM id must be bound to it) until rdma_device_close().
 */
#ifndef ENGINE_RDMA_DEVICE_H
#define ENGINE_RDMA_DEVICE_H

#include <sys/queue.h>

#include "caps.h"

struct rdma_device {
	struct ibv_context *verbs; /* NULL: not open */
	const char *name;
	uint8_t port_num;
	struct caps caps; /* to be granted to every QP: tried out */
	uint64_t max_mr_bytes;
	bool iwarp;
	bool roce;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp; /* NULL with poll=busy */
	struct ibv_cq *cq;
	uint32_t unacked; /* CQ events got and not acknowledged */
	/* Jobs that are threads take each other's events: rdma_device_note(). */
	LIST_ENTRY(rdma_device) link;
	bool listed;
	const char *failed; /* the event by which it failed, or NULL */
};

/*
 * Asks the device what it can do, plans, makes PD and CQ, and finds out with a
 * QP that is destroyed again whether the plan is granted. 0, or -errno after
 * one sentence.
 */
int rdma_device_open(const struct transport_attr *attr,
		     struct ibv_context *verbs, uint8_t port_num,
		     struct rdma_device *dev);

/* Undoes that. QPs and MRs are gone already. Allowed when not open. */
void rdma_device_close(struct rdma_device *dev);

/* What a lane's QP is made with. */
void rdma_device_qp_attr(const struct rdma_device *dev,
			 struct ibv_qp_init_attr *init);

/* Registers local memory. 0, or -errno after one sentence. */
int rdma_device_reg(struct rdma_device *dev, const struct engine_env *env,
		    void *addr, size_t length, struct ibv_mr **mr);

/* Takes an event off the CQ channel, one for each arming; false: there is none. */
bool rdma_device_cq_events(struct rdma_device *dev);

/* Whom rdma_device_note() may find; done by open and close. Any thread. */
void rdma_device_list(struct rdma_device *dev);
void rdma_device_unlist(struct rdma_device *dev);

/*
 * Notes an asynchronous event with whoever it is about: librdmacm opens a device
 * once a process, so it may be another job's, which sleeps or spins on another
 * thread. To be called before the event is acknowledged: until then its CQ or QP
 * is there. A QP is ours whose qp_context is a struct rdma_device that is listed;
 * others, of a target or another engine, are left alone. Any thread.
 */
void rdma_device_note(const struct ibv_context *verbs,
		      const struct ibv_async_event *event);

/* The event by which the device, our CQ or one of our QPs failed, or NULL. */
const char *rdma_device_failed(const struct rdma_device *dev);

#endif /* ENGINE_RDMA_DEVICE_H */
