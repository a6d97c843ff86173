# SPDX-License-Identifier: GPL-2.0-only
# The Debian package comes with the distribution; nothing here is built by make.

EXTRA_DIST += \
	debian/README.source \
	debian/changelog \
	debian/control \
	debian/copyright \
	debian/fio-rdma-batch.install \
	debian/libwrb-dev.docs \
	debian/libwrb-dev.examples \
	debian/libwrb-dev.install \
	debian/libwrb0.install \
	debian/libwrb0.symbols \
	debian/not-installed \
	debian/rules \
	debian/source/format \
	tests/packages/debian.sh
