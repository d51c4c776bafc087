# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions for scripts that tests/kernel/run runs in a guest. Such a script begins with
#
#   . "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
#   set_up
#
# Then there are vnet0 (on the net device d0, 192.168.77.1; only if a module was given by
# --module) and rxe0 (on d1, 192.168.78.1).

[[ ${VNET_IN_GUEST-} == 1 ]] || { echo "this is for tests/kernel/run" >&2; exit 2; }

# The provider, for libibverbs.
export RDMAV_DRIVERS=$VNET_TREE/lib/libvnet
# Factor of time limits: 6 with the debug kernel, as in tests/kernel/run.
SLOWNESS=1
[[ $(uname -r) != *-vnet-debug ]] || SLOWNESS=6
# Time limit of a pair of programs, in seconds.
PAIR_TIMEOUT=${PAIR_TIMEOUT:-60}

# "nap SECONDS" sleeps without a child process, whose start would take longer here.
exec {never}<> <(:)
nap() {
	# read always times out.
	read -r -t "$1" -u "$never" _ || :
}

# await SECONDS COMMAND...: waits until COMMAND succeeds; fails after SECONDS.
await() {
	local end=$((SECONDS + $1 * SLOWNESS + 1))
	shift

	until "$@"; do
		((SECONDS < end)) || return 1
		nap 0.02
	done
}

# The kernel's core has the access rights of flushes since 6.2.
core_has_flushes() {
	printf '%s\n' 6.2 "$(uname -r)" | sort -C -V
}

# Runs a command as an ordinary user, with the limits of this shell.
as_user() {	# COMMAND...
	if [[ $EUID == 0 ]]; then
		HOME=$VNET_GUEST_HOME setpriv --reuid "$VNET_GUEST_UID" --regid "$VNET_GUEST_UID" --clear-groups "$@"
	else
		"$@"
	fi
}

# Prepares tracefs below $TRACE for kprobes. Task names are not recorded, and events are not
# selected by set_event_pid: both make the kernel patch the scheduler's code while it runs, and
# an emulated processor may continue to execute an intermediate state of that code.
TRACE=/sys/kernel/tracing
may_trace() {
	[[ -e $TRACE/kprobe_events ]] || mount -t tracefs tracefs "$TRACE" || return
	echo 0 >"$TRACE/options/record-cmd"
}

# To be called before frames arrive. The first ingress qdisc makes the kernel patch the receive
# path, and an emulated processor may continue to execute an intermediate state of that code.
ready_to_hold() {
	modprobe sch_ingress && tc qdisc add dev lo ingress
}

# Delays management datagrams to queue pair 1 by half a second. perftest's server does not
# listen for a while between its two connections. Its client waits one second for that, which
# may be too short for an emulated processor.
hold_requests() {	# NETDEV; after ready_to_hold
	modprobe -a ifb sch_netem sch_ingress cls_u32 act_mirred || return
	# Selects frames by kind and destination queue pair (abi/vnet_wire.h), behind IP and
	# UDP.
	ip link add held type ifb && ip link set held up && tc qdisc add dev held root netem delay 500ms &&
		tc qdisc add dev "$1" ingress &&
		tc filter add dev "$1" parent ffff: protocol ip u32 match ip protocol 17 0xff \
			match ip dport 4790 0xffff match u8 3 0xff at 31 \
			match u32 0x01000000 0xffffffff at 100 action mirred egress redirect dev held
}

held_some() {
	tc -s qdisc show dev held | grep -q 'Sent [0-9]* bytes [1-9]'
}

# Inserts the modules of --module in order, each after its dependencies.
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

# Whether a vnet device has no objects but those of the kernel for the device's life: queue pair
# 1 with its completion queue and protection domain.
nothing_held() {	# DEVICE
	rdma -j resource show "$1" |
		jq -e '.[0] | .pd == 1 and .cq == 1 and .qp == 1 and .mr + .ctx + .srq == 0' >/dev/null
}

# Creates an RDMA device, and waits for its GIDs.
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

# Sets up the devices; ends the script on failure.
set_up() {
	[[ ! -e /run/vnet-set-up ]] || return 0
	set_up_devices && return
	echo "no devices could be set up" >&2
	exit 1
}

# Whether any process listens on the port, for TCP or with rdma_cm.
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

# One attempt of pair, with its $server and $client. The server's output goes to $scratch.
pair_once() {
	local pid client_pid timer status=0 server_status ended limit=$((PAIR_TIMEOUT * SLOWNESS))

	set -m
	"${server[@]}" >"$scratch/server" 2>&1 </dev/null &
	pid=$!
	set +m
	if ! await 30 listens_or_gone "$pid" || ! kill -0 -- "-$pid" 2>/dev/null; then
		echo "pair: ${server[*]} does not listen; it said:" >&2
		kill -KILL -- "-$pid" 2>/dev/null
		sed 's/^/  /' "$scratch/server" >&2
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
		sed 's/^/  /' "$scratch/server" >&2
	fi
	return $((status ? status : server_status))
}

# pair SERVER... -- CLIENT...: starts the server, waits until it listens, and runs the client.
# Prints the output of the client and, if one of them fails, that of the server. Without a
# client, it is the server's command and "localhost". Both may be functions. After a successful
# client, the server has 5 s to end, otherwise 1 s; a server that must be terminated has not
# failed. perftest compares two clocks before it reports, and fails if they disagree. They disagree
# if the emulated processor stood still in between. This is no failure of vnet, and the attempt is
# repeated.
pair() {
	local server=() client scratch attempt status

	while [[ $# -gt 0 && $1 != -- ]]; do
		server+=("$1")
		shift
	done
	client=("${@:2}")
	[[ ${#client[@]} -gt 0 ]] || client=("${server[@]}" localhost)
	scratch=$(mktemp -d -p /dev/shm) || return

	for attempt in 1 2 3; do
		((attempt == 1)) || echo "pair: once more: perftest found the clocks unsteady" >&2
		pair_once >"$scratch/output" 2>"$scratch/errors" && status=0 || status=$?
		if ((status == 0)) || ! grep -qs 'Correlation coefficient r^2' "$scratch"/*; then
			break
		fi
	done
	cat "$scratch/output"
	cat "$scratch/errors" >&2
	rm -rf -- "$scratch"
	return $status
}
