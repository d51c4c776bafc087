# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The worlds in which programs run over vnet, and the check for left objects.

PREFIX=()		# before the vnet command
RUN_OPTIONS=()		# of vnet run
DEVICE=vnet0
LINK_LAYER=Ethernet	# of its port, as programs say it
KERNEL=''		# the device is the kernel's: there is no vnetd, nor a preload
OBJECTS_OF_KERNEL=0	# that are there always
NODES=()		# of server and client; else there is one
SIDE_OPTIONS=('' '')	# of vnet run, for each of them
CLIENT_PREFIX=()	# before the vnet command of the client
SERVER_HOST=localhost	# as the client names it

# Sets COMMAND to the command that runs a program with the device.
world_command() {	# PROGRAM ARGS...
	# shellcheck disable=SC2034	# the caller's
	if [[ -n $KERNEL ]]; then
		COMMAND=("${PREFIX[@]}" "$@")
	else
		COMMAND=("${PREFIX[@]}" "$VNET" run "${RUN_OPTIONS[@]}" "$@")
	fi
}

# The same for one side of a pair; each side may have its own node.
world_side() {	# server|client PROGRAM ARGS...
	local side=$1 i extra
	shift

	world_command "$@"
	((${#NODES[@]})) || return 0
	i=$([[ $side == server ]] && echo 0 || echo 1)
	read -ra extra <<<"${SIDE_OPTIONS[i]}"
	COMMAND=("${PREFIX[@]}" "$VNET" run --node "${NODES[i]}" "${RUN_OPTIONS[@]}" "${extra[@]}" "$@")
	[[ $side == server ]] || COMMAND=("${CLIENT_PREFIX[@]}" "${COMMAND[@]}")
}

# Prints all objects that the daemon, or the kernel, holds for clients.
holdings() {
	local kind

	for kind in "${NODES[@]}"; do
		"${PREFIX[@]}" "$VNET" status --node "$kind" --json
	done
	((${#NODES[@]} == 0)) || return 0
	if [[ -z $KERNEL ]]; then
		"${PREFIX[@]}" "$VNET" status --json
		return
	fi
	rdma resource show "$DEVICE"
	for kind in qp cq srq mr pd ctx; do
		rdma -d resource show "$kind" dev "$DEVICE"
	done
}

# The letter of the cases of the ordinary run, without --slice.
world_letter() {	# NAME
	[[ $1 != kernel-user ]] || set -- K
	# rxe0 gets the cases of vnet0.
	[[ $1 != rxe ]] || set -- kernel
	[[ $1 != netns ]] || set -- N
	[[ $1 != netns-faulty ]] || set -- F
	[[ $1 != netns-ipv6 ]] || set -- 6
	[[ $1 != netns-jumbo && $1 != netns-unequal ]] || set -- 9
	[[ $1 != ib-nodes ]] || set -- I
	echo "${1:0:1}"
}

skip_world() {
	echo "SKIP: $*"
	exit 77
}

enter_seccomp() {
	PREFIX=("$VNET_TREE/bin/no_process_vm")
	[[ -x ${PREFIX[0]} ]] || skip_world "no_process_vm is not built: libseccomp-dev is missing"
}

# Copies those files of vnet that an ordinary user needs, because the user may be unable to read the
# clone.
copy_vnet() {	# DIRECTORY
	mkdir -p "$1/usermode" "$1/bin" || return
	cp -r "$VNET_TREE/lib" "$1/" && cp "$VNET_TREE"/bin/vnet* "$1/bin/" &&
		cp "$VNET" "$1/" && cp -r "${VNET%/*}/usermode/cmd" "$1/usermode/" &&
		chmod -R u=rwX,go=rX "$1"
}

enter_user() {
	local user=nobody group

	((EUID == 0)) || skip_world "only root can become another user"
	group=$(id -gn "$user") || skip_world "there is no user $user"
	# The user owns the runtime directory, and can access its parents.
	chmod 711 "${VNET_RUNTIME_DIR%/*}" "$VNET_TEST_DIR"
	chown "$user:$group" "$VNET_RUNTIME_DIR"
	copy_vnet "$VNET_TEST_DIR/vnet" || { echo "vnet cannot be copied"; exit 1; }
	VNET=$VNET_TEST_DIR/vnet/vnet
	cd / || exit 1
	PREFIX=(setpriv --reuid "$user" --regid "$group" --clear-groups
		env -u HOME -u XDG_RUNTIME_DIR -u VNET_TREE -u VNET_SOURCE_DIR)
}

# A device of the kernel, for unmodified programs without preload.
enter_kernel() {	# TYPE NETDEV
	[[ ${VNET_IN_GUEST-} == 1 ]] || skip_world "this world is in guests only (tests/kernel/run --vnet)"
	((EUID == 0)) || skip_world "only root can make devices"
	# shellcheck source=tests/kernel/guest.sh
	. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
	set_up
	KERNEL=yes
	OBJECTS_OF_KERNEL=3	# queue pair 1, and what it needs
	[[ -e /sys/class/infiniband/$DEVICE ]] || add_device "$DEVICE" "$1" "$2" || exit 1
}

enter_kernel_user() {
	enter_kernel vnet d0
	chmod 711 "${VNET_TEST_DIR%/*}" "$VNET_TEST_DIR"
	cd / || exit 1
	PREFIX=(setpriv --reuid "$VNET_GUEST_UID" --regid "$VNET_GUEST_UID" --clear-groups
		env -u XDG_RUNTIME_DIR "HOME=$VNET_GUEST_HOME")
}

# Server and client are on two nodes of this machine.
enter_nodes() {
	NODES=(A B)
}

# An InfiniBand port: peers are addressed by LID.
enter_infiniband() {
	# shellcheck disable=SC2034	# the verdicts look at it
	LINK_LAYER=InfiniBand
	RUN_OPTIONS=(--link-layer infiniband)
	# For commands without these options: vnet pair, and programs that start others.
	export VNET_LINK_LAYER=infiniband
}

# Frames between them are lost, duplicated, reordered and damaged.
add_faults() {
	local faults=loss=1%,duplicate=1%,reorder=5%,corrupt=0.1%

	SIDE_OPTIONS[0]+=" --fault $faults,seed=1"
	SIDE_OPTIONS[1]+=" --fault $faults,seed=2"
}

enter_faulty() {
	enter_nodes
	add_faults
}

# The two ends of the cable between network namespaces: addresses of the nodes, and MTUs.
CABLE_ADDRESSES=(10.77.0.1 10.77.0.2)
CABLE_MTUS=(1500 1500)

# nodad: the address is usable at once, without duplicate address detection.
add_ipv6() {	# ADDRESS [PREFIX...]
	local address=$1
	shift

	[[ $address == *:* ]] || return 0
	"$@" ip addr add "$address/64" dev cable nodad || skip_world "there is no IPv6 here"
}

# Server and client in two network namespaces that a veth ("cable") connects. This process moves
# to that of the server. Programs always connect to 10.77.0.1, whatever the addresses of the
# link are.
enter_netns() {
	local key=$VNET_TEST_DIR/key client

	((EUID == 0)) || skip_world "only root can make network namespaces"
	if [[ -z ${VNET_TEST_NETNS-} ]]; then
		unshare --net true || skip_world "no network namespace can be made"
		VNET_TEST_NETNS=yes exec unshare --net "$0" "${ARGUMENTS[@]}"
	fi
	unshare --net sleep infinity &
	client=$!
	until [[ $(readlink "/proc/$client/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do
		sleep 0.01
	done
	CLIENT_PREFIX=(nsenter "--net=/proc/$client/ns/net")
	SERVER_HOST=10.77.0.1
	{
		ip link set lo up && "${CLIENT_PREFIX[@]}" ip link set lo up &&
			ip link add cable mtu "${CABLE_MTUS[0]}" type veth \
				peer name cable mtu "${CABLE_MTUS[1]}" netns "$client" &&
			ip addr add "$SERVER_HOST/24" dev cable && ip link set cable up &&
			"${CLIENT_PREFIX[@]}" ip addr add 10.77.0.2/24 dev cable &&
			"${CLIENT_PREFIX[@]}" ip link set cable up
	} || { echo "the network namespaces cannot be joined"; exit 1; }
	add_ipv6 "${CABLE_ADDRESSES[0]}"
	add_ipv6 "${CABLE_ADDRESSES[1]}" "${CLIENT_PREFIX[@]}"
	(umask 077 && head -c 32 /dev/urandom >"$key")
	NODES=(A B)
	SIDE_OPTIONS=("--listen ${CABLE_ADDRESSES[0]} --key $key" "--listen ${CABLE_ADDRESSES[1]} --key $key")
}

# Removes other devices, because programs take the first one. Not needed if the world hides the
# others.
be_alone() {
	local other

	[[ -n $KERNEL ]] || return 0
	for other in /sys/class/infiniband/*; do
		[[ ${other##*/} == "$DEVICE" ]] || rdma link delete "${other##*/}" || exit 1
	done
}

enter_world() {	# NAME
	unset VNET_DEVICES VNET_NODE VNET_WITH_HOST_DEVICES VNET_LINK_LAYER
	case $1 in
	plain) ;;
	seccomp) enter_seccomp ;;
	renamed)
		DEVICE=fast0
		RUN_OPTIONS=(--device "$DEVICE")
		;;
	user) enter_user ;;
	nodes) enter_nodes ;;
	infiniband) enter_infiniband ;;
	ib-nodes)
		enter_infiniband
		enter_nodes
		;;
	faulty) enter_faulty ;;
	netns) enter_netns ;;
	netns-faulty)
		enter_netns
		add_faults
		;;
	netns-ipv6)
		CABLE_ADDRESSES=(fd00:77::1 fd00:77::2)
		enter_netns
		;;
	netns-jumbo)
		CABLE_MTUS=(9000 9000)
		enter_netns
		;;
	netns-unequal)
		CABLE_MTUS=(9000 1500)
		enter_netns
		;;
	kernel) enter_kernel vnet d0 ;;
	kernel-user) enter_kernel_user ;;
	rxe)	# beside which vnet0 is judged
		DEVICE=rxe0
		enter_kernel rxe d1
		;;
	*)
		echo "there is no world '$1'" >&2
		exit 2
		;;
	esac
}

# Prints the number of objects of clients. (vnetd ends soon after its last client.)
objects() {
	if [[ -n $KERNEL ]]; then
		rdma -j resource show "$DEVICE" | jq ".[0] | .pd + .cq + .qp + .mr + .srq + .ctx - $OBJECTS_OF_KERNEL"
	else
		holdings | jq '[.. | objects | .qps, .cqs, .srqs, .wqs, .mrs, .clients, .files | arrays | length] | add // 0' | awk '{ sum += $1 } END { print sum }'
	fi
}

nothing_left() {
	local left end=$((SECONDS + 5))

	while :; do
		left=$(objects)
		[[ $left == 0 ]] && return
		((SECONDS < end)) || break
		sleep 0.02
	done
	fail "${left:-an unknown number of} objects are left: $(holdings)"
}

# Programs with XRC name their domains by files in this folder, and leave these behind. Another
# user cannot open them.
: "${JUDGE_DOMAINS:=/tmp}"
DOMAINS_BEFORE=''
DOMAINS_LOCK=''

domains() {
	stat -c '%d:%i:%W %n' -- "$JUDGE_DOMAINS"/xrc_domain{,_server,_client} 2>/dev/null
}

# Removes the files created since begin_domains(). The lock keeps other judges from creating
# any.
end_domains() {
	local file

	[[ -n $DOMAINS_LOCK ]] || return 0
	while read -r _ file; do
		rm -f -- "$file"
	done < <(comm -13 <(sort <<<"$DOMAINS_BEFORE") <(domains | sort))
	exec {DOMAINS_LOCK}<&-
	DOMAINS_LOCK=''
}

begin_domains() {
	exec {DOMAINS_LOCK}<"$JUDGE_DOMAINS" && flock "$DOMAINS_LOCK" || return
	DOMAINS_BEFORE=$(domains)
	# Also on SIGTERM.
	trap end_domains EXIT
	trap 'exit 143' TERM
}
