#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, two devices of the driver and a node of user mode: traffic between them, and
# removal. IPv6, Ethernet frames, programs that connect by rdma_cm in each direction; and
# devices, namespaces and the module are removed under traffic.
LINK_TEST=link_peers
# shellcheck source=tests/kernel/link_pair.sh
. "$VNET_SOURCE_DIR/tests/kernel/link_pair.sh"

octets6() {	# NAME
	ip netns exec "$1" awk '$1 == "Ip6InOctets" { print $2 }' /proc/net/snmp6
}

# Frames between IPv6 addresses.
ipv6() {
	local space before

	for space in a b; do
		ip netns exec "$space" ip address add "fd00:77::$space/64" dev "e$space" nodad ||
			die "no address of IPv6"
		await 10 has_gid_of "$space" fd00:0077 || die "no GID of IPv6"
	done
	GID=$(gid_of a fd00:0077)
	[[ $(gid_of b fd00:0077) == "$GID" ]] || die "the GIDs of IPv6 have other numbers"
	PERFTEST[1]=$GID
	before=$(octets6 b)
	pingpong ibv_rc_pingpong -n 50 -c
	[[ -z ${VNET_SOAK-} ]] || perftest ib_send_lat -n 50
	perftest ib_write_bw -n 20 -s 65536
	before=$(($(octets6 b) - before))
	echo "by IPv6: $before bytes"
	((before > 50 * 4096)) || die "frames did not go by IPv6"
	GID=1 PERFTEST[1]=1
}

# A ping-pong of Ethernet frames between two devices that know each other.
raw_packets() {	# DEVICE COMMAND...
	local near=02:00:00:00:00:01 far=02:00:00:00:00:02 out=/run/frames receiver status=0
	local tool=(raw_ethernet_lat -s 256 -n 100)

	timeout $((60 * SLOWNESS)) "${IN_A[@]}" stdbuf -oL "${tool[@]}" -d va --server -B "$far" -E "$near" \
		>"$out" 2>&1 </dev/null &
	receiver=$!
	await 10 grep -q '#bytes' "$out" || { cat "$out"; die "nobody waits for frames"; }
	timeout $((60 * SLOWNESS)) "${@:2}" stdbuf -oL "${tool[@]}" -d "$1" --client -B "$near" -E "$far" \
		>"$out.client" 2>&1 </dev/null || status=$?
	((status == 0)) || { cat "$out" "$out.client"; die "no frames from $1: the client ends with $status"; }
	wait "$receiver" || { cat "$out"; die "no frames for va"; }
}

# Traffic between the driver and a node of user mode.
user_node() {
	# Options of the node count when its vnetd starts, so both programs name the peer.
	local run=("${IN_C[@]}" env -u RDMAV_DRIVERS VNET_RUNTIME_DIR=/run/node-c "$VNET" run --listen 10.9.9.3
		--key "$KEYS/two" --peers ::ffff:10.9.9.1=10.9.9.1)

	pair "${IN_A[@]}" ib_write_bw -n 20 -d va "${PERFTEST[@]}" -- "${run[@]}" ib_write_bw -n 20 "${PERFTEST[@]}" 10.9.9.1 \
		>/run/out || { cat /run/out; die "a node of user mode does not reach the kernel's"; }
	echo "from user mode: $(figure ib_write_bw </run/out)"
	raw_packets vnet0 "${run[@]}"
}

start_traffic() {
	set -m
	"${IN_A[@]}" ib_write_bw -d va "${PERFTEST[@]}" -D 30 -s 65536 >/dev/null 2>&1 </dev/null &
	listener=$!
	await 10 group_listens "$listener" || die "no traffic"
	"${IN_B[@]}" ib_write_bw -d vb "${PERFTEST[@]}" -D 30 -s 65536 10.9.9.1 >/dev/null 2>&1 </dev/null &
	caller=$!
	set +m
	frames=$(counter b frames_sent)
	await 10 more_frames || die "no traffic"
}

more_frames() {
	(($(counter b frames_sent) > frames + 200))
}

end_traffic() {
	kill -KILL -- "-$listener" "-$caller" 2>/dev/null
	wait "$listener" "$caller" 2>/dev/null
}

ends() {
	start_traffic
	timeout $((20 * SLOWNESS)) ip netns exec a rdma link delete va || die "no device can be deleted under traffic"
	end_traffic
	{ add_link_device a && set_key a use_key two; } || die "no device can be made again"
	pingpong ibv_rc_pingpong -n 10
	start_traffic
	ip netns delete b || die "no namespace can be deleted under traffic"
	end_traffic
	await 10 no_device_b || die "a device outlives its namespace"
	rmmod vnet_ib || die "the module cannot be unloaded"
}

no_device_b() {
	[[ $(rdma link show) != *vb/* ]]
}

# shellcheck source=tests/kernel/cm.sh
. "$VNET_SOURCE_DIR/tests/kernel/cm.sh"

begin_link_with_key
timed ipv6
timed raw_packets vb "${IN_B[@]}"
timed user_node
for place in own two from-user to-user; do
	timed cm_programs "$place"
done
timed ends
