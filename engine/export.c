// SPDX-License-Identifier: GPL-2.0-only
/* Registers a target's region with a device. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "export.h"

#define MAX_RESPONDER_RES 255 /* one byte in the CM's messages */

static int mr_access(enum conf_access access)
{
	int flags = 0;

	if (access & ACCESS_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & ACCESS_WRITE) /* the verbs want both */
		flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	return flags;
}

static int export_open(struct export *export, struct ibv_context *verbs,
		       const struct region_mem *mem, enum conf_access access)
{
	struct ibv_device_attr device;
	int ret;

	ret = cm_result(ibv_query_device(verbs, &device));
	if (ret)
		return ret;
	if (mem->bytes > device.max_mr_size)
		return -EFBIG;
	export->max_responder_res = MAX_RESPONDER_RES;
	if (device.max_qp_rd_atom < MAX_RESPONDER_RES)
		export->max_responder_res = (uint8_t)device.max_qp_rd_atom;
	export->pd = ibv_alloc_pd(verbs);
	if (!export->pd)
		return cm_result(-1);
	export->mr = ibv_reg_mr(export->pd, mem->addr, mem->bytes,
				mr_access(access));
	return export->mr ? 0 : cm_result(-1);
}

int export_new(struct ibv_context *verbs, const struct region_mem *mem,
	       enum conf_access access, struct export **export)
{
	struct export *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return -ENOMEM;
	ret = export_open(made, verbs, mem, access);
	if (ret) {
		export_free(made);
		return ret;
	}
	*export = made;
	return 0;
}

int export_anchor(struct export *export, struct rdma_event_channel *channel,
		  struct rdma_cm_id *id)
{
	struct sockaddr_storage local;
	int ret;

	cm_addr_copy(rdma_get_local_addr(id), 0, &local);
	ret = cm_result(
		rdma_create_id(channel, &export->anchor, NULL, RDMA_PS_TCP));
	if (ret) {
		export->anchor = NULL;
		return ret;
	}
	return cm_result(rdma_bind_addr(export->anchor, (void *)&local));
}

void export_free(struct export *export)
{
	if (export->mr)
		ibv_dereg_mr(export->mr);
	if (export->pd)
		ibv_dealloc_pd(export->pd);
	if (export->anchor)
		rdma_destroy_id(export->anchor);
	free(export);
}

/*
 * What can fail for the whole and not for its first byte is its size, asked
 * for apart, and the limit on locked memory, which clients meet one by one.
 */
static int try_verbs(struct ibv_context *verbs, enum conf_access access,
		     const struct region_mem *mem)
{
	struct region_mem first = { .addr = mem->addr, .bytes = 1 };
	struct ibv_device_attr device;
	struct export *export;
	int ret;

	ret = cm_result(ibv_query_device(verbs, &device));
	if (ret)
		return ret;
	if (mem->bytes > device.max_mr_size)
		return -EFBIG;
	ret = export_new(verbs, &first, access, &export);
	if (!ret)
		export_free(export);
	return ret;
}

static int try_device(struct ibv_device *device, enum conf_access access,
		      const struct region_mem *mem)
{
	struct ibv_context *verbs = ibv_open_device(device);
	int ret;

	if (!verbs)
		return cm_result(-1);
	ret = try_verbs(verbs, access, mem);
	ibv_close_device(verbs);
	return ret;
}

static int say_untaken(const struct engine_conf *conf,
		       const struct engine_env *env,
		       const struct region_mem *mem, int err)
{
	char hint[CM_HINT_TEXT];

	cm_memlock_hint(err, hint);
	if (err == -EFBIG)
		env->error(env->arg,
			   "no RDMA device registers %" PRIu64 " bytes at "
			   "once: lower size",
			   mem->bytes);
	else if (conf->region_mem == REGION_FILE)
		env->error(env->arg,
			   "no RDMA device registers memory of region_mem=%s: "
			   "%s%s; kernels may pin files of tmpfs and hugetlbfs "
			   "only",
			   conf->region_path, strerror(-err), hint);
	else
		env->error(env->arg,
			   "no RDMA device registers the region: "
			   "%s%s",
			   strerror(-err), hint);
	return err;
}

int export_try(const struct engine_conf *conf, const struct engine_env *env,
	       const struct region_mem *mem)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int ret = -ENODEV;
	int i;

	for (i = 0; ret && devices && devices[i]; i++)
		ret = try_device(devices[i], conf->access, mem);
	if (devices)
		ibv_free_device_list(devices);
	return ret ? say_untaken(conf, env, mem, ret) : 0;
}
