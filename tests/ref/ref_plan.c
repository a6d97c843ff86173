// SPDX-License-Identifier: GPL-2.0-only
/* The planning that wrb.h documents, done the slow and obvious way. */
#include "ref_plan.h"

struct ref_out {
	struct ref_wr *wrs;
	uint32_t max;
	uint32_t nr;
};

/* Bubbles: stable, and nobody can doubt it. */
static void sort_by_remote(struct ref_op *ops, uint32_t nr)
{
	for (uint32_t pass = 1; pass < nr; pass++) {
		for (uint32_t i = 1; i < nr; i++) {
			struct ref_op op = ops[i];

			if (ops[i - 1].remote_addr <= op.remote_addr)
				continue;
			ops[i] = ops[i - 1];
			ops[i - 1] = op;
		}
	}
}

static struct ref_wr run_of(const struct ref_op *op)
{
	return (struct ref_wr){
		.dir = op->dir,
		.remote_addr = op->remote_addr,
		.length = op->length,
		.remote = op->remote,
		.nr_sges = 1,
		.sges[0] = { op->local_addr, op->length, op->local },
	};
}

static bool run_reaches(const struct ref_rules *rules, const struct ref_wr *run,
			const struct ref_op *op)
{
	return rules->merge && op->dir == run->dir &&
	       op->remote == run->remote &&
	       op->remote_addr == run->remote_addr + run->length &&
	       run->length + op->length <= rules->max_msg_bytes;
}

/* Adds an operation to a run, if it may. */
static bool run_join(const struct ref_rules *rules, struct ref_wr *run,
		     const struct ref_op *op)
{
	struct ref_sge *last = &run->sges[run->nr_sges - 1];

	if (!run_reaches(rules, run, op))
		return false;
	if (op->local == last->region &&
	    op->local_addr == last->addr + last->length) {
		last->length += op->length;
	} else {
		if (run->nr_sges == rules->max_sge)
			return false;
		last[1] = (struct ref_sge){ op->local_addr, op->length,
					    op->local };
		run->nr_sges++;
	}
	run->length += op->length;
	return true;
}

static uint64_t div_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

static uint64_t nr_pieces(const struct ref_rules *rules, uint64_t length)
{
	uint64_t least = div_up(length, rules->max_msg_bytes);
	uint64_t n =
		rules->chunk_bytes ? div_up(length, rules->chunk_bytes) : 1;

	if (rules->max_chunks && rules->max_chunks < n)
		n = rules->max_chunks;
	return n > least ? n : least;
}

/* Takes length bytes off the front of a run. */
static struct ref_wr run_split(struct ref_wr *run, uint64_t length)
{
	struct ref_wr piece = *run;

	piece.length = length;
	piece.nr_sges = 0;
	run->remote_addr += length;
	run->length -= length;
	while (length) {
		struct ref_sge *sge = &run->sges[0];
		uint64_t take = sge->length < length ? sge->length : length;

		piece.sges[piece.nr_sges++] =
			(struct ref_sge){ sge->addr, take, sge->region };
		sge->addr += take;
		sge->length -= take;
		length -= take;
		if (sge->length)
			continue;
		run->nr_sges--;
		for (uint32_t i = 0; i < run->nr_sges; i++)
			run->sges[i] = run->sges[i + 1];
	}
	return piece;
}

static void run_cut(const struct ref_rules *rules, struct ref_wr *run,
		    struct ref_out *out)
{
	uint64_t n = nr_pieces(rules, run->length);

	for (; n; n--) {
		struct ref_wr piece = run_split(run, div_up(run->length, n));

		if (out->nr < out->max)
			out->wrs[out->nr] = piece;
		out->nr++;
	}
}

uint32_t ref_plan(const struct ref_rules *rules, struct ref_op *ops,
		  uint32_t nr, struct ref_wr *wrs, uint32_t max)
{
	struct ref_out out = { .wrs = wrs, .max = max };
	uint32_t i = 0, nr_runs = 0;

	if (rules->sort)
		sort_by_remote(ops, nr);
	while (i < nr) {
		struct ref_wr run = run_of(&ops[i++]);

		while (i < nr && run_join(rules, &run, &ops[i]))
			i++;
		run.run = nr_runs++;
		run_cut(rules, &run, &out);
	}
	return out.nr;
}
