#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers for test scripts, in a guest of vm.sh or outside: TAP and waiting.
#
#	. "$(dirname "$0")/lib.sh"
#	ok 'a job of reads succeeds' fio --ioengine="external:$ENGINE" ...
#	ok 'a missing size is refused' refused fio ...
#	skip 'two rails' 'there is one device'
#	finish
#
# A command's output is shown, as comments, only when its test failed. Use these
# without `set -e`: a failed test does not end the script.

nr_tests=0 nr_failed=0 nr_skipped=0
tap_output=$(mktemp)
trap 'rm -f "$tap_output"' EXIT

# ok DESCRIPTION CMD...: passes if the command succeeds. It runs in this shell,
# so a function may set variables; its status is returned.
ok() {
	tap_description=$1
	shift
	nr_tests=$((nr_tests + 1))
	tap_status=0
	"$@" >"$tap_output" 2>&1 || tap_status=$?
	if [ "$tap_status" = 0 ]; then
		echo "ok $nr_tests - $tap_description"
		return 0
	fi
	nr_failed=$((nr_failed + 1))
	echo "not ok $nr_tests - $tap_description"
	note "status $tap_status of: $*"
	sed 's/^/#   /' "$tap_output"
	return "$tap_status"
}

# refused CMD...: succeeds if the command fails by itself: not by a signal, and
# not by the deadline of timeout(1).
refused() {
	refused_status=0
	"$@" || refused_status=$?
	case $refused_status in
	0 | 124 | 12[89] | 1[3-9]?) return 1 ;;
	esac
}

# says TEXT CMD...: refused, and with TEXT in its output. Writes said in the
# current directory.
says() {
	wanted=$1
	shift
	refused "$@" >said 2>&1 || {
		cat said
		echo "expected to be refused"
		return 1
	}
	grep -qF -- "$wanted" said && return
	cat said
	echo "expected: $wanted"
	return 1
}

# skip DESCRIPTION REASON
skip() {
	nr_tests=$((nr_tests + 1))
	nr_skipped=$((nr_skipped + 1))
	echo "ok $nr_tests - $1 # SKIP $2"
}

# skip_all REASON: ends the script, with nothing tested
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# note TEXT...: a comment in the output
note() {
	echo "# $*"
}

# finish: prints the plan and the counts, and ends the script: with 1 if a test
# failed. A script that ends without it has no plan, and so counts as failed.
finish() {
	echo "1..$nr_tests"
	note "$((nr_tests - nr_failed - nr_skipped)) passed," \
		"$nr_failed failed, $nr_skipped skipped"
	[ "$nr_failed" = 0 ] || exit 1
	exit 0
}

# wait_for SECONDS CMD...: tries the command, quietly, until it succeeds; fails
# when the time is over.
wait_for() {
	wait_deadline=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_deadline" ] || return 1
		sleep 0.1
	done
}

# ended PID: whether the process is gone, or only waits to be collected
ended() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | Z*) return 0 ;;
	esac
	return 1
}

# write_calls PID: how many write() calls the process has made. On soft-RoCE
# each ibv_post_send() is one of them, so that the difference of two looks
# counts doorbells without asking the program that rings them.
write_calls() {
	sed -n 's/^syscw: //p' "/proc/$1/io"
}
