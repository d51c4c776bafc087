# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet fault: injects faults into the link or the device of a running node.

help_fault() {
	cat <<EOF
${BOLD}vnet fault${PLAIN} [--node NAME] [LINK FAULT...]
${BOLD}vnet fault${PLAIN} [--node NAME] [--device NAME] DEVICE FAULT...

Makes the link of a running node lose, repeat, delay or damage frames, or makes its
device fail. Faults stay set until --off; faults that are not named keep their values.

  --loss SHARE             this share of the frames is lost, such as 1% or 0.01
  --duplicate SHARE        ... is sent twice
  --reorder SHARE          ... is delayed by --reorder-by (default: 200us), so that later
                           frames overtake them
  --corrupt SHARE          ... has one bit changed
  --delay TIME             delay of every frame (us, ms, s)
  --jitter TIME            upper limit of an additional random delay
  --rate RATE              limit of the data rate: kbit, mbit, gbit, kB, MB, GB per second
  --down, --up             disconnect the cable; connect it again
  --seed N                 start the random sequence with seed N
  --direction out|in|both  frames that the node sends (default), receives, or both
  --off                    remove all faults
  --peer ADDRESS|NODE      only frames to and from this peer: its address, or a node of this
                           machine (all its devices). These faults replace the general ones
                           for the peer, until --peer ... --off; up to 16 addresses

  --event NAME[:NUMBER]    raise an event of the device, or of the queue pair, completion
                           queue, shared receive queue or work queue of this number
                           (see vnet status): device-fatal, port-err,
                           port-active, lid-change, pkey-change, sm-change, gid-change,
                           client-reregister; qp-fatal, qp-req-err, qp-access-err (the
                           queue pair fails, too), comm-est, sq-drained, path-mig,
                           path-mig-err, qp-last-wqe; cq-err; srq-err, srq-limit;
                           wq-fatal (the work queue fails, too)
  --rnr TIME[/PERIOD]      no message finds a receive for TIME, once or in each PERIOD;
                           --rnr off ends it
  --reset                  reset the NIC: programs get a fatal device event
  --device NAME            device of these faults (default: the node's first)

  --node NAME              node (default: \$VNET_NODE, "default")
  --show                   print the faults, and counters of injected faults
  --json                   the same as JSON

To set faults from the first frame on: vnet run --fault loss=1%,reorder=5% CMD.
doc/faults.md has recipes.
EOF
}

# Prints the faults for a peer: for an address, or for each address of a node of this machine.
for_peer() {	# ADDRESS|NODE FAULTS
	local addresses=$1 address text=''

	if [[ ! $1 =~ ^[0-9.]+$|: ]]; then
		addresses=$("$TREE/bin/vnet-status" --node "$1" --json 2>/dev/null |
			sed -n 's/.*"link": {"address": "\([0-9a-f.:]*\)".*/\1/p')
		[[ -n $addresses ]] || die "$EXIT_VNET" "no node '$1' with a link runs here"
	fi
	for address in $addresses; do
		text+=${text:+,}peer=$address,$2
	done
	echo "$text"
}

cmd_fault() {
	local text='' device='' peer='' args=()

	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_fault
			return
			;;
		--node)
			take_node "${2-}"
			shift
			;;
		--loss | --duplicate | --reorder | --corrupt | --delay | --jitter | --reorder-by | --rate | --seed | --direction)
			[[ ${2-} =~ ^[0-9a-zA-Z.%]+$ ]] || die_usage "$1 wants a value; see: vnet fault --help"
			text+=${text:+,}${1#--}=$2
			shift
			;;
		--down | --up | --off) text+=${text:+,}${1#--} ;;
		--event | --rnr)
			[[ ${2-} =~ ^[0-9a-zA-Z:./-]+$ ]] || die_usage "$1 wants a value; see: vnet fault --help"
			device+=${device:+,}${1#--}=$2
			shift
			;;
		--reset) device+=${device:+,}reset ;;
		--device)
			[[ ${2-} =~ ^[0-9a-zA-Z_.-]+$ ]] || die_usage "--device wants a name"
			device+=${device:+,}device=$2
			shift
			;;
		--peer)
			[[ ${2-} =~ ^[0-9a-zA-Z_.:-]+$ ]] || die_usage "--peer wants an address or a node"
			peer=$2
			shift
			;;
		--show) ;;
		--json) args+=("$1") ;;
		*) die_usage "fault has no option '$1'; see: vnet fault --help" ;;
		esac
		shift
	done
	need_tree device
	[[ -z $text || -z $device ]] || die_usage "give faults of the link and of the device in separate commands"
	[[ -z $peer || -n $text ]] || die_usage "--peer needs faults; see: vnet fault --help"
	[[ -z $peer ]] || text=$(for_peer "$peer" "$text") || exit
	[[ -z $device ]] || text="device $device"
	[[ -z $text || -n $device ]] || text="fault $text"
	exec "$TREE/bin/vnet-status" "${args[@]}" --link "${text:-show}"
}
