#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # vm.sh sets the variables
#
# What a guest of vm.sh boots: a kernel from Debian's archive and an initramfs,
# of which the parts that seldom change are kept in a cache. Read by vm.sh,
# which sets $cache, $work, $root and the VM_* variables, and has `die`.
#
# A kernel unpacks archives that follow each other in one file, so the image is
# three cpio archives: modules, programs, and what belongs to this run. They are
# not compressed: that would cost an emulated CPU more than it saves.

# Loaded at boot, or by the guest's kernel and modprobe when asked for.
modules='crc32_generic crc32_pclmul crc32c_generic virtio_pci virtio_net
	virtio_console ib_uverbs rdma_ucm rdma_rxe veth dummy 8021q macvlan bridge ifb
	sch_netem sch_tbf sch_prio sch_ingress cls_u32 cls_matchall act_mirred'

# Their programs stand before busybox's of the same name.
program_packages='bash coreutils dash diffutils findutils grep iproute2 kmod
	iputils-ping mawk procps sed util-linux'
programs='bash dash awk jq strace rping ibv_devinfo ibv_devices
	ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat'

cache_store() { # PATH NAME: keeps a finished PATH; a reader sees all or nothing
	rm -rf "$cache/new"
	if ! mv -T "$1" "$cache/new" || ! mv -T "$cache/new" "$cache/$2"; then
		die "cannot write to the cache $cache"
	fi
}

archive() { # DIR: writes it as a cpio archive
	(cd "$1" && find . | LC_ALL=C sort |
		cpio -o -H newc -R 0:0 --quiet --reproducible)
}

#
# Kernel
#

apt_private() { # CMD...: apt over lists of its own in $work, as root or not
	tool=$1
	shift
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	"$tool" -o Dir::State::Lists="$work/apt/lists" \
		-o Dir::Cache="$work/apt/cache" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User="$(id -un)" "$@"
}

apt_suite() { # CMD...: the same, over the one source in $work/apt/sources.list
	tool=$1
	shift
	apt_private "$tool" -o Dir::Etc::SourceList="$work/apt/sources.list" \
		-o Dir::Etc::SourceParts=- "$@"
}

kernel_package() { # RUNNER...: the newest kernel package its lists offer
	"$@" apt-cache pkgnames linux-image- |
		grep -E "^linux-image-$VM_KERNEL\.[0-9]+[^-]*(-[0-9]+)?-amd64\$" |
		sort -V | tail -n 1
}

download_kernel() { # RUNNER...: into $work/deb
	package=$(kernel_package "$@")
	[ -n "$package" ] || return 1
	mkdir -p "$work/deb"
	(cd "$work/deb" && "$@" apt-get -qq -o APT::Sandbox::User="$(id -un)" \
		download "$package" >&2)
}

debian_mirror() { # the first that this machine uses
	apt-get update --print-uris |
		sed -n "s|^'\([^']*/debian\(/[0-9TZ]*\)*/*\)/dists/.*|\1|p" |
		head -n 1
}

# That mirror, and the release known for each kernel.
write_suite() {
	case $VM_KERNEL in
	6.1) suite=bookworm ;;
	6.12) suite=trixie ;;
	*) return 1 ;;
	esac
	mkdir -p "$work/apt"
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || return 1
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$keys] $mirror $suite main" \
		>"$work/apt/sources.list"
}

obtain_kernel() { # as the lists stand, then up to date, then another release
	download_kernel env 2>/dev/null && return
	apt_private apt-get -qq update >&2 &&
		download_kernel apt_private && return
	rm -rf "$work/apt/lists"
	write_suite && apt_suite apt-get -qq update >&2 &&
		download_kernel apt_suite
}

trim_modules() { # DIR: drops what no guest has hardware for
	for part in sound drivers/gpu drivers/media drivers/net/wireless \
		drivers/net/ethernet drivers/iio drivers/staging \
		drivers/scsi drivers/usb drivers/hwmon; do
		rm -rf "$1"/*/kernel/"$part"
	done
}

# kernel-VERSION/ in the cache: vmlinuz, and lib/modules as modprobe reads it.
prepare_kernel() {
	kernel=$cache/kernel-$VM_KERNEL
	[ ! -d "$kernel" ] || return 0

	echo "vm.sh: fetching a $VM_KERNEL kernel into $cache" >&2
	obtain_kernel ||
		die "no Debian package of kernel $VM_KERNEL can be had through apt"
	dpkg -x "$work"/deb/*.deb "$work/unpacked"
	new=$work/kernel
	mkdir -p "$new/lib"
	mv "$work"/unpacked/boot/vmlinuz-* "$new/vmlinuz"
	mv "$work"/unpacked/lib/modules "$new/lib/" 2>/dev/null ||
		mv "$work"/unpacked/usr/lib/modules "$new/lib/"
	trim_modules "$new/lib/modules"
	depmod -b "$new" "$(ls "$new/lib/modules")"
	cache_store "$new" "kernel-$VM_KERNEL"
}

#
# Modules
#

module_files() { # the files of $modules and of all they depend on
	for module in $modules; do
		modprobe -d "$kernel" -S "$release" --show-depends "$module" \
			2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

unpack_module() { # FILE TARGET: without its compression
	case $1 in
	*.xz) xz -dc "$1" >"${2%.xz}" ;;
	*.zst) zstd -qdc "$1" >"${2%.zst}" ;;
	*) cp "$1" "$2" ;;
	esac
}

build_modules() { # NAME
	tree=$work/modules
	mkdir -p "$tree/usr/lib/modules/$release"
	ln -s usr/lib "$tree/lib"
	for file in $(module_files); do
		target=$tree/lib/modules/$release/${file##*/modules/"$release"/}
		mkdir -p "${target%/*}"
		unpack_module "$file" "$target"
	done
	cp "$kernel/lib/modules/$release"/modules.order \
		"$kernel/lib/modules/$release"/modules.builtin* \
		"$tree/lib/modules/$release/"
	depmod -b "$tree" "$release"
	archive "$tree" >"$work/modules.cpio"
	cache_store "$work/modules.cpio" "$1"
}

prepare_modules() {
	release=$(ls "$kernel/lib/modules")
	key=$(echo "$modules" | cksum | cut -d ' ' -f 1)
	modules_cpio=modules-$release-$key.cpio
	[ -f "$cache/$modules_cpio" ] || build_modules "$modules_cpio"
}

#
# Programs
#

base_programs() {
	for program in $programs; do
		command -v "$program"
	done
	for package in $program_packages; do
		dpkg -L "$package" 2>/dev/null | grep -E '^/[^ ]*/?s?bin/[^/ ]+$'
	done
	ls /usr/lib/*/libibverbs/librxe*.so
	echo "$fio"
}

libraries() { # FILE...: the libraries these are linked with
	ldd "$@" 2>/dev/null | awk '
		$2 == "=>" && $3 ~ /^\// { print $3 }
		$1 ~ /^\// && $2 ~ /^\(/ { print $1 }' |
		sed 's|^/lib|/usr/lib|' | sort -u
}

put() { # TREE FILE...: files and their libraries, each at its own path
	tree=$1
	shift
	# shellcheck disable=SC2046 # paths of libraries hold no blanks
	cp -L --remove-destination --parents "$@" $(libraries "$@") "$tree" ||
		die "cannot copy for the guest: $*"
}

make_root() { # TREE: directories as on a merged-/usr system
	mkdir -p "$1/usr/bin" "$1/usr/sbin" "$1/usr/lib" "$1/usr/lib64" \
		"$1/usr/local/bin" "$1/etc/libibverbs.d" "$1/proc" "$1/sys" \
		"$1/dev" "$1/tmp" "$1/root" "$1/run" "$1/var" "$1/vm"
	chmod 1777 "$1/tmp"
	for name in bin sbin lib lib64; do
		ln -s "usr/$name" "$1/$name"
	done
}

build_base() { # NAME
	tree=$work/base
	make_root "$tree"
	cp /bin/busybox "$tree/usr/bin/"
	for applet in $(busybox --list | grep -vx busybox); do
		ln -s busybox "$tree/usr/bin/$applet"
	done
	# /usr/sbin stands first in the guest's PATH, so its programs win too.
	# shellcheck disable=SC2046 # paths of programs hold no blanks
	put "$tree" $(base_programs | sort -u)
	# While the kernel boots it would call this a dozen times, in vain.
	rm "$tree/usr/sbin/modprobe"
	ln -sf dash "$tree/usr/bin/sh"
	ln -sf "$fio" "$tree/usr/local/bin/fio"
	cp /etc/libibverbs.d/rxe.driver "$tree/etc/libibverbs.d/"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$tree/etc/passwd"
	echo 'root:x:0:' >"$tree/etc/group"
	echo 'hosts: files' >"$tree/etc/nsswitch.conf"
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' \
		'10.0.0.1 guest1' '10.0.0.2 guest2' \
		'fd00::1 guest1' 'fd00::2 guest2' >"$tree/etc/hosts"
	cat >"$tree/etc/fstab" <<-END
		proc /proc proc defaults 0 0
		sys /sys sysfs defaults 0 0
		shm /dev/shm tmpfs mode=1777 0 0
		pts /dev/pts devpts defaults 0 0
		huge /dev/hugepages hugetlbfs defaults 0 0
	END
	archive "$tree" >"$work/base.cpio"
	cache_store "$work/base.cpio" "$1"
}

prepare_base() {
	# Any change of an installed package touches dpkg's status file. Clones
	# of this tree share what they make of the same packages.
	key=$({ stat -L -c '%n %s %Y' "$fio" /var/lib/dpkg/status &&
		cat "$root/tests/e2e/vm-image.sh"; } | cksum | cut -d ' ' -f 1)
	base_cpio=base-$key.cpio
	[ -f "$cache/$base_cpio" ] || build_base "$base_cpio"
	touch "$cache/$base_cpio"
	find "$cache" -maxdepth 1 -name 'base-*.cpio' -mtime +3 -delete
}

#
# This run
#

quote() { # ARG...: as words of shell
	for word; do
		printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")"
	done
}

script_path() { # SCRIPT: where the guest finds it
	case $1 in
	"$root"/*) echo "/src/${1#"$root"/}" ;;
	*) echo "/root/${1##*/}" ;;
	esac
}

put_interpreter() { # TREE SCRIPT: the program its first line names
	line=$(head -n 1 "$2" | tr -d '\0' | sed -n 's/^#! *//p')
	# shellcheck disable=SC2086 # split into its words
	set -- "$1" $line
	case ${2-} in
	'') return ;;
	*/env) program=$(command -v "${3-}") ;;
	*) program=$2 ;;
	esac
	[ ! -x "$program" ] || put "$1" "$program"
}

put_engine() { # TREE
	[ -n "$engine" ] || return 0
	mkdir -p "$1/src/engine"
	cp -L "$engine" "$1/src/engine/fio-rdma_batch.so"
	for file in $(libraries "$engine"); do
		put "$1" "$file"
	done
	echo 'export ENGINE=/src/engine/fio-rdma_batch.so' >>"$1/vm/env"
}

put_extra() { # TREE FILE...: absolute paths; directories as they are
	tree=$1
	shift
	for file; do
		case $file in
		/*) [ -e "$file" ] || die "there is no file $file" ;;
		*) die "VM_FILES takes absolute paths, not $file" ;;
		esac
		if [ -d "$file" ]; then
			mkdir -p "$tree${file%/*}"
			cp -a "$file" "$tree${file%/*}/"
		else
			put "$tree" "$file"
		fi
	done
}

build_run() { # SCRIPT ARG...
	script=$1
	shift
	tree=$work/run
	make_root "$tree"
	mkdir -p "$tree/src/tests"
	cp -a "$root/jobs" "$tree/src/"
	cp -a "$root/tests/e2e" "$tree/src/tests/"
	cp "$root/tests/e2e/vm-init" "$tree/init"
	echo "$token" >"$tree/vm/token"
	printf 'export %s\n' JOBS=/src/jobs "FIO='$fio'" >"$tree/vm/env"
	put_engine "$tree"
	put_interpreter "$tree" "$script"
	# shellcheck disable=SC2086 # a list of paths
	put_extra "$tree" ${VM_FILES-}

	there=$(script_path "$script")
	mkdir -p "$tree${there%/*}"
	cp -L "$script" "$tree$there"
	# The guest's number comes first, and is known in the guest only.
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nexec %s "$1"%s\n' "$(quote "$there")" \
		"$(quote "$@")" >"$tree/vm/run"
	chmod 755 "$tree/init" "$tree/vm/run" "$tree$there"
	archive "$tree" >"$work/run.cpio"
}

# Leaves $kernel/vmlinuz and $work/initramfs. One run at a time fills the cache.
prepare_image() { # SCRIPT ARG...
	exec 9>"$cache/lock"
	flock 9
	prepare_kernel
	prepare_modules
	prepare_base
	build_run "$@"
	cat "$cache/$modules_cpio" "$cache/$base_cpio" "$work/run.cpio" \
		>"$work/initramfs"
	exec 9>&-
}
