#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, two devices of the driver: keys, frames of strangers, and settings of the link. No
# frame passes without a key or with another key; frames of strangers are counted by reason and
# change nothing; keys change under traffic; and the link's settings are checked, and apply
# under traffic.
LINK_TEST=link_keys
# shellcheck source=tests/kernel/link_pair.sh
. "$VNET_SOURCE_DIR/tests/kernel/link_pair.sh"

# Send a frame, once or several times, to the link of a, from a socket that belongs to no node.
stranger() {	# SPACE WHAT [KEY [TIMES]]
	local from=10.9.9.3

	[[ $1 == c ]] || from=10.9.9.1
	ip netns exec "$1" "$VNET_TREE/bin/link_stranger" "$from" 10.9.9.1 4790 "$2" "${3:+$KEYS/$3}" "${4-1}" ||
		die "link_stranger $2 fails"
}

# The counters and resources of va, and its number of known NICs.
show_a() {
	"${IN_A[@]}" bash -c 'cd /sys/class/infiniband/va && for file in ports/1/hw_counters/* link/rows; do
		read -r value <"$file" && echo "${file##*/} $value"; done; exec rdma resource show va'
}

# The same with the counter increased by TIMES. Frames that the firmware drops (bad_*) are counted
# as received, too; received bytes are left out.
with_dropped() {	# COUNTER TIMES
	awk -v counter="$1" -v times="$2" '$1 == counter || (counter ~ /^bad_/ && $1 == "frames_received") { $0 = $1 " " $2 + times }
		$1 != "bytes_received" || counter !~ /^bad_/ { print }'
}

shows() {	# COUNTER
	SHOWN=$(show_a)
	[[ $(with_dropped "$1" 0 <<<"$SHOWN") == "$WANTED" ]]
}

# The frames are dropped for this reason alone, and nothing else of va changes: no answer is sent.
# SHOWN is the state before.
dropped() {	# COUNTER SPACE WHAT [KEY [TIMES]]
	WANTED=$(with_dropped "$1" "${5-1}" <<<"$SHOWN")
	stranger "${@:2}"
	await 10 shows "$1" || {
		diff <(echo "$WANTED") <(with_dropped "$1" 0 <<<"$SHOWN") >&2
		die "$3 from $2 does more than to be counted as $1"
	}
}

# Without a key, only frames of this machine are accepted, and only valid ones.
strangers_without_key() {
	local what

	SHOWN=$(show_a)
	for what in hello welcome data ack group old version garbage short; do
		dropped link_strangers c "$what"
	done
	dropped link_no_mac a short
	dropped bad_length a truncated
	dropped bad_version a garbage
	dropped bad_version a version
	dropped bad_version a old
	dropped bad_crc a crc
	dropped bad_proof a field
	dropped bad_field a code
	dropped bad_incarnation a data
	dropped bad_incarnation a group
	refused_call a
	refused_call a one
}

# A call with a key that va does not have is refused, and creates no row.
refused_call() {	# SPACE [KEY]
	local before rows

	before=$(counter a refusals_sent)
	rows=$("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows)
	stranger "$1" hello "${2-}"
	await 10 has_counted refusals_sent $((before + 1)) || die "a call from $1 is not refused"
	[[ $("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows) == "$rows" ]] || die "a stranger has a row"
	SHOWN=$(show_a)
}

# Frames without a key, with another key, and repeated frames.
strangers_with_key() {
	local space again

	SHOWN=$(show_a)
	# From this machine and from another.
	for space in a c; do
		dropped link_bad_mac "$space" mac one
		dropped link_unknown_key "$space" welcome two
		refused_call "$space"
		refused_call "$space" two
	done
	# The secret of a row proves nothing in frames from another machine.
	dropped bad_proof c data
	dropped bad_incarnation a data
	dropped link_no_mac c short
	dropped bad_proof c truncated
	dropped link_no_mac c short one
	dropped bad_proof c group
	dropped link_bad_mac c moved one
	dropped bad_version c version one
	dropped bad_version c old one
	dropped bad_length c truncated one
	# Repeated from its own source address.
	again=$(counter a link_replayed)
	stranger c version one 4
	await 10 has_counted link_replayed $((again + 3)) || die "repeated frames are accepted"
}

has_counted() {	# COUNTER NUMBER
	(($(counter a "$1") >= $2))
}

# During traffic of programs, which is not disturbed.
strangers_meanwhile() {
	local pid before=() now=() name names=(link_no_mac link_unknown_key link_bad_mac link_replayed) state

	state=$("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows)
	for name in "${names[@]}"; do
		before+=("$(counter a "$name")")
	done
	(stranger c short '' 100 && stranger c data two 100 && stranger c mac one 100 && stranger c old one 101) &
	pid=$!
	perftest ib_write_bw -n 40 -s 65536
	wait "$pid" || die "strangers cannot send"
	for name in "${!names[@]}"; do
		await 10 has_counted "${names[name]}" $((before[name] + 100)) || die "a stranger is not counted: ${names[name]}"
		now+=("$(counter a "${names[name]}")")
		((now[name] == before[name] + 100)) || die "strangers are counted more than once: ${names[name]}"
	done
	[[ $("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows) == "$state" ]] || die "a stranger has a row"
	pingpong ibv_rc_pingpong -n 10 -c
}

check_keys() {
	refused "though nobody has a key" a link_no_key
	"${IN_B[@]}" cat /sys/class/infiniband/vb/link/use_key >/dev/null 2>&1 && die "the key can be read"
	"${IN_B[@]}" setpriv --bounding-set -net_admin --inh-caps -net_admin bash -c \
		"printf %020d 1 >/sys/class/infiniband/vb/link/use_key" 2>/dev/null &&
		die "a key is set without the right to"
	set_key b use_key one || die "no key can be set"
	refused "though one side has no key" a link_strangers
	set_key a use_key other || die "no key can be set"
	refused "though keys differ" a link_unknown_key
	set_key a use_key one || die "no key can be set"
}

# Keys of networks: of several networks that a peer belongs to, the narrowest counts.
check_groups() {
	local wrong

	for wrong in 10.9.9.2/33 ::/129 10.9.9 10.9.9.2/; do
		"${IN_A[@]}" bash -c "{ echo $wrong; cat $KEYS/one; } >/sys/class/infiniband/va/link/use_group_key" \
			2>/dev/null && die "$wrong is a network"
	done
	vnet_key a --network 10.9.9.2 "$KEYS/other" || die "no group's key can be set"
	refused "though the group's keys differ" a link_unknown_key
	vnet_key a --network 10.9.9.0/24 "$KEYS/one" || die "no group's key can be set"
	refused "though the narrower group's keys differ" a link_unknown_key
	vnet_key a --network 10.9.9.2 "$KEYS/one" || die "no group's key can be set"
	{ vnet_key a "$KEYS/other" && vnet_key a --network 10.9.9.0/24 "$KEYS/other"; } ||
		die "no key can be set"
	pingpong ibv_rc_pingpong -n 10
	{ vnet_key a --network 10.9.9.2 --forget && vnet_key a --network 10.9.9.0/24 --forget; } ||
		die "no group can be forgotten"
	vnet_key a --network 10.9.9.2 --forget 2>/dev/null && die "a group is forgotten twice"
	refused "though everybody's keys differ" b link_unknown_key
	set_key a use_key one || die "no key can be set"
}

# A new key under traffic: both sides accept it, then use it, then forget the old one.
change_key() {
	local step pid

	(for step in "a accept_key" "b accept_key" "a use_key" "b use_key" "a use_key" "b use_key"; do
		# shellcheck disable=SC2086 # two words
		set_key $step two
		nap 0.1
	done) &
	pid=$!
	perftest ib_write_bw -n 40 -s 65536 >/dev/null
	wait "$pid"
	pingpong ibv_rc_pingpong -n 10
	set_key a use_key one && refused "though the old key was changed" b link_unknown_key
	set_key a use_key two
}

setting() {	# NAME SETTING [VALUE]
	local file=/sys/class/infiniband/v$1/link/$2

	if (($# > 2)); then
		ip netns exec "$1" bash -c "echo $3 >$file" 2>/dev/null
	else
		ip netns exec "$1" cat "$file"
	fi
}

# Weights of the service levels.
check_weights() {
	local change ones="1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"

	[[ $(setting a weight) == "1 $ones" ]] || die "the weights are not 1: $(setting a weight)"
	for change in "16 1" "-1 1" "3 0" "3 256" "4294967299 1" "3 4294967297" "3" "3 x" "3 2 1" "x"; do
		setting a weight "$change" && die "a weight is taken: $change"
	done
	"${IN_A[@]}" setpriv --bounding-set -net_admin --inh-caps -net_admin bash -c \
		"echo 3 8 >/sys/class/infiniband/va/link/weight" 2>/dev/null &&
		die "a weight is changed without the right to"
	{ setting a weight "0 255" && setting a weight "15 8"; } || die "no weight is taken"
	[[ $(setting a weight) == "255 ${ones% 1} 8" ]] || die "other weights are set: $(setting a weight)"
	pingpong ibv_rc_pingpong -n 10
	{ setting a weight "0 1" && setting a weight "15 1"; } || die "no weight is taken back"
}

# The transport's settings: limits, rights, and changes under traffic.
check_settings() {
	local change name pid old=()

	for change in "ack_unit 65" "ack_unit -1" "rto_max 100" "sequence_bits 2" "budget 0" "channels x"; do
		# shellcheck disable=SC2086	# two words
		setting a $change && die "a setting is taken: $change"
	done
	"${IN_A[@]}" setpriv --bounding-set -net_admin --inh-caps -net_admin bash -c \
		"echo 1 >/sys/class/infiniband/va/link/budget" 2>/dev/null &&
		die "a setting is changed without the right to"
	for name in ack_unit channels budget adaptive piggyback; do
		old+=("$name $(setting a "$name")")
	done
	(for change in "ack_unit 1" "channels 3" "budget 1" "adaptive 0" "piggyback 0" "${old[@]}"; do
		nap 0.05
		# shellcheck disable=SC2086	# two words
		setting a $change && [[ "${change% *} $(setting a "${change% *}")" == "$change" ]] ||
			echo "$change" >>/run/refused
	done) &
	pid=$!
	perftest ib_write_bw -n 40 -s 65536 >/dev/null
	wait "$pid"
	[[ ! -e /run/refused ]] || die "settings are not taken: $(tr '\n' ' ' </run/refused)"
	pingpong ibv_rc_pingpong -n 10
}

# ack_unit is the number of packets for each frame with acknowledgements.
check_answers() {
	local unit least most frames answers

	setting a ack_delay 5000 || die "a setting is not taken: ack_delay"
	while read -r unit least most; do
		setting a ack_unit "$unit" || die "a setting is not taken: ack_unit"
		frames=$(counter a frames_sent) answers=$(counter a acks_sent)
		perftest ib_write_bw -n 20 -s 65536 >/dev/null
		frames=$(($(counter a frames_sent) - frames)) answers=$(($(counter a acks_sent) - answers))
		echo "ack_unit $unit: $frames frames for $answers answers"
		((answers >= 80 && frames * 100 >= answers * least && frames * 100 <= answers * most)) ||
			die "with ack_unit $unit not every ${unit}th packet makes a frame"
	done <<<"1 95 105
		16 5 15"
	{ setting a ack_unit 0 && setting a ack_delay 50; } || die "a setting cannot be taken back"
}

begin_link
timed strangers_without_key
timed check_keys
timed check_groups
timed strangers_with_key
timed strangers_meanwhile
timed change_key
timed check_weights
timed check_settings
timed check_answers
