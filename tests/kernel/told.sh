# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Two ends that no file system joins: each tells what it is ready for by files below
# $TOLD, where a web server shows them; the other asks there, at the address $TELLER.

tell() {	# WHAT
	: >"$TOLD/$1"
}

told() {	# WHAT
	local answer=''

	{ exec {web}<>"/dev/tcp/$TELLER/8000"; } 2>/dev/null || return
	printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" >&"$web"
	read -r -t 5 answer <&"$web"
	exec {web}>&-
	[[ $answer == *' 200 '* ]]
}
