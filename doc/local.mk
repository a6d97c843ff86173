# SPDX-License-Identifier: GPL-2.0-only
# What people read.

dist_doc_DATA = \
	CHANGELOG.md \
	CONTRIBUTING.md \
	README.md \
	doc/design.md \
	doc/migrating.md \
	doc/security.md \
	doc/testing.md \
	doc/troubleshooting.md
