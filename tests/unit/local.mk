# SPDX-License-Identifier: GPL-2.0-only
# One program per file of lib/; see fixture.h for what they share.

if HAVE_CMOCKA
unit_tests = \
	tests/unit/test_complete \
	tests/unit/test_drain \
	tests/unit/test_lane \
	tests/unit/test_limits \
	tests/unit/test_op_table \
	tests/unit/test_plan \
	tests/unit/test_plan_sort \
	tests/unit/test_post \
	tests/unit/test_queue \
	tests/unit/test_region
check_PROGRAMS += $(unit_tests)

check_LTLIBRARIES += tests/unit/libfixture.la
tests_unit_libfixture_la_SOURCES = tests/unit/fixture.c tests/unit/fixture.h
tests_unit_libfixture_la_CFLAGS = $(unit_cflags)

unit_fixture = tests/unit/libfixture.la $(unit_libs)

tests_unit_test_complete_CFLAGS = $(unit_cflags)
tests_unit_test_complete_LDADD = $(unit_fixture)
tests_unit_test_drain_CFLAGS = $(unit_cflags)
tests_unit_test_drain_LDADD = $(unit_fixture)
tests_unit_test_lane_CFLAGS = $(unit_cflags)
tests_unit_test_lane_LDADD = $(unit_libs)
tests_unit_test_limits_CFLAGS = $(unit_cflags)
tests_unit_test_limits_LDADD = $(unit_libs)
tests_unit_test_op_table_CFLAGS = $(unit_cflags)
tests_unit_test_op_table_LDADD = $(unit_libs)
tests_unit_test_plan_CFLAGS = $(unit_cflags)
tests_unit_test_plan_LDADD = $(unit_libs)
tests_unit_test_plan_sort_CFLAGS = $(unit_cflags)
tests_unit_test_plan_sort_LDADD = $(unit_libs)
tests_unit_test_post_CFLAGS = $(unit_cflags)
tests_unit_test_post_LDADD = $(unit_fixture)
tests_unit_test_queue_SOURCES = \
	tests/unit/test_queue.c \
	tests/unit/no_alloc.c tests/unit/no_alloc.h
tests_unit_test_queue_CFLAGS = $(unit_cflags)
tests_unit_test_queue_LDADD = $(unit_fixture)
tests_unit_test_region_CFLAGS = $(unit_cflags)
tests_unit_test_region_LDADD = $(unit_libs)
endif
