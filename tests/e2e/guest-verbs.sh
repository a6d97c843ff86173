#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: verified jobs of every kind against one target over soft-RoCE,
# and doorbells counted from outside the engine.
#
# usage: guest-verbs.sh N [quick|modes]	modes: fio's modes alone

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/matrix.sh"
. "$(dirname "$0")/guest-modes.sh"

jobs=999
[ "${2-}" != quick ] || jobs=8

# A target in the background; sets target to its pid.
start_target() {
	"$FIO" --name=target --ioengine="external:$ENGINE" --role=target \
		--size=64m >/tmp/target.log 2>&1 &
	target=$!
	wait_for 20 grep -q listening /tmp/target.log ||
		{ cat /tmp/target.log && echo "the target does not listen" && exit 1; }
}

# Ends the target, which must take less than two seconds and no force.
stop_target() {
	kill -TERM "$target" && wait_for 2 ended "$target"
}

# doorbells ENGINE-ARGS...: write() calls of an initiator's process for 4096
# writes of 64 bytes; the count goes to stdout. The job's process asks the
# kernel itself, at its end, through a shell of which it is the parent.
doorbells() {
	# shellcheck disable=SC2016 # for the shell that fio starts
	timeout 200 "$FIO" --name=d --rw=write --bs=64 --size=256k --iodepth=64 \
		--exec_postrun='tee /tmp/io </proc/$PPID/io' "$@" \
		>/tmp/doorbells.log 2>&1 ||
		{ cat /tmp/doorbells.log >&2 && return 1; }
	sed -n 's/^syscw: //p' /tmp/io
}

doorbells_are_few() {
	ours=$(doorbells --ioengine="external:$ENGINE" --hostname="$ADDR" \
		--iodepth_batch_submit=16 --iodepth_batch_complete_max=64) ||
		return 1
	note "4096 writes of 64 bytes, batch 16: $ours write() calls"
	[ "$ours" -le 300 ]
}

# fio's own engine beside it, in the same boot.
doorbells_of_builtin() {
	"$FIO" --name=server --ioengine=rdma --rw=read --bs=64 --size=256k \
		--port=7999 --iodepth=64 >/tmp/server.log 2>&1 &
	server=$!
	sleep 2
	theirs=$(doorbells --ioengine=rdma --hostname="$ADDR" --port=7999 \
		--verb=write --iodepth_batch_submit=16 \
		--iodepth_batch_complete_max=64)
	note "the same with fio's rdma engine: $theirs write() calls"
	wait "$server"
	[ "$theirs" -gt 4000 ]
}

persists() {
	run_fio --rw=write --bs=4k --size=4m --verify=crc32c --do_verify=0 &&
		run_fio --rw=read --bs=4k --size=4m --verify=crc32c
}

FIO_ARGS="--hostname=$ADDR"
start_target
if [ "${2-}" != quick ]; then
	echo 8 >/proc/sys/vm/nr_hugepages
	modes_over_rdma
	[ "${2-}" != modes ] || finish
fi
matrix "$jobs"
ok 'what one job wrote another one verifies' persists
ok 'four jobs at one port, processes' run_fio --rw=randwrite --bs=4k \
	--size=2m --numjobs=4 --offset_increment=2m --verify=crc32c --qps=4 \
	--iodepth=16 --iodepth_batch_submit=4 --iodepth_batch_complete_max=16
ok 'four jobs at one port, threads' run_fio --rw=randrw --bs=4k --thread=1 \
	--size=2m --numjobs=4 --offset_increment=2m --verify=crc32c --qps=4 \
	--iodepth=16 --iodepth_batch_submit=4 --iodepth_batch_complete_max=16
ok 'no timestamps' run_fio --rw=randread --bs=4k --size=2m --gtod_reduce=1 \
	--iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_max=32
for depth in 1 512 513 4096 32768; do
	ok "iodepth=$depth" run_fio --rw=randrw --bs=64 --size=512k \
		--iodepth="$depth" --iodepth_batch_submit="$depth" \
		--iodepth_batch_complete_max="$depth" --verify=crc32c
done
ok '64 QPs' run_fio --rw=randrw --bs=4k --size=4m --qps=64 --iodepth=128 \
	--iodepth_batch_submit=32 --iodepth_batch_complete_max=128 \
	--stripe=round_robin --verify=crc32c
ok 'one READ outstanding' run_fio --rw=randread --bs=4k --size=1m \
	--rd_atomic=1 --iodepth=16 --iodepth_batch_submit=16 \
	--iodepth_batch_complete_max=16
FIO_ARGS="--hostname=$ADDR6"
ok 'over IPv6' run_fio --rw=randrw --bs=4k --size=1m --verify=crc32c
export FIO_ARGS="--hostname=$(hostname)"
ok 'by name' run_fio --rw=randrw --bs=4k --size=1m --verify=crc32c
ok 'at most 300 doorbells for 4096 writes in batches of 16' doorbells_are_few
grep '^#' "$tap_output"
if [ "${2-}" != quick ]; then
	ok "more than 4000 with fio's rdma engine" doorbells_of_builtin
	grep '^#' "$tap_output"
fi
ok 'SIGTERM ends the target at once' stop_target
finish
