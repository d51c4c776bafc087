# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds the build trees, and builds them if they are out of date.
#
#   VNET_TREE        use this finished build, and build nothing (the tests do so)
#   VNET_BUILD_DIR   build below this directory
#   VNET_PRESET      preset of CMakePresets.json (default: release)

# shellcheck source=usermode/cmd/packages.sh
. "$VNET_SRC/usermode/cmd/packages.sh"

# The folders of all that a program needs to run over vnet0. They build without the test packages.
VNET_DEVICE_ROOMS=(firmware providers/vnet usermode am-on-verbs/job)

# Makes a directory of this user in a place where others may write. Fails if it is another user's.
private_directory() {
	(umask 077 && mkdir -p -- "$1") 2>/dev/null
	[[ -d $1 && -O $1 && -w $1 && ! -L $1 ]]
}

# Whether a path contains separators of LD_PRELOAD or RDMAV_DRIVERS.
unusable_path() {
	[[ $1 == *[[:space:]:\;]* ]]
}

# Prints the directory for builds. The owner of a clone builds in the clone; other users, and an
# owner without write permission, build in a cache of their own.
tree_root() {
	local cache key

	if [[ -n ${VNET_BUILD_DIR-} ]]; then
		unusable_path "$VNET_BUILD_DIR" &&
			die "$EXIT_VNET" "VNET_BUILD_DIR may not contain blanks, colons or semicolons"
		mkdir -p -- "$VNET_BUILD_DIR" || exit "$EXIT_VNET"
		(cd -- "$VNET_BUILD_DIR" && pwd) || exit "$EXIT_VNET"
		return
	fi
	if [[ -O $VNET_SRC && -w $VNET_SRC ]] && ! unusable_path "$VNET_SRC"; then
		echo "$VNET_SRC/build"
		return
	fi
	key=$(printf %s "$VNET_SRC" | cksum)
	key=${key%% *}
	for cache in "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/vnet" \
		"${TMPDIR:-/tmp}/vnet-build-$EUID"; do
		unusable_path "$cache" && continue
		private_directory "$cache" || continue
		echo "$cache/$key"
		return
	done
	die "$EXIT_VNET" "there is no place to build in: $VNET_SRC is not yours" \
		"name one: VNET_BUILD_DIR=DIRECTORY"
}

# Whether TREE is a finished build of WHAT (device, bench, all) from the current sources. The stamp
# of a build has the time of its start.
tree_is_fresh() {	# TREE WHAT
	local stamp=$1/.built-$2 rooms=()

	[[ -r $stamp && $(<"$stamp") == "$VNET_SRC" ]] || return 1
	rooms=(CMakeLists.txt CMakePresets.json cmake abi "${VNET_DEVICE_ROOMS[@]}")
	[[ $2 == device ]] || rooms+=(bench sim am-on-verbs splitc-on-verbs)
	[[ $2 == all ]] && rooms+=(tests)
	[[ -z $(cd -- "$VNET_SRC" && find "${rooms[@]}" -newer "$stamp" -print -quit 2>/dev/null) ]]
}

build_targets() {	# WHAT
	local rooms=("${VNET_DEVICE_ROOMS[@]}") room

	[[ $1 == all ]] && { echo all; return; }
	[[ $1 == bench ]] && rooms+=(bench sim am-on-verbs splitc-on-verbs)
	for room in "${rooms[@]}"; do
		[[ -e $VNET_SRC/$room/CMakeLists.txt ]] && echo "$room/all"
	done
}

run_ninja() {	# TREE TARGET...
	local tree=$1 line
	shift

	NINJA_STATUS='[%f/%t] ' ninja -C "$tree" "$@" 2>&1 | while IFS= read -r line; do
		printf '%s\n' "$line" >&3
		if [[ $line == \[* ]]; then
			progress "building ${line%%]*}]"
		fi
	done
}

build_failed() {	# LOG
	progress_end
	grep -E -A 12 'error|FAILED|Error' "$1" | tail -n 60 >&2
	die "$EXIT_VNET" "the build failed; all it said is in $1"
}

build_tree() {	# PRESET TREE WHAT
	local preset=$1 tree=$2 what=$3 log=$2/vnet-build.log options=() start=$SECONDS targets

	if [[ -e $tree/CMakeCache.txt ]] &&
		! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$VNET_SRC" "$tree/CMakeCache.txt"; then
		rm -rf -- "$tree"	# the clone was moved or copied with its build
	fi
	mkdir -p -- "$tree" || die "$EXIT_VNET" "cannot build in $tree"
	[[ $what == all ]] && options+=(-DBUILD_TESTING=ON)
	[[ $what != all && ! -e $tree/CMakeCache.txt ]] && options+=(-DBUILD_TESTING=OFF)

	say "building ($preset, in $tree)"
	printf '%s\n' "$VNET_SRC" >"$tree/.building"
	progress "configuring"
	(cd -- "$VNET_SRC" && cmake --preset "$preset" -B "$tree" "${options[@]}") >"$log" 2>&1 ||
		build_failed "$log"
	lines_of targets build_targets "$what"
	run_ninja "$tree" "${targets[@]}" 3>>"$log" || build_failed "$log"
	progress_end
	[[ $what == all ]] && cp -p -- "$tree/.building" "$tree/.built-bench"
	[[ $what == all || $what == bench ]] && cp -p -- "$tree/.building" "$tree/.built-device"
	mv -- "$tree/.building" "$tree/.built-$what"
	say "built in $((SECONDS - start)) s"
}

# Sets TREE to an up-to-date build of WHAT. Builds it if there is none.
need_tree() {	# WHAT [PRESET]
	local what=$1 preset=${2:-${VNET_PRESET:-release}} root lock

	if [[ -n ${VNET_TREE-} ]]; then
		TREE=$VNET_TREE
		return
	fi
	if [[ ! -e $VNET_SRC/CMakeLists.txt ]]; then
		TREE=$VNET_SRC		# installed: the parts stand beside this command
		return
	fi
	# All users who can read the build of the clone's owner use it.
	TREE=$VNET_SRC/build/$preset
	if [[ -z ${VNET_BUILD_DIR-} ]] && ! unusable_path "$TREE" && tree_is_fresh "$TREE" "$what"; then
		return
	fi

	root=$(tree_root) || exit
	TREE=$root/$preset
	tree_is_fresh "$TREE" "$what" && return
	need_packages tell build
	mkdir -p -- "$root" || die "$EXIT_VNET" "cannot build in $root"
	exec {lock}>"$root/.lock" || die "$EXIT_VNET" "cannot build in $root"
	flock "$lock"		# two at once: the second finds it built
	tree_is_fresh "$TREE" "$what" || build_tree "$preset" "$TREE" "$what"
	exec {lock}>&-
}
