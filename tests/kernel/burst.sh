# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: softirqs run while the driver executes the requests of one doorbell. Kernel probes
# count the bytes that a task copies between two turns of softirqs, and the requests that it
# executes without copies.
#
#   burst.sh BURST
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
BURST=$1
# Limits: the firmware's limit of bytes, and twice its limit of requests.
MOST_BYTES=$((2 << 20))
MOST_REQUESTS=$((2 * 256))

fail() {
	echo "burst: $*" >&2
	exit 1
}

probe() {
	may_trace || fail "no tracing"
	echo 8192 >"$TRACE/buffer_size_kb"
	echo 'p:vnet/copy vnet_ib:plat_copy n=$arg6:u64' >"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/request vnet_ib:nic_retire' >>"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/receive vnet_ib:nic_retire_notify' >>"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/turn __local_bh_enable_ip' >>"$TRACE/kprobe_events" || fail "no probes"
}

unprobe() {
	echo >"$TRACE/kprobe_events"
}

# Traces this process, which becomes the program, and the NIC processor, which may execute a
# part.
burst() {	# EVENT WHAT
	local event

	echo >"$TRACE/trace"
	for event in turn "$1"; do
		echo "common_pid == $BASHPID || common_pid == $(pgrep -x vnet_nic)" >"$TRACE/events/vnet/$event/filter" &&
			echo 1 >"$TRACE/events/vnet/$event/enable" || exit
	done
	exec env HOME="$VNET_GUEST_HOME" setpriv --reuid "$VNET_GUEST_UID" --regid "$VNET_GUEST_UID" \
		--clear-groups "$BURST" "$2"
}

# Prints the total, the most by one task without a turn of softirqs, and the longest time in us.
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
