# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet settings: prints or changes the transport settings of a running node.

help_settings() {
	cat <<EOF
${BOLD}vnet settings${PLAIN} [--node NAME] [NAME=VALUE[,NAME=VALUE...]]

Changes settings of the transport between nodes, on a running node, under traffic. Then
prints its links and their settings (--json: also their counters).

  payload, window            payload of a frame, and bytes that the node can buffer
  fit                        payload of frames that no network fragments; 0: any
  ack-unit, ack-delay        number of acknowledgements to collect, and limit of their delay
                             (us); unit 0: those of the packets that arrived together
  channels                   limit of channels in use to one other NIC
  rto-min, rto-max           limits of the retransmission timer, us
  unreachable                time after which unreliable packets without an answer are given
                             up, ms
  budget, linger, weightN    turns of the NIC processor; N: service level
  loiter                     packets of one connection before another one may take its
                             endpoint frame
  sequence-bits              32, or 1: the alternating bit
  adaptive, piggyback        0 or 1
  drop-unexpected            0; 1: tagged messages are refused until a tag matches

To start a node with settings, and with a number of endpoint frames:
vnet run --settings frames=7,ack-unit=3 CMD. doc/protocol.md describes the settings.
EOF
}

cmd_settings() {
	local text='' args=()

	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_settings
			return
			;;
		--node)
			take_node "${2-}"
			shift
			;;
		--json) args+=("$1") ;;
		[a-z]*=*) text+=${text:+,}$1 ;;
		*) die_usage "'$1' is no NAME=VALUE; see: vnet settings --help" ;;
		esac
		shift
	done
	need_tree device
	exec "$TREE/bin/vnet-status" "${args[@]}" --settings --link "${text:+settings }${text:-show}"
}
