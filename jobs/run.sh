#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs a job file with defaults for what it takes from the environment.
#
#	[NAME=VALUE...] sh jobs/run.sh JOB.fio [FIO-ARGUMENT...]
#
# ENGINE     the engine                    the one built or installed
# TARGET     the target's name or address  none: the transport is memory
# PORT       the port it listens on        7471
# TRANSPORT  rdma or memory                rdma if there is a TARGET
# RUNTIME    seconds of each timed job     5

me=run.sh
here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=jobs/measure-lib.sh
. "$here/measure-lib.sh"

usage() {
	sed -n '/^#	/,/^# RUNTIME/s/^# \{0,1\}//p' "$0"
}

# What a file does not take from the environment would be ignored.
check_file() {
	! grep -q '^transport=' "$1" || return 0
	[ "${TRANSPORT-}" != memory ] ||
		die "$1 takes no TRANSPORT=memory: it needs an RDMA device" 2
	# shellcheck disable=SC2016 # as fio reads it
	[ -n "${TARGET-}" ] || ! grep -qF '${TARGET}' "$1" ||
		die "$1 needs TARGET=, and an RDMA device" 2
}

case ${1-} in
-h | --help)
	usage
	exit
	;;
'')
	usage >&2
	exit 2
	;;
esac
need_engine
[ ! -f "$1" ] || check_file "$1"
export ENGINE="$engine"
export TRANSPORT="${TRANSPORT:-${TARGET:+rdma}}"
export TRANSPORT="${TRANSPORT:-memory}"
export TARGET="${TARGET:-localhost}"
export PORT="${PORT:-7471}"
export RUNTIME="${RUNTIME:-5}"
exec fio "$@"
