# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet status: what the daemon knows.

help_status() {
	cat <<EOF
${BOLD}vnet status${PLAIN} [--json] [--watch [--interval SECONDS]] [--node NAME]

Devices, clients by process and command, queue pairs with their state and peer,
memory regions, and counters.

  --json      as JSON, for programs
  --watch     again every second, until interrupted (${BOLD}vnet top${PLAIN} is the same)
  --interval  seconds between two looks
  --node      of this emulated machine
EOF
}

watch_status() {	# INTERVAL [ARGS...]
	local interval=$1 text
	shift

	trap 'exit 0' INT TERM
	while :; do
		text=$("$TREE/bin/vnet-status" "$@" 2>&1)
		[[ -t 1 ]] && printf '\e[H\e[2J'
		printf '%s\n' "$text"
		sleep "$interval"
	done
}

cmd_status() {
	local args=() watch=no interval=1

	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_status
			return
			;;
		--json) args+=(--json) ;;
		--watch | -w) watch=yes ;;
		--interval)
			[[ ${2-} =~ ^[0-9]+(\.[0-9]+)?$ ]] || die_usage "--interval wants seconds"
			interval=$2
			shift
			;;
		--node)
			[[ -n ${2-} ]] || die_usage "--node wants a name"
			export VNET_NODE=$2
			shift
			;;
		*) die_usage "status has no option '$1'; see: vnet status --help" ;;
		esac
		shift
	done

	need_tree device
	if [[ $watch == yes ]]; then
		watch_status "$interval" "${args[@]}"
	else
		exec "$TREE/bin/vnet-status" "${args[@]}"
	fi
}
