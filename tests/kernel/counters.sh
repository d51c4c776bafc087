# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: what the port counts. Queue pairs that are gone count, too.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
PORT=/sys/class/infiniband/vnet0/ports/1
MESSAGES=200 SIZE=4096

fail() {
	echo "counters: $*" >&2
	exit 1
}

# What a file says, when it is read again: the core looks every 10 ms.
counter() {	# FILE
	nap 0.02
	echo "$(<"$PORT/$1")"
}

# Both sides send as many as they receive; both queue pairs end.
traffic() {
	pair as_user ibv_rc_pingpong -d vnet0 -g 1 -n "$MESSAGES" -s "$SIZE" >/dev/null ||
		fail "no traffic"
	await 10 nothing_held vnet0 || fail "something is left"
}

is() {	# FILE VALUE
	local value

	value=$(counter "$1")
	[[ $value == "$2" ]] || fail "$1 is $value, and was to be $2"
}

ended_queue_pairs() {
	local name round
	local -A before

	for name in sent_msgs rcvd_msgs sent_bytes rcvd_bytes; do
		before[$name]=$(counter "hw_counters/$name")
	done
	for round in 1 2; do
		traffic
		for name in sent rcvd; do
			is "hw_counters/${name}_msgs" $((before[${name}_msgs] + round * 2 * MESSAGES))
			is "hw_counters/${name}_bytes" $((before[${name}_bytes] + round * 2 * MESSAGES * SIZE))
		done
	done
}

ended_queue_pairs
echo "counters: ended queue pairs count"
