# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The worlds in which programs run over vnet, and what they may not leave there.

PREFIX=()		# before the vnet command
RUN_OPTIONS=()		# of vnet run
DEVICE=vnet0
KERNEL=''		# the device is the kernel's: there is no vnetd, nor a preload
OBJECTS_OF_KERNEL=0	# that are there always

# The command that runs a program with the device, as words in COMMAND.
world_command() {	# PROGRAM ARGS...
	# shellcheck disable=SC2034	# the caller's
	if [[ -n $KERNEL ]]; then
		COMMAND=("${PREFIX[@]}" "$@")
	else
		COMMAND=("${PREFIX[@]}" "$VNET" run "${RUN_OPTIONS[@]}" "$@")
	fi
}

# What the daemon, or the kernel, holds for clients, in all detail.
holdings() {
	local kind

	if [[ -z $KERNEL ]]; then
		"${PREFIX[@]}" "$VNET" status --json
		return
	fi
	rdma resource show "$DEVICE"
	for kind in qp cq srq mr pd ctx; do
		rdma -d resource show "$kind" dev "$DEVICE"
	done
}

# Without --slice, the ordinary run has the cases with this letter.
world_letter() {	# NAME
	[[ $1 != kernel-user ]] || set -- K
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

# What an ordinary user needs of vnet, where that user can read it: the clone
# may be in somebody's home.
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
	# The runtime directory is the user's, and the way to it is free.
	chmod 711 "${VNET_RUNTIME_DIR%/*}" "$VNET_TEST_DIR"
	chown "$user:$group" "$VNET_RUNTIME_DIR"
	copy_vnet "$VNET_TEST_DIR/vnet" || { echo "vnet cannot be copied"; exit 1; }
	VNET=$VNET_TEST_DIR/vnet/vnet
	cd / || exit 1
	PREFIX=(setpriv --reuid "$user" --regid "$group" --clear-groups
		env -u HOME -u XDG_RUNTIME_DIR -u VNET_TREE -u VNET_SOURCE_DIR)
}

# A device of the kernel's, for programs as they are.
enter_kernel() {	# TYPE NETDEV
	[[ ${VNET_IN_GUEST-} == 1 ]] || skip_world "this world is in guests only (tests/kernel/run --vnet)"
	((EUID == 0)) || skip_world "only root can make devices"
	# shellcheck source=tests/kernel/guest.sh
	. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
	set_up
	KERNEL=yes
	[[ -e /sys/class/infiniband/$DEVICE ]] || add_device "$DEVICE" "$1" "$2" || exit 1
}

enter_kernel_user() {
	enter_kernel vnet d0
	chmod 711 "${VNET_TEST_DIR%/*}" "$VNET_TEST_DIR"
	cd / || exit 1
	PREFIX=(setpriv --reuid "$VNET_GUEST_UID" --regid "$VNET_GUEST_UID" --clear-groups
		env -u XDG_RUNTIME_DIR "HOME=$VNET_GUEST_HOME")
}

# Programs take the first device that there is. Unless the world hides the
# others anyhow, they go.
be_alone() {
	local other

	[[ -n $KERNEL ]] || return 0
	for other in /sys/class/infiniband/*; do
		[[ ${other##*/} == "$DEVICE" ]] || rdma link delete "${other##*/}" || exit 1
	done
}

enter_world() {	# NAME
	unset VNET_DEVICES VNET_NODE VNET_WITH_HOST_DEVICES
	case $1 in
	plain) ;;
	seccomp) enter_seccomp ;;
	renamed)
		DEVICE=fast0
		RUN_OPTIONS=(--device "$DEVICE")
		;;
	user) enter_user ;;
	kernel) enter_kernel vnet d0 ;;
	kernel-user) enter_kernel_user ;;
	rxe)	# beside which vnet0 is judged
		DEVICE=rxe0
		OBJECTS_OF_KERNEL=3	# queue pair 1, and what it needs
		enter_kernel rxe d1
		;;
	*)
		echo "there is no world '$1'" >&2
		exit 2
		;;
	esac
}

# How much is held for clients; vnetd is gone soon after them.
objects() {
	if [[ -n $KERNEL ]]; then
		rdma -j resource show "$DEVICE" | jq ".[0] | .pd + .cq + .qp + .mr + .srq + .ctx - $OBJECTS_OF_KERNEL"
	else
		holdings | jq '[.. | objects | .qps, .cqs, .srqs, .mrs, .clients, .files | arrays | length] | add // 0'
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
