# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the programs that the tables name, and queries their options.

# Expands the short names of a table: "send_bw+read_bw" is ib_send_bw+ib_read_bw.
program_names() {	# FAMILY NAMES
	local names=() name result
	IFS=+ read -ra names <<<"$2"

	for name in "${names[@]}"; do
		case $1 in
		perftest) [[ $name == raw_* ]] || name=ib_$name ;;
		pingpong) name=ibv_${name}_pingpong ;;
		esac
		result+=+$name
	done
	echo "${result#+}"
}

declare -A HELP=()

offers() {	# PROGRAM PATTERN
	[[ -n ${HELP[$1]-} ]] || HELP[$1]=$("$1" --help 2>&1)
	[[ ${HELP[$1]} == *$2* ]]
}

# The largest inline size that perftest accepts. Its error message for a larger one names it.
max_inline() {	# PROGRAM
	"$1" -I 1000000000 nowhere 2>&1 | sed -n 's/.*nline should be between 0 and \([0-9]*\).*/\1/p'
}

fill_in() {	# PROGRAM OPTIONS
	local options=$2

	options=${options//@DEVICE@/$DEVICE}
	options=${options//@ALL_SIZES@/-a${KERNEL:+ -n 50}}
	[[ $options == *@MAX_INLINE@* ]] && options=${options//@MAX_INLINE@/$(max_inline "$1")}
	echo "$options"
}

run_alone() {	# OUT PROGRAM ARGS...
	local out=$1
	shift

	world_command "$@"
	run_one "$out" "${COMMAND[@]}"
}

# Writes the holdings to a file just before the time limit.
watch_time() {	# OUT
	exec >/dev/null 2>&1
	sleep $((TIME_LIMIT - 3)) &
	trap 'kill $!' TERM
	wait $! && holdings >"$1.status"
}

# Sets SERVER and COMMAND to the commands of both sides, and READY to the server's port.
sides_of() {	# PROGRAM OPTIONS...
	choose_port || return
	READY=$PORT
	world_side server "$@" -p "$PORT"
	SERVER=("${COMMAND[@]}")
	world_side client "$@" -p "$PORT" "$SERVER_HOST"
}

# Programs of Ethernet frames have no connection; each side names the other's MAC address.
raw_sides_of() {	# PROGRAM OPTIONS...
	local near=02:00:00:00:00:01 far=02:00:00:00:00:02

	READY='#bytes'
	world_side server stdbuf -oL "$@" --server -B "$far" -E "$near"
	SERVER=("${COMMAND[@]}")
	world_side client "$@" --client -B "$near" -E "$far"
}

run_pair_of() {	# OUT PROGRAM OPTIONS...
	local out=$1 watch result SERVER READY
	shift

	case $1 in
	raw_*) raw_sides_of "$@" ;;
	*) sides_of "$@" ;;
	esac || return
	watch_time "$out" &
	watch=$!
	run_pair "$READY" "$out" "${SERVER[@]}" -- "${COMMAND[@]}" &&
		judge_pair "$out" "$@"
	result=$?
	kill "$watch" 2>/dev/null
	wait "$watch" 2>/dev/null
	return "$result"
}

# Runs several pairs at the same time.
run_pairs() {	# OUT PROGRAM+PROGRAM... OPTIONS...
	local out=$1 programs program job jobs=() number=0 bad=''
	IFS=+ read -ra programs <<<"$2"
	shift 2

	for program in "${programs[@]}"; do
		number=$((number + 1))
		(
			# A different seed for each pair, so that their ports differ.
			RANDOM=$((number + $$))
			run_pair_of "$out.$number" "$program" "$@"
			status=$?
			echo "$program: ${REASON:-$FIGURE}" >"$out.$number.result"
			exit $status
		) &
		jobs+=($!)
	done
	for job in "${!jobs[@]}"; do
		wait "${jobs[job]}" || bad+="$(<"$out.$((job + 1)).result")"$'\n'
	done
	FIGURE=$(sed 's/^[^:]*: //' "$out".*.result | paste -sd,)
	[[ -z $bad ]] || fail "$bad"
}

# Runs a program that must sleep until SIGTERM ends it.
run_watch() {	# OUT PROGRAM ARGS...
	local out=$1 pid state before status
	shift

	world_command stdbuf -oL "$@"
	"${COMMAND[@]}" >"$out" 2>&1 </dev/null &
	pid=$!
	for _ in {1..500}; do
		grep -q 'async event FD' "$out" && break
		sleep 0.02
	done
	if ! grep -q "^$DEVICE: async event FD [0-9]" "$out"; then
		kill "$pid" 2>/dev/null
		fail "it does not say that it watches $DEVICE"
		return
	fi
	before=$(cpu_ticks "$pid")
	sleep 1
	state=$(ps -o stat= -p "$pid")
	[[ $state == S* ]] || fail "it does not sleep but is '${state:-gone}'"
	[[ $(cpu_ticks "$pid") == "$before" ]] || fail "it uses the processor"
	kill "$pid"
	wait "$pid"
	status=$?
	((status == 143)) || fail "SIGTERM ends it with status $status"
	[[ -z $REASON ]]
}

cpu_ticks() {	# PID
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'
}

run_programs() {	# OUT PROGRAMS OPTIONS...
	case $2 in
	*+*) run_pairs "$@" ;;
	ibv_asyncwatch) run_watch "$@" ;;
	ibv_devices) run_alone "$@" && judge_devices "$1" ;;
	ibv_devinfo) run_alone "$@" && judge_devinfo "$@" ;;
	rdma) run_alone "$@" && judge_rdma "$@" ;;
	ibstat | ibstatus) run_alone "$@" && judge_ibstat "$@" ;;
	*) run_pair_of "$@" ;;
	esac
}
