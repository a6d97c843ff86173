/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target's work: one listener on one port, any number of initiators and
 * QPs at once, each client with its own PD and registration. Knows nothing of
 * fio.
 */
#ifndef ENGINE_SERVE_H
#define ENGINE_SERVE_H

#include "conf.h"
#include "env.h"
#include "region_mem.h"

/* What a target has done, for its report. */
struct serve_stats {
	bool served;	  /* it came to listen */
	uint32_t clients; /* that connected with all their QPs */
	uint32_t lost;	  /* of these, went without a goodbye */
	uint32_t refused; /* connection requests refused */
	uint32_t qps;	  /* connected in total */
};

/*
 * Serves mem until env->stopping(), or until conf->clients have come and
 * gone. 0, or -errno after one sentence.
 */
int serve(const struct engine_conf *conf, const struct engine_env *env,
	  const struct region_mem *mem, struct serve_stats *stats);

#endif /* ENGINE_SERVE_H */
