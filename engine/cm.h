/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * librdmacm as both sides need it: nothing waits, every event is copied and
 * acknowledged at once (so that no rdma_destroy_id() waits for it), names are
 * looked up within a deadline.
 */
#ifndef ENGINE_CM_H
#define ENGINE_CM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "env.h"

/* How long a wait may last before env->stopping() is asked again. */
#define CM_SLICE_MS	 50
#define CM_MAX_ADDRS	 8
#define CM_ADDR_TEXT	 96
#define CM_HINT_TEXT	 192
#define CM_PRIVATE_BYTES 256

/* Monotonic. */
int64_t cm_now_ms(void);

/* 0 or -errno, from calls that return -1 with errno, an errno, or -errno. */
int cm_result(int ret);

/* "10.0.0.1:7471", "[fe80::1%eth0]:7471". */
void cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT]);

/* The same address, whatever the port. */
bool cm_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);

void cm_addr_copy(const struct sockaddr *addr, uint16_t port,
		  struct sockaddr_storage *copy);

struct cm_addrs {
	uint32_t nr;
	struct sockaddr_storage addr[CM_MAX_ADDRS];
};

/*
 * Looks a name or an address up. 0, or -errno after one sentence; option is
 * the setting that the name comes from.
 */
int cm_lookup(const struct engine_env *env, const char *option,
	      const char *name, uint16_t port, int64_t deadline,
	      struct cm_addrs *addrs);

/* A channel whose fd does not block. 0, or -errno after one sentence. */
int cm_channel_open(const struct engine_env *env,
		    struct rdma_event_channel **channel);

/*
 * 4.096 us * 2^timeout, or 0 to leave it to the kernel, for the QP of this id, or
 * just to try. 0, or -errno after one sentence.
 */
int cm_set_ack_timeout(const struct engine_env *env, struct rdma_cm_id *id,
		       uint8_t timeout);

struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	uint8_t responder_resources; /* as the man page of rdma_get_cm_event */
	uint8_t initiator_depth;
	uint8_t private_len;
	uint8_t private_data[CM_PRIVATE_BYTES];
};

/* 1 and an event, 0: there is none, or -errno. */
int cm_next_event(struct rdma_event_channel *channel, struct cm_event *event);

/*
 * After ENOMEM, where locked memory is limited: the limits and how to raise them;
 * else "".
 */
const char *cm_memlock_hint(int err, char text[CM_HINT_TEXT]);

#endif /* ENGINE_CM_H */
