# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet pair: runs a server, and its client as soon as the server listens. Most verbs programs
# consist of two such commands.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

# Time limits in ms: of one side after the other has ended, of the server after the client has
# failed, and of a process after SIGTERM.
PAIR_GRACE=5000
PAIR_GRACE_FAILED=1000
PAIR_GRACE_TERM=2000
# Time limit in ms until the server listens.
PAIR_LISTEN=60000

help_pair() {
	cat <<EOF
${BOLD}vnet pair${PLAIN} [OPTIONS] SERVER [ARGS...] [-- CLIENT [ARGS...]]

Runs SERVER with the device present, waits until it listens on a TCP port or by
rdma_cm, runs CLIENT, and ends both. Without CLIENT, the client is SERVER's command with the
additional argument "localhost", as for perftest and the ping-pong programs:

  vnet pair ib_write_bw -s 65536
  vnet pair ibv_rc_pingpong -g 1 -- ibv_rc_pingpong -g 1 -c localhost

Each line of output begins with a label of the process that printed it.

$(help_run_options)
  --nodes A,B              run SERVER on node A, and CLIENT on node B
  --timeout SECONDS        end both after that time, with status 124
  --quiet                  print no labels, no warning of options that have no effect, and no
                           output of the server unless it fails

The exit status is that of the client, or that of the server if the client's is 0. When one
side has ended, the other has $((PAIR_GRACE / 1000)) seconds to end by itself; a client whose server ended
successfully has no time limit. Then it is ended by a signal, which does not count as a
failure of the server.
EOF
}

now() {		# sets NOW, in ms
	NOW=$((${EPOCHREALTIME/[.,]/} / 1000))
}

nap() {		# waits for 20 ms, without starting a process
	read -r -t 0.02 -u "$pair_never" _
}

# Whether a process runs; a zombie does not.
running() {	# PID
	local stat

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	[[ ${stat##*) } != [ZX]* ]]
}

# Prints the processes of a group and all their descendants.
processes_of() {	# PGID
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v group="$1" '
		{
			pid[NR] = $1
			sub(/^.*\) /, "")	# the name may contain anything
			parent[NR] = $2
			if ($3 == group)
				ours[pid[NR]] = 1
		}
		END {
			do {
				more = 0
				for (i = 1; i <= NR; i++)
					if (parent[i] in ours && !(pid[i] in ours))
						more = ours[pid[i]] = 1
			} while (more)
			for (p in ours)
				print p
		}'
}

sockets_of() {	# PID
	find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null
}

# Whether a process of the server has a listening TCP socket that it did not inherit from vnet pair.
server_listens() {
	local pid listening

	for pid in $(processes_of "$server"); do
		listening=$(cat "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6" 2>/dev/null |
			awk '$4 == "0A" { print "socket:[" $10 "]" }')
		[[ -n $listening ]] || continue
		sockets_of "$pid" | grep -vxFf "$pair_dir/inherited" |
			grep -qxF -e "$listening" && return 0
	done
	return 1
}

# Prints the status of the server's node; nothing if its daemon does not run.
server_node() {
	VNET_NODE=${pair_nodes[server]-${VNET_NODE-}} "$TREE/bin/vnet-status" --json 2>/dev/null
}

# Whether a process of the server listens by rdma_cm.
server_listens_by_cm() {
	local pids

	pids=$(server_node | sed -n 's/^ {"id": .*"pid": \([0-9]*\), .*"state": "listen".*/\1/p')
	[[ -n $pids ]] && processes_of "$server" | grep -qxF -e "$pids"
}

# If the server has a node of its own, replaces "localhost", which is the client's node, by the
# address of the server's node.
name_server() {
	local directory

	[[ $pair_default == yes && -n ${pair_nodes[server]-} ]] || return 0
	directory=$(server_node | sed -n 's/.*"directory": "\([^"]*\)".*/\1/p')
	[[ -r $directory/link ]] || return 0
	read -r _ "client_command[-1]" _ <"$directory/link"
}

end_group() {	# PGID
	local signal since

	for signal in TERM KILL; do
		kill -s "$signal" -- "-$1" 2>/dev/null || return 0
		now
		since=$NOW
		while running "$1" && ((NOW - since < PAIR_GRACE_TERM)); do
			nap
			now
		done
	done
}

# Prints output with labels. With --quiet, prints the client's without labels, and keeps the
# server's in a file, because it is printed if the server fails.
show() {	# server|client
	local colour=$BLUE label=$1

	[[ $label == server ]] && colour=$GREEN
	if [[ $pair_quiet == no ]]; then
		exec sed -u "s/^/$colour$label |$PLAIN /"
	elif [[ $label == client ]]; then
		exec cat
	else
		exec cat >"$pair_dir/server.out"
	fi
}

# Starts a side in a process group of its own: $! is both its pid and its group.
start_side() {	# server|client CMD...
	local side=$1
	shift

	mkfifo "$pair_dir/$side" || exit "$EXIT_VNET"
	show "$side" <"$pair_dir/$side" &
	pair_shows+=($!)
	(
		[[ -n ${pair_nodes[$side]-} ]] && export VNET_NODE=${pair_nodes[$side]}
		run_environment
		exec {pair_never}>&-
		exec -- "$@"
	) </dev/null >"$pair_dir/$side" 2>&1 &
}

# Returns the exit status of a side, and warns if a signal ended it.
reap() {	# server|client PID
	local status signal

	wait "$2" 2>/dev/null
	status=$?
	# A status that is not 128 plus a signal is the program's own, 255 above all.
	if ((status > 128)) && [[ ! -e $pair_dir/told.$1 ]] && signal=$(kill -l "$status" 2>/dev/null); then
		warn "the $1 was ended by signal $signal"
	fi
	return "$status"
}

await_listen() {
	local since status

	now
	since=$NOW
	until server_listens || { server_listens_by_cm && name_server; }; do
		now
		if ! running "$server" && [[ -z $(processes_of "$server") ]]; then
			reap server "$server"
			status=$?
			server_status=$((status ? status : 1))
			warn "the server ended before it listened"
			return 1
		fi
		if ((NOW - since > PAIR_LISTEN || NOW > pair_deadline)); then
			warn "the server listens neither on a TCP port nor by rdma_cm"
			server_status=124
			return 1
		fi
		nap
	done
	return 0
}

# Ends a side that has run alone for longer than GRACE.
tell_to_end() {	# server|client PID SINCE GRACE
	((NOW - $3 > $4)) || return 0
	[[ $1 == client ]] && warn "the server is gone; ending the client"
	: >"$pair_dir/told.$1"
	end_group "$2"
}

# Waits until both sides have ended; sets client_status and server_status.
await_end() {
	local client_end=0 server_end=0 grace

	while [[ $client_end == 0 || $server_end == 0 ]]; do
		now
		if [[ $client_end == 0 ]] && ! running "$client"; then
			reap client "$client"
			client_status=$? client_end=$NOW
		fi
		if [[ $server_end == 0 ]] && ! running "$server"; then
			reap server "$server"
			server_status=$? server_end=$NOW
			[[ -e $pair_dir/told.server ]] && server_status=0
		fi
		if ((NOW > pair_deadline)); then
			warn "no end after $pair_timeout s"
			client_status=124
			return
		fi
		if [[ $client_end != 0 && $server_end == 0 ]]; then
			grace=$((client_status ? PAIR_GRACE_FAILED : PAIR_GRACE))
			tell_to_end server "$server" "$client_end" "$grace"
		elif [[ $server_end != 0 && $client_end == 0 && $server_status != 0 ]]; then
			tell_to_end client "$client" "$server_end" "$PAIR_GRACE"
		fi
		nap
	done
}

# Waits for the last lines of output. The wait has a limit, because a daemon may keep the pipe open.
drain_output() {
	local pid since

	now
	since=$NOW
	for pid in "${pair_shows[@]}"; do
		while running "$pid" && ((NOW - since < PAIR_GRACE_TERM)); do
			nap
			now
		done
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	pair_shows=()
}

pair_clean_up() {
	[[ -n $client ]] && end_group "$client"
	[[ -n $server ]] && end_group "$server"
	drain_output
	rm -rf -- "$pair_dir"
}

parse_pair() {	# ARGS...; sets pair_* and the two commands
	while [[ ${1-} == -* ]]; do
		case $1 in
		--help | -h)
			help_pair
			exit 0
			;;
		--timeout)
			[[ ${2-} =~ ^[1-9][0-9]{0,8}$ ]] || die_usage "--timeout wants seconds"
			pair_timeout=$2
			run_taken=2
			;;
		--nodes)
			[[ ${2-} =~ ^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31},[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31}$ ]] ||
				die_usage "--nodes wants two names with a comma between"
			pair_nodes=([server]=${2%,*} [client]=${2#*,})
			run_taken=2
			;;
		--quiet | -q)
			pair_quiet=yes
			run_taken=1
			;;
		*) parse_run_option "$@" || die_usage "pair has no option '$1'; see: vnet pair --help" ;;
		esac
		shift "$run_taken"
	done
	while [[ $# -gt 0 && $1 != -- ]]; do
		server_command+=("$1")
		shift
	done
	[[ ${#server_command[@]} -gt 0 ]] || die_usage "pair what? see: vnet pair --help"
	if [[ $# == 0 ]]; then
		client_command=("${server_command[@]}" localhost)
		pair_default=yes
		return
	fi
	client_command=("${@:2}")
	[[ ${#client_command[@]} -gt 0 ]] || die_usage "there is no client after --"
}

cmd_pair() {
	local -A pair_nodes=()
	local run_taken pair_timeout=0 pair_quiet=no pair_deadline pair_dir pair_never pair_shows=()
	local pair_default=no server_command=() client_command=() server='' client='' server_status=0 client_status=0

	parse_pair "$@"
	need_tree device
	find_program "${server_command[0]}"
	find_program "${client_command[0]}"
	[[ $pair_quiet == yes ]] || warn_of_ignored "${pair_nodes[@]}"

	pair_dir=$(mktemp -d) || die "$EXIT_VNET" "no temporary directory can be made"
	trap 'pair_clean_up' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	mkfifo "$pair_dir/never" && exec {pair_never}<>"$pair_dir/never" || exit "$EXIT_VNET"
	{ echo none; sockets_of "$BASHPID"; } >"$pair_dir/inherited"
	now
	pair_deadline=$((pair_timeout ? NOW + pair_timeout * 1000 : NOW * 2))

	set -m		# gives each side a process group of its own
	start_side server "${server_command[@]}"
	server=$!
	if await_listen; then
		start_side client "${client_command[@]}"
		client=$!
		await_end
	fi
	set +m
	end_group "$server"
	drain_output

	if [[ $server_status != 0 ]]; then
		[[ $pair_quiet == yes ]] && cat "$pair_dir/server.out" >&2
		warn "the server failed: status $server_status"
	fi
	[[ $client_status != 0 ]] && warn "the client failed: status $client_status"
	exit $((client_status ? client_status : server_status))
}
