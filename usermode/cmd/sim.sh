# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet sim: random schedules over a simulated cluster (sim/).

help_sim() {
	cat <<EOF
${BOLD}vnet sim${PLAIN} [--seed S] [--schedules K] [options]

Simulates a cluster: the NICs' firmware, a fabric between them, programs that post
requests at random, and faults, in one process and virtual time, with an oracle that
looks at each step. The same seed gives the same run, bit for bit.

  --seed S           of the first schedule (default 1); the next has S + 1
  --schedules K      how many (default 1)
  --jobs J           so many at once (default 1)
  --nodes N          NICs (4 to 4096)
  --qps N            queue pairs
  --works N          work requests (default 1000)
  --frames N         endpoint frames of each NIC
  --payload BYTES    that a frame carries
  --sequence-bits B  32, or 1: the alternating bit, for links that keep order
  --fabric F         ideal, ethernet, myrinet or atm
  --faults LIST      none, or some of loss,dup,reorder,corrupt,truncate,delay,
                     cut,reset,slow,dead,stop,teardown,kill,forge,pages
  --workload V       1: seeds mean what they meant at first (default 5)
  --costs FILE       what things take (sim/costs.default names them)
  --break RULE       break a rule of the protocol, to see it caught
  --list-rules       which there are
  --hash             print the hash of each schedule's trace
  --trace            print all that happens
  --states           which states the firmware's machines were in
  --all-states       the same, and one that was not reached is a failure
  --json             the summary as JSON

What is not told is chosen by the seed. Status 1: an invariant did not hold; then
the seed, the step and the last events are printed.
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
