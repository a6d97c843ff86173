#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In two guests: an initiator whose target answers late sleeps meanwhile, or
# not, as poll= says. The target is in the first; its packets leave it 150 ms
# late, so that fio does not have to slow the job down: its own clock spins.
#
# usage: guest-poll.sh N

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

. "$(dirname "$0")/lib.sh"
cd /tmp || exit 1

target() {
	tc qdisc replace dev eth0 root netem delay 150ms &&
		timeout 250 "$FIO" --name=target --ioengine="external:$ENGINE" \
			--role=target --clients=4 --size=1m
}

if [ "$1" = 1 ]; then
	ok 'the target serves its clients and ends by itself' target
	finish
fi

# used ARG...: a job of 10 seconds, a write at a time; sets percent to what its
# thread used of a core, by the engine's count, and shows fio's
used() {
	timeout 60 "$FIO" --name=j --ioengine="external:$ENGINE" \
		--hostname="$PEER" --rw=randwrite --bs=64 --size=1m \
		--time_based=1 --runtime=10 --stats_file=stats --output=report \
		--output-format=json "$@" || return 1
	percent=$(jq '.cpu_seconds * 100 | round / 10' stats)
	note "$*: $percent % of a core, fio says" "$(jq '.jobs[0] |
		(.usr_cpu + .sys_cpu | round)' report) %;" \
		"$(jq .ops stats) writes, $(jq '.jobs[0].write.clat_ns.mean
		/ 1e6 | round' report) ms each"
	[ "$(jq .ops stats)" -ge 40 ] && [ "$(jq .failed stats)" = 0 ]
}
sleeps() { used "$@" && [ "${percent%.*}" -lt 5 ]; }
spins() { used "$@" && [ "${percent%.*}" -ge 50 ]; }

ok 'poll=event: under 5 % of a core' sleeps --poll=event
grep '^#' "$tap_output"
ok 'poll=adaptive: under 5 % of a core' sleeps --poll=adaptive
grep '^#' "$tap_output"
ok 'poll=busy: over 50 %' spins --poll=busy
grep '^#' "$tap_output"
ok 'poll=adaptive that spins for longer than an answer takes: over 50 %' \
	spins --poll=adaptive --poll_spin_us=1000000
grep '^#' "$tap_output"
finish
