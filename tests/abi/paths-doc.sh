#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Every path of the tree that a document names exists: words that begin with a
# folder of the tree, and what links point to.
#
# exit: 0 all there, 1 not

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
status=0
nr=0

# FILE: the paths that it names, from the top.
paths() {
	tr -d '\134' <"$1" |
		grep -oE '(^|[^A-Za-z0-9_./$-])(\./)?(lib|engine|jobs|tests|man|doc|m4|LICENSES|\.ci)/[A-Za-z0-9_./-]*' |
		sed -E -e 's/^[^A-Za-z.]//' -e 's|^\./||' -e 's/[.-]*$//'
	grep -oE '\]\([^)#]+' "$1" | sed 's/^](//' | grep -v '^http' |
		while read -r link; do
			echo "$(dirname "$1")/$link"
		done
}

# With a word in capitals, as NAME, a path stands for many. A name without its
# ending is a program or a part.
for file in README.md CHANGELOG.md CONTRIBUTING.md doc/*.md man/*.[0-9]; do
	for path in $(paths "$file" | grep -v '[A-Z]\{4\}' | sort -u); do
		nr=$((nr + 1))
		[ -e "$path" ] || [ -e "$path.c" ] || [ -e "$path.h" ] &&
			continue
		echo "$file names $path, which is not there"
		status=1
	done
done
[ "$nr" -gt 30 ] || { echo "only $nr paths found: see paths()" && exit 1; }
[ "$status" = 0 ] && echo "$nr paths"
exit $status
