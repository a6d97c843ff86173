#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What scripts over the transport in memory share: the engine's path, a folder
# to work in, jobs. Sourced after `here` is set; ENGINE names the engine if it
# is not in build/, and the fio that is found first in PATH is the one to run.

# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

ENGINE=${ENGINE:-$here/../../build/engine/fio-rdma_batch.so}
case $ENGINE in
/*) ;;
*) ENGINE=$PWD/$ENGINE ;;
esac
command -v fio >/dev/null || skip_all 'fio is not installed'
[ -e "$ENGINE" ] || skip_all "$ENGINE is not built"

work=$(mktemp -d)
trap 'rm -rf "$work" "$tap_output"' EXIT
cd "$work" || exit 1

# job ARG...: a job of the engine over memory; later arguments win.
job() {
	timeout -k 5 60 fio --ioengine="external:$ENGINE" --transport=memory \
		--verify_state_save=0 --name=j "$@"
}

# counts FILTER CMD ARG...: succeeds, and jq finds FILTER true in its JSON.
# Nothing but JSON may be on stdout.
counts() {
	filter=$1 command=$2
	shift 2
	"$command" --output-format=json "$@" >json || return 1
	jq -e "$filter" json >/dev/null && return
	cat json
	echo "expected: $filter"
	return 1
}
