#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every file says its licence: those that git knows, in a checkout of it, else
# those of the distribution, without what was built in it.

set -eu
cd "$top_srcdir"

files() {
	if [ -e .git ] && command -v git >/dev/null; then
		git ls-files
	else
		find lib engine tests jobs man doc -type f \
			\( ! -perm -u+x -o -name '*.sh' \) 2>/dev/null |
			grep -v '\.\([oa]\|l[oa]\|log\|trs\|pc\)$' |
			grep -v -e '/\.libs/' -e '/\.deps/' -e '/\.dirstamp$'
	fi
}

# Texts of licences, data whose bytes are what they are for, and formats that
# have no comments.
exempt='^LICENSES/|^tests/fuzz/corpus/|^debian/(changelog|source/format)$'

missing=$(files | grep -vE "$exempt" | while read -r file; do
	[ -f "$file" ] || continue
	head -n 5 "$file" | grep -q 'SPDX-License-Identifier: ' ||
		echo "$file"
done)
[ -z "$missing" ] && exit 0
echo "without SPDX-License-Identifier in the first five lines:"
echo "$missing"
exit 1
