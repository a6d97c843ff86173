#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The distribution holds every file of the tree, and besides those only what
# autogen.sh makes. In a checkout of git; elsewhere there is nothing to compare.

set -eu
command -v git >/dev/null || { echo "no git" && exit 77; }
[ -e "$top_srcdir/.git" ] || { echo "no checkout of git" && exit 77; }
tmp=$(mktemp -d)
name=dist-test.$$
# make writes what it distributes without the write permission of folders.
trap 'chmod -R u+w "$top_builddir/$name" 2>/dev/null
	rm -rf "$tmp" "${top_builddir:?}/$name"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR || true

made='^(Makefile\.in|aclocal\.m4|config\.h\.in|configure|config/.*|m4/(libtool|lt[^/]*)\.m4)$'

"$MAKE" -C "$top_builddir" distdir "distdir=$name" >"$tmp/log" 2>&1 ||
	{ cat "$tmp/log" && exit 1; }
(cd "$top_builddir/$name" && find . -type f) | sed 's|^\./||' |
	grep -vE "$made" | sort >"$tmp/there"
(cd "$top_srcdir" && git ls-files -co --exclude-standard) | sort >"$tmp/tree"
[ -s "$tmp/tree" ] || { echo "git names no files" && exit 1; }
status=0
for file in $(comm -23 "$tmp/tree" "$tmp/there"); do
	[ -e "$top_srcdir/$file" ] || continue # deleted, and not yet committed
	echo "$file is not in the distribution: name it in a local.mk"
	status=1
done
for file in $(comm -13 "$tmp/tree" "$tmp/there"); do
	echo "$file is in the distribution and not in the tree"
	status=1
done
echo "$(wc -l <"$tmp/there") files"
exit $status
