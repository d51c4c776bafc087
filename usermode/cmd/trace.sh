# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet trace: runs a program with the device, and prints its work requests and completions.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

help_trace() {
	cat <<EOF
${BOLD}vnet trace${PLAIN} [OPTIONS] CMD [ARGS...]

Runs CMD like ${BOLD}vnet run${PLAIN}, and prints a line to stderr for each work request and completion.
Warnings report what cannot work, and what works here and fails with adapters: a send
queue full of unsignaled requests, waiting for a completion queue that is not armed,
messages that find no receive, wrong access flags, and others. doc/trace.md shows each.

  --json                   print one JSON object for each line
  --output FILE            write to FILE instead of stderr
  --warnings               print only warnings
  --quiet                  print neither lines nor warnings (for --summary)
  --summary                at the end, print the number of requests and of warnings, by
                           kind, also of killed processes
  --kernel                 use the kernel's devices (vnet_ib) only
  -n N, --nodes, --tag-output
                           several processes, as for vnet run
$(help_run_options)

The exit status is that of vnet run.
EOF
}

# Takes the options of tracing; leaves their number in run_taken.
parse_trace_option() {	# ARGS...; adds to run_before
	case $1 in
	--json | --warnings | --quiet | --summary)
		run_before+=("$1")
		run_taken=1
		;;
	--kernel)
		trace_kernel=yes
		run_taken=1
		;;
	--output=*)
		parse_trace_option --output "${1#*=}"
		run_taken=1
		;;
	--output | -o)
		[[ -n ${2-} ]] || die_usage "--output wants a file"
		run_before+=(--output "$2")
		run_taken=2
		;;
	*)
		return 1
		;;
	esac
}

# Exports the environment for the kernel's devices. There is no preload library; vnet's provider
# traces.
kernel_environment() {
	export LD_PRELOAD=$run_also${LD_PRELOAD:+:$LD_PRELOAD}
	export RDMAV_DRIVERS=$TREE/lib/libvnet${RDMAV_DRIVERS:+:$RDMAV_DRIVERS}
}

# Starts the program. It gets the preloaded libraries, but vnet-trace, which waits for it, does not.
run_traced() {	# CMD...
	local before=${LD_PRELOAD-}

	if [[ $trace_kernel == yes ]]; then kernel_environment; else run_environment; fi
	run_before+=(-x "LD_PRELOAD=$LD_PRELOAD")
	if [[ -n $before ]]; then
		LD_PRELOAD=$before
	else
		unset LD_PRELOAD
	fi
	exec -- "${run_before[@]}" "$@"
}

cmd_trace() {
	local run_taken run_processes='' run_launch=() run_nodes=() run_before=() run_also='' trace_kernel=no trace_run=()

	while [[ ${1-} == -* ]]; do
		case $1 in
		--help | -h)
			help_trace
			return
			;;
		--)
			shift
			break
			;;
		esac
		if ! parse_trace_option "$@"; then
			trace_run+=("$1")
			parse_launch_option "$@" || parse_run_option "$@" ||
				die_usage "trace has no option '$1'; see: vnet trace --help"
		fi
		shift "$run_taken"
	done
	[[ $# -gt 0 ]] || die_usage "trace what? see: vnet trace --help"
	[[ $trace_kernel == no || ${#trace_run[@]} == 0 ]] ||
		die_usage "${trace_run[0]} is for devices of user mode, not of the kernel"
	[[ -n $run_processes || ${#run_launch[@]} == 0 ]] ||
		die_usage "${run_launch[0]} is for several processes: -n N"

	need_tree device
	[[ -x $TREE/bin/vnet-trace && -e $TREE/lib/libvnet-trace.so ]] ||
		die "$EXIT_VNET" "no complete build of vnet is in $TREE"
	find_program "$1"
	run_also=$TREE/lib/libvnet-trace.so
	run_before=("$TREE/bin/vnet-trace" "${run_before[@]}")
	[[ $trace_kernel == yes || " ${run_before[*]} " == *" --quiet "* ]] ||
		warn_of_ignored "${run_nodes[@]}"
	[[ -z $run_processes ]] || launch "$@"
	run_traced "$@"
}
