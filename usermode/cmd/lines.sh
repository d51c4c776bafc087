# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reads a command's lines of output into an array. It uses no process substitution, because that
# needs /dev/fd, which minimal containers do not have.

lines_of() {	# ARRAY COMMAND...
	local -n lines_of_array=$1
	local text

	text=$("${@:2}")
	lines_of_array=()
	# shellcheck disable=SC2034	# the caller uses it
	[[ -z $text ]] || mapfile -t lines_of_array <<<"$text"
}
