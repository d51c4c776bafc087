# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The worlds in which programs run over vnet, and what they may not leave there.

PREFIX=()		# before the vnet command
RUN_OPTIONS=()		# of vnet run
DEVICE=vnet0

in_world() {	# vnet's arguments
	"${PREFIX[@]}" "$VNET" "$@"
}

# The command that runs a program with the device, as words in COMMAND.
world_command() {	# PROGRAM ARGS...
	# shellcheck disable=SC2034	# the caller's
	COMMAND=("${PREFIX[@]}" "$VNET" run "${RUN_OPTIONS[@]}" "$@")
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
	*)
		echo "there is no world '$1'" >&2
		exit 2
		;;
	esac
}

# How much the daemon holds for clients; it is gone soon after them.
objects() {
	in_world status --json |
		jq '[.. | objects | .qps, .cqs, .srqs, .mrs, .clients, .files | arrays | length] | add // 0'
}

nothing_left() {
	local left end=$((SECONDS + 5))

	while :; do
		left=$(objects)
		[[ $left == 0 ]] && return
		((SECONDS < end)) || break
		sleep 0.02
	done
	fail "${left:-an unknown number of} objects are left: $(in_world status --json)"
}
