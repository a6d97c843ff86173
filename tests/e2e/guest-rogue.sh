#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: peers that misbehave. The target still serves a verified job after
# each rogue client, and an initiator ends with a clear sentence against each
# rogue target.
#
# usage: guest-rogue.sh N ROGUE    ROGUE: the program built from rogue.c

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

rogue=$2
before=$(resources)

#
# Clients
#

# Neither the process nor what it holds grows with what strangers do.
descriptors() {
	# shellcheck disable=SC2046 # a list of pids
	for process in $(family "$target"); do
		find "/proc/$process/fd" -mindepth 1 2>/dev/null
	done | wc -l
}

meets() { # CASE
	timeout 120 "$rogue" client "$ADDR" 7471 "$1" && still_serves
}

plain_tcp() {
	for i in 1 2 3; do
		echo "GET / $i" | timeout 2 nc -w 1 "$ADDR" 7471
	done
	still_serves
}

without_clients() {
	rdma resource show | grep -q ' mr 0 '
}

freed() {
	[ "$(resources)" = "$with_target" ] &&
		[ "$(descriptors)" = "$with_descriptors" ]
}

all_freed() {
	wait_for 20 freed && return
	echo "before: $with_target, $with_descriptors descriptors"
	echo "now:    $(resources), $(descriptors) descriptors"
	cat /tmp/target.log
	return 1
}

rogue_clients() {
	start_target --size=1m --connect_timeout=3s
	# From its first client on a target keeps the device open.
	still_serves >/dev/null 2>&1
	wait_for 5 without_clients
	with_target=$(resources)
	with_descriptors=$(descriptors)
	start_bystander --offset=512k --rate_iops=200
	for client in $("$rogue" list clients); do
		ok "a client: $client" meets "$client"
		grep '^rogue: the first' "$tap_output" | sed 's/^/# /'
	done
	ok 'plain TCP' plain_tcp
	ok 'a client beside them noticed nothing' bystander_fine
	ok 'the target has freed it all' all_freed
	ok 'and ends at once' stop_target
}

#
# Targets
#

# Every rogue target at a port of its own, a job to each, in one run of fio.
jobs_to_rogues() {
	port=7500
	for name in $("$rogue" list targets); do
		echo "--name=$name --hostname=$ADDR --port=$port"
		port=$((port + 1))
	done
}

meet_all() {
	# shellcheck disable=SC2046 # words on purpose
	clocked run_job --name=global --rw=randrw --bs=4k --size=64k --qps=2 \
		--connect_timeout=4s --io_timeout=4s --iodepth=4 \
		$(jobs_to_rogues) >/tmp/many.log 2>&1
	many_status=$?
	cat /tmp/many.log
	nr=$("$rogue" list targets | wc -l)
	echo "status $many_status of $nr after $took ms"
	[ "$many_status" = "$nr" ] && [ "$took" -lt 40000 ]
}

said() { # JOB REGEX
	grep -E "^rdma_batch: $1: " /tmp/many.log
	has /tmp/many.log "^rdma_batch: $1: .*($2)"
}

rogue_targets() {
	"$rogue" target 7500 >/tmp/rogue.log 2>&1 &
	peer=$!
	wait_for 10 grep -q listening /tmp/rogue.log
	ok 'jobs against rogue targets: as many failures' meet_all
	while read -r name regex; do
		ok "a target: $name" said "$name" "$regex"
	done <<-END
		wrong-magic is no target of this engine
		future-version speaks version 99 of the handshake, this engine version 2
		says-no-word is no target of this engine
		half-a-word is no target of this engine
		empty-region is no target of this engine
		region-wraps is no target of this engine
		small-region the job needs 65536 bytes .* has 4096
		no-access is no target of this engine
		read-only the job reads and writes, .* access=ro
		no-reads grants no READs at all
		two-regions names another region to QP 2
		turns-away turns us away without saying why
		odd-reason for a reason that this release does not know
		other-version speaks version 7 of the handshake
		claims-a-token is no target of this engine
		challenges is no target of this engine
		no-reason turns us away without saying why
		mute within connect_timeout=4000 ms \(0 of 2 QPs came up\)
		one-lane within connect_timeout=4000 ms \(1 of 2 QPs came up\)
		hangs-up has closed the connection of QP . of 2
		wrong-key does not allow it
		no-qp does not answer|nothing has completed for 4000 ms
	END
	kill "$peer"
	wait "$peer"
}

rogue_clients
rogue_targets
ok 'nothing is left on the device, no process' nothing_is_left
finish
