#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the tree with the usual checkers; prints TAP. A checker that is not
# installed is a skip, and so is clang-tidy of what includes fio's headers where
# there is no configured source of fio.
#
# usage: lint.sh [CHECK...]    only these, by name
#
# environment: FIO_DIR, that source (build/fio)

cd "$(dirname "$0")/.." || exit 1
fio=${FIO_DIR:-build/fio}
cores=$(nproc)
wanted=" $* "
status=0
number=0

selected() { # NAME
	[ "$wanted" = '  ' ] || case $wanted in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

skip() { # NAME REASON
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# check NAME COMMAND...: one test. COMMAND may be a function of that name in
# which the program is $name.
check() {
	name=$1
	shift
	selected "$name" || return 0
	command -v "${name%% *}" >/dev/null ||
		{ skip "$name" "${name%% *} is not installed" && return; }
	number=$((number + 1))
	if "$@" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		status=1
	fi
}

# The files of the tree with these endings, as find's words.
files() {
	find engine lib tests jobs doc -type f -name "$1" -not -path '*/build*'
}

# tidy FLAGS FILE...: one by one: its analyzer carries state from file to file. What
# it counts is of no use.
tidy() {
	flags=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\n' "$@" | xargs -P "$cores" -n 1 sh -c '
		flags=$1
		shift
		log=$(clang-tidy --quiet "$@" -- $flags 2>&1) && exit
		echo "$log" | grep -v "warnings generated\.$"
		exit 1' sh "$flags"
}

c_files=$(files '*.[ch]')
scripts="autogen.sh $(files '*.sh')"
# What includes fio's headers, by itself or by a header of the engine.
fio_sources=$(files '*.c' | xargs grep -lE \
	'^#include ".*(fio_api|options|io_map|role)\.h"')
other_sources=$(files '*.c' | grep -vxF "$fio_sources")
flags='-std=gnu11 -D_GNU_SOURCE'

# shellcheck disable=SC2086 # lists of names without blanks
{
	check clang-format clang-format --dry-run --Werror $c_files
	check shellcheck shellcheck $scripts .ci/run
	check codespell codespell -L inflight -S tests/fuzz/corpus README.md \
		CHANGELOG.md CONTRIBUTING.md doc man engine lib jobs tests debian \
		configure.ac Makefile.am
	check cppcheck cppcheck --quiet --error-exitcode=1 --std=c11 -j "$cores" \
		--enable=warning,portability,performance --inline-suppr \
		--suppress=missingInclude --suppress=missingIncludeSystem \
		--suppress=preprocessorErrorDirective --suppress=internalAstError \
		--suppress=invalidFunctionArg:engine/region_mem.c \
		--library=posix -D_GNU_SOURCE -Ilib -Iengine lib engine doc
	check clang-tidy tidy \
		"$flags -DENGINE_VERSION=\"\" -DCHECK_ALLOCATIONS -Ilib -Iengine" $other_sources
	if [ -e "$fio/config-host.h" ]; then
		check 'clang-tidy with fio' tidy "$flags -DENGINE_FIO_VERSION=\"\" \
			-include $fio/config-host.h -isystem $fio -isystem lib" \
			$fio_sources
	elif selected 'clang-tidy with fio'; then
		skip 'clang-tidy with fio' "no configured source of fio in $fio"
	fi
}
echo "1..$number"
exit $status
