// SPDX-License-Identifier: GPL-2.0-only
/* How a failed operation is told in words. */
#include "io_map.h"

/* The lane's own failure, rather than the flushes that it caused. */
static enum ibv_wc_status cause(const struct io_failure *failure)
{
	enum ibv_wc_status status = failure->done->status;

	if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
		return status;
	return failure->lane->first_status;
}

static int describe_request(const struct io_u *io_u,
			    const struct io_failure *failure, char *text,
			    size_t bytes)
{
	const struct wrb_done *done = failure->done;

	if (ddir_sync(io_u->ddir))
		return snprintf(text, bytes,
				"RDMA READ of a sync on QP %u (lane %u of %u) "
				"to %s: ",
				failure->qp_num, done->lane, failure->nr_lanes,
				failure->peer);
	return snprintf(text, bytes,
			"RDMA %s of %llu bytes at offset %llu on QP %u (lane "
			"%u of %u) to %s: ",
			io_u->ddir == DDIR_READ ? "READ" : "WRITE",
			io_u->xfer_buflen, io_u->offset, failure->qp_num,
			done->lane, failure->nr_lanes, failure->peer);
}

void io_map_describe(const struct io_u *io_u, const struct io_failure *failure,
		     char *text, size_t bytes)
{
	enum ibv_wc_status status = cause(failure);
	const struct wrb_done *done = failure->done;
	int length;

	length = describe_request(io_u, failure, text, bytes);
	if (length < 0 || (size_t)length >= bytes)
		return;
	text += length;
	bytes -= (size_t)length;
	if (failure->lane->post_errno)
		snprintf(text, bytes, "not posted, %s",
			 strerror(failure->lane->post_errno));
	else if (status == IBV_WC_SUCCESS ||
		 (status == IBV_WC_WR_FLUSH_ERR && failure->ended))
		snprintf(text, bytes, "given up");
	else if (status == IBV_WC_WR_FLUSH_ERR)
		snprintf(text, bytes,
			 "flushed (status %d): the QP has failed and the "
			 "device does not say why",
			 status);
	else
		snprintf(text, bytes, "%s (status %d, vendor error 0x%x)",
			 ibv_wc_status_str(status), status, done->vendor_err);
}

const char *io_map_cure(const struct io_failure *failure)
{
	if (failure->lane->post_errno)
		return "the device did not take the work request: try a "
		       "smaller sq_depth=, max_sge= or inline_size=";
	switch (cause(failure)) {
	case IBV_WC_RETRY_EXC_ERR:
		return "the target does not answer: check that it still runs, "
		       "that the path is up, and, if only large messages "
		       "fail, that the MTU is the same all the way; or raise "
		       "ack_timeout= and retry_count=";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the target was not ready: raise rnr_retry= there";
	case IBV_WC_REM_ACCESS_ERR:
		return "the target does not allow it: check its access=, its "
		       "size=, and that it has not ended";
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return "the target's device refused it: try a smaller bs= or "
		       "rd_atomic=";
	case IBV_WC_LOC_PROT_ERR:
		return "fio's buffers are not registered: leave iomem= at its "
		       "default";
	case IBV_WC_WR_FLUSH_ERR: /* soft-RoCE: a packet it could not send */
		return "check that the path to the target is up and that the "
		       "target still runs, and see the kernel's log";
	case IBV_WC_LOC_LEN_ERR:
		return "the message is too long for the device: set "
		       "chunk_size=";
	default:
		return "check that the target still runs and see its output";
	}
}
