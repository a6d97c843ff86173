#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The Debian packages: built from a copy of the tree, looked at by lintian,
# installed on a Debian 12 that has nothing else, used there, and removed. As
# root. TAP on stdout.
#
# usage: debian.sh [check]    check: with `make check` while it builds
#
# environment: FIO_SOURCE, a configured source of the installed fio
# (build/fio); VM_CACHE, where the clean Debian is kept
# (~/.cache/fio-rdma-batch); to renew it, delete debian-12.tar in it

# Most functions are called by name, through ok().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/e2e/lib.sh
. "$top/tests/e2e/lib.sh"
# shellcheck source=tests/e2e/vm-image.sh
. "$top/tests/e2e/vm-image.sh" # debian_mirror

suite=bookworm
export FIO_SOURCE="${FIO_SOURCE:-$top/build/fio}"
cache=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fio-rdma-batch}
mkdir -p "$cache" || exit 1
[ "$(id -u)" = 0 ] || skip_all 'needs root, for the clean Debian'
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work" "$tap_output"' EXIT
root=$work/root

# Files that git knows, or all that an unpacked distribution has.
copy_tree() {
	mkdir "$work/tree" && cd "$top" || return 1
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f -not -path './build*'
	fi | while read -r file; do
		[ ! -e "$file" ] || cp -a --parents "$file" "$work/tree" || return 1
	done
}

build_packages() {
	cd "$work/tree" && DEB_BUILD_OPTIONS="parallel=$(nproc) $1" \
		timeout 900 dpkg-buildpackage -us -uc -b
}

nr_packages() {
	cd "$work" && find . -maxdepth 1 -name '*.deb' -not -name '*dbgsym*' |
		tee names
	[ "$(wc -l <names)" = 3 ]
}

# The release, and no other: 3.33 may be 3.33-2, not 3.33.1 or 3.34.
depends_on_fio() {
	release=$(fio --version | sed 's/^fio-//')
	dpkg-deb -f "$work"/fio-rdma-batch_*.deb Depends | tee "$work/depends"
	grep -q "fio (>= $release), fio (<< $release\.0~)" "$work/depends"
}

# Hints are shown, and let through. That a first upload closes a bug is a rule
# of Debian's own archive.
lint_packages() {
	cd "$work" && timeout 120 lintian --allow-root --display-info \
		--suppress-tags initial-upload-closes-no-bugs \
		--fail-on error,warning ./*.changes
}

library_alone() {
	rm -rf "$work/tree" && copy_tree && cd "$work/tree" &&
		DEB_BUILD_OPTIONS="parallel=$(nproc) nocheck" timeout 300 \
			dpkg-buildpackage -us -uc -b \
			-Ppkg.fio-rdma-batch.noengine &&
		! grep '^fio-rdma-batch_[^ ]*\.deb' debian/files
}

# in_root COMMAND...: in the clean Debian, with what a system has mounted; the
# mounts vanish with the command.
in_root() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --pid --fork sh -c '
		mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
			mount -t tmpfs tmp "$0/dev/shm" &&
			exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin HOME=/root \
				DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"' \
		"$root" "$@"
}

# This machine's archives and how it reaches them, for apt in the clean Debian.
take_sources() {
	rm -f "$root/etc/apt/sources.list"
	for file in sources.list sources.list.d/debian.sources; do
		[ ! -e "/etc/apt/$file" ] || cp "/etc/apt/$file" "$root/etc/apt/$file"
	done
	apt-config dump --format '%f "%v";%n' Acquire |
		sed '/^Acquire "/d' >"$root/etc/apt/apt.conf.d/99host"
	for file in resolv.conf hosts; do
		cat "/etc/$file" >"$root/etc/$file"
	done
}

clean_debian() {
	if [ ! -e "$cache/debian-12.tar" ]; then
		timeout 600 debootstrap --variant=minbase \
			--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
			"$suite" "$root" "$(debian_mirror)" || return 1
		rm -f "$root"/var/cache/apt/archives/*.deb
		tar -C "$root" -cf "$work/debian-12.tar" . &&
			mv "$work/debian-12.tar" "$cache/debian-12.tar" || return 1
	else
		mkdir "$root" && tar -C "$root" -xf "$cache/debian-12.tar" ||
			return 1
	fi
	take_sources
}

installs() {
	mkdir "$root/debs" && cp "$work"/*.deb "$root/debs" &&
		rm -f "$root"/debs/*dbgsym* &&
		in_root timeout 120 apt-get -q update &&
		in_root sh -c 'timeout 400 apt-get -q -y \
			--no-install-recommends install /debs/*.deb'
}

quickstart_runs() {
	# shellcheck disable=SC2016 # for the shell there
	in_root sh -c '
		engine=$(ls /usr/lib/*/fio/fio-rdma_batch.so) && cd /tmp &&
			ENGINE=$engine timeout 100 sh \
				/usr/share/fio-rdma-batch/jobs/run.sh \
				/usr/share/fio-rdma-batch/jobs/quickstart.fio &&
			timeout 60 fio --name=j --ioengine="external:$engine" \
				--transport=memory --rw=randwrite --bs=4k --size=4m \
				--iodepth=16 --verify=crc32c --verify_state_save=0
	' >"$work/job.log" 2>&1
	job_status=$?
	cat "$work/job.log"
	[ "$job_status" = 0 ] && grep -q 'WRs/doorbell=16.00' "$work/job.log"
}

# No ENGINE: the scripts find the installed one.
finds_its_engine() {
	in_root sh -c 'cd /tmp && timeout 100 sh \
		/usr/share/fio-rdma-batch/jobs/run.sh \
		/usr/share/fio-rdma-batch/jobs/verify.fio'
}

# The names of all that the packages hold, without folders.
package_files() {
	for deb in "$root"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$'
	done | sed 's|^\.||'
}

nothing_is_left() {
	package_files >"$work/files"
	[ "$(wc -l <"$work/files")" -gt 40 ] || return 1
	in_root apt-get -q -y purge fio-rdma-batch libwrb-dev libwrb0 || return 1
	rm -rf "$root/debs"
	while read -r file; do
		[ ! -e "$root$file" ] && [ ! -h "$root$file" ] ||
			{ echo "$file is left" && return 1; }
	done <"$work/files"
	left=$(find "$root" -xdev \( -name '*rdma?batch*' -o -name '*wrb*' \) \
		-not -path '*/var/log/*')
	echo "$left"
	[ -z "$left" ]
}

for program in dpkg-buildpackage dh lintian debootstrap unshare fio; do
	command -v $program >/dev/null ||
		skip_all "$program is not installed; as root: jobs/deps.sh fio package"
done
check=nocheck
[ "${1-}" != check ] || check=
ok 'a copy of the tree' copy_tree || finish
ok 'dpkg-buildpackage' build_packages $check || finish
ok 'three packages' nr_packages
ok 'the engine depends on the release of fio that it was built for' \
	depends_on_fio
ok 'lintian has no error and no warning' lint_packages
sed 's/^/# /' "$tap_output"
ok 'a clean Debian 12' clean_debian || finish
ok 'the packages are installed' installs || finish
ok 'the quickstart job runs, in memory, verified' quickstart_runs
ok 'its scripts find the engine' finds_its_engine
ok 'after removal nothing is left' nothing_is_left
ok 'the library alone, without fio' library_alone
finish
