#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs a job file with defaults for what it takes from the environment.
#
#	[NAME=VALUE...] sh jobs/run.sh JOB.fio [FIO-ARGUMENT...]
#
# ENGINE     the engine                    build/engine/fio-rdma_batch.so
# TARGET     the target's name or address  none: the transport is memory
# PORT       the port it listens on        7471
# TRANSPORT  rdma or memory                rdma if there is a TARGET
# RUNTIME    seconds of each timed job     5

top=$(cd "$(dirname "$0")/.." && pwd)
export ENGINE="${ENGINE:-$top/build/engine/fio-rdma_batch.so}"
export TRANSPORT="${TRANSPORT:-${TARGET:+rdma}}"
export TRANSPORT="${TRANSPORT:-memory}"
export TARGET="${TARGET:-localhost}"
export PORT="${PORT:-7471}"
export RUNTIME="${RUNTIME:-5}"
exec fio "$@"
