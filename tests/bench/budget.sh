#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Counts instructions per WR with callgrind, which repeats where a clock does
# not, and compares them with budget.txt. Prints TAP, and each count.
#
# usage: budget.sh BENCH_PLAN

cd "$(dirname "$0")" || exit 1
bench=${1:?usage: budget.sh BENCH_PLAN}
number=0
status=0

# count CASE LANES BATCH RUNS: instructions in all of the side's batches.
count() {
	valgrind --tool=callgrind --toggle-collect=wrb_run \
		--callgrind-out-file=/dev/null "$bench" --side libwrb \
		--case "$1" --lanes "$2" --batch "$3" --runs "$4" 2>&1 |
		sed -n 's/.*Collected : //p'
}

# The first runs grow caches of the library's own; the difference does not.
per_wr() { # CASE LANES BATCH
	few=$(count "$1" "$2" "$3" 20)
	many=$(count "$1" "$2" "$3" 120)
	awk -v few="$few" -v many="$many" -v batch="$3" \
		'BEGIN { printf "%.1f", (many - few) / (100 * batch) }'
}

if ! command -v valgrind >/dev/null; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
while read -r name lanes batch budget; do
	case $name in '' | '#'*) continue ;; esac
	number=$((number + 1))
	used=$(per_wr "$name" "$lanes" "$batch")
	what="$name, $lanes lanes, batch $batch: $used instructions of $budget"
	if awk -v used="$used" -v budget="$budget" \
		'BEGIN { exit !(used > 0 && used <= budget) }'; then
		echo "ok $number - $what"
	else
		echo "not ok $number - $what"
		status=1
	fi
done <budget.txt
echo "1..$number"
exit $status
