#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: connections are set up while each call of it fails in turn, on
# both sides, and a thousand times over. Every failure is told and undone.
#
# usage: guest-setup.sh N SETUP [CYCLES]    SETUP: the program built from setup.c

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.sh"

setup=$2
nr_cycles=${3:-1000}
before=$(resources)

# shows CMD...: with its last lines shown as comments
shows() {
	description=$1
	shift
	clocked ok "$description" timeout 300 "$setup" "$@"
	grep -E ' (points|cycles)[ ,]|^(cycles|descriptors)' "$tap_output" |
		sed 's/^/# /'
	note "took $took ms"
}

# The device and the CM in use for the first time stay loaded.
ok 'a connection' timeout 60 "$setup" cycles "$ADDR" 150
before=$(resources)
shows 'each call of set-up fails, one at a time' sweep "$ADDR"
ok 'the device holds what it held before' as_before
shows 'each function of set-up fails whenever called' always "$ADDR"
ok 'the device holds what it held before' as_before
shows "$nr_cycles connections to one target" cycles "$ADDR" "$nr_cycles"
ok 'the device holds what it held before' as_before
finish
