# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs an example of Split-C in several worlds, and checks its result.
# shellcheck source=tests/command/lib.sh
. "${0%/*}/../command/lib.sh"

# Runs the example with each mapping, on one node and on two.
right() {	# PROCESSORS EXAMPLE [OPTION...]
	local processors=$1 program=$VNET_TREE/bin/splitc_$2 mapping nodes
	shift 2

	for mapping in direct messages; do
		for nodes in '' A,B; do
			expect 0 env SPLITC_SETTINGS="mapping=$mapping" "$VNET" run -n "$processors" \
				${nodes:+--nodes "$nodes"} "$program" "$@"
			out_has ": right; $processors processors .*mapping: $mapping"
		done
	done
}
