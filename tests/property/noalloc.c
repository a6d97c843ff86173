// SPDX-License-Identifier: GPL-2.0-only
/* Counts allocations by standing in front of glibc's allocator. */
#include "noalloc.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

uint64_t noalloc_nr_calls;

/* glibc exports its own under these names. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t nr, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
	noalloc_nr_calls++;
	return __libc_malloc(bytes);
}

void *calloc(size_t nr, size_t bytes)
{
	noalloc_nr_calls++;
	return __libc_calloc(nr, bytes);
}

void *realloc(void *old, size_t bytes)
{
	noalloc_nr_calls++;
	return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	noalloc_nr_calls++;
	return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	noalloc_nr_calls++;
	*memory = __libc_memalign(alignment, bytes);
	return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
	noalloc_nr_calls += memory != NULL;
	__libc_free(memory);
}
