#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` leaves is enough to build and run a program with, shared
# and static, by pkg-config alone; `make uninstall` takes all of it away.

set -eu
command -v "$PKG_CONFIG" >/dev/null || { echo "no pkg-config" && exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root
example=$top_srcdir/tests/abi/example.c
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR || true

build_tree() {
	"$MAKE" -C "$top_builddir" "$@" "DESTDIR=$root" >"$tmp/make.log" 2>&1 ||
		{ cat "$tmp/make.log" && exit 1; }
}

ask() {
	PKG_CONFIG_PATH=$pc_dir PKG_CONFIG_SYSROOT_DIR=$root \
		"$PKG_CONFIG" "$@" libwrb
}

# build NAME PKG-CONFIG-ARG...
build() {
	name=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of options
	$CC $SANITIZE_CFLAGS -o "$tmp/$name" "$example" $(ask --cflags) \
		$(ask --libs "$@")
}

build_tree install
find "$root" -type f -o -type l | sed "s|^$root||" | sort
lib_dir=$(dirname "$(find "$root" -name libwrb.so)")
pc_dir=$(dirname "$(find "$root" -name libwrb.pc)")
[ "$(find "$root" -name '*.h' | wc -l)" = 1 ] ||
	{ echo "wrb.h is not the only header" && exit 1; }

[ -z "$(find "$root" -path '*/fio/*.la')" ] ||
	{ echo "libtool's note lies beside the engine" && exit 1; }

build shared
LD_LIBRARY_PATH=$lib_dir "$tmp/shared"
rm -f "$lib_dir"/libwrb.so*
build static --static
"$tmp/static"

build_tree uninstall
left=$(find "$root" -type f -o -type l)
[ -z "$left" ] || { echo "left after uninstall:" && echo "$left" && exit 1; }
