// SPDX-License-Identifier: GPL-2.0-only
/* Stands between the program and its allocator. */
#include "alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

int64_t alloc_nr_live;
static uint64_t nr_calls;
static uint64_t failing;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t nr, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t nr, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

void alloc_fail_at(uint64_t nth)
{
	nr_calls = 0;
	failing = nth;
}

uint64_t alloc_nr_calls(void)
{
	return nr_calls;
}

static bool fails(void)
{
	if (++nr_calls != failing)
		return false;
	errno = ENOMEM;
	return true;
}

static void *count(void *memory)
{
	alloc_nr_live += memory != NULL;
	return memory;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t nr, size_t bytes)
{
	return fails() ? NULL : count(__real_calloc(nr, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
	void *memory = fails() ? NULL : __real_realloc(old, bytes);

	alloc_nr_live += memory && !old;
	return memory;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return fails() ? NULL : count(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *memory)
{
	alloc_nr_live -= memory != NULL;
	__real_free(memory);
}
