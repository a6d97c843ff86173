# SPDX-License-Identifier: GPL-2.0-only
# What people read, installed as it lies here, so that links hold.

dist_doc_DATA = \
	CHANGELOG.md \
	CONTRIBUTING.md \
	README.md
docsubdir = $(docdir)/doc
dist_docsub_DATA = \
	doc/design.md \
	doc/fio-modes.md \
	doc/libwrb.md \
	doc/migrating.md \
	doc/performance.md \
	doc/reliability.md \
	doc/security.md \
	doc/syncs.md \
	doc/testing.md \
	doc/troubleshooting.md
examplesdir = $(docsubdir)/examples
dist_examples_DATA = \
	doc/examples/blocks.c \
	doc/examples/connect.c \
	doc/examples/connect.h \
	doc/examples/copy.c

# The programs of doc/libwrb.md; tests/e2e/guest-examples.sh runs them.
if BUILD_ENGINE
noinst_PROGRAMS += doc/examples/blocks doc/examples/copy
examples_cflags = $(AM_CFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
examples_libs = lib/libwrb-core.la $(RDMACM_LIBS) $(IBVERBS_LIBS)
examples_connect = doc/examples/connect.c doc/examples/connect.h

doc_examples_blocks_SOURCES = doc/examples/blocks.c $(examples_connect)
doc_examples_blocks_CFLAGS = $(examples_cflags)
doc_examples_blocks_LDADD = $(examples_libs)
doc_examples_copy_SOURCES = doc/examples/copy.c $(examples_connect)
doc_examples_copy_CFLAGS = $(examples_cflags)
doc_examples_copy_LDADD = $(examples_libs)
endif
