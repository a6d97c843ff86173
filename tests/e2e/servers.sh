#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fio's servers on the loopback, and a client of theirs. Sourced after lib.sh,
# in a folder to work in.

servers=
next_port=$((20000 + $$ % 20000))

# listens PORT: whether somebody does; fio's server says so into a buffer
listens() {
	grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp
}

# start_server: one more server; sets port, and adds its pid to servers. What
# it says itself is in server.PORT.
start_server() {
	for _ in 1 2 3 4 5; do
		next_port=$((next_port + 1))
		port=$next_port
		listens "$port" && continue
		fio --server=ip:127.0.0.1,$port >server.$port 2>&1 &
		servers="$servers $!"
		wait_for 10 listens "$port" && return
		cat server.$port
	done
	echo 'no server listens'
	return 1
}

# section NAME OPTION...: a job of the engine for a server's job file
section() {
	section_name=$1
	shift
	printf '%s\n' "[$section_name]" \
		"ioengine=external:${served_engine:-$ENGINE}" "$@"
}

# by_client ARG...: a client of the servers, which end after it. What it printed
# is in "out", of that its JSON in "json"; sets client_status, and returns it.
by_client() {
	client_status=0
	timeout 60 fio --output-format=json "$@" >out 2>&1 || client_status=$?
	# shellcheck disable=SC2086 # pids
	kill $servers
	for server in $servers; do
		wait "$server" 2>/dev/null
	done
	servers=
	cat out
	sed -n '/^{/,/^}/p' out >json
	return "$client_status"
}
