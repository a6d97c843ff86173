#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The code in doc/libwrb.md is that of the programs in doc/examples/. Before each
# piece a comment says which: <!-- FILE: FUNCTION -->.

set -eu
cd "$(dirname "$0")/../../doc"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# quoted FILE FUNCTION: what the page shows of it
quoted() {
	sed -n "/^<!-- $1: $2 -->\$/,/^\`\`\`\$/p" libwrb.md |
		sed -e 1,2d -e '$d'
}

# written FILE FUNCTION: its definition
written() {
	sed -n "/^[a-z].*[ *]$2(/,/^}/p" "examples/$1"
}

sed -n 's/^<!-- \(.*\.c\): \(.*\) -->$/\1 \2/p' libwrb.md >"$tmp/names"
while read -r file function; do
	quoted "$file" "$function" >"$tmp/quoted"
	written "$file" "$function" >"$tmp/written"
	[ -s "$tmp/written" ] && diff "$tmp/quoted" "$tmp/written" && continue
	echo "doc/libwrb.md shows another $function() than doc/examples/$file"
	status=1
done <"$tmp/names"
[ "$(grep -c '^```c$' libwrb.md)" = "$(wc -l <"$tmp/names")" ] ||
	{ echo "doc/libwrb.md has code of no file" && status=1; }
[ -s "$tmp/names" ] || { echo "doc/libwrb.md shows no code" && status=1; }
[ "$status" = 0 ] && echo "$(wc -l <"$tmp/names") functions"
exit $status
