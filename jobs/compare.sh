#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The same messages by fio's own rdma engine, by rdma_batch and by perftest, in
# turn, and their medians: rates, processor time, doorbells, latencies.
#
#	sh jobs/compare.sh --local ADDRESS             one host; ADDRESS reaches
#	                                               its device
#	sh jobs/compare.sh --target HOST --ssh         two hosts
#	sh jobs/compare.sh --target HOST               the same without ssh: says
#	                                               what to start on HOST
#	sh jobs/compare.sh --guest                     soft-RoCE in an emulated
#	                                               machine, by tests/e2e/vm.sh
#
# Lists take commas or blanks between their values.
#   --ops LIST       write, read (both)
#   --sizes LIST     bytes of a message (64,4k)
#   --batches LIST   I/Os of a doorbell (16)
#   --qps LIST       queue pairs (1); fio's rdma has one
#   --depth N        messages in flight, at most 512 for fio's rdma (64)
#   --rounds N       runs of each tool, in turn (3)
#   --runtime TIME   measured time of a run, whole seconds (5s)
#   --ramp TIME      before it; 2s at least for fio's rdma to be fair (2s)
#   --tools LIST     some of fio-rdma, plain, busy, event, l1, lB, lBQB, lD
#   --port N         first of the ports that are used, one for each run (7600)
#   --no-cm          perftest finds its peer by TCP, not by rdma_cm (-R)
#   --device NAME    the device here: -d of perftest's client, and what the report
#                    describes
#   --remote-device NAME   -d of perftest's server (with --local: --device)
#   --ssh [NAME]     start the other ends by ssh there (default: the target)
#   --remote-engine PATH   the engine on the target's host (the same as here)
#   --out DIR        where everything goes (compare-DATE-TIME)
#   --quick          one round of short runs
#
# In DIR: runs.csv, results.csv, compare.md, compare.png.
#
# environment: ENGINE, the engine (the one built or installed); FIO (fio)
# exit: 0 all runs succeeded, 1 some failed, 2 wrong usage, 130 interrupted

set -u
me=compare.sh
here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=jobs/measure-lib.sh
. "$here/measure-lib.sh"

fio=${FIO:-fio}
remote_engine=''
mode='' target='' ssh_to='' ops='write read' sizes='64 4k' batches=16 qps=1
depth=64 rounds=3 runtime=5s ramp=2s port=7600 cm=-R out='' serve=no
device='' remote_device=''
tools='fio-rdma plain busy event l1 lB lBQB lD'
given=''

usage() {
	sed -n '/^#	sh jobs/,/^# exit/s/^# \{0,1\}//p' "$0"
}

parse_flag() { # WORD: an option without a value; fails on others
	case $1 in
	--quick) rounds=1 runtime=2s ramp=1s ;;
	--no-cm) cm='' ;;
	--guest) mode=guest ;;
	--serve) serve=yes ;;
	-h | --help) usage && exit 0 ;;
	*) return 1 ;;
	esac
}

parse_pair() { # OPTION VALUE
	case $1 in
	--local) mode=local target=$2 ;;
	--target) target=$2 ;;
	--ops) ops=$(list "$1" "$2") || exit ;;
	--sizes) sizes=$2 ;;
	--batches) batches=$2 ;;
	--qps) qps=$2 ;;
	--depth) depth=$2 ;;
	--rounds) rounds=$2 ;;
	--runtime) runtime=$2 ;;
	--ramp) ramp=$2 ;;
	--tools) tools=$(list "$1" "$2") || exit ;;
	--port) port=$2 ;;
	--device) device=$2 ;;
	--remote-device) remote_device=$2 ;;
	--remote-engine) remote_engine=$2 ;;
	--out) out=$2 ;;
	*) die "there is no option '$1'; --help names them" 2 ;;
	esac
}

# What the other end must be told too is kept in $given.
parse() {
	while [ $# -gt 0 ]; do
		if [ "$1" = --ssh ]; then
			mode=ssh
			case ${2---} in
			-*) shift ;;
			*) ssh_to=$2 && shift 2 ;;
			esac
			continue
		fi
		if parse_flag "$1"; then
			[ "$1" = --guest ] || given="$given $1"
			shift
			continue
		fi
		[ $# -ge 2 ] || die "'$1' is not an option, or lacks its value; --help names them" 2
		parse_pair "$1" "$2"
		case $1 in
		--out | --target | --local | --remote-engine | --device) ;;
		*) given="$given $1 $(echo "$2" | xargs | tr ' ' ',')" ;;
		esac
		shift 2
	done
}

check_words() { # OPTION ALLOWED WORDS
	for word in $3; do
		case " $2 " in
		*" $word "*) ;;
		*) die "$1: '$word' is none of $2" 2 ;;
		esac
	done
}

check() {
	check_words --ops 'write read' "$ops"
	check_words --tools 'fio-rdma plain busy event l1 lB lBQB lD' "$tools"
	batches=$(numbers --batches "$batches") || exit
	qps=$(numbers --qps "$qps") || exit
	sizes=$(sizes_in_bytes --sizes "$sizes") || exit
	for word in "$depth" "$rounds" "$port"; do
		numbers "--depth, --rounds, --port" "$word" >/dev/null || exit
	done
	runtime_ms=$(to_ms --runtime "$runtime") || exit
	ramp_ms=$(to_ms --ramp "$ramp") || exit
	[ $((runtime_ms % 1000)) = 0 ] && [ $((ramp_ms % 1000)) = 0 ] &&
		[ "$runtime_ms" -gt 0 ] ||
		die "--runtime and --ramp take whole seconds: perftest has no less" 2
	runtime=$((runtime_ms / 1000)) ramp=$((ramp_ms / 1000))
	limit=$((runtime + 2 * ramp + 40))
	for batch in $batches; do
		[ "$batch" -le "$depth" ] || die "--batches: $batch is above --depth $depth" 2
	done
	case ${mode:-$target} in
	'') die "say --local ADDRESS, --target HOST or --guest; --help tells more" 2 ;;
	ssh) [ -n "$target" ] || die "--ssh needs --target HOST" 2 ;;
	esac
	[ -n "$mode" ] || mode=hand
	ssh_to=${ssh_to:-$target}
	[ "$mode" != local ] || remote_device=${remote_device:-$device}
}

check_programs() {
	need "$fio" jq
	need_engine
	remote_engine=${remote_engine:-$engine}
	case " $tools " in
	*' l'*) need ib_write_bw ib_read_bw ;;
	esac
}

find_device() {
	[ -z "$device" ] || { echo "$device" && return; }
	find /sys/class/infiniband -mindepth 1 2>/dev/null | sort | sed 's|.*/||' |
		head -n 1
}

check_device() {
	[ "$mode" != guest ] || return 0
	[ -n "$(find_device)" ] ||
		die "there is no RDMA device: 'rdma link add rxe0 type rxe netdev eth0' makes a soft-RoCE one, and --guest needs none" 2
	case $mode:$target in
	local:localhost | local:127.* | local:::1)
		die "--local $target: a loopback address reaches no RDMA device; see 'rdma link'" 2
		;;
	esac
}

#
# The tools. A cell is $op $size $batch $nr_qps; a run of it is also $tool and
# $round, and has a port of its own.
#

perftest_words() { # both ends want the same
	case $tool in
	l1) echo "-l 1" ;;
	lB) echo "-l $batch" ;;
	lBQB) echo "-l $batch -Q $batch" ;;
	lD) echo "-l $depth" ;;
	esac
	echo "-s $size -t $depth -q $nr_qps -p $run_port -F $cm"
	echo "-D $((runtime + 2 * ramp)) -f $ramp"
}

# The other end, as one line of shell. It ends with its client.
server_command() {
	case $tool in
	fio-rdma)
		echo "'$fio' --name=s --ioengine=rdma --rw=read --bs=$size" \
			"--size=1m --iodepth=$depth --port=$run_port"
		;;
	plain | busy | event)
		echo "'$fio' --name=s '--ioengine=external:$remote_engine'" \
			"--role=target --size=1m --clients=1 --port=$run_port"
		;;
	*)
		echo "ib_${op}_bw" "$(perftest_words | xargs)" \
			"${remote_device:+-d $remote_device}"
		;;
	esac
}

start_server() {
	case $mode in
	local) sh -c "exec timeout -k 5 $limit $(server_command)" ;;
	ssh) ssh -o BatchMode=yes "$ssh_to" "timeout -k 5 $limit $(server_command)" ;;
	hand) : ;;
	esac </dev/null >"$work/server.log" 2>&1 &
	server=$!
}

fio_client() { # --ioengine=... ARG...
	exec "$fio" --name=c "$@" --hostname="$target" --port="$run_port" \
		--bs="$size" --size=1m --iodepth="$depth" \
		--iodepth_batch_submit="$batch" \
		--iodepth_batch_complete_max="$depth" --time_based \
		--runtime="$runtime" --ramp_time="$ramp" --thread=1 \
		--scramble_buffers=0 --output-format=json \
		--output="$work/json"
}

batch_client() { # ARG...
	fio_client --ioengine="external:$engine" --rw="$op" --qps="$nr_qps" \
		--stats_file="$work/stats" "$@"
}

client() { # replaces its shell
	case $tool in
	fio-rdma) fio_client --ioengine=rdma --rw=write --verb="$op" ;;
	plain) batch_client --signal_interval=1 --rd_atomic=1 ;;
	busy) batch_client --poll=busy ;;
	event) batch_client --poll=event ;;
	*)
		# shellcheck disable=SC2046 # words on purpose
		exec "ib_${op}_bw" $(perftest_words) ${device:+-d "$device"} \
			"$target"
		;;
	esac
}

#
# One run
#

# Seconds of uptime, ticks of processor time and write() calls so far.
sample() { # PID
	awk 'FNR == 1 { file++ }
		file == 1 { up = $1 }
		file == 2 { sub(/.*\) /, ""); ticks = $12 + $13 }
		$1 == "syscw:" { writes = $2 }
		END { print up, ticks, writes }' \
		/proc/uptime "/proc/$1/stat" "/proc/$1/io" 2>/dev/null
}

# Looks at the client twice a second until it ends.
watch_client() { # PID
	: >"$work/samples"
	deadline=$(($(date +%s) + limit))
	while kill -0 "$1" 2>/dev/null && [ "$(date +%s)" -lt $deadline ]; do
		sample "$1" >>"$work/samples"
		sleep 0.5
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1"
}

# The two looks that count: how long a client takes to start is not known, so
# they are found from its end, both well within the measured time.
looks() {
	awk -v runtime="$runtime" 'NF == 3 { line[++n] = $0; at[n] = $1 }
		END {
			for (i = n; i > 0 && at[i] > at[n] - 0.2 * runtime - 0.5; i--)
				;
			for (j = i; j > 1 && at[j] > at[n] - 0.8 * runtime - 0.5; j--)
				;
			if (i > j && j > 0) print line[j], line[i]
		}' "$work/samples"
}

stop_server() {
	[ "$mode" = hand ] || { kill "$server" && wait "$server"; } 2>/dev/null
}

attempt() { # SECONDS: for the other end to listen before
	[ "$mode" = hand ] || start_server
	sleep "$1"
	rm -f "$work/json" "$work/stats"
	client </dev/null >"$work/client.log" 2>&1 &
	watch_client $!
	status=$?
	[ "$status" = 0 ] && figures >"$work/figures"
	made=$?
	stop_server
	return $made
}

# Again while the other end may not listen yet; by hand it may come late.
run_client() {
	if [ "$mode" != hand ]; then
		attempt 2 || attempt 4 || attempt 8
		return
	fi
	give_up=$(($(date +%s) + limit + 20))
	until attempt 1; do
		[ "$(date +%s)" -lt $give_up ] || return 1
	done
}

# rate p50 p99 own-doorbells, "-" for what there is not; fails without I/O.
# fio's rdma tells of reads as writes, so whichever side moved is taken.
figures() {
	case $tool in
	l*)
		awk -v size="$size" '$1 == size && NF >= 5 { rate = $5 * 1e6 }
			END { print rate, "-", "-", "-"; exit !rate }' \
			"$work/client.log"
		return
		;;
	esac
	sed -n '/^{/,$p' "$work/json" 2>/dev/null | jq -er '.jobs[0] |
		(.read.iops + .write.iops) as $rate |
		if $rate > 0 then [.read, .write] | map(select(.iops > 0))[0] |
			[$rate, .clat_ns.percentile["50.000000"] / 1000,
			.clat_ns.percentile["99.000000"] / 1000] | join(" ")
		else empty end' >"$work/rate" || return 1
	echo "$(cat "$work/rate") $(jq -r '.doorbells / .ops' "$work/stats" \
		2>/dev/null || echo -)"
}

# The run's line of runs.csv. Per operation: what happened between two looks,
# by the mean rate.
csv_line() {
	echo "$(cat "$work/figures") $(looks)" | awk -v hz="$(getconf CLK_TCK 2>/dev/null || echo 100)" \
		-v head="$op,$size,$batch,$nr_qps,$depth,$tool,$round" \
		-v size="$size" -v OFS=, '{
		if (NF == 10 && $8 > $5) {
			done = ($8 - $5) * $1
			cpu = sprintf("%.4f", 1e6 * ($9 - $6) / hz / done)
			writes = sprintf("%.4f", ($10 - $7) / done)
		}
		for (i = 2; i <= 4; i++)
			if ($i == "-") $i = ""
		print head, sprintf("%.0f", $1), sprintf("%.0f", $1 * size), $2, $3,
			cpu, writes, $4, "" }'
}

without_guess() { # LOG...: without what fio says of every engine that fails
	(cd "$work" && cat "$@" 2>/dev/null) | grep -v 'Perhaps try reducing'
}

why() {
	text=$(engine_says "$work/client.log" "$work/server.log")
	[ -n "$text" ] || text=$(without_guess client.log server.log |
		grep -v '^[-* ]*$' | grep -iE 'fail|error|refuse|cannot|unable|not ' |
		head -n 1)
	[ -n "$text" ] || text=$(without_guess client.log | grep . | tail -n 1)
	text=$(echo "$text" | tr ',"' '; ')
	echo "${text:-no message} (status $status)"
}

run() {
	run_port=$((port + number))
	if [ "$serve" = yes ]; then
		say "run $number of $total: waiting for $tool at port $run_port"
		sh -c "exec timeout -k 5 $((2 * limit)) $(server_command)" </dev/null \
			>"$work/server.log" 2>&1
		return
	fi
	if run_client; then
		line=$(csv_line)
		text="$(echo "$line" | cut -d , -f 8) messages/s"
	else
		failed=$((failed + 1))
		reason=$(why)
		text="FAILED: $reason"
		line="$op,$size,$batch,$nr_qps,$depth,$tool,$round,,,,,,,,$reason"
	fi
	echo "$line" >>"$out/runs.csv"
	[ "$in_guest" = no ] || echo "csv $line"
	say "run $number of $total: $op $(size_name "$size"), batch $batch," \
		"qps $nr_qps, round $round, $tool: $text;" \
		"$(time_left "$began" "$number" $((total - number))) left"
}

# runs [COMMAND]: the command, or a line, for each run, in order.
runs() {
	for op in $ops; do
		for size in $sizes; do
			for batch in $batches; do
				for nr_qps in $qps; do
					rounds_of_cell
				done
			done
		done
	done
}

# When every run of it has failed, so will the others.
check_first_round() {
	[ "$each" = run ] && [ "$number" -gt 0 ] &&
		[ "$failed" = "$number" ] || return 0
	die "all $failed runs of the first round failed, so $((total - number)) more are left out"
}

rounds_of_cell() {
	for round in $(seq "$rounds"); do
		for tool in $tools; do
			[ "$tool" != fio-rdma ] || [ "$nr_qps" = 1 ] || continue
			number=$((number + 1))
			"$each"
		done
		check_first_round
	done
}

# rdma_batch by fio's rdma, for each cell that has both: the medians.
ratios() {
	awk -F , 'NR > 1 && $8 != "" && ($6 == "busy" || $6 == "fio-rdma") {
			print $1, $2, $3, $4, $6, $8 }' "$out/runs.csv" |
		sort -k 1,1r -k 2,4n -k 5,5 -k 6,6g | awk '
		function flush() {
			if (n) m[tool] = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
			n = 0
		}
		function tell() {
			flush()
			if (m["busy"] && m["fio-rdma"])
				printf "%s: rdma_batch %.0f, fio rdma %.0f operations/s at %d bytes, batch %d, ratio %.2f\n",
					c[1], m["busy"], m["fio-rdma"], c[2], c[3], m["busy"] / m["fio-rdma"]
			delete m
		}
		{ cell = $1 " " $2 " " $3 " " $4 }
		cell != last { tell(); last = cell; split(cell, c, " ") }
		$5 != tool { flush(); tool = $5 }
		{ v[++n] = $6 }
		END { tell() }'
}

configuration() {
	cat <<END
ops=$ops
sizes=$sizes
batches=$batches
qps=$qps
depth=$depth
rounds=$rounds
runtime_s=$runtime
ramp_s=$ramp
tools=$tools
target=$target
other end=$mode
perftest by rdma_cm=${cm:-no}
END
}

open_directory() {
	out=${out:-compare-$(date +%Y%m%d-%H%M%S)}
	mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
	[ -z "$(ls -A "$out")" ] ||
		die "$out is not empty: give another --out" 2
	configuration >"$out/config"
	date '+%Y-%m-%d %H:%M:%S %z' >"$out/began"
	sh "$here/hostinfo.sh" "$(find_device)" >"$out/host"
	echo "op,size,batch,qps,depth,tool,round,messages_per_s,bytes_per_s,p50_us,p99_us,cpu_us_per_op,writes_per_op,doorbells_per_op,error" \
		>"$out/runs.csv"
}

# Nothing of ours outlives us: the other ends have deadlines of their own.
stopped() {
	trap - INT TERM HUP EXIT
	rm -rf "$work"
	[ -z "${server-}" ] || kill "$server" 2>/dev/null
	say "stopped" >&2
	exit 130
}

make_report() {
	if [ "$in_guest" = yes ]; then
		sed 's/^/host /' "$out/host"
		sed 's/^/config /' "$out/config"
	elif command -v python3 >/dev/null; then
		python3 "$here/compare.py" "$out" || failed=$((failed + 1))
	else
		say "no python3 here: python3 jobs/compare.py $out makes the report elsewhere"
	fi
}

measure_all() {
	number=0 each=:
	runs
	total=$number number=0 failed=0 each=run
	work=$(mktemp -d) || exit 1
	trap 'rm -rf "$work"' EXIT
	trap stopped INT TERM HUP
	say "$total runs of $((runtime + ramp)) s and more: about" \
		"$(duration $((total * (runtime + ramp + ramp / 2 + 2))))"
	began=$(date +%s)
	runs
	[ "$serve" = no ] || exit 0
	ratios
	make_report
	[ "$failed" = 0 ] || die "$failed of $total runs failed"
}

hand_instructions() {
	[ "$mode" = hand ] && [ "$serve" = no ] || return 0
	say "start this on $target now, and leave it running until it ends by itself:"
	echo "	sh jobs/compare.sh --serve --target $target$given"
}

# Boots a guest for this script, and makes the report of what it prints.
from_guest() {
	[ -e "$here/../tests/e2e/vm.sh" ] ||
		die "--guest needs tests/e2e/vm.sh: run it in a source tree" 2
	open_directory
	log=$out/guest.log
	: >"$log"
	cells=$(echo "$ops" | wc -w)
	cells=$((cells * $(echo "$sizes" | wc -w) * $(echo "$batches" | wc -w) *
		$(echo "$qps" | wc -w) * $(echo "$tools" | wc -w) * rounds))
	# shellcheck disable=SC2086 # words on purpose
	VM_TIMEOUT=${VM_TIMEOUT:-$((300 + cells * (limit - 20)))} \
		ENGINE_SO="$engine" FIO="$fio" sh "$here/../tests/e2e/vm.sh" \
		"$here/compare.sh" $given >"$log" 2>&1 &
	guest=$!
	trap 'kill $guest; exit 130' INT TERM HUP
	tail -f --pid=$guest "$log" | grep -v '^\(csv\|host\|config\) '
	status=0
	wait $guest || status=$?
	sed -n 's/^csv //p' "$log" >>"$out/runs.csv"
	sed -n 's/^host //p' "$log" >"$out/host"
	sed -n 's/^config //p' "$log" >"$out/config"
	in_guest=no
	make_report
	exit "$status"
}

# vm.sh calls its script with the guest's number first.
in_guest=no
case ${1-} in
[12])
	in_guest=yes
	shift
	set -- --local "$ADDR" --out /tmp/compare "$@"
	;;
esac
parse "$@"
check
check_device
check_programs
[ "$mode" != guest ] || from_guest
[ "$serve" = yes ] || open_directory
hand_instructions
measure_all
