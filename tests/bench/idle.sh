#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a job costs that mostly waits: writes of 64 bytes at rate_iops=100 with
# each poll=, in turn with fio's null engine, whose share is what fio's own clock
# takes (it spins for the last part of each pause). Over RDMA in a guest, or over
# the transport in memory here:
#
#	sh tests/e2e/vm.sh tests/bench/idle.sh
#	sh tests/bench/idle.sh --native build/engine/fio-rdma_batch.so
#
# usage: idle.sh GUEST-NUMBER [ROUNDS [SECONDS]]    (5 rounds of 5 seconds)
#        idle.sh --native ENGINE [ROUNDS [SECONDS]]

way=${ADDR:+--hostname=$ADDR}
if [ "${1-}" = --native ]; then
	way=--transport=memory
	ENGINE=$(realpath "${2-}") || exit 2
	shift
fi

. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../e2e/faults.sh"

rounds=${2-5} seconds=${3-5}
[ -n "$way" ] || skip_all 'this is for a guest of vm.sh, or --native'
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work" "$tap_output"' EXIT

# percent ARG...: of a core, that a job takes, as fio counts it
percent() {
	timeout 60 "${FIO:-fio}" --name=idle --rw=randwrite --bs=64 --size=1m \
		--iodepth=16 --rate_iops=100 --time_based=1 \
		--runtime="$seconds" --output=report --output-format=json "$@" \
		>log 2>&1 || { cat log >&2 && return 1; }
	jq '.jobs[0] | (.usr_cpu + .sys_cpu) * 10 | round / 10' report
}

ours() { # POLL
	percent --ioengine="external:$ENGINE" "$way" --poll="$1"
}

measure() { # to files, one a kind
	for _ in $(seq "$rounds"); do
		percent --ioengine=null >>of_null || return 1
		for poll in event adaptive busy; do
			ours "$poll" >>"of_$poll" || return 1
		done
	done
}

median() { # FILE
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

[ -z "${ADDR-}" ] || start_target --size=8m || exit 1
ok 'jobs of 100 I/Os a second' measure
for kind in null event adaptive busy; do
	note "$kind: $(median "of_$kind") % of a core ($(tr "\n" " " <"of_$kind"))"
done
[ -z "${ADDR-}" ] || stop_target
finish
