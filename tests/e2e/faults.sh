#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What tests of failures share. Sourced after lib.sh, in a guest of vm.sh.

# tests/e2e/lib.sh has the counters and $tap_output.
: "${tap_output:?source lib.sh first}"

engine_args="--ioengine=external:$ENGINE --verify_state_save=0"

# run_job ARG...: an initiator, with the engine's words and fio's in one output.
run_job() {
	# shellcheck disable=SC2086 # words on purpose
	timeout 60 "$FIO" $engine_args "$@"
}

# start_target ARG...: a target in the background; sets target to its pid.
start_target() {
	: >/tmp/target.log
	# shellcheck disable=SC2086 # words on purpose
	"$FIO" $engine_args --name=target --role=target --size=16m "$@" \
		>/tmp/target.log 2>&1 &
	target=$!
	wait_for 20 grep -q listening /tmp/target.log || {
		cat /tmp/target.log
		return 1
	}
}

# start_initiator ARG...: one in the background; sets initiator to its pid.
start_initiator() {
	# shellcheck disable=SC2086 # words on purpose
	"$FIO" $engine_args "$@" >/tmp/initiator.log 2>&1 &
	# shellcheck disable=SC2034 # for who sources this
	initiator=$!
}

# signal_family SIGNAL PID: to fio and to its jobs
signal_family() {
	# shellcheck disable=SC2046 # a list of pids
	kill "-$1" $(family "$2")
}

# All processes of fio's process $1: itself, and the jobs that it forked.
family() {
	echo "$1"
	pgrep -P "$1"
}

# within TENTHS PID...: whether all of them end in time
within() {
	within_left=$1
	shift
	for pid; do
		until ended "$pid"; do
			within_left=$((within_left - 1))
			[ "$within_left" -ge 0 ] || {
				echo "process $pid has not ended"
				return 1
			}
			sleep 0.1
		done
	done
}

# ends_by SIGNAL PID: within a second or so, its jobs with it. An emulated CPU
# takes a good part of it for fio's own end.
ends_by() {
	# shellcheck disable=SC2046 # a list of pids
	set -- "$1" $(family "$2")
	kill "-$1" "$2"
	shift
	within 20 "$@"
}

stop_target() {
	ends_by TERM "$target" || {
		cat /tmp/target.log
		return 1
	}
}

# twelve_ways: the arguments of a job for every way to do it
twelve_ways() {
	for rw in randread randwrite randrw; do
		for qps in 1 4; do
			for poll in busy event; do
				echo "--name=$rw-$qps-$poll --rw=$rw" \
					"--qps=$qps --poll=$poll" \
					"--hostname=${PEER:-$ADDR}"
			done
		done
	done
}

# each_says_why REGEX: of those twelve jobs, which failed each for such a reason
each_says_why() {
	for name in $(twelve_ways | sed 's/--name=//; s/ .*//'); do
		has /tmp/initiator.log "^rdma_batch: $name: .*($1)" \
			"^rdma_batch: $name: ops=[1-9]" \
			"^$name: \(groupid=.*err= *[1-9]" || return 1
	done
}

# no_leftovers: no process of fio lives
no_leftovers() {
	! pgrep -x fio
}

# What the device holds, and how many CM ids there are, in one line. A device
# that was made anew has another index.
resources() {
	echo "$(rdma resource show | sed 's/^[0-9]*: //' | tr -d '\n')" \
		"$(rdma resource show cm_id | wc -l)"
}

# clocked CMD...: runs it; sets took to how long it took, in milliseconds
clocked() {
	clocked_from=$(cut -d ' ' -f 1 /proc/uptime | tr -d .)
	"$@"
	clocked_status=$?
	took=$((($(cut -d ' ' -f 1 /proc/uptime | tr -d .) - clocked_from) * 10))
	return "$clocked_status"
}

# has FILE REGEX...: whether all of them are found
has() {
	has_file=$1
	shift
	for regex; do
		grep -Eq -- "$regex" "$has_file" || {
			echo "not said: $regex"
			return 1
		}
	done
}

# fails SECONDS REGEX ARG...: a job that ends in time, by itself, with another
# status than 0 and a sentence that matches
fails() {
	fails_limit=$1 fails_regex=$2
	shift 2
	clocked refused run_job --name=f "$@" >/tmp/fails.log 2>&1
	fails_status=$?
	cat /tmp/fails.log
	echo "took $took ms of $fails_limit s"
	[ "$fails_status" = 0 ] && has /tmp/fails.log "$fails_regex" &&
		[ "$took" -le $((fails_limit * 1000)) ]
}

# A small verified job: the target still serves.
still_serves() {
	run_job --name=verified --hostname="${PEER:-$ADDR}" --rw=randwrite --bs=4k \
		--size=256k --verify=crc32c --verify_fatal=1 --qps=2 \
		--iodepth=16 --iodepth_batch_submit=8 \
		--iodepth_batch_complete_max=16 --connect_timeout=5s
}

# as_before [SECONDS]: the device comes to hold what it held when the script set
# $before to its resources
as_before() {
	wait_for "${1:-5}" nothing_new && return
	echo "before: $before"
	echo "now:    $(resources)"
	return 1
}

nothing_new() {
	[ "$(resources)" = "$before" ]
}

nothing_is_left() {
	as_before 10 && no_leftovers
}

# start_bystander ARG...: another client's verified job, which runs while others
# do what they should not
start_bystander() {
	start_initiator --name=bystander --hostname="$ADDR" --rw=randwrite \
		--bs=4k --size=256k --verify=crc32c --verify_fatal=1 \
		--time_based --runtime=300 --qps=2 --verify_backlog=16 "$@"
	wait_for 20 grep -q 'is here with 2' /tmp/target.log
}

bystander_fine() {
	! ended "$initiator" && kill -INT "$initiator" &&
		within 30 "$initiator"
	cat /tmp/initiator.log
	grep -q 'bystander: .*err= 0' /tmp/initiator.log
}
