# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: counters of the port. They include destroyed queue pairs; and the files with
# standard names have the values of the device's own counters, and are those of user mode.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
PORT=/sys/class/infiniband/vnet0/ports/1
MESSAGES=200 SIZE=4096

fail() {
	echo "counters: $*" >&2
	exit 1
}

# Reads a counter. The kernel's core caches it for 10 ms.
counter() {	# FILE
	nap 0.02
	echo "$(<"$PORT/$1")"
}

# Both sides send and receive MESSAGES messages, then both queue pairs are destroyed.
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

# Names of the counters of a device of user mode.
user_mode() {
	local VNET_RUNTIME_DIR

	VNET_RUNTIME_DIR=$(mktemp -d) && export VNET_RUNTIME_DIR || return
	unset RDMAV_DRIVERS
	"$VNET" run --device u0 ls /sys/class/infiniband/u0/ports/1/counters
	"$VNET" stop >/dev/null
}

standard_names() {
	local own user

	own=$(ls "$PORT/counters") || fail "there are no counters of standard names"
	user=$(user_mode) || fail "no names of user mode's"
	[[ $own == "$user" ]] || fail "not the names of user mode's: $(diff <(echo "$own") <(echo "$user"))"
}

dropped() {	# NAME...: their sum
	local sum=0

	for name in "$@"; do
		((sum += $(counter "hw_counters/drop_$name")))
	done
	echo "$sum"
}

standard_values() {
	local name sent got

	for name in "$PORT"/counters/*; do
		[[ $(<"$name") =~ ^[0-9]+$ ]] || fail "${name##*/} cannot be read"
	done
	sent=$(counter hw_counters/sent_msgs)
	got=$(counter hw_counters/rcvd_msgs)
	((sent >= 4 * MESSAGES)) || fail "$sent messages"
	is counters/port_xmit_packets "$sent"
	is counters/unicast_xmit_packets "$sent"
	is counters/port_rcv_packets "$got"
	is counters/unicast_rcv_packets "$got"
	is counters/port_xmit_data $(($(counter hw_counters/sent_bytes) / 4))
	is counters/port_rcv_data $(($(counter hw_counters/rcvd_bytes) / 4))
	is counters/port_rcv_errors "$(dropped length no_receive)"
	is counters/port_xmit_discards "$(dropped no_qp address)"
	is counters/symbol_error 0
}

is_in_state() {	# STATE
	[[ $(<"$PORT/state") == "$1" ]]
}

# Sets the net device down or up: link_downed counts one.
goes() {	# down|up STATE
	ip link set d0 "$1" || fail "d0 does not go $1"
	await 5 is_in_state "$2" || fail "d0 is $1, and the port $(<"$PORT/state")"
	is counters/link_downed 1
}

ended_queue_pairs
standard_names
standard_values
is counters/link_downed 0
goes down '1: DOWN'
goes up '4: ACTIVE'
echo "counters: ended queue pairs count, by all names"
