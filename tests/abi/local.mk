# SPDX-License-Identifier: GPL-2.0-only
# What the library promises to those who link it, and the tree to those who
# read it. Scripts: 0 is a pass, 77 a skip; what they say is in their log.

abi_tests = \
	tests/abi/data.sh \
	tests/abi/dist.sh \
	tests/abi/examples-doc.sh \
	tests/abi/exports.sh \
	tests/abi/header.sh \
	tests/abi/includes.sh \
	tests/abi/install.sh \
	tests/abi/messages-doc.sh \
	tests/abi/modes-doc.sh \
	tests/abi/options-doc.sh \
	tests/abi/paths-doc.sh \
	tests/abi/spdx.sh
TESTS += $(abi_tests)
EXTRA_DIST += $(abi_tests) tests/abi/example.c

# Only compiled: it is all static assertions.
check_PROGRAMS += tests/abi/layout
tests_abi_layout_SOURCES = tests/abi/layout.c
tests_abi_layout_CFLAGS = $(AM_CFLAGS) $(IBVERBS_CFLAGS)

AM_TESTS_ENVIRONMENT += \
	top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)' \
	CC='$(CC)' NM='$(NM)' MAKE='$(MAKE)' PKG_CONFIG='$(PKG_CONFIG)' \
	IBVERBS_CFLAGS='$(IBVERBS_CFLAGS)' \
	SANITIZE_CFLAGS='$(SANITIZE_CFLAGS)'; \
	export top_srcdir top_builddir CC NM MAKE PKG_CONFIG; \
	export IBVERBS_CFLAGS SANITIZE_CFLAGS;
