#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# wrb.h compiles by itself: as strict C11, and as C++17 where there is a C++
# compiler. So does the example in wrb(3).

set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
strict="-pedantic -Wall -Wextra -Wshadow -Werror -fsyntax-only"

cat >"$tmp/alone.c" <<'EOF'
#include "wrb.h"
#include "wrb.h"

int main(void)
{
	struct wrb_attr attr;

	wrb_attr_init(&attr);
	return wrb_queue_create(&attr, 0) != 0;
}
EOF
cp "$tmp/alone.c" "$tmp/alone.cc"

{
	echo '#include <errno.h>'
	echo '#include "wrb.h"'
	sed -n '/^static int read_blocks/,/^}/p' "$top_srcdir/man/wrb.3" |
		sed 's/\\-/-/g'
	echo 'int main(void) { return read_blocks(0, 0, 0, 0); }'
} >"$tmp/manual.c"

# shellcheck disable=SC2086 # lists of options
$CC -std=c11 $strict -I"$top_srcdir/lib" $IBVERBS_CFLAGS "$tmp/alone.c" \
	"$tmp/manual.c"
if ! command -v "${CXX:=g++}" >/dev/null; then
	echo "C++ was not tried: there is no $CXX"
	exit 0
fi
# shellcheck disable=SC2086
$CXX -std=c++17 $strict -I"$top_srcdir/lib" $IBVERBS_CFLAGS "$tmp/alone.cc"
