#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# From a fresh checkout to the main job: installs what is missing, builds, and
# runs jobs/quickstart.fio over the transport in memory; then over RDMA if this
# machine has a device that is up, with a target that it starts. As root on
# Debian or Ubuntu; without root if everything is installed.
#
# usage: jobs/quickstart.sh [--guest]
#
# --guest   also over soft-RoCE in an emulated machine

set -u
top=$(cd "$(dirname "$0")/.." && pwd) && cd "$top" || exit 1
engine=$top/build/engine/fio-rdma_batch.so
fio_dir=$top/build/fio
log=$top/build/quickstart.log
guest=no

die() {
	echo "quickstart: $1" >&2
	exit 1
}

# quietly WHAT COMMAND...: output goes to the log, and its end here on failure.
quietly() {
	what=$1
	shift
	echo "quickstart: $what"
	"$@" >>"$log" 2>&1 && return
	tail -n 30 "$log" >&2
	die "$what failed; all of it is in $log"
}

build() {
	[ -x configure ] || ./autogen.sh || return 1
	cd build || return 1
	{ [ -f Makefile ] || ../configure "--with-fio=$fio_dir"; } &&
		make -j "$(nproc)" || return 1
	cd "$top" || return 1
}

# The netdevs of a port: those of its GIDs, as on RoCE, and those of the device, as
# on InfiniBand, where reading the former fails.
netdevs() { # PORT
	cat "$1"/gid_attrs/ndevs/* 2>/dev/null
	ls "$1/../../device/net" 2>/dev/null
}

# The addresses of the network devices that carry RDMA and are up.
rdma_addresses() {
	for port in /sys/class/infiniband/*/ports/*; do
		grep -q ACTIVE "$port/state" 2>/dev/null || continue
		for netdev in $(netdevs "$port"); do
			ip -o addr show dev "$netdev" scope global |
				awk '{ sub("/.*", "", $4); print $4 }'
		done
	done
}

# The same job against a target of our own on this machine.
over_rdma() {
	echo "quickstart: over RDMA, to a target at $1"
	sh jobs/run.sh jobs/target.fio >>"$log" 2>&1 &
	target=$!
	TARGET=$1 sh jobs/run.sh jobs/quickstart.fio
	status=$?
	kill "$target" && wait "$target"
	[ "$status" = 0 ] || die "the job over RDMA failed; the target's log is $log"
}

in_guest() {
	echo "quickstart: over soft-RoCE in an emulated machine"
	sh tests/e2e/vm.sh jobs/quickstart-guest.sh ||
		die "the job in the guest failed"
}

next_steps() {
	cat <<TEXT

The engine:   $engine
Its options:  fio --enghelp=$engine
Two hosts:    sh jobs/run.sh jobs/target.fio                        on one
              TARGET=that-host sh jobs/run.sh jobs/quickstart.fio   on the other
More jobs:    ls jobs/*.fio; the first lines of each say what it shows
TEXT
}

case "$*" in
'') ;;
--guest) guest=yes ;;
*) die "usage: jobs/quickstart.sh [--guest]" ;;
esac
mkdir -p build && : >"$log" || die "build/ cannot be written"
groups="build fio"
[ "$guest" = no ] || groups="$groups guest"
# shellcheck disable=SC2086 # words on purpose
sh jobs/deps.sh $groups || exit 1
quietly "getting the source of the installed fio" \
	sh engine/fetch-fio-source.sh "$fio_dir"
echo "quickstart: building takes a minute or two; the log is build/quickstart.log"
quietly "building" build
echo "quickstart: over the transport in memory"
TRANSPORT=memory sh jobs/run.sh jobs/quickstart.fio ||
	die "the job failed"
address=$(rdma_addresses | head -n 1)
if [ -n "$address" ]; then
	over_rdma "$address"
else
	echo "quickstart: no RDMA device is up here with an address, so no run over RDMA"
fi
[ "$guest" = no ] || in_guest
next_steps
