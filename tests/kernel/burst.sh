# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: softirqs have their turn while one doorbell's requests are carried out. The
# kernel's own probes tell how much a task copies from one turn to the next, and how many
# requests it carries out that copy nothing.
#
#   burst.sh BURST
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The first device is the one that is tested.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
BURST=$1
TRACE=/sys/kernel/tracing
# A little more than it is to be: bytes, and requests.
MOST_BYTES=$((2 << 20))
MOST_REQUESTS=$((2 * 512))

fail() {
	echo "burst: $*" >&2
	exit 1
}

probe() {
	[[ -e $TRACE/kprobe_events ]] || mount -t tracefs tracefs "$TRACE" || fail "no tracing"
	echo 8192 >"$TRACE/buffer_size_kb"
	echo 1 >"$TRACE/options/event-fork"
	echo 'p:vnet/copy vnet_ib:plat_copy n=$arg6:u64' >"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/request vnet_ib:nic_retire' >>"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/receive vnet_ib:nic_retire_notify' >>"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/turn __local_bh_enable_ip' >>"$TRACE/kprobe_events" || fail "no probes"
}

unprobe() {
	echo 0 >"$TRACE/options/event-fork"
	echo >"$TRACE/kprobe_events"
}

# With its children; and the NIC processor, which may carry out a part.
burst() {	# EVENT WHAT
	echo >"$TRACE/trace"
	echo "$BASHPID" "$(pgrep -x vnet_nic)" >"$TRACE/set_event_pid" && echo 1 >"$TRACE/events/vnet/turn/enable" &&
		echo 1 >"$TRACE/events/vnet/$1/enable" || exit
	as_user "$BURST" "$2"
}

# In all; the most of it by one of them without a turn; and for how long there is none, in us.
counted() {	# EVENT
	awk -v event=" $1: " '
		function time() {
			match($0, /[0-9]+\.[0-9]+: /)
			return substr($0, RSTART, RLENGTH - 2) * 1000000
		}
		/ turn: / { n[$1] = 0 }
		index($0, event) {
			if (!n[$1])
				since[$1] = time()
			here = /n=/ ? substr($0, index($0, "n=") + 2) : 1
			n[$1] += here
			all += here
			if (n[$1] > most)
				most = n[$1]
			if (time() - since[$1] > longest)
				longest = time() - since[$1]
		}
		END { printf "%.0f %.0f %.0f\n", all, most, longest }' "$TRACE/trace"
}

check() {	# WHAT EVENT UNIT MOST
	local want all most longest

	want=$(burst "$2" "$1") || fail "the program failed: $1"
	echo 0 >"$TRACE/events/vnet/enable"
	echo >"$TRACE/set_event_pid"
	read -r all most longest < <(counted "$2")
	echo "burst: $1: $all $3, at most $most without a turn for softirqs, in $longest us"
	((all >= want)) || fail "$1: there were to be $want $3"
	((most <= $4)) || fail "$1: softirqs wait for $most $3"
}

probe
check copies copy bytes "$MOST_BYTES"
check empty request requests "$MOST_REQUESTS"
check flushed request requests "$MOST_REQUESTS"
check receives receive receives "$MOST_REQUESTS"
unprobe
