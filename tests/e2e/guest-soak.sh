#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: one target for a long time, with two initiators that come, run a
# verified job of some kind and go, over and over; then initiators that are
# killed at work. What the target and the device hold afterwards is what they
# held before.
#
# usage: guest-soak.sh N [SECONDS [KILLS]]

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

seconds=${2:-600}
kills=${3:-50}

# The n-th job of a client: every kind comes round.
kind() { # N
	set -- "$1" randrw rw randwrite write
	shift $(($1 % 4 + 1))
	echo "--rw=$1"
}

shape() { # N
	case $(($1 % 6)) in
	0) echo "--qps=4 --poll=busy --thread=1 --bs=4k" ;;
	1) echo "--qps=1 --poll=event --bs=512" ;;
	2) echo "--qps=16 --poll=event --bsrange=512-60k --stripe=round_robin" ;;
	3) echo "--qps=2 --merge=1 --sort=1 --bs=1k" ;;
	4) echo "--qps=3 --chunk_size=4k --bs=64k --stripe=least_loaded" ;;
	5) echo "--qps=4 --numjobs=2 --bs=8k --size=1m --offset_increment=1m" ;;
	esac
}

# One client: jobs one after the other until the time is over. A line each.
client() { # NAME OFFSET
	n=0
	until [ "$(date +%s)" -ge "$over_at" ]; do
		# shellcheck disable=SC2046,SC2086 # words on purpose
		timeout 120 "$FIO" $engine_args --name="$1" --hostname="$ADDR" \
			--offset="$2" --size=2m --iodepth=16 \
			--iodepth_batch_submit=8 --iodepth_batch_complete_max=16 \
			--verify=crc32c --verify_fatal=1 --randseed=$((n + 1)) \
			$(kind "$n") $(shape "$n") >"/tmp/$1.log" 2>&1 || {
			cat "/tmp/$1.log"
			echo "failed $n"
			return
		}
		sed -n 's/^rdma_batch: .*: ops=\([0-9]*\) .*/ops \1/p' "/tmp/$1.log"
		echo "job $n"
		n=$((n + 1))
	done
}

soak() {
	over_at=$(($(date +%s) + seconds))
	client one 0 >/tmp/client.1 &
	first=$!
	client two 8m >/tmp/client.2 &
	second=$!
	wait "$first" "$second"
	cat /tmp/client.[12] | awk '$1 == "ops" { ops += $2 }
		$1 == "job" { jobs++ }
		$1 == "failed" { failed++ }
		{ last[NR] = $0 }
		END {
			print jobs + 0, "jobs,", ops + 0, "operations,", failed + 0, "failed"
			if (failed || jobs < 4) {
				for (i = 1; i <= NR; i++) print last[i]
				exit 1
			}
		}'
}

killed_at_work() {
	for n in $(seq "$kills"); do
		start_initiator --name=k --hostname="$ADDR" --rw=randrw --bs=4k \
			--size=1m --offset=4m --time_based --runtime=60 --qps=4 \
			--iodepth=16
		wait_for 20 at_work || {
			cat /tmp/initiator.log
			return 1
		}
		signal_family KILL "$initiator"
		wait "$initiator" 2>/dev/null
	done
	echo "$kills initiators were killed"
}

# Four QPs, on both of their ends.
at_work() {
	[ "$(rdma resource show qp | grep -c 'type RC state RTS')" = 8 ]
}

no_qps() {
	! rdma resource show qp | grep -q 'type RC'
}

target_job() {
	pgrep -P "$target"
}

descriptors() {
	find "/proc/$(target_job)/fd" -mindepth 1 | wc -l
}

resident() { # KiB
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$(target_job)/status"
}

# What has just been closed may take a moment to go.
target_as_before() {
	wait_for 30 holds_as_before
	status=$?
	echo "descriptors: $fds_before, then $(descriptors)"
	echo "resident: $rss_before KiB, then $(resident) KiB"
	echo "device: $held_before"
	echo "then:   $(resources)"
	return "$status"
}

holds_as_before() {
	[ "$(resources)" = "$held_before" ] && [ "$(descriptors)" = "$fds_before" ] &&
		[ "$(resident)" -le $((rss_before + rss_before / 10 + 1024)) ]
}

# told DESCRIPTION CMD...: with its last line as a comment
told() {
	description=$1
	shift
	ok "$description" "$@" && sed 's/^/# /' "$tap_output"
}

ok 'a target' start_target
ok 'it serves' still_serves
wait_for 5 no_qps
fds_before=$(descriptors) rss_before=$(resident) held_before=$(resources)
told "two initiators come and go for $seconds s" soak
told 'the target and the device hold what they held' target_as_before
told "$kills initiators are killed at work" killed_at_work
told 'the target and the device hold what they held' target_as_before
ok 'it still serves' still_serves
ok 'SIGTERM ends it' stop_target
ok 'no process is left' no_leftovers
finish
