# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions of fault tests: the daemon's holdings, seeds, and perftest pairs.

set -u -o pipefail
export LC_ALL=C
: "${VNET:?run me through tests/isolated}" "${VNET_TREE:?}" "${VNET_TEST_DIR:?}"
unset VNET_DEVICES VNET_NODE VNET_WITH_HOST_DEVICES

# shellcheck source=bench/ports.sh
. "${VNET_SOURCE_DIR:?}/bench/ports.sh"

LIMIT=30	# seconds for anything that must happen

# Nodes of the server and of the client of a pair; empty: the node without a name.
SERVER_NODE='' CLIENT_NODE=''

two_nodes() {
	SERVER_NODE=A CLIENT_NODE=B
}

nodes() {
	echo "$SERVER_NODE"
	[[ $CLIENT_NODE == "$SERVER_NODE" ]] || echo "$CLIENT_NODE"
}

die() {
	printf 'not so: %s\n' "$*" >&2
	show_log
	exit 1
}

# For functions of other files.
fail() {
	die "$@"
}

show_log() {
	local file

	for file in "$VNET_RUNTIME_DIR"/*/vnetd.log; do
		[[ -s $file ]] && { echo "--- $file"; tail -n 20 "$file"; } >&2
	done
}

# "nap SECONDS" sleeps without a child process. Only between two checks, or for a random delay.
exec {never}<> <(:)
nap() {
	# read always times out.
	read -r -t "$1" -u "$never" _ || :
}

# await WHAT COMMAND...: waits until the command succeeds.
await() {
	local what=$1 end=$((SECONDS + LIMIT))
	shift

	until "$@"; do
		((SECONDS < end)) || {
			show_pair >&2
			die "not in $LIMIT s: $what"
		}
		nap 0.01
	done
}

soak() {
	[[ ${VNET_SOAK-} == 1 ]]
}

rounds() {	# SLICE SOAK
	soak && echo "$2" || echo "$1"
}

# The seed determines the values of RANDOM.
seed_random() {
	RANDOM=${VNET_TEST_SEED:=$((SRANDOM % 32768))}
	echo "seed: VNET_TEST_SEED=$VNET_TEST_SEED"
}

# ---------------------------------------------------------------------- state

# Status of all nodes: the input of the jq filter is a list.
status_of() {	# JQ
	local node

	while read -r node; do
		"$VNET" status ${node:+--node "$node"} --json 2>/dev/null
	done < <(nodes) | jq -src "$1"
}

objects() {
	status_of '[.. | objects | .qps?, .cqs?, .srqs?, .wqs?, .mrs?, .pds?, .clients?, .files? |
		arrays | length] | add // 0'
}

nothing_left() {
	[[ $(objects) == 0 ]]
}

# Starts the daemons by a first client, and waits until they hold nothing of it.
warm_up() {
	local node

	while read -r node; do
		"$VNET" run ${node:+--node "$node"} ibv_devinfo >/dev/null </dev/null ||
			die "ibv_devinfo failed"
	done < <(nodes)
	await "the daemon serves nobody" nothing_left
	mapfile -t DAEMONS < <(status_of '.[].pid')
	DAEMON=${DAEMONS[0]}
	[[ $DAEMON == [1-9]* && ${#DAEMONS[@]} == $(nodes | wc -l) ]] || die "there is no daemon"
	await "the daemon rests" rests
}

# Whether the holdings do not change any more. They include the memory of queue pair 1.
rests() {
	local before

	before=$(holdings)
	nap 0.05
	[[ $(holdings) == "$before" && $before != *' 0 bytes' ]]
}

running() {	# PID
	local stat

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	[[ ${stat##*) } != [ZX]* ]]
}

# Prints what the daemons hold besides tables: descriptors, and bytes of queue memory.
holdings() {
	local daemon bytes=0 fds=()

	for daemon in "${DAEMONS[@]}"; do
		fds+=(/proc/"$daemon"/fd/*)
		bytes=$((bytes + $("$VNET_TREE/bin/fault_queue_memory" "$daemon")))
	done
	echo "${#fds[@]} descriptors, $bytes bytes"
}

# Whether the daemons hold no more than before. The earlier count of descriptors may include a
# "vnet status".
holds() {	# HOLDINGS
	local now

	now=$(holdings)
	[[ ${now#*, } == "${1#*, }" ]] && ((${now%% *} <= ${1%% *}))
}

# Waits until the daemons have no objects, and hold what they held before.
everything_back() {	# HOLDINGS
	local end=$((SECONDS + LIMIT)) daemon

	until nothing_left && holds "$1"; do
		for daemon in "${DAEMONS[@]}"; do
			running "$daemon" || die "vnetd is gone"
		done
		((SECONDS < end)) || {
			status_of . >&2
			ls -l "/proc/$DAEMON/fd" >&2
			die "left behind: $(objects) objects; $(holdings), before: $1"
		}
		nap 0.02
	done
}

# ------------------------------------------------------------------- perftest

# start_pair COMMAND...: sets SERVER and CLIENT to their process ids.
start_pair() {
	choose_port
	"$VNET" run ${SERVER_NODE:+--node "$SERVER_NODE"} "$@" -p "$PORT" \
		>"$VNET_TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	await "$1 listens" server_ready
	"$VNET" run ${CLIENT_NODE:+--node "$CLIENT_NODE"} "$@" -p "$PORT" localhost \
		>"$VNET_TEST_DIR/client.out" 2>&1 </dev/null &
	# shellcheck disable=SC2034	# for those who source this
	CLIENT=$!
}

server_ready() {
	listens "$PORT" || ! running "$SERVER"
}

# Prints the last output of both sides, and the status.
show_pair() {
	local side

	for side in server client; do
		[[ -e $VNET_TEST_DIR/$side.out ]] || continue
		echo "--- $side"
		tail -n 5 "$VNET_TEST_DIR/$side.out"
	done
	status_of .
}

# Waits for a process that must end by itself.
await_end_of() {	# PID WHAT
	local end=$((SECONDS + LIMIT))

	while running "$1"; do
		if ((SECONDS >= end)); then
			show_pair >&2
			die "no end of $2 in $LIMIT s"
		fi
		nap 0.01
	done
}

# Ends the process, and returns its exit status.
stop_process() {	# PID
	kill -TERM "$1" 2>/dev/null
	kill -CONT "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# Checks that a short run of ib_send_lat works.
works() {	# [AFTER-WHAT]
	choose_port
	"$VNET" pair ${SERVER_NODE:+--nodes "$SERVER_NODE,$CLIENT_NODE"} --quiet --timeout "$LIMIT" \
		ib_send_lat -n 100 -p "$PORT" -- \
		ib_send_lat -n 100 -p "$PORT" localhost >"$VNET_TEST_DIR/works.out" 2>&1 || {
		cat "$VNET_TEST_DIR/works.out" >&2
		die "the next run does not work${1:+, after $1}"
	}
}
