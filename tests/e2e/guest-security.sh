#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: who may come in, and what he may do then. Each refusal takes less
# than a second and says one sentence on both sides, and a client that is there
# already notices nothing.
#
# usage: guest-security.sh N ROGUE [PART...]
#	ROGUE	the program built from rogue.c
#	PART	allowed, bounded, guarded, impostors, limited (default: all)

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

rogue=$2
shift 2
[ $# != 0 ] || set -- allowed bounded guarded impostors limited
before=$(resources)
mkdir -p /tmp/secret
right=/tmp/secret/right
printf 'open sesame\n' >"$right" # TEST_TOKEN of rogue.h
printf 'open barley' >/tmp/secret/wrong
chmod 600 /tmp/secret/*

attacks() { # CASE
	timeout 120 "$rogue" client "$ADDR" 7471 "$1" || {
		status=$?
		tail -n 20 /tmp/target.log
		return "$status"
	}
}

job() { # ARG...: a small job to the target
	run_job --name=f --hostname="$ADDR" --rw=randrw --bs=4k \
		--size=64k --iodepth=8 --verify=crc32c --verify_fatal=1 \
		--connect_timeout=10s "$@"
}

# What fio takes for its own start and end, beside the same clients.
learn_overhead() {
	clocked run_job --name=f --transport=memory --rw=read --bs=4k \
		--size=4k >/tmp/overhead.log 2>&1 || return 1
	overhead=$took
}

# refuses HERE THERE ARG...: a job that is refused, what it says and what the
# target says
refuses() {
	for try in 1 2 3; do
		refused_once "$@" || return 1
		learn_overhead
		echo "try $try: $refused_after ms, and $overhead ms of fio's own"
		[ $((refused_after - overhead)) -ge 1000 ] || return 0
	done
	return 1
}

refused_once() {
	here=$1 there=$2
	shift 2
	sleep 1.1 # the target shows one refusal a second
	nr_lines=$(wc -l </tmp/target.log)
	clocked refused job "$@" >/tmp/fails.log 2>&1
	status=$?
	refused_after=$took
	cat /tmp/fails.log
	tail -n "+$((nr_lines + 1))" /tmp/target.log >/tmp/target.new
	cat /tmp/target.new
	[ "$status" = 0 ] &&
		has /tmp/fails.log "^rdma_batch: f: .*$here" &&
		has /tmp/target.new "refused .*: $there"
}

bystander_comes() { # ARG...
	start_bystander --offset=8m --rate_iops=50 --poll=event "$@"
}

#
# allow=
#

# Its own address is inside or not; another one of the same device is not.
allowed() {
	start_target "--allow=192.0.2.0/24,$ADDR,::1"
	ok 'allow=: an address of the list' job
	bystander_comes
	ip addr add 10.77.0.1/32 dev eth0
	ok 'allow=: an address outside' refuses \
		"does not let this host's address in" 'its address is not in' \
		--bindname=10.77.0.1
	ok 'allow=: IPv6 outside' to_ipv6
	ok 'allow=: a client beside them noticed nothing' bystander_fine
	ip addr del 10.77.0.1/32 dev eth0
	ok 'and the target ends at once' stop_target
	start_target "--allow=${ADDR6%::*}::/64"
	ok 'allow=: an IPv6 prefix' job "--hostname=$ADDR6"
	ok 'allow=: IPv4 is not in it' refuses "this host's address" \
		'its address is not in'
	stop_target
	start_target '--allow=0.0.0.0/0'
	ok 'allow=: an IPv4 prefix takes in IPv4' job
	ok 'allow=: and not IPv6' to_ipv6
	stop_target
}

to_ipv6() {
	refuses "does not let this host's address in" 'its address is not in' \
		"--hostname=$ADDR6"
}

#
# max_clients=, max_qps=
#

wait_half_open() {
	"$rogue" client "$ADDR" 7471 half-open >/tmp/rogue.log 2>&1 &
	peer=$!
	wait_for 10 grep -q 'half open' /tmp/rogue.log
}

half_open_ended() {
	wait "$peer"
}

bounded() {
	start_target --max_clients=2
	bystander_comes
	ok 'max_clients=: a second one' job
	ok 'max_clients=: a third and a fourth are refused' third
	ok 'max_clients=: a client beside them noticed nothing' bystander_fine
	stop_target
	start_target --max_qps=6
	bystander_comes
	ok 'max_qps=: 2 and 4' job --qps=4
	ok 'max_qps=: 2 and 5' refuses 'has no room for 5 more QPs under its max_qps=6' \
		'max_qps= would be exceeded' --qps=5
	ok 'max_qps=: a client beside them noticed nothing' bystander_fine
	stop_target
	start_target --max_clients=2 --connect_timeout=6s
	ok 'two clients that are half open' wait_half_open
	ok 'max_clients=: they count' refuses 'serves max_clients=2' \
		'max_clients= are here'
	ok 'they are dropped' half_open_ended
	ok 'max_clients=: and then there is room' job
	stop_target
}

third() {
	"$FIO" --ioengine="external:$ENGINE" --name=second --hostname="$ADDR" \
		--rw=read --bs=4k --size=64k --time_based --runtime=60 \
		--rate_iops=50 --poll=event >/tmp/second.log 2>&1 &
	second=$!
	wait_for 20 grep -q 'is here with 1 QPs, 2 at once' /tmp/target.log
	refuses 'serves max_clients=2' 'max_clients= are here'
	third_status=$?
	kill -INT "$second"
	wait "$second"
	return "$third_status"
}

#
# token=, token_file=
#

# Neither the process nor what it holds grows with those who knock.
size_of_target() {
	for process in $(family "$target"); do
		sed -n 's/^VmData:[^0-9]*//p' "/proc/$process/status"
		find "/proc/$process/fd" -mindepth 1 | wc -l
	done | tr '\n' ' '
}

flood() {
	"$rogue" client "$ADDR" 7471 token-replayed || return
	size_before=$(size_of_target) res_before=$(resources)
	attacks token-flood || return
	echo "before: $size_before $res_before"
	echo "now:    $(size_of_target) $(resources)"
	[ "$(size_of_target)" = "$size_before" ] &&
		wait_for 10 same_resources
}

same_resources() {
	[ "$(resources)" = "$res_before" ]
}

guarded() {
	start_target --token_file="$right"
	ok 'token: the same on both sides, 4 QPs' job --token_file="$right" --qps=4
	ok 'token: as text' job '--token=open sesame'
	ok 'token: over IPv6' job --token_file="$right" "--hostname=$ADDR6"
	bystander_comes --token_file="$right"
	ok 'token: none' refuses 'wants a token' 'it has no token'
	ok 'token: another one' refuses 'has another token' \
		'its token is another one' --token_file=/tmp/secret/wrong
	for client in token-missing token-forged token-borrowed token-replayed; do
		ok "a client: $client" attacks "$client"
	done
	ok 'a flood of those who ask takes nothing' flood
	ok 'token: 64 QPs while others come and go' crowd
	ok 'token: a client beside them noticed nothing' bystander_fine
	ok 'and the target ends at once' stop_target
	start_target
	ok 'token: the target has none' refuses 'has no token and so cannot prove' \
		'it has a token, and this target none' --token_file="$right"
	stop_target
	ok 'token: a file that all may read' open_file
}

# Their ends make the others' proofs void, who then prove again.
crowd() {
	run_job --name=global --hostname="$ADDR" --token_file="$right" \
		--rw=randrw --bs=4k --size=64k --verify=crc32c \
		--verify_fatal=1 --connect_timeout=30s \
		--name=many --qps=64 --offset=1m \
		--name=some --qps=8 --numjobs=4 --offset_increment=64k \
		--name=later --startdelay=1 --offset=2m --qps=16
}

open_file() {
	cp "$right" /tmp/secret/open
	chmod 644 /tmp/secret/open
	job --token_file=/tmp/secret/open >/tmp/fails.log 2>&1
	cat /tmp/fails.log
	has /tmp/fails.log 'may be read by everyone'
}

# Targets that do not know the token, each at the port that its place in the
# list says.
port_of() {
	"$rogue" list targets | awk -v name="$1" '$1 == name { print 7499 + NR }'
}

impostor() { # NAME SECONDS REGEX
	fails "$2" "$3" --hostname="$ADDR" --port="$(port_of "$1")" --rw=randrw \
		--bs=4k --size=64k --token_file="$right" --connect_timeout=3s
}

impostors() {
	"$rogue" target 7500 >/tmp/rogue.log 2>&1 &
	peer=$!
	wait_for 10 grep -q listening /tmp/rogue.log
	ok 'a target that proves nothing' impostor no-qp 4 \
		'does not prove that it knows the token'
	ok 'a target that proves it wrongly' impostor claims-a-token 4 \
		'does not prove that it knows the token'
	ok 'a target that never has enough' impostor challenges 8 \
		'asks for one proof after the other'
	kill "$peer"
	wait "$peer"
}

#
# Memory
#

limited() {
	start_target --size=1m
	ok 'the first client sees zeros' attacks zeroed
	ok "a client's key on another's QP" attacks stolen-key
	ok 'bytes behind the region' attacks beyond-region
	stop_target
	start_target --size=1m --access=ro
	ok 'access=ro: a write is refused by the device' attacks reads-only
	stop_target
	start_target --size=1m --access=wo
	ok 'access=wo: a read is refused by the device' attacks writes-only
	stop_target
}

# A target that cannot start says why, and nothing after it.
stillborn() {
	run_job --name=t --role=target --size=1m --bindname=203.0.113.1 \
		>/tmp/fails.log 2>&1
	cat /tmp/fails.log
	has /tmp/fails.log 'cannot listen on 203' &&
		! grep -q ': port=[0-9]* region=' /tmp/fails.log
}

for part; do
	"$part"
done
ok 'a target that does not start has no end' stillborn
ok 'nothing is left on the device, no process' nothing_is_left
finish
