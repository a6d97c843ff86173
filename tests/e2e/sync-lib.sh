# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Syncs under the eye of watch.c. Sourced after lib.sh, in a directory of the
# script's own; the caller sets ENGINE, WATCH (watch.so), WATCH_REGION (the
# region's file) and FIO_ARGS, what reaches the target.

# Each function is called by name, through ok().
# shellcheck disable=SC2317

export WATCH_ENGINE="$ENGINE" WATCH_LOG="$PWD/watched"

# Each byte is written once, so a job leaves nothing to the next: a file of
# zeros is what the next one starts from, as fio's buffers are none.
blank_region() {
	dd if=/dev/zero of="$WATCH_REGION" bs=1M count=4 conv=notrunc 2>/dev/null
}

# watched ARG...: a job under watch
watched() {
	rm -f watched stats
	# shellcheck disable=SC2086 # words on purpose
	timeout 120 "${FIO:-fio}" --ioengine="external:$WATCH" \
		--stats_file="$PWD/stats" --verify_state_save=0 --bs=4k \
		--size=4m --name=w $FIO_ARGS --refill_buffers=1 "$@"
}

# sees SYNCS BYTES ARG...: a job of so many syncs that cover so many bytes, all
# of them there, and as many in fio's statistics
sees() {
	syncs=$1 bytes=$2
	shift 2
	blank_region
	watched "$@" --output-format=json >json || { cat json && return 1; }
	echo "syncs and bytes: $(cat watched), expected $syncs $bytes"
	[ "$(cat watched)" = "$syncs $bytes" ] &&
		jq -e ".syncs == $syncs and .failed == 0 and .done == .ops" stats &&
		jq -e ".jobs[0].error == 0 and (.jobs[0].sync.lat_ns |
			.N >= $syncs - 1 and (.N == 0 or .min > 0))" json
}

# Without its syncs the same job is caught: what is staged has not left.
blind_is_caught() {
	blank_region
	if WATCH_BLIND=1 watched --rw=randwrite --iodepth=64 --fsync=16 \
		--iodepth_batch_submit=32 --iodepth_batch_complete_max=64 >out 2>&1; then
		cat out
		echo 'expected to be caught'
		return 1
	fi
	cat out
	grep -q 'watch: after sync .* bytes are not what was written' out
}

batched='--iodepth=64 --iodepth_batch_submit=16 --iodepth_batch_complete_max=64'

# READs of syncs so far: their number is that of the lanes with writes.
reads_are() {
	cat stats
	jq -e ".sync_reads == $1" stats
}

# 1024 writes: a sync after each 16 of them but the last.
# Those that a guest has the time for.
few_syncs() {
	ok 'a job whose syncs are left out is caught' blind_is_caught
	ok 'fsync=16, end_fsync, the last writes are there too' sees 64 4194304 \
		--rw=randwrite --fsync=16 --end_fsync=1
	# shellcheck disable=SC2086 # words on purpose
	{
		ok 'fsync=16 in batches of 16' sees 63 4128768 \
			--rw=randwrite $batched --fsync=16
		ok 'a READ for each: one QP' reads_are 63
		ok '4 QPs, a batch to each in turn' sees 63 4128768 \
			--rw=randwrite $batched --fsync=16 --qps=4
		ok 'a READ on the one QP that was used' reads_are 63
		ok '4 QPs, round_robin, more syncs than one batch has' \
			sees 255 4177920 --rw=randwrite $batched --fsync=4 \
			--qps=4 --stripe=round_robin
		ok 'a READ on each of 4 QPs' reads_are 1020
		ok 'with verify, poll=event' sees 64 4194304 --rw=randwrite \
			$batched --fsync=16 --end_fsync=1 --verify=crc32c \
			--verify_fatal=1 --poll=event
	}
}

more_syncs() {
	ok 'fsync=16, one at a time' sees 63 4128768 --rw=write --fsync=16
	# shellcheck disable=SC2086 # words on purpose
	{
		ok 'fsync=16 in the middle of batches of 32' sees 63 4128768 \
			--rw=randwrite --iodepth=64 --iodepth_batch_submit=32 \
			--iodepth_batch_complete_max=64 --fsync=16
		ok 'fsync=10 in the middle of batches of 16, end_fsync' \
			sees 103 4194304 --rw=randwrite $batched --fsync=10 \
			--end_fsync=1
		ok 'fdatasync=16' sees 63 4128768 --rw=randwrite $batched \
			--fdatasync=16
		ok 'end_fsync alone' sees 1 4194304 --rw=randwrite $batched \
			--end_fsync=1
		for stripe in round_robin least_loaded offset; do
			ok "4 QPs, $stripe" sees 63 4128768 --rw=randwrite \
				$batched --fsync=16 --qps=4 --stripe=$stripe
		done
		ok 'send queues of 3 WRs' sees 63 4128768 --rw=randwrite \
			$batched --fsync=16 --qps=2 --sq_depth=3
		ok 'more QPs than I/Os' sees 63 4128768 --rw=randwrite \
			--iodepth=1 --fsync=16 --qps=8
		ok 'cut, merged and sorted' sees 63 4128768 --rw=write \
			$batched --fsync=16 --qps=2 --merge=1 --sort=1 \
			--chunk_size=1000
		ok 'poll=adaptive' sees 63 4128768 --rw=randwrite $batched \
			--fsync=16 --poll=adaptive --poll_spin_us=20
		ok 'without time stamps' unstamped
	}
}

# No latency then, and all else as before.
unstamped() {
	blank_region
	# shellcheck disable=SC2086 # words on purpose
	watched --rw=randwrite $batched --fsync=16 --gtod_reduce=1 &&
		[ "$(cat watched)" = '63 4128768' ]
}
