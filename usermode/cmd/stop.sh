# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet stop: ends the daemon.

help_stop() {
	cat <<EOF
${BOLD}vnet stop${PLAIN} [--node NAME]

Ends the daemon of the device. Programs that use the device get a fatal device event, as
if the hardware had been removed. This is rarely necessary: the daemon ends by itself when
no program has used it for some time.
EOF
}

cmd_stop() {
	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_stop
			return
			;;
		--node)
			take_node "${2-}"
			shift
			;;
		*) die_usage "stop has no option '$1'; see: vnet stop --help" ;;
		esac
		shift
	done
	need_tree device
	exec "$TREE/bin/vnet-status" --stop
}
