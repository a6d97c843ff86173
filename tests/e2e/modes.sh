#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What fio offers, mode by mode, with the engine over the transport in memory:
# each case looks at the mode's effect. doc/fio-modes.md has a row for each.
# TAP on stdout. ENGINE names the engine if it is not in build/.
#
# usage: modes.sh [CASE...]    only these cases
#        modes.sh --list       their names

# Most functions are called by name, through mode(). Programs of awk and jq
# hold dollars, lists of arguments are words on purpose.
# shellcheck disable=SC2016,SC2086,SC2119,SC2120,SC2317

here=$(cd "$(dirname "$0")" && pwd)
only=" $* "

# mode NAME CMD...: a case, if it is asked for
if [ "$only" = ' --list ' ]; then
	mode() { echo "$1"; }
	skip() { echo "$1"; }
	finish() { exit 0; }
else
	# shellcheck source=tests/e2e/memory.sh
	. "$here/memory.sh"
	# shellcheck source=tests/e2e/servers.sh
	. "$here/servers.sh"
	mode() {
		case $only in
		'  ' | *" $1 "*) ok "$@" ;;
		esac
	}
fi

batch='--iodepth=16 --iodepth_batch_submit=8 --iodepth_batch_complete_max=16'
region=--region_mem=./region
checked="$batch --bs=4k --size=1m --verify=crc32c"

# yields FILTER ARG...: a job of 256 I/Os in batches, and what fio's JSON says
yields() {
	filter=$1
	shift
	counts "$filter" job $batch --bs=4k --size=1m "$@"
}

# posts FILTER ARG...: the same, and what the engine's counters say, as an
# array of all jobs
posts() {
	filter=$1
	shift
	job $batch --bs=4k --size=1m --stats_file=./stats "$@" || return 1
	cat stats
	jq -se "$filter" stats
}

# orders AWK ARG...: a job of 256 I/Os one by one, of which awk sees direction
# (0 read, 1 write), bytes and offset in their order, and ends with 0
orders() {
	program=$1
	shift
	rm -f log_*
	job --bs=4k --size=1m --write_lat_log=log --log_offset=1 "$@" || return 1
	awk -F ', *' '{ print $3, $4, $5 }' log_clat.1.log >order
	awk "$program" order && return
	sort order | uniq -c | head -n 40
	echo "expected: $program"
	return 1
}

damage() { # BLOCK [FILE]
	printf damaged | dd of="${2-region}" bs=1 \
		seek=$(($1 * 4096 + 2000)) conv=notrunc status=none
}

# A region of 1 MiB in a file, written and verifiable, with damage in each of
# the blocks named
written_region() {
	rm -f region
	job $checked --rw=write --do_verify=0 $region || return 1
	for block; do
		damage "$block" || return 1
	done
}

# -- direction -------------------------------------------------------------

directions() {
	yields '.jobs[0].read.total_ios == 256 and .jobs[0].write.total_ios == 0' \
		--rw=read &&
		orders '$1 != 0 || $3 != 4096 * (NR - 1) { bad = 1 }
			END { exit bad || NR != 256 }' --rw=read &&
		orders '$1 != 1 || $3 != 4096 * (NR - 1) { bad = 1 }
			END { exit bad || NR != 256 }' --rw=write &&
		orders '$1 != 0 || seen[$3]++ { bad = 1 }
			$3 < last { back++ } { last = $3 }
			END { exit bad || NR != 256 || back < 50 }' --rw=randread &&
		orders '$1 != 1 || seen[$3]++ { bad = 1 }
			$3 < last { back++ } { last = $3 }
			END { exit bad || NR != 256 || back < 50 }' --rw=randwrite
}
mode rw directions
mode rwmixread yields '.jobs[0].read.total_ios as $r |
	.jobs[0].write.total_ios as $w |
	$r + $w == 256 and $r > 150 and $r < 208' --rw=randrw --rwmixread=70
mode rw_holes orders '$3 != 12288 * (NR - 1) { bad = 1 }
	END { exit bad || NR < 80 }' --rw=write:8k
mode rw_sequencer orders '{ seen[$3]++ }
	END { for (o in seen) if (seen[o] % 4) exit 1; exit NR != 256 }' \
	--rw=randread:4 --rw_sequencer=identical
mode percentage_random orders '$3 == last + 4096 { next_one++ } { last = $3 }
	END { exit next_one < 80 || next_one > 176 }' \
	--rw=randwrite --percentage_random=50 --norandommap
mode randommap orders 'seen[$3]++ { bad = 1 } END { exit bad || NR != 256 }' \
	--rw=randwrite
mode norandommap orders 'seen[$3]++ { again++ }
	END { exit again < 50 || NR != 256 }' --rw=randwrite --norandommap

generators() {
	for generator in tausworthe tausworthe64 lfsr; do
		orders 'seen[$3]++ { bad = 1 } END { exit bad || NR != 256 }' \
			--rw=randwrite --random_generator=$generator || return 1
	done
}
mode random_generator generators

# The same offsets in each run, unless told otherwise; with a seed again.
seeds() {
	orders 1 --rw=randread && mv order first &&
		orders 1 --rw=randread --randrepeat=1 && cmp first order &&
		orders 1 --rw=randread --randrepeat=0 &&
		! cmp -s first order &&
		orders 1 --rw=randread --randrepeat=0 --randseed=1 &&
		mv order first &&
		orders 1 --rw=randread --randrepeat=0 --randseed=1 &&
		cmp first order &&
		orders 1 --rw=randread --randrepeat=0 --randseed=2 &&
		! cmp -s first order
}
mode randseed seeds

# The share of the most frequent tenth of the blocks that were met
skewed() { # FROM DISTRIBUTION
	orders 1 --rw=randread --norandommap --io_size=4m \
		--random_distribution="$2" || return 1
	cut -d ' ' -f 3 order | sort | uniq -c | sort -rn |
		awk -v from="$1" '{ sum += $1 } NR <= 26 { top += $1 }
			END { print top / sum; exit top / sum < from }'
}
mode zipf skewed 0.5 zipf:1.2
mode pareto skewed 0.5 pareto:0.9
mode normal skewed 0.3 normal:10
mode zoned orders '$3 < 104857 { first++ }
	END { print first / NR; exit first / NR < 0.5 || first / NR > 0.7 }' \
	--rw=randread --norandommap --io_size=4m \
	--random_distribution=zoned:60/10:30/20:10/70

# -- sizes and places ------------------------------------------------------

mode bsrange orders '$2 < 512 || $2 > 4096 || $2 % 512 { bad = 1 }
	{ sizes[$2] = 1 }
	END { exit bad || length(sizes) != 8 }' --rw=write --bsrange=512-4k
mode bs_unaligned orders '$2 < 1 || $2 > 9999 { bad = 1 } $2 % 512 { odd++ }
	END { exit bad || odd < 50 }' \
	--rw=randwrite --bsrange=1-9999 --bs_unaligned=1
mode bs_directions orders '$2 != ($1 ? 8192 : 4096) { bad = 1 }
	END { exit bad }' --rw=randrw --bs=4k,8k
mode bssplit orders '$2 == 512 { a++ } $2 == 4096 { b++ } $2 == 65536 { c++ }
	END { exit a + b + c != NR || a / NR < 0.2 || a / NR > 0.4 ||
		b / NR < 0.4 || b / NR > 0.6 || c / NR < 0.1 || c / NR > 0.3 }' \
	--rw=randwrite --norandommap --size=16m --bssplit=512/30:4k/50:64k/20
mode bs_is_seq_rand orders '$2 != 4096 && $2 != 8192 { bad = 1 }
	{ sizes[$2]++ }
	END { exit bad || !sizes[4096] || !sizes[8192] }' --rw=randwrite \
	--percentage_random=50 --norandommap --bs=4k,8k --bs_is_seq_rand=1
mode io_size yields '.jobs[0].write.io_bytes == 4194304' --rw=write \
	--io_size=4m
mode io_size_less yields '.jobs[0].write.io_bytes == 65536' --rw=write \
	--io_size=64k
mode size_percent yields '.jobs[0].write.io_bytes == 524288' --rw=write \
	--size=50% --filesize=1m
mode fill_device yields '.jobs[0].write.io_bytes == 1048576' --rw=write \
	--fill_device=1
mode number_ios yields '.jobs[0].write.total_ios == 100' --rw=write \
	--number_ios=100
mode loops yields '.jobs[0].write.total_ios == 768' --rw=write --loops=3
mode offset orders '$3 != 65536 + 4096 * (NR - 1) { bad = 1 }
	END { exit bad || NR != 256 }' --rw=write --offset=64k
mode offset_align orders '{ exit $3 != 131072 }' --rw=write --offset=10% \
	--filesize=1m --size=64k --offset_align=64k

# Each clone leaves its own byte in its part of the region.
parts() {
	rm -f region
	job --rw=write --bs=4k --size=64k --numjobs=4 --offset_increment=64k \
		--verify=crc32c --do_verify=0 $region || return 1
	for part in 0 1 2 3; do
		job --rw=read --bs=4k --size=64k --offset=$((part * 64))k \
			--verify=crc32c $region || return 1
	done
}
mode offset_increment parts
mode zonemode_strided orders '$3 % 262144 >= 65536 { bad = 1 } { seen[$3] = 1 }
	END { exit bad || length(seen) != 64 }' --rw=write \
	--zonemode=strided --zonesize=64k --zonerange=64k --zoneskip=192k \
	--io_size=256k
mode zonemode_zbd says 'zonemode=zbd is refused' job --rw=write --bs=4k \
	--size=1m --zonemode=zbd --zonesize=64k

refuses_files() {
	for option in --nrfiles=2 --filename=a:b --opendir="$work"; do
		says 'more than one file is refused' job --rw=write --size=1m \
			$option || return 1
	done
}
mode nrfiles refuses_files
mode filename yields '.jobs[0].write.total_ios == 256' --rw=write \
	--filename='10.0.0.1\:7' --lockfile=exclusive --unlink=1 \
	--overwrite=1 --direct=1
mode pre_read says 'pre_read=1 is refused' job --rw=read --size=1m --pre_read=1
mode create_only yields '.jobs[0].write.total_ios == 0' --rw=write \
	--create_only=1

refuses_trim() {
	for option in --rw=trim --rw=randtrim --rw=trimwrite \
		'--rw=randwrite --verify=crc32c --trim_percentage=10 --trim_backlog=8'
	do
		says 'trim is refused' job --bs=4k --size=1m $option || return 1
	done
}
mode trim refuses_trim

# -- several jobs ----------------------------------------------------------

mode numjobs posts 'length == 4 and all(.ops == 256) and
	(map(.job_number) | sort == [0, 1, 2, 3])' --rw=write --numjobs=4
mode thread posts 'length == 4 and all(.ops == 256)' --rw=write --numjobs=4 \
	--thread
mode group_reporting yields '(.jobs | length == 1) and
	.jobs[0].write.total_ios == 1024' --rw=write --numjobs=4 \
	--group_reporting
mode new_group yields '(.jobs | length == 2) and
	(.jobs | map(.groupid) | sort == [0, 1])' --rw=write --group_reporting \
	--name=k --ioengine="external:$ENGINE" --transport=memory \
	--rw=read --size=1m --new_group

# Jobs that set themselves up leave what another has reported.
serialized() {
	rm -f stats
	posts 'length == 4 and all(.ops == 256)' --rw=write --numjobs=4 \
		--create_serialize=0 &&
		posts 'length == 5' --rw=write --create_serialize=0 &&
		posts 'length == 2' --rw=write --numjobs=2
}
mode create_serialize serialized

# The second verifies what the first has written, all of it.
after() {
	rm -f region
	counts '(.jobs | length == 2) and (.jobs[1].read.total_ios == 256) and
		(.jobs | all(.error == 0))' job $checked --rw=randwrite \
		--do_verify=0 --thinktime=100 $region --name=second \
		--ioengine="external:$ENGINE" --transport=memory $checked \
		--rw=read $region "$@"
}
mode stonewall after --stonewall
mode wait_for after --wait_for=j
mode startdelay after --startdelay=2

# The first would run for a minute.
exits() {
	began=$(date +%s)
	job $batch --rw=randread --bs=4k --size=1m --time_based --runtime=55 \
		--name=short --ioengine="external:$ENGINE" --transport=memory \
		--rw=read --size=1m "$@" || return 1
	[ $(($(date +%s) - began)) -lt 20 ]
}
mode exitall exits --exitall
mode flow yields '.jobs[0].write.total_ios as $a |
	.jobs[1].write.total_ios as $b | $a > 3 * $b and $b > 0' \
	--rw=randwrite --norandommap --time_based --runtime=1 --flow=8 \
	--name=k --ioengine="external:$ENGINE" --transport=memory \
	--rw=randwrite --norandommap --bs=4k --size=1m --time_based \
	--runtime=1 --flow=1
mode beside_others yields '(.jobs | length == 2) and
	(.jobs | all(.write.total_ios == 256))' --rw=write --name=k \
	--ioengine=null --rw=write --bs=4k --size=1m

one_section() {
	cat >two.fio <<-JOB
		[global]
		ioengine=external:$ENGINE
		transport=memory
		size=1m
		[one]
		rw=read
		[two]
		rw=write
	JOB
	counts '(.jobs | length == 1) and .jobs[0].jobname == "two"' \
		fio --section=two two.fio
}
mode section one_section

# before ARG...: a job of which j.prerun.txt holds what a command printed
# before its I/O; /proc/$PPID is the job's process
before() {
	rm -f j.prerun.txt
	posts '.[0].ops == 512' --rw=randwrite --verify=crc32c "$@" &&
		cat j.prerun.txt
}
pinned() {
	before --exec_prerun='cat /proc/$PPID/status' --cpus_allowed=0 &&
		grep '^Cpus_allowed_list:.0$' j.prerun.txt
}
mode cpus_allowed pinned
mode exec_prerun before --exec_prerun='echo hello'

# -- time ------------------------------------------------------------------

mode time_based yields '.jobs[0].job_runtime >= 900 and
	.jobs[0].job_runtime < 3000 and .jobs[0].write.total_ios > 1024' \
	--rw=write --time_based --runtime=1
mode runtime yields '.jobs[0].write.total_ios < 200000 and
	.jobs[0].job_runtime < 4000' --rw=write --size=1g --rate_iops=1000 \
	--runtime=1

# What is done before the ramp ends is not counted.
ramps() {
	yields '.jobs[0].job_runtime < 1500' --rw=write --time_based \
		--ramp_time=1 --runtime=1 --stats_file=./stats || return 1
	counted=$(jq '.jobs[0].write.total_ios' json)
	posted=$(jq .ops stats)
	echo "$counted counted of $posted"
	[ $((counted * 10)) -lt $((posted * 8)) ]
}
mode ramp_time ramps
mode rate yields '.jobs[0].job_runtime > 400 and .jobs[0].job_runtime < 2500' \
	--rw=write --rate=2m --iodepth=4
mode rate_iops yields '.jobs[0].job_runtime > 400 and
	.jobs[0].job_runtime < 2500' --rw=write --rate_iops=500

# Threads, since all of a fio that spins is to end with it.
for_a_while() {
	timeout -k 1 3 fio --thread --name=j --rw=write --bs=4k --size=256k \
		--verify_state_save=0 "$@"
	while_status=$?
	echo "exits with $while_status"
}
# not_alone OPTION...: whether fio lives through them, any engine is like psync
not_alone() {
	for_a_while --ioengine="external:$ENGINE" --transport=memory "$@"
	ours=$while_status
	for_a_while --ioengine=psync --filename=file "$@"
	[ "$ours" = "$while_status" ]
}
poisson() {
	yields '.jobs[0].job_runtime > 200 and .jobs[0].job_runtime < 3000' \
		--rw=write --rate_iops=500 --rate_process=poisson &&
		not_alone --rate=10m --rate_process=poisson --fsync=4
}
mode rate_process poisson
mode rate_min says 'rate_iops_min=900 not met' job --rw=write --bs=4k --size=100m \
	--rate_iops=1000 --rate_iops_min=900 --thinktime=10ms \
	--rate_cycle=200 --runtime=10
mode thinktime yields '.jobs[0].job_runtime > 300 and
	.jobs[0].job_runtime < 3000' --rw=write --thinktime=20ms \
	--thinktime_blocks=16
mode thinktime_iotime yields '.jobs[0].write.total_ios < 400000' --rw=write \
	--time_based --runtime=1 --thinktime=100ms --thinktime_iotime=10ms

# The whole depth where that meets the target, less of it where it does not.
adapts() { # FILTER TARGET ARG...
	adapt_filter=$1 target=$2
	shift 2
	yields "$adapt_filter" --rw=randread --norandommap --bs=64k --size=16m \
		--iodepth=64 --iodepth_batch_complete_max=64 \
		--latency_target="$target" --latency_window=50ms \
		--latency_percentile=90 --time_based --runtime=1 "$@"
}
meets_targets() {
	adapts '.jobs[0].latency_depth == 64' 2s &&
		adapts '.jobs[0].latency_depth | . >= 1 and . < 64' 200us
}
mode latency_target meets_targets
mode max_latency says 'latency of' job $batch --rw=write --bs=64k --size=64m \
	--max_latency=1us
mode steadystate yields '.jobs[0].steadystate.attained == 1 and
	.jobs[0].job_runtime < 15000' --rw=randread --norandommap \
	--time_based --runtime=20 --steadystate=iops:90% \
	--steadystate_duration=2

# No two I/Os in flight on one block: four blocks, four at most.
overlaps_wait() {
	posts '.[0].lanes[0].max_inflight <= 4 and .[0].ops == 1024' \
		--rw=randwrite --size=16k --io_size=4m --norandommap \
		--serialize_overlap=1 &&
		posts '.[0].lanes[0].max_inflight > 4' --rw=randwrite \
			--size=16k --io_size=4m --norandommap
}
mode serialize_overlap overlaps_wait
mode io_submit_mode says 'offload' job --rw=write --size=1m \
	--io_submit_mode=offload
mode iodepth_low yields '.jobs[0].iodepth_submit."8" > 90' --rw=write \
	--iodepth_low=8 --iodepth_batch_complete_max=1

# -- verify ----------------------------------------------------------------

verifies_all() {
	for method in md5 crc64 crc32c crc32c-intel crc32 crc16 crc7 xxhash \
		sha1 sha256 sha3-224 sha3-256 sha3-384 sha3-512; do
		rm -f region
		posts '.[0].ops == 512 and .[0].done == 512' --rw=randwrite \
			--verify=$method $region || return 1
		damage 0
		says verify job $batch --bs=4k --size=1m --rw=read \
			--verify=$method $region || return 1
	done
}
mode verify verifies_all

# What becomes of damage is up to fio: the same as with its psync.
as_psync() { # METHOD
	rm -f region file
	posts '.[0].ops == 512' --rw=randwrite --verify="$1" $region || return 1
	fio --name=j --ioengine=psync --filename=file --rw=randwrite --bs=4k \
		--size=1m --verify="$1" --verify_state_save=0 || return 1
	damage 0 && damage 0 file
	job $checked --verify="$1" --rw=read $region
	ours=$?
	fio --name=j --ioengine=psync --filename=file --rw=read --bs=4k \
		--size=1m --verify="$1"
	theirs=$?
	echo "exits with $ours, psync with $theirs"
	[ $ours = $theirs ]
}
mode verify_sha512 as_psync sha512
mode verify_null as_psync null
mode verify_pattern posts '.[0].ops == 512' --rw=randwrite --verify=pattern \
	--verify_pattern='"x"%o"y"-7'
mode verify_interval posts '.[0].ops == 512' --rw=randwrite --verify=md5 \
	--verify_interval=512 --verify_offset=64
mode do_verify posts '.[0].ops == 256' --rw=randwrite --verify=crc32c \
	--do_verify=0
mode verify_backlog orders '$1 && reads { after++ } !$1 { reads++ }
	END { exit reads < 200 || after < 150 }' --rw=randwrite \
	--verify=crc32c --verify_backlog=50
mode verify_backlog_batch orders '$1 && reads { after++ } !$1 { reads++ }
	END { exit reads < 100 || after < 150 }' --rw=randwrite \
	--verify=crc32c --verify_backlog=50 --verify_backlog_batch=25

# That a verify failed is in the output and in the count of errors. The exit
# status is up to fio, and is 0 with some of its releases.
async_verifies() {
	written_region && posts '.[0].ops == 256' --rw=read --verify=crc32c \
		--verify_async=2 $region || return 1
	written_region 77 || return 1
	counts '.jobs[0].total_err == 1 and .jobs[0].first_error == 84' \
		job $checked --rw=read --verify_async=2 \
		--continue_on_error=verify $region 2>said &&
		grep 'verify failed at' said
}
mode verify_async async_verifies

# Nothing is written, and all is read.
only_verifies() {
	written_region && cp region before &&
		posts '.[0].ops == 256 and .[0].bytes == 1048576' --rw=write \
			--verify=crc32c --verify_only=1 --access=ro $region &&
		cmp before region && written_region 9 &&
		says verify job $checked --rw=write --verify_only=1 $region
}
mode verify_only only_verifies

# 64 of 256 blocks are written; a reader that knows stops there.
state_is_kept() {
	rm -f region ./*.state
	job --bs=4k --size=1m --rw=write --verify=crc32c --do_verify=0 \
		--number_ios=64 --verify_state_save=1 $region || return 1
	[ -s local-j-0-verify.state ] || return 1
	says verify job $checked --rw=read $region || return 1
	posts '.[0].ops == 64' --iodepth=1 --iodepth_batch_submit=1 \
		--iodepth_batch_complete_max=1 --rw=read --verify=crc32c \
		--verify_state_load=1 $region
}
mode verify_state state_is_kept

# A trigger ends the job, and the state says how far it came.
triggered() {
	rm -f region ./*.state
	job --bs=4k --size=64m --rw=write --verify=crc32c --do_verify=0 \
		--rate_iops=500 --verify_state_save=1 $region \
		--trigger-timeout=1s --trigger='touch fired' || return 1
	[ -e fired ] && [ -s local-j-0-verify.state ]
}
mode trigger triggered
verifies_by_replay() {
	posts '.[0].ops == 512' --rw=write --verify=crc32c \
		--experimental_verify=1 &&
		not_alone --verify=crc32c --experimental_verify=1 --fsync=4
}
mode experimental_verify verifies_by_replay

dumps() {
	written_region 3 && rm -f ./j.0.0.* &&
		says verify job $checked --rw=read --verify_dump=1 $region &&
		[ -s j.0.0.12288.received ] && [ -s j.0.0.12288.expected ]
}
mode verify_dump dumps
fatal() {
	written_region 3 5 &&
		says verify job $checked --rw=read --verify_fatal=1 $region
}
mode verify_fatal fatal

# -- errors ----------------------------------------------------------------

# Two blocks are damaged; the job ends, or counts them and goes on.
goes_on() {
	written_region 3 200 &&
		says verify job $checked --rw=read $region &&
		yields '.jobs[0].read.total_ios == 256 and
			.jobs[0].total_err == 2 and .jobs[0].first_error == 84' \
			--rw=read --verify=crc32c --continue_on_error=verify \
			$region
}
mode continue_on_error goes_on

# far_log BEYOND: a log of four writes, of which one is out of the region
far_log() {
	printf '%s\n' 'fio version 2 iolog' 'x add' 'x open' 'x write 0 4096' \
		'x write 1048576 4096' 'x write 4096 4096' 'x write 8192 4096' \
		'x close' >far.log
}
ignores() {
	far_log
	says 'are outside of the region' job --size=1m --read_iolog=far.log &&
		counts '.jobs[0].total_err == 1' job --size=1m \
			--read_iolog=far.log --continue_on_error=write \
			--ignore_error=,EIO
}
mode ignore_error ignores

# -- syncs -----------------------------------------------------------------

mode fsync yields '.jobs[0].write.total_ios == 256 and
	.jobs[0].sync.total_ios == 15' --rw=write --fsync=16
mode fdatasync yields '.jobs[0].write.total_ios == 256 and
	.jobs[0].sync.total_ios == 15' --rw=write --fdatasync=16
mode end_fsync yields '.jobs[0].write.total_ios == 256 and
	.jobs[0].error == 0' --rw=write --end_fsync=1
mode fsync_on_close yields '.jobs[0].write.total_ios == 256 and
	.jobs[0].error == 0' --rw=write --fsync_on_close=1
mode sync says 'sync= is refused' job --rw=write --size=1m --sync=1
mode sync_file_range says 'sync_file_range= is refused' job --rw=write \
	--size=1m --sync_file_range=write:16

# -- logs to replay --------------------------------------------------------

# The same offsets again, in the same order.
replays() {
	rm -f trace
	orders 1 --rw=randrw --write_iolog=./trace && mv order first &&
		orders 1 --read_iolog=./trace "$@" && cmp first order
}
mode iolog replays
mode replay_no_stall replays --replay_no_stall=1
scaled() {
	rm -f trace
	orders 1 --rw=write --write_iolog=./trace &&
		orders '$3 != 2048 * (NR - 1) { bad = 1 }
			END { exit bad || NR != 256 }' \
			--read_iolog=./trace --replay_scale=2 --replay_align=2048
}
mode replay_scale scaled
chunked_replay() {
	rm -f trace
	job --rw=write --bs=4k --size=1m --write_iolog=./trace &&
		says 'read_iolog_chunked=1 is refused' job --size=1m \
			--read_iolog=./trace --read_iolog_chunked=1
}
mode read_iolog_chunked chunked_replay

# -- memory and clocks -----------------------------------------------------

# What the job's process has mapped when its I/O begins
mapped() { # TEXT ARG...
	text=$1
	shift
	before --exec_prerun='cat /proc/$PPID/maps' "$@" &&
		grep -F -- "$text" j.prerun.txt
}
mode iomem_malloc mapped '[heap]' --iomem=malloc
mode iomem_shm mapped /SYSV --iomem=shm
mode iomem_mmap posts '.[0].ops == 512' --rw=randwrite --verify=crc32c \
	--iomem=mmap
mode iomem_mmap_file mapped "$PWD/buffers" --iomem=mmap:"$PWD/buffers"
# fio does not make that file any longer than it is.
shared_file() {
	rm -f shared
	says 'iomem=mmapshared:./shared needs a file of' job $batch --bs=4k \
		--rw=write --size=1m --iomem=mmapshared:./shared &&
		truncate -s 64k shared &&
		mapped "$PWD/shared" --iomem=mmapshared:./shared
}
mode iomem_mmapshared shared_file
mode iomem_align posts '.[0].ops == 512' --rw=randwrite --verify=crc32c \
	--iomem_align=4k

# Huge pages are reserved for these two, and given back.
pages=/proc/sys/vm/nr_hugepages
with_pages() {
	had=$(cat $pages)
	echo $((had + 4)) >$pages || return 1
	"$@"
	with_status=$?
	echo "$had" >$pages
	return "$with_status"
}
huge_pages() {
	before --exec_prerun='cat /proc/$PPID/smaps' "$@" &&
		grep 'KernelPageSize: *[0-9]\{4,\} kB' j.prerun.txt
}
can_reserve() {
	with_pages sh -c '[ "$(sed -n "s/^HugePages_Free: *//p" \
		/proc/meminfo)" -ge 2 ]' 2>/dev/null
}
for kind in mmaphuge shmhuge; do
	if [ "$only" = ' --list ' ] || can_reserve; then
		mode iomem_$kind with_pages huge_pages --iomem=$kind
	else
		skip iomem_$kind 'this machine gives no huge pages'
	fi
done
mode gtod_reduce yields '.jobs[0].write.total_ios == 256 and
	.jobs[0].write.clat_ns.N == 0 and .jobs[0].write.slat_ns.N == 0' \
	--rw=write --gtod_reduce=1
mode disable_lat yields '.jobs[0].write.clat_ns.N == 256 and
	.jobs[0].write.slat_ns.N == 0' --rw=write --disable_slat=1
# fio 3.33 crashes at its very end now and then, with any engine.
keeps_time() {
	rm -f stats
	job $batch --bs=4k --size=1m --rw=write --gtod_cpu=0 --stats_file=./stats
	cat stats
	jq -e '.ops == 256 and .done == 256 and .failed == 0' stats
}
mode gtod_cpu keeps_time
mode clocksource yields '.jobs[0].write.clat_ns.N == 256' --rw=write \
	--clocksource=clock_gettime

# -- what is in the blocks -------------------------------------------------

holds_only() { # BYTE ARG...
	byte=$1
	shift
	rm -f region
	job $batch --bs=4k --size=1m --rw=write $region "$@" || return 1
	[ "$(tr -d "$byte" <region | wc -c)" = 0 ] &&
		[ "$(wc -c <region)" = 1048576 ]
}
mode buffer_pattern holds_only U --buffer_pattern=0x55
mode zero_buffers holds_only '\0' --zero_buffers
compresses() {
	rm -f region
	job $batch --bs=4k --size=1m --rw=write $region --refill_buffers \
		--buffer_compress_percentage=80 || return 1
	packed=$(gzip -c region | wc -c)
	echo "$packed bytes packed"
	[ "$packed" -lt 400000 ] && [ "$packed" -gt 100000 ]
}
mode buffer_compress compresses
repeats() {
	rm -f region
	job $batch --bs=4k --size=1m --rw=write $region \
		--dedupe_percentage=50 || return 1
	mkdir -p blocks && split -b 4k -a 4 region blocks/ || return 1
	unique=$(cat blocks/* | md5sum >/dev/null; md5sum blocks/* |
		cut -d ' ' -f 1 | sort -u | wc -l)
	rm -rf blocks
	echo "$unique of 256 blocks differ"
	[ "$unique" -lt 200 ] && [ "$unique" -gt 50 ]
}
mode dedupe_percentage repeats

# -- reports ---------------------------------------------------------------

mode json yields '."fio version" and .jobs[0].error == 0 and
	.jobs[0].write.io_bytes == 1048576 and
	.jobs[0]."job options".rw == "write"' --rw=write
json_plus() {
	job $batch --bs=4k --size=1m --rw=write --output-format=json+ >json ||
		return 1
	jq -e '.jobs[0].write.clat_ns.bins | add == 256' json
}
mode json_plus json_plus

# Field 47 of a line of version 3 is what was written, in KiB.
terse() {
	for version in 3 4 5; do
		job $batch --bs=4k --size=1m --rw=write --output-format=terse \
			--terse-version=$version >terse || return 1
		cat terse
		[ "$(cut -d ';' -f 1 terse)" = $version ] || return 1
	done
	job $batch --bs=4k --size=1m --rw=write --minimal >terse || return 1
	[ "$(cut -d ';' -f 47 terse)" = 1024 ]
}
mode terse terse
two_formats() {
	job $batch --bs=4k --size=1m --rw=write --output=report \
		--output-format=normal,json >out || return 1
	cat report
	[ ! -s out ] && grep -q 'IOPS=' report && grep -q '"io_bytes"' report
}
mode output two_formats
status_comes() {
	job $batch --bs=4k --size=1m --rw=randread --time_based --runtime=3 \
		--status-interval=1 --output-format=json >json || return 1
	jq -se 'length >= 3 and
		.[0].jobs[0].read.total_ios < .[-1].jobs[0].read.total_ios' json
}
mode status_interval status_comes
mode percentile_list yields '.jobs[0].write.clat_ns.percentile |
	keys == ["50.000000", "99.500000"]' --rw=write \
	--percentile_list=50:99.5
mode lat_percentiles yields '.jobs[0].write.lat_ns.percentile."50.000000" > 0' \
	--rw=write --lat_percentiles=1
mode unified_rw_reporting yields '.jobs[0].mixed.total_ios == 256' \
	--rw=randrw --unified_rw_reporting=1

# One line for each I/O, of its bytes.
logs_each() {
	rm -f log_*
	job $batch --bs=4k --size=1m --rw=write --write_bw_log=log \
		--write_iops_log=log --write_lat_log=log || return 1
	wc -l log_*
	for kind in bw iops lat slat clat; do
		[ "$(awk -F ', *' '$3 == 1 && $4 == 4096' \
			log_$kind.1.log | wc -l)" = 256 ] || return 1
	done
}
mode logs logs_each
logs_average() {
	rm -f log_*
	job $batch --bs=4k --size=1m --rw=write --time_based --runtime=1 \
		--write_bw_log=log --log_avg_msec=100 || return 1
	cat log_*
	awk -F, 'NR > 1 && $1 - last < 90 { exit 1 } { last = $1 }
		END { if (NR < 2) exit 1 }' log_bw.1.log
}
mode log_avg_msec logs_average
logs_one() {
	rm -f log_*
	job $batch --bs=4k --size=1m --rw=write --numjobs=2 --write_lat_log=log \
		--per_job_logs=0 || return 1
	wc -l log_*
	[ "$(wc -l <log_clat.log)" = 512 ]
}
mode per_job_logs logs_one
logs_histogram() {
	rm -f log_*
	job $batch --bs=4k --size=1m --rw=write --time_based --runtime=1 \
		--write_hist_log=log --log_hist_msec=200 || return 1
	[ "$(awk -F ', *' 'NF > 100' log_clat_hist.1.log | wc -l)" -ge 1 ]
}
mode write_hist_log logs_histogram
logs_packed() {
	rm -f log_*
	job $batch --bs=4k --size=1m --rw=write --write_lat_log=log \
		--log_compression=64k --log_store_compressed=1 || return 1
	fio --inflate-log=log_clat.1.log.fz >inflated
	[ "$(grep -c , inflated)" = 256 ]
}
mode log_store_compressed logs_packed
mode readonly says 'not allowed with the --readonly parameter' \
	job --rw=write --size=1m --readonly
shows_itself() {
	one_section && fio --showcmd two.fio >shown || return 1
	cat shown
	grep -q -- '--transport=memory' shown
}
mode showcmd shows_itself

# -- client and server -----------------------------------------------------

# one_server [OPTION]: a job of 256 writes for a server
one_server() {
	start_server || return 1
	section one transport=memory rw=write bs=4k size=1m "$@" >one.fio
	by_client --client=ip:127.0.0.1,"$port" one.fio
}
served_counts() {
	one_server && grep -q 'WRs/doorbell=' out &&
		jq -e '.client_stats[0].write.total_ios == 256' json
}
mode client served_counts

# two_servers [OPTION]: the same, and 256 reads for another server
two_servers() {
	start_server || return 1
	a=$port
	start_server || return 1
	b=$port
	section one transport=memory rw=write bs=4k size=1m >one.fio
	section two transport=memory rw=read bs=4k size=1m "$@" >two.fio
	by_client --client=ip:127.0.0.1,"$a" one.fio \
		--client=ip:127.0.0.1,"$b" two.fio
}
both_count() {
	two_servers && [ "$(grep -c 'WRs/doorbell=' out)" = 2 ] &&
		jq -e --argjson a "$a" --argjson b "$b" '.client_stats |
			(length == 3) and any(.port == $a and
				.jobname == "one" and .write.total_ios == 256) and
			any(.port == $b and
				.jobname == "two" and .read.total_ios == 256) and
			any(.jobname == "All clients" and
				.read.total_ios == 256 and
				.write.total_ios == 256)' json
}
mode client_two both_count
mode client_refused says 'qps=-2 is refused' one_server qps=-2

# One of two fails while it runs: its data are not what they should be.
one_of_two_fails() {
	two_servers verify=crc32c
	[ "$client_status" != 0 ] && grep -q verify out
}
mode client_fails one_of_two_fails

# Depending on fio's release the client shows this, or dies without a word; in
# its report there is nothing.
no_engine() {
	served_engine=/nowhere/fio-rdma_batch.so
	one_server
	unset served_engine
	[ "$client_status" != 0 ] ||
		grep -q 'invalid external ioengine path' out || return 1
	! grep -q '"jobname"' out
}
mode client_no_engine no_engine

finish
