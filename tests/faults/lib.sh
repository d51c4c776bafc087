# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# For fault tests: the daemon's state before and after, seeds, and perftest pairs
# of which one half may die.

set -u -o pipefail
export LC_ALL=C
: "${VNET:?run me through tests/isolated}" "${VNET_TREE:?}" "${VNET_TEST_DIR:?}"
unset VNET_DEVICES VNET_NODE VNET_WITH_HOST_DEVICES

LIMIT=30	# seconds for anything that must happen

# Where the server of a pair runs, and where its client: the node without a name, unless
# a test has two.
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

show_log() {
	local file

	for file in "$VNET_RUNTIME_DIR"/*/vnetd.log; do
		[[ -s $file ]] && { echo "--- $file"; tail -n 20 "$file"; } >&2
	done
}

# "nap SECONDS" without a process of its own; only between two looks, or to let
# a random instant come.
exec {never}<> <(:)
nap() {
	# It always times out, which is no failure of whoever waited.
	read -r -t "$1" -u "$never" _ || :
}

# await WHAT COMMAND...: until it succeeds.
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

# RANDOM of bash repeats by seed.
seed_random() {
	RANDOM=${VNET_TEST_SEED:=$((SRANDOM % 32768))}
	echo "seed: VNET_TEST_SEED=$VNET_TEST_SEED"
}

# ---------------------------------------------------------------------- state

# Of all nodes: the filter sees a list.
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

# Daemons that have served somebody, and serve nobody now.
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

# It holds what it did just before, queue pair 1's memory at least: nobody has just left.
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

# What the daemons hold, beside their tables: descriptors, and bytes of queue memory.
holdings() {
	local daemon bytes=0 fds=()

	for daemon in "${DAEMONS[@]}"; do
		fds+=(/proc/"$daemon"/fd/*)
		bytes=$((bytes + $("$VNET_TREE/bin/fault_queue_memory" "$daemon")))
	done
	echo "${#fds[@]} descriptors, $bytes bytes"
}

# No more than before: then, the one who asked for its status may have been there still.
holds() {	# HOLDINGS
	local now

	now=$(holdings)
	[[ ${now#*, } == "${1#*, }" ]] && ((${now%% *} <= ${1%% *}))
}

# Their tables are empty, and they hold what they held before.
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

listens() {	# PORT
	local hex

	printf -v hex '%04X' "$1"
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		awk -v port=":$hex\$" '$4 == "0A" && $2 ~ port { found = 1 } END { exit !found }'
}

choose_port() {
	local try

	for ((try = 0; try < 50; try++)); do
		PORT=$((20000 + (SRANDOM % 10000)))
		listens "$PORT" || return 0
	done
	die "no free port was found"
}

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

# What they have said, and their state.
show_pair() {
	local side

	for side in server client; do
		[[ -e $VNET_TEST_DIR/$side.out ]] || continue
		echo "--- $side"
		tail -n 5 "$VNET_TEST_DIR/$side.out"
	done
	status_of .
}

# It must end by itself.
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

# Its status is the process's.
stop_process() {	# PID
	kill -TERM "$1" 2>/dev/null
	kill -CONT "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# A short exchange from start to end.
works() {	# [AFTER-WHAT]
	choose_port
	"$VNET" pair ${SERVER_NODE:+--nodes "$SERVER_NODE,$CLIENT_NODE"} --quiet --timeout "$LIMIT" \
		ib_send_lat -n 100 -p "$PORT" -- \
		ib_send_lat -n 100 -p "$PORT" localhost >"$VNET_TEST_DIR/works.out" 2>&1 || {
		cat "$VNET_TEST_DIR/works.out" >&2
		die "the next run does not work${1:+, after $1}"
	}
}
