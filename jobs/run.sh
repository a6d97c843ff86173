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

here=$(cd "$(dirname "$0")" && pwd) || exit 1
# shellcheck source=jobs/measure-lib.sh
. "$here/measure-lib.sh"

engine=$(find_engine)
export ENGINE="$engine"
export TRANSPORT="${TRANSPORT:-${TARGET:+rdma}}"
export TRANSPORT="${TRANSPORT:-memory}"
export TARGET="${TARGET:-localhost}"
export PORT="${PORT:-7471}"
export RUNTIME="${RUNTIME:-5}"
exec fio "$@"
