// SPDX-License-Identifier: GPL-2.0-only
/* PD, CQ and QP attributes of an initiator; what the device really grants. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "cm.h"
#include "rdma_device.h"

#define ACK_CQ_EVENTS_AT 1024

/* Those of all jobs of this process, each on a thread of its own. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(device_list, rdma_device) open_devices;

static int say_failed(const struct engine_env *env,
		      const struct rdma_device *dev, const char *what, int err)
{
	char hint[CM_HINT_TEXT];

	env->error(env->arg, "%s: %s failed: %s%s", dev->name, what,
		   strerror(-err), cm_memlock_hint(err, hint));
	return err;
}

static uint32_t not_negative(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

static int query(const struct engine_env *env, struct rdma_device *dev,
		 struct caps_device *can)
{
	struct ibv_device_attr_ex device = { 0 };
	struct ibv_port_attr port;
	int ret;

	ret = cm_result(ibv_query_device_ex(dev->verbs, NULL, &device));
	if (ret)
		return say_failed(env, dev, "ibv_query_device_ex()", ret);
	ret = cm_result(ibv_query_port(dev->verbs, dev->port_num, &port));
	if (ret)
		return say_failed(env, dev, "ibv_query_port()", ret);
	dev->max_mr_bytes = device.orig_attr.max_mr_size;
	dev->roce = port.link_layer == IBV_LINK_LAYER_ETHERNET && !dev->iwarp;
	*can = (struct caps_device){
		.name = dev->name,
		.max_qp = not_negative(device.orig_attr.max_qp),
		.max_qp_wr = not_negative(device.orig_attr.max_qp_wr),
		.max_cqe = not_negative(device.orig_attr.max_cqe),
		.max_sge = not_negative(device.orig_attr.max_sge),
		.max_sge_rd = not_negative(device.orig_attr.max_sge_rd),
		.max_rd_atomic =
			not_negative(device.orig_attr.max_qp_init_rd_atom),
		.max_msg_bytes = port.max_msg_sz,
	};
	return 0;
}

static int make_comp_channel(const struct engine_env *env,
			     struct rdma_device *dev)
{
	dev->comp = ibv_create_comp_channel(dev->verbs);
	if (!dev->comp)
		return say_failed(env, dev, "ibv_create_comp_channel()",
				  cm_result(-1));
	if (fcntl(dev->comp->fd, F_SETFL,
		  fcntl(dev->comp->fd, F_GETFL) | O_NONBLOCK))
		return say_failed(env, dev, "fcntl()", -errno);
	return 0;
}

/* The interrupt that the CQ's events come by: jobs take turns. */
static int comp_vector(const struct transport_attr *attr,
		       const struct rdma_device *dev)
{
	uint32_t nr = not_negative(dev->verbs->num_comp_vectors);

	return nr ? (int)(attr->job_number % nr) : 0;
}

static int make_objects(const struct transport_attr *attr,
			struct rdma_device *dev)
{
	const struct engine_env *env = attr->env;
	int ret;

	dev->pd = ibv_alloc_pd(dev->verbs);
	if (!dev->pd)
		return say_failed(env, dev, "ibv_alloc_pd()", cm_result(-1));
	if (attr->conf->poll != POLL_BUSY) {
		ret = make_comp_channel(env, dev);
		if (ret)
			return ret;
	}
	dev->cq = ibv_create_cq(dev->verbs, (int)dev->caps.max_cqe, NULL,
				dev->comp, comp_vector(attr, dev));
	if (!dev->cq)
		return say_failed(env, dev, "ibv_create_cq()", cm_result(-1));
	return 0;
}

/* Would a QP with these numbers be granted? */
static int try_qp(const struct rdma_device *dev, uint32_t slots,
		  uint32_t inline_bytes)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;

	rdma_device_qp_attr(dev, &init);
	init.cap.max_send_wr = slots + 1;
	init.cap.max_inline_data = inline_bytes;
	qp = ibv_create_qp(dev->pd, &init);
	if (!qp)
		return cm_result(-1);
	ibv_destroy_qp(qp);
	return init.cap.max_inline_data < inline_bytes ? -EINVAL : 0;
}

static uint32_t most_inline(const struct rdma_device *dev, uint32_t bad)
{
	uint32_t good = 0;

	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;

		if (try_qp(dev, dev->caps.slots, middle))
			bad = middle;
		else
			good = middle;
	}
	return good;
}

static uint32_t most_slots(const struct rdma_device *dev)
{
	uint32_t slots = dev->caps.slots / 2;

	while (slots && try_qp(dev, slots, dev->caps.inline_bytes))
		slots /= 2;
	return slots;
}

static int say_inline(const struct engine_env *env,
		      const struct rdma_device *dev)
{
	env->error(env->arg,
		   "inline_size=%u asked, but %s grants %u at sq_depth=%u and "
		   "max_sge=%u: lower inline_size",
		   dev->caps.inline_bytes, dev->name,
		   most_inline(dev, dev->caps.inline_bytes), dev->caps.slots,
		   dev->caps.max_sge);
	return -EINVAL;
}

/* The numbers of a device are upper bounds, not all of them at once. */
static int settle_caps(const struct engine_env *env, struct rdma_device *dev)
{
	struct caps *caps = &dev->caps;
	char hint[CM_HINT_TEXT];
	uint32_t slots;
	int ret;

	ret = try_qp(dev, caps->slots, caps->inline_bytes);
	if (!ret)
		return 0;
	if (caps->inline_bytes && !try_qp(dev, caps->slots, 0))
		return say_inline(env, dev);
	slots = most_slots(dev);
	if (!slots)
		return say_failed(env, dev, "ibv_create_qp()", ret);
	if (!caps->may_shrink) {
		env->error(
			env->arg,
			"sq_depth=%u asked, but %s makes no such QP (%s): it "
			"grants %u at max_sge=%u and inline_size=%u%s",
			caps->slots, dev->name, strerror(-ret), slots,
			caps->max_sge, caps->inline_bytes,
			cm_memlock_hint(ret, hint));
		return ret;
	}
	env->info(env->arg, "%s grants %u WRs per QP where %u were wanted%s",
		  dev->name, slots, caps->slots, cm_memlock_hint(ret, hint));
	caps->slots = slots;
	caps->max_send_wr = slots + 1;
	return 0;
}

/* Its events are looked at without waiting, see transport_ops.check. */
static int unblock_async_events(const struct engine_env *env,
				struct rdma_device *dev)
{
	int fd = dev->verbs->async_fd;

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return say_failed(env, dev, "fcntl()", -errno);
	return 0;
}

int rdma_device_open(const struct transport_attr *attr,
		     struct ibv_context *verbs, uint8_t port_num,
		     struct rdma_device *dev)
{
	struct caps_device can;
	int ret;

	*dev = (struct rdma_device){
		.verbs = verbs,
		.name = ibv_get_device_name(verbs->device),
		.port_num = port_num,
		.iwarp = verbs->device->transport_type == IBV_TRANSPORT_IWARP,
	};
	ret = query(attr->env, dev, &can);
	if (!ret)
		ret = caps_plan(attr, &can, &dev->caps);
	if (!ret)
		ret = unblock_async_events(attr->env, dev);
	if (!ret)
		ret = make_objects(attr, dev);
	if (!ret)
		ret = settle_caps(attr->env, dev);
	if (ret)
		rdma_device_close(dev);
	else
		rdma_device_list(dev);
	return ret;
}

void rdma_device_close(struct rdma_device *dev)
{
	rdma_device_unlist(dev);
	if (dev->cq) {
		if (dev->unacked)
			ibv_ack_cq_events(dev->cq, dev->unacked);
		ibv_destroy_cq(dev->cq);
	}
	if (dev->comp)
		ibv_destroy_comp_channel(dev->comp);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	*dev = (struct rdma_device){ 0 };
}

void rdma_device_qp_attr(const struct rdma_device *dev,
			 struct ibv_qp_init_attr *init)
{
	*init = (struct ibv_qp_init_attr){
		.send_cq = dev->cq,
		.recv_cq = dev->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = dev->caps.max_send_wr,
			.max_recv_wr = 1,
			.max_send_sge = dev->caps.max_sge,
			.max_recv_sge = 1,
			.max_inline_data = dev->caps.inline_bytes,
		},
	};
}

int rdma_device_reg(struct rdma_device *dev, const struct engine_env *env,
		    void *addr, size_t length, struct ibv_mr **mr)
{
	/* iWARP's READ responses are tagged writes to local memory. */
	int access = IBV_ACCESS_LOCAL_WRITE |
		     (dev->iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
	char hint[CM_HINT_TEXT];
	struct ibv_mr *made;
	int ret;

	if (length > dev->max_mr_bytes) {
		env->error(env->arg,
			   "the I/O buffers take %zu bytes, but %s registers "
			   "%" PRIu64 " at once: lower iodepth or bs",
			   length, dev->name, dev->max_mr_bytes);
		return -EFBIG;
	}
	made = ibv_reg_mr(dev->pd, addr, length, access);
	if (made) {
		*mr = made;
		return 0;
	}
	ret = cm_result(-1);
	env->error(
		env->arg, "%s: cannot register %zu bytes of I/O buffers: %s%s",
		dev->name, length, strerror(-ret), cm_memlock_hint(ret, hint));
	return ret;
}

bool rdma_device_cq_events(struct rdma_device *dev)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(dev->comp, &cq, &context))
		return false;
	dev->unacked++;
	/* Acknowledging takes a lock: seldom, but before the count wraps. */
	if (dev->unacked >= ACK_CQ_EVENTS_AT) {
		ibv_ack_cq_events(dev->cq, dev->unacked);
		dev->unacked = 0;
	}
	return true;
}

void rdma_device_list(struct rdma_device *dev)
{
	pthread_mutex_lock(&open_lock);
	LIST_INSERT_HEAD(&open_devices, dev, link);
	dev->listed = true;
	pthread_mutex_unlock(&open_lock);
}

void rdma_device_unlist(struct rdma_device *dev)
{
	if (!dev->listed)
		return;
	pthread_mutex_lock(&open_lock);
	LIST_REMOVE(dev, link);
	dev->listed = false;
	pthread_mutex_unlock(&open_lock);
}

static bool fails(const struct rdma_device *dev,
		  const struct ibv_context *verbs,
		  const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
		return dev->verbs == verbs;
	case IBV_EVENT_CQ_ERR:
		return event->element.cq == dev->cq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return event->element.qp->qp_context == dev;
	default:
		return false;
	}
}

void rdma_device_note(const struct ibv_context *verbs,
		      const struct ibv_async_event *event)
{
	struct rdma_device *dev;

	pthread_mutex_lock(&open_lock);
	LIST_FOREACH(dev, &open_devices, link)
		if (fails(dev, verbs, event))
			__atomic_store_n(&dev->failed,
					 ibv_event_type_str(event->event_type),
					 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&open_lock);
}

const char *rdma_device_failed(const struct rdma_device *dev)
{
	return __atomic_load_n(&dev->failed, __ATOMIC_RELAXED);
}
