#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: two devices in two network namespaces, joined by a veth, and a node
# of user mode in a third. Nothing passes without a key, or with another, and what strangers
# send is counted by reason and leaves nothing; with one, whatever the network does to
# frames, programs have the same results; and devices and the module can go in the midst
# of it.
#
#   [a: va 10.9.9.1] -- sw0 -- [b: vb 10.9.9.2]
#                        |
#                        +---- [c: user mode, 10.9.9.3]
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
PAIR_TIMEOUT=30
KEYS=/run/keys

die() {
	echo "link: $*" >&2
	for space in a b; do
		ip netns exec "$space" rdma statistic show link "v$space/1" >&2
	done
	exit 1
}

# Not functions: a shell of theirs would be elsewhere than where the server listens.
IN_A=(ip netns exec a) IN_B=(ip netns exec b) IN_C=(ip netns exec c)

# ------------------------------------------------------------------- the network

add_space() {	# NAME ADDRESS
	ip netns add "$1" && ip link add "e$1" type veth peer name "p$1" &&
		ip link set "e$1" netns "$1" && ip link set "p$1" master sw0 up &&
		ip netns exec "$1" ip address add "$2/24" dev "e$1" &&
		ip netns exec "$1" ip link set "e$1" up && ip netns exec "$1" ip link set lo up
}

has_gid_in() {	# NAME
	ip netns exec "$1" grep -q ':0a09:09' "/sys/class/infiniband/v$1/ports/1/gids/1" 2>/dev/null
}

# The index of a GID, by what its text begins with.
gid_of() {	# NAME TEXT
	ip netns exec "$1" grep -l "^$2" -r "/sys/class/infiniband/v$1/ports/1/gids" 2>/dev/null |
		sed 's,.*/,,' | sort -n | sed -n 1p
}

has_gid_of() {	# NAME TEXT
	[[ -n $(gid_of "$1" "$2") ]]
}

add_link_device() {	# NAME
	ip netns exec "$1" rdma link add "v$1" type vnet netdev "e$1" && await 10 has_gid_in "$1"
}

make_network() {
	ip link add name sw0 type bridge && ip link set sw0 up && add_space a 10.9.9.1 &&
		add_space b 10.9.9.2 && add_space c 10.9.9.3 &&
		add_link_device a && add_link_device b
}

counter() {	# NAME COUNTER
	ip netns exec "$1" cat "/sys/class/infiniband/v$1/ports/1/hw_counters/$2"
}

set_key() {	# NAME FILE KEY
	ip netns exec "$1" dd bs=4096 status=none if="$KEYS/$3" of="/sys/class/infiniband/v$1/link/$2"
}

# By the command, which has a line with the network before the key.
vnet_key() {	# NAME ARGS...
	ip netns exec "$1" "$VNET" kernel key --device "v$1" "${@:2}"
}

# Faults of what goes either way.
disturb() {	# NETEM...
	"${IN_A[@]}" tc qdisc replace dev ea root netem "$@" && "${IN_B[@]}" tc qdisc replace dev eb root netem "$@"
}

undisturbed() {
	"${IN_A[@]}" tc qdisc del dev ea root && "${IN_B[@]}" tc qdisc del dev eb root
}

# ----------------------------------------------------------------------- strangers

# One frame, or the same several times, to a's link, by somebody who is no node there.
stranger() {	# SPACE WHAT [KEY [TIMES]]
	local from=10.9.9.3

	[[ $1 == c ]] || from=10.9.9.1
	ip netns exec "$1" "$VNET_TREE/bin/link_stranger" "$from" 10.9.9.1 4790 "$2" "${3:+$KEYS/$3}" "${4-1}" ||
		die "link_stranger $2 fails"
}

# All that a counts and holds, and how many NICs it knows.
show_a() {
	"${IN_A[@]}" bash -c 'cd /sys/class/infiniband/va && for file in ports/1/hw_counters/* link/rows; do
		read -r value <"$file" && echo "${file##*/} $value"; done; exec rdma resource show va'
}

# The same, when so many more frames were dropped for a reason; the firmware's have come as far
# as it, and their bytes do not matter.
with_dropped() {	# COUNTER TIMES
	awk -v counter="$1" -v times="$2" '$1 == counter || (counter ~ /^bad_/ && $1 == "frames_received") { $0 = $1 " " $2 + times }
		$1 != "bytes_received" || counter !~ /^bad_/ { print }'
}

shows() {	# COUNTER
	SHOWN=$(show_a)
	[[ $(with_dropped "$1" 0 <<<"$SHOWN") == "$WANTED" ]]
}

# Such frames are dropped for this reason alone, and nothing else of a changes: no answer leaves.
# After SHOWN=$(show_a).
dropped() {	# COUNTER SPACE WHAT [KEY [TIMES]]
	WANTED=$(with_dropped "$1" "${5-1}" <<<"$SHOWN")
	stranger "${@:2}"
	await 10 shows "$1" || {
		diff <(echo "$WANTED") <(with_dropped "$1" 0 <<<"$SHOWN") >&2
		die "$3 from $2 does more than to be counted as $1"
	}
}

# Without a key, nobody is heard but who is on this machine, and he only if he speaks well.
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

# A call under a key that a does not have is refused, and makes no state.
refused_call() {	# SPACE [KEY]
	local before rows

	before=$(counter a refusals_sent)
	rows=$("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows)
	stranger "$1" hello "${2-}"
	await 10 has_counted refusals_sent $((before + 1)) || die "a call from $1 is not refused"
	[[ $("${IN_A[@]}" cat /sys/class/infiniband/va/link/rows) == "$rows" ]] || die "a stranger has a row"
	SHOWN=$(show_a)
}

# Who has no key, another one, or repeats what somebody with it has sent.
strangers_with_key() {
	local space again

	SHOWN=$(show_a)
	# On this machine or elsewhere.
	for space in a c; do
		dropped link_bad_mac "$space" mac one
		dropped link_unknown_key "$space" welcome two
		refused_call "$space"
		refused_call "$space" two
	done
	# Whose frames have left their machine does not prove anything by a secret.
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
	# Captured, and sent again from where it came.
	again=$(counter a link_replayed)
	stranger c version one 4
	await 10 has_counted link_replayed $((again + 3)) || die "a frame that comes again is not known"
}

has_counted() {	# COUNTER NUMBER
	(($(counter a "$1") >= $2))
}

# Among members' traffic, which goes on.
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

# ------------------------------------------------------------------------ programs

figure() {	# PROGRAM: of its table, the last line
	awk -v program="$1" '/^ *[0-9]+ +[0-9]+ / { figure = program ~ /_lat$/ ? $5 " us" : $4 " MB/s" }
		END { if (figure) print program ": " figure }'
}

# A peer may be silent for seconds, where a guest has a part of a processor.
PERFTEST=(-x 1 -F -u 18)
GID=1

perftest() {	# PROGRAM OPTIONS...
	pair "${IN_A[@]}" "$@" -d va "${PERFTEST[@]}" -- "${IN_B[@]}" "$@" -d vb "${PERFTEST[@]}" 10.9.9.1 >/run/out ||
		{ cat /run/out; die "$* fails"; }
	figure "$1" </run/out
}

pingpong() {	# PROGRAM OPTIONS...
	pair "${IN_A[@]}" "$@" -d va -g "$GID" -- "${IN_B[@]}" "$@" -d vb -g "$GID" 10.9.9.1 >/run/out ||
		{ cat /run/out; die "$* fails"; }
}

programs() {	# ITERATIONS
	pingpong ibv_rc_pingpong -n "$1" -c
	pingpong ibv_uc_pingpong -n "$1"
	pingpong ibv_ud_pingpong -n "$1"
	perftest ib_send_lat -n "$1"
	perftest ib_write_lat -n "$1"
	perftest ib_send_bw -n "$(($1 / 5))" -s 65536
	perftest ib_write_bw -n "$(($1 / 5))" -s 65536
	perftest ib_read_bw -n "$(($1 / 5))" -s 65536
	perftest ib_atomic_bw -n "$1"
	perftest ib_send_bw -c UC -n "$1" -s 1024
	perftest ib_send_bw -c UD -n "$1" -s 1024
}

# Frames and memory, which is paged on demand, are both waited for.
paged_programs() {	# ITERATIONS
	perftest ib_send_bw --odp -n "$1" -s 65536
	perftest ib_write_bw --odp -n "$1" -s 65536
	perftest ib_read_bw --odp -n "$1" -s 65536
	perftest ib_write_lat --odp -n "$1"
}

# What must not lose anything, where the network does.
reliable_programs() {	# ITERATIONS
	pingpong ibv_rc_pingpong -n "$1" -c
	perftest ib_send_bw -n "$(($1 / 5))" -s 65536
	perftest ib_write_bw -n "$(($1 / 5))" -s 65536
	perftest ib_read_bw -n "$(($1 / 5))" -s 65536
	perftest ib_atomic_bw -n "$1"
}

# --------------------------------------------------------------------------- keys

refused() {	# WHY NAME COUNTER
	local before

	before=$(counter "$2" "$3")
	pair "${IN_A[@]}" ibv_rc_pingpong -n 10 -d va -g 1 -- "${IN_B[@]}" ibv_rc_pingpong -n 10 -d vb -g 1 10.9.9.1 \
		>/run/out 2>&1 && die "frames pass, $1"
	(($(counter "$2" "$3") > before)) || { cat /run/out; die "nobody counts frames, $1"; }
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

# One key for these peers, another for those; and their group's counts, not everybody's.
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

setting() {	# NAME SETTING [VALUE]
	local file=/sys/class/infiniband/v$1/link/$2

	if (($# > 2)); then
		ip netns exec "$1" bash -c "echo $3 >$file" 2>/dev/null
	else
		ip netns exec "$1" cat "$file"
	fi
}

# A weight for each service level, which is set one at a time.
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

# The transport's settings: read and written, within their limits, under traffic.
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

# For so many packets of a one-way stream there is one frame of answers.
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

# The network repeats frames, with their MACs: each is known when it comes again.
repeated() {
	local before

	disturb duplicate 100% || die "no netem"
	before=$(counter a link_replayed)
	if [[ -n ${VNET_SOAK-} ]]; then
		reliable_programs 50
	else
		perftest ib_send_bw -n 50 -s 16384
	fi
	(($(counter a link_replayed) >= before + 50)) || die "a frame that comes again is not known"
	(($(counter a link_bad_mac) == 0)) || die "a frame that comes again has a wrong MAC"
	undisturbed
}

# Under traffic: accept, use, and the old one is forgotten.
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

# --------------------------------------------------------------- other networks

octets6() {	# NAME
	ip netns exec "$1" awk '$1 == "Ip6InOctets" { print $2 }' /proc/net/snmp6
}

# Frames between addresses of IPv6: programs find each other as before.
ipv6() {
	local space before

	for space in a b; do
		ip netns exec "$space" ip address add "fd00:77::$space/64" dev "e$space" nodad ||
			die "no address of IPv6"
		await 10 has_gid_of "$space" fd00:0077 || die "no GID of IPv6"
	done
	GID=$(gid_of a fd00:0077)
	[[ $(gid_of b fd00:0077) == "$GID" ]] || die "the GIDs of IPv6 have other numbers"
	PERFTEST[1]=$GID
	before=$(octets6 b)
	pingpong ibv_rc_pingpong -n 50 -c
	[[ -z ${VNET_SOAK-} ]] || perftest ib_send_lat -n 50
	perftest ib_write_bw -n 20 -s 65536
	before=$(($(octets6 b) - before))
	echo "by IPv6: $before bytes"
	((before > 50 * 4096)) || die "frames did not go by IPv6"
	GID=1 PERFTEST[1]=1
}

# Bytes of the frames that b sends, in the mean.
mean_frame() {
	local frames bytes

	frames=$(counter b frames_sent) bytes=$(counter b bytes_sent)
	pingpong ibv_rc_pingpong -n 20 -s 30000 -c
	[[ -z ${VNET_SOAK-} ]] || perftest ib_write_bw -n 20 -s 65536
	MEAN=$((($(counter b bytes_sent) - bytes) / ($(counter b frames_sent) - frames)))
	echo "frames of $MEAN bytes in the mean"
}

set_mtus() {	# A B
	local space mtu

	for space in a b; do
		mtu=$([[ $space == a ]] && echo "$1" || echo "$2")
		{ ip link set "p$space" mtu "$mtu" && ip netns exec "$space" ip link set "e$space" mtu "$mtu"; } ||
			die "no MTU of $mtu"
		# A new life: what a frame may have is agreed in its beginning.
		ip netns exec "$space" rdma link delete "v$space"
		{ add_link_device "$space" && set_key "$space" use_key two; } || die "no device"
	done
}

# A device with fewer endpoint frames than queue pairs that are busy.
few_frames() {
	local frames=/sys/module/vnet_ib/parameters/frames usual

	usual=$(<"$frames")
	echo 3 >"$frames"
	"${IN_A[@]}" rdma link delete va
	{ add_link_device a && set_key a use_key two; } || die "no device"
	echo "$usual" >"$frames"
	perftest ib_write_bw -q 12 -n 40 -s 4096 >/dev/null
	(($(counter a evictions) > 0)) || die "all queue pairs have a frame"
}

mtus() {
	set_mtus 9000 9000
	mean_frame
	((MEAN > 4500)) || die "frames do not fill an MTU of 9000"
	set_mtus 9000 1500
	mean_frame
	((MEAN <= 1500)) || die "frames do not fit an MTU of 1500"
	set_mtus 1500 1500
}

# Who has posted to a group destroys its queue pair: what is under way arrives.
group_leaves() {
	local group=$VNET_TREE/bin/rdmacm_group receiver out=/run/group

	"${IN_B[@]}" tc qdisc replace dev eb root netem delay 20ms || die "no netem"
	timeout $((60 * SLOWNESS)) "${IN_A[@]}" stdbuf -oL "$group" receive 100 va >"$out" 2>&1 &
	receiver=$!
	await 10 grep -q '^receiving' "$out" || die "no receiver of a group"
	"${IN_B[@]}" "$group" leave 100 vb >/dev/null || die "nobody sends to a group"
	wait "$receiver" || { cat "$out"; die "a group has not all that was sent"; }
	"${IN_B[@]}" tc qdisc del dev eb root
}

# Ethernet frames, to and fro, between two devices of which each knows the other.
raw_packets() {	# DEVICE COMMAND...
	local near=02:00:00:00:00:01 far=02:00:00:00:00:02 out=/run/frames receiver
	local tool=(raw_ethernet_lat -s 256 -n 100)

	timeout $((60 * SLOWNESS)) "${IN_A[@]}" stdbuf -oL "${tool[@]}" -d va --server -B "$far" -E "$near" \
		>"$out" 2>&1 </dev/null &
	receiver=$!
	await 10 grep -q '#bytes' "$out" || { cat "$out"; die "nobody waits for frames"; }
	timeout $((60 * SLOWNESS)) "${@:2}" "${tool[@]}" -d "$1" --client -B "$near" -E "$far" \
		>"$out.client" 2>&1 </dev/null || { cat "$out" "$out.client"; die "no frames from $1"; }
	wait "$receiver" || { cat "$out"; die "no frames for va"; }
}

# ---------------------------------------------------------------------- user mode

# A node of user mode takes what the kernel sends, and the other way round.
user_node() {
	local export=(env -u RDMAV_DRIVERS VNET_RUNTIME_DIR=/run/node-c)

	chmod 600 "$KEYS/two"
	pair "${IN_A[@]}" ib_write_bw -n 20 -d va "${PERFTEST[@]}" -- "${IN_C[@]}" "${export[@]}" "$VNET" run --listen 10.9.9.3 \
		--key "$KEYS/two" ib_write_bw -n 20 "${PERFTEST[@]}" 10.9.9.1 >/run/out ||
		{ cat /run/out; die "a node of user mode does not reach the kernel's"; }
	echo "from user mode: $(figure ib_write_bw </run/out)"
	raw_packets vnet0 "${IN_C[@]}" "${export[@]}" "$VNET" run --listen 10.9.9.3 --key "$KEYS/two" --peers ::ffff:10.9.9.1=10.9.9.1
}

# ------------------------------------------------------------------- the connections

# shellcheck source=tests/kernel/cm.sh
. "$VNET_SOURCE_DIR/tests/kernel/cm.sh"

# ----------------------------------------------------------------------------- ends

start_traffic() {
	set -m
	"${IN_A[@]}" ib_write_bw -d va "${PERFTEST[@]}" -D 30 -s 65536 >/dev/null 2>&1 </dev/null &
	listener=$!
	await 10 group_listens "$listener" || die "no traffic"
	"${IN_B[@]}" ib_write_bw -d vb "${PERFTEST[@]}" -D 30 -s 65536 10.9.9.1 >/dev/null 2>&1 </dev/null &
	caller=$!
	set +m
	frames=$(counter b frames_sent)
	await 10 more_frames || die "no traffic"
}

more_frames() {
	(($(counter b frames_sent) > frames + 200))
}

end_traffic() {
	kill -KILL -- "-$listener" "-$caller" 2>/dev/null
	wait "$listener" "$caller" 2>/dev/null
}

ends() {
	start_traffic
	timeout $((20 * SLOWNESS)) ip netns exec a rdma link delete va || die "no device can be deleted under traffic"
	end_traffic
	{ add_link_device a && set_key a use_key two; } || die "no device can be made again"
	pingpong ibv_rc_pingpong -n 10
	start_traffic
	ip netns delete b || die "no namespace can be deleted under traffic"
	end_traffic
	await 10 no_device_b || die "a device outlives its namespace"
	rmmod vnet_ib || die "the module cannot be unloaded"
}

no_device_b() {
	[[ $(rdma link show) != *vb/* ]]
}

timed() {	# COMMAND...
	local start=$SECONDS

	"$@"
	echo "# $*: $((SECONDS - start)) s"
}

load_modules || die "no module"
mkdir -m 700 "$KEYS"
for key in one other two; do
	printf 'a key of the test, which is called %s\n' "$key" >"$KEYS/$key"
done
make_network || die "no network"
timed strangers_without_key
timed check_keys
timed check_groups
timed programs 50
timed strangers_with_key
timed strangers_meanwhile
timed paged_programs 10
disturb loss 1% duplicate 1% corrupt 1% reorder 5% delay 1ms || die "no netem"
timed reliable_programs 25
timed paged_programs 5
undisturbed
timed change_key
timed check_weights
timed check_settings
timed check_answers
timed ipv6
timed few_frames
timed mtus
timed repeated
timed group_leaves
timed raw_packets vb "${IN_B[@]}"
timed user_node
for place in own two from-user to-user; do
	timed cm_programs "$place"
done
timed ends
