# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet sim: runs random schedules on a simulated cluster (sim/).

help_sim() {
	cat <<EOF
${BOLD}vnet sim${PLAIN} [--seed S] [--schedules K] [options]

Simulates a cluster in one process and virtual time: the NICs' firmware, a fabric between
them, programs that post random requests, and faults. An oracle checks the result of each
step. The same seed gives the same run, bit for bit.

  --seed S           seed of the first schedule (default 1); the next has S + 1
  --schedules K      number of schedules (default 1)
  --jobs J           number of schedules at the same time (default 1)
  --nodes N          number of NICs (4 to 4096)
  --qps N            number of queue pairs
  --works N          number of work requests (default 1000)
  --frames N         number of endpoint frames of each NIC
  --payload BYTES    payload of a frame
  --sequence-bits B  32, or 1: the alternating bit, for links that keep the order
  --fabric F         ideal, ethernet, myrinet or atm
  --faults LIST      none, or some of loss,dup,reorder,corrupt,truncate,delay,
                     cut,reset,slow,dead,stop,teardown,kill,forge,pages
  --workload V       version of the workload, 1 to 8 (default 8); see vnet-sim(1)
  --costs FILE       durations of operations (default: sim/costs.default)
  --break RULE       break a rule of the protocol, to test the oracle
  --list-rules       list these rules
  --hash             print the hash of each schedule's trace
  --trace            print all events
  --states           print the states that the firmware's state machines reached
  --all-states       the same; a state that was not reached is a failure
  --json             print the summary as JSON

Options that are not given follow from the seed. Status 1: an invariant was violated; the
seed, the step and the last events are printed.
EOF
}

cmd_sim() {
	case ${1-} in
	--help | -h)
		help_sim
		return
		;;
	esac
	need_tree bench
	[[ -x $TREE/bin/vnet-sim ]] || die "$EXIT_VNET" "the simulator is in vnet's source tree only"
	exec "$TREE/bin/vnet-sim" "$@"
}
