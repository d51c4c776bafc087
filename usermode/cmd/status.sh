# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet status: prints the devices, clients and objects of a node.

help_status() {
	cat <<EOF
${BOLD}vnet status${PLAIN} [--json] [--all] [--watch [--interval SECONDS]] [--node NAME]

Prints devices, clients by process and command, queue pairs with their state and peer,
memory regions, and counters.

  --json      print JSON
  --all       print long lists in full
  --watch     print every second, with rates, until interrupted (the same as ${BOLD}vnet top${PLAIN})
  --interval  seconds between two reports
  --node      emulated machine
EOF
}

cmd_status() {
	local args=()

	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_status
			return
			;;
		--json | --watch | --all) args+=("$1") ;;
		-w) args+=(--watch) ;;
		--interval)
			[[ ${2-} =~ ^[0-9]+(\.[0-9]+)?$ ]] || die_usage "--interval wants seconds"
			args+=(--interval "$2")
			shift
			;;
		--node)
			take_node "${2-}"
			shift
			;;
		*) die_usage "status has no option '$1'; see: vnet status --help" ;;
		esac
		shift
	done

	need_tree device
	exec "$TREE/bin/vnet-status" "${args[@]}"
}
