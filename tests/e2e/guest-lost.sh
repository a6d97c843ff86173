#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In two guests, the target in the first: a host that freezes, a cut link, a
# network that loses packets. lost.sh runs it and does to the guests what a line
# "host: ..." of the second one asks for.
#
# usage: guest-lost.sh N [PART...]    a part is one of the functions at the end

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

io_timeout=5
batch='--iodepth=16 --iodepth_batch_submit=8 --iodepth_batch_complete_max=16'

#
# Guest 1: a target for as long as guest 2 likes
#

# Guest 2 says by TCP when it has done.
serve_until_told() {
	start_target --connect_timeout=60s || return 1
	nc -l -p 7000 >/tmp/told </dev/null
	cat /tmp/target.log
	grep -q 'all over' /tmp/told && stop_target
}

#
# Guest 2
#

# The host reads the script's own output, not a test's. It does not answer, so
# see that it has done it.
ask_host() { # WHAT
	echo "# host: $1" >&3
	case $1 in
	stop* | unplug*) wait_for 10 unreachable ;;
	*) wait_for 10 ping -c 1 -W 1 "$PEER" ;;
	esac
}

# For long. The emulated wire of a frozen guest takes nothing more, and would hold
# up this guest's device for ever, which no network does: drop it before.
freeze() {
	network_dead
	ask_host 'stop 1'
}

thaw() {
	network_fine
	ask_host 'cont 1'
}

unreachable() {
	! ping -c 1 -W 0.3 "$PEER"
}

link() { # up|down
	ip link set eth0 "$1"
}

# What soft-RoCE cannot send puts even its QP for connections into the error
# state, for as long as the device lives: a kernel's defect.
renew_device() {
	rdma link del rxe0
	rdma link add rxe0 type rxe netdev eth0
	wait_for 10 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
}

network() { # NETEM-ARG...
	tc qdisc replace dev eth0 root netem "$@"
}

network_fine() {
	network loss 0%
	mtu 1500
}

mtu() {
	ip link set eth0 mtu "$1"
}

# Under running jobs: another qdisc would lose a packet in a way of its own.
network_dead() {
	tc qdisc change dev eth0 root netem loss 100%
}

# What the QPs were given: a device may retry, or give up, for so long.
bound=$(((io_timeout + 2) * 1000))

# Twelve jobs run, then the way to the target is lost, and each says so in time.
# That fio ends twelve jobs on an emulated CPU takes some seconds more.
lost() { # THREAD LOSE-CMD...
	thread=$1
	shift
	# shellcheck disable=SC2086,SC2046 # words on purpose
	start_initiator --name=global --bs=4k --size=1m --time_based \
		--runtime=600 --thread="$thread" --io_timeout=${io_timeout}s \
		--connect_timeout=40s $batch $(twelve_ways)
	wait_for 90 all_connected || {
		rdma resource show qp
		signal_family KILL "$initiator"
		cat /tmp/initiator.log
		return 1
	}
	sleep 2
	"$@"
	clocked within 200 "$initiator"
	wait "$initiator"
	lost_status=$?
	cat /tmp/initiator.log
	echo "ended after $took ms of $bound + 5000 with status $lost_status"
	[ "$lost_status" = 12 ] && [ "$took" -le $((bound + 5000)) ] &&
		each_says_why "$lost_why"
}

all_connected() {
	[ "$(rdma resource show qp | grep -c 'type RC state RTS')" = 30 ]
}

lost_why='it ended, was killed|has failed \(RDMA_CM|does not answer|has completed for 5000 ms|does not say why'

reachable() {
	wait_for 20 ping -c 1 -W 1 "$PEER" && wait_for 20 still_serves
}

# A verified job, under whatever the network does meanwhile.
verified() { # ARG...
	# shellcheck disable=SC2086 # words on purpose
	start_initiator --name=v --hostname="$PEER" --rw=randrw --bs=4k \
		--size=512k --verify=crc32c --verify_fatal=1 --qps=4 $batch \
		"$@"
}

# Data may come late, or not at all and that is said; never wrong.
survives() { # SECONDS CMD...: the network's state
	limit=$1
	shift
	retries_before=$(retries)
	"$@"
	verified --io_timeout=20s --connect_timeout=30s
	within $((limit * 10)) "$initiator"
	survived=$?
	network_fine
	[ "$survived" = 0 ] || kill -KILL "$initiator"
	wait "$initiator"
	exit_status=$?
	cat /tmp/initiator.log
	echo "status $exit_status; retries: $retries_before, then $(retries)"
	[ "$survived" = 0 ] || return 1
	[ "$exit_status" = 0 ] && has /tmp/initiator.log 'err= 0' && return
	has /tmp/initiator.log "^rdma_batch: v: .*(does not answer|has completed for)"
}

retries() {
	rdma statistic show link rxe0/1 | tr ' ' '\n' |
		sed -n '/completer_retry_err/{n;p}'
}

# A pause shorter than the timeouts: the job goes on as if nothing had been.
goes_on() { # PAUSE-CMD RESUME-CMD
	verified --time_based --runtime=8 --io_timeout=20s --rate_iops=300
	wait_for 20 all_four || {
		signal_family KILL "$initiator"
		return 1
	}
	sleep 1
	eval "$1" || return 1
	sleep 3
	eval "$2" || return 1
	within 400 "$initiator"
	wait "$initiator"
	pause_status=$?
	cat /tmp/initiator.log
	[ "$pause_status" = 0 ] && has /tmp/initiator.log 'err= 0'
}

# The MTU of this side changes under a job: it goes on, or says why not.
shrinks() {
	verified --time_based --runtime=8 --io_timeout=10s --rate_iops=300
	wait_for 20 all_four || {
		signal_family KILL "$initiator"
		return 1
	}
	sleep 1
	mtu 700
	sleep 3
	mtu 1500
	within 400 "$initiator"
	wait "$initiator"
	shrunk_status=$?
	cat /tmp/initiator.log
	echo "status $shrunk_status"
	[ "$shrunk_status" = 0 ] && has /tmp/initiator.log 'err= 0' && return
	has /tmp/initiator.log "^rdma_batch: v: .*($lost_why)"
}

all_four() {
	[ "$(rdma resource show qp | grep -c 'type RC state RTS')" = 4 ]
}

is_thread() { # processes|threads: for fio's thread=
	case $1 in
	threads) echo 1 ;;
	*) echo 0 ;;
	esac
}

dead_end() {
	fails 10 'within connect_timeout=2000 ms' --hostname="$PEER" --rw=write \
		--size=4k --connect_timeout=2s
}

interrupted_while_lost() {
	verified --time_based --runtime=99 --io_timeout="$io_timeout"s
	wait_for 20 all_four || return 1
	sleep 1
	network_dead
	sleep 1
	kill -INT "$initiator"
	clocked within 150 "$initiator"
	interrupted_status=$?
	network_fine
	wait "$initiator"
	interrupted_exit=$?
	cat /tmp/initiator.log
	echo "ended after $took ms with status $interrupted_exit"
	[ "$interrupted_status" = 0 ] && [ "$interrupted_exit" != 0 ] &&
		[ "$took" -le $((bound + 2000)) ]
}

silence() {
	ok 'all packets lost, twelve processes of all kinds' lost 0 \
		network_dead
	ok 'nobody answers: a connection is given up' dead_end
	network_fine
	ok 'the target serves again' reachable
	ok 'SIGINT while nothing comes back' interrupted_while_lost
	ok 'the target serves again' reachable
	ok 'all packets lost, twelve threads of all kinds' lost 1 \
		network_dead
	network_fine
	ok 'the target serves again' reachable
}

link_down() {
	for kind in processes threads; do
		ok "the link goes down, twelve $kind of all kinds" \
			lost "$(is_thread "$kind")" link down
		link up
		renew_device
		ok 'the target serves again' reachable
	done
}

frozen() {
	for kind in processes threads; do
		ok "the target's host freezes, twelve $kind of all kinds" \
			lost "$(is_thread "$kind")" freeze
		ok 'a frozen host: a connection is given up' dead_end
		thaw
		ok 'the target serves again' reachable
	done
}

unplugged() {
	for kind in processes threads; do
		ok "the cable is pulled, twelve $kind of all kinds" \
			lost "$(is_thread "$kind")" ask_host 'unplug 2'
		ask_host 'plug 2'
		renew_device
		ok 'the target serves again' reachable
	done
}

pauses() {
	ok "the target's host freezes for 3 seconds: the job goes on" goes_on \
		'ask_host "stop 1"' 'ask_host "cont 1"'
	ok 'all packets lost for 3 seconds: the job goes on' goes_on \
		network_dead 'tc qdisc change dev eth0 root netem loss 0%'
}

noise() {
	ok '1 % loss: no bad data' survives 60 network loss 1%
	ok '5 % loss: no bad data' survives 60 network loss 5%
	ok '20 ms delay: no bad data' survives 60 network delay 20ms
	ok 'packets out of order: no bad data' survives 60 network delay 5ms \
		reorder 75% 50%
	ok 'packets twice: no bad data' survives 60 network duplicate 20%
	ok 'corrupt packets: no bad data' survives 60 network corrupt 2%
}

mtu_differs() {
	ok 'a smaller MTU here than there: no bad data' survives 60 mtu 700
	ok 'the MTU shrinks under a job: no bad data' shrinks
	renew_device
	ok 'the target serves again' reachable
}

if [ "$1" = 1 ]; then
	ok 'the target outlives it all' serve_until_told
	ok 'and leaves no process' no_leftovers
	finish
fi
exec 3>&1
shift
[ $# != 0 ] || set -- silence link_down frozen unplugged pauses noise \
	mtu_differs
network_fine
wait_for 30 still_serves
before=$(resources)
for part; do
	"$part"
done
ok 'nothing is left on the device, no process' nothing_is_left
echo 'all over' | nc -w 5 "$PEER" 7000
finish
