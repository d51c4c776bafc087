# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# TCP ports: one that is free, and whether a server listens. No child processes.

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

# Sets PORT to one that nobody listens at, below those that the kernel gives out.
choose_port() {
	for _ in {1..50}; do
		PORT=$((20000 + SRANDOM % 10000))
		listens "$PORT" || return 0
	done
	fail "no free port was found"
}
