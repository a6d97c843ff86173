#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# vm.sh runs a script that lies outside the tree, hands it its arguments, and
# ends with its status.

. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
script=$(mktemp)

cat >"$script" <<'S'
#!/bin/sh
echo "guest $1 says $2 $3"
[ -f "$ENGINE" ] && [ -d "$JOBS" ] && [ -n "$ADDR" ] || exit 4
"$FIO" --enghelp="$ENGINE" | grep -q iodepth_or_qps || exit 3
S

runs_and_fails() {
	sh "$here/vm.sh" "$script" hello 'to you' >"$script.out" 2>&1
	status=$?
	cat "$script.out"
	[ "$status" = 3 ] && grep -q 'guest 1 says hello to you' "$script.out"
}

ok "a script from outside gets its arguments and its status comes back" \
	runs_and_fails
rm -f "$script" "$script.out"
finish
