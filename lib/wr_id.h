/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A wr_id is a lane and the serial number of a WR on it; never a pointer. */
#ifndef WRB_WR_ID_H
#define WRB_WR_ID_H

#include <stdint.h>

#define WR_ID_SERIAL_BITS 48
#define WR_ID_SERIAL_MASK ((UINT64_C(1) << WR_ID_SERIAL_BITS) - 1)

static inline uint64_t wr_id_make(uint32_t lane, uint64_t serial)
{
	return (uint64_t)lane << WR_ID_SERIAL_BITS |
	       (serial & WR_ID_SERIAL_MASK);
}

static inline uint32_t wr_id_lane(uint64_t wr_id)
{
	return wr_id >> WR_ID_SERIAL_BITS;
}

static inline uint64_t wr_id_serial(uint64_t wr_id)
{
	return wr_id & WR_ID_SERIAL_MASK;
}

/* How many serials are left from this one to the last before they wrap. */
static inline uint64_t wr_id_left(uint64_t wr_id)
{
	return WR_ID_SERIAL_MASK - wr_id_serial(wr_id);
}

#endif /* WRB_WR_ID_H */
