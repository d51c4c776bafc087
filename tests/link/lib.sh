# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions for tests of the link: start of nodes, and their status and counters.
set -u -o pipefail
export LC_ALL=C
SCRATCH=${VNET_TEST_DIR:?run me through tests/isolated}
unset LD_PRELOAD RDMAV_DRIVERS VNETD VNET_DEVICES VNET_NODE VNET_LISTEN VNET_PORT VNET_KEY_FILE \
	VNET_FAULT VNET_PEERS
failures=0

fail() {
	printf 'line %s: %s\n' "${BASH_LINENO[0]}" "$*"
	failures=$((failures + 1))
}

finish() {
	((failures == 0))
	exit
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# Starts a daemon that does not exit when it is idle.
start_node() {	# NAME OPTIONS...
	local node=$1
	shift

	"$VNET_TREE/bin/vnetd" --node "$node" --idle-exit 0 "$@" 2>"$SCRATCH/err"
}

stop_node() {	# NAME
	"$VNET" stop --node "$1" >/dev/null 2>&1
}

# A value of the link in a node's status.
link_of() {	# NODE JQ-FILTER
	"$VNET" status --node "$1" --json | jq -r ".devices[0].link | $2"
}

counter() {	# NODE NAME
	link_of "$1" ".counters.$2"
}

counts() {	# NODE NAME NUMBER: so many, or more
	(($(counter "$1" "$2") >= $3))
}

# Waits until the command succeeds, at most 20 s.
await() {	# COMMAND...
	local end=$((SECONDS + 20))

	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.02
	done
}

new_key() {	# FILE
	(umask 077 && head -c 32 /dev/urandom >"$1")
}

pair() {	# OPTIONS... PROGRAM...
	"$VNET" pair --quiet --timeout 60 --nodes A,B "$@" >"$SCRATCH/pair" 2>&1 && return
	sed 's/^/  | /' "$SCRATCH/pair"
	return 1
}

command -v jq >/dev/null || skip "jq is not installed"
