/* SPDX-License-Identifier: GPL-2.0-only */
/* io_u <-> wrb_op and wrb_done: what fio asks for in the library's terms. */
#ifndef ENGINE_IO_MAP_H
#define ENGINE_IO_MAP_H

#include "fio_api.h"

#include "wrb.h"

/* Where fio's buffers and the target's region are known to the queue. */
struct io_map {
	const char *buffers; /* start of the local region */
	uint16_t local;
	uint16_t remote;
};

/*
 * The operation of a read or a write. The remote offset is fio's offset, so
 * the target's memory is as a disk. What lies outside of the regions is for
 * wrb_add() to refuse.
 */
static inline void io_map_op(const struct io_map *map, struct io_u *io_u,
			     struct wrb_op *op)
{
	op->user = io_u;
	op->local_offset = (uint64_t)((char *)io_u->xfer_buf - map->buffers);
	op->remote_offset = io_u->offset;
	op->length = (uint32_t)io_u->xfer_buflen;
	op->local = map->local;
	op->remote = map->remote;
	op->dir = io_u->ddir == DDIR_READ ? WRB_READ : WRB_WRITE;
}

/*
 * The READ of a sync: a byte of the region into the sync's own buffer, which
 * nothing else uses meanwhile.
 */
static inline void io_map_sync(const struct io_map *map, struct io_u *io_u,
			       struct wrb_op *op)
{
	*op = (struct wrb_op){
		.user = io_u,
		.local_offset = (uint64_t)((char *)io_u->buf - map->buffers),
		.length = 1,
		.local = map->local,
		.remote = map->remote,
		.dir = WRB_READ,
	};
}

/*
 * fio's error of an operation that ended. EIO for every failure: it is what
 * continue_on_error= and ignore_error= take by default; EILSEQ would be read
 * as a failed verify.
 */
static inline int io_map_error(const struct wrb_done *done)
{
	return done->error ? EIO : 0;
}

/* How a failed operation is told. */
struct io_failure {
	const struct wrb_done *done;
	const struct wrb_lane_info *lane;
	uint32_t qp_num;
	uint32_t nr_lanes;
	bool ended; /* by this job, which has said why */
	const char *peer;
};

/* "READ of 4096 bytes at offset 0 on QP 17 ...: remote access error ...". */
void io_map_describe(const struct io_u *io_u, const struct io_failure *failure,
		     char *text, size_t bytes);

/* What the user can do about it. */
const char *io_map_cure(const struct io_failure *failure);

#endif /* ENGINE_IO_MAP_H */
