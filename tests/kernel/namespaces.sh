#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: a device is in the network namespace of its net device, in shared and in exclusive
# mode. It has that net device's addresses, works there, and is removed with it.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up

die() {
	echo "$*" >&2
	exit 1
}

# A network namespace n1 with a net device and vnet1 on it.
make_namespace() {
	ip netns add n1 && ip link add d2 type dummy && ip link set d2 netns n1 &&
		in_namespace ip address add 10.9.8.1/24 dev d2 && in_namespace ip link set d2 up &&
		in_namespace ip link set lo up && in_namespace rdma link add vnet1 type vnet netdev d2 &&
		await 10 in_namespace grep -q '[1-9a-f]' /sys/class/infiniband/vnet1/ports/1/gids/1
}

in_namespace() {
	ip netns exec n1 "$@"
}

works_there() {
	in_namespace rdma link show | grep -q '^link vnet1/1 state ACTIVE .*netdev d2' ||
		die "vnet1 is not in its net device's namespace: $(in_namespace rdma link show)"
	in_namespace grep -q ':0a09:0801$' /sys/class/infiniband/vnet1/ports/1/gids/1 ||
		die "GID 1 is not the net device's address"
	pair ip netns exec n1 ib_send_bw -d vnet1 -x 1 -n 100 -- \
		ip netns exec n1 ib_send_bw -d vnet1 -x 1 -n 100 localhost >/dev/null ||
		die "vnet1 does not work"
}

gone() {
	[[ $(rdma link show) != *vnet1* ]]
}

end_namespace() {
	ip netns del n1 || die "the namespace cannot be deleted"
	await 10 gone || die "vnet1 outlives its net device"
}

[[ $(rdma system show) == *"netns shared"* ]] || die "the mode is not shared: $(rdma system show)"
make_namespace || die "no vnet1 in a namespace"
works_there
end_namespace

# The mode can be changed only while there is no other namespace.
await 10 rdma system set netns exclusive 2>/dev/null || die "no exclusive mode"
make_namespace || die "no vnet1 in a namespace, in exclusive mode"
works_there
[[ -e /sys/class/infiniband/vnet0 && ! -e /sys/class/infiniband/vnet1 ]] ||
	die "devices leak from one namespace to another: $(ls /sys/class/infiniband)"
in_namespace test ! -e /sys/class/infiniband/vnet0 || die "vnet0 leaks into the namespace"
end_namespace
echo "vnet1 lives and ends with its net device, in both modes"
