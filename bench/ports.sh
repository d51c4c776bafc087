# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# TCP ports: finds a free one, and tells whether a server listens at one. No child processes.

listens() {	# PORT
	local table hex address state

	printf -v hex '%04X' "$1"
	for table in /proc/net/tcp /proc/net/tcp6; do
		[[ -r $table ]] || continue
		while read -r _ address _ state _; do
			[[ $state != 0A || $address != *":$hex" ]] || return 0
		done <"$table"
	done
	return 1
}

# Sets PORT to a free port below the kernel's default range of ephemeral ports.
choose_port() {
	for _ in {1..50}; do
		PORT=$((20000 + SRANDOM % 10000))
		listens "$PORT" || return 0
	done
	fail "no free port was found"
}
