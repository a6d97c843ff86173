#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Breaks the library on purpose, one line at a time, and expects the random
# cases to notice. Prints TAP. mutations.sh [CASES]; CC as for make.

cd "$(dirname "$0")/../.." || exit 1
cases=${1:-5000}
cc=${CC:-cc}
status=0
number=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2046 # words of flags
set -- -std=gnu11 -O1 -D_GNU_SOURCE -DCHECK_ALLOCATIONS \
	$(pkg-config --cflags libibverbs)

# compile OBJECTS-FOLDER LIB-FOLDER FILE...
compile() {
	out=$1
	lib=$2
	shift 2
	# shellcheck disable=SC2086
	for file; do
		$cc $flags -I"$lib" -Itests/property -c "$file" \
			-o "$out/$(basename "$file" .c).o" || return 1
	done
}
flags=$*

mkdir "$work/tests" "$work/lib" "$work/objects" "$work/mutant"
compile "$work/tests" lib lib/memdev.c tests/property/*.c \
	tests/ref/ref_plan.c || exit 1
cp lib/*.[ch] "$work/lib"
rm "$work/lib/memdev.c"
compile "$work/objects" "$work/lib" "$work"/lib/*.c || exit 1

# run FILE...: the random cases with a library of which FILEs have changed.
run() {
	cp "$work"/objects/*.o "$work/mutant"
	compile "$work/mutant" "$work/lib" "$@" &&
		$cc -o "$work/property" "$work"/tests/*.o "$work"/mutant/*.o \
			-libverbs && timeout 60 "$work/property" "$cases" 1
}

# users FILE: what is to be compiled again when FILE changes; of headers only
# inline functions do.
users() {
	case $1 in
	*.c) echo "$work/lib/$1" ;;
	*) echo "$work/lib/submit.c $work/lib/post.c $work/lib/plan_stripe.c" ;;
	esac
}

report() {
	number=$((number + 1))
	echo "$1 $number - $2${3:+: $3}"
	[ "$1" = ok ] || status=1
}

# mutate NAME FILE EXPECT SED: the broken rule must match EXPECT.
mutate() {
	cp "$work/lib/$2" "$work/kept"
	sed "$4" "$work/kept" >"$work/lib/$2"
	if cmp -s "$work/kept" "$work/lib/$2"; then
		report "not ok" "$1" "applies no more"
		return
	fi
	# shellcheck disable=SC2046 # names without blanks
	run $(users "$2") >"$work/log" 2>&1
	why=$(sed -n 's/^case \([0-9]*\) of seed 1: /case \1: /p' "$work/log")
	if echo "$why" | grep -Eq "$3"; then
		report ok "$1" "$why"
	else
		report "not ok" "$1" "${why:-not noticed}"
		sed 's/^/# /' "$work/log"
	fi
	mv "$work/kept" "$work/lib/$2"
}

if run >"$work/log" 2>&1; then
	report ok "the library as it is"
else
	report "not ok" "the library as it is"
	sed 's/^/# /' "$work/log"
fi

mutate "a piece starts where its SGE starts" plan.h I1 \
	's/seg->addr + run->seg_offset/seg->addr/'
mutate "what was posted of an operation is posted again" plan.h I1 \
	's/op->local_addr + run->skip/op->local_addr/'
mutate "an operation of another direction or region joins" plan.h 'I[126]' \
	's/& (OP_KIND | OP_OPEN)/\& OP_OPEN/'
mutate "keys of another lane" post.h I2 \
	's/keys\[post->lane_index\]/keys[0]/'
mutate "runs beyond the message limit" plan.h 'I[26]' \
	's/op->length > remote_max - remote_end/0/'
mutate "inline one byte too many" post.h I2 \
	's/plan->length <= post->max_inline/plan->length - 1 <= post->max_inline/'
mutate "one SGE over two regions" plan.h 'I[26]' \
	's/op->what != what ||/(op->what ^ what) \& OP_KIND ||/'
mutate "a chain with a cycle" post.c I3 \
	's/last->next = NULL/last->next = lane->wrs/'
mutate "a chain that lanes share is not posted before the next" post.h I \
	's/post_close_lane(post);$/post_leave_lane(post);/'
mutate "an operation for one lane goes to the first" submit.c 'I4|was named' \
	's/submit_whole_op(flight, lane, index)/submit_whole_op(flight, 0, index)/'
mutate "a full lane takes no look at the operation" submit.c 'is right' \
	's/return stage_never(flight, op, err)/return err/'
mutate "a lane without a QP forgets its failure" lane.c 'its failure is' \
	's/^	if (!qp)$/	if (0)/'
mutate "an operation alone takes no room" submit.c I4 \
	's/^	room->slots--;//'
mutate "a slot is given back twice" complete.c I4 \
	's/room->slots += (uint32_t)(end - lane->tail)/&+ 1/'
mutate "READs are not counted" plan.h I4 \
	's/\.reads--/.reads -= 0/;s/row_reads--/row_reads/;s/row_reads -= nr/row_reads -= 0/'
mutate "the end of a chain is silent" post.c I5 \
	's/if (!(last->send_flags & IBV_SEND_SIGNALED))/if (0)/'
mutate "the interval is one longer" post.h I5 \
	's/until_signal = post->flight->signal_interval/& + 1/'
mutate "nothing joins" plan.h I6 \
	's/plan->rules->merge && !open/0/;s/if (merge) {/if (0) {/'
mutate "one piece too many" plan.h I6 \
	's/return n > least ? n : least/return (n > least ? n : least) + 1/'
mutate "neighbours in local memory take an SGE each" plan.h I6 \
	's/op->local_addr != local_end/1/'
mutate "sorting is not stable" plan_sort.c 'I6|explained' \
	's/items\[k - 1\]\.key > item\.key/items[k - 1].key >= item.key/'
mutate "what finds no room in done is lost" complete.c 'I[78]' \
	's/op_park(flight, index, to->lane);/;/'
mutate "a short post forgets what was not taken" post.c 'I[78]' \
	's/^	op_row_push_front(.*/	(void)op_row_push_front;/'
mutate "operations end with their first WR" complete.c 'I[17]' \
	's/--flight->ops.cuts\[index\].nr_wrs == 0/flight != NULL/'
mutate "a piece is entered as a whole operation" lane.h 'I[17]' \
	's/(uint32_t)plan->cut << LANE_WR_CUT_SHIFT/0u/'
mutate "one more ends than there is room for" complete.c '3 of 2' \
	's/nr_whole - 1 < to->room/nr_whole - 1 <= to->room/'
mutate "no marker" drain.c I8 \
	's/if (!lane->marker &&/if (0 \&\&/'
mutate "submit allocates" submit.c I9 \
	's/^	if (queue->flags & WRB_SORT)/	free(queue->dry_room); queue->dry_room = calloc(256, sizeof(*queue->dry_room));\n&/'
mutate "an unknown errno is put in words by strerror()" post.c I9 \
	's/errno = rc;/errno = strerror(rc) ? rc : 0;/;1i #include <string.h>'
mutate "explain forgets the end of chains" submit.c explained \
	's/seen == nr_planned/0/'
mutate "explain ends chains where its array ends" submit.c differs \
	's/seen == nr_planned/i + 1 == nr/'
mutate "a dead lane counts its marker" complete.c 'WRs in' \
	's/^	lane->marker &= .*//'
mutate "WRs that were not taken are counted" post.c stats \
	's/^	post_uncount(.*/	(void)post_uncount;/'
mutate "an open operation that failed stays staged" queue.c 'I[78]|explain' \
	's/unlikely(flight->nr_broken)/0/'
mutate "what the marker finds counts as done" complete.c I1 \
	's/if (!lane_wr_nr_ops(lane_entry(lane, serial)))/if (0)/'

echo "1..$number"
exit $status
