# SPDX-License-Identifier: GPL-2.0-only
# Fuzz targets. `make check` replays their corpora with any compiler; with
# --enable-fuzzing `make` builds tests/fuzz/fuzz_TARGET as well.

fuzz_cflags = $(AM_CFLAGS) $(IBVERBS_CFLAGS)
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
replay_sources = tests/fuzz/fuzz.h tests/fuzz/replay.c
EXTRA_DIST += tests/fuzz/corpus

check_PROGRAMS += tests/fuzz/replay_queue
tests_fuzz_replay_queue_SOURCES = tests/fuzz/fuzz_queue.c $(replay_sources)
tests_fuzz_replay_queue_CFLAGS = $(fuzz_cflags)
tests_fuzz_replay_queue_LDADD = $(case_libs)

check_PROGRAMS += tests/fuzz/replay_plan
tests_fuzz_replay_plan_SOURCES = tests/fuzz/fuzz_plan.c $(replay_sources)
tests_fuzz_replay_plan_CFLAGS = $(fuzz_cflags)
tests_fuzz_replay_plan_LDADD = $(case_libs)

handshake_sources = tests/fuzz/fuzz_handshake.c tests/fuzz/fuzz.h \
	engine/conf.h engine/handshake.c engine/handshake.h
check_PROGRAMS += tests/fuzz/replay_handshake
tests_fuzz_replay_handshake_SOURCES = $(handshake_sources) tests/fuzz/replay.c
tests_fuzz_replay_handshake_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_fuzz_replay_handshake_CFLAGS = $(fuzz_cflags)

if FUZZING
noinst_PROGRAMS += tests/fuzz/fuzz_queue
tests_fuzz_fuzz_queue_SOURCES = tests/fuzz/fuzz_queue.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_queue_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_queue_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_queue_LDADD = $(case_libs)

noinst_PROGRAMS += tests/fuzz/fuzz_plan
tests_fuzz_fuzz_plan_SOURCES = tests/fuzz/fuzz_plan.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_plan_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_plan_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_plan_LDADD = $(case_libs)

noinst_PROGRAMS += tests/fuzz/fuzz_handshake
tests_fuzz_fuzz_handshake_SOURCES = $(handshake_sources)
tests_fuzz_fuzz_handshake_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_fuzz_fuzz_handshake_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_handshake_LDFLAGS = $(fuzz_ldflags)
endif
