# SPDX-License-Identifier: GPL-2.0-only

# libwrb's objects, for the library itself and for what links them statically.
noinst_LTLIBRARIES += lib/libwrb-core.la
lib_libwrb_core_la_SOURCES = \
	lib/compiler.h \
	lib/complete.c lib/complete.h \
	lib/drain.c lib/drain.h \
	lib/flight.h \
	lib/lane.c lib/lane.h \
	lib/limits.c \
	lib/log.c lib/log.h \
	lib/op_table.c lib/op_table.h \
	lib/plan.h lib/plan_sort.c lib/plan_stripe.c \
	lib/post.c lib/post.h \
	lib/queue.c lib/queue.h lib/submit.c \
	lib/region.c lib/region.h \
	lib/verbs_errno.h \
	lib/wr_id.h \
	lib/wrb.h
lib_libwrb_core_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) -fvisibility=hidden
lib_libwrb_core_la_LIBADD = $(IBVERBS_LIBS)

lib_LTLIBRARIES += lib/libwrb.la
lib_libwrb_la_SOURCES =
lib_libwrb_la_LIBADD = lib/libwrb-core.la
lib_libwrb_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(WRB_LIB_VERSION) \
	-Wl,--version-script=$(srcdir)/lib/libwrb.map -no-undefined
lib_libwrb_la_DEPENDENCIES = lib/libwrb-core.la lib/libwrb.map
include_HEADERS += lib/wrb.h
pkgconfig_DATA += lib/libwrb.pc

# The device in memory: for the engine's transport=memory and for tests.
noinst_LTLIBRARIES += lib/libmemdev.la
lib_libmemdev_la_SOURCES = lib/memdev.c lib/memdev.h
lib_libmemdev_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) -fvisibility=hidden

EXTRA_DIST += lib/libwrb.map
