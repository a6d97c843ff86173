#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: what a user gets wrong, what breaks, and who is killed. Each case
# ends in time, with a status that is not 0 and a sentence that says why, and
# leaves nothing behind.
#
# usage: guest-faults.sh N [PART...]    a part is one of the functions at the end

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

before=$(resources)
batch='--iodepth=16 --iodepth_batch_submit=8 --iodepth_batch_complete_max=16'
here="--hostname=$ADDR"

#
# Bad input
#

# said JOB REGEX: what this job of the common run has said
said() {
	grep -E "^rdma_batch: $1: " /tmp/many.log
	has /tmp/many.log "^rdma_batch: $1: .*$2"
}

# Jobs that all fail, each for a reason of its own, in one run of fio.
many_refused() {
	clocked run_job --name=global --rw=write --bs=4k --size=64k \
		--connect_timeout=3s "$here" \
		--name=unknown --hostname=no.such.host \
		--name=nobody --port=7999 --hostname="$ADDR" \
		--name=loopback --hostname=127.0.0.1 \
		--name=bind --hostname="$ADDR" --bindname=10.9.9.9 \
		--name=families --hostname="$ADDR" --bindname="$ADDR6" \
		--name=large --hostname="$ADDR" --size=32m \
		--name=beyond --hostname="$ADDR" --offset=15m --size=2m \
		--name=qps --hostname="$ADDR" --qps=256 --sq_depth=1000 \
		--name=depth --hostname="$ADDR" --sq_depth=1048576 \
		--name=sge --hostname="$ADDR" --max_sge=64 \
		--name=inline --hostname="$ADDR" --inline_size=65536 \
		--name=atomic --hostname="$ADDR" --rd_atomic=255 \
		>/tmp/many.log 2>&1
	many_status=$?
	cat /tmp/many.log
	echo "status $many_status after $took ms"
	[ "$many_status" = 12 ] && [ "$took" -lt 20000 ]
}

bad_input() {
	start_target
	ok 'twelve jobs that cannot run: twelve failures' many_refused
	ok 'an unknown host' said unknown 'cannot resolve hostname=no.such.host'
	ok 'nothing listens' said nobody \
		'within connect_timeout=3000 ms .*nothing listens there'
	ok 'a way over no RDMA device' said loopback \
		'does not go over an RDMA device'
	ok 'no address of this host' said bind \
		'bindname=10.9.9.9 is not an address of this host'
	ok 'IPv4 and IPv6' said families 'not both IPv4 or both IPv6'
	ok 'a job larger than the region' said large \
		'needs 33554432 bytes .*has 16777216: lower size'
	ok 'offset and size beyond the region' said beyond \
		'needs 17825792 bytes \(offset \+ size\).*has 16777216'
	ok 'more QPs than a CQ has room for' said qps \
		'sq_depth=1000 asked, but rxe0 grants [0-9]+ at qps=256'
	ok 'sq_depth above the device' said depth \
		'sq_depth=1048576 asked, but rxe0 grants [0-9]+'
	ok 'max_sge above the device' said sge \
		'max_sge=64 asked, but rxe0 grants [0-9]+ per WR'
	ok 'inline_size above the device' said inline \
		'inline_size=65536 asked, but rxe0 grants [0-9]+'
	ok 'rd_atomic above the device' said atomic \
		'rd_atomic=255 asked, but rxe0 can have [0-9]+'
	ok 'the port is in use' fails 10 'port.* 7471|7471.*in use' \
		--role=target --size=1m
	ok 'the target still serves' still_serves
	ok 'SIGTERM ends the target' stop_target
	ok 'huge pages are absent' fails 5 \
		'needs 4 huge pages of 2048 KiB, 0 are free' \
		--role=target --size=8m --region_mem=hugepage
}

access_denied() {
	start_target --access=ro
	ok 'a write to access=ro' fails 8 'the job writes, .* access=ro' \
		"$here" --rw=write --size=4k
	ok 'a verified write to access=ro' fails 8 'access=ro' "$here" \
		--rw=write --size=4k --verify=crc32c
	stop_target
	start_target --access=wo
	ok 'a read from access=wo' fails 8 'the job reads, .* access=wo' \
		"$here" --rw=read --size=4k
	stop_target
}

# As a user with little memory to lock.
memory_is_short() {
	start_target
	ok 'the initiator may lock too little memory' poor_initiator
	stop_target
	ok 'so may the target' poor_target
}

poor_initiator() {
	FIO=/tmp/poor-fio
	fails 10 'cannot register .*limited to 64 KiB soft, 64 KiB hard' \
		"$here" --rw=write --bs=64k --size=1m --iodepth=8
	poor_status=$?
	FIO=$real_fio
	[ "$poor_status" = 0 ]
}

poor_target() {
	FIO=/tmp/poor-fio
	start_target --size=1m
	FIO=$real_fio
	fails 10 'has no resources for QP 1 of 1 \(Cannot allocate memory there' \
		"$here" --rw=write --size=4k
	poor_status=$?
	cat /tmp/target.log
	stop_target && [ "$poor_status" = 0 ] &&
		has /tmp/target.log 'refused 10.*limited to 64 KiB soft'
}

write_poor_fio() {
	cat >/tmp/poor-fio <<-END
		#!/bin/sh
		exec setpriv --reuid 1000 --regid 1000 --clear-groups \
			--inh-caps=-all --bounding-set=-all \
			prlimit --memlock=65536:65536 $FIO "\$@"
	END
	chmod 755 /tmp/poor-fio
}

#
# Signals
#

# A name server that never answers.
silent_name_server() {
	ip link add sink type dummy
	ip addr add 192.0.2.1/24 dev sink
	ip link set sink up
	ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev sink
	echo 'nameserver 192.0.2.2' >/etc/resolv.conf
	echo 'hosts: files dns' >/etc/nsswitch.conf
}

# interrupted SIGNAL REGEX SECONDS ARG...: the job, signalled after so long,
# ends at once, with a status that is not 0.
interrupted() {
	signal=$1 regex=$2 delay=$3
	shift 3
	start_initiator --name=i --rw=randrw --bs=4k --size=1m --offset=4m --time_based \
		--runtime=60 --connect_timeout=30s "$@"
	sleep "$delay"
	clocked ends_by "$signal" "$initiator"
	interrupted_status=$?
	wait "$initiator"
	exit_status=$?
	cat /tmp/initiator.log
	echo "ended after $took ms with status $exit_status"
	[ "$interrupted_status" = 0 ] && [ "$exit_status" != 0 ] &&
		has /tmp/initiator.log "$regex"
}

signals() {
	silent_name_server
	ok 'SIGINT while a name is looked up' interrupted INT \
		'cannot resolve.*ancel' 2 --hostname=slow.example
	ok 'SIGTERM while nobody answers' interrupted TERM \
		'connecting to .* was interrupted' 2 --hostname=10.0.0.77 --thread=1
	start_target
	signal_family STOP "$target"
	ok 'SIGINT while a stopped target does not answer' interrupted INT \
		'connecting to .* was interrupted' 2 "$here" --qps=4
	signal_family CONT "$target"
	ok 'SIGINT while it runs' interrupted INT 'ops=[1-9]' 3 "$here"
	ok 'SIGTERM while it runs, threads, events' interrupted TERM 'ops=[1-9]' \
		3 "$here" --thread=1 --poll=event --qps=4
	start_initiator --name=i --rw=randrw --bs=4k --size=1m --offset=4m --time_based \
		--runtime=60 "$here"
	sleep 2
	ok 'SIGINT ends a target with a client' ends_by INT "$target"
	ok 'whose client then ends too' within 30 "$initiator"
	start_target
	ok 'SIGINT ends a target that waits' ends_by INT "$target"
	start_target --thread=1
	ok 'SIGTERM ends a target, a thread, that waits' stop_target
}

#
# Death
#

all_run() {
	[ "$(grep -c 'is here with' /tmp/target.log)" = 12 ]
}

# The target is killed while twelve jobs run; each of them says so.
target_killed() { # THREAD
	start_target || return 1
	# shellcheck disable=SC2086,SC2046 # words on purpose
	start_initiator --name=global --bs=4k --size=1m --time_based --runtime=600 \
		--thread="$1" --io_timeout=5s --connect_timeout=40s $batch \
		$(twelve_ways)
	wait_for 40 all_run || return 1
	sleep 1
	signal_family KILL "$target"
	clocked within 90 "$initiator"
	wait "$initiator"
	killed_status=$?
	cat /tmp/initiator.log
	echo "ended after $took ms with status $killed_status"
	[ "$killed_status" = 12 ] && each_says_why \
		'it ended, was killed|does not answer|has completed for'
}

# Its job is a process of its own, and must not go on and hold the port.
first_process_killed() {
	start_target && still_serves || return 1
	worker=$(pgrep -P "$target")
	[ -n "$worker" ] && kill -KILL "$target"
	# shellcheck disable=SC2086 # a list of pids
	within 20 $worker && start_target && still_serves && stop_target
}

initiator_killed() {
	start_target && still_serves || return 1
	# From its first client on a target keeps the device open.
	wait_for 5 without_clients
	with_target=$(resources)
	start_initiator --name=i --rw=randrw --bs=4k --size=1m --offset=4m --time_based \
		--runtime=99 --qps=4 "$here"
	wait_for 20 grep -q 'is here with' /tmp/target.log || return 1
	sleep 1
	signal_family KILL "$initiator"
	still_serves || return 1
	wait_for 15 freed || {
		echo "before: $with_target"
		echo "now:    $(resources)"
		cat /tmp/target.log
		return 1
	}
}

without_clients() {
	rdma resource show | grep -q ' mr 0 '
}

freed() {
	[ "$(resources)" = "$with_target" ]
}

# One-sided I/O needs no process at the target's side.
runs_while_stopped() {
	# shellcheck disable=SC2086 # words on purpose
	start_initiator --name=i --rw=randwrite --bs=4k --size=4m --loops=3 \
		--verify=crc32c --verify_fatal=1 --qps=4 $batch "$here"
	wait_for 20 grep -q 'is here with 4' /tmp/target.log || return 1
	signal_family STOP "$target"
	wait "$initiator"
	stopped_status=$?
	cat /tmp/initiator.log
	[ "$stopped_status" = 0 ]
}

resumes() {
	signal_family CONT "$target"
	still_serves
}

target_stopped() {
	start_target
	ok "a job runs on while the target's process is stopped" \
		runs_while_stopped
	ok 'a new one gives up at connect_timeout' fails 5 \
		'within connect_timeout=2000 ms .*, or UDP port 4791 blocked' \
		"$here" --rw=write --size=4k \
		--connect_timeout=2s
	ok 'a target that was stopped serves again' resumes
	stop_target
}

deaths() {
	ok 'the target is killed, twelve processes of all kinds' target_killed 0
	ok 'the target is killed, twelve threads of all kinds' target_killed 1
	ok "only fio's first process is killed: its target ends too" \
		first_process_killed
	ok 'an initiator is killed: all is freed, the target serves' \
		initiator_killed
	stop_target
	target_stopped
}

#
# The device goes
#

# rdma(8) waits until the last process has closed a soft-RoCE device, and a
# target keeps it open from its first client on. Of a target that the removal
# ends as well, its end may be heard of first.
device_removed() { # TARGET-ARG...
	start_target "$@" || return 1
	start_initiator --name=i --rw=randrw --bs=4k --size=1m --offset=4m --time_based \
		--runtime=60 --qps=4 "$here"
	wait_for 20 grep -q 'is here with' /tmp/target.log || return 1
	sleep 1
	rdma link del rxe0 &
	remover=$!
	within 80 "$initiator"
	wait "$initiator"
	removed_exit=$?
	cat /tmp/initiator.log
	echo "the job's status: $removed_exit"
	[ "$removed_exit" != 0 ] &&
		has /tmp/initiator.log \
			'device rxe0 was removed|the target .* has closed the'
}

removal_ends() {
	within 50 "$remover" || return 1
	wait "$remover"
}

bound_target_ends() {
	within 50 "$target"
	wait "$target"
	bound_exit=$?
	cat /tmp/target.log
	[ "$bound_exit" != 0 ] && has /tmp/target.log \
		'the RDMA device of bindname=.* was removed' && removal_ends
}

add_device() {
	rdma link add rxe0 type rxe netdev eth0 &&
		wait_for 10 grep -q ACTIVE \
			/sys/class/infiniband/rxe0/ports/1/state
}

device_back() {
	add_device && start_target && still_serves && stop_target
}

# Clients of the kernel's RDMA core hear of a removal in the reverse order in
# which they came, and ib_uverbs waits for its users: rdma_cm, which tells them,
# must have come after it.
order_modules() {
	rmmod rdma_ucm && rmmod rdma_cm && modprobe rdma_ucm
}

no_device() {
	ok 'the modules are in order' order_modules
	ok 'the device is removed: the job says so and ends' device_removed
	ok 'SIGTERM ends the target' stop_target
	ok 'after which the device is gone' removal_ends
	ok 'an initiator without a device' fails 15 \
		'does not go over an RDMA device|is an RDMA device there' \
		"$here" --rw=write --size=4k
	ok 'a target without a device' fails 15 'RDMA device' --role=target \
		--size=1m
	ok 'all is well when the device is back' device_back
	ok 'the same with a shared registration' device_removed --isolate=0 \
		--bindname="$ADDR"
	ok 'a target that is bound to the device ends too' bound_target_ends
	ok 'the device is back' add_device
}

real_fio=$FIO
write_poor_fio
shift
[ $# != 0 ] || set -- bad_input access_denied memory_is_short signals deaths \
	no_device
for part; do
	"$part"
	ok 'no process is left' no_leftovers
	ok 'nothing is left on the device' as_before
done
finish
