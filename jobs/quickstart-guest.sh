#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What quickstart.sh --guest runs in the guest: a target, and the job.

export TARGET="$ADDR" TRANSPORT=rdma
sh "$JOBS/run.sh" "$JOBS/target.fio" >/tmp/target.log 2>&1 &
target=$!
sh "$JOBS/run.sh" "$JOBS/quickstart.fio"
status=$?
kill "$target" && wait "$target"
cat /tmp/target.log
exit "$status"
