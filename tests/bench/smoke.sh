#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The measuring programs run and end with what they promise; no speed is
# asserted. TAP on stdout. ENGINE names the engine if it is not in build/.
#
# usage: smoke.sh [guest]    guest: those that need a device, in a guest

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/e2e/lib.sh
. "$here/../e2e/lib.sh"

ENGINE=$(realpath "${ENGINE:-$top/build/engine/fio-rdma_batch.so}")
export ENGINE
[ -e "$ENGINE" ] || skip_all "$ENGINE is not built"
for program in fio jq python3; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
work=$(mktemp -d)
trap 'rm -rf "$work" "$tap_output"' EXIT
cd "$work" || exit 1

has() { # TEXT FILE
	grep -qF -- "$1" "$2" && return
	cat "$2"
	echo "expected: $1"
	return 1
}

# says STATUS TEXT CMD...: ends with that status and says so in its output.
says() {
	wanted=$1 text=$2
	shift 2
	got=0
	"$@" >said 2>&1 || got=$?
	has "$text" said && [ "$got" = "$wanted" ] && return
	echo "status $got, expected $wanted"
	return 1
}

points='--transport memory --qps 1,2 --batches 1,16 --sizes 64,4k --rw write
	--runtime 100ms --ramp 0'

sweep() { # ARG...
	# shellcheck disable=SC2086 # words on purpose
	timeout 100 sh "$top/jobs/sweep.sh" $points "$@"
}

# In the background, where a shell ignores SIGINT, as a process group; sets pid.
start_sweep() { # LOG ARG...
	log=$1
	shift
	# shellcheck disable=SC2086 # words on purpose
	setsid sh "$top/jobs/sweep.sh" $points "$@" >"$log" 2>&1 &
	pid=$!
}

measured() { # DIR
	find "$1/points" -name '*.json' | grep -vc '/tmp\.'
}

two_points() {
	[ "$(measured half)" -ge 2 ]
}

# SIGKILL leaves no time to tidy up, to nobody of the group.
killed_in_the_middle() {
	start_sweep half.log --out half
	wait_for 30 [ -e half/points ]
	wait_for 60 two_points
	kill -s KILL -- "-$pid"
	wait "$pid"
	there=$(measured half)
	cat half.log
	[ "$there" -ge 2 ] && [ "$there" -lt 8 ] && ! [ -e half/report.md ]
}

resumed() {
	touch before && sweep --out half >resumed.log 2>&1 || {
		cat resumed.log && return 1
	}
	has "$there of them there already" resumed.log &&
		[ "$(find half/points -name '*.json' ! -newer before | wc -l)" = "$there" ] &&
		[ "$(wc -l <half/results.csv)" = 9 ] &&
		[ "$(grep -c ,measured, half/results.csv)" = 8 ] &&
		[ -z "$(find half -name 'tmp.*')" ]
}

report_is_whole() {
	for text in "8 measured, 0 failed, 0 missing" "Not a NIC's figures" \
		'| kernel |' '| cpu |' '| fio |' '| engine |' '| libwrb |' \
		'| device |' '| batches | 1 16 |' '| runtime_ms | 100 |'; do
		has "$text" half/report.md || return 1
	done
}

plots_are_there() { # each that the report shows is a picture
	sed -n 's/^!\[.*\](\(.*\))$/\1/p' half/report.md >pictures
	[ "$(wc -l <pictures)" = 4 ] || { cat half/report.md && return 1; }
	while read -r picture; do
		[ "$(head -c 4 "half/$picture" | tail -c 3)" = PNG ] || return 1
	done <pictures
}

# Points of 1 GiB do not fit in the region; the others are measured.
some_fail() {
	says 1 '4 of 8 points failed' sweep --sizes 64,1g --out some &&
		[ "$(grep -c ,failed, some/results.csv)" = 4 ] &&
		[ "$(grep -c ,measured, some/results.csv)" = 4 ] &&
		has '## Failed points' some/report.md
}

# The last point fails after its counters were begun.
last_fails() {
	says 1 '1 of 2 points failed; see' timeout 100 sh "$top/jobs/sweep.sh" \
		--transport memory --rw write,read --sizes 4k --batches 4 \
		--qps 2 --depths 8 --runtime 100ms --ramp 0 \
		--set access=wo --out last || return 1
	find last -name 'tmp.*'
	has '1 measured, 1 failed, 0 missing' last/report.md &&
		has 'access=wo does not allow' last/report.md &&
		[ -z "$(find last -name 'tmp.*')" ]
}

no_report_is_named() { # when there is none
	mkdir bin && printf '#!/bin/sh\nexit 1\n' >bin/python3 &&
		chmod +x bin/python3 || return 1
	rm last/report.md
	PATH="$work/bin:$PATH" says 1 'has no report' timeout 100 \
		sh "$top/jobs/sweep.sh" --transport memory --rw write,read \
		--sizes 4k --batches 4 --qps 2 --depths 8 --runtime 100ms \
		--ramp 0 --set access=wo --out last && ! grep -q 'report.md' said
}

starved_point() { # as if others had had the processor
	cp -r last starved && cd starved/points || return 1
	for file in *.json; do
		sed -n '/^{/,$p' "$file" | jq \
			'.jobs[0].usr_cpu = 3 | .jobs[0].sys_cpu = 1' >changed &&
			mv changed "$file"
	done
	cd ../..
	python3 "$top/jobs/report.py" starved &&
		has '1 of the measured points were disturbed' starved/report.md &&
		has '| write-bs4096-b4-q2-d8 | 4 |' starved/report.md &&
		grep -q '^set' starved/config && echo 'set poll=event' \
		>>starved/config && python3 "$top/jobs/report.py" starved &&
		! grep -q 'disturbed' starved/report.md
}

# A device that is not there, so that both ends say why.
compare_gives_up() {
	says 1 'all 1 runs of the first round failed, so 3 more are left out' \
		timeout 200 sh "$top/jobs/compare.sh" --local 192.0.2.1 \
		--device none --tools busy --quick --runtime 1s --ramp 0s \
		--out given-up &&
		has 'FAILED: rdma_batch: ' said && ! grep -q 'Perhaps' said
}

interrupted() {
	start_sweep stop.log --out stop
	wait_for 30 grep -q 'point 1 of' stop.log
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	has 'goes on' stop.log && [ "$status" = 130 ] &&
		[ -z "$(find stop -name 'tmp.*')" ]
}

runs_of_two_tools() { # as compare.sh writes them
	mkdir compared && cd compared || return 1
	echo 'runtime_s=5' >config
	printf '%s: %s\n' kernel none device rxe0 'device driver' software >host
	date >began
	cat >runs.csv <<-END
		op,size,batch,qps,depth,tool,round,messages_per_s,bytes_per_s,p50_us,p99_us,cpu_us_per_op,writes_per_op,doorbells_per_op,error
		write,64,16,1,64,fio-rdma,1,1000,64000,5,6,1000,1.0000,,
		write,64,16,1,64,busy,1,3000,192000,5,6,333,0.0625,0.0625,
		write,64,16,1,64,busy,2,2000,128000,5,6,333,0.0625,0.0625,
		write,64,16,1,64,lB,1,,,,,,,,it failed
	END
	cd ..
	python3 "$top/jobs/compare.py" compared
}

comparison_is_told() {
	runs_of_two_tools && has '| rdma_batch | 2.5 k |' compared/compare.md &&
		has 'it failed' compared/compare.md &&
		has 'What is comparable' compared/compare.md &&
		[ "$(wc -l <compared/results.csv)" = 4 ]
}

engine_beside_null() {
	says 0 'per second of a CPU' sh "$here/bench_engine.sh" --rounds 1 \
		--runtime 100ms --batches 1,16 --no-instructions --csv e.csv &&
		[ "$(wc -l <e.csv)" = 7 ]
}

in_guest() {
	ok 'compare.sh measures every tool in a guest' says 0 'ratio' \
		sh "$top/jobs/compare.sh" --guest --ops read --sizes 64 \
		--quick --runtime 1s --out guest
	ok 'no run of it failed' [ "$(grep -c '^read,64,16,1,64,[^,]*,1,[1-9]' \
		guest/runs.csv)" = 8 ]
	finish
}

[ "${1-}" != guest ] || in_guest
ok 'sweep.sh is killed in the middle' killed_in_the_middle
ok 'sweep.sh goes on where it was killed' resumed
ok 'its report tells of the machine and of every option' report_is_whole
if command -v gnuplot >/dev/null; then
	ok 'its plots are pictures' plots_are_there
else
	skip 'its plots are pictures' 'gnuplot is not installed'
fi
ok 'sweep.sh refuses the directory of another configuration' \
	says 2 'another configuration' sweep --sizes 64 --out half
ok 'sweep.sh refuses a directory that is not its own' \
	says 2 'not a sweep' sweep --out "$top/jobs"
ok 'points that fail are said and counted, others go on' some_fail
ok 'so is the last one, if it leaves half of a file' last_fails
ok 'no report is named where there is none' no_report_is_named
ok 'points that had no processor are told of' starved_point
ok 'a signal leaves a directory that can be gone on with' interrupted
ok 'sweep.sh refuses what is no size' says 2 'is not a size' sweep --sizes 64x
ok 'compare.py tells medians, ratios and failures' comparison_is_told
ok 'compare.sh wants to know the other end' says 2 '--local ADDRESS' \
	sh "$top/jobs/compare.sh"
if [ -e /sys/class/infiniband ]; then
	skip 'compare.sh wants a device' 'there is one'
else
	ok 'compare.sh wants a device' says 2 'there is no RDMA device' \
		sh "$top/jobs/compare.sh" --local 192.0.2.1
fi
ok 'compare.sh gives up after a round in which all fails' compare_gives_up
ok 'bench_engine.sh measures both engines' engine_beside_null
ok 'idle.sh measures here' says 0 '# event: ' \
	sh "$here/idle.sh" --native "$ENGINE" 1 1
finish
