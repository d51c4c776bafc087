# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How the vnet command speaks: to stderr, because stdout belongs to the program
# that it runs; in colour on a terminal only.

# Exit statuses of vnet's own, as env(1) and others have them: the rest is the
# program's.
export EXIT_USAGE=2 EXIT_VNET=125 EXIT_CANNOT_RUN=126 EXIT_NOT_FOUND=127

BOLD='' RED='' GREEN='' YELLOW='' BLUE='' PLAIN=''

# Colours for what goes to stdout; `colours 2` for stderr.
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

# One line that the next one overwrites; nothing where no terminal shows it.
progress() {
	[[ -t 2 ]] || return 0
	printf '\r\e[Kvnet: %s' "$*" >&2
}

progress_end() {
	[[ -t 2 ]] || return 0
	printf '\r\e[K' >&2
}
