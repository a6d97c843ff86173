# SPDX-License-Identifier: GPL-2.0-only
# Random cases against the device in memory and a reference planner.

case_sources = \
	tests/property/case.c tests/property/case.h \
	tests/property/ledger.c tests/property/ledger.h \
	tests/property/model.c tests/property/model.h \
	tests/property/noalloc.h \
	tests/property/plan_check.c tests/property/plan_check.h \
	tests/property/source.c tests/property/source.h \
	tests/property/world.c tests/property/world.h \
	tests/ref/ref_plan.c tests/ref/ref_plan.h
case_cflags = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
case_libs = lib/libwrb-core.la lib/libmemdev.la

check_PROGRAMS += tests/property/property
tests_property_property_SOURCES = $(case_sources) tests/property/property.c
tests_property_property_CFLAGS = $(case_cflags)
tests_property_property_LDADD = $(case_libs)
# Sanitizers bring an allocator of their own.
if !SANITIZED
tests_property_property_SOURCES += tests/property/noalloc.c
tests_property_property_CFLAGS += -DCHECK_ALLOCATIONS
endif

# By hand, and in tests/run.sh: proves that the cases notice.
EXTRA_DIST += tests/property/mutations.sh
