#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Includes go one way. In lib/ a file includes its own header and those of
# lower levels; the engine takes wrb.h from lib/, and memdev.h in one file.

set -u
cd "$top_srcdir" || exit 1
status=0

# The level of a file of lib/, by its name without ending.
level() {
	case $1 in
	compiler | verbs_errno | wrb | wr_id) echo 0 ;;
	op_table | region | log | limits | memdev) echo 1 ;;
	plan | plan_*) echo 2 ;;
	lane) echo 3 ;;
	flight) echo 4 ;;
	drain) echo 5 ;;
	post | complete) echo 6 ;;
	queue) echo 7 ;;
	submit) echo 8 ;;
	*) echo none ;;
	esac
}

# Whether FILE of lib/ (without ending) may include HEADER (likewise).
lib_allows() {
	case $1:$2 in
	wrb:* | compiler:* | verbs_errno:* | wr_id:*) return 1 ;; # these stand alone
	*:memdev) [ "$1" = memdev ] && return 0 || return 1 ;;
	memdev:*) [ "$2" = compiler ] && return 0 || return 1 ;;
	plan_*:plan) return 0 ;;
	plan:*) case $2 in op_table | wrb | compiler) return 0 ;; esac && return 1 ;;
	esac
	[ "$1" = "$2" ] || [ "$(level "$2")" -lt "$(level "$1")" ]
}

engine_allows() {
	case $1:$2 in
	*:wrb.h | transport_memory.c:memdev.h | fio_api.h:*) return 0 ;;
	esac
	[ -f "engine/$2" ]
}

included() {
	sed -n 's/^#[[:space:]]*include[[:space:]]*"\(.*\)".*/\1/p' "$1"
}

refuse() {
	echo "$1 must not include \"$2\""
	status=1
}

for file in lib/*.[ch]; do
	name=$(basename "$file" | sed 's/\.[ch]$//')
	if [ "$(level "$name")" = none ]; then
		echo "$file has no level here: give it one"
		status=1
		continue
	fi
	for header in $(included "$file"); do
		lib_allows "$name" "${header%.h}" || refuse "$file" "$header"
	done
done
for file in engine/*.[ch]; do
	[ -f "$file" ] || continue
	for header in $(included "$file"); do
		engine_allows "${file#engine/}" "${header#../lib/}" ||
			refuse "$file" "$header"
	done
done
exit $status
