// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the fields of the public structs lie on x86-64. A struct that grows is
 * an event: wrb_attr may at its end, the others not without a new soname.
 */
#include <stddef.h>

#include "wrb.h"

#if defined(__x86_64__) && defined(__LP64__)

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "size of " #type)
#define AT(type, field, bytes)                                  \
	_Static_assert(offsetof(struct type, field) == (bytes), \
		       "place of " #type "." #field)

SIZE(wrb_limits, 20);
AT(wrb_limits, max_send_wr, 0);
AT(wrb_limits, max_send_sge, 4);
AT(wrb_limits, max_inline, 8);
AT(wrb_limits, max_cqe, 12);
AT(wrb_limits, max_msg_bytes, 16);

SIZE(wrb_attr, 120);
AT(wrb_attr, size, 0);
AT(wrb_attr, qps, 8);
AT(wrb_attr, nr_qps, 16);
AT(wrb_attr, cq, 24);
AT(wrb_attr, limits, 32);
AT(wrb_attr, max_ops, 52);
AT(wrb_attr, chunk_bytes, 56);
AT(wrb_attr, max_chunks, 60);
AT(wrb_attr, max_sge, 64);
AT(wrb_attr, signal_interval, 68);
AT(wrb_attr, read_depth, 72);
AT(wrb_attr, max_chain, 76);
AT(wrb_attr, flags, 80);
AT(wrb_attr, stripe, 84);
AT(wrb_attr, log, 88);
AT(wrb_attr, log_arg, 96);
AT(wrb_attr, qp_error, 104);
AT(wrb_attr, qp_error_arg, 112);

SIZE(wrb_region, 32);
AT(wrb_region, side, 0);
AT(wrb_region, addr, 8);
AT(wrb_region, length, 16);
AT(wrb_region, keys, 24);

SIZE(wrb_op, 40);
AT(wrb_op, user, 0);
AT(wrb_op, local_offset, 8);
AT(wrb_op, remote_offset, 16);
AT(wrb_op, length, 24);
AT(wrb_op, local, 28);
AT(wrb_op, remote, 30);
AT(wrb_op, dir, 32);

SIZE(wrb_done, 24);
AT(wrb_done, user, 0);
AT(wrb_done, error, 8);
AT(wrb_done, status, 12);
AT(wrb_done, vendor_err, 16);
AT(wrb_done, lane, 20);

SIZE(wrb_lane_info, 40);
AT(wrb_lane_info, state, 0);
AT(wrb_lane_info, qp, 8);
AT(wrb_lane_info, inflight, 16);
AT(wrb_lane_info, slots, 20);
AT(wrb_lane_info, first_status, 24);
AT(wrb_lane_info, first_vendor_err, 28);
AT(wrb_lane_info, first_dir, 32);
AT(wrb_lane_info, post_errno, 36);

SIZE(wrb_stats, 136);
AT(wrb_stats, ops, 0);
AT(wrb_stats, done, 8);
AT(wrb_stats, failed, 16);
AT(wrb_stats, bytes, 24);
AT(wrb_stats, wrs, 32);
AT(wrb_stats, sges, 40);
AT(wrb_stats, signalled, 48);
AT(wrb_stats, doorbells, 56);
AT(wrb_stats, cqes, 64);
AT(wrb_stats, flushes, 72);
AT(wrb_stats, stale, 80);
AT(wrb_stats, merged, 88);
AT(wrb_stats, chunked, 96);
AT(wrb_stats, chunks, 104);
AT(wrb_stats, read_stalls, 112);
AT(wrb_stats, sq_stalls, 120);
AT(wrb_stats, short_posts, 128);

SIZE(wrb_lane_stats, 32);
AT(wrb_lane_stats, wrs, 0);
AT(wrb_lane_stats, bytes, 8);
AT(wrb_lane_stats, doorbells, 16);
AT(wrb_lane_stats, max_inflight, 24);

SIZE(wrb_plan_wr, 48);
AT(wrb_plan_wr, lane, 0);
AT(wrb_plan_wr, dir, 4);
AT(wrb_plan_wr, nr_ops, 8);
AT(wrb_plan_wr, nr_sges, 12);
AT(wrb_plan_wr, length, 16);
AT(wrb_plan_wr, remote_addr, 24);
AT(wrb_plan_wr, rkey, 32);
AT(wrb_plan_wr, signalled, 36);
AT(wrb_plan_wr, chain_end, 40);

#endif

_Static_assert(WRB_WRITE == 0 && WRB_READ == 1, "enum wrb_dir");
_Static_assert(WRB_LOCAL == 0 && WRB_REMOTE == 1, "enum wrb_side");
_Static_assert(WRB_STRIPE_BATCH == 0 && WRB_STRIPE_ROUND_ROBIN == 1 &&
		       WRB_STRIPE_LEAST_LOADED == 2 && WRB_STRIPE_OFFSET == 3,
	       "enum wrb_stripe");
_Static_assert(WRB_MERGE == 1 && WRB_SORT == 2, "enum wrb_flags");
_Static_assert(WRB_LANE_READY == 0 && WRB_LANE_DRAINING == 1 &&
		       WRB_LANE_DEAD == 2,
	       "enum wrb_lane_status");

int main(void)
{
	return 0;
}
