#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Verified jobs that between them meet every pair of: direction, block size,
# checksum, QPs, batch, merge, sort, chunk, polling, process or thread, stripe,
# signalling, inline. A full product would need half a million jobs; these
# hold every pair of two settings at least once, which pairs_missing() checks.
# Sourced after lib.sh; the caller sets FIO_ARGS to what reaches the target.

# A digit for each dimension, in the order of matrix_job(): a covering array,
# made by a greedy search.
matrix_rows='
2121011101121
3002201210000
1510100000211
0411110211300
2300011011210
1222200100320
0302000200111
3420210101011
3212111011121
1501011111301
2111200010000
0020210210221
2020100001301
2402101110220
3311001100310
0522211110120
2201010210201
1102111200020
1011001111111
0220000001011
1320100211101
3100011010211
1402000011120
2500000210020
3310200010021
0120200211311
3520110010300
'
matrix_sizes='4 6 3 3 3 2 2 3 2 2 4 3 2'

# How many pairs of two settings no row holds.
pairs_missing() {
	echo "$matrix_rows" | awk -v sizes="$matrix_sizes" '
	BEGIN { dims = split(sizes, size, " ") }
	NF {
		for (a = 1; a <= dims; a++)
			for (b = a + 1; b <= dims; b++)
				met[a, b, substr($1, a, 1), substr($1, b, 1)] = 1
	}
	END {
		for (a = 1; a <= dims; a++)
			for (b = a + 1; b <= dims; b++)
				for (x = 0; x < size[a]; x++)
					for (y = 0; y < size[b]; y++)
						missing += !((a, b, x, y) in met)
		print missing + 0
	}'
}

# nth N WORD...: the word at N, counted from 0.
nth() {
	shift $(($1 + 1))
	echo "$1"
}

# A block size as fio's arguments, with a region that it fills in a moment.
block_args() {
	case $1 in
	1) echo "--bs=1 --size=2k" ;;
	64) echo "--bs=64 --size=128k" ;;
	4k) echo "--bs=4k --size=2m" ;;
	60k) echo "--bs=60k --size=1920k" ;;
	1m) echo "--bs=1m --size=8m" ;;
	odd) echo "--bsrange=1-9999 --bs_unaligned=1 --size=1m" ;;
	esac
}

# Blocks too small for a checksum's header are verified as a pattern.
verify_args() { # BLOCK CHECKSUM
	case $1:$2 in
	1:* | odd:* | *:pattern) echo "--verify=pattern --verify_pattern=0x5aa5c3" ;;
	*) echo "--verify=$2" ;;
	esac
}

# matrix_job DIGIT...: a row in words.
matrix_job() {
	block=$(nth "$2" 1 64 4k 60k 1m odd)
	echo "--rw=$(nth "$1" write randwrite randrw rw)" \
		"$(block_args "$block")" \
		"$(verify_args "$block" "$(nth "$3" crc32c md5 pattern)")" \
		"--qps=$(nth "$4" 1 4 16)" \
		"--iodepth=64 --iodepth_batch_submit=$(nth "$5" 1 16 64)" \
		"--iodepth_batch_complete_max=64 --merge=$6 --sort=$7" \
		"--chunk_size=$(nth "$8" 0 16k 100)" \
		"--poll=$(nth "$9" busy event) --thread=${10}" \
		"--stripe=$(nth "${11}" batch round_robin least_loaded offset)" \
		"--signal_interval=$(nth "${12}" 0 1 7)" \
		"--inline_size=$(nth "${13}" 0 64)"
}

every_pair_is_there() {
	missing=$(pairs_missing)
	echo "$missing pairs are missing"
	[ "$missing" = 0 ]
}

# matrix [COUNT]: runs all of it, or the first COUNT jobs.
matrix() {
	number=0
	ok 'the matrix holds every pair of settings' every_pair_is_there
	for row in $matrix_rows; do
		[ "$number" -lt "${1-999}" ] || break
		# shellcheck disable=SC2046 # digits on purpose
		job=$(matrix_job $(echo "$row" | sed 's/./& /g'))
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
