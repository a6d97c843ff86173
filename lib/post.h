/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes planned WRs to their lanes' templates, rings doorbells. */
#ifndef WRB_POST_H
#define WRB_POST_H

#include "flight.h"

#define POST_NO_REGION UINT32_MAX

/*
 * The chain that is being written, with what changes from WR to WR out of the
 * lane and in registers. Everything that takes one is inlined.
 */
struct post {
	struct flight *flight;
	const struct region *regions;
	struct lane *lane; /* NULL: none yet */
	struct ibv_send_wr *wr;
	struct ibv_send_wr *end; /* the chain is full */
	uint64_t wr_id;
	uint64_t bytes;
	/* The regions last used, and their keys on this lane. */
	uint32_t local, lkey;
	uint32_t remote, rkey;
	uint32_t lane_index;
	uint32_t until_signal;
	uint32_t max_inline;
};

/* Posts a lane's open chain. */
void post_chain(struct flight *flight, struct lane *lane);

/* Puts a lane on the list of those with an open chain. */
static always_inline void post_mark_dirty(struct flight *flight,
					  struct lane *lane)
{
	if (lane->dirty)
		return;
	lane->dirty = true;
	flight->dirty[flight->nr_dirty++] = lane->index;
}

/*
 * Unwinds what posts did not take: operations of which nothing was taken are
 * staged again in front of the others, the rest of them fail; the lanes drain.
 * Returns how many WRs were not taken.
 */
uint32_t post_settle(struct flight *flight) cold;

/* Enters nr pieces in the accounts of the operations that they carry. */
void post_count_cut(struct flight *flight, const struct plan_wr *plan,
		    uint32_t nr);

static always_inline struct post post_begin(struct flight *flight)
{
	return (struct post){
		.flight = flight,
		.regions = flight->regions.regions,
		.lane_index = PLAN_NO_LANE,
		.max_inline = flight->max_inline,
	};
}

static always_inline void post_leave_lane(const struct post *post)
{
	struct lane *lane = post->lane;

	if (!lane)
		return;
	lane->head += (uint64_t)(post->wr - lane->next_wr);
	lane->next_wr = post->wr;
	lane->until_signal = post->until_signal;
	lane->stats.bytes += post->bytes;
}

static always_inline void post_enter_lane(struct post *post, uint32_t index)
{
	struct lane *lane = &post->flight->lanes[index];

	post->lane = lane;
	post->lane_index = index;
	post->wr = lane->next_wr;
	post->end = lane->wrs + post->flight->max_chain;
	post->wr_id = wr_id_make(index, lane->head);
	/* Serials wrap around in a wr_id: not within a chain. */
	if (unlikely(wr_id_left(post->wr_id) < post->flight->max_chain))
		post->end = post->wr + 1;
	post->until_signal = lane->until_signal;
	post->bytes = 0;
	post->local = POST_NO_REGION;
	post->remote = POST_NO_REGION;
	post_mark_dirty(post->flight, lane);
}

static always_inline uint32_t post_key(const struct post *post, uint32_t region)
{
	return post->regions[region].keys[post->lane_index];
}

static always_inline void post_sge(struct post *post, struct ibv_sge *sge,
				   const struct plan_seg *seg)
{
	if (unlikely(seg->region != post->local)) {
		post->local = seg->region;
		post->lkey = post_key(post, seg->region);
	}
	sge->addr = seg->addr;
	sge->length = seg->length;
	sge->lkey = post->lkey;
}

/* The SGEs after the first. */
static always_inline void post_more_sges(struct post *post,
					 struct ibv_sge *sges,
					 const struct plan_wr *plan)
{
	for (uint32_t i = 1; i < plan->nr_segs; i++)
		post_sge(post, &sges[i], &plan->segs[i]);
	post->lane->extra_sges += plan->nr_segs - 1;
}

static always_inline void post_remote(struct post *post, struct ibv_send_wr *wr,
				      const struct plan_wr *plan)
{
	if (unlikely(plan->remote != post->remote)) {
		post->remote = plan->remote;
		post->rkey = post_key(post, plan->remote);
	}
	wr->wr.rdma.remote_addr = plan->remote_addr;
	wr->wr.rdma.rkey = post->rkey;
}

static always_inline unsigned int post_inline(const struct post *post,
					      const struct plan_wr *plan)
{
	if (unlikely(plan->length <= post->max_inline) && !plan->read)
		return IBV_SEND_INLINE;
	return 0;
}

/* Writes one planned WR; the chain has room and the lane is the right one. */
static always_inline void post_write(struct post *post,
				     const struct plan_wr *plan)
{
	struct ibv_send_wr *wr = post->wr++;

	lane_enter(post->lane, post->wr_id, plan);
	wr->wr_id = post->wr_id++;
	wr->num_sge = (int)plan->nr_segs;
	wr->opcode = plan->read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->send_flags = post_inline(post, plan);
	post_remote(post, wr, plan);
	post_sge(post, &wr->sg_list[0], &plan->seg);
	if (unlikely(plan->nr_segs > 1))
		post_more_sges(post, wr->sg_list, plan);
	post->bytes += plan->length;
}

/* The chain is as long as it may be. False when posting it came short. */
static always_inline bool post_full(struct post *post)
{
	post_leave_lane(post);
	post_chain(post->flight, post->lane);
	post_enter_lane(post, post->lane_index);
	return !post->lane->is_short;
}

/*
 * nr WRs were written: signals the last if it is due, posts a full chain. False
 * when the lane takes no more, because that came short.
 */
static always_inline bool post_written(struct post *post, uint32_t nr)
{
	post->until_signal -= nr;
	if (unlikely(!post->until_signal)) {
		post->wr[-1].send_flags |= IBV_SEND_SIGNALED;
		post->until_signal = post->flight->signal_interval;
		post->lane->signalled++;
	}
	return likely(post->wr != post->end) || post_full(post);
}

/* Leaves a lane whose chain another lane is to write to. */
static always_inline void post_close_lane(const struct post *post)
{
	post_leave_lane(post);
	if (post->lane && lane_chain(post->lane))
		post_chain(post->flight, post->lane);
}

/*
 * How many WRs may be written to a lane before the next post_written(): so many
 * of nr that the chain gets full, or one is to be signalled. The lanes share
 * their chain.
 */
static always_inline uint32_t post_row(struct post *post, uint32_t lane,
				       uint32_t nr)
{
	if (unlikely(lane != post->lane_index)) {
		post_close_lane(post);
		post_enter_lane(post, lane);
	}
	if (nr > post->end - post->wr)
		nr = (uint32_t)(post->end - post->wr);
	return nr < post->until_signal ? nr : post->until_signal;
}

/* Adds one planned WR to its lane's chain. */
static always_inline void post_add(struct post *post,
				   const struct plan_wr *plan)
{
	if (unlikely(plan->lane != post->lane_index)) {
		post_leave_lane(post);
		post_enter_lane(post, plan->lane);
	}
	post_write(post, plan);
	if (plan->cut)
		post_count_cut(post->flight, plan, 1);
	post_written(post, 1);
}

/* Posts every open chain; returns how many WRs were not taken. */
static always_inline uint32_t post_all(struct flight *flight)
{
	for (uint32_t i = 0; i < flight->nr_dirty; i++) {
		struct lane *lane = &flight->lanes[flight->dirty[i]];

		lane->dirty = false;
		if (lane_chain(lane))
			post_chain(flight, lane);
	}
	flight->nr_dirty = 0;
	if (unlikely(flight->nr_short))
		return post_settle(flight);
	return 0;
}

#endif /* WRB_POST_H */
