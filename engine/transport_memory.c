// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport over the device in memory: the target's region lies in the
 * initiator's own process, no hardware is needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/memdev.h"
#include "region_mem.h"
#include "transport.h"

/* With merge: entries of a WR when the user leaves the choice. */
#define MERGE_SGES 16

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

static int refuse(const struct engine_env *env, const char *option,
		  uint32_t asked, uint32_t cap)
{
	env->error(env->arg,
		   "%s=%u is more than the device in memory has: it has %u",
		   option, asked, cap);
	return -EINVAL;
}

/*
 * Slots for everything in flight on one lane, and one that the queue keeps,
 * as far as the device has them and the CQ has entries for all lanes.
 */
static int choose_depth(const struct transport_attr *attr,
			const struct memdev_attr *dev, uint32_t *depth)
{
	const struct engine_conf *conf = attr->conf;
	uint32_t cap = dev->max_cqe / conf->qps;
	uint64_t want = attr->nr_ops;

	cap = cap < dev->max_qp_wr ? cap : dev->max_qp_wr;
	if (conf->sq_depth > cap)
		return refuse(attr->env, "sq_depth", conf->sq_depth, cap);
	if (conf->chunk_bytes)
		want *= attr->max_op_bytes / conf->chunk_bytes + 1;
	want = conf->sq_depth ? conf->sq_depth : want + 1;
	*depth = want < cap ? (uint32_t)want : cap;
	*depth = *depth < 2 ? 2 : *depth;
	return 0;
}

static int choose_sges(const struct transport_attr *attr,
		       const struct memdev_attr *dev, uint32_t *nr_sges)
{
	const struct engine_conf *conf = attr->conf;

	if (conf->max_sge > dev->max_sge)
		return refuse(attr->env, "max_sge", conf->max_sge,
			      dev->max_sge);
	*nr_sges = 1;
	if (conf->max_sge)
		*nr_sges = conf->max_sge;
	else if (conf->merge)
		*nr_sges =
			MERGE_SGES < dev->max_sge ? MERGE_SGES : dev->max_sge;
	return 0;
}

static int choose_limits(struct memory *m, const struct transport_attr *attr)
{
	const struct engine_conf *conf = attr->conf;
	struct wrb_limits *limits = &m->t.limits;
	struct memdev_attr dev;
	int rc;

	memdev_query(m->dev, &dev);
	rc = choose_depth(attr, &dev, &limits->max_send_wr);
	if (!rc)
		rc = choose_sges(attr, &dev, &m->t.max_sge);
	if (rc)
		return rc;
	if (conf->inline_bytes > dev.max_inline)
		return refuse(attr->env, "inline_size", conf->inline_bytes,
			      dev.max_inline);
	limits->max_send_sge = m->t.max_sge;
	limits->max_inline = conf->inline_bytes;
	limits->max_cqe = limits->max_send_wr * conf->qps;
	limits->max_msg_bytes = dev.max_msg_bytes;
	/* Nothing bounds READs here but the send queue. */
	m->t.rd_atomic =
		conf->rd_atomic ? conf->rd_atomic : limits->max_send_wr;
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
