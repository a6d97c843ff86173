# SPDX-License-Identifier: GPL-2.0-only
# Built on demand, as `make tests/e2e/rogue`: a peer for guest-rogue.sh and
# guest-security.sh.

EXTRA_DIST += \
	tests/e2e/boundaries.sh \
	tests/e2e/faults.sh \
	tests/e2e/guest-examples.sh \
	tests/e2e/guest-faults.sh \
	tests/e2e/guest-lost.sh \
	tests/e2e/guest-modes.sh \
	tests/e2e/guest-poll.sh \
	tests/e2e/guest-rogue.sh \
	tests/e2e/guest-security.sh \
	tests/e2e/guest-setup.sh \
	tests/e2e/guest-soak.sh \
	tests/e2e/guest-sync.sh \
	tests/e2e/guest-two.sh \
	tests/e2e/guest-verbs.sh \
	tests/e2e/lib.sh \
	tests/e2e/lost.sh \
	tests/e2e/matrix.sh \
	tests/e2e/memory.sh \
	tests/e2e/modes.sh \
	tests/e2e/native.sh \
	tests/e2e/outside.sh \
	tests/e2e/releases.sh \
	tests/e2e/servers.sh \
	tests/e2e/sync-lib.sh \
	tests/e2e/sync.sh \
	tests/e2e/tsan.sh \
	tests/e2e/vm-image.sh \
	tests/e2e/vm-init \
	tests/e2e/vm.sh

if BUILD_ENGINE
# The engine with an eye on it, for sync.sh and guest-sync.sh.
EXTRA_LTLIBRARIES += tests/e2e/watch.la
tests_e2e_watch_la_SOURCES = tests/e2e/watch.c
tests_e2e_watch_la_CPPFLAGS = $(engine_libengine_fio_la_CPPFLAGS)
tests_e2e_watch_la_CFLAGS = $(engine_libengine_fio_la_CFLAGS)
tests_e2e_watch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-rpath /nowhere

# The engine with an eye on what it asks the library for, for sync.sh.
EXTRA_LTLIBRARIES += tests/e2e/order.la
tests_e2e_order_la_SOURCES = tests/e2e/order.c
tests_e2e_order_la_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
tests_e2e_order_la_LIBADD = $(engine_fio_rdma_batch_la_LIBADD)
tests_e2e_order_la_LDFLAGS = $(engine_fio_rdma_batch_la_LDFLAGS) \
	-rpath /nowhere -Wl,--wrap=wrb_lane_post -Wl,--wrap=wrb_poll \
	-Wl,--wrap=wrb_queue_destroy

EXTRA_PROGRAMS += tests/e2e/rogue
tests_e2e_rogue_SOURCES = tests/e2e/rogue.c tests/e2e/rogue.h \
	tests/e2e/rogue_client.c tests/e2e/rogue_target.c \
	engine/conf.h engine/handshake.c engine/handshake.h \
	engine/allow.c engine/allow.h engine/token.c engine/token.h
tests_e2e_rogue_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_e2e_rogue_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS) \
	$(CRYPTO_CFLAGS)
tests_e2e_rogue_LDADD = $(RDMACM_LIBS) $(IBVERBS_LIBS) $(CRYPTO_LIBS)

# The engine's connections without fio, for guest-setup.sh.
EXTRA_PROGRAMS += tests/e2e/setup
tests_e2e_setup_SOURCES = tests/e2e/setup.c tests/e2e/shim.c tests/e2e/shim.h
tests_e2e_setup_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_e2e_setup_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_e2e_setup_LDADD = engine/libengine.la lib/libmemdev.la \
	lib/libwrb-core.la $(RDMACM_LIBS) $(IBVERBS_LIBS) $(CRYPTO_LIBS)
endif
