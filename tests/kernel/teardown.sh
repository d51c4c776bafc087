# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, with vnet_ktest.ko: processes, devices, net devices and the module end under
# traffic. Each once, or 100 times with VNET_SOAK=1. No object remains.
#
#   teardown.sh TRAFFIC KTEST_USER
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
TRAFFIC=$1 KTEST_USER=$2
ROUNDS=1
[[ -z ${VNET_SOAK-} ]] || ROUNDS=100

fail() {
	echo "teardown: $*" >&2
	rdma resource show >&2
	exit 1
}

nothing_left() {
	nothing_held vnet0
}

no_device() {
	[[ ! -e /sys/class/infiniband/vnet0 ]]
}

# Starts a command with low priority: the programs poll, on two processors, and must not starve
# this shell.
in_background() {	# COMMAND...
	set -m
	nice -n 10 setpriv --reuid "$VNET_GUEST_UID" --clear-groups "$@" &
	set +m
}

what_it_said() {	# FD
	local line

	while read -r -t 0.1 -u "$1" line; do
		echo "$line"
	done
}

# Waits until the program prints "flows". The program's own limit is 30 s.
await_flow() {	# FD
	local line=''

	until [[ $line == *flows* ]]; do
		read -r -t $((40 * SLOWNESS)) -u "$1" line || fail "no traffic: $line"
	done
}

# Traffic between processes.
start_flow() {
	exec {said}<> <(:)
	in_background "$TRAFFIC" >&"$said" 2>&1
	traffic=$! user=''
	await_flow "$said"
}

# Checks that the traffic continues from now on.
check_flow() {
	kill -USR1 "$traffic" || fail "there is no traffic: $(what_it_said "$said")"
	await_flow "$said"
	kill -0 "$user" 2>/dev/null || fail "the traffic with the kernel has ended: $(what_it_said "$user_said")"
}

# Traffic between processes, and between a process and a kernel consumer with events.
start_traffic() {
	local kernel_user

	exec {user_said}<> <(:)
	in_background "$KTEST_USER" vnet0 100000000 >&"$user_said" 2>&1
	kernel_user=$!
	start_flow
	user=$kernel_user
	await_flow "$user_said"
}

kill_traffic() {
	kill -KILL -- "-$traffic" ${user:+"-$user"} 2>/dev/null
	wait "$traffic" ${user:+"$user"} 2>/dev/null
	exec {said}>&-
	[[ -z $user ]] || exec {user_said}>&-
}

check_clean() {	# WHAT
	await 20 nothing_left || fail "$1: something is left"
}

killed() {
	start_traffic
	kill_traffic
	check_clean "killed processes"
}

device_deleted() {
	start_traffic
	timeout 20 rdma link delete vnet0 || fail "the device cannot be deleted"
	no_device || fail "the device is still there"
	nap 0.2
	kill_traffic
	add_device vnet0 vnet d0 || fail "the device cannot be made again"
	check_clean "deleted device"
}

netdev_deleted() {
	start_traffic
	timeout 20 ip link delete d0 || fail "the net device cannot be deleted"
	await 10 no_device || fail "the device outlives its net device"
	kill_traffic
	add_netdev d0 192.168.77.1/24 || fail "the net device cannot be made again"
	add_device vnet0 vnet d0 || fail "the device cannot be made again"
	check_clean "deleted net device"
}

# The traffic continues while the net device is stopped and renamed.
netdev_changed() {
	local name netdev=d0

	start_traffic
	for name in other d0; do
		ip -batch - <<-END || fail "the net device cannot be stopped, renamed and started"
			link set $netdev down
			link set $netdev name $name
			link set $name up
		END
		netdev=$name
		check_flow
	done
	kill_traffic
	check_clean "renamed net device"
	await 10 has_gid vnet0 1 || fail "the renamed net device has no GID"
}

unloaded() {
	exec 9>/dev/vnet_ktest
	echo "hold vnet0" >&9 || fail "no queue pair in the kernel"
	rmmod vnet_ib 2>/dev/null && fail "the module went under a queue pair of the kernel"
	exec 9>&-
	start_flow
	rmmod vnet_ib 2>/dev/null && fail "the module went under a process"
	kill_traffic
	check_clean "processes that kept the module"
	rmmod vnet_ib || fail "the module cannot be unloaded"
	no_device || fail "the device outlives its module"
	insmod "$MODULE" || fail "the module cannot be loaded again"
	add_device vnet0 vnet d0 || fail "the device cannot be made again"
}

MODULE=
for file in $VNET_GUEST_MODULE_LIST; do
	[[ $file != */vnet_ib.ko ]] || MODULE=$file
done
for what in killed device_deleted netdev_deleted netdev_changed unloaded; do
	start=$SECONDS
	for ((i = 0; i < ROUNDS; i++)); do
		"$what"
	done
	echo "$what: $ROUNDS rounds, $((SECONDS - start)) s"
done
