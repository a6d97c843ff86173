# SPDX-License-Identifier: GPL-2.0-only
# Each program here is one test of `make check`.

TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT =
EXTRA_DIST += tests/run.sh tests/lint.sh tests/.clang-tidy .ci/run .shellcheckrc

if HAVE_CMOCKA
unit_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(IBVERBS_CFLAGS)
unit_libs = lib/libwrb-core.la lib/libmemdev.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_memdev
tests_unit_test_memdev_SOURCES = tests/unit/test_memdev.c
tests_unit_test_memdev_CFLAGS = $(unit_cflags)
tests_unit_test_memdev_LDADD = lib/libmemdev.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_handshake
tests_unit_test_handshake_SOURCES = tests/unit/test_handshake.c \
	engine/handshake.c engine/handshake.h engine/conf.h
tests_unit_test_handshake_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_handshake_CFLAGS = $(unit_cflags)
tests_unit_test_handshake_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_allow
tests_unit_test_allow_SOURCES = tests/unit/test_allow.c \
	engine/allow.c engine/allow.h
tests_unit_test_allow_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_allow_CFLAGS = $(unit_cflags)
tests_unit_test_allow_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_caps
tests_unit_test_caps_SOURCES = tests/unit/heard.h tests/unit/test_caps.c \
	engine/caps.c engine/caps.h
tests_unit_test_caps_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_caps_CFLAGS = $(unit_cflags)
tests_unit_test_caps_LDADD = $(CMOCKA_LIBS)

if BUILD_ENGINE
check_PROGRAMS += tests/unit/test_token
tests_unit_test_token_SOURCES = tests/unit/test_token.c \
	engine/allow.h engine/conf.h engine/handshake.c engine/handshake.h \
	engine/token.c engine/token.h
tests_unit_test_token_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_token_CFLAGS = $(unit_cflags) $(CRYPTO_CFLAGS)
tests_unit_test_token_LDADD = $(CMOCKA_LIBS) $(CRYPTO_LIBS)

check_PROGRAMS += tests/unit/test_rdma_device
tests_unit_test_rdma_device_SOURCES = tests/unit/test_rdma_device.c
tests_unit_test_rdma_device_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_rdma_device_CFLAGS = $(unit_cflags)
tests_unit_test_rdma_device_LDADD = engine/libengine.la lib/libmemdev.la \
	lib/libwrb-core.la $(RDMACM_LIBS) $(IBVERBS_LIBS) $(CRYPTO_LIBS) \
	$(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_rdma_lane
tests_unit_test_rdma_lane_SOURCES = tests/unit/heard.h \
	tests/unit/test_rdma_lane.c
tests_unit_test_rdma_lane_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_rdma_lane_CFLAGS = $(unit_cflags)
tests_unit_test_rdma_lane_LDADD = engine/libengine.la lib/libmemdev.la \
	lib/libwrb-core.la $(RDMACM_LIBS) $(IBVERBS_LIBS) $(CRYPTO_LIBS) \
	$(CMOCKA_LIBS)
endif

check_PROGRAMS += tests/unit/test_reap
peer_sources = tests/unit/heard.h tests/unit/peer.c tests/unit/peer.h \
	engine/reap.c engine/reap.h engine/transport.h engine/conf.h
tests_unit_test_reap_SOURCES = tests/unit/test_reap.c $(peer_sources)
tests_unit_test_reap_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_reap_CFLAGS = $(unit_cflags)
tests_unit_test_reap_LDADD = $(unit_libs)

check_PROGRAMS += tests/unit/test_sync
tests_unit_test_sync_SOURCES = tests/unit/test_sync.c \
	engine/sync.c engine/sync.h $(peer_sources)
tests_unit_test_sync_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_unit_test_sync_CFLAGS = $(unit_cflags)
tests_unit_test_sync_LDADD = $(unit_libs)
endif

include tests/unit/local.mk
include tests/abi/local.mk
include tests/property/local.mk
include tests/fuzz/local.mk
include tests/sweep/local.mk
include tests/endurance/local.mk

TESTS += $(check_PROGRAMS)

# Each of them again under valgrind; prints TAP.
VALGRIND = valgrind -q --error-exitcode=1 --leak-check=full \
	--errors-for-leak-kinds=definite --show-leak-kinds=definite
check-valgrind: $(check_PROGRAMS)
	@status=0; for test in $(check_PROGRAMS); do \
		case $$test in */property) cases=300 ;; \
		*/sweep) cases=2 ;; */endurance) cases=50000 ;; *) cases= ;; esac; \
		srcdir=$(srcdir) $(VALGRIND) ./$$test $$cases && \
			echo "ok - valgrind $$test" || \
			{ echo "not ok - valgrind $$test"; status=1; }; \
	done; exit $$status
.PHONY: check-valgrind

# Benchmarks: built on demand, as `make tests/bench/bench_plan`.
EXTRA_PROGRAMS = tests/bench/bench_plan
tests_bench_bench_plan_SOURCES = tests/bench/bench.h tests/bench/bench_plan.c \
	tests/bench/side_alloc.c tests/bench/side_floor.c \
	tests/bench/side_wrb.c tests/bench/walk_dev.c
tests_bench_bench_plan_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
tests_bench_bench_plan_LDADD = lib/libwrb-core.la
EXTRA_DIST += tests/bench/bench_engine.sh tests/bench/budget.sh \
	tests/bench/budget.txt tests/bench/doorbells.sh tests/bench/idle.sh \
	tests/bench/profile.sh tests/bench/smoke.sh

include tests/e2e/local.mk
CLEANFILES += $(EXTRA_PROGRAMS)
