// SPDX-License-Identifier: GPL-2.0-only
/* Chooses queue depths and the like; refuses what the device cannot give. */
#include <errno.h>

#include "caps.h"

#define DEFAULT_MERGE_SGE 16
#define MAX_RD_ATOMIC	  255 /* one byte in the CM's messages */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* WRs that the longest operation is cut into. */
static uint64_t pieces(const struct transport_attr *attr, uint32_t max_msg)
{
	uint32_t bytes = attr->max_op_bytes ? attr->max_op_bytes : 1;
	uint32_t max_chunks = attr->conf->max_chunks;
	uint64_t must = div_up(bytes, max_msg);
	uint64_t may = must;

	if (attr->conf->chunk_bytes)
		may = div_up(bytes, attr->conf->chunk_bytes);
	if (max_chunks && may > max_chunks)
		may = max_chunks;
	return may > must ? may : must;
}

static int plan_qps(const struct transport_attr *attr,
		    const struct caps_device *dev)
{
	const struct engine_env *env = attr->env;
	uint32_t qps = attr->conf->qps;

	if (qps > dev->max_qp) {
		env->error(env->arg,
			   "qps=%u asked, but %s has %u QPs at most: "
			   "lower qps",
			   qps, dev->name, dev->max_qp);
		return -EINVAL;
	}
	if (dev->max_cqe / qps < 2) {
		env->error(env->arg,
			   "qps=%u asked, but a CQ of %s holds %u entries, "
			   "enough for %u QPs: lower qps",
			   qps, dev->name, dev->max_cqe, dev->max_cqe / 2);
		return -EINVAL;
	}
	return 0;
}

static int plan_depth(const struct transport_attr *attr,
		      const struct caps_device *dev, struct caps *caps)
{
	const struct engine_env *env = attr->env;
	const struct engine_conf *conf = attr->conf;
	uint32_t cap = least(dev->max_qp_wr, dev->max_cqe / conf->qps) - 1;
	uint64_t want = attr->nr_ops * pieces(attr, dev->max_msg_bytes);

	if (conf->sq_depth > cap) {
		env->error(env->arg,
			   "sq_depth=%u asked, but %s grants %u at qps=%u (%u "
			   "WRs per QP, %u CQ entries for all QPs together): "
			   "lower sq_depth or qps",
			   conf->sq_depth, dev->name, cap, conf->qps,
			   dev->max_qp_wr, dev->max_cqe);
		return -EINVAL;
	}
	caps->may_shrink = !conf->sq_depth;
	caps->slots = conf->sq_depth;
	if (!caps->slots)
		caps->slots = want < cap ? (uint32_t)want : cap;
	if (!caps->slots)
		caps->slots = 1;
	caps->max_send_wr = caps->slots + 1;
	caps->max_cqe = caps->max_send_wr * conf->qps;
	return 0;
}

/* A sync's READ has one entry, whatever the device. */
static uint32_t most_sge(const struct transport_attr *attr,
			 const struct caps_device *dev)
{
	const bool reads = attr->need & ACCESS_READ && !attr->reads_to_sync;
	uint32_t most = least(dev->max_sge, WRB_MAX_SGE);

	return reads && dev->max_sge_rd ? least(most, dev->max_sge_rd) : most;
}

static int plan_sge(const struct transport_attr *attr,
		    const struct caps_device *dev, struct caps *caps)
{
	const struct engine_env *env = attr->env;
	uint32_t cap = most_sge(attr, dev);

	caps->max_sge = attr->conf->max_sge;
	if (!caps->max_sge)
		caps->max_sge =
			attr->conf->merge ? least(DEFAULT_MERGE_SGE, cap) : 1;
	if (caps->max_sge <= cap)
		return 0;
	env->error(env->arg,
		   "max_sge=%u asked, but %s grants %u per WR: lower "
		   "max_sge",
		   caps->max_sge, dev->name, cap);
	return -EINVAL;
}

static int plan_rd_atomic(const struct transport_attr *attr,
			  const struct caps_device *dev, struct caps *caps)
{
	const struct engine_env *env = attr->env;
	uint32_t cap = least(dev->max_rd_atomic, MAX_RD_ATOMIC);

	if (attr->conf->rd_atomic > cap) {
		env->error(env->arg,
			   "rd_atomic=%u asked, but %s can have %u READs of a "
			   "QP out: lower rd_atomic",
			   attr->conf->rd_atomic, dev->name, cap);
		return -EINVAL;
	}
	if (!cap && attr->need & ACCESS_READ) {
		env->error(env->arg, "%s cannot do RDMA READ: use rw=write",
			   dev->name);
		return -EINVAL;
	}
	caps->rd_atomic = attr->conf->rd_atomic ? attr->conf->rd_atomic : cap;
	return 0;
}

int caps_plan(const struct transport_attr *attr, const struct caps_device *dev,
	      struct caps *caps)
{
	struct caps plan = { .inline_bytes = attr->conf->inline_bytes };
	int ret;

	ret = plan_qps(attr, dev);
	if (!ret)
		ret = plan_depth(attr, dev, &plan);
	if (!ret)
		ret = plan_sge(attr, dev, &plan);
	if (!ret)
		ret = plan_rd_atomic(attr, dev, &plan);
	if (!ret)
		*caps = plan;
	return ret;
}
