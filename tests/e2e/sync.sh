#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Syncs, polling and verb= in the installed fio over the transport in memory.
# TAP on stdout. ENGINE and WATCH name the engine and tests/e2e/watch.c as
# built, if they are not in build/.

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
WATCH=$(realpath -m "${WATCH:-$here/../../build/tests/e2e/.libs/watch.so}")
# shellcheck source=tests/e2e/memory.sh
. "$here/memory.sh"
[ -e "$WATCH" ] || skip_all "$WATCH is not built: make tests/e2e/watch.la"

export WATCH_REGION="$work/region"
FIO_ARGS="--transport=memory --region_mem=$WATCH_REGION"
# shellcheck source=tests/e2e/sync-lib.sh
. "$here/sync-lib.sh"

# -- syncs -----------------------------------------------------------------
few_syncs
more_syncs

ok 'fsync=16: each sync has its latency' counts '
	.jobs[0].sync.lat_ns.N == 63 and .jobs[0].sync.total_ios == 63 and
	.jobs[0].sync.lat_ns.min > 0 and .jobs[0].sync.lat_ns.mean < 1e8' \
	job --size=1m --rw=write --bs=1k --fsync=16
ok 'fdatasync=16: the same, and nothing else is counted' counts '
	.jobs[0].sync.lat_ns.N == 63 and .jobs[0].sync.total_ios == 63 and
	.jobs[0].read.short_ios == 0 and .jobs[0].write.short_ios == 0' \
	job --size=1m --rw=write --bs=1k --fdatasync=16
# Of reads that follow a sync fio issues it again, until there is a write.
# shellcheck disable=SC2016 # jq's variable
ok 'reads and writes, each 16 writes a sync at least' counts '
	(.jobs[0].write.total_ios / 16 | floor) as $n |
	.jobs[0].sync.lat_ns.N == .jobs[0].sync.total_ios and
	.jobs[0].sync.lat_ns.N >= $n - 1' \
	job --size=1m --rw=randrw --bs=1k --fsync=16 --iodepth=8
ok 'a job without syncs has none' counts '
	.jobs[0].sync.lat_ns.N == 0' job --size=1m --rw=write --bs=1k

# The byte that a sync reads leaves no trace in the buffers.
buffers_are_kept() {
	job --size=1m --rw=write --bs=1 --size=4k --fsync=1 --qps=4 --zero_buffers=1 \
		--scramble_buffers=0 --region_mem="$work/zeros" || return 1
	# What the syncs read would go out with the next write.
	printf 'X' | dd of=zeros conv=notrunc 2>/dev/null
	job --size=1m --rw=write --bs=1 --size=4095 --offset=1 --fsync=1 --qps=4 \
		--zero_buffers=1 --scramble_buffers=0 \
		--region_mem="$work/zeros" || return 1
	[ "$(tr -d '\0' <zeros)" = X ]
}
ok 'a sync leaves the buffers as they are' buffers_are_kept

syncs_of_a_log() {
	cat >log <<-LOG
		fio version 2 iolog
		j add
		j open
		j write 0 4096
		j sync 0 0
		j write 4096 4096
		j datasync 0 0
		j close
	LOG
	job --size=1m --read_iolog=log --stats_file=stats "$@" && cat stats &&
		jq -e '.syncs == 2 and .sync_reads == 2 and .ops == 2' stats
}
ok 'syncs of a log that is replayed' syncs_of_a_log
ok 'syncs of a log need the right to read' says \
	'access=wo does not allow the READs that syncs need' \
	syncs_of_a_log --access=wo
for sync in fsync=1 fdatasync=1 end_fsync=1; do
	ok "refused: $sync with access=wo" says \
		'access=wo does not allow the READs that syncs need' \
		job --size=1m --rw=write --access=wo --$sync
done
ok 'access=wo and no sync' job --size=1m --rw=write --access=wo
ok 'refused: sync=1' says 'sync= is refused' job --size=1m --rw=write --sync=1
ok 'refused: sync_file_range' says 'sync_file_range= is refused' \
	job --size=1m --rw=write --sync_file_range=write:8

# The READs are under way together, whatever room fio's own I/Os leave.
order=$(dirname "$WATCH")/order.so
together() { # READS ARG...
	reads=$1
	shift
	timeout -k 5 60 fio --ioengine="external:$order" --name=j --bs=1k --size=64k \
		--rw=write --transport=memory --stats_file=stats "$@" \
		2>err || return 1
	cat err stats
	grep -q "^order: $reads at once" err &&
		jq -e ".sync_reads == $reads * .syncs" stats
}
if [ -e "$order" ]; then
	for depth in 1 2 3; do
		ok "iodepth=$depth: a sync of 8 QPs is one round trip" together 8 \
			--iodepth=$depth --qps=8 --fsync=8
	done
	ok 'iodepth=1: a sync of 256 QPs is one round trip' together 256 \
		--qps=256 --size=512k --fsync=256
else
	skip 'a sync of 8 QPs is one round trip' "$order is not built"
fi

# -- polling ---------------------------------------------------------------
cpu_is_told() {
	job --size=1m --rw=write --bs=64 --stats_file=stats "$@" || return 1
	cat stats
	jq -e '.cpu_seconds > 0 and .ops == 16384 and
		(.cpu_seconds_per_op - .cpu_seconds / .ops | fabs) < 1e-8' stats
}
for poll in busy event adaptive; do
	ok "poll=$poll" job --size=1m --rw=randrw --verify=crc32c --poll=$poll \
		--iodepth=16 --iodepth_batch_submit=4 \
		--iodepth_batch_complete_max=16
	ok "poll=$poll: CPU time of each I/O is told" cpu_is_told --poll=$poll
done
ok 'refused: poll_spin_us=x' says 'poll_spin_us=x is refused' \
	job --size=1m --rw=write --poll_spin_us=x

# -- verb ------------------------------------------------------------------
for rw in read randread write randwrite; do
	ok "verb and rw=$rw agree" job --size=1m --rw=$rw --verb="${rw#rand}"
done
# right VERB RW RIGHT: the two disagree, and the right one is named
right() {
	ok "refused: verb=$1 with rw=$2" says \
		"verb=$1 and rw=$2 disagree: rw= is the direction here, so set rw=$3" \
		job --size=1m --rw="$2" --verb="$1"
}
right read write read
right write read write
right read randwrite randread
right write randread randwrite
right read rw read
right write randrw randwrite
ok 'refused: verb=send' says 'verb=send is refused: work is one-sided here' \
	job --size=1m --rw=write --verb=send
ok 'refused: verb=recv' says 'role=target on the other' \
	job --size=1m --rw=read --verb=recv
ok 'refused: verb=foo' says \
	'verb=foo is refused: it may be any, write, read, send or recv' \
	job --size=1m --rw=read --verb=foo
finish
