#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In two guests: the target in the first, the initiator in the second.
#
# usage: guest-two.sh N

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/matrix.sh"

target() {
	timeout 500 "$FIO" --name=target --ioengine="external:$ENGINE" \
		--role=target --size=64m --clients=7
}

if [ "$1" = 1 ]; then
	ok 'the target serves its clients and ends by itself' target
	finish
fi
depth='--iodepth=64 --iodepth_batch_submit=16 --iodepth_batch_complete_max=64'
# shellcheck disable=SC2086 # words on purpose
{
	FIO_ARGS="--hostname=$PEER $depth"
	ok 'verified writes' run_fio --rw=randwrite --bs=4k --size=4m \
		--verify=crc32c
	ok 'verified writes, 4 QPs' run_fio --rw=randwrite --bs=4k --size=4m \
		--verify=crc32c --qps=4
	ok 'mixed, 4 QPs, a WR to each in turn' run_fio --rw=randrw --bs=4k \
		--size=4m --verify=md5 --qps=4 --stripe=round_robin
	ok 'large and cut' run_fio --rw=rw --bs=1m --size=16m --verify=crc32c \
		--qps=4 --chunk_size=64k
	ok 'sequential and merged' run_fio --rw=write --bs=512 --size=1m \
		--verify=crc32c --merge=1 --sort=1
	ok 'events' run_fio --rw=randrw --bs=4k --size=2m --verify=crc32c \
		--poll=event
	export FIO_ARGS="--hostname=$PEER6 $depth"
	ok 'over IPv6' run_fio --rw=randrw --bs=4k --size=2m --verify=crc32c
}
finish
