# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet run: runs a program, or the processes of a parallel one, with the device present. The preload
# library starts vnetd when the program first uses the device.

# shellcheck source=usermode/cmd/program.sh
. "$VNET_SRC/usermode/cmd/program.sh"

help_run_options() {
	cat <<EOF
  --device NAME[,NAME...]  names of the devices, one NIC for each (default: vnet0)
  --node NAME              another emulated machine, with its own daemon and NICs
  --listen ADDRESS[,...]   addresses at which other nodes reach the NICs; an address outside
                           of the loopback network needs a key
  --port PORT              UDP port of the link (default: 4790)
  --peers GID=ADDRESS[/PORT][,...]  addresses of GIDs that contain none; these nodes are also
                           called when a program joins a multicast group
  --key FILE[@NETWORK][,...]  keys of frames, for all peers or those of a network: the first
                           signs, all are accepted (see vnet key --help)
  --link-layer KIND        of the node's ports: ethernet (the default) or infiniband
  --settings LIST          of the transport between nodes: frames=7,ack-unit=3,...
  --fault LIST             lose and damage frames: loss=1%,reorder=5%,... (see vnet fault)
                           (a running node keeps its addresses, port, peers, keys, settings
                           and faults, and vnet prints a warning: vnet key, settings and
                           fault change them, vnet stop ends the node)
  --with-host-devices      show the machine's own RDMA devices, too
  --allow-ptrace           let all of your processes trace the programs if Yama forbids it:
                           large transfers between processes are then faster
  --map-regions HOW        never, hot (up to 32 MiB; the default) or always: registered memory
                           becomes pages that the node's processes share, for RDMA without
                           system calls
  --unlimited-memlock      show programs an unlimited RLIMIT_MEMLOCK, for programs that do
                           not start with a low one (the device pins no memory)
EOF
}

help_run() {
	cat <<EOF
${BOLD}vnet run${PLAIN} [OPTIONS] CMD [ARGS...]

Runs CMD, an unmodified program, with the RDMA device vnet0 present. Its children
see the device as well.

  -n N                     N processes of CMD, which find each other by PMIx; when one
                           fails, all are ended (see vnet-launch --help)
  --nodes A,B,...          with -n: rank 0 on node A, rank 1 on node B, round robin
  --tag-output             with -n: begin each line of output with the rank
  --quiet                  do not warn of options that have no effect on a running node
$(help_run_options)

The exit status is that of CMD, with -n that of the first process that failed; 125: vnet
failed; 126: CMD cannot be run with the device (it is static, set-user-ID, ...; vnet prints
the reason); 127: there is no CMD.
EOF
}

# Makes paths absolute, because the daemon has another working directory.
absolute_paths() {	# FILE[,FILE...]
	local file all='' files

	IFS=, read -r -a files <<<"$1"
	for file in "${files[@]}"; do
		[[ -z $file || $file == /* ]] || file=$PWD/$file
		all+=${all:+,}$file
	done
	echo "$all"
}

# Takes the options that run and pair share; leaves their number in run_taken.
parse_run_option() {	# ARGS...
	case $1 in
	--device=* | --node=* | --listen=* | --port=* | --peers=* | --key=* | --fault=* | --settings=* | --link-layer=* | --map-regions=*)
		parse_run_option "${1%%=*}" "${1#*=}"
		run_taken=1
		;;
	--device)
		[[ ${2-} =~ ^[A-Za-z0-9_.-]{1,63}(,[A-Za-z0-9_.-]{1,63})*$ ]] ||
			die_usage "--device wants names: letters, digits, - _ and ., with commas between"
		[[ -z $(tr , '\n' <<<"$2" | sort | uniq -d) ]] || die_usage "--device wants different names"
		export VNET_DEVICES=$2
		run_taken=2
		;;
	--node)
		take_node "${2-}"
		run_taken=2
		;;
	--listen)
		[[ ${2-} =~ ^[0-9a-fA-F.:]+(,[0-9a-fA-F.:]+)*$ ]] ||
			die_usage "--listen wants IP addresses, with commas between"
		export VNET_LISTEN=$2
		run_taken=2
		;;
	--port)
		[[ ${2-} =~ ^[1-9][0-9]{0,4}$ && $2 -le 65535 ]] || die_usage "--port wants a UDP port"
		export VNET_PORT=$2
		run_taken=2
		;;
	--peers)
		[[ ${2-} == *=* ]] || die_usage "--peers wants GID=ADDRESS[/PORT], with commas between"
		export VNET_PEERS=$2
		run_taken=2
		;;
	--key)
		[[ -n ${2-} ]] || die_usage "--key wants files (FILE or FILE@NETWORK), with commas between"
		VNET_KEY_FILE=$(absolute_paths "$2")
		export VNET_KEY_FILE
		run_taken=2
		;;
	--fault)
		[[ -n ${2-} ]] || die_usage "--fault wants a list, such as loss=1%,reorder=5%"
		export VNET_FAULT=$2
		run_taken=2
		;;
	--settings)
		[[ -n ${2-} ]] || die_usage "--settings wants a list, such as frames=7,ack-unit=3"
		export VNET_SETTINGS=$2
		run_taken=2
		;;
	--link-layer)
		[[ ${2-} =~ ^(ethernet|infiniband)$ ]] ||
			die_usage "--link-layer is ethernet or infiniband"
		export VNET_LINK_LAYER=$2
		run_taken=2
		;;
	--map-regions)
		[[ ${2-} =~ ^(never|hot|always)$ ]] || die_usage "--map-regions is never, hot or always"
		export VNET_MAP_REGIONS=$2
		run_taken=2
		;;
	--with-host-devices)
		export VNET_WITH_HOST_DEVICES=1
		run_taken=1
		;;
	--allow-ptrace)
		export VNET_ALLOW_PTRACE=1
		run_taken=1
		;;
	--unlimited-memlock)
		export VNET_UNLIMITED_MEMLOCK=1
		run_taken=1
		;;
	*)
		return 1
		;;
	esac
}

# Names the options that count only when a node starts, and whose values a running node does not
# have. Needs TREE.
warn_of_ignored() {	# [NODE...]
	local node options

	[[ -n ${VNET_LISTEN-}${VNET_PORT-}${VNET_PEERS-}${VNET_KEY_FILE-}${VNET_FAULT-}${VNET_SETTINGS-} ]] || return 0
	for node in "${@:-${VNET_NODE:-default}}"; do
		options=$("$TREE/bin/vnet-status" --node "$node" --ignored 2>/dev/null)
		[[ -z $options ]] || warn "node '$node' is running with other values, so this has no effect: $options (\"vnet stop\" ends the node, --node starts another)"
	done
}

# Sets sanitizer to the library of a sanitizer build, which must be the first one in LD_PRELOAD.
find_sanitizer() {
	local cache=''

	sanitizer=
	[[ ! -r $TREE/CMakeCache.txt ]] || cache=$(<"$TREE/CMakeCache.txt")
	[[ $cache =~ VNET_SANITIZE:[A-Z]*=([^[:space:]]*) ]] || return 0
	case ${BASH_REMATCH[1]} in
	*address*) sanitizer=$(gcc -print-file-name=libasan.so) ;;
	*thread*) sanitizer=$(gcc -print-file-name=libtsan.so) ;;
	esac
}

# Exports the environment in which a program sees the device. Needs TREE.
run_environment() {
	local preload=$TREE/lib/libvnet-preload.so sanitizer

	[[ -e $preload && -x $TREE/bin/vnetd && -e $TREE/lib/libvnet-rdmav34.so ]] ||
		die "$EXIT_VNET" "no complete build of vnet is in $TREE"
	find_sanitizer
	if [[ -n $sanitizer ]]; then
		preload=$(readlink -f -- "$sanitizer"):$preload
		# Leaks of the program itself are not reported.
		export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
	fi
	# Further libraries, from vnet trace.
	preload+=${run_also:+:$run_also}
	export LD_PRELOAD=$preload${LD_PRELOAD:+:$LD_PRELOAD}
	export RDMAV_DRIVERS=$TREE/lib/libvnet${RDMAV_DRIVERS:+:$RDMAV_DRIVERS}
	export VNETD=$TREE/bin/vnetd
}

# Sets PROGRAM to the path of CMD, after checking that it can be run.
find_program() {	# CMD
	PROGRAM=$(type -P -- "$1") ||
		if [[ -e $1 && $1 == */* ]]; then
			die "$EXIT_CANNOT_RUN" "$1 is not executable"
		else
			die "$EXIT_NOT_FOUND" "there is no program '$1'"
		fi
	check_program "$PROGRAM" "$TREE/lib/libvnet-preload.so"
}

# Takes the options of several processes; leaves their number in run_taken.
parse_launch_option() {	# ARGS...; adds to run_launch
	case $1 in
	-n)
		[[ ${2-} =~ ^[1-9][0-9]{0,2}$ && $2 -le 256 ]] ||
			die_usage "-n wants a number of processes, 1 to 256"
		run_processes=$2
		run_taken=2
		;;
	--nodes=*)
		parse_launch_option --nodes "${1#*=}"
		run_taken=1
		;;
	--nodes)
		[[ ${2-} =~ ^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31}(,[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31})*$ ]] ||
			die_usage "--nodes wants names with commas between"
		run_launch+=(--nodes "$2")
		IFS=, read -r -a run_nodes <<<"$2"
		run_taken=2
		;;
	--tag-output)
		run_launch+=(--tag-output)
		run_taken=1
		;;
	*)
		return 1
		;;
	esac
}

# Starts several processes. They get the preload library, but the launcher does not.
launch() {	# CMD...
	local before=${LD_PRELOAD-} launcher=$TREE/bin/vnet-launch

	[[ -x $launcher ]] || die "$EXIT_VNET" "no complete build of vnet is in $TREE"
	run_environment
	run_launch+=(-x "LD_PRELOAD=$LD_PRELOAD")
	if [[ -n $before ]]; then
		LD_PRELOAD=$before
	else
		unset LD_PRELOAD
	fi
	exec -- "${run_before[@]}" "$launcher" -n "$run_processes" "${run_launch[@]}" -- "$@"
}

cmd_run() {
	local run_taken run_processes='' run_launch=() run_nodes=() run_before=() run_also='' run_quiet=no

	while [[ ${1-} == -* ]]; do
		case $1 in
		--help | -h)
			help_run
			return
			;;
		--quiet | -q)
			run_quiet=yes
			shift
			continue
			;;
		--)
			shift
			break
			;;
		esac
		parse_launch_option "$@" || parse_run_option "$@" ||
			die_usage "run has no option '$1'; see: vnet run --help"
		shift "$run_taken"
	done
	[[ $# -gt 0 ]] || die_usage "run what? see: vnet run --help"
	[[ -n $run_processes || ${#run_launch[@]} == 0 ]] ||
		die_usage "${run_launch[0]} is for several processes: -n N"

	need_tree device
	find_program "$1"
	[[ $run_quiet == yes ]] || warn_of_ignored "${run_nodes[@]}"
	[[ -z $run_processes ]] || launch "$@"
	run_environment
	exec -- "$@"
}
