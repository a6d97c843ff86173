# SPDX-License-Identifier: GPL-2.0-only
# Random cases against the device in memory and a reference planner.

# What the property test and the fuzz targets share.
check_LTLIBRARIES += tests/property/libcase.la
tests_property_libcase_la_SOURCES = \
	tests/property/case.c tests/property/case.h \
	tests/property/ledger.c tests/property/ledger.h \
	tests/property/model.c tests/property/model.h \
	tests/property/noalloc.h \
	tests/property/plan_check.c tests/property/plan_check.h \
	tests/property/source.c tests/property/source.h \
	tests/property/world.c tests/property/world.h \
	tests/ref/ref_plan.c tests/ref/ref_plan.h
tests_property_libcase_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
# Sanitizers bring an allocator of their own.
if !SANITIZED
if !FUZZING
tests_property_libcase_la_SOURCES += tests/property/noalloc.c
tests_property_libcase_la_CFLAGS += -DCHECK_ALLOCATIONS
endif
endif
case_libs = tests/property/libcase.la lib/libwrb-core.la lib/libmemdev.la

check_PROGRAMS += tests/property/property
tests_property_property_SOURCES = tests/property/property.c
tests_property_property_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
tests_property_property_LDADD = $(case_libs)
if SANITIZED
tests_property_property_CFLAGS += -DNR_CASES=20000
endif

# By hand, and in tests/run.sh: proves that the cases notice.
EXTRA_DIST += tests/property/mutations.sh
