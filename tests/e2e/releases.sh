#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The engine with several releases of fio. For each: its source, the engine
# built against it, --enghelp, the native suite in a fio of that release, and
# one sentence where engine and fio do not belong together. TAP on stdout. With
# the fio that is installed native.sh runs by itself, so not here.
#
# A source that no archive of this machine has is a skip with its reason, and
# is asked for again by the next run. What was built is kept in
# build/releases, or where FIO_RELEASES says.
#
# usage: releases.sh [X.YY...]    default: those of Debian 12, 13 and unstable

# shellcheck disable=SC2317 # functions are called by name, through ok()

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

top=$(cd "$here/../.." && pwd)
cache=${FIO_RELEASES:-$top/build/releases}
[ $# != 0 ] || set -- 3.33 3.39 3.41
mkdir -p "$cache" || skip_all "cannot make $cache"
cache=$(cd "$cache" && pwd)
[ -x "$top/configure" ] || (cd "$top" && ./autogen.sh) >/dev/null 2>&1 ||
	skip_all "$top/autogen.sh failed"

# For each release a folder with fio (its tree), engine (a build), bin/fio.
source_of() { # RELEASE
	sh "$top/engine/fetch-fio-source.sh" --release "$1" "$cache/$1/fio" \
		>"$cache/$1/fetch.log" 2>&1
}

# The installed one where it fits, else one built from the same source with as
# little as it allows.
fio_of() ( # RELEASE
	mkdir -p "$cache/$1/bin"
	if [ "$1" = "$installed" ]; then
		ln -sf "$(command -v fio)" "$cache/$1/bin/fio"
		exit
	fi
	cd "$cache/$1/fio" || exit 1
	[ -x fio ] || {
		./configure --disable-native --disable-numa --disable-rdma \
			--disable-optimizations &&
			timeout 900 make -j "$(nproc)" fio
	} || exit 1
	ln -sf "$cache/$1/fio/fio" "$cache/$1/bin/fio"
)

# Always against this tree as it is.
engine_of() ( # RELEASE
	mkdir -p "$cache/$1/engine" && cd "$cache/$1/engine" || exit 1
	"$top/configure" --enable-werror --with-fio="$cache/$1/fio" &&
		timeout 600 make -j "$(nproc)" all-local
)

engine() { # RELEASE
	echo "$cache/$1/engine/engine/fio-rdma_batch.so"
}

helps() { # RELEASE
	"$cache/$1/bin/fio" --enghelp="$(engine "$1")" >help || return 1
	cat help
	grep -q '^iodepth\|^qps ' help
}

# The native suite, its cases with the release before their names.
native() { # RELEASE
	PATH=$cache/$1/bin:$PATH ENGINE=$(engine "$1") \
		sh "$here/native.sh" >"$work/native" 2>&1
	native_status=$?
	sed "s/^\\(not \\)\\{0,1\\}ok [0-9]* - /&fio $1: /" "$work/native"
	native_ok=$(grep -c '^ok ' "$work/native")
	native_skip=$(grep -c '^ok .*# SKIP' "$work/native")
	native_bad=$(grep -c '^not ok ' "$work/native")
	nr_tests=$((nr_tests + native_ok + native_bad))
	nr_skipped=$((nr_skipped + native_skip))
	nr_failed=$((nr_failed + native_bad))
	ok "fio $1: the native suite came to its end" \
		test $((native_ok > 0 && (native_bad || !native_status))) = 1
}

# The sentence names both.
parts() { # ENGINE'S-RELEASE FIO'S-RELEASE
	refused timeout 20 "$cache/$2/bin/fio" --name=j --size=1m \
		--ioengine="external:$(engine "$1")" --transport=memory \
		>said 2>&1
	parts_status=$?
	cat said
	[ "$parts_status" = 0 ] && [ "$(grep -c rdma_batch: said)" = 1 ] &&
		grep -qF "was built for fio-$1 and does not fit fio-$2:" said
}

# configures RELEASE SED: the configure of a tree with that changed
configures() (
	rm -rf changed
	mkdir -p changed/build && cp -r "$cache/$1/fio" changed/fio &&
		sed -i "$2" changed/fio/ioengines.h changed/fio/FIO-VERSION-GEN &&
		cd changed/build || exit 1
	"$top/configure" --with-fio="$work/changed/fio" >../said 2>&1
	configure_status=$?
	grep -E 'WARNING|error:' ../said
	exit "$configure_status"
)
too_old() {
	refused configures "$1" \
		's/\(FIO_IOOPS_VERSION[[:space:]]*\)[0-9]*$/\130/' &&
		grep -q 'error: .* is too old: fio 3.30 is the oldest' changed/said
}
too_new() {
	configures "$1" 's/^DEF_VER=fio-.*/DEF_VER=fio-3.99/' &&
		grep -q 'fio-3.99 is none of the releases' changed/said &&
		grep -q 'the engine will load in fio-3.99 only' changed/said
}
not_compiling() {
	refused configures "$1" "\$a #error not a tree that compiles" &&
		grep -q 'error: the headers of .* do not compile' changed/said
}

work=$(mktemp -d)
trap 'rm -rf "$work" "$tap_output"' EXIT
cd "$work" || exit 1

installed=$(fio --version 2>/dev/null | sed 's/^fio-//')
there=
for release; do
	mkdir -p "$cache/$release"
	if ! source_of "$release"; then
		reason=$(tail -n 1 "$cache/$release/fetch.log")
		skip "fio $release: build, --enghelp, native suite, wrong pairing" \
			"its source cannot be had: $reason"
		continue
	fi
	ok "fio $release: there is a fio of it" fio_of "$release" &&
		ok "fio $release: the engine builds" engine_of "$release" &&
		ok "fio $release: --enghelp" helps "$release" || continue
	there="$there $release"
	[ "$release" = "$installed" ] || native "$release"
done
for release in $there; do
	for other in $there; do
		[ "$release" = "$other" ] ||
			ok "an engine for $release is refused by fio $other" \
				parts "$release" "$other"
	done
done
for release in $there; do
	ok 'configure refuses a fio older than 3.30' too_old "$release"
	ok 'configure says that a release is none it knows' too_new "$release"
	ok 'configure says that headers do not compile' not_compiling "$release"
	break
done
finish
