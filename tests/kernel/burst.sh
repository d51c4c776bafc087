# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: softirqs have their turn while one doorbell's requests are carried out. The
# kernel's own probes tell how much a task copies from one turn to the next.
#
#   burst.sh BURST
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The first device is the one that is tested.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
BURST=$1
TRACE=/sys/kernel/tracing
# A little more than it is to be.
MOST=$((2 << 20))

fail() {
	echo "burst: $*" >&2
	exit 1
}

probe() {
	[[ -e $TRACE/kprobe_events ]] || mount -t tracefs tracefs "$TRACE" || fail "no tracing"
	echo 8192 >"$TRACE/buffer_size_kb"
	echo 1 >"$TRACE/options/event-fork"
	echo 'p:vnet/copy vnet_ib:plat_copy length=$arg6:u64' >"$TRACE/kprobe_events" || fail "no probes"
	echo 'p:vnet/turn __local_bh_enable_ip' >>"$TRACE/kprobe_events" || fail "no probes"
}

# With its children.
burst() {
	echo "$BASHPID" >"$TRACE/set_event_pid" && echo 1 >"$TRACE/events/vnet/enable" || exit
	as_user "$BURST"
}

unprobe() {
	echo 0 >"$TRACE/events/vnet/enable"
	echo >"$TRACE/set_event_pid"
	echo 0 >"$TRACE/options/event-fork"
	echo >"$TRACE/kprobe_events"
}

# In all, and the most of it without a turn.
copied() {
	awk '
		/ turn: / { n = 0 }
		/ copy: / {
			sub(/.*length=/, "")
			n += $0
			all += $0
			if (n > most)
				most = n
		}
		END { printf "%.0f %.0f\n", all, most }' "$TRACE/trace"
}

probe
want=$(burst) || fail "the program failed"
read -r all most < <(copied)
unprobe
echo "burst: $all bytes were copied, at most $most without a turn for softirqs"
((all >= want)) || fail "$want bytes were to be copied"
((most <= MOST)) || fail "softirqs wait for $most bytes"
