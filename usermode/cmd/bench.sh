# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet bench: builds and runs the benchmarks of bench/.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

help_bench() {
	cat <<EOF
${BOLD}vnet bench peers${PLAIN} [--json] [--runs N]

Compares vnet0 with other ways to transfer data between processes of this machine, and
prints medians and ratios. See ${BOLD}vnet bench peers --help${PLAIN}.

${BOLD}vnet bench nodes${PLAIN} [--json] [--runs N]

Compares vnet0 between two nodes of this machine with UDP and TCP.

${BOLD}vnet bench sweep${PLAIN} [--json] [--plot DIRECTORY] [--runs N]

Measures two nodes at several rates of lost frames (E25), and with several numbers of
frames for each acknowledgement (E16).

${BOLD}vnet bench kernel${PLAIN} [--json] [--runs N]

Compares the kernel's vnet0 with rdma_rxe, in a guest.

${BOLD}vnet bench sim${PLAIN} [--json] [--plot DIRECTORY] [--list] [E4 ...]

Repeats the papers' experiments in the simulator, and prints the published results.

${BOLD}vnet bench logp | mapcost | ambw | credits | cqmemory | clients${PLAIN} [--json] [--plot DIRECTORY] [--runs N]
    [--device NAME] [--mapping vN] [--compare A,B]

Compares Active Messages with verbs: the parameters of LogP; the processor's time by step;
bandwidth by size; the number of credits and of queue pairs; completion queues in host
memory and in NIC memory; clients of one endpoint, and of many virtual networks. Each has
--help.

${BOLD}vnet bench splitc${PLAIN} [--json] [--plot DIRECTORY] [--runs N] [--device NAME] [--mapping NAME]

Compares Split-C's operations, with both mappings, with verbs and Active Messages.

${BOLD}vnet bench tags${PLAIN} [--json] [--plot DIRECTORY] [--runs N] [--device NAME]

Measures tag matching by the device, and how much of a large transfer a computation hides.

${BOLD}vnet bench fairness${PLAIN} [--json] [--runs N] [--queues N] [--bytes N] [--processes N]

Measures a ping-pong beside a process that keeps thousands of queue pairs busy.

${BOLD}vnet bench instructions${PLAIN} [--json] [--side client|server] [--size N] [TOOL [ARGUMENT]...]

Counts the instructions of a message in a program of perftest, by function.
EOF
}

cmd_bench() {
	case ${1-} in
	peers | kernel | nodes | sweep | sim | logp | mapcost | ambw | credits | cqmemory | clients | splitc | tags | fairness | instructions) ;;
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
