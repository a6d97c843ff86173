#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The engine in the installed fio, over the transport in memory: no hardware.
# TAP on stdout. ENGINE names the engine if it is not in build/.

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/memory.sh
. "$here/memory.sh"

# -- data ----------------------------------------------------------------
# Every direction with every size, three times; what else may be set rotates
# through it with periods that share no factor, so that pairs meet.

pick() {
	shift $(($1 % ($# - 1) + 1))
	echo "$1"
}

# size_of BS: enough I/Os to wrap queues, few enough to be quick
size_of() {
	case $1 in
	1) echo 12k ;;
	64) echo 256k ;;
	4k) echo 4m ;;
	*) echo 16m ;;
	esac
}

# The header of a verify by checksum needs some 50 bytes, in later releases the
# header of verify=pattern as well: there the region's file is looked at.
header_of_pattern=1
job --rw=write --bs=1 --size=1 --verify=pattern --verify_pattern=0xa5 \
	>probe 2>&1 && header_of_pattern=
verify_of() {
	case $1$header_of_pattern in
	1 | *-9999) echo --verify=pattern --verify_pattern=0xa5 ;;
	11 | *-99991) echo --buffer_pattern=0xa5 --region_mem=./looked ;;
	64*) pick "$2" --verify=crc32c --verify=crc64 \
		'--verify=pattern --verify_pattern=%o' ;;
	*) pick "$2" --verify=crc32c --verify=md5 \
		'--verify=pattern --verify_pattern=%o' ;;
	esac
}

# looks_at RW: whether the file holds what was written: 0xa5 all over, or where
# reads were among the writes at least somewhere, and nothing else
looks_at() {
	unwritten='\0'
	case $1 in
	*--rw=write\ * | *--rw=randwrite\ *) unwritten= ;;
	esac
	[ "$(tr -d "\245$unwritten" <looked | wc -c)" = 0 ] &&
		[ "$(tr -d '\0' <looked | wc -c)" != 0 ]
}
moves() {
	rm -f looked
	job "$@" || return 1
	[ ! -e looked ] || looks_at "$* "
}

blocks_of() {
	case $1 in
	*-*) echo "--bsrange=$1 --bs_unaligned=1" ;;
	*) echo "--bs=$1" ;;
	esac
}

data_case() {
	rw=$1 bs=$2 n=$3
	batch=$(pick "$n" 1 16 64)
	set -- "--rw=$rw" "--size=$(size_of "$bs")" --iodepth=64 \
		"--iodepth_batch_submit=$batch" \
		"--iodepth_batch_complete_min=$batch" \
		--iodepth_batch_complete_max=64 \
		"--qps=$(pick $((n / 3)) 1 4 16 3)" \
		"--poll=$(pick "$n" busy event)" \
		"--thread=$(pick $((n / 2)) 0 1)"
	plan=$(pick "$n" '' '--merge=1' '--merge=1 --sort=1' \
		'--chunk_size=1000' \
		'--merge=1 --sort=1 --chunk_size=7777 --max_chunks=3')
	stripe=$(pick "$n" '' '--stripe=round_robin' '' \
		'--stripe=least_loaded' '' '' '--stripe=offset')
	signals=$(pick "$n" '' '' '' '--signal_interval=1' '' \
		'--signal_interval=5' '--sq_depth=8' '' '' '' '--read_depth=2')
	# shellcheck disable=SC2046,SC2086
	set -- "$@" $(blocks_of "$bs") $(verify_of "$bs" "$n") $plan $stripe \
		$signals
	ok "data: $*" moves "$@"
}

case_nr=0
for rw in write randwrite randrw rw; do
	for bs in 1 64 4k 60k 1m 1-9999; do
		for _ in 1 2 3; do
			data_case "$rw" "$bs" $case_nr
			case_nr=$((case_nr + 1))
		done
	done
done

batched='--iodepth=64 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16
	--iodepth_batch_complete_max=64'
small="--rw=randrw --bs=4k --size=4m $batched"
checked="--rw=randwrite --bs=4k --size=4m $batched --verify=crc32c"

# A region in a file outlives its job, as a target outlives its initiators.
region_keeps_data() {
	# shellcheck disable=SC2086
	job $checked --region_mem="$work/region" --do_verify=0 &&
		job $checked --region_mem="$work/region" --verify_only=1 \
			--access=ro &&
		job --rw=read --bs=4k --size=4m --verify=crc32c \
			--region_mem="$work/region"
}
ok 'a region in a file keeps its data' region_keeps_data

region_shows_damage() {
	printf damage 1<>region
	job --rw=read --bs=4k --size=4m --verify=crc32c \
		--region_mem="$work/region"
}
ok 'damaged data fails its verify' says 'verify' region_shows_damage

# limited BLOCKS ARG...: a job that may write files of so many blocks of 512 bytes
limited() {
	blocks=$1
	shift
	{
		(ulimit -f "$blocks" && job "$@" 2>&1)
		echo "status $?"
	} | cat >limited
	cat limited
	grep -q '^status 1$' limited
}
region_is_limited() {
	limited 20 --rw=write --size=1m --region_mem=./limit &&
		grep -q 'region_mem=./limit: cannot make room for it: File too' \
			limited && [ ! -s limit ]
}
ok 'refused: a region larger than ulimit -f' region_is_limited

# A file system of 64 KiB at ./small, as long as the job runs.
may_mount=
for flags in -m -rm; do
	unshare $flags mount -t tmpfs none /mnt 2>/dev/null && may_mount=$flags &&
		break
done
full_fs() {
	mkdir -p small
	# shellcheck disable=SC2016 # for the inner shell
	unshare "$may_mount" sh -c 'mount -t tmpfs -o size=64k none small &&
		truncate -s 1m small/holes && exec timeout 60 fio "$@"' sh \
		--ioengine="external:$ENGINE" --transport=memory --name=j \
		--rw=write --size=1m "$@"
}
if [ "$may_mount" ]; then
	for file in new holes; do
		ok "refused: a region in a file ($file) without room for it" \
			says "cannot make room for it: No space left" full_fs \
			--region_mem=./small/$file
	done
else
	skip 'refused: a region in a file without room' 'nothing can be mounted'
fi

lock_can_be_interrupted() {
	: >held
	flock held sleep 20 &
	holding=$!
	timeout -k 5 1 fio --ioengine="external:$ENGINE" --transport=memory \
		--name=j --size=1m --region_mem=./held >out 2>&1
	lock_status=$?
	kill "$holding"
	cat out
	[ "$lock_status" = 124 ] && grep -q 'region_mem=./held: cannot lock it' out
}
ok 'a job that waits for the lock of its region can be interrupted' \
	lock_can_be_interrupted

# Not all of its last page belongs to the file.
long_enough_stays() {
	head -c 10001 /dev/zero >odd
	job --rw=write --bs=73 --size=10001 --region_mem=./odd &&
		[ "$(wc -c <odd)" = 10001 ]
}
ok 'a file that is long enough stays as long as it is' long_enough_stays

offset_is_kept() {
	job --rw=write --bs=1k --offset=64k --size=64k --verify=pattern \
		--verify_pattern=0x5a --region_mem="$work/offset" || return 1
	head -c 65536 offset | tr -d '\0' | cmp - /dev/null &&
		tail -c 65536 offset | tr -d Z | cmp - /dev/null
}
ok 'an offset is the offset in the region' offset_is_kept

# -- fio's modes ---------------------------------------------------------
# mode DESCRIPTION ARG...: a small mixed job
mode() {
	what=$1
	shift
	# shellcheck disable=SC2086
	ok "mode: $what" job $small "$@"
}

mode 'numjobs, fork' --numjobs=4 --group_reporting
mode 'numjobs, thread' --numjobs=4 --thread
mode 'numjobs, shared region' --numjobs=4 --offset_increment=4m --rw=write \
	--verify=crc32c --region_mem="$work/shared"
mode gtod_reduce --gtod_reduce=1
mode 'gtod_reduce, event' --gtod_reduce=1 --poll=event
mode create_serialize=0 --create_serialize=0 --numjobs=2
mode loops --loops=3 --verify=crc32c --rw=randwrite
mode 'io_size beyond size' --io_size=10m
mode 'time_based, ramp' --time_based --runtime=1 --ramp_time=0.2s
mode rate_iops --rate_iops=20000
mode 'thinktime with odd batches' --iodepth=8 --iodepth_batch_submit=3 \
	--iodepth_batch_complete_max=8 --thinktime=10 --thinktime_blocks=8 \
	--size=1m
mode latency_target --latency_target=10ms --latency_window=100ms \
	--latency_percentile=90 --time_based --runtime=1
mode serialize_overlap --serialize_overlap=1
mode verify_backlog --verify=crc32c --rw=randwrite --verify_backlog=50
mode verify_async --verify=crc32c --rw=randwrite --verify_async=2
mode experimental_verify --verify=crc32c --rw=write --experimental_verify=1
mode bssplit --bssplit=512/30:4k/50:64k/20
mode zipf --random_distribution=zipf:1.1 --norandommap=1
mode 'fsync, end_fsync' --rw=write --fsync=16 --fdatasync=32 --end_fsync=1
mode 'fill_device with a size' --fill_device=1 --rw=write
mode 'size in percent of filesize' --size=50% --filesize=4m
mode 'offset in percent of filesize' --offset=50% --size=1m --filesize=4m
mode 'iomem=mmap' --iomem=mmap
mode 'iomem=shm' --iomem=shm
mode direct=1 --direct=1
mode unlink --unlink=1
mode inline_size --inline_size=64 --bs=64 --size=64k --rw=randwrite \
	--verify=crc32c
for depth in 1 512 513 4096 32768; do
	mode "iodepth=$depth" --iodepth=$depth --iodepth_batch_submit=$depth \
		--iodepth_batch_complete_max=$depth --bs=512 --size=16m
done
mode 'iodepth=4096 over 256 QPs' --iodepth=4096 --iodepth_batch_submit=256 \
	--iodepth_batch_complete_max=4096 --qps=256 --bs=64 --size=1m

iolog_replays() {
	# shellcheck disable=SC2086
	job $small --size=1m --write_iolog=log &&
		counts '.jobs[0].read.total_ios + .jobs[0].write.total_ios
			== 256' job --size=1m --read_iolog=log
}
ok 'mode: an I/O log is written and replayed' iolog_replays

# In fio's first process; its jobs look at a flag.
interrupt_ends_it() {
	# shellcheck disable=SC2086
	fio --ioengine="external:$ENGINE" --transport=memory --name=j $small \
		--time_based --runtime=60 >out 2>&1 &
	waiting=$!
	sleep 1
	kill -INT "$waiting"
	wait_for 5 ended "$waiting" || kill -KILL "$waiting"
	cat out
	grep -q 'WRs/doorbell=' out && grep -q 'IOPS=' out
}
ok 'an interrupt ends the job with its report' interrupt_ends_it

serves_a_client() {
	cat >served.fio <<-JOB
		[j]
		ioengine=external:$ENGINE
		transport=memory
		rw=randwrite
		size=1m
		qps=$1
	JOB
	fio --server=sock:"$work/sock" --pidfile="$work/pid" >server 2>&1 &
	serving=$!
	wait_for 5 test -S sock
	served_status=0
	timeout 30 fio --client=sock:"$work/sock" served.fio >out 2>&1 ||
		served_status=$?
	kill "$serving"
	wait "$serving"
	rm -f sock
	cat out
	return "$served_status"
}
served_report() {
	serves_a_client 2 && grep -q 'WRs/doorbell=' out
}
ok 'mode: client and server' served_report
ok 'mode: what the server refuses reaches the client' \
	says 'qps=-2 is refused' serves_a_client -2

# 65536 WRs each, a few at a time: it takes longer than the time to give up.
ok 'io_timeout counts from the last WR that completed' job --rw=write --bs=64m \
	--size=256m --chunk_size=1k --sq_depth=2 --io_timeout=5ms

# -- counts --------------------------------------------------------------
# shellcheck disable=SC2086
{
	ok 'all bytes of size= are moved' counts '
		.jobs[0].write.io_bytes == 4194304 and .jobs[0].error == 0' \
		job $small --rw=write
	ok 'reads are counted as reads' counts '
		.jobs[0].read.total_ios == 1024 and
		.jobs[0].write.total_ios == 0' job $small --rw=randread
	ok 'latency is measured from the submit' counts '
		.jobs[0].write.clat_ns.mean < 50000000 and
		.jobs[0].write.slat_ns.mean > 0' job $small --rw=write
	ok 'batches go out whole' counts '
		.jobs[0].iodepth_submit."16" > 95' job $small --rw=write
}

stats=$work/stats.json
stats_hold() {
	filter=$1
	shift
	# shellcheck disable=SC2086
	job $small --stats_file="$stats" "$@" || return 1
	cat "$stats"
	jq -se "$filter" "$stats"
}
ok 'stats_file: one line of numbers' stats_hold '
	length == 1 and .[0].ops == 1024 and .[0].done == 1024 and
	.[0].wrs == 1024 and .[0].doorbells == 64 and
	.[0].wrs_per_doorbell == 16 and .[0].failed == 0 and
	(.[0].lanes | length == 4 and all(.wrs == 256)) and
	.[0].granted.qps == 4 and .[0].job == "j"' --qps=4
ok 'stats_file: emptied at the start, a line for each job' stats_hold '
	length == 3 and (map(.job_number) | sort == [0, 1, 2])' --numjobs=3
ok 'stats_file: merges are counted' stats_hold '
	.[0].merged > 900 and .[0].wrs < 124' --rw=write --merge=1
ok 'stats_file: chunks are counted' stats_hold '
	.[0].chunked == 1024 and .[0].chunks == 4096 and
	.[0].bytes == 4194304' --rw=write --chunk_size=1k
ok 'stats_file: a READ credit stalls' stats_hold '
	.[0].read_stalls > 0' --rw=read --read_depth=2
ok 'stats_file: a short send queue stalls' stats_hold '
	.[0].sq_stalls > 0 and .[0].granted.sq_depth == 10' \
	--rw=write --sq_depth=9

# named NAME [WANTED]: the name of a job, and what it is in the file; both as
# printf(1) takes them
named() {
	# shellcheck disable=SC2059 # formats on purpose
	name=$(printf "$1") wanted=$(printf "${2-$1}")
	timeout -k 5 60 fio --ioengine="external:$ENGINE" --transport=memory \
		--name="$name" --rw=read --size=64k --stats_file="$stats" ||
		return 1
	cat "$stats"
	iconv -f UTF-8 -t UTF-8 "$stats" >/dev/null &&
		jq -e --arg wanted "$wanted" '.job == $wanted' "$stats"
}
unknown='\357\277\275'
ok 'stats_file: a name in UTF-8' named '\303\244\342\202\254\360\237\230\200 "\\\001'
ok 'stats_file: a name in Latin-1' named 'a\377\344b' "a$unknown${unknown}b"
ok 'stats_file: a name that is overlong, a surrogate, too high, cut short' \
	named '\300\257 \355\240\200 \364\220\200\200 \342\202x \303' \
	"$unknown$unknown $unknown$unknown$unknown $unknown$unknown$unknown$unknown $unknown${unknown}x $unknown"

# A pipe without a name is as good as a file, a FIFO may have no reader.
to_stdout() {
	job --size=1m --output=report --stats_file=/dev/stdout | cat >piped
	cat piped
	jq -se 'length == 1 and .[0].ops == 256' piped
}
ok 'stats_file=/dev/stdout, a pipe' to_stdout
ok 'stats_file=/dev/null' job --size=1m --stats_file=/dev/null
mkfifo fifo
ok 'refused: stats_file, a FIFO' says 'it is a FIFO or a socket' \
	job --size=1m --stats_file=./fifo
fifo_with_a_reader() {
	cat fifo >/dev/null &
	says 'it is a FIFO or a socket' job --size=1m --stats_file=./fifo
	fifo_status=$?
	wait $!
	return "$fifo_status"
}
ok 'refused: stats_file, a FIFO that is read' fifo_with_a_reader
ok 'a stats_file that cannot be written fails the job' \
	says 'stats_file=/dev/full was not written: No space left' \
	job --size=1m --stats_file=/dev/full
ok 'a stats_file that cannot be written fails a job that is a thread' \
	says 'stats_file=/dev/full was not written: No space left' \
	job --size=1m --stats_file=/dev/full --thread

# A half of the line would spoil that of the job that comes next.
cut_line_is_taken_back() {
	jq -nc '{ "before": ("x" * 400) }' >"$stats"
	limited 1 --size=1m --create_serialize=0 --stats_file="$stats" || return 1
	grep -q 'was not written: File too large' limited || return 1
	job --size=1m --create_serialize=0 --stats_file="$stats" || return 1
	cat "$stats"
	jq -se 'length == 2 and .[1].ops == 256' "$stats"
}
ok 'stats_file: a line without room leaves nothing' cut_line_is_taken_back

line_says() {
	text=$1
	shift
	job "$@" >out 2>err || return 1
	cat err
	grep -qF -- "$text" err
}
# shellcheck disable=SC2086
{
	ok 'the report says WRs per doorbell' \
		line_says ' WRs/doorbell=16.00 ' $small
	ok 'the report says the share of each lane' \
		line_says ' lane_share=25.0/25.0/25.0/25.0% ' $small --qps=4
	ok 'broken batches are said' line_says \
		'set iodepth_batch_complete_max=64 or more' --rw=write \
		--size=1m --iodepth=64 --iodepth_batch_submit=16
}
ok "the other role's options are said" line_says \
	'role=initiator makes no use of max_qps=, isolate=: leave it out' \
	--size=1m --isolate=0 --max_qps=5 --access=rw
own_options_unsaid() {
	job --size=1m --region_mem=./own --qps=2 --io_timeout=5s --max_qps=0 \
		2>err && ! grep 'makes no use' err
}
ok 'its own are not' own_options_unsaid
whole_batches_unsaid() {
	# shellcheck disable=SC2086
	job $small 2>err && ! grep -q complete_max err
}
ok 'whole batches are not' whole_batches_unsaid

# -- bad input -----------------------------------------------------------
# bad SENTENCE ARG...: refused with it
bad() {
	sentence=$1
	shift
	ok "refused: $*" says "$sentence" job --size=1m "$@"
}

bad 'qps=-5 is refused: give a whole number from 1 to 256' --qps=-5
bad 'qps=50abc is refused' --qps=50abc
bad 'qps=4294967297 is refused' --qps=4294967297
bad 'qps=0 is refused' --qps=0
bad 'qps=257 is refused' --qps=257
bad 'qps= 4 is refused' '--qps= 4'
bad 'port=65536 is refused' --port=65536
bad 'merge=yes is refused: give a whole number from 0 to 1' --merge=yes
bad 'chunk_size=3g is refused' --chunk_size=3g
bad 'chunk_size=99999999999999999999 is' --chunk_size=99999999999999999999
bad 'io_timeout=5x is refused' --io_timeout=5x
bad 'io_timeout=0 is refused' --io_timeout=0
bad 'stripe=foo is refused: it may be batch, round_robin,' --stripe=foo
bad 'stripe=batch:x is refused' --stripe=batch:x
bad 'poll=busyx is refused: it may be busy, event or adaptive' --poll=busyx
bad 'region_mem=hugepages is refused' --region_mem=hugepages
bad 'allow=10.0.0.1/24 is refused: "10.0.0.1/24" has bits behind' \
	--allow=10.0.0.1/24
bad '"host" is no IPv4 or IPv6 address' --allow=10.0.0.0/8,host
bad 'max_clients=-1 is refused' --max_clients=-1
bad 'token= and token_file= are refused together' --token=a --token_file=b
bad 'token_file=./none: cannot open it' --token_file=./none
bad 'token_file=/dev/null is no regular file' --token_file=/dev/null
bad 'more than one file is refused' --nrfiles=2
bad 'more than one file is refused' --filename=a:b
bad 'trim is refused' --rw=trim
bad 'trim is refused' --rw=trimwrite
bad 'zonemode=zbd is refused' --zonemode=zbd
bad 'pre_read=1 is refused' --pre_read=1
bad 'offload' --io_submit_mode=offload
bad 'read_iolog_chunked=1 is refused' --read_iolog=log --read_iolog_chunked=1
bad 'role=target is refused with transport=memory' --role=target
bad 'role=target if this is the side that lends its memory' --transport=rdma
bad 'filename=HOST/PORT/VERB is refused' --transport=rdma \
	--filename=10.0.0.1/7470/write
bad 'hostname= is missing' --transport=rdma --filename=/dev/shm/x
bad 'size= is required' --size=0
bad 'size= is required' --size=50%
bad 'beyond filesize=1048576' --offset=512k --filesize=1m
bad 'offset= in percent needs filesize=' --offset=50%
bad 'filesize= as a range is refused' --filesize=1m-2m
bad 'iodepth=2000000 is refused' --iodepth=2000000
bad 'bs=5368709120 is refused' --bs=5g --size=8g
bad 'access=ro does not allow' --access=ro --rw=write
bad 'access=wo does not allow' --access=wo --rw=write --verify=crc32c
bad 'max_sge=64 asked, but the device in memory grants' --max_sge=64
bad 'inline_size=4096 asked, but the device in memory grants' --inline_size=4096
bad 'sq_depth=100000 asked, but the device in memory grants' --sq_depth=100000
bad 'stats_file=/nonexistent/x cannot be written' --stats_file=/nonexistent/x
bad '/nonexistent/x' --region_mem=/nonexistent/x

# The cause and the cure stand behind a value, however long that is.
long_value() {
	printf "/%${1}s" '' | tr ' ' x
}
ok 'refused: a stats_file of 2000 bytes' says 'be written: File name too long' \
	job --size=1m "--stats_file=$(long_value 2000)"
ok 'refused: a region_mem of 1010 bytes' says 'open it: File name too long' \
	job --size=1m "--region_mem=$(long_value 1010)"
ok 'refused: a number of 3000 bytes' says 'whole number from 1 to 256' \
	job --size=1m "--qps=$(long_value 3000)"

fails_with_iomem() {
	job --size=1m --bs=1m --iodepth=64 --iomem=mmaphuge
}
if [ "$(cat /proc/sys/vm/nr_hugepages)" = 0 ]; then
	case $(fio --version) in
	fio-3.3[0-3]) no_buffers='fio has no buffers' ;;
	*) no_buffers='Cannot allocate memory' ;; # says fio itself
	esac
	ok 'refused: iomem=mmaphuge without huge pages' \
		says "$no_buffers" fails_with_iomem
else
	skip 'refused: iomem=mmaphuge without huge pages' 'there are some'
fi

log_out_of_range() {
	cat >far.log <<-LOG
		fio version 2 iolog
		x add
		x open
		x write 1048576 4096
		x close
	LOG
	job --size=1m --read_iolog=far.log
}
ok 'refused: a log that reaches beyond the region' \
	says 'are outside of the region of 1048576 bytes' log_out_of_range

# What lies outside fails by itself, and is in the counters.
goes_on_behind_it() {
	printf '%s\n' 'fio version 2 iolog' 'x add' 'x open' 'x write 0 4096' \
		'x write 1048576 4096' 'x write 1048575 2' 'x write 4096 4096' \
		'x close' >far.log
	counts '.jobs[0].total_err == 2 and .jobs[0].first_error == 5' \
		job --size=1m --read_iolog=far.log --continue_on_error=all \
		--stats_file="$stats" || return 1
	cat "$stats"
	jq -se '.[0].ops == 4 and .[0].done == 4 and .[0].failed == 2 and
		.[0].wrs == 2' "$stats"
}
ok 'continue_on_error goes on behind an I/O beyond the region' goes_on_behind_it

# -- job files -----------------------------------------------------------
# Those that need a device, or another engine, are at least parsed.
is_short() {
	[ "$(wc -l <"$1")" -le 25 ]
}
jobs=$(cd "$here/../../jobs" && pwd)
parses() {
	ENGINE=$ENGINE TRANSPORT=rdma TARGET=localhost PORT=7471 RUNTIME=1 \
		fio --parse-only "$1"
}
for file in "$jobs"/*.fio; do
	ok "jobs/${file##*/} has at most 25 lines" is_short "$file"
	what="jobs/${file##*/} is parsed"
	if grep -q '^ioengine=rdma$' "$file" && ! fio --enghelp | grep -qw rdma; then
		skip "$what" 'this fio has no engine rdma'
	else
		ok "$what" parses "$file"
	fi
done

for file in "$jobs"/*.fio; do
	name=${file##*/}
	case $name in
	target.fio | compare-builtin-rdma.fio) continue ;; # need a device
	esac
	ok "jobs/$name" env RUNTIME=1 ENGINE="$ENGINE" \
		sh "$jobs/run.sh" "$file"
done

quickstart_batches() {
	env ENGINE="$ENGINE" sh "$jobs/run.sh" "$jobs/quickstart.fio" \
		2>&1 >/dev/null |
		sed -n 's/.* WRs.doorbell=\([0-9]*\).*/\1/p' >ratios
	cat ratios
	[ "$(awk '$1 >= 15' ratios | wc -l)" = 2 ]
}
ok 'jobs/quickstart.fio posts 15 WRs a doorbell' quickstart_batches

ok 'run.sh says that there is no engine' says \
	'there is no engine /nope.so' env ENGINE=/nope.so \
	sh "$jobs/run.sh" "$jobs/quickstart.fio"
ok 'run.sh refuses a target over memory' says 'takes no TRANSPORT=memory' \
	env ENGINE="$ENGINE" TRANSPORT=memory sh "$jobs/run.sh" \
	"$jobs/target.fio"
ok 'run.sh wants to know the target' says 'needs TARGET=' \
	env -u TARGET ENGINE="$ENGINE" sh "$jobs/run.sh" \
	"$jobs/compare-builtin-rdma.fio"
ok 'run.sh wants a job file' says 'sh jobs/run.sh JOB.fio' sh "$jobs/run.sh"
run_helps() {
	sh "$jobs/run.sh" --help >help 2>&1
	run_status=$?
	cat help
	grep -q '^TARGET  *the target' help && [ "$run_status" = 0 ]
}
ok 'run.sh --help tells its environment' run_helps

# -- loading -------------------------------------------------------------
nr_options=$(grep -cE '^(WORD|NUMBER|TIME|TEXT)\(' "$here/../../engine/options.def")
helps() {
	fio --enghelp="$ENGINE" >help || return 1
	cat help
	[ "$(grep -c '^[a-z_]* *: ' help)" = "$nr_options" ] &&
		! grep '^[a-z_]* *: ' help | grep -vE 'default: '
}
ok 'enghelp tells every option with its default' helps

one_option_helps() {
	fio --enghelp="$ENGINE,stripe" >help
	cat help
	grep -q 'least_loaded' help
}
ok 'enghelp tells the words of an option' one_option_helps

# The release that the engine was built for, replaced by one of equal length.
release=$(fio --version)
other=$(echo "$release" | tr 0-8 1-9)
LC_ALL=C sed "s/$release/$other/g" "$ENGINE" >other.so
loads_elsewhere() {
	timeout 10 fio --ioengine="external:$work/other.so" --name=j --size=1m \
		--transport=memory
}
ok 'refused: an engine for another release' says \
	"this engine was built for $other and does not fit $release" \
	loads_elsewhere

probe_is_quiet() {
	job --size=1m --parse-only >out 2>&1
	cat out
	[ ! -s out ]
}
ok 'a probe is quiet' probe_is_quiet

exports_one_symbol() {
	nm -D --defined-only "$ENGINE" >symbols || return 1
	cat symbols
	[ "$(grep -cv ' get_ioengine$' symbols)" = 0 ]
}
if command -v nm >/dev/null; then
	ok 'the engine exports get_ioengine alone' exports_one_symbol
else
	skip 'the engine exports get_ioengine alone' 'nm is not installed'
fi

finish
