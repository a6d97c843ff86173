#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what is missing, builds, and runs every test. As root on Debian or
# Ubuntu. Last line: "N passed, N failed, N skipped"; exits 0 when none failed.
#
# usage: tests/run.sh [STEP...]    only these steps, one after the other
#        tests/run.sh --list       the steps
#
# Without a STEP, first what all others need, then the guests' steps beside the
# host's: an emulated guest has one CPU, and so has what runs beside it.
#
# Each step's output goes to build/log/STEP.log; of a step that failed the
# lines that say so are printed.

set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
log=$top/build/log
fio_dir=$top/build/fio
jobs=${RUN_JOBS:-$(nproc)}
began=${RUN_BEGAN:-$(date +%s)}

first_steps='deps gcc'
host_steps='clang sanitizers valgrind mutations lint distcheck budget native
native-sync boundaries modes native-sanitizers tsan bench'
guest_steps='guest-verbs guest-6.1 guest-two guest-examples guest-outside
guest-sync guest-poll'
# After the guests' steps, so that both parts take about as long.
more_host_steps='releases'
# Those whose time limits ask for a machine with nothing else to do, or that
# take long: by name only.
more_steps='package guest-faults guest-rogue guest-security guest-lost
guest-setup guest-soak guest-bench'

say() {
	printf '%4ds  %s\n' $(($(date +%s) - began)) "$*"
}

# build DIR CONFIGURE-ARG...: a build tree of its own.
build() {
	dir=$1
	shift
	[ -x configure ] || ./autogen.sh || return 1
	mkdir -p "$dir" && cd "$dir" || return 1
	{ [ -f Makefile ] || "$top/configure" --enable-werror \
		"--with-fio=$fio_dir" "$@"; } && make -j "$jobs"
	status=$?
	cd "$top" || return 1
	return $status
}

# check DIR: what `make check` does, and which cases of a test were skipped.
check() {
	make -C "$1" -j "$jobs" check
	status=$?
	sed -n 's/^\[  SKIPPED \] \([a-z_]*\)$/SKIP: \1/p' "$1"/tests/unit/*.log | sort -u
	return $status
}

# with ASan in a program that was not built with it.
asan_run() {
	lib=$(gcc -print-file-name=libasan.so) || return 1
	LD_PRELOAD=$lib ASAN_OPTIONS=detect_leaks=0 "$@"
}

step_deps() {
	sh jobs/deps.sh build fio report guest check &&
		sh engine/fetch-fio-source.sh "$fio_dir"
}

# With what other steps take from here, so that none of them builds it while
# another does.
step_gcc() {
	build build && make -C build -j "$jobs" tests/bench/bench_plan \
		tests/e2e/rogue tests/e2e/setup tests/e2e/watch.la \
		tests/e2e/order.la &&
		check build
}

step_clang() {
	build build-clang CC=clang && check build-clang
}

step_sanitizers() {
	build build-asan --enable-sanitizers && check build-asan
}

step_valgrind() {
	make -C build check-valgrind
}

step_mutations() {
	sh tests/property/mutations.sh
}

step_budget() {
	make -C build tests/bench/bench_plan &&
		sh tests/bench/budget.sh "$top/build/tests/bench/bench_plan"
}

step_lint() {
	FIO_DIR=$fio_dir sh tests/lint.sh
}

step_distcheck() {
	make -C build -j "$jobs" distcheck &&
		echo 'ok - make distcheck'
}

step_native() {
	ENGINE=$top/build/engine/fio-rdma_batch.so sh tests/e2e/native.sh
}

step_native_sync() {
	make -C build tests/e2e/watch.la tests/e2e/order.la &&
		WATCH=$top/build/tests/e2e/.libs/watch.so \
			ENGINE=$top/build/engine/fio-rdma_batch.so \
			sh tests/e2e/sync.sh
}

step_boundaries() {
	ENGINE=$top/build/engine/fio-rdma_batch.so sh tests/e2e/boundaries.sh
}

step_modes() {
	ENGINE=$top/build/engine/fio-rdma_batch.so sh tests/e2e/modes.sh
}

step_releases() {
	sh tests/e2e/releases.sh
}

step_native_sanitizers() {
	export ENGINE="$top/build-asan/engine/fio-rdma_batch.so"
	asan_run sh tests/e2e/native.sh
}

step_bench() {
	sh tests/bench/smoke.sh
}

step_guest_bench() {
	VM_TIMEOUT=600 sh tests/e2e/vm.sh tests/bench/doorbells.sh &&
		VM_TIMEOUT=300 sh tests/e2e/vm.sh tests/bench/idle.sh &&
		VM_TIMEOUT=300 VM_FILES=$(command -v perf) \
			sh tests/e2e/vm.sh tests/bench/profile.sh 64 1 &&
		sh tests/bench/smoke.sh guest
}

step_tsan() {
	build build-tsan --enable-sanitizers=thread &&
		ENGINE=$top/build-tsan/engine/fio-rdma_batch.so \
			sh tests/e2e/tsan.sh
}

step_guest_verbs() {
	VM_TIMEOUT=900 sh tests/e2e/vm.sh tests/e2e/guest-verbs.sh
}

step_guest_faults() {
	VM_TIMEOUT=600 sh tests/e2e/vm.sh tests/e2e/guest-faults.sh
}

step_guest_setup() {
	setup=$top/build/tests/e2e/setup
	make -C build tests/e2e/setup &&
		VM_TIMEOUT=900 VM_NO_ENGINE=1 VM_FILES=$setup \
			sh tests/e2e/vm.sh tests/e2e/guest-setup.sh "$setup"
}

step_guest_rogue() {
	rogue=$top/build/tests/e2e/rogue
	make -C build tests/e2e/rogue &&
		VM_TIMEOUT=900 VM_FILES=$rogue sh tests/e2e/vm.sh \
			tests/e2e/guest-rogue.sh "$rogue"
}

step_guest_security() {
	rogue=$top/build/tests/e2e/rogue
	make -C build tests/e2e/rogue &&
		VM_TIMEOUT=900 VM_FILES=$rogue sh tests/e2e/vm.sh \
			tests/e2e/guest-security.sh "$rogue"
}

step_guest_lost() {
	VM_TIMEOUT=900 sh tests/e2e/lost.sh
}

step_guest_soak() {
	VM_TIMEOUT=1800 sh tests/e2e/vm.sh tests/e2e/guest-soak.sh
}

step_guest_6_1() {
	VM_KERNEL=6.1 VM_TIMEOUT=600 sh tests/e2e/vm.sh \
		tests/e2e/guest-verbs.sh quick
}

step_guest_two() {
	VM_TIMEOUT=600 sh tests/e2e/vm.sh --guests 2 tests/e2e/guest-two.sh
}

step_package() {
	sh jobs/deps.sh package && FIO_SOURCE=$fio_dir sh tests/packages/debian.sh
}

step_guest_examples() {
	examples=$top/build/doc/examples
	VM_FILES="$examples/copy $examples/blocks" VM_TIMEOUT=600 \
		sh tests/e2e/vm.sh tests/e2e/guest-examples.sh "$examples"
}

step_guest_sync() {
	watch=$top/build/tests/e2e/.libs/watch.so
	make -C build tests/e2e/watch.la &&
		VM_TIMEOUT=600 VM_FILES=$watch sh tests/e2e/vm.sh \
			tests/e2e/guest-sync.sh "$watch"
}

step_guest_poll() {
	VM_TIMEOUT=300 sh tests/e2e/vm.sh --guests 2 tests/e2e/guest-poll.sh
}

step_guest_outside() {
	sh tests/e2e/outside.sh
}

# Counts TAP lines and automake's; a step without any counts as one test.
count() { # STEP STATUS FILE
	bare=$(sed 's/^\[[12]\] //' "$3")
	ok=$(echo "$bare" | grep -cE '^(ok |PASS: )')
	skip=$(echo "$bare" | grep -cE '^(ok .*# SKIP|SKIP: )')
	tap_skip=$(echo "$bare" | grep -cE '^ok .*# SKIP')
	bad=$(echo "$bare" | grep -cE '^(not ok |FAIL: |XPASS: |ERROR: )')
	ok=$((ok - tap_skip))
	[ "$2" = 0 ] || [ "$bad" != 0 ] || bad=1
	[ $((ok + skip + bad)) != 0 ] || ok=1
	echo "$ok $bad $skip" >"$log/$1.count"
	say "$1: $ok passed, $bad failed, $skip skipped"
	echo "$bare" | grep -E '^(ok .*# SKIP|SKIP: )'
	[ "$bad" = 0 ] && return
	echo "$bare" | grep -E '^(not ok |FAIL: |XPASS: |ERROR: )'
	echo "--- the end of $3"
	tail -n 40 "$3"
	echo "---"
}

# What it says comes at once, whoever else is talking.
run_step() {
	function=step_$(echo "$1" | tr '.-' '__')
	say "$1 ..."
	("$function") >"$log/$1.log" 2>&1 </dev/null
	said=$(count "$1" $? "$log/$1.log")
	echo "$said"
}

run_steps() {
	for step in "$@"; do
		run_step "$step"
	done
}

# A process group of its own, which can be ended whole.
start_part() { # STEP...
	setsid sh tests/run.sh "$@" &
	parts="$parts $!"
}

end_parts() {
	for part in $parts; do
		kill -s TERM -- "-$part" 2>/dev/null
	done
	exit 130
}

run_side_by_side() {
	RUN_JOBS=$(((jobs + 1) / 2)) RUN_BEGAN=$began RUN_PART=1 parts=''
	export RUN_JOBS RUN_BEGAN RUN_PART
	trap end_parts INT TERM HUP
	# shellcheck disable=SC2086 # lists of words
	{
		start_part $host_steps
		start_part $guest_steps $more_host_steps
		wait $parts
	}
	trap - INT TERM HUP
}

# The sum over these steps; one that left no count has not run to its end.
total() {
	for step in "$@"; do
		cat "$log/$step.count" 2>/dev/null || echo 0 1 0
	done | awk '{ passed += $1; failed += $2; skipped += $3 }
		END {
			printf "%d passed, %d failed, %d skipped\n",
				passed, failed, skipped
			exit failed != 0
		}'
}

run_all() {
	# shellcheck disable=SC2086 # lists of words
	set -- $first_steps $host_steps $guest_steps $more_host_steps
	rm -f "$log"/*.count
	# shellcheck disable=SC2086
	run_steps $first_steps
	run_side_by_side
	total "$@"
}

all_steps() {
	# shellcheck disable=SC2086 # lists of words
	echo $first_steps $host_steps $guest_steps $more_host_steps $more_steps
}

check_names() {
	for step in "$@"; do
		case " $(all_steps) " in
		*" $step "*) ;;
		*) echo "no step \"$step\": --list names them" >&2 && exit 2 ;;
		esac
	done
}

main() {
	if [ "${1-}" = --list ]; then
		all_steps
		return
	fi
	check_names "$@"
	mkdir -p "$log" || exit 1
	if [ $# = 0 ]; then
		run_all
		return
	fi
	run_steps "$@"
	[ -n "${RUN_PART-}" ] || total "$@"
}

main "$@"
