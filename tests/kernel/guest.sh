# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# For scripts that tests/kernel/run runs in a guest: devices, and pairs of
# programs. Such a script begins with
#
#   . "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
#   set_up
#
# after which there are vnet0 (on the net device d0, 192.168.77.1; only where a
# module was given by --module) and rxe0 (on d1, 192.168.78.1).

[[ ${VNET_IN_GUEST-} == 1 ]] || { echo "this is for tests/kernel/run" >&2; exit 2; }

# The provider, which libibverbs looks for by this name.
export RDMAV_DRIVERS=$VNET_TREE/lib/libvnet
# Times are so many times as long where the kernel looks at all it does: as those of
# tests/kernel/run.
SLOWNESS=1
[[ $(uname -r) != *-vnet-debug ]] || SLOWNESS=6
# How long a pair of programs may take.
PAIR_TIMEOUT=${PAIR_TIMEOUT:-60}

# "nap SECONDS" without a process of its own: a start of one takes longer, here.
exec {never}<> <(:)
nap() {
	# It always times out, which is no failure of whoever waited.
	read -r -t "$1" -u "$never" _ || :
}

# await SECONDS COMMAND...: until COMMAND succeeds; fails when it never does.
await() {
	local end=$((SECONDS + $1 * SLOWNESS + 1))
	shift

	until "$@"; do
		((SECONDS < end)) || return 1
		nap 0.02
	done
}

# The rights that flushes take are in the kernel's core since 6.2.
core_has_flushes() {
	printf '%s\n' 6.2 "$(uname -r)" | sort -C -V
}

# Runs a command as an ordinary user, who has this shell's limits.
as_user() {	# COMMAND...
	if [[ $EUID == 0 ]]; then
		HOME=$VNET_GUEST_HOME setpriv --reuid "$VNET_GUEST_UID" --regid "$VNET_GUEST_UID" --clear-groups "$@"
	else
		"$@"
	fi
}

# The kernel's own probes can be used, below $TRACE. The names of tasks are not recorded, nor
# are events chosen by set_event_pid: either changes the scheduler's code while that runs, and
# an emulated processor may go on for ever with what was there for an instant.
TRACE=/sys/kernel/tracing
may_trace() {
	[[ -e $TRACE/kprobe_events ]] || mount -t tracefs tracefs "$TRACE" || return
	echo 0 >"$TRACE/options/record-cmd"
}

# Before frames come. The first ingress queue has the kernel change the code that all of them
# pass, and an emulated processor may go on for ever with what was there for an instant.
ready_to_hold() {
	modprobe sch_ingress && tc qdisc add dev lo ingress
}

# What others' connection managers say to queue pair 1 comes half a second late. perftest's server
# does not listen for a while between its two connections, for which its client waits a second;
# an emulated processor may need more.
hold_requests() {	# NETDEV; after ready_to_hold
	modprobe -a ifb sch_netem sch_ingress cls_u32 act_mirred || return
	# By the frame's kind, and the queue pair that it is for (abi/vnet_wire.h), after IP and UDP.
	ip link add held type ifb && ip link set held up && tc qdisc add dev held root netem delay 500ms &&
		tc qdisc add dev "$1" ingress &&
		tc filter add dev "$1" parent ffff: protocol ip u32 match ip protocol 17 0xff \
			match ip dport 4790 0xffff match u8 3 0xff at 31 \
			match u32 0x01000000 0xffffffff at 100 action mirred egress redirect dev held
}

held_some() {
	tc -s qdisc show dev held | grep -q 'Sent [0-9]* bytes [1-9]'
}

# Inserts the modules of --module, in their order, each after what it needs.
load_modules() {
	local file depends

	modprobe -a ib_core ib_uverbs rdma_ucm || return
	for file in $VNET_GUEST_MODULE_LIST; do
		depends=$(modinfo -F depends "$file")
		# shellcheck disable=SC2086 # a list
		[[ -z $depends ]] || modprobe -a -q ${depends//,/ }	# those given before are in already
		insmod "$file" || return
	done
}

add_netdev() {	# NAME ADDRESS/BITS
	ip link add "$1" type dummy && ip address add "$2" dev "$1" && ip link set "$1" up
}

has_gid() {	# DEVICE INDEX
	local gid

	{ read -r gid <"/sys/class/infiniband/$1/ports/1/gids/$2"; } 2>/dev/null &&
		[[ $gid == *[1-9a-f]* ]]
}

# Is nothing left on a device of vnet's but what the kernel has there for the device's life:
# queue pair 1 with its completion queue and protection domain?
nothing_held() {	# DEVICE
	rdma -j resource show "$1" |
		jq -e '.[0] | .pd == 1 and .cq == 1 and .qp == 1 and .mr + .ctx + .srq == 0' >/dev/null
}

# Makes an RDMA device; there are GIDs when this returns.
add_device() {	# NAME TYPE NETDEV
	rdma link add "$1" type "$2" netdev "$3" || return
	await 10 has_gid "$1" 1 && return
	echo "$1 has no GID 1" >&2
	return 1
}

set_up_devices() {
	load_modules || return
	if [[ -d /sys/module/vnet_ib ]]; then
		add_netdev d0 192.168.77.1/24 && add_device vnet0 vnet d0 || return
	fi
	modprobe rdma_rxe && add_netdev d1 192.168.78.1/24 && add_device rxe0 rxe d1 || return
	touch /run/vnet-set-up
}

# Ends the script where it fails.
set_up() {
	[[ ! -e /run/vnet-set-up ]] || return 0
	set_up_devices && return
	echo "no devices could be set up" >&2
	exit 1
}

# Does a process of that group listen, for TCP or with rdma_cm?
# Whoever it is, and by whatever it listens.
port_listens() {	# PORT
	[[ -n $(ss -Hltn "sport = :$1") ]] ||
		rdma resource show cm_id 2>/dev/null | grep -qE "state LISTEN .*src-addr [^ ]*:$1( |\$)"
}

group_listens() {	# PGID
	local ss=(ss -Hltnp) pid pids

	if [[ -n ${PAIR_PORT-} ]]; then
		port_listens "$PAIR_PORT"
		return
	fi

	pids=$(pgrep -g "$1") || return 1
	[[ $EUID != 0 ]] || ss=(nsenter "--net=/proc/${pids%%$'\n'*}/ns/net" "${ss[@]}")
	pids=${pids//$'\n'/|}
	"${ss[@]}" 2>/dev/null | grep -qE "pid=($pids)," && return
	rdma resource show cm_id 2>/dev/null | grep -qE "state LISTEN .*pid ($pids) "
}

listens_or_gone() {	# PGID
	group_listens "$1" || ! kill -0 -- "-$1" 2>/dev/null
}

# pair SERVER... -- CLIENT...: starts the server, waits until it listens, runs the
# client; prints what the client prints and, when one of them fails, what the
# server said. Without a client, that is the server's command and "localhost".
# Both may be functions. The server has 5 s more than a client that ended well, and
# 1 s more than one that failed; a server that must be told to end has not failed.
pair() {
	local server=() client out pid client_pid timer status=0 server_status ended
	local limit=$((PAIR_TIMEOUT * SLOWNESS))

	while [[ $# -gt 0 && $1 != -- ]]; do
		server+=("$1")
		shift
	done
	client=("${@:2}")
	[[ ${#client[@]} -gt 0 ]] || client=("${server[@]}" localhost)
	out=$(mktemp -p /dev/shm) || return

	set -m
	"${server[@]}" >"$out" 2>&1 </dev/null &
	pid=$!
	set +m
	if ! await 30 listens_or_gone "$pid" || ! kill -0 -- "-$pid" 2>/dev/null; then
		echo "pair: ${server[*]} does not listen; it said:" >&2
		kill -KILL -- "-$pid" 2>/dev/null
		sed 's/^/  /' "$out" >&2
		rm -f -- "$out"
		return 1
	fi
	set -m
	"${client[@]}" </dev/null &
	client_pid=$!
	sleep "$limit" &
	timer=$!
	set +m
	wait -n -p ended "$client_pid" "$timer"
	status=$?
	if [[ $ended == "$timer" ]]; then
		echo "pair: no end of ${client[*]} after $limit s" >&2
		kill -KILL -- "-$client_pid" 2>/dev/null
		status=124
	fi
	kill "$timer" 2>/dev/null

	sleep $(((status ? 1 : 5) * SLOWNESS)) &
	timer=$!
	wait -n -p ended "$pid" "$timer"
	server_status=$?
	if [[ $ended == "$timer" ]]; then
		kill -TERM -- "-$pid" 2>/dev/null
		await 2 eval '! kill -0 -- "-$pid" 2>/dev/null' || kill -KILL -- "-$pid" 2>/dev/null
		server_status=0
	else
		kill "$timer" 2>/dev/null
	fi
	wait "$client_pid" "$pid" "$timer" 2>/dev/null
	if [[ $status != 0 || $server_status != 0 ]]; then
		echo "pair: the client ended with $status, the server with $server_status; it said:" >&2
		sed 's/^/  /' "$out" >&2
	fi
	rm -f -- "$out"
	return $((status ? status : server_status))
}
