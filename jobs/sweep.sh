#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures the engine over batch x message size x QP count, and makes a table,
# a report and plots of it.
#
#	sh jobs/sweep.sh --transport memory --quick       no hardware, a minute
#	sh jobs/run.sh jobs/target.fio                    on the target's host
#	sh jobs/sweep.sh --target HOST                    on the other, 10 minutes
#
# Lists take commas or blanks between their values.
#   --target HOST     the target's name or address
#   --port N          the port it listens on (7471)
#   --transport T     rdma or memory (rdma with --target, else memory)
#   --batches LIST    I/Os of a commit (1,4,16,64)
#   --sizes LIST      bytes of an I/O (64,512,4k,16k,64k,256k)
#   --qps LIST        queue pairs (1,4,16)
#   --depths LIST     I/Os in flight (128); batches above are left out
#   --rw LIST         fio's rw= (write,read)
#   --runtime TIME    measured time of each point (2s; 500ms is a time too)
#   --ramp TIME       before it (1s)
#   --region SIZE     how much of the target's memory is used (64m)
#   --set NAME=VALUE  any other option of the engine or of fio; may be repeated
#   --out DIR         where everything goes (sweep-DATE-TIME)
#   --quick           few points, each short
#
# In DIR: results.csv, report.md, plots/*.png with what gnuplot made them from,
# and for each point fio's JSON, the engine's counters and its messages. Ctrl-C
# leaves a directory in which the same command goes on where it stopped; points
# that failed are then tried again.
#
# environment: ENGINE, the engine (the one built or installed); FIO (fio)
# exit: 0 all points measured, 1 some failed, 2 wrong usage, 130 interrupted

set -u
me=sweep.sh
here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=jobs/measure-lib.sh
. "$here/measure-lib.sh"

fio=${FIO:-fio}
target='' port=7471 transport=''
batches='1 4 16 64' sizes='64 512 4k 16k 64k 256k' qps='1 4 16' depths=128
rw='write read' runtime=2s ramp=1s region=64m settings='' out=''

usage() {
	sed -n '/^# Lists/,/^# exit/s/^# \{0,1\}//p' "$0"
}

quick() {
	sizes='64 1k 8k 64k' qps='1 4' rw=write runtime=300ms ramp=100ms
}

# One NAME=VALUE a line; fio gets them as they are.
add_setting() {
	case $1 in
	*"
"*) die "--set takes one line" 2 ;;
	[a-z]*=*) ;;
	*) die "--set takes NAME=VALUE, not '$1'" 2 ;;
	esac
	case ${1%%=*} in
	ioengine | name | bs | rw | qps | iodepth | iodepth_batch_submit | \
		stats_file | output | output-format | size | runtime | ramp_time)
		die "--set ${1%%=*}: the sweep sets it itself" 2
		;;
	esac
	settings="$settings$1
"
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--quick)
			quick
			shift
			continue
			;;
		-h | --help) usage && exit 0 ;;
		esac
		[ $# -ge 2 ] || die "'$1' is not an option, or lacks its value; --help names them" 2
		case $1 in
		--target) target=$2 ;;
		--port) port=$2 ;;
		--transport) transport=$2 ;;
		--batches) batches=$2 ;;
		--sizes) sizes=$2 ;;
		--qps) qps=$2 ;;
		--depths) depths=$2 ;;
		--rw) rw=$2 ;;
		--runtime) runtime=$2 ;;
		--ramp) ramp=$2 ;;
		--region) region=$2 ;;
		--out) out=$2 ;;
		--set) add_setting "$2" ;;
		*) die "there is no option '$1'; --help names them" 2 ;;
		esac
		shift 2
	done
}

check() {
	need "$fio" jq
	need_engine
	[ -n "$transport" ] || transport=${target:+rdma}
	transport=${transport:-memory}
	case $transport in
	memory) target='' ;;
	rdma) [ -n "$target" ] || die "--transport rdma needs --target HOST" 2 ;;
	*) die "--transport is rdma or memory, not '$transport'" 2 ;;
	esac
	batches=$(numbers --batches "$batches") || exit
	qps=$(numbers --qps "$qps") || exit
	depths=$(numbers --depths "$depths") || exit
	sizes=$(sizes_in_bytes --sizes "$sizes") || exit
	rw=$(list --rw "$rw") || exit
	for direction in $rw; do
		case $direction in
		read | write | rw | readwrite | randread | randwrite | randrw) ;;
		*) die "--rw: '$direction' is none of read, write, rw, randread, randwrite, randrw" 2 ;;
		esac
	done
	runtime=$(to_ms --runtime "$runtime") || exit
	ramp=$(to_ms --ramp "$ramp") || exit
	[ "$runtime" -gt 0 ] || die "--runtime must be above 0" 2
	region=$(sizes_in_bytes --region "$region") || exit
	out=${out:-sweep-$(date +%Y%m%d-%H%M%S)}
}

# What two runs in one directory must have in common.
configuration() {
	cat <<END
transport=$transport
target=${target:-none}
port=$port
batches=$batches
sizes=$sizes
qps=$qps
depths=$depths
rw=$rw
runtime_ms=$runtime
ramp_ms=$ramp
region=$region
host=$(uname -n)
kernel=$(uname -r)
fio=$("$fio" --version)
engine's checksum=$(cksum <"$engine" | cut -d ' ' -f 1)
END
	printf %s "$settings" | sed 's/^/set /'
}

# The directory holds the files of a sweep like this one, or nothing.
open_directory() {
	mkdir -p "$out" || die "cannot make $out"
	out=$(cd "$out" && pwd) || exit 1
	if [ ! -e "$out/config" ]; then
		[ -z "$(ls -A "$out")" ] ||
			die "$out holds something that is not a sweep: give another --out" 2
		mkdir "$out/points"
		configuration >"$out/config.tmp" && mv "$out/config.tmp" "$out/config"
		date '+%Y-%m-%d %H:%M:%S %z' >"$out/began"
	fi
	points=$out/points
	difference=$(configuration | diff "$out/config" - | grep '^[<>]' | head -n 2)
	[ -z "$difference" ] ||
		die "$out holds a sweep of another configuration ($(echo "$difference" |
			sed 's/^< */there /; s/^> */now /' | paste -sd ',' -)): give another --out" 2
	exec 9>"$out/lock"
	if command -v flock >/dev/null; then
		flock -w 10 9 || die "another sweep runs in $out"
	fi
	rm -f "$points"/tmp.*
}

plan() {
	for d in $rw; do
		for depth in $depths; do
			for nr in $qps; do
				for batch in $batches; do
					[ "$batch" -le "$depth" ] || continue
					for bs in $sizes; do
						echo "$d $bs $batch $nr $depth"
					done
				done
			done
		done
	done
}

measure() { # DIRECTION BYTES BATCH QPS DEPTH NAME
	set -- --name="$6" --ioengine="external:$engine" \
		--transport="$transport" ${target:+"--hostname=$target"} \
		--port="$port" --rw="$1" --bs="$2" --size="$region" \
		--qps="$4" --iodepth="$5" --iodepth_batch_submit="$3" \
		--iodepth_batch_complete_max="$5" --thread=1 --time_based \
		--runtime="${runtime}ms" --ramp_time="${ramp}ms" \
		--stats_file="$tmp.stats" --output-format=json \
		--output="$tmp.json"
	while read -r setting; do
		[ -z "$setting" ] || set -- "$@" "--$setting"
	done <<END
$settings
END
	timeout --foreground -k 5 $(((runtime + ramp) / 1000 + 60)) \
		"$fio" "$@" </dev/null >"$tmp.log" 2>&1 9>&-
}

measured() { # whether fio's file tells of I/O and of no error
	jq -e '.jobs[0] | .error == 0 and .read.total_ios + .write.total_ios > 0' \
		"$tmp.json" >/dev/null 2>&1
}

# Why a point failed: the engine's sentence, or fio's first line.
reason() { # STATUS
	text=$(engine_says "$tmp.log")
	[ -n "$text" ] || text=$(grep -m 1 . "$tmp.log")
	echo "${text:-no message} (fio's status $1)"
}

# The point is measured once its JSON has its name, so that comes last.
keep() { # NAME
	mv "$tmp.log" "$points/$1.log" && mv "$tmp.stats" "$points/$1.stats" &&
		rm -f "$points/$1.failed" && mv "$tmp.json" "$points/$1.json"
}

keep_failed() { # NAME SENTENCE
	mv "$tmp.log" "$points/$1.log" 2>/dev/null
	echo "$2" >"$tmp.failed" && mv "$tmp.failed" "$points/$1.failed"
	rm -f "$tmp".*
}

result() { # NAME: for the progress line
	jq -r '.jobs[0] | .read.iops + .write.iops, .read.bw_bytes + .write.bw_bytes,
		([.read, .write][] | .clat_ns.percentile["99.000000"] // empty)' \
		"$points/$1.json" | awk '
		function scaled(v, unit) {
			if (v >= 1e9) return sprintf("%.2f G%s", v / 1e9, unit)
			if (v >= 1e6) return sprintf("%.2f M%s", v / 1e6, unit)
			if (v >= 1e3) return sprintf("%.1f k%s", v / 1e3, unit)
			return sprintf("%.1f%s", v, unit)
		}
		NR == 1 { rate = $1 }
		NR == 2 { bytes = $1 }
		NR > 2 && $1 > p99 { p99 = $1 }
		END { printf "%s, %s", scaled(rate, " messages/s"), scaled(bytes, "B/s")
			if (p99) printf ", p99 %.1f us", p99 / 1e3 }'
}

remember_host() { # NAME: of a point that was measured, so the device is known
	! grep -q '^device: ' "$out/host" 2>/dev/null || return 0
	device=$(jq -r '.device' "$points/$1.stats" | head -n 1)
	sh "$here/hostinfo.sh" "$device" >"$tmp.host" && mv "$tmp.host" "$out/host"
}

run_point() { # DIRECTION BYTES BATCH QPS DEPTH
	name=$1-bs$2-b$3-q$4-d$5
	status=0
	what="$1 $(size_name "$2"), batch $3, qps $4, depth $5"
	measure "$@" "$name" || status=$?
	if [ "$status" = 0 ] && measured && keep "$name"; then
		remember_host "$name"
		text=$(result "$name")
	else
		text=$(reason "$status")
		keep_failed "$name" "$text"
		text="FAILED: $text"
	fi
	taken=$((taken + 1))
	say "point $number of $total: $what: $text; $(time_left "$began" \
		"$taken" $((total - number))) left"
}

run_all() {
	number=0 taken=0
	began=$(date +%s)
	while read -r direction bytes batch nr depth; do
		number=$((number + 1))
		[ ! -e "$points/$direction-bs$bytes-b$batch-q$nr-d$depth.json" ] ||
			continue
		run_point "$direction" "$bytes" "$batch" "$nr" "$depth"
	done <"$out/plan"
}

stopped() {
	trap - INT TERM HUP
	rm -f "$tmp".*
	say "stopped; the same command with --out $out goes on" >&2
	exit 130
}

announce() {
	total=$(wc -l <"$out/plan")
	there=$(find "$points" -name '*.json' | wc -l)
	[ "$total" -gt 0 ] || die "nothing to measure: every batch is above every depth" 2
	say "$total points of $((runtime + ramp)) ms and half a second to start in $out, $there of them there already: about $(duration $(((total - there) * (runtime + ramp + 500) / 1000)))"
}

make_report() { # fails if there is none
	if ! command -v python3 >/dev/null; then
		say "no python3 here: python3 jobs/report.py $out makes the report elsewhere"
		return 1
	fi
	python3 "$here/report.py" "$out" || die "report.py failed: $out has no report"
}

parse "$@"
check
open_directory
tmp=$points/tmp.$$
trap stopped INT TERM HUP
plan >"$out/plan"
announce
[ -e "$out/host" ] || sh "$here/hostinfo.sh" >"$out/host"
run_all
why="$points/*.failed"
! make_report || why=$out/report.md
failed=$(find "$points" -name '*.failed' | wc -l)
[ "$failed" = 0 ] || die "$failed of $total points failed; see $why"
