# SPDX-License-Identifier: GPL-2.0-only
# What people read, installed as it lies here, so that links hold.

dist_doc_DATA = \
	CHANGELOG.md \
	CONTRIBUTING.md \
	README.md
docsubdir = $(docdir)/doc
dist_docsub_DATA = \
	doc/design.md \
	doc/migrating.md \
	doc/reliability.md \
	doc/security.md \
	doc/syncs.md \
	doc/testing.md \
	doc/troubleshooting.md
