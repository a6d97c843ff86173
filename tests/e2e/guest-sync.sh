#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: after each sync another process finds what was written in the
# target's memory.
#
# usage: guest-sync.sh N WATCH, WATCH being tests/e2e/watch.c as built

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

. "$(dirname "$0")/lib.sh"
src=$(dirname "$0")
WATCH=$2
mkdir -p /tmp/sync && cd /tmp/sync || exit 1
export WATCH_REGION=/dev/shm/region
FIO_ARGS="--hostname=$ADDR"
. "$src/sync-lib.sh"

# target PORT ARG...: a target in the background
target() {
	port=$1
	shift
	"$FIO" --name=target --ioengine="external:$ENGINE" --role=target \
		--port="$port" --size=4m "$@" >"target.$port" 2>&1 &
	wait_for 20 grep -q listening "target.$port" ||
		{ cat "target.$port" && echo "no target" && exit 1; }
}

job() {
	timeout 60 "$FIO" --ioengine="external:$ENGINE" --hostname="$ADDR" \
		--verify_state_save=0 --size=1m --name=j "$@"
}

target 7471 --region_mem="$WATCH_REGION"
few_syncs

target 7472 --access=wo
ok 'a target that allows no reads: syncs are refused' says \
	"the job's syncs need READ access, but $ADDR:7472 allows access=wo" \
	job --port=7472 --rw=write --fsync=4
ok 'a target that allows no reads: writes alone are not' \
	job --port=7472 --rw=write

finish
