#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the tree with the usual checkers; prints TAP. A checker that is not
# installed is a skip.

cd "$(dirname "$0")/.." || exit 1
status=0
number=0

# check NAME COMMAND...: one test.
check() {
	name=$1
	shift
	number=$((number + 1))
	if ! command -v "$1" >/dev/null; then
		echo "ok $number - $name # SKIP $1 is not installed"
	elif "$@" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		status=1
	fi
}

# The files of the tree with these endings, as find's words.
files() {
	find engine lib tests jobs -type f -name "$1" -not -path '*/build*'
}

c_files=$(files '*.[ch]')
scripts="autogen.sh $(files '*.sh')"

# shellcheck disable=SC2086 # lists of names without blanks
{
	check clang-format clang-format --dry-run --Werror $c_files
	check shellcheck shellcheck $scripts
	check codespell codespell -L inflight -S tests/fuzz/corpus README.md CHANGELOG.md CONTRIBUTING.md doc \
		man engine lib jobs tests
	check cppcheck cppcheck --quiet --error-exitcode=1 --std=c11 \
		--enable=warning,portability --inline-suppr \
		--suppress=missingInclude -Ilib lib/*.c
}
echo "1..$number"
exit $status
