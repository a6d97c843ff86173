// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What a QP, its CQ and its port were granted. */
#include <errno.h>

#include "compiler.h"
#include "verbs_errno.h"
#include "wrb.h"

wrb_export int wrb_limits_query(struct ibv_qp *qp, uint8_t port_num,
				struct wrb_limits *limits)
{
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	int rc;

	if (!qp || !limits)
		return -EINVAL;
	rc = ibv_query_qp(qp, &attr, IBV_QP_CAP, &init);
	if (rc)
		return -verbs_errno(rc);
	rc = ibv_query_port(qp->context, port_num, &port);
	if (rc)
		return -verbs_errno(rc);
	*limits = (struct wrb_limits){
		.max_send_wr = init.cap.max_send_wr,
		.max_send_sge = init.cap.max_send_sge,
		.max_inline = init.cap.max_inline_data,
		.max_cqe = (uint32_t)qp->send_cq->cqe,
		.max_msg_bytes = port.max_msg_sz,
	};
	return 0;
}
