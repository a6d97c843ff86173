#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma_batch beside fio's own rdma engine, on one host with an RDMA device:
# 64-byte messages, depth 64, batches of 16, one QP; the two in turn, medians.
# Prints operations per second of each and their ratio.
#
# usage: builtin.sh GUEST-NUMBER [ROUNDS [SECONDS]]    as a script of vm.sh:
#	VM_TIMEOUT=900 sh tests/e2e/vm.sh tests/bench/builtin.sh
#
# Elsewhere set FIO, ENGINE and ADDR, an address of this host that reaches its
# device, and give any number first.

. "$(dirname "$0")/../e2e/lib.sh"

rounds=${2-3}
seconds=${3-10}
port=7800
common="--bs=64 --size=64k --iodepth=64 --iodepth_batch_submit=16
--iodepth_batch_complete_max=64 --time_based --runtime=$seconds --ramp_time=2
--scramble_buffers=0 --thread=1 --output-format=json"

# iops DIRECTION ARG...: of one client, to stdout. fio's rdma reports reads as
# writes, so whichever side of the report moved is taken.
iops() {
	# shellcheck disable=SC2086 # words on purpose
	timeout $((seconds + 60)) "$FIO" --name=c $common "$@" >/tmp/iops.json \
		2>/tmp/iops.err || { cat /tmp/iops.err >&2 && return 1; }
	sed -n '/^{/,$p' /tmp/iops.json |
		jq '.jobs[0] | .read.iops + .write.iops | floor'
}

ours() { # DIRECTION
	iops --rw="$1" --ioengine="external:$ENGINE" --hostname="$ADDR"
}

# A server of its own for each run: it ends with its client.
theirs() { # DIRECTION
	port=$((port + 1))
	"$FIO" --name=s --ioengine=rdma --rw=read --bs=64 --size=64k \
		--iodepth=64 --port=$port >/tmp/server.log 2>&1 &
	server=$!
	sleep 2
	iops --rw=write --ioengine=rdma --verb="$1" --hostname="$ADDR" \
		--port=$port
	kill "$server" 2>/dev/null
	wait "$server"
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

"$FIO" --name=target --ioengine="external:$ENGINE" --role=target \
	--size=1m >/tmp/target.log 2>&1 &
target=$!
wait_for 20 grep -q listening /tmp/target.log || { cat /tmp/target.log && exit 1; }
for direction in write read; do
	: >/tmp/ours && : >/tmp/theirs
	for round in $(seq "$rounds"); do
		ours $direction >>/tmp/ours
		theirs $direction >>/tmp/theirs
		echo "# $direction, round $round: $(tail -n 1 /tmp/ours) beside" \
			"$(tail -n 1 /tmp/theirs)"
	done
	a=$(median </tmp/ours)
	b=$(median </tmp/theirs)
	echo "$direction: rdma_batch $a, fio rdma $b operations/s, ratio" \
		"$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", a / b }')"
done
kill "$target" && wait "$target"
