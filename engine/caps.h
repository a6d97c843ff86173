/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an initiator's connections ask of a device, from the job's settings and
 * what the device can do. Pure: asks no device.
 */
#ifndef ENGINE_CAPS_H
#define ENGINE_CAPS_H

#include "transport.h"

/* What a device and the port in use can do. */
struct caps_device {
	const char *name;
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_cqe;
	uint32_t max_sge;
	uint32_t max_sge_rd;	/* of a READ; 0: as max_sge */
	uint32_t max_rd_atomic; /* READs that a QP of ours can have out */
	uint32_t max_msg_bytes;
};

struct caps {
	uint32_t slots;	       /* WRs that a lane can hold */
	uint32_t max_send_wr;  /* to ask per QP: slots and the drain's one */
	uint32_t max_sge;      /* per WR */
	uint32_t inline_bytes; /* to ask; only a made QP tells if granted */
	uint32_t rd_atomic;    /* to ask of the target */
	uint32_t max_cqe;      /* to ask: room for every WR of every lane */
	bool may_shrink;       /* slots were chosen here, not by the user */
};

/*
 * 0, or -EINVAL after one sentence that says what was asked, what the device
 * has, and which setting to change.
 */
int caps_plan(const struct transport_attr *attr, const struct caps_device *dev,
	      struct caps *caps);

#endif /* ENGINE_CAPS_H */
