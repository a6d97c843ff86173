#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Sixteen jobs as threads of one fio over the transport in memory, with an
# engine that was built with ThreadSanitizer: no two of them share what one
# writes. TAP on stdout. ENGINE names an engine configured with
# --enable-sanitizers=thread.
#
# fio itself is not built so, and tells its threads that they may end by plain
# variables, which looks like races. What counts is a report with both accesses
# in the engine.

# shellcheck disable=SC2317 # functions are called by name, through ok()

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

ENGINE=${ENGINE:-$here/../../build-tsan/engine/fio-rdma_batch.so}
runtime=$(gcc -print-file-name=libtsan.so 2>/dev/null)
command -v fio >/dev/null || skip_all 'fio is not installed'
[ -e "$ENGINE" ] || skip_all "$ENGINE is not built"
[ -e "$runtime" ] || skip_all "gcc has no libtsan.so"
nm -D "$ENGINE" | grep -q ' __tsan_' ||
	skip_all "$ENGINE is not built with --enable-sanitizers=thread"

# Its shadow memory has no place where addresses are random enough.
run='env'
loads() {
	LD_PRELOAD=$runtime $run fio --version >/dev/null 2>&1
}
loads || run='setarch -R'
loads || skip_all 'libtsan.so cannot be preloaded into this fio'

work=$(mktemp -d)
trap 'rm -rf "$work" "$tap_output"' EXIT
cd "$work" || exit 1

# Reports of which both accesses, below the runtime's frames, are the engine's.
our_races() {
	awk '
		/^WARNING: ThreadSanitizer/ { ours = 0; text = "" }
		{ text = text $0 "\n" }
		/^  .*(([Ww]rite|[Rr]ead) of size)/ { wanted = 1 }
		wanted && /^    #/ && !/libtsan/ {
			ours += /fio-rdma_batch/
			wanted = 0
		}
		/^SUMMARY/ && ours >= 2 { printf "%s", text; found++ }
		END { print found + 0, "races in the engine" }
	' "$1"
}

# jobs ARG...: sixteen of them, all succeed, and none is seen by another
jobs() {
	# shellcheck disable=SC2086 # words on purpose
	LD_PRELOAD=$runtime TSAN_OPTIONS='exitcode=0 history_size=4' \
		timeout 300 $run fio --ioengine="external:$ENGINE" \
		--transport=memory --thread --numjobs=16 --name=j \
		--verify_state_save=0 --bs=4k --size=256k --iodepth=16 \
		--iodepth_batch_submit=8 --iodepth_batch_complete_max=16 \
		--group_reporting "$@" >out 2>&1 || {
		cat out
		return 1
	}
	our_races out >races
	cat races
	grep -q '^0 races' races
}

sees_races() {
	cat >made <<-END
		WARNING: ThreadSanitizer: data race (pid=1)
		  Write of size 8 at 0x1 by thread T1:
		    #0 free tsan.cpp:1 (libtsan.so+0x1)
		    #1 f a.c:1 (fio-rdma_batch.so+0x1)
		
		  Previous read of size 8 at 0x1 by thread T2:
		    #0 g a.c:1 (fio-rdma_batch.so+0x2)
		
		SUMMARY: ThreadSanitizer: data race
	END
	our_races made | tail -n 1 | grep '^1 races'
}
ok 'a report with both accesses in the engine counts' sees_races
ok 'verified random writes' jobs --rw=randwrite --verify=crc32c --qps=4
ok 'a mix, merged and cut' jobs --rw=randrw --merge=1 --sort=1 \
	--chunk_size=3000 --qps=2
ok 'one region in a file for all' jobs --rw=write --verify=crc32c \
	--offset_increment=256k --region_mem="$work/region"
ok 'poll=event, one statistics file' jobs --rw=randread --poll=event \
	--stats_file="$work/stats"
finish
