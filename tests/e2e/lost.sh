#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs guest-lost.sh in two guests and does to them, through QEMU's monitor, what
# lines "host: WHAT GUEST" of their output ask for: stop and cont freeze and
# thaw a guest, unplug and plug its network.
#
# usage: lost.sh [PART...]    see guest-lost.sh

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The monitor does a command when it has read all of it, and forgets it when the
# caller hangs up before: wait for the next prompt.
monitor() { # GUEST COMMAND
	perl -MIO::Socket::UNIX -e '
		my ($path, $command) = @ARGV;
		my $monitor = IO::Socket::UNIX->new(Peer => $path)
			or die "lost.sh: $path: $!\n";
		alarm(10);
		for my $send ("", "$command\n") {
			syswrite($monitor, $send);
			my $said = "";
			until ($said =~ /\(qemu\) $/) {
				sysread($monitor, $said, 4096, length($said))
					or die "lost.sh: $path: it hung up\n";
			}
		}
	' "$work/guest$1.sock" "$2"
}

obey() { # WHAT GUEST
	case $1 in
	stop | cont) monitor "$2" "$1" ;;
	unplug) monitor "$2" 'set_link net off' ;;
	plug) monitor "$2" 'set_link net on' ;;
	*) echo "lost.sh: what is $1?" >&2 ;;
	esac
}

{
	VM_MONITOR_DIR=$work sh "$here/vm.sh" --guests 2 \
		"$here/guest-lost.sh" "$@"
	echo $? >"$work/status"
} | while IFS= read -r line; do
	printf '%s\n' "$line"
	case $line in
	*'# host: '*)
		# shellcheck disable=SC2086 # words on purpose
		obey ${line##*host: }
		;;
	esac
done
exit "$(cat "$work/status")"
