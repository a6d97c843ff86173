#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Where an initiator's processor time goes: fio's own rdma engine and rdma_batch
# with poll=event, sampled by perf in one boot of a guest. For each it prints
# what an operation costs the job's thread by fio's count, and how that divides:
# programs and libraries, and in the kernel the system call that was made.
#
#	VM_FILES=$(command -v perf) sh tests/e2e/vm.sh tests/bench/profile.sh
#
# usage: profile.sh GUEST-NUMBER [BYTES [SECONDS]]    (64 bytes, 5 s)

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../e2e/faults.sh"

bytes=${2-64} seconds=${3-5}
[ -n "${ADDR-}" ] || skip_all 'this is for a guest of vm.sh'
command -v perf >/dev/null || skip_all 'perf is not here: see VM_FILES above'
cd /tmp || exit 1
port=7600

# sampled ARG...: a job of fio; leaves fio's report, and perf.data of everything
sampled() {
	rm -f report perf.data
	timeout 120 perf record -q -a -g -e cpu-clock -F 499 -o perf.data -- \
		"$FIO" --name=profile "$@" --hostname="$ADDR" --thread=1 \
		--bs="$bytes" --size=1m --iodepth=64 --iodepth_batch_submit=16 \
		--iodepth_batch_complete_max=64 --time_based --ramp_time=2 \
		--runtime="$seconds" --scramble_buffers=0 --output=report \
		--output-format=json && shares
}

# The job's thread: of all threads of fio that are not a process's first, the
# one that was met most often.
job_thread() {
	perf script -i perf.data -G -F comm,pid,tid 2>/dev/null | awk '
		{ split($NF, id, "/") }
		/^ *fio / && id[1] != id[2] { met[id[2]]++ }
		END {
			for (tid in met) if (met[tid] > met[best]) best = tid
			print best
			exit !best
		}'
}

# How many samples of the thread fell to what; a sample is a paragraph whose
# first frame is where it was taken.
shares() {
	thread=$(job_thread) || return 1
	perf script -i perf.data --tid "$thread" -F ip,sym,dso 2>/dev/null | awk '
		BEGIN { RS = "" }
		{ split($0, frame, "\n"); what = frame[1] }
		what !~ /\[/ || what ~ /\[vdso\]|\[unknown\] \(\// {
			sub(/.*\//, "", what)
			sub(/\.so.*|\)$/, "", what)
			sub(/.*\[vdso\].*/, "vdso", what)
			nr[what]++
			next
		}
		match($0, /(__x64_|k)sys_[a-z0-9_]+/) {
			what = substr($0, RSTART, RLENGTH)
			sub(/.*sys_/, "", what)
			nr["kernel, " what "()"]++
			next
		}
		{ nr["kernel, interrupts and others"]++ }
		END { for (what in nr) print nr[what], what }' |
		sort -rn >samples
	[ -s samples ]
}

# print_shares NAME: of the last job
print_shares() {
	us=$(jq '.jobs[0] | (.usr_cpu + .sys_cpu) / 100 * .job_runtime * 1000 /
		(.read.total_ios + .write.total_ios)' report)
	awk -v us="$us" -v name="$1" '
		{ count[NR] = $1; sum += $1; $1 = ""; what[NR] = $0 }
		END {
			printf "# %s: %.1f us of an operation, %d samples\n",
				name, us, sum
			for (i = 1; i <= NR; i++)
				if (count[i] > sum / 100)
					printf "#   %5.1f us %3.0f %% %s\n",
						us * count[i] / sum,
						100 * count[i] / sum, what[i]
		}' samples
}

builtin() { # OP
	port=$((port + 1))
	timeout 120 "$FIO" --name=s --ioengine=rdma --rw=read --bs="$bytes" \
		--size=1m --iodepth=64 --port="$port" >server.log 2>&1 &
	server=$!
	sleep 2
	sampled --ioengine=rdma --rw=write --verb="$1" --port="$port"
	status=$?
	wait "$server"
	return "$status"
}

ours() { # OP
	sampled --ioengine="external:$ENGINE" --rw="$1" --poll=event
}

start_target --size=8m || exit 1
for op in write read; do
	ok "${op}s by fio's rdma" builtin "$op" &&
		print_shares "$op, fio rdma"
	ok "${op}s by rdma_batch" ours "$op" &&
		print_shares "$op, rdma_batch"
done
stop_target
finish
