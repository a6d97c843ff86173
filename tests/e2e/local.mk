# SPDX-License-Identifier: GPL-2.0-only
# Built on demand, as `make tests/e2e/rogue`: a peer for guest-rogue.sh.

EXTRA_DIST += tests/e2e/faults.sh tests/e2e/guest-faults.sh \
	tests/e2e/guest-rogue.sh tests/e2e/guest-lost.sh \
	tests/e2e/lost.sh

if BUILD_ENGINE
EXTRA_PROGRAMS += tests/e2e/rogue
tests_e2e_rogue_SOURCES = tests/e2e/rogue.c tests/e2e/rogue.h \
	tests/e2e/rogue_client.c tests/e2e/rogue_target.c \
	engine/conf.h engine/handshake.c engine/handshake.h
tests_e2e_rogue_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/engine
tests_e2e_rogue_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_e2e_rogue_LDADD = $(RDMACM_LIBS) $(IBVERBS_LIBS)
endif
