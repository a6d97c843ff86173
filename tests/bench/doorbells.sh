#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Doorbells per operation, counted from outside the engine: on soft-RoCE each
# ibv_post_send() is one write() on the device's file, and the kernel counts the
# write() calls of a process. In a guest:
#
#	sh tests/e2e/vm.sh tests/bench/doorbells.sh
#
# Expected within 3 %: 1/batch with one QP, and with four QPs at stripe=batch;
# min(1, 4/batch) with four QPs at stripe=round_robin, which spreads each batch
# over all of them. Completions are taken a batch at a time: after any other
# number fio would fill its queue with less than a batch, and commit that.
#
# usage: doorbells.sh GUEST-NUMBER [OPERATIONS]    (8192; four times as many for
#	batches of 16 and 64)

. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../e2e/faults.sh"

base=${2-8192}
case ${ADDR-} in
'') skip_all 'this is for a guest of vm.sh' ;;
esac

# write() calls of an initiator with so many I/Os, to stdout. The job's process
# asks the kernel itself, at its end, through a shell of which it is the parent.
writes() { # OPERATIONS ARG...
	nr=$1
	shift
	# shellcheck disable=SC2016 # for the shell that fio starts
	timeout 120 "$FIO" --name=d --ioengine="external:$ENGINE" \
		--hostname="$ADDR" --rw=write --bs=64 --size=$((nr * 64)) \
		--iodepth=256 \
		--exec_postrun='tee /tmp/io </proc/$PPID/io' "$@" \
		>/tmp/doorbells.log 2>&1 ||
		{ cat /tmp/doorbells.log >&2 && return 1; }
	sed -n 's/^syscw: //p' /tmp/io
}

# What starting and ending write is the same for any number of I/Os, so two
# lengths are compared.
per_op_is() { # BATCH QPS STRIPE NUMERATOR
	set -- "$@" --iodepth_batch_submit="$1" --qps="$2" --stripe="$3" \
		--iodepth_batch_complete_min="$1" \
		--iodepth_batch_complete_max="$1"
	batch=$1 lanes=$2 stripe=$3 numerator=$4
	shift 4
	ops=$base
	[ "$batch" -lt 16 ] || ops=$((4 * base))
	short=$(writes $((ops / 4)) "$@") && long=$(writes "$ops" "$@") || return 1
	echo "$short $long $((ops - ops / 4))" | awk -v batch="$batch" \
		-v most="$numerator" -v lanes="$lanes" -v stripe="$stripe" '{
		expected = most < batch ? most / batch : 1
		counted = ($2 - $1) / $3
		off = 100 * (counted / expected - 1)
		printf "qps=%d stripe=%s batch=%d: %.5f doorbells per operation, expected %.5f, %+.2f %%\n",
			lanes, stripe, batch, counted, expected, off
		exit !(off <= 3 && off >= -3) }'
}

check() { # BATCH QPS STRIPE NUMERATOR
	ok "batch $1, $2 QPs, stripe=$3" per_op_is "$@"
	grep '^qps=' "$tap_output" | sed 's/^/# /'
}

start_target --size=8m || exit 1
for batch in 1 4 16 64; do
	check "$batch" 1 batch 1
	check "$batch" 4 batch 1
	check "$batch" 4 round_robin 4
done
stop_target
finish
