#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` leaves is enough to build and run a program with, shared
# and static, by pkg-config alone, and to run the jobs; each call has its manual
# page; `make uninstall` takes all of it away.

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
[ "$(find "$root" -path '*/include/*' -name '*.h' | wc -l)" = 1 ] ||
	{ echo "wrb.h is not the only header" && exit 1; }

[ -z "$(find "$root" -path '*/fio/*.la')" ] ||
	{ echo "libtool's note lies beside the engine" && exit 1; }

# Every call has a page, which is wrb(3).
man_dir=$(dirname "$(find "$root" -name wrb.3)")
calls=$(sed -n 's/^[[:space:]]*\(wrb_[a-z_]*\);$/\1/p' \
	"$top_srcdir/lib/libwrb.map")
for call in $calls; do
	grep -qx '\.so man3/wrb\.3' "$man_dir/$call.3" ||
		{ echo "$call(3) is not there" && exit 1; }
done

# The jobs run from where they are, if the fio that the engine was built for is
# there; a sanitizer's engine needs more than a plain fio.
jobs_dir=$(find "$root" -path '*/fio-rdma-batch/jobs')
if [ -z "$jobs_dir" ]; then
	echo "no jobs: no engine was built"
elif [ -n "$SANITIZE_CFLAGS" ] ||
	! grep -qF "$(fio --version 2>&1)" "$jobs_dir/../fio-rdma_batch.so"; then
	echo "the jobs were not run: no fio that fits the engine"
else
	(cd "$tmp" && unset ENGINE TARGET TRANSPORT &&
		sh "$jobs_dir/run.sh" "$jobs_dir/quickstart.fio") >"$tmp/job.log" 2>&1 ||
		{ cat "$tmp/job.log" && exit 1; }
fi

# The tutorial's programs, built as it says.
if "$PKG_CONFIG" --exists librdmacm; then
	examples=$top_srcdir/doc/examples
	for program in copy blocks; do
		# shellcheck disable=SC2046,SC2086 # lists of options
		$CC $SANITIZE_CFLAGS -o "$tmp/$program" "$examples/$program.c" \
			"$examples/connect.c" $(ask --cflags) \
			$(ask --libs librdmacm)
	done
fi

build shared
LD_LIBRARY_PATH=$lib_dir "$tmp/shared"
rm -f "$lib_dir"/libwrb.so*
build static --static
"$tmp/static"

build_tree uninstall
left=$(find "$root" -type f -o -type l -o -name fio -o -name fio-rdma-batch)
[ -z "$left" ] || { echo "left after uninstall:" && echo "$left" && exit 1; }
