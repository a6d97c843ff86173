#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs a script as root in one or two emulated machines with soft-RoCE.
#
# usage: vm.sh [--guests 2] SCRIPT [ARG...]
#
# SCRIPT lies anywhere. Each guest runs it with its own number, 1 or 2, before
# the ARGs; what it prints, and what the kernel complains of, comes to stdout,
# with "[1] " or "[2] " before each line when there are two. Two guests start
# their scripts once they reach each other, and both stay up until both ended.
#
# The guest has rxe0 over eth0; fio, perftest, rping, ibv_devinfo, jq, strace,
# bash, iproute2 and the usual small programs; jobs/ and tests/e2e/ of this
# tree under /src; /dev/shm and /dev/hugepages. The script finds
#   ENGINE          fio-rdma_batch.so
#   JOBS            the job files' directory
#   FIO             fio's path; `fio` finds it too
#   ADDR ADDR6      this guest's addresses; 127.0.0.1 does not reach rxe0
#   PEER PEER6      the other guest's, with two guests
#   ADDR1 ADDR2     guest 1's and guest 2's
#
# environment:
#   VM_KERNEL       6.12 (default) or 6.1: the version of Debian's kernel
#   VM_TIMEOUT      seconds until the guests are ended (default 300)
#   VM_FILES        absolute paths of files to bring along at the same paths,
#                   with the libraries they are linked with; or of directories
#   ENGINE_SO       the engine (default: build/engine/fio-rdma_batch.so)
#   VM_NO_ENGINE    1: the script needs no engine
#   FIO             the fio to bring along (default: the one in PATH)
#   VM_CPUS         of each guest (default 1: with two, an emulated guest was
#                   seen to die at boot of an "int3", once in some 60 boots)
#   VM_MEM          of each guest, in MiB (default 2048)
#   VM_KVM          1: use KVM instead of emulation
#   VM_MONITOR_DIR  directory for QEMU's monitor sockets, guestN.sock
#   VM_CACHE        where kernels and programs are kept (default:
#                   ~/.cache/fio-rdma-batch); to renew them, delete it
#
# exit: the script's status (of two guests, the first that is not 0);
#   2 wrong usage or something missing, 124 out of time, 125 a guest died
#   before its script ended

root=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$root/tests/e2e/vm-image.sh"

die() {
	echo "vm.sh: $1" >&2
	exit 2
}

check_commands() {
	for command in qemu-system-x86_64 busybox cpio modprobe depmod flock \
		setpriv ping rping ib_write_bw jq rdma; do
		command -v "$command" >/dev/null ||
			die "$command is missing; run as root: jobs/deps.sh guest fio"
	done
}

find_fio() {
	fio=$(command -v "${FIO:-fio}") ||
		die "${FIO:-fio} is missing; run as root: jobs/deps.sh fio"
	fio=$(realpath -s "$fio")
}

find_engine() {
	engine=
	[ "${VM_NO_ENGINE-}" != 1 ] || return 0
	engine=${ENGINE_SO:-$root/build/engine/fio-rdma_batch.so}
	[ -f "$engine" ] || die "$engine is not there; build it with \
./autogen.sh && mkdir -p build && cd build && ../configure && make"
}

#
# Guests
#

network() { # N: the guests' wire is a socket that only this user can reach
	server=off
	[ "$1" != 1 ] || server=on
	echo "stream,id=net,server=$server,addr.type=unix,addr.path=$work/wire"
}

monitor() { # N
	if [ -n "${VM_MONITOR_DIR-}" ]; then
		echo "unix:$VM_MONITOR_DIR/guest$1.sock,server=on,wait=off"
	else
		echo none
	fi
}

# Copies what comes from a guest to stdout, without control characters, and what
# follows the token to a file.
relay() { # N FIFO
	prefix=
	[ "$guests" = 1 ] || prefix="[$1] "
	LC_ALL=C sed -u -e 's/\x1b\[[0-9;?]*[a-zA-Z]//g' \
		-e 's/[\x00-\x08\x0b-\x1f\x7f]//g' -e "/$token/{
			h
			s/.*$token //
			w $work/status.$1
			g
			s/$token .*//
			/^\$/d
		}" -e "s/^/$prefix/" <"$2"
}

start_relays() { # N
	for line in kernel script; do
		mkfifo "$work/$line.$1"
		relay "$1" "$work/$line.$1" &
		relays="$relays $!"
	done
}

start_guest() { # N
	start_relays "$1"
	# QEMU 7.2 leaves rubbish in the flags after CMPXCHG16B, and an interrupt
	# that comes next kills the guest; the kernel does without it.
	accel='tcg,thread=multi' cpu=max,cx16=off
	options='console=ttyS0 quiet panic=-1 oops=panic mitigations=off'
	# A host that is slow for a while must not look like broken hardware.
	options="$options no_timer_check tsc=reliable"
	[ "${VM_KVM-}" != 1 ] || accel=kvm cpu=host
	# Even if this shell is killed outright, its guests end with it.
	setpriv --pdeathsig KILL qemu-system-x86_64 \
		-machine q35 -accel "$accel" -cpu "$cpu" \
		-smp "${VM_CPUS:-1}" -m "${VM_MEM:-2048}" \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$kernel/vmlinuz" -initrd "$work/initramfs" \
		-append "$options guest=$1 guests=$guests" \
		-serial "file:$work/kernel.$1" \
		-chardev "file,id=script,path=$work/script.$1" \
		-device virtio-serial-pci,max_ports=2 \
		-device virtserialport,chardev=script,nr=1 \
		-monitor "$(monitor "$1")" -netdev "$(network "$1")" \
		-device "virtio-net-pci,netdev=net,mac=52:54:00:00:00:0$1,romfile=" \
		</dev/null >"$work/qemu.$1" 2>&1 &
	eval "guest$1=$!"
}

alive() { # PID: neither gone nor waiting to be collected
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | Z*) return 1 ;;
	esac
}

pid() { # N
	eval "echo \$guest$1"
}

start_guests() {
	start_guest 1
	[ "$guests" = 2 ] || return 0
	while [ ! -S "$work/wire" ] && alive "$guest1"; do
		sleep 0.05
	done
	start_guest 2
}

started() { # whether any guest came as far as its script
	cat "$work"/status.* 2>/dev/null | grep -q started
}

status_of() { # N: the script's status, once it has ended
	sed -n '/^[0-9]/p' "$work/status.$1" 2>/dev/null
}

running() { # whether a guest lives whose script has not ended
	for n in $numbers; do
		[ -n "$(status_of "$n")" ] || ! alive "$(pid "$n")" || return 0
	done
	return 1
}

lost() { # whether a guest died while it booted, and no script ran yet
	started && return 1
	for n in $numbers; do
		alive "$(pid "$n")" || return 0
	done
	return 1
}

wait_scripts() {
	while running && ! lost; do
		if [ "$(date +%s)" -ge "$deadline" ]; then
			late=1
			return
		fi
		sleep 0.1
	done
}

stop_guests() { # SIGNAL
	for n in $numbers; do
		process=$(pid "$n")
		[ -z "$process" ] || kill "-$1" "$process" 2>/dev/null
	done
}

# A relay ends with its guest, unless QEMU never opened the other end.
end_relays() {
	for fifo in "$work"/kernel.* "$work"/script.*; do
		: <>"$fifo"
	done
	# shellcheck disable=SC2086 # a list of pids
	wait $relays
}

verdict() { # N: the status of one guest, with a sentence if it has none
	status=$(status_of "$1")
	if [ -n "$status" ]; then
		echo "$status"
	elif [ -n "$late" ]; then
		echo "vm.sh: guest $1 did not end its script within $limit seconds" >&2
		echo 124
	else
		echo "vm.sh: guest $1 died before its script ended" >&2
		cat "$work/qemu.$1" >&2
		echo 125
	fi
}

run_guests() { # once; leaves the scripts' status in files
	guest1='' guest2='' relays='' late=''
	rm -f "$work"/kernel.* "$work"/script.* "$work"/status.* "$work/wire"
	start_guests
	wait_scripts
	stop_guests TERM
	# shellcheck disable=SC2086 # a list of pids
	wait $guest1 $guest2
	end_relays
}

# An emulated machine can fail to boot on a busy host: see VM_CPUS. No script
# has run then, so that another attempt hides nothing from it.
run_patiently() {
	for attempt in 1 2 3; do
		run_guests
		[ "$attempt" != 3 ] && [ -z "$late" ] && ! started || return 0
		echo 'vm.sh: a guest died while it booted; trying again' >&2
	done
}

result() { # the first status that is not 0
	for n in $numbers; do
		status=$(verdict "$n")
		[ "$status" = 0 ] || return "$status"
	done
}

clean_up() {
	stop_guests KILL
	# shellcheck disable=SC2086 # a list of pids
	[ -z "$relays" ] || kill $relays 2>/dev/null
	rm -rf "$work"
}

#
# Main
#

guests=1 numbers=1
if [ "${1-}" = --guests ]; then
	case ${2-} in
	1) ;;
	2) guests=2 numbers='1 2' ;;
	*) die '--guests takes 1 or 2' ;;
	esac
	shift 2
fi
[ $# -gt 0 ] || die 'usage: vm.sh [--guests 2] SCRIPT [ARG...]'
[ -f "$1" ] || die "there is no script $1"
script=$(realpath "$1")
shift

VM_KERNEL=${VM_KERNEL:-6.12}
limit=${VM_TIMEOUT:-300}
check_commands
find_fio
find_engine

cache=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fio-rdma-batch}
mkdir -p "$cache" || die "cannot write to the cache $cache"
relays=''
work=$(mktemp -d) || die 'cannot make a temporary directory'
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
prepare_image "$script" "$@"
deadline=$(($(date +%s) + limit))
run_patiently
result
