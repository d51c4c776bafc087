# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A command's lines of output as an array, without process substitution, which
# needs /dev/fd: minimal containers have none.

lines_of() {	# ARRAY COMMAND...
	local -n lines_of_array=$1
	local text

	text=$("${@:2}")
	lines_of_array=()
	# shellcheck disable=SC2034	# the caller uses it
	[[ -z $text ]] || mapfile -t lines_of_array <<<"$text"
}
