#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Every sentence that the engine can print has its entry in
# doc/troubleshooting.md, and every entry there is still in the engine.
#
# All string literals of engine/*.c with three words or more count, wherever
# they stand, so that a new helper cannot hide one; neighbours are joined, as
# the compiler does. Left out is report.c, whose lines doc/ and the manual
# explain, and the help texts of options.
#
# Compared are the first eight words of a literal's longest stretch without a
# conversion, and of an entry all that stands between "...", word for word, so that
# people find it by what they copy from a terminal. A message therefore has no
# backquotes, which an entry could not show.
#
# usage: messages-doc.sh [--list]	the literals, one a line
# exit: 0 as it should be, 1 not

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
page=$top/doc/troubleshooting.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# literals FILE...: their string literals, joined, conversions as "%".
literals() {
	awk '
	function flush() {
		if (text != "")
			print FILENAME ": " text
		text = ""
	}
	FNR == 1 { flush(); comment = 0 }
	/^[[:space:]]*#[[:space:]]*include/ || /^[[:space:]]*V\(/ ||
		/^[[:space:]]*text "/ { next }
	{
		line = $0
		while (line != "") {
			if (comment) {
				end = index(line, "*/")
				if (!end)
					break
				line = substr(line, end + 2)
				comment = 0
			} else if (match(line, /^[[:space:]]+/)) {
				line = substr(line, RLENGTH + 1)
			} else if (match(line, /^PRI[a-zA-Z0-9]+/)) {
				text = text "u"
				line = substr(line, RLENGTH + 1)
			} else if (substr(line, 1, 2) == "/*") {
				comment = 1
				line = substr(line, 3)
			} else if (substr(line, 1, 2) == "//") {
				break
			} else if (match(line, /^\047(\\.|[^\047\\])+\047/)) {
				flush()
				line = substr(line, RLENGTH + 1)
			} else if (match(line, /^"(\\.|[^"\\])*"/)) {
				text = text substr(line, 2, RLENGTH - 2)
				line = substr(line, RLENGTH + 1)
			} else {
				flush()
				line = substr(line, 2)
			}
		}
	}
	END { flush() }' "$@" |
		sed -e 's/\\n//g' -e 's/\\"/"/g' -e 's/%%/ percent /g' \
			-e 's/%[-+ #0]*[0-9.]*[hlzj]*[diuxXcsp]/%/g'
}

# With at least three words outside of conversions, markers and signs.
sentences() {
	awk '{
		rest = $0
		sub(/^[^:]*: /, "", rest)
		nr = split(rest, word, /[^A-Za-z_\047]+/)
		words = 0
		for (i = 1; i <= nr; i++)
			words += length(word[i]) > 1 || word[i] == "a"
		if (words >= 3)
			print
	}'
}

# The words of each line that are looked for.
keys() {
	awk '
	function words(s, w) {
		gsub(/^ +| +$/, "", s)
		return split(s, w, / +/)
	}
	{
		rest = $0
		sub(/^[^:]*: /, "", rest)
		nr = split(rest, part, /%/)
		best = 1
		for (i = 1; i <= nr; i++) {
			sub(/^[^A-Za-z0-9]+/, "", part[i])
			if (words(part[i], w) > words(part[best], v))
				best = i
		}
		n = words(part[best], w)
		key = ""
		for (i = 1; i <= n && i <= 8; i++)
			key = key (i > 1 ? " " : "") w[i]
		print key
	}'
}

# Words with single blanks, on one line, and no backquotes.
flat() {
	tr '\n\t' '  ' | tr -d '\140' | tr -s ' '
}

files=$(find "$top/engine" -name '*.c' ! -name report.c | sort)
# shellcheck disable=SC2086 # paths of a checkout
literals $files | sed "s|^$top/||" >"$tmp/literals"
sentences <"$tmp/literals" >"$tmp/sentences"
if [ "${1-}" = --list ]; then
	cat "$tmp/sentences"
	exit 0
fi
nr=$(wc -l <"$tmp/sentences")
[ "$nr" -gt 50 ] || { echo "only $nr messages found: see literals()" && exit 1; }

status=0
if grep "$(printf '\140')" "$tmp/literals"; then
	echo "a message has backquotes: write 'rdma link'"
	status=1
fi
keys <"$tmp/sentences" >"$tmp/keys"
flat <"$page" >"$tmp/page"
while read -r key <&3 && read -r sentence <&4; do
	grep -qF -- "$key" "$tmp/page" && continue
	echo "no entry in doc/troubleshooting.md for: $sentence"
	echo "	looked for: $key"
	status=1
done 3<"$tmp/keys" 4<"$tmp/sentences"

# An entry is a heading in backquotes; what varies in it is "...".
sed 's/^[^:]*: //' "$tmp/literals" | sed 's/%/ /g' | flat >"$tmp/engine"
tr '\140' "'" <"$page" | sed -n "s/^### '\(.*\)'\$/\1/p" >"$tmp/entries"
while read -r entry; do
	echo "$entry" | sed -e 's/\.\.\./\n/g' | sed 's/^ *//; s/ *$//' |
		grep . >"$tmp/pieces"
	while read -r piece; do
		grep -qF -- "$piece" "$tmp/engine" && continue
		echo "not said by the engine: $piece, of the entry $entry"
		status=1
	done <"$tmp/pieces"
done <"$tmp/entries"

[ "$status" = 0 ] && echo "$nr messages, $(wc -l <"$tmp/entries") entries"
exit $status
