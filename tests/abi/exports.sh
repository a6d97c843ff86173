#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libwrb.so exports what libwrb.map names, wrb.h declares the same, wrb(3)
# tells of it, and the engine exports what fio looks for and nothing else.

set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
engine=$top_builddir/engine/.libs/fio-rdma_batch.so

# The names, without versions, that a shared object defines.
exported() {
	$NM -D --defined-only "$1" | awk '$2 != "A" { print $3 }' |
		sed 's/@.*//' | sort
}

# Comments begin a line of their own or end on the line they begin on.
without_comments() {
	sed -e 's|/\*.*\*/||' -e '\|/\*|,\|\*/|d' "$1"
}

sed -n '/^global:/,/^local:/s/^[[:space:]]*\(wrb_[a-z_]*\);$/\1/p' \
	"$top_srcdir/lib/libwrb.map" | sort >"$tmp/map"
without_comments "$top_srcdir/lib/wrb.h" | grep -v '^#' |
	grep -oE 'wrb_[a-z_]+\(' | tr -d '(' | sort >"$tmp/header"
exported "$top_builddir/lib/.libs/libwrb.so" >"$tmp/library"

[ -s "$tmp/map" ] || { echo "no names in libwrb.map" && exit 1; }
echo "libwrb.map against the library:"
diff "$tmp/map" "$tmp/library"
echo "libwrb.map against wrb.h:"
diff "$tmp/map" "$tmp/header"
echo "libwrb.map against wrb.3:"
grep -oE 'wrb_[a-z_]+\(' "$top_srcdir/man/wrb.3" | tr -d '(' | sort -u \
	>"$tmp/manual"
diff "$tmp/map" "$tmp/manual"
echo "libwrb.map against the errors of each call in wrb.3:"
sed -n '/^\.SS "By call"/,/^\.SH/p' "$top_srcdir/man/wrb.3" |
	grep -oE 'wrb_[a-z_]+\(' | tr -d '(' | sort >"$tmp/by-call"
diff "$tmp/map" "$tmp/by-call"
[ -f "$engine" ] || { echo "no engine was built" && exit 0; }
echo "the engine:"
echo get_ioengine >"$tmp/hook"
exported "$engine" >"$tmp/engine"
diff "$tmp/hook" "$tmp/engine"
