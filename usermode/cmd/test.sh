# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet test: runs the tests of the release build and of the sanitizer builds, in one run of ctest.

VNET_TEST_PRESETS=(release asan tsan)

help_test() {
	cat <<EOF
${BOLD}vnet test${PLAIN} [--soak] [--turn N] [--filter RE] [--jobs N] [--list] [--kernel-debug]

Builds what is missing, and runs the tests. As root, it installs missing Debian packages;
otherwise it names them.

  --soak       also run the long tests, and all variants
  --turn N     tests that are variants of another test take turns. The turn of a run follows
               from the number of commits, or is N. With --filter alone, all are run
  --filter RE  only tests whose name matches the regular expression
  --jobs N     at most N at the same time (default: one more than there are processors)
  --list       print the names of the tests, and run none
  --kernel-debug
               only the tests in guests, with a kernel that has debugging checks (KASAN,
               lockdep, kmemleak, UBSAN); it is built the first time, which takes half an
               hour

With CI=true in the environment, a test that is skipped fails, unless
tests/permitted-skips lists it with a reason.
EOF
}

# Gets a kernel for guests as root. Without a kernel, the tests in guests are skipped.
fetch_guest_kernel() {
	# shellcheck source=usermode/cmd/kernel.sh
	. "$VNET_SRC/usermode/cmd/kernel.sh"
	kernel_library
	[[ $EUID != 0 ]] || (need_kernel 6.1) || warn "tests in guests will be skipped"
}

# Writes a directory in which ctest sees the tests of all builds.
write_test_directory() {	# DIRECTORY TREE...
	mkdir -p -- "$1" || die "$EXIT_VNET" "cannot write in $1"
	{
		printf 'subdirs('
		printf ' "%s"' "${@:2}"
		printf ')\n'
	} >"$1/CTestTestfile.cmake"
}

# Exports the turn of this run, and the number of turns. Sets the caller's variable others to the
# labels of the other turns.
choose_turn() {	# DIRECTORY N
	local turn

	VNET_TURNS=$(ctest --test-dir "$1" --print-labels | grep -cE '^ *turn-[0-9]+$')
	[[ $VNET_TURNS -gt 0 ]] || die "$EXIT_VNET" "the tests in $1 have no turns"
	VNET_TURN=$(($2 % VNET_TURNS))
	export VNET_TURN VNET_TURNS
	others=()
	for ((turn = 0; turn < VNET_TURNS; turn++)); do
		((turn == VNET_TURN)) || others+=("turn-$turn")
	done
}

# Prints the number of commits up to HEAD; 0 if git fails.
commits() {
	git -c safe.directory='*' -C "$VNET_SRC" rev-list --count HEAD 2>/dev/null || echo 0
}

cmd_test() {
	local options=() others=() soak=no turn jobs directory preset presets=("${VNET_TEST_PRESETS[@]}") trees=() status

	jobs=$(($(nproc) + 1))
	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_test
			return
			;;
		--soak) soak=yes ;;
		--turn)
			[[ ${2-} =~ ^[0-9]{1,9}$ ]] || die_usage "--turn wants a number"
			turn=$2
			shift
			;;
		--list) options+=(--show-only) ;;
		--kernel-debug)
			export VNET_KERNEL=debug
			presets=(release)
			options+=(--label-regex '^kernel$')
			;;
		--filter)
			[[ -n ${2-} ]] || die_usage "--filter wants a regular expression"
			options+=(--tests-regex "$2")
			shift
			;;
		--jobs)
			[[ ${2-} =~ ^[1-9][0-9]*$ ]] || die_usage "--jobs wants a number"
			jobs=$2
			shift
			;;
		*) die_usage "test has no option '$1'; see: vnet test --help" ;;
		esac
		shift
	done
	[[ -e $VNET_SRC/CMakeLists.txt ]] || die "$EXIT_VNET" "the tests are in vnet's source tree only"

	need_packages install build demo bench test kernel
	if [[ ${VNET_KERNEL-} == debug ]]; then
		"$VNET_SRC/tests/kernel/build-debug-kernel" || die "$EXIT_VNET" "there is no debug kernel"
	else
		fetch_guest_kernel
	fi
	for preset in "${presets[@]}"; do
		need_tree all "$preset"
		trees+=("$TREE")
	done

	directory=$(tree_root)/test
	write_test_directory "$directory" "${trees[@]}"
	if [[ $soak == yes ]]; then
		export VNET_SOAK=1
	elif [[ ${VNET_KERNEL-} == debug || ("${options[*]}" == *--tests-regex* && -z ${turn-}) ]]; then
		# A filter selects from the tests of all turns.
		unset VNET_SOAK
		options+=(--label-exclude '^soak$')
	else
		unset VNET_SOAK
		choose_turn "$directory" "${turn:-$(commits)}"
		options+=(--label-exclude "^(soak|$(IFS='|' && echo "${others[*]}"))\$")
	fi
	ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$jobs" \
		--output-junit "$directory/junit.xml" "${options[@]}"
	status=$?
	if [[ ${CI-} == true && $status == 0 ]]; then
		"$VNET_SRC/tests/check-skips" "$directory/junit.xml" \
			"$directory/Testing/Temporary/LastTest.log"
		status=$?
	fi
	return "$status"
}
