# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Messages of the vnet command. They go to stderr, because stdout belongs to the program that it
# runs, and have colours only on a terminal.

# Exit statuses of vnet itself, the last three as in env(1). All others are the program's.
export EXIT_USAGE=2 EXIT_VNET=125 EXIT_CANNOT_RUN=126 EXIT_NOT_FOUND=127

BOLD='' RED='' GREEN='' YELLOW='' BLUE='' PLAIN=''

# Sets the colours for stdout; `colours 2` for stderr.
colours() {
	if [[ -t ${1-1} && -z ${NO_COLOR-} && ${TERM-dumb} != dumb ]]; then
		BOLD=$'\e[1m' RED=$'\e[31m' GREEN=$'\e[32m' YELLOW=$'\e[33m' BLUE=$'\e[34m' PLAIN=$'\e[0m'
	else
		BOLD='' RED='' GREEN='' YELLOW='' BLUE='' PLAIN=''
	fi
}
colours

say() {
	printf 'vnet: %s\n' "$*" >&2
}

warn() {
	local RED=$RED YELLOW=$YELLOW GREEN=$GREEN BLUE=$BLUE BOLD=$BOLD PLAIN=$PLAIN
	colours 2
	printf '%svnet: %s%s\n' "$YELLOW" "$*" "$PLAIN" >&2
}

# die STATUS MESSAGE...: further arguments are further lines.
die() {
	local status=$1 line
	shift
	local RED=$RED YELLOW=$YELLOW GREEN=$GREEN BLUE=$BLUE BOLD=$BOLD PLAIN=$PLAIN
	colours 2
	printf '%svnet: %s%s\n' "$RED" "$1" "$PLAIN" >&2
	shift
	for line in "$@"; do
		printf '      %s\n' "$line" >&2
	done
	exit "$status"
}

die_usage() {
	die "$EXIT_USAGE" "$@"
}

# Prints a line that the next one overwrites; nothing if stderr is not a terminal.
progress() {
	[[ -t 2 ]] || return 0
	printf '\r\e[Kvnet: %s' "$*" >&2
}

progress_end() {
	[[ -t 2 ]] || return 0
	printf '\r\e[K' >&2
}
