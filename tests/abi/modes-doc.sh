#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Each row of the tables in doc/fio-modes.md names cases of tests/e2e/modes.sh,
# each case has its row, and each row says whether the mode works or is refused.
#
# exit: 0 so it is, 1 not

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
page=$top/doc/fio-modes.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# | mode | result | cases |, without the heads of the tables
rows() {
	awk -F ' *[|] *' 'NF == 5 && $2 !~ /^-*$/ && $4 != "case" {
		print $3 "|" $4
	}' "$page"
}

rows >"$tmp/rows"
cut -d '|' -f 2 "$tmp/rows" | tr -d '`,' |
	tr ' ' '\n' | sort >"$tmp/named"
sh "$top/tests/e2e/modes.sh" --list | sort >"$tmp/cases"
nr=$(wc -l <"$tmp/cases")
[ "$nr" -gt 50 ] || { echo "only $nr cases found: see --list" && exit 1; }

status=0
[ -z "$(uniq -d "$tmp/cases")" ] || {
	echo "more than one case of this name: $(uniq -d "$tmp/cases")"
	status=1
}
echo "tests/e2e/modes.sh against doc/fio-modes.md:"
diff "$tmp/cases" "$tmp/named" || status=1
grep -vE '^(works|in part|refused|ignored)' "$tmp/rows" && {
	echo "a row begins with works, in part, refused or ignored"
	status=1
}
grep '|$' "$tmp/rows" && {
	echo "a row without a case"
	status=1
}
echo "$nr cases, $(wc -l <"$tmp/rows") rows"
exit $status
