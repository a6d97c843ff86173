# SPDX-License-Identifier: GPL-2.0-only
# Many operations through queues that fail all the time.

check_PROGRAMS += tests/endurance/endurance
tests_endurance_endurance_SOURCES = tests/endurance/endurance.c \
	tests/property/source.c tests/property/source.h \
	tests/sweep/alloc.c tests/sweep/alloc.h
tests_endurance_endurance_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
tests_endurance_endurance_LDFLAGS = $(AM_LDFLAGS) $(wrap_allocator)
tests_endurance_endurance_LDADD = lib/libwrb-core.la lib/libmemdev.la
if SANITIZED
tests_endurance_endurance_CFLAGS += -DNR_OPS=300000 \
	-DMAX_GROWTH_PAGES=1000000
endif
