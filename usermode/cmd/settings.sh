# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet settings: how the transport of a node that runs behaves.

help_settings() {
	cat <<EOF
${BOLD}vnet settings${PLAIN} [--node NAME] [NAME=VALUE[,NAME=VALUE...]]

Changes settings of the transport between nodes, on a running node, under traffic, and
shows its links then, and what is set (--json: all that is known of them).

  payload, window            bytes in a frame, and that the node takes at once
  fit                        bytes in a frame that no network on the way cuts; 0: any
  ack-unit, ack-delay        acknowledgements are collected: so many, so long (us);
                             0: those of what has come
  channels                   logical channels in use at once, to one other NIC
  rto-min, rto-max           retransmission timer, us
  unreachable                datagrams to nobody are given up after it, ms
  budget, linger, weightN    turns of the NIC processor; N: service level
  loiter                     packets before another connection has an endpoint's frame
  sequence-bits              32, or 1: the alternating bit
  adaptive, piggyback        0 or 1
  drop-unexpected            0; 1: tagged messages wait for a tag that fits them

A node that is to begin with some, and with so many endpoint frames:
vnet run --settings frames=7,ack-unit=3 CMD. doc/protocol.md tells what they mean.
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
