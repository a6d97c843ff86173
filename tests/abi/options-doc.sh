#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The options of README.md and of the manual page are those of
# engine/options.def: names in the same order, units, ranges and defaults.
#
# A line of each: name|unit|range|default. The range of a word is its values,
# from engine/options.c; that of a text is free.
#
# exit: 0 the same, 1 not

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Values of a macro such as ROLE_VALUES, with ", " between.
values() {
	awk -v name="$1" '
	$1 == "#define" && $2 == name { on = 1 }
	on && match($0, /V\("[^"]*"/) {
		list = list (list == "" ? "" : ", ") \
			substr($0, RSTART + 3, RLENGTH - 4)
	}
	on && !/\\$/ { print list; exit }' "$top/engine/options.c"
}

# The macro calls of options.def, each on one line, arguments separated by tabs.
calls() {
	sed -e '1,/^ \*\/$/d' -e '/^#/d' "$top/engine/options.def" |
		tr '\n\t' '  ' | sed 's/\([A-Z]*\)(\([a-z_]*,\)/\n\1, \2/g' |
		sed -n 's/^\(WORD\|NUMBER\|TIME\|TEXT\), /\1, /p' |
		awk '{
			quoted = 0
			for (i = 1; i <= length($0); i++) {
				c = substr($0, i, 1)
				quoted = c == "\"" ? !quoted : quoted
				printf "%s", c == "," && !quoted ? "\t" : c
			}
			print ""
		}' | sed -e 's/\t */\t/g' -e 's/"//g'
}

defined() {
	tab=$(printf '\t')
	calls | while IFS=$tab read -r kind name a b c d e _; do
		case $kind in
		WORD) echo "$name|word|$(values "$b")|$c" ;;
		NUMBER) echo "$name|$e|$b to $c|$d" ;;
		TIME) echo "$name|milliseconds|$b to $c|$d" ;;
		TEXT)
			[ "$a" != NULL ] || a=none
			echo "$name|text|*|$a"
			;;
		esac
	done
}

# | `name` | unit | range | default | what |
in_readme() {
	awk -F ' *[|] *' '$2 ~ /^`[a-z_]+`$/ && NF == 7 {
		gsub(/`/, "")
		print $2 "|" $3 "|" ($3 == "text" ? "*" : $4) "|" $5
	}' "$top/README.md"
}

# .BI "name=" "unit" " (range; default x)"
in_manual() {
	sed -n 's/^\.BI "\([a-z_]*\)=" "\([^"]*\)" " (\(.*\); default \(.*\))"$/\1|\2|\3|\4/p' \
		"$top/man/fio-rdma_batch.7" | tr -d '\134' |
		awk -F '|' '{ print $1 "|" $2 "|" ($2 == "text" ? "*" : $3) "|" $4 }'
}

defined >"$tmp/defined"
in_readme >"$tmp/readme"
in_manual >"$tmp/manual"
nr=$(wc -l <"$tmp/defined")
[ "$nr" -gt 20 ] || { echo "only $nr options found: see calls()" && exit 1; }
echo "engine/options.def against README.md:"
diff "$tmp/defined" "$tmp/readme"
echo "engine/options.def against man/fio-rdma_batch.7:"
diff "$tmp/defined" "$tmp/manual"
echo "$nr options"
