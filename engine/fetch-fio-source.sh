#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Gets fio's source package and configures it, for ./configure --with-fio=DIR:
# the release that is installed, or the one that is asked for. For Debian and
# Ubuntu. Uses the machine's own archives and keyrings through a private copy
# of apt's lists; changes nothing of the system.
#
#	sh engine/fetch-fio-source.sh [--release X.YY|SUITE] DIR
set -u

usage='usage: fetch-fio-source.sh [--release X.YY|SUITE] DIR'

die()
{
	echo "fetch-fio-source.sh: $*" >&2
	exit 1
}

release=
while :; do
	case ${1-} in
	--release)
		[ $# -ge 2 ] || die "$usage"
		release=$2
		shift 2
		;;
	--help)
		echo "$usage"
		exit 0
		;;
	-*) die "unknown option $1; $usage" ;;
	*) break ;;
	esac
done
dir=${1-}
case $#$dir in
1?*) ;;
*) die "$usage" ;;
esac

# What is wanted: an upstream version, or whatever a suite has.
suite=
case $release in
'')
	version=$(fio --version 2>/dev/null) ||
		die "fio is not installed: install it, or name a release with" \
			"--release X.YY"
	version=${version#fio-}
	case $version in
	*[!0-9.]*) die "the installed fio calls itself fio-$version, which is" \
		"no release: give ./configure --with-fio the tree that it was" \
		"built from" ;;
	esac
	;;
[0-9]*) version=$release ;;
*) version='' suite=$release ;;
esac

say_next()
{
	echo "fio-$have is ready. Next, where you build:"
	echo "	./configure --with-fio=$(cd "$dir" && pwd)"
	exit 0
}

have=$(sed -n 's/^DEF_VER=fio-//p' "$dir/FIO-VERSION-GEN" 2>/dev/null)
if [ -e "$dir/config-host.h" ] && [ -n "$have" ] &&
	{ [ -n "$suite" ] || [ "$have" = "$version" ]; }; then
	say_next
fi
if [ -d "$dir" ]; then
	rmdir "$dir" 2>/dev/null ||
		die "$dir is there already and is not a configured tree of" \
			"fio ${version:-of $suite}: remove it, or name another"
fi

for tool in apt-get apt-cache apt-config dpkg-source make cc; do
	command -v $tool >/dev/null ||
		die "needs $tool: this script is for Debian and Ubuntu with" \
			"dpkg-dev, make and a compiler installed; elsewhere unpack" \
			"fio's release by hand and run ./configure --disable-native" \
			"in it"
done
list='' parts=''
eval "$(apt-config shell list Dir::Etc::sourcelist/f \
	parts Dir::Etc::sourceparts/d)" || die "apt-config failed"

mkdir -p "$(dirname "$dir")" || die "cannot make $(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX") || die "cannot write to $(dirname "$dir")"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
work=$(cd "$work" && pwd)
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"

# Clears the hooks that a system may run after an update.
cat >"$work/apt.conf" <<-CONF
	#clear APT::Update;
	#clear DPkg;
	Dir::Etc::sourcelist "/dev/null";
	Dir::Etc::sourceparts "$work/sources";
	Dir::State::lists "$work/lists";
	Dir::Cache "$work/cache";
	Dir::Cache::pkgcache "";
	Dir::Cache::srcpkgcache "";
	Acquire::Languages "none";
	Acquire::http::Timeout "30";
	Acquire::https::Timeout "30";
	APT::Sandbox::User "$(id -un)";
CONF

# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
# shellcheck source=/dev/null
distribution=$(. /etc/os-release && echo "$ID")
suites_re="\\($codename\\|stable\\|testing\\|unstable\\|sid\\)"

# add_sources TAG SUITE: the machine's archives as source archives, with its
# suite replaced by SUITE unless that is empty.
add_sources()
{
	for file in "$list" "$parts"/*.list "$parts"/*.sources; do
		[ -f "$file" ] || continue
		grep -q "[[:space:]]$suites_re\\([[:space:]]\\|\$\\)" "$file" ||
			continue
		sed -e 's/^Types:.*/Types: deb-src/' \
			-e 's/^deb\(-src\)\{0,1\}\([[:space:]]\)/deb-src\2/' \
			${2:+-e "s/\\([[:space:]]\\)$suites_re/\\1$2/g"} \
			"$file" >"$work/sources/$1-${file##*/}"
	done
}

if [ -n "$suite" ]; then
	add_sources "$suite" "$suite"
else
	add_sources own ''
	if [ -n "$release" ] && [ "$distribution" = debian ]; then
		for other in oldstable stable stable-backports testing unstable; do
			add_sources $other $other
		done
	elif [ -n "$release" ]; then
		add_sources devel devel
	fi
fi
[ -n "$(ls "$work/sources")" ] ||
	die "apt's configuration names no archive of $codename"

# A suite may lack an archive that another one has, so only what comes of it
# is judged.
apt-get -c "$work/apt.conf" -q update >"$work/log" 2>&1
found=$(apt-cache -c "$work/apt.conf" showsrc fio 2>/dev/null |
	sed -n 's/^Version: //p' | sort -Vu |
	grep -E "^([0-9]+:)?${version:-[0-9.]+}([-+~]|\$)" | tail -n 1)
if [ -z "$found" ]; then
	sed -n 's/^[EW]: /	/p' "$work/log" >&2
	die "no source package of fio ${version:+$version }in the archives of" \
		"$(cat "$work"/sources/* | sed -n \
			-e 's/^Suites: *//p' -e 's/^deb-src .*:[^ ]* \([^ ]*\) .*/\1/p' |
			tr ' ' '\n' | sort -u | tr '\n' ' ')"
fi

# Upstream's tarball alone, where an archive has lost the rest of the package.
# The signed index of the archive names it with its checksum.
get_tarball()
{
	apt-get -c "$work/apt.conf" -q source --print-uris "fio=$found" |
		tr -d "'" | grep '\.orig\.tar\.[a-z0-9]* ' >"$work/uri" || return
	read -r uri name _ hash <"$work/uri" && [ -n "$hash" ] &&
		/usr/lib/apt/apt-helper -c "$work/apt.conf" download-file \
			"$uri" "$work/$name" "$hash" &&
		tar -C "$work" -xf "$work/$name" && rm "$work/$name"
}

(cd "$work" && apt-get -c "$work/apt.conf" -q source "fio=$found") \
	>"$work/log" 2>&1 ||
	get_tarball >"$work/log-tarball" 2>&1 ||
	die "apt-get source fio=$found failed: $(grep -m 1 ^E: "$work/log");" \
		"and its tarball alone: $(grep -m 1 ^E: "$work/log-tarball")"

tree=$(ls -d "$work"/fio-*/)
[ -f "$tree/ioengines.h" ] ||
	die "the source package of fio $found holds no tree of fio"
have=$(sed -n 's/^DEF_VER=fio-//p' "$tree/FIO-VERSION-GEN")
(cd "$tree" && ./configure --disable-native) >"$work/log" 2>&1 ||
	die "fio's ./configure failed: $(tail -n 1 "$work/log")"
mv "$tree" "$dir" || die "cannot move the tree to $dir"
say_next
