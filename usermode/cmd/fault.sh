# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet fault: faults on purpose in the link of a node that runs.

help_fault() {
	cat <<EOF
${BOLD}vnet fault${PLAIN} [--node NAME] [FAULT...]

Makes the link of a running node lose, repeat, delay or damage frames, until told
otherwise. What is not named stays as it is.

  --loss SHARE             such as 1% or 0.01: so many frames are lost
  --duplicate SHARE        go twice
  --reorder SHARE          are overtaken by others, being late by --reorder-by
                           (200us)
  --corrupt SHARE          have a bit changed
  --delay TIME             every frame is late by it (us, ms, s),
  --jitter TIME            and by up to so much more
  --rate RATE              no more than that: kbit, mbit, gbit, kB, MB, GB a second
  --down, --up             the cable is out; or in again
  --seed N                 begins the random sequence N
  --direction out|in|both  of frames that the node sends (the usual), or gets
  --off                    no faults
  --node NAME              which node (default: \$VNET_NODE, "default")
  --show                   what is set, and what was done so far
  --json                   the same as JSON

A node that is to have faults from its first frame on: vnet run --fault
loss=1%,reorder=5% CMD. doc/faults.md has recipes.
EOF
}

cmd_fault() {
	local text='' args=()

	while [[ $# -gt 0 ]]; do
		case $1 in
		--help | -h)
			help_fault
			return
			;;
		--node)
			[[ -n ${2-} ]] || die_usage "--node wants a name"
			export VNET_NODE=$2
			shift
			;;
		--loss | --duplicate | --reorder | --corrupt | --delay | --jitter | --reorder-by | --rate | --seed | --direction)
			[[ ${2-} =~ ^[0-9a-zA-Z.%]+$ ]] || die_usage "$1 wants a value; see: vnet fault --help"
			text+=${text:+,}${1#--}=$2
			shift
			;;
		--down | --up | --off) text+=${text:+,}${1#--} ;;
		--show) ;;
		--json) args+=("$1") ;;
		*) die_usage "fault has no option '$1'; see: vnet fault --help" ;;
		esac
		shift
	done
	need_tree device
	exec "$TREE/bin/vnet-status" "${args[@]}" --link "${text:+fault }${text:-show}"
}
