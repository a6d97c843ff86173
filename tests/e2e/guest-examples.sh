#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: the programs of doc/libwrb.md as two processes, and the jobs that
# stand for other tools' traffic, over real verbs.
#
# usage: guest-examples.sh N DIRECTORY    of the built programs

. "$(dirname "$0")/lib.sh"

examples=$2

# pair PROGRAM ARG...: its target, then its initiator; leaves both outputs.
pair() {
	program=$examples/$1
	shift
	timeout 60 "$program" >target.log 2>&1 &
	target=$!
	wait_for 20 grep -q '^lends' target.log &&
		timeout 60 "$program" "$ADDR" "$@" >initiator.log 2>&1
	pair_status=$?
	wait "$target" || pair_status=1
	cat target.log initiator.log
	return "$pair_status"
}

copies() {
	pair copy 'over the wire' &&
		grep -qx 'came back: over the wire' initiator.log &&
		grep -qx 'was written: over the wire' target.log
}

pulls() {
	pair blocks && grep -qx 'every block is right' initiator.log &&
		grep -qx '4096 blocks, 4096 WRs, 128 doorbells' initiator.log
}

# A port without a target: a sentence and a status, and no waiting.
copies_to_nobody() {
	timeout 30 "$examples/copy" "$ADDR" text
}

job() { # NAME
	TARGET=$ADDR RUNTIME=5 timeout 120 sh "$JOBS/run.sh" "$JOBS/$1.fio"
}

cd /tmp || exit 1
ok 'copy: a text goes and comes back' copies
ok 'blocks: 4096 scattered blocks, batches of 128, four QPs' pulls
ok 'copy: refused where nobody lends' refused copies_to_nobody
if [ -z "${ENGINE-}" ]; then
	skip 'jobs like those of other tools' 'the guest has no engine'
	finish
fi
sh "$JOBS/run.sh" "$JOBS/target.fio" >lender.log 2>&1 &
lender=$!
wait_for 20 grep -q listening lender.log
for name in kv-cache checkpoint small-message-rate latency; do
	ok "jobs/$name.fio" job $name
	grep -o '^rdma_batch: .* CQEs=[0-9]*' "$tap_output" | sed 's/^/# /'
done
kill "$lender" && wait "$lender"
finish
