#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints what a measurement's report has to say of the machine, a line of
# "name: value" each. What cannot be found out is left out.
#
# usage: hostinfo.sh [RDMA-DEVICE]

fact() { # NAME VALUE
	[ -z "$2" ] || echo "$1: $2"
}

first_line() { # FILE: without blanks at its end
	[ -r "$1" ] && sed -n 's/[[:space:]]*$//; 1p' "$1" 2>/dev/null
}

cpu() {
	model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
	echo "${model:-$(uname -m)}, $(grep -c ^processor /proc/cpuinfo) online"
}

governor() {
	first_line /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
}

# A hypervisor that emulates says so in the processor's name.
virtual() {
	if grep -q '^model name.*QEMU' /proc/cpuinfo; then
		echo 'emulated processor'
	elif grep -q '^flags.* hypervisor' /proc/cpuinfo; then
		echo 'virtual machine'
	else
		echo no
	fi
}

active_mtu() { # DEVICE: of its first port
	command -v ibv_devinfo >/dev/null || return 0
	ibv_devinfo -d "$1" 2>/dev/null |
		sed -n 's/^[[:space:]]*active_mtu:[[:space:]]*\([0-9]*\).*/\1/p' |
		head -n 1
}

netdevs() { # PORT-DIRECTORY: names and MTUs
	cat "$1"/gid_attrs/ndevs/* 2>/dev/null | sort -u | while read -r name; do
		echo "$name (MTU $(first_line "/sys/class/net/$name/mtu"))"
	done | paste -sd ' ' -
}

device() { # NAME
	dir=/sys/class/infiniband/$1
	[ -d "$dir" ] || return 0
	port=$(find "$dir/ports/" -mindepth 1 -maxdepth 1 | sort | head -n 1)
	driver=$(readlink "$dir/device/driver")
	case $1 in
	rxe* | siw*) driver='software' ;;
	esac
	fact 'device driver' "${driver##*/}"
	fact 'device type' "$(first_line "$dir/hca_type")"
	fact 'device board' "$(first_line "$dir/board_id")"
	fact 'device firmware' "$(first_line "$dir/fw_ver")"
	fact 'device NUMA node' "$(first_line "$dir/device/numa_node")"
	fact 'link layer' "$(first_line "$port/link_layer")"
	fact 'link rate' "$(first_line "$port/rate")"
	fact 'link state' "$(first_line "$port/state")"
	fact 'RDMA MTU' "$(active_mtu "$1")"
	fact 'network device' "$(netdevs "$port")"
}

fact host "$(uname -n)"
fact kernel "$(uname -srm)"
fact cpu "$(cpu)"
fact 'cpu governor' "$(governor)"
fact virtual "$(virtual)"
fact memory "$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
fact 'locked memory limit' "$(awk '/^Max locked memory/ {
	print ($4 == "unlimited" ? $4 : $4 " bytes") }' /proc/self/limits)"
fact fio "$(fio --version 2>/dev/null)"
fact perftest "$(ib_write_bw --version 2>/dev/null |
	sed -n 's/^[Vv]ersion: *//p' | head -n 1)"
if [ -n "${1-}" ]; then
	fact device "$1"
	device "$1"
fi
