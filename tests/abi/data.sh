#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The library keeps nothing outside its queues: no variable at file scope that
# could be written.

set -eu
if [ -n "$SANITIZE_CFLAGS" ]; then
	echo "sanitizers put data of their own into every object"
	exit 77
fi
status=0
for archive in libwrb-core libmemdev; do
	found=$($NM -f sysv "$top_builddir/lib/.libs/$archive.a" |
		awk -F'|' '$7 ~ /^\.(data|bss|tdata|tbss)|COM/ &&
			$7 !~ /^\.data\.rel\.ro/')
	[ -z "$found" ] && continue
	echo "$archive has variables at file scope:"
	echo "$found"
	status=1
done
exit $status
