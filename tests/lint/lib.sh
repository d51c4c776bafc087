# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions of the lint checks. Each check runs in the root of the source tree.

set -u -o pipefail
export LC_ALL=C
cd -- "${VNET_SOURCE_DIR:-$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..}" || exit 1

skip() {
	echo "SKIP: $*"
	exit 77
}

need() {	# COMMAND...
	local command

	[[ -e .git ]] || skip "not a git clone: which files are the project's?"

	for command in "$@"; do
		command -v "$command" >/dev/null || skip "no $command"
	done
}

# Prints the project's files: those in git, and new ones that are not ignored. The clone may
# belong to another user.
files() {	# PATTERN...
	local file

	git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do
			[[ -f $file ]] && printf '%s\n' "$file"
		done
}

shell_files() {
	local file first shebang='^#!.*[/ ](ba)?sh( |$)'

	files . | while IFS= read -r file; do
		{ IFS= read -r first <"$file"; } 2>/dev/null
		[[ $file == *.sh || $first =~ $shebang ]] && printf '%s\n' "$file"
	done
}

# With VNET_TURN and VNET_TURNS, passes on the lines of this turn.
in_turn() {
	[[ -n ${VNET_TURN-} ]] || { cat; return; }
	awk -v turn="$VNET_TURN" -v turns="${VNET_TURNS:?}" 'NR % turns == turn % turns'
}

# verdict TEXT: passes if the text is empty, otherwise prints it and fails.
verdict() {
	[[ -z $1 ]] && exit 0
	printf '%s\n' "$1"
	exit 1
}
