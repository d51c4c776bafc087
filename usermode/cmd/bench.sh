# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet bench: the measurements of bench/.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

help_bench() {
	cat <<EOF
${BOLD}vnet bench peers${PLAIN} [--json] [--runs N]

Measures vnet0 beside other ways to do the same on this machine, in one run, and
prints medians and ratios. ${BOLD}vnet bench peers --help${PLAIN} tells more.

${BOLD}vnet bench nodes${PLAIN} [--json] [--runs N]

Measures vnet0 between two nodes of this machine, beside UDP and TCP.

${BOLD}vnet bench sweep${PLAIN} [--json] [--plot DIRECTORY] [--runs N]

Measures it there while more and more frames are lost (E25), and while an answer is for more
and more frames (E16).

${BOLD}vnet bench kernel${PLAIN} [--json] [--runs N]

Measures the kernel's vnet0 beside rdma_rxe, in a guest.

${BOLD}vnet bench sim${PLAIN} [--json] [--plot DIRECTORY] [--list] [E4 ...]

Runs the papers' experiments in the simulator, beside what was published.

${BOLD}vnet bench logp | mapcost | ambw | credits | cqmemory | clients${PLAIN} [--json] [--plot DIRECTORY] [--runs N]
    [--device NAME] [--mapping vN] [--compare A,B]

What Active Messages cost beside the verbs that carry them: the parameters of LogP;
where the processor's time goes; bandwidth by size; the number of credits and of
queue pairs; completion queues in host memory and in the NIC's; clients of one endpoint, and
of many virtual networks. Each tells more with --help.

${BOLD}vnet bench splitc${PLAIN} [--json] [--plot DIRECTORY] [--runs N] [--device NAME] [--mapping NAME]

What Split-C's operations cost, by either mapping, beside verbs and Active Messages.

${BOLD}vnet bench tags${PLAIN} [--json] [--plot DIRECTORY] [--runs N] [--device NAME]

What matching tags by the device costs, and how much of a large transfer it hides.

${BOLD}vnet bench fairness${PLAIN} [--json] [--runs N] [--queues N] [--bytes N] [--processes N]

What a ping-pong costs beside a process that keeps thousands of queue pairs busy.
EOF
}

cmd_bench() {
	case ${1-} in
	peers | kernel | nodes | sweep | sim | logp | mapcost | ambw | credits | cqmemory | clients | splitc | tags | fairness) ;;
	--help | -h)
		help_bench
		return
		;;
	'') die_usage "bench what? see: vnet bench --help" ;;
	*) die_usage "there is no benchmark '$1'; see: vnet bench --help" ;;
	esac
	[[ -x $VNET_SRC/bench/$1 ]] || die "$EXIT_VNET" "the benchmarks are in vnet's source tree only"

	[[ " ${*:2} " == *" --help "* && $1 != sim ]] || need_tree bench
	export VNET=$VNET_SELF VNET_TREE=${TREE-} VNET_SOURCE_DIR=$VNET_SRC
	exec "$VNET_SRC/bench/$1" "${@:2}"
}
