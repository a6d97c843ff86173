#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What the engine costs: fio's null engine, which does nothing, beside
# rdma_batch over the device in memory, which also moves every byte. Writes of
# 64 bytes, a region of 1 MiB, depth 128, batches of 1, 16 and 64, one thread.
#
# usage: bench_engine.sh [--rounds N] [--runtime SECONDS] [--batches LIST]
#	[--rw DIRECTION] [--csv FILE] [--no-instructions]
#
# The two run at the same time on one CPU, which the kernel gives to each of them
# in turn for some milliseconds: a machine whose pace changes from one second to
# the next, as shared ones do by half, changes it for both. Each run of the pair
# has a figure, I/Os per second of processor time; of each pair comes a ratio,
# and the median of the ratios is shown.
#
# Instructions per I/O are counted by callgrind in two runs of fixed lengths:
# what the second executes more, divided by the I/Os that it does more, so that
# starting and ending do not count. fio itself is in it on both sides.
#
# environment: ENGINE (build/engine/fio-rdma_batch.so); FIO (fio)

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
me=bench_engine.sh
# shellcheck source=jobs/measure-lib.sh
. "$here/../../jobs/measure-lib.sh"

fio=${FIO:-fio}
ENGINE=${ENGINE:-$here/../../build/engine/fio-rdma_batch.so}
rounds=7 runtime=4 batches='1 16 64' rw=write csv='' instructions=yes
few=20000 many=60000

while [ $# -gt 0 ]; do
	case $1 in
	--no-instructions)
		instructions=no
		shift
		continue
		;;
	esac
	[ $# -ge 2 ] || die "'$1' is not an option, or lacks its value" 2
	case $1 in
	--rounds) rounds=$(numbers "$@") || exit ;;
	--runtime) runtime=$2 ;;
	--batches) batches=$(numbers "$1" "$2") || exit ;;
	--rw) rw=$2 ;;
	--csv) csv=$2 ;;
	*) die "there is no option '$1'" 2 ;;
	esac
	shift 2
done
runtime_ms=$(to_ms --runtime "$runtime") || exit
need "$fio" jq taskset
need_engine
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# Without scramble_buffers=0 fio would spend most of its time on the content of
# the buffers, and not the same for both engines.
job() { # SIDE BATCH ARG...: runs fio, or what stands in $wrap before it
	side=$1
	case $1 in
	null) set -- "$2" "$@" --ioengine=null ;;
	*) set -- "$2" "$@" --ioengine="external:$engine" --transport=memory ;;
	esac
	nr=$1
	shift 3
	# shellcheck disable=SC2086 # words on purpose
	$wrap "$fio" --name=j "$@" --rw="$rw" --bs=64 --size=1m \
		--iodepth=128 --iodepth_batch_submit="$nr" \
		--iodepth_batch_complete_max=128 --thread=1 \
		--scramble_buffers=0 --output-format=json \
		--output="$work/$side.json" </dev/null >"$work/$side.log" 2>&1 ||
		{ cat "$work/$side.log" >&2 && exit 1; }
}

# I/Os per second of processor time.
rate() { # SIDE BATCH
	wrap="taskset -c $cpu"
	job "$1" "$2" --time_based --runtime="${runtime_ms}ms" --ramp_time=300ms
	jq -r '.jobs[0] | (.read.total_ios + .write.total_ios) /
		((.usr_cpu + .sys_cpu) / 100 * .job_runtime / 1000)' \
		"$work/$1.json"
}

pair() { # BATCH: "null rdma_batch"
	rate null "$1" >"$work/null.rate" &
	ours=$(rate rdma_batch "$1")
	status=$?
	wait $! && [ $status = 0 ] || exit 1
	echo "$(cat "$work/null.rate") $ours"
}

column() { # EXPRESSION-OF-AWK: the median over the pairs, and its extremes
	awk "{ print $1 }" "$work/pairs" | sort -g |
		awk '{ v[NR] = $1 } END {
			m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
			print m, v[1], v[NR] }'
}

executed() { # SIDE BATCH IOS: instructions of the whole process
	wrap="valgrind --tool=callgrind --callgrind-out-file=$work/callgrind"
	job "$1" "$2" --io_size=$(($3 * 64))
	sed -n 's/^\(summary\|totals\): //p' "$work/callgrind" | head -n 1
}

# Over fixed numbers of I/Os: fio's clock is asked as often as in a timed run.
per_io() { # SIDE BATCH
	a=$(executed "$1" "$2" "$few") && b=$(executed "$1" "$2" "$many") || exit 1
	echo "$a $b" | awk -v n=$((many - few)) '{ printf "%.1f\n", ($2 - $1) / n }'
}

result() { # NAME VALUE...
	echo "$batch,$*" | tr ' ' ',' >>"$work/csv"
}

: >"$work/csv"
# The last that this process may use: interrupts tend to go to the first.
cpu=$(taskset -cp $$ | sed 's/.*[^0-9]//')
for batch in $batches; do
	: >"$work/pairs"
	for _ in $(seq "$rounds"); do
		pair "$batch" >>"$work/pairs" || exit 1
	done
	# shellcheck disable=SC2016 # fields of awk
	{
		null=$(column '$1') ours=$(column '$2') ratio=$(column '$2 / $1')
	}
	echo "$batch $null $ours $ratio" | awk '{
		printf "batch %2d: null %.0f, rdma_batch %.0f thousand I/Os per second of a CPU; ratio %.3f (%.3f..%.3f)\n", \
			$1, $2 / 1e3, $5 / 1e3, $8, $9, $10 }'
	result rate_null "$null"
	result rate_rdma_batch "$ours"
	result ratio "$ratio"
done
if [ "$instructions" = yes ] && command -v valgrind >/dev/null; then
	for batch in $batches; do
		null=$(per_io null "$batch") && ours=$(per_io rdma_batch "$batch") ||
			exit 1
		echo "batch $batch: instructions per I/O: null $null, rdma_batch $ours," \
			"ratio $(echo "$ours $null" | awk '{ printf "%.3f", $1 / $2 }')"
		result instructions_null "$null"
		result instructions_rdma_batch "$ours"
	done
fi
if [ -n "$csv" ]; then
	{ echo batch,what,median,least,most && cat "$work/csv"; } >"$csv"
fi
