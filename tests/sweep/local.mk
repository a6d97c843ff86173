# SPDX-License-Identifier: GPL-2.0-only
# Fails one thing at each point of a fixed run.

wrap_allocator = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc -Wl,--wrap=free

check_PROGRAMS += tests/sweep/sweep
tests_sweep_sweep_SOURCES = tests/sweep/sweep.c \
	tests/sweep/alloc.c tests/sweep/alloc.h
tests_sweep_sweep_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
tests_sweep_sweep_LDFLAGS = $(AM_LDFLAGS) $(wrap_allocator)
tests_sweep_sweep_LDADD = $(case_libs)
if SANITIZED
tests_sweep_sweep_CFLAGS += -DNR_RUNS=4
endif
