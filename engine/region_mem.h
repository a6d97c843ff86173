/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory behind a target's region: malloc, huge pages, or a file. */
#ifndef ENGINE_REGION_MEM_H
#define ENGINE_REGION_MEM_H

#include <stdint.h>

#include "conf.h"
#include "env.h"

struct region_mem {
	void *addr; /* page aligned, zeroed unless it is a file's content */
	uint64_t bytes;
	uint64_t mapped_bytes;
};

/*
 * Maps conf->region_mem, at least `bytes`. A file is created or grown to
 * that size, and keeps what it holds. 0, or -errno after one sentence that
 * names the cure (huge pages: how many are free and how to reserve them).
 */
int region_mem_map(const struct engine_conf *conf, const struct engine_env *env,
		   uint64_t bytes, struct region_mem *mem);
void region_mem_unmap(struct region_mem *mem);

#endif /* ENGINE_REGION_MEM_H */
