// SPDX-License-Identifier: GPL-2.0-only
/* Defines calls of librdmacm and libibverbs in front of the libraries' own. */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#undef ibv_reg_mr
#undef ibv_query_port

static struct shim own;
struct shim *shim = &own;

void shim_arm(struct shim *state, uint32_t nth, const char *always)
{
	state->failed[0] = '\0';
	strncpy(state->always, always ? always : "", SHIM_NAME - 1);
	state->nr_calls = 0;
	state->fail_at = nth;
}

void shim_disarm(struct shim *state)
{
	state->fail_at = 0;
	state->always[0] = '\0';
}

static bool fails(const char *name, int err)
{
	uint32_t nr = ++shim->nr_calls;

	if (nr != shim->fail_at && strcmp(name, shim->always) != 0)
		return false;
	strncpy(shim->failed, name, SHIM_NAME - 1);
	errno = err;
	return true;
}

static void held(int nr)
{
	__atomic_add_fetch(&shim->nr_held, nr, __ATOMIC_RELAXED);
}

/* The library's own function. */
#define NEXT(name)                                      \
	({                                              \
		static typeof(name) *next;              \
		if (!next)                              \
			next = dlsym(RTLD_NEXT, #name); \
		if (!next)                              \
			abort();                        \
		next;                                   \
	})

/* Calls that return what they make, or NULL. */
#define MAKES(type, name, params, args)   \
	type name params                  \
	{                                 \
		type made;                \
                                          \
		if (fails(#name, ENOMEM)) \
			return NULL;      \
		made = NEXT(name) args;   \
		held(made != NULL);       \
		return made;              \
	}

/* Calls that return 0, or `ret` for a failure, with errno. */
#define ANSWERS(name, params, args, ret)  \
	int name params                   \
	{                                 \
		if (fails(#name, ENOMEM)) \
			return ret;       \
		return NEXT(name) args;   \
	}

/* Calls that destroy what one of MAKES has made. */
#define DESTROYS(name, param, arg)        \
	int name param                    \
	{                                 \
		int ret = NEXT(name) arg; \
                                          \
		held(-!ret);              \
		return ret;               \
	}

#define PLAIN(type, name, params, args)   \
	type name params                  \
	{                                 \
		if (fails(#name, ENOMEM)) \
			return NULL;      \
		return NEXT(name) args;   \
	}

PLAIN(struct ibv_device **, ibv_get_device_list, (int *nr), (nr))
/* librdmacm keeps its devices open for as long as it likes. */
PLAIN(struct ibv_context *, ibv_open_device, (struct ibv_device * device),
      (device))
MAKES(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context), (context))
DESTROYS(ibv_dealloc_pd, (struct ibv_pd * pd), (pd))
MAKES(struct ibv_comp_channel *, ibv_create_comp_channel,
      (struct ibv_context * context), (context))
DESTROYS(ibv_destroy_comp_channel, (struct ibv_comp_channel * channel),
	 (channel))
MAKES(struct ibv_cq *, ibv_create_cq,
      (struct ibv_context * context, int cqe, void *cq_context,
       struct ibv_comp_channel *channel, int vector),
      (context, cqe, cq_context, channel, vector))
DESTROYS(ibv_destroy_cq, (struct ibv_cq * cq), (cq))
MAKES(struct ibv_qp *, ibv_create_qp,
      (struct ibv_pd * pd, struct ibv_qp_init_attr *attr), (pd, attr))
DESTROYS(ibv_destroy_qp, (struct ibv_qp * qp), (qp))
/* Goes through the next one, which counts. */
PLAIN(struct ibv_mr *, ibv_reg_mr,
      (struct ibv_pd * pd, void *addr, size_t length, int access),
      (pd, addr, length, access))
MAKES(struct ibv_mr *, ibv_reg_mr_iova2,
      (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova,
       unsigned int access),
      (pd, addr, length, iova, access))
DESTROYS(ibv_dereg_mr, (struct ibv_mr * mr), (mr))
ANSWERS(ibv_query_device,
	(struct ibv_context * context, struct ibv_device_attr *attr),
	(context, attr), ENOMEM)
ANSWERS(ibv_query_qp,
	(struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask,
	 struct ibv_qp_init_attr *init),
	(qp, attr, mask, init), ENOMEM)
ANSWERS(ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
	(qp, attr, mask), ENOMEM)

MAKES(struct rdma_event_channel *, rdma_create_event_channel, (void), ())
ANSWERS(rdma_bind_addr, (struct rdma_cm_id * id, struct sockaddr *addr),
	(id, addr), -1)
ANSWERS(rdma_listen, (struct rdma_cm_id * id, int backlog), (id, backlog), -1)
ANSWERS(rdma_resolve_addr,
	(struct rdma_cm_id * id, struct sockaddr *from, struct sockaddr *to,
	 int timeout_ms),
	(id, from, to, timeout_ms), -1)
ANSWERS(rdma_resolve_route, (struct rdma_cm_id * id, int timeout_ms),
	(id, timeout_ms), -1)
ANSWERS(rdma_create_qp,
	(struct rdma_cm_id * id, struct ibv_pd *pd,
	 struct ibv_qp_init_attr *attr),
	(id, pd, attr), -1)
ANSWERS(rdma_connect, (struct rdma_cm_id * id, struct rdma_conn_param *param),
	(id, param), -1)
ANSWERS(rdma_accept, (struct rdma_cm_id * id, struct rdma_conn_param *param),
	(id, param), -1)
ANSWERS(rdma_reject, (struct rdma_cm_id * id, const void *data, uint8_t length),
	(id, data, length), -1)
ANSWERS(rdma_set_option,
	(struct rdma_cm_id * id, int level, int option, void *value,
	 size_t length),
	(id, level, option, value, length), -1)

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	NEXT(rdma_destroy_event_channel)(channel);
	held(-1);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space space)
{
	int ret;

	if (fails("rdma_create_id", ENOMEM))
		return -1;
	ret = NEXT(rdma_create_id)(channel, id, context, space);
	held(!ret);
	return ret;
}

DESTROYS(rdma_destroy_id, (struct rdma_cm_id * id), (id))

/* -- calls that go through the device's context ----------------------------- */

static typeof(((struct verbs_context *)0)->query_port) device_query_port;
static typeof(((struct verbs_context *)0)->query_device_ex) device_query_ex;

static int query_port(struct ibv_context *context, uint8_t port,
		      struct ibv_port_attr *attr, size_t bytes)
{
	if (fails("ibv_query_port", ENOMEM))
		return ENOMEM;
	return device_query_port(context, port, attr, bytes);
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t bytes)
{
	if (fails("ibv_query_device_ex", ENOMEM))
		return ENOMEM;
	return device_query_ex(context, input, attr, bytes);
}

/* All devices here are of one kind. */
static void stand_before(struct ibv_context *context)
{
	struct verbs_context *verbs = verbs_get_ctx(context);

	if (!verbs || verbs->query_port == query_port)
		return;
	device_query_port = verbs->query_port;
	device_query_ex = verbs->query_device_ex;
	verbs->query_port = query_port;
	verbs->query_device_ex = query_device_ex;
}

static bool has_event(const struct rdma_event_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* Only calls that find an event count: how many others there are is chance. */
int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **event)
{
	int ret;

	if (has_event(channel) && fails("rdma_get_cm_event", EIO))
		return -1;
	ret = NEXT(rdma_get_cm_event)(channel, event);
	if (ret)
		return ret;
	if ((*event)->id->verbs)
		stand_before((*event)->id->verbs);
	held((*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	return 0;
}
