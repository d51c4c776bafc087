# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet kernel: builds the kernel module, runs guests with it, sets keys and faults of its devices.

VNET_KERNEL_ROOM=$VNET_SRC/tests/kernel
VNET_KERNEL_MODULE=kernel/vnet_ib

help_kernel() {
	cat <<EOF
${BOLD}vnet kernel shell${PLAIN} [--kernel VERSION] [--memory MB]
${BOLD}vnet kernel run${PLAIN} [OPTIONS] SCRIPT [ARGS...]
${BOLD}vnet kernel build${PLAIN} [--kernel VERSION]
${BOLD}vnet kernel fetch${PLAIN} [VERSION]
${BOLD}vnet kernel key${PLAIN} [--device NAME] [--network NETWORK] [--accept] FILE
${BOLD}vnet kernel key${PLAIN} [--device NAME] [--network NETWORK] --forget
${BOLD}vnet kernel fault${PLAIN} [--device NAME] --event NAME[:NUMBER]... | --rnr on|off

The kernel module vnet_ib, and guests to try it without risk: Debian's own kernel under
QEMU's software emulation. A guest sees this machine's files, and cannot change them.

  shell   starts a shell in a guest with the devices vnet0 and rxe0
  run     runs SCRIPT in such a guest; fails also if the kernel logs a warning.
          OPTIONS are those of tests/kernel/run; see "vnet kernel run --help"
  build   builds the module, and prints its path
  fetch   downloads the kernel for guests; installs nothing, except, by root, the
          headers for building modules
  key     gives the key in FILE (16 to 4096 bytes) to a device of the kernel, which signs
          its frames with it from now on; nodes of user mode can use the same key. The
          previous key is still accepted; giving the same key again ends that.
          --accept: only accept this key. --network: only for peers whose addresses are in
          NETWORK (10.1.0.0/16, ...); for a peer, only the keys with the narrowest matching
          network are used. --forget: remove all given keys, or those of the network;
          without a given key, frames stay on this machine.
          NAME: default vnet0. Needs CAP_NET_ADMIN. A key cannot be read.
  fault   makes a device of the kernel raise the event, as "vnet fault" does in user mode;
          completion and shared receive queues have the numbers of "rdma resource show".
          --rnr on: no message finds a receive, until --rnr off. Faults of the link are
          set by tc: tc qdisc add dev NETDEV root netem loss 1%.

  --kernel VERSION  6.1 (the default), 6.12, a full version such as 6.1.0-56-amd64, or
                    debug, which tests/kernel/build-debug-kernel builds; for build, the
                    default is this machine's own kernel if its headers are installed
  --memory MB       memory of the guest (default: 4096)

Missing files are downloaded first. As root, missing Debian packages are installed.
EOF
}

# Loads the functions that find and fetch kernels, and build the module.
kernel_library() {
	[[ -e $VNET_KERNEL_ROOM/run ]] || die "$EXIT_VNET" "the kernel module is in vnet's source tree only"
	# shellcheck source=tests/kernel/images.sh
	. "$VNET_KERNEL_ROOM/images.sh"
	# shellcheck source=tests/kernel/module.sh
	. "$VNET_KERNEL_ROOM/module.sh"
}

# Gets a kernel image for guests; as root, installs its headers if they are missing.
kernel_fetch() {	# WANTED
	if ! find_kernel "$1"; then
		command -v apt-get >/dev/null || die "$EXIT_VNET" "kernels are fetched from Debian; this is another system"
		say "fetching the kernel $1 for guests"
		fetch_kernel "$1" || die "$EXIT_VNET" "Debian's kernel $1 could not be fetched"
		find_kernel "$1" || die "$EXIT_VNET" "the downloaded package is not the kernel $1"
	fi
	kernel_headers "$KERNEL" >/dev/null || [[ $EUID != 0 ]] || install_packages "linux-headers-$KERNEL"
}

# Sets KERNEL and KERNEL_IMAGE to a kernel with headers. Gets it if there is none.
need_kernel() {	# WANTED
	find_kernel "$1" kernel_headers && return
	[[ $1 != debug ]] ||
		die "$EXIT_VNET" "there is no debug kernel yet" "tests/kernel/build-debug-kernel makes one"
	kernel_fetch "$1"
	find_kernel "$1" kernel_headers && return
	find_kernel "$1"
	die "$EXIT_VNET" "there are no headers of the kernel $KERNEL" "as root: apt-get install linux-headers-$KERNEL"
}

kernel_build() {	# [--kernel VERSION]
	local wanted=

	if [[ ${1-} == --kernel ]]; then
		[[ -n ${2-} ]] || die_usage "--kernel wants a version"
		wanted=$2
		shift 2
	fi
	[[ $# == 0 ]] || die_usage "kernel build has no argument '$1'; see: vnet kernel --help"
	need_packages install build
	command -v make >/dev/null || die "$EXIT_VNET" "there is no make" "as root: apt-get install make"
	KERNEL=${wanted:-$(uname -r)}
	kernel_headers "$KERNEL" >/dev/null || need_kernel "${wanted:-6.1}"
	build_module "$VNET_KERNEL_MODULE" "$KERNEL" || exit "$EXIT_VNET"
	echo "$MODULE"
}

kernel_guest() {	# shell|run [OPTIONS] [SCRIPT [ARGS...]]
	local options=(--vnet) wanted=${VNET_KERNEL:-6.1} i

	for ((i = 2; i < $#; i++)); do
		[[ ${!i} != --kernel ]] || { i=$((i + 1)); wanted=${!i}; }
	done
	if [[ $1 == shell ]]; then
		[[ -t 0 && -t 2 ]] || die "$EXIT_VNET" "vnet kernel shell wants a terminal"
		options+=(--tty --timeout 1000000 "${@:2}" "$VNET_KERNEL_ROOM/shell")
	else
		[[ $# -gt 1 ]] || die_usage "kernel run what? see: vnet kernel run --help"
		options+=("${@:2}")
	fi
	need_packages install build kernel
	need_kernel "$wanted"
	need_tree device
	# shellcheck disable=SC2153 # set by need_tree
	export VNET_TREE=$TREE
	exec "$VNET_KERNEL_ROOM/run" "${options[@]}"
}

# Writes the key to the driver with a single write(), as the driver requires.
kernel_give_key() {	# FILE ATTRIBUTE NETWORK
	local size line=${3:+$3$'\n'}

	[[ -f $1 && -r $1 ]] || die_usage "there is no key file '$1'"
	size=$(stat -L -c %s -- "$1")
	((size >= 16 && size <= 4096)) || die_usage "key file $1: a key has from 16 to 4096 bytes"
	((size + ${#line} <= 4096)) || die_usage "key file $1: too long beside a network"
	{ printf %s "$line" && cat -- "$1"; } |
		dd bs=4096 count=1 iflag=fullblock status=none of="$2" ||
		die "$EXIT_VNET" "the driver refused the key"
}

kernel_forget_keys() {	# FOLDER NETWORK
	if [[ -n $2 ]]; then
		echo "$2" >"$1/forget_group"
	else
		echo all >"$1/forget_keys"
	fi || die "$EXIT_VNET" "the keys were not removed"
}

kernel_key() {	# [--device NAME] [--network NETWORK] [--accept] FILE, or --forget
	local device=vnet0 what=use network='' folder

	while [[ ${1-} == -* ]]; do
		case $1 in
		--device)
			[[ ${2-} =~ ^[A-Za-z0-9_.-]+$ ]] || die_usage "--device wants a name"
			device=$2
			shift
			;;
		--network)
			[[ ${2-} =~ ^[0-9a-fA-F.:]+(/[0-9]+)?$ ]] ||
				die_usage "--network wants one, such as 10.1.0.0/16"
			network=$2
			shift
			;;
		--accept) what=accept ;;
		--forget) what=forget ;;
		*) die_usage "kernel key has no option '$1'; see: vnet kernel --help" ;;
		esac
		shift
	done
	folder=/sys/class/infiniband/$device/link
	[[ -d $folder ]] || die "$EXIT_VNET" "the kernel has no device $device of vnet's"
	if [[ $what == forget ]]; then
		[[ $# == 0 ]] || die_usage "kernel key --forget wants no file"
		kernel_forget_keys "$folder" "$network"
		return
	fi
	[[ $# == 1 ]] || die_usage "kernel key wants a file; see: vnet kernel --help"
	kernel_give_key "$1" "$folder/${what}_${network:+group_}key" "$network"
}

kernel_fault() {	# [--device NAME] --event NAME[:NUMBER]... | --rnr on|off
	local device=vnet0 events=() rnr='' event folder

	while [[ $# -gt 0 ]]; do
		case $1 in
		--device)
			[[ ${2-} =~ ^[A-Za-z0-9_.-]+$ ]] || die_usage "--device wants a name"
			device=$2
			;;
		--event)
			[[ ${2-} =~ ^[a-z-]+(:[0-9]+)?$ ]] || die_usage "--event wants a name; see: vnet fault --help"
			events+=("$2")
			;;
		--rnr)
			[[ ${2-} =~ ^(on|off)$ ]] || die_usage "--rnr wants on or off"
			rnr=$2
			;;
		*) die_usage "kernel fault has no option '$1'; see: vnet kernel --help" ;;
		esac
		shift 2
	done
	[[ ${#events[@]} -gt 0 || -n $rnr ]] || die_usage "kernel fault: which? see: vnet kernel --help"
	folder=/sys/class/infiniband/$device/fault
	[[ -d $folder ]] || die "$EXIT_VNET" "the kernel has no device $device of vnet's"
	[[ -w $folder/event ]] || die "$EXIT_VNET" "only root may do that"
	[[ -z $rnr ]] || echo "$rnr" >"$folder/starve" || die "$EXIT_VNET" "the driver refused --rnr $rnr"
	for event in "${events[@]}"; do
		echo "$event" >"$folder/event" || die "$EXIT_VNET" "$event was refused"
	done
}

cmd_kernel() {
	if [[ ${1-} =~ ^(--help|-h)$ || ${1-} != run && ${2-} =~ ^(--help|-h)$ ]]; then
		help_kernel
		return
	fi
	if [[ ${1-} == key ]]; then
		kernel_key "${@:2}"
		return
	fi
	if [[ ${1-} == fault ]]; then
		kernel_fault "${@:2}"
		return
	fi
	kernel_library
	case ${1-} in
	run)
		[[ ! ${2-} =~ ^(--help|-h)$ ]] || exec "$VNET_KERNEL_ROOM/run" --help
		kernel_guest "$@"
		;;
	shell) kernel_guest "$@" ;;
	build) kernel_build "${@:2}" ;;
	fetch)
		need_packages tell build
		kernel_fetch "${2:-6.1}"
		;;
	*) die_usage "kernel what? see: vnet kernel --help" ;;
	esac
}
