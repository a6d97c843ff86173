// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport over the device in memory: the target's region lies in the
 * initiator's own process, no hardware is needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/memdev.h"
#include "caps.h"
#include "region_mem.h"

struct memory {
	struct transport t;
	const struct engine_env *env;
	struct memdev *dev;
	struct region_mem region;
	struct memdev_mr local;
	bool registered;
	struct ibv_qp **qps;
	uint32_t *rkeys;
	uint32_t *lkeys;
};

static struct memory *to_memory(struct transport *t)
{
	return (struct memory *)t;
}

static int fail(const struct engine_env *env, int rc, const char *what)
{
	env->error(env->arg, "transport=memory: %s failed: %s", what,
		   strerror(-rc));
	return rc;
}

static int plan(const struct transport_attr *attr,
		const struct memdev_attr *dev, struct caps *caps)
{
	const struct engine_env *env = attr->env;
	const struct caps_device can = {
		.name = "the device in memory",
		.max_qp = WRB_MAX_LANES,
		.max_qp_wr = dev->max_qp_wr,
		.max_cqe = dev->max_cqe,
		.max_sge = dev->max_sge,
		.max_rd_atomic = UINT32_MAX, /* the send queue is the bound */
		.max_msg_bytes = dev->max_msg_bytes,
	};

	if (attr->conf->inline_bytes <= dev->max_inline)
		return caps_plan(attr, &can, caps);
	env->error(env->arg,
		   "inline_size=%u asked, but %s grants %u: lower inline_size",
		   attr->conf->inline_bytes, can.name, dev->max_inline);
	return -EINVAL;
}

static int choose_limits(struct memory *m, const struct transport_attr *attr)
{
	struct memdev_attr dev;
	struct caps caps;
	int rc;

	memdev_query(m->dev, &dev);
	rc = plan(attr, &dev, &caps);
	if (rc)
		return rc;
	m->t.limits = (struct wrb_limits){
		.max_send_wr = caps.max_send_wr,
		.max_send_sge = caps.max_sge,
		.max_inline = caps.inline_bytes,
		.max_cqe = caps.max_cqe,
		.max_msg_bytes = dev.max_msg_bytes,
	};
	m->t.max_sge = caps.max_sge;
	m->t.rd_atomic = caps.rd_atomic;
	return 0;
}

static int make_lanes(struct memory *m, const struct transport_attr *attr)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = m->t.limits.max_send_wr,
		.max_send_sge = m->t.limits.max_send_sge,
		.max_inline_data = m->t.limits.max_inline,
	};
	uint32_t nr = attr->conf->qps;
	int rc;

	m->qps = calloc(nr, sizeof(*m->qps));
	m->rkeys = calloc(nr, sizeof(*m->rkeys));
	m->lkeys = calloc(nr, sizeof(*m->lkeys));
	if (!m->qps || !m->rkeys || !m->lkeys)
		return fail(attr->env, -ENOMEM, "making its QPs");
	m->t.qps = m->qps;
	m->t.rkeys = m->rkeys;
	m->t.lkeys = m->lkeys;
	rc = memdev_cq_create(m->dev, m->t.limits.max_cqe, &m->t.cq);
	if (rc)
		return fail(attr->env, rc, "making its CQ");
	for (; m->t.nr_qps < nr; m->t.nr_qps++) {
		rc = memdev_qp_create(m->dev, m->t.cq, &cap,
				      &m->qps[m->t.nr_qps]);
		if (rc)
			return fail(attr->env, rc, "making its QPs");
	}
	return 0;
}

static int refuse_access(const struct transport_attr *attr)
{
	bool ro = attr->conf->access == ACCESS_READ;

	if (!ro && attr->reads_to_sync) {
		attr->env->error(attr->env->arg,
				 "access=wo does not allow the READs that "
				 "syncs need: set access=rw, or leave fsync=, "
				 "fdatasync= and end_fsync= out");
		return -EACCES;
	}
	attr->env->error(attr->env->arg,
			 "access=%s does not allow what the job does: its rw= "
			 "and verify= need to %s",
			 access_text(attr->conf->access),
			 ro ? "write" : "read");
	return -EACCES;
}

static int make_region(struct memory *m, const struct transport_attr *attr)
{
	int access = IBV_ACCESS_LOCAL_WRITE;
	struct memdev_mr mr;
	uint32_t i;
	int rc;

	if (attr->need & ~attr->conf->access)
		return refuse_access(attr);
	rc = region_mem_map(attr->conf, attr->env, attr->region_bytes,
			    &m->region);
	if (rc)
		return rc;
	if (attr->conf->access & ACCESS_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (attr->conf->access & ACCESS_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	rc = memdev_mr_reg(m->dev, m->region.addr, m->region.bytes, access,
			   &mr);
	if (rc)
		return fail(attr->env, rc, "registering the region");
	for (i = 0; i < m->t.nr_qps; i++)
		m->rkeys[i] = mr.rkey;
	m->t.region_addr = (uintptr_t)m->region.addr;
	m->t.region_bytes = m->region.bytes;
	return 0;
}

static void memory_destroy_qps(struct transport *t)
{
	struct memory *m = to_memory(t);
	uint32_t i;

	for (i = 0; i < t->nr_qps; i++) {
		if (m->qps[i])
			memdev_qp_destroy(m->qps[i]);
		m->qps[i] = NULL;
	}
}

static void memory_dereg(struct transport *t)
{
	struct memory *m = to_memory(t);

	if (m->registered)
		memdev_mr_dereg(m->dev, m->local.lkey);
	m->registered = false;
}

static void memory_close(struct transport *t)
{
	struct memory *m = to_memory(t);

	memory_destroy_qps(t);
	memory_dereg(t);
	memdev_close(m->dev);
	region_mem_unmap(&m->region);
	free(m->qps);
	free(m->rkeys);
	free(m->lkeys);
	free(m);
}

static int memory_open(const struct transport_attr *attr, struct transport **t)
{
	struct memory *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return fail(attr->env, -ENOMEM, "opening it");
	m->env = attr->env;
	m->t.ops = &transport_memory;
	m->t.peer = "memory";
	m->t.device = "memory";
	m->t.qp_error = memdev_qp_error;
	rc = memdev_open(NULL, &m->dev);
	if (rc)
		fail(attr->env, rc, "opening it");
	if (!rc)
		rc = choose_limits(m, attr);
	if (!rc)
		rc = make_lanes(m, attr);
	if (!rc)
		rc = make_region(m, attr);
	if (rc) {
		memory_close(&m->t);
		return rc;
	}
	*t = &m->t;
	return 0;
}

static int memory_reg(struct transport *t, void *addr, size_t length)
{
	struct memory *m = to_memory(t);
	uint32_t i;
	int rc;

	rc = memdev_mr_reg(m->dev, addr, length, IBV_ACCESS_LOCAL_WRITE,
			   &m->local);
	if (rc)
		return fail(m->env, rc, "registering fio's buffers");
	m->registered = true;
	for (i = 0; i < t->nr_qps; i++)
		m->lkeys[i] = m->local.lkey;
	return 0;
}

/* What was posted is executed by the next poll: never anything to wait for. */
static int memory_wait(struct transport *t, int timeout_ms)
{
	(void)t;
	(void)timeout_ms;
	return 0;
}

static int memory_check(struct transport *t)
{
	(void)t;
	return 0;
}

const struct transport_ops transport_memory = {
	.name = "memory",
	.open = memory_open,
	.reg = memory_reg,
	.wait = memory_wait,
	.check = memory_check,
	.destroy_qps = memory_destroy_qps,
	.dereg = memory_dereg,
	.close = memory_close,
};
