# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What run.sh, sweep.sh and compare.sh share: where the engine is, lists and units
# of the command line, the time left. The script that reads this sets $here, its
# folder, and $me, its name in messages.

# As ENGINE says, else as built in this tree, else as installed.
find_engine() {
	if [ -z "${ENGINE-}" ] && [ -e "${here:?}/../fio-rdma_batch.so" ]; then
		echo "$here/../fio-rdma_batch.so"
	else
		echo "${ENGINE:-${here:?}/../build/engine/fio-rdma_batch.so}"
	fi
}

# Sets $engine to its whole path.
need_engine() {
	engine=$(find_engine)
	[ -f "$engine" ] ||
		die "there is no engine $engine: sh jobs/quickstart.sh builds one, or set ENGINE=" 2
	engine=$(realpath "$engine")
}

die() { # SENTENCE [STATUS]
	echo "${me:?}: $1" >&2
	exit "${2:-1}"
}

say() {
	echo "$me: $*"
}

# engine_says FILE...: the first line in which the engine tells of a failure.
engine_says() {
	grep -h '^rdma_batch: ' "$@" 2>/dev/null |
		grep -vE ': (ops=|port=|listening on |client .* (is here|has gone))' |
		grep -vE 'makes fio reap|were wanted|may be read by everyone' |
		head -n 1
}

need() { # PROGRAM...
	for program; do
		command -v "$program" >/dev/null ||
			die "$program is not installed; as root: jobs/deps.sh fio report" 2
	done
}

# list OPTION WORDS: the words one by one, which commas or blanks divide.
list() {
	words=$(echo "$2" | tr ',' ' ' | xargs)
	[ -n "$words" ] || die "$1 needs at least one value" 2
	echo "$words"
}

numbers() { # OPTION WORDS: whole numbers above 0
	words=$(list "$1" "$2") || exit
	for word in $words; do
		case $word in
		*[!0-9]* | 0*) die "$1: '$word' is not a whole number above 0" 2 ;;
		esac
	done
	echo "$words"
}

to_bytes() { # SIZE, with k, m or g or without; fails on anything else
	case ${1%[kKmMgG]} in
	'' | *[!0-9]* | 0*) return 1 ;;
	esac
	case $1 in
	*[kK]) echo $((${1%?} * 1024)) ;;
	*[mM]) echo $((${1%?} * 1048576)) ;;
	*[gG]) echo $((${1%?} * 1073741824)) ;;
	*) echo "$1" ;;
	esac
}

sizes_in_bytes() { # OPTION WORDS
	words=$(list "$1" "$2") || exit
	bytes=
	for word in $words; do
		bytes="$bytes $(to_bytes "$word")" ||
			die "$1: '$word' is not a size; give 64, 4k or 1m" 2
	done
	echo "${bytes# }"
}

to_ms() { # OPTION TIME: seconds, or with ms or s
	case ${2%s} in
	*[!0-9m]* | '' | m) die "$1: '$2' is not a time; give 2, 2s or 500ms" 2 ;;
	esac
	case $2 in
	*ms) echo "${2%ms}" ;;
	*m*) die "$1: '$2' is not a time; give 2, 2s or 500ms" 2 ;;
	*) echo $((${2%s} * 1000)) ;;
	esac
}

size_name() { # BYTES: 64, 4k, 1m
	if [ $(($1 % 1048576)) = 0 ]; then
		echo "$(($1 / 1048576))m"
	elif [ $(($1 % 1024)) = 0 ]; then
		echo "$(($1 / 1024))k"
	else
		echo "$1"
	fi
}

duration() { # SECONDS in words
	if [ "$1" -ge 120 ]; then
		echo "$((($1 + 30) / 60)) min"
	else
		echo "$1 s"
	fi
}

# time_left BEGAN DONE LEFT: from the pace so far
time_left() {
	[ "$2" -gt 0 ] || return 0
	duration $((($(date +%s) - $1) * $3 / $2))
}
