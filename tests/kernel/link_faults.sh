#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, two devices of the driver: programs succeed in spite of faults of the link. Packet
# loss, duplicates, corruption and delays; on-demand paging; large and unequal MTUs; fewer
# endpoint frames than busy queue pairs.
LINK_TEST=link_faults
# shellcheck source=tests/kernel/link_pair.sh
. "$VNET_SOURCE_DIR/tests/kernel/link_pair.sh"

# Faults of netem, in both directions.
disturb() {	# NETEM...
	"${IN_A[@]}" tc qdisc replace dev ea root netem "$@" && "${IN_B[@]}" tc qdisc replace dev eb root netem "$@"
}

undisturbed() {
	"${IN_A[@]}" tc qdisc del dev ea root && "${IN_B[@]}" tc qdisc del dev eb root
}

programs() {	# ITERATIONS
	pingpong ibv_rc_pingpong -n "$1" -c
	pingpong ibv_uc_pingpong -n "$1"
	pingpong ibv_ud_pingpong -n "$1"
	perftest ib_send_lat -n "$1"
	perftest ib_write_lat -n "$1"
	perftest ib_send_bw -n "$(($1 / 5))" -s 65536
	perftest ib_write_bw -n "$(($1 / 5))" -s 65536
	perftest ib_read_bw -n "$(($1 / 5))" -s 65536
	perftest ib_atomic_bw -n "$1"
	perftest ib_send_bw -c UC -n "$1" -s 1024
	perftest ib_send_bw -c UD -n "$1" -s 1024
}

# Requests that wait for frames, and for pages of on-demand memory.
paged_programs() {	# ITERATIONS
	perftest ib_send_bw --odp -n "$1" -s 65536
	perftest ib_write_bw --odp -n "$1" -s 65536
	perftest ib_read_bw --odp -n "$1" -s 65536
	perftest ib_write_lat --odp -n "$1"
}

# Reliable transports lose nothing on a network that loses frames.
reliable_programs() {	# ITERATIONS
	pingpong ibv_rc_pingpong -n "$1" -c
	perftest ib_send_bw -n "$(($1 / 5))" -s 65536
	perftest ib_write_bw -n "$(($1 / 5))" -s 65536
	perftest ib_read_bw -n "$(($1 / 5))" -s 65536
	perftest ib_atomic_bw -n "$1"
}

# Frames that the network duplicates, with valid MACs, are dropped.
repeated() {
	local before

	disturb duplicate 100% || die "no netem"
	before=$(counter a link_replayed)
	if [[ -n ${VNET_SOAK-} ]]; then
		reliable_programs 50
	else
		perftest ib_send_bw -n 50 -s 16384
	fi
	(($(counter a link_replayed) >= before + 50)) || die "repeated frames are accepted"
	(($(counter a link_bad_mac) == 0)) || die "repeated frames have a wrong MAC"
	undisturbed
}

# A device with fewer endpoint frames than busy queue pairs.
few_frames() {
	local frames=/sys/module/vnet_ib/parameters/frames usual

	usual=$(<"$frames")
	echo 3 >"$frames"
	"${IN_A[@]}" rdma link delete va
	{ add_link_device a && set_key a use_key two; } || die "no device"
	echo "$usual" >"$frames"
	perftest ib_write_bw -q 12 -n 40 -s 4096 >/dev/null
	(($(counter a evictions) > 0)) || die "all queue pairs have a frame"
}

# The mean size of the frames that b sends.
mean_frame() {
	local frames bytes

	frames=$(counter b frames_sent) bytes=$(counter b bytes_sent)
	pingpong ibv_rc_pingpong -n 20 -s 30000 -c
	[[ -z ${VNET_SOAK-} ]] || perftest ib_write_bw -n 20 -s 65536
	MEAN=$((($(counter b bytes_sent) - bytes) / ($(counter b frames_sent) - frames)))
	echo "frames of $MEAN bytes in the mean"
}

set_mtus() {	# A B
	local space mtu

	for space in a b; do
		mtu=$([[ $space == a ]] && echo "$1" || echo "$2")
		{ ip link set "p$space" mtu "$mtu" && ip netns exec "$space" ip link set "e$space" mtu "$mtu"; } ||
			die "no MTU of $mtu"
		# The size of frames is agreed in the handshake, so devices are created again.
		ip netns exec "$space" rdma link delete "v$space"
		{ add_link_device "$space" && set_key "$space" use_key two; } || die "no device"
	done
}

mtus() {
	set_mtus 9000 9000
	mean_frame
	((MEAN > 4500)) || die "frames do not fill an MTU of 9000"
	set_mtus 9000 1500
	mean_frame
	((MEAN <= 1500)) || die "frames do not fit an MTU of 1500"
	set_mtus 1500 1500
}

# A sender destroys its queue pair after posting to a group: the datagrams under way arrive.
group_leaves() {
	local group=$VNET_TREE/bin/rdmacm_group receiver out=/run/group

	"${IN_B[@]}" tc qdisc replace dev eb root netem delay 20ms || die "no netem"
	timeout $((60 * SLOWNESS)) "${IN_A[@]}" stdbuf -oL "$group" receive 100 va >"$out" 2>&1 &
	receiver=$!
	await 10 grep -q '^receiving' "$out" || die "no receiver of a group"
	"${IN_B[@]}" "$group" leave 100 vb >/dev/null || die "nobody sends to a group"
	wait "$receiver" || { cat "$out"; die "a group has not all that was sent"; }
	"${IN_B[@]}" tc qdisc del dev eb root
}

begin_link_with_key
timed programs 50
timed paged_programs 10
disturb loss 1% duplicate 1% corrupt 1% reorder 5% delay 1ms || die "no netem"
timed reliable_programs 25
timed paged_programs 5
undisturbed
timed few_frames
timed mtus
timed repeated
timed group_leaves
