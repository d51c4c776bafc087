#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: two devices of one network namespace reach each other and themselves. This also holds
# while their addresses change. The rdma tool shows the owner and the state of queue pairs. In
# exclusive mode, one device is moved to another namespace and comes back, by command and when
# that namespace ends.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up

die() {
	echo "several: $*" >&2
	exit 1
}

in_other() {
	ip netns exec other "$@"
}

# ---------------------------------------------------------------- side by side

frames() {	# DEVICE
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/frames_sent"
}

# Runs a program between two devices, or within one, and checks that frames were sent only
# between two.
work() {	# SERVER CLIENT PROGRAM...
	local before after from=$2 to=$1
	shift 2

	before=$(frames "$from")
	pair "$@" -d "$to" -x 1 -n 200 -- "$@" -d "$from" -x 1 -n 200 localhost >/run/out 2>&1 ||
		die "$* from $from to $to fails: $(</run/out)"
	after=$(frames "$from")
	[[ $to == "$from" || $after -gt $before ]] || die "$*: no frame has left $from"
	[[ $to != "$from" || $after == "$before" ]] || die "$*: within $from it takes frames"
}

work_together() {
	work vnet0 vnet1 ib_send_bw
	work vnet1 vnet0 ib_write_bw
	work vnet1 vnet0 ib_read_lat
	work vnet0 vnet1 ib_send_lat -c UD
	work vnet0 vnet0 ib_write_lat
	work vnet1 vnet1 ib_send_bw
}

# ---------------------------------------------------------------- addresses

has_address() {	# DEVICE GID
	grep -qs "$2" "/sys/class/infiniband/$1/ports/1/gids/"*
}

lacks_address() {
	! has_address "$@"
}

move_after() {	# MILLISECONDS
	echo "$1" | tee /sys/class/infiniband/vnet{0,1}/link/unreachable >/dev/null || die "no setting"
}

# The source address of frames to vnet1 is the one most like vnet1's. When that address is
# removed, frames leave from another, also after its GID's index has got another GID. vnet1
# accepts the other address when the first one has not answered for `unreachable`.
source_goes() {
	move_after 100
	{ ip address add 10.9.8.77/32 dev d0 && await 10 has_address vnet0 0a09:084d; } || die "no second address"
	work vnet1 vnet0 ib_send_bw
	{ ip address del 10.9.8.77/32 dev d0 && await 10 lacks_address vnet0 0a09:084d; } || die "the address stays"
	work vnet1 vnet0 ib_send_bw
	{ ip address add 172.16.5.1/32 dev d0 && await 10 has_address vnet0 ac10:0501; } || die "no third address"
	work vnet1 vnet0 ib_send_bw
	{ ip address del 172.16.5.1/32 dev d0 && await 10 lacks_address vnet0 ac10:0501; } || die "the address stays"
	move_after 3000
}

# ---------------------------------------------------------------- owners

# Queue pairs of processes on a device: "pid number peer type state".
queue_pairs() {	# DEVICE
	rdma -j resource show qp link "$1/1" 2>/dev/null |
		jq -r '.[] | select(.pid) | "\(.pid) \(.lqpn) \(.rqpn) \(.type) \(.state)"'
}

has_queue_pair() {	# DEVICE PID STATE
	queue_pairs "$1" | grep -qxE "$2 [0-9]+ [0-9]+ RC $3"
}

# The side that is only written to stays in RTR.
both_run() {
	has_queue_pair vnet0 "$listener" RTR && has_queue_pair vnet1 "$caller" RTS
}

# Starts programs that run until they are killed; sets listener and caller.
start_traffic() {
	ib_write_bw -d vnet0 -x 1 --run_infinitely >/run/listener 2>&1 </dev/null &
	listener=$!
	await 30 port_listens 18515 || die "nobody listens: $(</run/listener)"
	ib_write_bw -d vnet1 -x 1 --run_infinitely localhost >/run/caller 2>&1 </dev/null &
	caller=$!
	await 30 both_run || die "not told: '$(queue_pairs vnet0)', '$(queue_pairs vnet1)'; $(</run/caller)"
}

none_left() {
	[[ -z $(queue_pairs vnet0; queue_pairs vnet1) ]]
}

end_programs() {	# PID...
	kill -KILL "$@" 2>/dev/null
	wait "$@" 2>/dev/null
	await 10 none_left || die "queue pairs are left: $(queue_pairs vnet0) $(queue_pairs vnet1)"
}

are_told() {
	local waits number peer other_number other_peer

	ibv_rc_pingpong -p 18600 -d vnet0 -g 1 >/run/waits 2>&1 </dev/null &
	waits=$!
	await 30 has_queue_pair vnet0 "$waits" INIT || die "not told: '$(queue_pairs vnet0)'; $(</run/waits)"
	start_traffic
	read -r _ number peer _ < <(queue_pairs vnet0 | grep "^$listener ")
	read -r _ other_number other_peer _ < <(queue_pairs vnet1)
	[[ $number != "$other_number" && $number == "$other_peer" && $peer == "$other_number" ]] ||
		die "peers: $number speaks to $peer, $other_number to $other_peer"
	rdma resource show qp link vnet1/1 | grep -qE "lqpn $other_number .*state RTS .*pid $caller comm ib_write_bw" ||
		die "of $caller there is: $(rdma resource show qp link vnet1/1)"
	end_programs "$waits" "$listener" "$caller"
}

# ---------------------------------------------------------------- namespaces

is_here() {
	[[ -e /sys/class/infiniband/vnet1 && $(rdma dev show) == *vnet1* && $(ibv_devices) == *vnet1* ]]
}

is_nowhere_here() {
	[[ ! -e /sys/class/infiniband/vnet1 && $(rdma dev show) != *vnet1* && $(ibv_devices) != *vnet1* ]]
}

is_ready_here() {
	is_here && has_gid vnet1 1
}

# Creates a second namespace, without devices, and names this one.
make_other() {
	ip netns attach here $$ || die "no name for this namespace"
	{ ip netns add other && in_other ip link set lo up; } || die "no namespace"
	[[ -z $(in_other rdma dev show) ]] || die "devices leak into a namespace: $(in_other rdma dev show)"
}

goes() {
	rdma dev set vnet1 netns other || die "vnet1 does not go to another namespace"
	is_nowhere_here || die "vnet1 is still here: $(rdma dev show)"
	[[ $(in_other rdma dev show) == *vnet1* && $(in_other rdma dev show) != *vnet0* ]] ||
		die "there are in the other namespace: $(in_other rdma dev show)"
	[[ $(in_other ls /sys/class/infiniband) == vnet1 ]] ||
		die "files in the other namespace: $(in_other ls /sys/class/infiniband)"
}

works_there() {	# PROGRAM...
	local there=(ip netns exec other "$@" -d vnet1 -x 1 -n 200)

	pair "${there[@]}" >/dev/null ||
		die "$*: vnet1 does not work where it went"
}

# Programs that have the device open read IBV_EVENT_DEVICE_FATAL.
goes_under_traffic() {
	local watches

	stdbuf -oL ibv_asyncwatch -d vnet1 >/run/watches 2>&1 </dev/null &
	watches=$!
	await 30 grep -q 'async event FD' /run/watches || die "no events of vnet1: $(</run/watches)"
	start_traffic
	goes
	await 30 grep -q IBV_EVENT_DEVICE_FATAL /run/watches || die "programs do not hear of it: $(</run/watches)"
	end_programs "$watches" "$listener" "$caller"
}

comes_back() {
	in_other rdma dev set vnet1 netns here || die "vnet1 does not come back"
	await 10 is_ready_here || die "vnet1 has not come back: $(rdma dev show)"
	[[ -z $(in_other rdma dev show) ]] || die "and is still there: $(in_other rdma dev show)"
}

survives_its_namespace() {
	goes
	works_there ib_write_bw
	ip netns delete other || die "the namespace cannot be deleted"
	await 10 is_ready_here || die "vnet1 has ended with a namespace that it was lent to"
}

# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
{ add_netdev d2 10.9.8.1/24 && add_device vnet1 vnet d2; } || die "no second device"
# It comes first, while the devices do not know each other.
source_goes
work_together
are_told
await 10 rdma system set netns exclusive 2>/dev/null || die "no exclusive mode"
make_other
goes
works_there ib_send_bw
works_there ib_write_lat
comes_back
work vnet0 vnet1 ib_send_bw
goes_under_traffic
comes_back
work vnet1 vnet0 ib_write_bw
survives_its_namespace
work vnet0 vnet1 ib_read_bw
{ rdma link delete vnet1 && ip link delete d2; } || die "vnet1 cannot be deleted"
echo "vnet0 and vnet1 reach each other; vnet1 goes to another namespace and comes back"
