// SPDX-License-Identifier: GPL-2.0-only
/* Stands in front of the C library's allocator and refuses while armed. */
#include "no_alloc.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif
#if defined(__GLIBC__) && !defined(SANITIZED)
#define INTERPOSE
#endif

/* Compilers take malloc() for a function that changes no variable of ours. */
static volatile bool armed;
static volatile uint64_t nr_bytes;

void no_alloc_arm(void)
{
	armed = true;
}

void no_alloc_disarm(void)
{
	armed = false;
}

uint64_t no_alloc_bytes(void)
{
	return nr_bytes;
}

#ifdef INTERPOSE

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t nr, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *memory);

/*
 * Valgrind puts its own allocator in front of this one. Called as the library
 * calls it, and not inlined.
 */
bool no_alloc_works(void)
{
	void *(*volatile allocate)(size_t) = malloc;
	uint64_t before = nr_bytes;

	free(allocate(1));
	return nr_bytes != before;
}

static void refuse(const char *what)
{
	static const char text[] = " was called where nothing may allocate\n";

	if (!armed)
		return;
	armed = false;
	if (write(2, what, strlen(what)) > 0 &&
	    write(2, text, sizeof(text) - 1) > 0)
		abort();
	abort();
}

static void count(const char *what, size_t bytes)
{
	refuse(what);
	nr_bytes += bytes;
}

void *malloc(size_t bytes)
{
	count("malloc", bytes);
	return __libc_malloc(bytes);
}

void *calloc(size_t nr, size_t bytes)
{
	count("calloc", nr * bytes);
	return __libc_calloc(nr, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	count("realloc", bytes);
	return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	count("aligned_alloc", bytes);
	return __libc_memalign(align, bytes);
}

int posix_memalign(void **memory, size_t align, size_t bytes)
{
	count("posix_memalign", bytes);
	*memory = __libc_memalign(align, bytes);
	return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
	if (memory)
		refuse("free");
	__libc_free(memory);
}

#else

bool no_alloc_works(void)
{
	return false;
}

#endif
