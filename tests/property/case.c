// SPDX-License-Identifier: GPL-2.0-only
/* One case: what a source decides, and every invariant checked on the way. */
#include "case.h"

#include <errno.h>
#include <string.h>

#include "ledger.h"
#include "model.h"
#include "noalloc.h"
#include "plan_check.h"
#include "world.h"

#define MAX_BURST  24
#define MAX_DONE   64
#define UNTOUCHED  0xa5
#define IDLE_POLLS 400 /* without any progress; then something is wrong */

/* I9: runs a call that must not allocate. */
#define quietly(world, call)                                            \
	({                                                              \
		uint64_t calls_before = noalloc_nr_calls;               \
		typeof(call) result = (call);                           \
		if (noalloc_nr_calls != calls_before)                   \
			world_fail((world), "I9: %s allocates", #call); \
		result;                                                 \
	})

/* -- what holds at all times ----------------------------------------------- */

/* I7: staged + in flight + done = added. */
static void check_counts(struct world *world)
{
	uint32_t staged = wrb_staged(world->queue);
	uint32_t inflight = wrb_inflight(world->queue);
	uint32_t room = wrb_room(world->queue);

	if (staged + inflight + world->nr_done != world->nr_added)
		world_fail(world, "I7: %u staged, %u in flight, %u done of %u",
			   staged, inflight, world->nr_done, world->nr_added);
	if (room != world->attr.max_ops - staged - inflight)
		world_fail(world, "room for %u, %u staged, %u in flight of %u",
			   room, staged, inflight, world->attr.max_ops);
	if (!world_may_fail(world) && staged != model_nr_unsent(world))
		world_fail(world, "%u staged, %u not wholly posted", staged,
			   model_nr_unsent(world));
}

static void check_lanes(struct world *world)
{
	for (uint32_t i = 0; i < world->attr.nr_qps; i++) {
		struct wrb_lane_info info;
		uint32_t held = world->lanes[i].head - world->lanes[i].tail;

		if (wrb_lane_state(world->queue, i, &info))
			world_fail(world, "no lane %u", i);
		if (info.qp != world->lanes[i].qp)
			world_fail(world, "lane %u: its QP is another", i);
		if (info.state == WRB_LANE_READY && info.inflight != held)
			world_fail(world, "lane %u: %u WRs in flight, of %u", i,
				   info.inflight, held);
		if (info.inflight > info.slots || info.slots != world->slots)
			world_fail(world, "lane %u: %u WRs in %u slots", i,
				   info.inflight, info.slots);
		if (info.state == WRB_LANE_DEAD && info.inflight)
			world_fail(world, "lane %u: dead with %u WRs", i,
				   info.inflight);
		if (info.state != WRB_LANE_READY && !world_may_fail(world))
			world_fail(world, "lane %u failed out of nothing", i);
	}
}

static void check_now(struct world *world)
{
	check_counts(world);
	check_lanes(world);
	ledger_check_live(world);
	if (!wrb_staged(world->queue))
		world->staged_known = true;
}

/* -- add ------------------------------------------------------------------- */

static uint32_t choose_length(struct source *src)
{
	static const uint32_t most[] = { 32, 32, 64, 256, 512, 2000 };

	return source_range(src, 1, source_pick(src, most));
}

static void cursor_init(struct world *world, struct model_cursor *cursor)
{
	struct source *src = world->source;

	*cursor = (struct model_cursor){
		.dir = (enum wrb_dir)source_below(src, 2),
		.next = { MODEL_NONE, MODEL_NONE },
	};
	for (int i = WRB_LOCAL; i <= WRB_REMOTE; i++)
		cursor->region[i] =
			source_below(src, world->side[i].nr_regions);
}

/* Neighbours most of the time, else merging has nothing to do. */
static void choose_adjacent(struct source *src, bool adjacent[2])
{
	adjacent[WRB_LOCAL] = source_below(src, 2);
	adjacent[WRB_REMOTE] = !source_one_in(src, 8);
}

static void shuffle(struct source *src, struct model_op **ops, uint32_t nr)
{
	for (uint32_t i = nr; i > 1; i--) {
		uint32_t k = source_below(src, i);
		struct model_op *op = ops[k];

		ops[k] = ops[i - 1];
		ops[i - 1] = op;
	}
}

static uint32_t burst_fill(struct world *world, struct model_op **ops,
			   uint32_t most)
{
	struct source *src = world->source;
	struct model_cursor cursor;
	bool adjacent[2];
	uint32_t nr;

	cursor_init(world, &cursor);
	for (nr = 0; nr < most; nr++) {
		choose_adjacent(src, adjacent);
		if (source_one_in(src, 12))
			cursor_init(world, &cursor);
		ops[nr] = model_op_new(world, &cursor, choose_length(src),
				       adjacent);
		if (!ops[nr])
			break;
	}
	return nr;
}

/* Two operations that meet, but at the seam of two regions. */
static uint32_t burst_seam(struct world *world, struct model_op **ops)
{
	const bool adjacent[2] = { true, true };
	uint32_t length = source_range(world->source, 1, 100);
	struct model_cursor cursor;
	struct side *side;
	enum wrb_side from;

	cursor_init(world, &cursor);
	from = cursor.dir == WRB_WRITE ? WRB_LOCAL : WRB_REMOTE;
	side = &world->side[from];
	cursor.next[from] = side->region_bytes - length;
	ops[0] = model_op_new(world, &cursor, length, adjacent);
	if (!ops[0] || cursor.region[from] + 1 == side->nr_regions)
		return ops[0] ? 1 : 0;
	cursor.region[from]++;
	cursor.next[from] = 0;
	ops[1] = model_op_new(world, &cursor, length, adjacent);
	return ops[1] ? 2 : 1;
}

/* A READ, and a WRITE that starts where it ends remotely. */
static uint32_t burst_turn(struct world *world, struct model_op **ops)
{
	const bool adjacent[2] = { true, true };
	uint32_t length = source_range(world->source, 1, 100);
	struct side *side = &world->side[WRB_REMOTE];
	struct model_cursor cursor;

	cursor_init(world, &cursor);
	cursor.dir = WRB_READ;
	cursor.next[WRB_REMOTE] = quarter(side) - length;
	ops[0] = model_op_new(world, &cursor, length, adjacent);
	if (!ops[0])
		return 0;
	cursor.dir = WRB_WRITE;
	ops[1] = model_op_new(world, &cursor, length, adjacent);
	return ops[1] ? 2 : 1;
}

static uint32_t burst_make(struct world *world, struct model_op **ops)
{
	struct source *src = world->source;
	uint32_t nr;

	if (source_one_in(src, 16))
		return burst_seam(world, ops);
	if (source_one_in(src, 16))
		return burst_turn(world, ops);
	nr = burst_fill(
		world, ops,
		source_range(src, 1, source_one_in(src, 4) ? MAX_BURST : 6));
	if (source_one_in(src, 3))
		shuffle(src, ops, nr);
	return nr;
}

/* An operation that must be refused, and with what. */
static int spoil(struct world *world, struct wrb_op *op)
{
	switch (source_below(world->source, 5)) {
	case 0:
		op->length = 0;
		return -EINVAL;
	case 1:
		op->dir = (enum wrb_dir)2;
		return -EINVAL;
	case 2:
		op->local = op->remote;
		return -EINVAL;
	case 3:
		op->remote = 4095;
		return -EINVAL;
	default:
		op->local_offset = UINT64_MAX - 3;
		return -ERANGE;
	}
}

static void add_spoilt(struct world *world, const struct model_op *op)
{
	struct wrb_op bad = op->op;
	int expect = spoil(world, &bad);
	int rc = quietly(world, wrb_add(world->queue, &bad));

	if (rc != expect)
		world_fail(world, "wrb_add(): %d where %d is right", rc,
			   expect);
}

static void add_one(struct world *world, struct model_op *op)
{
	uint32_t room = wrb_room(world->queue);
	int rc = quietly(world, wrb_add(world->queue, &op->op));

	if (rc != (room ? 0 : -EAGAIN))
		world_fail(world, "wrb_add(): %d with room for %u", rc, room);
	if (!rc)
		model_op_added(world, op);
}

/* Many at once, maybe with one that must be refused among them. */
static void add_many(struct world *world, struct model_op **ops, uint32_t nr)
{
	uint32_t room = wrb_room(world->queue), taken = nr;
	struct wrb_op array[MAX_BURST];
	int expect, rc;

	for (uint32_t i = 0; i < nr; i++)
		array[i] = ops[i]->op;
	if (source_one_in(world->source, 10)) {
		taken = source_below(world->source, nr);
		expect = spoil(world, &array[taken]);
	} else {
		expect = 0;
	}
	if (room < taken || (room == taken && !expect)) {
		taken = room < nr ? room : nr;
		expect = -EAGAIN;
	}
	if (taken)
		expect = (int)taken;
	rc = quietly(world, wrb_addv(world->queue, array, nr));
	if (rc != expect)
		world_fail(world, "wrb_addv(): %d where %d is right", rc,
			   expect);
	for (int i = 0; i < rc; i++)
		model_op_added(world, ops[i]);
}

static void step_add(struct world *world)
{
	struct model_op *ops[MAX_BURST];
	uint32_t nr = burst_make(world, ops);

	if (!nr)
		return;
	if (source_one_in(world->source, 20))
		add_spoilt(world, ops[0]);
	if (source_one_in(world->source, 2)) {
		add_many(world, ops, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		add_one(world, ops[i]);
}

/* -- one operation on a lane ------------------------------------------------ */

static bool lane_is_ready(struct world *world, uint32_t lane)
{
	struct wrb_lane_info info = { .state = WRB_LANE_READY };

	wrb_lane_state(world->queue, lane, &info);
	return info.state == WRB_LANE_READY;
}

/* What wrb_lane_post() must say, as far as that does not hang on the device. */
static int lane_post_expect(struct world *world, uint32_t lane,
			    const struct wrb_op *op)
{
	const struct wrb_attr *attr = &world->attr;
	const struct ledger_lane *held = &world->lanes[lane];

	if (op->length > attr->limits.max_msg_bytes ||
	    (attr->chunk_bytes && attr->max_chunks != 1 &&
	     op->length > attr->chunk_bytes))
		return -EMSGSIZE;
	if (!lane_is_ready(world, lane))
		return -ENOTCONN;
	if (held->head - held->tail == world->slots ||
	    (op->dir == WRB_READ && held->nr_reads == world->read_depth))
		return -EAGAIN;
	return wrb_room(world->queue) ? 0 : -EAGAIN;
}

/* Refused for what it is, on whatever lane. */
static void lane_post_spoilt(struct world *world, uint32_t lane,
			     const struct model_op *op)
{
	struct wrb_op bad = op->op;
	int expect = spoil(world, &bad);
	int rc = quietly(world, wrb_lane_post(world->queue, lane, &bad));

	if (rc != expect)
		world_fail(world, "wrb_lane_post(): %d where %d is right", rc,
			   expect);
}

/* One WR was posted, on the lane that was named. */
static void check_lane_posted(struct world *world, uint32_t lane, uint64_t wrs)
{
	if (world->totals.wrs != wrs + 1)
		world_fail(world, "wrb_lane_post(): 0 with %ju WRs posted",
			   (uintmax_t)(world->totals.wrs - wrs));
	else if (world->posted[0].lane != lane)
		world_fail(world, "wrb_lane_post(): lane %u where %u was named",
			   world->posted[0].lane, lane);
}

static void step_lane_post(struct world *world)
{
	uint32_t lane = source_below(world->source, world->attr.nr_qps);
	uint64_t wrs = world->totals.wrs, shorts = world->totals.shorts;
	struct model_op *op;
	int rc, expect;

	if (!burst_fill(world, &op, 1))
		return;
	if (source_one_in(world->source, 4))
		lane_post_spoilt(world, lane, op);
	expect = lane_post_expect(world, lane, &op->op);
	if (!expect)
		model_op_added(world, op);
	world->nr_posted = 0;
	rc = quietly(world, wrb_lane_post(world->queue, lane, &op->op));
	if (rc == -EIO && !expect && world->totals.shorts != shorts)
		model_op_forgotten(world, op);
	else if (rc != expect)
		world_fail(world, "wrb_lane_post(): %d where %d is right", rc,
			   expect);
	else if (!rc)
		check_lane_posted(world, lane, wrs);
}

/* -- submit ---------------------------------------------------------------- */

/* Some operation is posted in part, or order is no longer that of adding. */
static void note_staged(struct world *world, uint64_t shorts)
{
	if (world->totals.shorts != shorts)
		world->staged_known = false;
	for (uint32_t i = 0; i < world->nr_ops; i++) {
		const struct model_op *op = &world->ops[i];

		if (op->added && !op->done && op->sent_bytes &&
		    op->sent_bytes < op->op.length)
			world->staged_known = false;
	}
}

static void check_submitted(struct world *world, int rc, uint64_t wrs)
{
	if (rc == -ENOTCONN && world_may_fail(world))
		return;
	if (rc < 0 || (uint32_t)rc != world->totals.wrs - wrs)
		world_fail(world, "wrb_submit(): %d with %ju WRs posted", rc,
			   (uintmax_t)(world->totals.wrs - wrs));
}

static int step_submit(struct world *world)
{
	static struct explained explained;
	bool explain = !source_one_in(world->source, 4);
	uint64_t wrs = world->totals.wrs, shorts = world->totals.shorts;
	int rc;

	if (explain) {
		plan_explain(world, &explained);
		plan_check_reference(world, &explained);
	}
	world->nr_posted = 0;
	rc = quietly(world, wrb_submit(world->queue));
	check_submitted(world, rc, wrs);
	if (explain && world->totals.shorts == shorts)
		plan_check_posted(world, &explained);
	note_staged(world, shorts);
	return rc;
}

/* -- poll ------------------------------------------------------------------ */

/* All bytes of what wrb_poll() did not return are the one before them. */
static void check_untouched(struct world *world, const struct wrb_done *done,
			    uint32_t nr)
{
	const uint8_t *bytes = (const uint8_t *)done;
	size_t nr_bytes = nr * sizeof(*done);

	if (!nr)
		return;
	if (bytes[0] != UNTOUCHED || memcmp(bytes, bytes + 1, nr_bytes - 1))
		world_fail(world, "wrb_poll() writes more entries than it "
				  "returns");
}

static int step_poll(struct world *world)
{
	struct source *src = world->source;
	uint32_t max =
		source_range(src, 1, source_one_in(src, 3) ? MAX_DONE : 4);
	struct wrb_done done[MAX_DONE];
	int rc;

	memset(done, UNTOUCHED, sizeof(*done) * max);
	rc = quietly(world, wrb_poll(world->queue, done, max));
	if (rc < 0) {
		if (rc != -EIO || !(world->faults & 1u << MEMDEV_FAIL_POLL))
			world_fail(world, "wrb_poll(): %d", rc);
		return rc;
	}
	if ((uint32_t)rc > max) {
		world_fail(world, "wrb_poll(): %d of %u", rc, max);
		return rc;
	}
	for (int i = 0; i < rc; i++)
		model_op_done(world, &done[i]);
	check_untouched(world, done + rc, max - (uint32_t)rc);
	return rc;
}

/* -- failure --------------------------------------------------------------- */

static void step_abort(struct world *world)
{
	world->aborted = true;
	world->staged_known = false;
	quietly(world, (wrb_abort(world->queue), 0));
	if (wrb_staged(world->queue))
		world_fail(world, "%u operations staged after wrb_abort()",
			   wrb_staged(world->queue));
}

/* A failure is told until the lane is ready again. */
static void check_replaced(struct world *world, uint32_t lane,
			   struct wrb_lane_info was)
{
	struct wrb_lane_info now = { 0 };

	wrb_lane_state(world->queue, lane, &now);
	if (now.state == WRB_LANE_READY)
		was = (struct wrb_lane_info){ 0 };
	if (now.first_status != was.first_status ||
	    now.first_vendor_err != was.first_vendor_err ||
	    now.first_dir != was.first_dir || now.post_errno != was.post_errno)
		world_fail(world, "lane %u: replaced, its failure is %d", lane,
			   now.first_status);
}

/* A lane that has failed gets another QP, or none. */
static void lane_replace(struct world *world, uint32_t lane, bool with_qp)
{
	struct wrb_lane_info was = { 0 };
	struct ibv_qp *qp = NULL;
	int rc;

	wrb_lane_state(world->queue, lane, &was);

	world_qp_destroy(world, lane);
	if (with_qp && source_one_in(world->source, 3))
		world_rekey(world, lane);
	if (with_qp)
		qp = world_qp_new(world, lane);
	rc = quietly(world, wrb_lane_replace(world->queue, lane, qp));
	if (rc)
		world_fail(world, "wrb_lane_replace(): %d", rc);
	check_replaced(world, lane, was);
}

static void step_replace(struct world *world)
{
	uint32_t lane = source_below(world->source, world->attr.nr_qps);

	if (lane_is_ready(world, lane)) {
		if (wrb_lane_replace(world->queue, lane, NULL) != -EBUSY)
			world_fail(world, "a ready lane was replaced");
		return;
	}
	lane_replace(world, lane, !source_one_in(world->source, 4));
}

/* -- the end --------------------------------------------------------------- */

/* Faults after which only the caller's patience ends a drain. */
static bool may_hang(const struct world *world)
{
	uint32_t hanging = 1u << MEMDEV_DROP_CQE | 1u << MEMDEV_FAIL_DOORBELL |
			   1u << MEMDEV_FAIL_POLL;

	return world->faults & hanging || world->lasting;
}

static void lanes_give_up(struct world *world)
{
	for (uint32_t i = 0; i < world->attr.nr_qps; i++)
		if (!lane_is_ready(world, i))
			lane_replace(world, i, false);
}

/* What a caller does whose operations do not end: first abort, then replace. */
static void rescue(struct world *world, uint32_t nr)
{
	if (!may_hang(world))
		world_fail(world, "I8: nothing moves: %u staged, %u in flight",
			   wrb_staged(world->queue),
			   wrb_inflight(world->queue));
	else if (nr == 0)
		step_abort(world);
	else if (nr == 1)
		lanes_give_up(world);
	else
		world_fail(world, "I8: nothing helps: %u staged, %u in flight",
			   wrb_staged(world->queue),
			   wrb_inflight(world->queue));
}

/* All lanes have failed: get one back, but not for ever. */
static void reconnect(struct world *world, uint32_t *nr)
{
	if (source_one_in(world->source, 4) || (*nr)++ > 6)
		step_abort(world);
	else
		step_replace(world);
}

/* No lane is ready: now, or when nothing else is left to wait for. */
static bool wants_lane(struct world *world)
{
	return source_one_in(world->source, 8) || !wrb_inflight(world->queue);
}

static uint64_t progress_of(const struct world *world)
{
	struct memdev_stats stats;

	memdev_stats_get(world->dev, &stats);
	return world->totals.wrs + world->nr_done + stats.cqes + stats.executed;
}

static bool is_over(const struct world *world)
{
	return !wrb_staged(world->queue) && !wrb_inflight(world->queue);
}

static void finish(struct world *world)
{
	uint32_t idle = 0, nr_rescues = 0, nr_reconnects = 0;

	while (!is_over(world) && !world_failed(world)) {
		uint64_t before = progress_of(world);

		if (step_submit(world) == -ENOTCONN && wants_lane(world))
			reconnect(world, &nr_reconnects);
		step_poll(world);
		check_now(world);
		idle = progress_of(world) == before ? idle + 1 : 0;
		if (idle < IDLE_POLLS)
			continue;
		rescue(world, nr_rescues++);
		idle = 0;
	}
}

static void check_stats(struct world *world)
{
	const struct totals *totals = &world->totals;
	struct wrb_stats stats;

	wrb_stats_get(world->queue, &stats);
	if (stats.ops != world->nr_added || stats.done != world->nr_done)
		world_fail(world, "stats: %ju of %ju operations",
			   (uintmax_t)stats.done, (uintmax_t)stats.ops);
	if (stats.wrs != totals->wrs || stats.bytes != totals->bytes ||
	    stats.sges != totals->sges || stats.signalled != totals->signalled)
		world_fail(world,
			   "stats: %ju WRs, %ju bytes, %ju SGEs, %ju "
			   "signalled; posted were %ju, %ju, %ju, %ju",
			   (uintmax_t)stats.wrs, (uintmax_t)stats.bytes,
			   (uintmax_t)stats.sges, (uintmax_t)stats.signalled,
			   (uintmax_t)totals->wrs, (uintmax_t)totals->bytes,
			   (uintmax_t)totals->sges,
			   (uintmax_t)totals->signalled);
	if (stats.doorbells != totals->doorbells ||
	    stats.short_posts != totals->shorts || stats.cqes != totals->cqes)
		world_fail(world, "stats: %ju doorbells, %ju short, %ju CQEs",
			   (uintmax_t)stats.doorbells,
			   (uintmax_t)stats.short_posts, (uintmax_t)stats.cqes);
	if (stats.stale)
		world_fail(world, "stats: %ju stale CQEs",
			   (uintmax_t)stats.stale);
}

static void check_device(struct world *world)
{
	struct memdev_stats stats;

	memdev_stats_get(world->dev, &stats);
	if (stats.overflows)
		world_fail(world, "I4: the CQ overran");
}

/* -- the case -------------------------------------------------------------- */

static void step(struct world *world)
{
	uint32_t what = source_below(world->source, 100);

	if (what < 32)
		step_add(world);
	else if (what < 35)
		step_lane_post(world);
	else if (what < 62)
		step_submit(world);
	else if (what < 92)
		step_poll(world);
	else if (what < 96)
		step_replace(world);
	else if (what < 98)
		memdev_freeze(world->dev, source_one_in(world->source, 2));
	else if (world->faults && source_one_in(world->source, 4))
		step_abort(world);
}

static void run_steps(struct world *world, uint32_t nr)
{
	for (; nr && !world_failed(world); nr--) {
		step(world);
		check_now(world);
	}
	memdev_freeze(world->dev, 0);
}

static uint64_t faults_of(const struct world *world)
{
	struct memdev_stats stats;

	memdev_stats_get(world->dev, &stats);
	return stats.faults;
}

const char *case_run_fixed(struct source *source,
			   const struct world_fixed *fixed, uint64_t *nr_faults)
{
	static struct world world;

	world_open(&world, source, fixed);
	run_steps(&world,
		  fixed ? fixed->nr_steps : source_range(source, 4, 32));
	finish(&world);
	*nr_faults = faults_of(&world);
	if (!world_failed(&world)) {
		model_check_memory(&world);
		check_stats(&world);
		check_device(&world);
	}
	world_close(&world);
	return world_failed(&world) ? world.why : NULL;
}

const char *case_run(struct source *source)
{
	uint64_t nr_faults;

	return case_run_fixed(source, NULL, &nr_faults);
}
