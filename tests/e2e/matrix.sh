#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Verified jobs that between them meet every pair of: direction, block size,
# QPs, batch, merge, sort, chunk, polling, process or thread, checksum. Each
# dimension turns at a pace of its own, so that a few dozen jobs cover what a
# full product would need thousands for. Sourced after lib.sh; the caller sets
# FIO_ARGS to what reaches the target.

# nth N WORD...: the word at N, counted from 0 and around the end.
nth() {
	nth_index=$(($1 % ($# - 1)))
	shift
	shift "$nth_index"
	echo "$1"
}

# A block size as fio's arguments, with a region that it fills in a moment.
# Blocks too small for a checksum's header are verified as a pattern.
block_args() {
	case $1 in
	1) echo "--bs=1 --size=2k" ;;
	64) echo "--bs=64 --size=128k" ;;
	4k) echo "--bs=4k --size=2m" ;;
	60k) echo "--bs=60k --size=1920k" ;;
	1m) echo "--bs=1m --size=16m" ;;
	odd) echo "--bsrange=1-9999 --bs_unaligned=1 --size=1m" ;;
	esac
}

verify_args() { # BLOCK CHECKSUM
	case $1:$2 in
	1:* | odd:* | *:pattern) echo "--verify=pattern --verify_pattern=0x5aa5c3" ;;
	*) echo "--verify=$2" ;;
	esac
}

# Job number N of the matrix, in words; `set --` them.
matrix_job() {
	n=$1
	block=$(nth $((n / 4 + n)) 4k 64 60k 1m 1 odd)
	batch=$(nth $((n / 3 + n)) 16 1 64)
	echo "--rw=$(nth "$n" write randwrite randrw rw)" \
		"$(block_args "$block")" \
		"$(verify_args "$block" "$(nth $((n / 5)) crc32c md5 pattern)")" \
		"--qps=$(nth $((n / 2 + n)) 4 1 16)" \
		"--iodepth=64 --iodepth_batch_submit=$batch" \
		"--iodepth_batch_complete_max=64" \
		"--merge=$((n / 2 % 2)) --sort=$((n / 3 % 2))" \
		"--chunk_size=$(nth $((n / 7 + n)) 0 16k 0 100)" \
		"--poll=$(nth $((n / 4)) busy event)" \
		"--thread=$((n / 5 % 2))" \
		"--stripe=$(nth $((n / 6 + n)) batch round_robin least_loaded offset)" \
		"--signal_interval=$(nth $((n / 3)) 0 1 7)" \
		"--inline_size=$(nth $((n / 8)) 0 64)"
}

# matrix COUNT: runs the first COUNT jobs of it.
matrix() {
	number=0
	while [ "$number" -lt "$1" ]; do
		job=$(matrix_job "$number")
		# shellcheck disable=SC2086 # words on purpose
		ok "verified: $job" run_fio $job
		number=$((number + 1))
	done
}

# run_fio ARG...: one job, whose errors count even where fio exits with 0.
run_fio() {
	# shellcheck disable=SC2086 # words on purpose
	timeout 120 "${FIO:-fio}" --name=m --ioengine="external:$ENGINE" \
		--verify_state_save=0 --verify_fatal=1 $FIO_ARGS "$@" \
		>"$tap_output.fio" 2>&1
	run_status=$?
	cat "$tap_output.fio"
	[ "$run_status" = 0 ] && ! grep -q 'err=[ ]*[1-9]' "$tap_output.fio"
}
