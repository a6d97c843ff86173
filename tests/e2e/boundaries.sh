#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Values at which something changes, one below and one above, in the installed
# fio over the transport in memory. TAP on stdout. ENGINE names the engine if it
# is not in build/.

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/memory.sh
. "$here/memory.sh"

# job ARG...: a job of the engine over memory; later arguments win.
job() {
	timeout -k 5 120 fio --ioengine="external:$ENGINE" --transport=memory \
		--verify_state_save=0 --stats_file="$work/stats" --name=j "$@"
}

# posts FILTER ARG...: a job after which jq finds FILTER true in its statistics
posts() {
	filter=$1
	shift
	job "$@" || return 1
	cat stats
	jq -e "$filter" stats
}

checked='--rw=randwrite --bs=4k --size=1m --verify=crc32c --iodepth=16
	--iodepth_batch_submit=16 --iodepth_batch_complete_max=16'

# shellcheck disable=SC2086 # words on purpose
{
	for depth in 1 2 3; do
		for qps in 1 3; do
			ok "sq_depth=$depth, qps=$qps" job $checked \
				--sq_depth=$depth --qps=$qps
		done
		ok "sq_depth=$depth with chunks" job $checked \
			--sq_depth=$depth --qps=2 --chunk_size=1000
		ok "sq_depth=$depth with merges" job $checked \
			--sq_depth=$depth --qps=2 --merge=1 --sort=1
		ok "sq_depth=$depth, READ and WRITE" job $checked \
			--rw=randrw --sq_depth=$depth --qps=2 --read_depth=1
	done

	ok 'max_sge=1: neighbours in one SGE still merge' posts \
		'.wrs == .sges' $checked --rw=write --max_sge=1 --merge=1
	ok 'max_sge=1, sorted and cut' posts '.wrs == .sges' $checked \
		--max_sge=1 --merge=1 --sort=1 --chunk_size=6000
	ok 'max_sge=2' job $checked --max_sge=2 --merge=1 --sort=1
	ok 'inline_size=256: what the device has' job $checked --bs=256 \
		--size=64k --inline_size=256
	ok 'inline_size=257: one byte more' says 'inline_size=257 asked' \
		job --size=1m --inline_size=257

	for batch in 1 3 15 16 17; do
		ok "batches of $batch at a depth of 16" job $checked \
			--iodepth_batch_submit=$batch
	done
	ok 'batches of 7 at a depth of 10' job $checked --iodepth=10 \
		--iodepth_batch_submit=7 --iodepth_batch_complete_max=10

	ok 'chunk_size one byte below bs' posts \
		'.chunks == 2 * .chunked and .chunked == 256' $checked \
		--rw=write --do_verify=0 --chunk_size=4095
	ok 'chunk_size equal to bs' posts '.chunked == 0' $checked \
		--rw=write --do_verify=0 --chunk_size=4096

	# The device in memory has 1048576 CQEs; a QP keeps one WR for draining.
	ok 'qps x sq_depth fills the CQ' job --rw=write --bs=4k --size=1m \
		--qps=256 --sq_depth=4095
	ok 'qps x sq_depth is one above' says 'sq_depth=4096 asked, but' \
		job --size=1m --qps=256 --sq_depth=4096
	ok 'qps x iodepth above the CQ: fewer WRs per QP' posts \
		'.granted.sq_depth <= 4096' --rw=write --bs=64 --size=4m \
		--qps=256 --iodepth=32768 --iodepth_batch_submit=32768 \
		--iodepth_batch_complete_max=32768
}

# -- regions ---------------------------------------------------------------

ok 'a region of 1 byte' job --rw=write --bs=1 --size=1 --verify=pattern \
	--verify_pattern=0x5a
ok 'a region of 0 bytes' says 'size= is required' job --rw=write --size=0
ok 'bs equal to the region' job --rw=write --bs=64k --size=64k --verify=crc32c
ok 'bs one byte larger than the region' refused job --rw=write --bs=65537 \
	--size=64k
ok 'bs far larger than the region' refused job --rw=write --bs=1g --size=4k
ok 'a size that bs does not divide' job --rw=write --bs=4k --size=10001 \
	--verify=crc32c

# holds OFFSET BYTE: whether the region's file has 4096 of them there
holds() {
	dd if=region bs=4096 skip=$(($1 / 4096)) count=1 2>/dev/null |
		tr -d "$2" | cmp - /dev/null
}

far() { # OFFSET BYTE ARG...
	offset=$1 byte=$2
	shift 2
	job --rw=write --bs=4k --offset="$offset" --size=8k --verify=pattern \
		--verify_pattern="$byte" --region_mem="$work/region" "$@"
}

# 5 GiB of a file, of which little is written.
two_pow_32=$((1 << 32))
edge=$((two_pow_32 - 4096))
last=$((5 * (1 << 30) - 8192))
crosses_4g() {
	far "$last" 0x41 && far "$edge" 0x42 && holds 0 '\0' && holds 4096 '\0' &&
		holds "$edge" B && holds "$two_pow_32" B && holds "$last" A &&
		[ "$(stat -c %s region)" = $((5 * (1 << 30))) ]
}
if fallocate -l 5g region && [ "$(stat -f -c %T region)" != tmpfs ]; then
	ok 'offsets below, across and above 4 GiB' crosses_4g
	ok 'chunks across 4 GiB' far "$edge" 0x43 --bs=8k --chunk_size=3000
	ok 'all over 5 GiB, verified' job --rw=randwrite --bs=4k --size=5g \
		--io_size=4m --verify=crc32c --iodepth=32 \
		--iodepth_batch_submit=8 --iodepth_batch_complete_max=32 \
		--qps=4 --stripe=offset --merge=1 --sort=1 \
		--randrepeat=0 --region_mem="$work/region"
else
	skip 'offsets around 4 GiB' "$work has no room for 5 GiB"
fi
rm -f region

# The longest message of the device in memory is 1 GiB.
longest=$((1 << 30))
available=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
message() { # BS WRS
	posts ".wrs == $2" --rw=write --bs="$1" --size="$1" --iodepth=1
}
if [ "$available" -gt $((6 << 20)) ]; then
	ok 'one byte below the longest message' message $((longest - 1)) 1
	ok 'the longest message' message $longest 1
	ok 'one byte above the longest message' message $((longest + 1)) 2
else
	skip 'around the longest message' 'it takes 6 GiB of free memory'
fi

finish
