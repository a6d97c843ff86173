#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs what the project needs from Debian or Ubuntu, as root.
#
# usage: deps.sh GROUP...
#   build   what ./configure and make need
#   fio     fio itself, and jq to read its JSON
#   report  what makes reports and plots of jobs/sweep.sh and jobs/compare.sh
#   guest   what tests/e2e/vm.sh boots its soft-RoCE guests from
#   check   what the tests and the code checks need
#   package what tests/packages/debian.sh builds and tries packages with
#
# Says nothing and changes nothing when all of it is there.
# exit: 0 all there, 1 could not install, 2 wrong usage

build='gcc make autoconf automake libtool pkg-config libibverbs-dev
	librdmacm-dev libssl-dev dpkg-dev xz-utils'
fio='fio jq'
report='python3 gnuplot-nox perftest'
guest='qemu-system-x86 busybox-static kmod cpio xz-utils iproute2 dash procps
	util-linux ibverbs-providers ibverbs-utils rdmacm-utils perftest
	iputils-ping strace jq'
check='libcmocka-dev clang clang-format clang-tidy cppcheck valgrind shellcheck
	codespell python3 g++ jq'
package='debhelper dpkg-dev lintian debootstrap util-linux'

die() {
	echo "deps.sh: $1" >&2
	exit "${2:-1}"
}

installed() { # NAME...: those of the named packages that are installed
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p'
}

missing() { # NAME...: those that are not
	there=$(installed "$@")
	for name; do
		echo "$there" | grep -qxF "$name" || echo "$name"
	done | sort -u
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq \
		-o DPkg::Lock::Timeout=300 "$@"
}

known() { # NAME...: whether the package lists offer all of them
	for name; do
		apt-cache show "$name" >/dev/null 2>&1 || return 1
	done
}

apt_install() { # NAME...
	apt install -y --no-install-recommends "$@" >/dev/null
}

provide() { # NAME...
	# shellcheck disable=SC2046 # names of packages hold no blanks
	set -- $(missing "$@")
	[ $# -gt 0 ] || return 0

	command -v apt-get >/dev/null ||
		die "this is not Debian or Ubuntu; please install what it calls: $*"
	[ "$(id -u)" = 0 ] ||
		die "not root; please run as root: apt-get install $*"

	echo "deps.sh: installing $*"
	if known "$@" && apt_install "$@"; then
		return
	fi
	if ! apt update || ! apt_install "$@"; then
		die "apt could not install: $*"
	fi
}

# The sanitizers' runtime has the compiler's version in its name, and is a part
# of another package on some releases.
clang_runtime() {
	version=$(clang --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
	name=libclang-rt-$version-dev
	[ -n "$(installed "$name")" ] || known "$name" || return 0
	echo "$name"
}

[ $# -gt 0 ] || die 'usage: deps.sh build|fio|report|guest|check|package ...' 2

wanted=
for group; do
	case $group in
	build) wanted="$wanted $build" ;;
	fio) wanted="$wanted $fio" ;;
	report) wanted="$wanted $report" ;;
	guest) wanted="$wanted $guest" ;;
	check) wanted="$wanted $check" ;;
	package) wanted="$wanted $package" ;;
	*) die "no group '$group'; there are build, fio, report, guest, check and package" 2 ;;
	esac
done

# shellcheck disable=SC2086 # names of packages hold no blanks
provide $wanted
case " $* " in
*' check '*)
	runtime=$(clang_runtime)
	[ -z "$runtime" ] || provide "$runtime"
	;;
esac
