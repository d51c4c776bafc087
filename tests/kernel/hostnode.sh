#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs programs between the two ends of a tap: a guest with the driver, and a node of user mode.
# In the guest, vnet0 is on eth0. Each end is the server of some programs; then again while both
# ends lose, damage, duplicate and reorder frames.
#
#   hostnode.sh guest|host DIRECTORY
role=$1 dir=$2
HOST=192.168.91.1 GUEST=192.168.91.2
HOST6=fd91::1 GUEST6=fd91::2
PERFTEST=(-d vnet0 -x 1 -F -u 18)
PINGPONG=(-d vnet0 -g 1)
# Faults of the frames that each end sends, in words of netem and of vnet fault.
MESSY=(loss 2% duplicate 1% corrupt 1% reorder 5% delay 1ms)

die() {
	echo "hostnode: $role: $*" >&2
	[[ $role == host ]] || rdma statistic show link vnet0/1 >&2
	exit 1
}

if [[ $role == guest ]]; then
	. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
	own=$GUEST peer=$HOST own6=$GUEST6 peer6=$HOST6 RUN=()
else
	set -u -o pipefail
	own=$HOST peer=$GUEST own6=$HOST6 peer6=$GUEST6
	SLOWNESS=1
	[[ ${VNET_KERNEL-} != debug ]] || SLOWNESS=6
	RUN=("$VNET" run --listen "$own" --peers "::ffff:$peer=$peer" --key "$dir/key")

	await() {	# SECONDS COMMAND...
		local end=$((SECONDS + $1 * SLOWNESS + 1))
		shift

		until "$@"; do
			((SECONDS < end)) || return 1
			sleep 0.05
		done
	}

	listens_or_gone() {	# PGID
		local pids

		pids=$(pgrep -g "$1") || return 0
		ss -Hltnp | grep -qE "pid=(${pids//$'\n'/|})," && return
		"$VNET" status --json 2>/dev/null | jq -e 'any(.cm_ids[]; .state == "listen")' >/dev/null
	}
fi

# shellcheck source=tests/kernel/told.sh
. "$VNET_SOURCE_DIR/tests/kernel/told.sh"
# Both ends have servers.
TOLD=$dir/told TELLER=$peer
# The address that the next programs use.
here=$own

set_up_end() {
	(umask 077 && printf '%032d' 7 >"$dir/key") || return
	[[ $role == guest ]] || return 0
	load_modules && modprobe virtio_net && ready_to_hold && ip address add "$own/24" dev eth0 &&
		ip address add "$own6/64" dev eth0 nodad && ip link set eth0 up && add_device vnet0 vnet eth0 &&
		"$VNET" kernel key --device vnet0 "$dir/key"
}

disturb() {
	local options

	if [[ $role == guest ]]; then
		tc qdisc add dev eth0 root netem "${MESSY[@]}"
		return
	fi
	# For the running node, and for the next one, if this one ends because it is idle.
	read -ra options < <(printf -- '--%s %s ' "${MESSY[@]}")
	VNET_FAULT=$(printf '%s=%s,' "${MESSY[@]}")
	export VNET_FAULT
	"$VNET" fault "${options[@]}" >/dev/null
}

# A node of user mode has one address, so it is restarted for another one.
use_address() {	# 4|6
	if [[ $1 == 6 ]]; then
		network=ipv6. here=$own6 peer=$peer6 gid=$peer6
	else
		here=$own peer=$TELLER gid=::ffff:$TELLER
	fi
	[[ $role == host ]] || return 0
	"$VNET" stop >/dev/null
	RUN=("$VNET" run --listen "$here" --peers "$gid=$peer" --key "$dir/key")
	"${RUN[@]}" ibv_devices >/dev/null
}

# Checks at the end that faults occurred.
check_disturbed() {
	local lost

	if [[ $role == guest ]]; then
		lost=$(tc -s qdisc show dev eth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | sed -n 1p)
	else
		lost=$("$VNET" status --json | jq '[.devices[].link.counters.fault_lost] | add')
	fi
	echo "frames lost on purpose: ${lost:-?}"
	((${lost:-0} > 0)) || die "no frame that it sent was lost"
	[[ $role == host ]] || check_damaged
}

# The host damages frames after their MAC is computed, and before the UDP checksum is.
check_damaged() {
	local damaged

	damaged=$(cd /sys/class/infiniband/vnet0/ports/1/hw_counters && cat link_bad_mac link_unknown_key |
		awk '{ sum += $1 } END { print sum }')
	echo "frames whose MAC is wrong: $damaged"
	((damaged > 0)) || die "no damaged frame was known by its MAC"
}

# mckey does not listen. When it prints this, it has joined its group and posted receives.
receives() {
	grep -q '^receiving data transfers' "$dir/out"
}

serve() {	# NAME PROGRAM OPTIONS...
	local pid

	set -m
	timeout $((90 * SLOWNESS)) "${RUN[@]}" "${@:2}" >"$dir/out" 2>&1 </dev/null &
	pid=$!
	set +m
	await 30 eval 'receives || listens_or_gone "$pid"'
	tell "$1"
	wait "$pid" || { cat "$dir/out"; die "$1 fails"; }
}

ask() {	# NAME PROGRAM OPTIONS...
	local start=$SECONDS

	await 90 told "$1" || die "the server is not ready for $1"
	timeout $((60 * SLOWNESS)) "${RUN[@]}" "${@:2}" >"$dir/out" 2>&1 </dev/null || { cat "$dir/out"; die "$1 fails"; }
	awk -v name="$1" -v s="$((SECONDS - start))" '/^ *[0-9]+ +[0-9]+ / { figure = name ~ /lat/ ? $5 " us" : $4 " MB/s" }
		END { print name ": " (figure ? figure : "done") ", " s " s" }' "$dir/out"
}

# Runs a program with the given options at both ends. Some programs need further options at one
# end.
step() {	# SERVER PROGRAM OPTIONS...
	local who=$1 name=$network$1.$2 program=("${@:2}") serves=() asks=("$peer")

	case $2 in
	ibv_*) program+=("${PINGPONG[@]}") ;;
	ib_*) program+=("${PERFTEST[@]}") ;;
	mckey) program=(stdbuf -oL "${program[@]}" -b "$here") asks=(-s) ;;
	rping) serves=(-s -a "$here") asks=(-c -a "$peer") ;;
	rstream | ucmatose | udaddy) serves=(-b "$here") asks=(-s "$peer") ;;
	esac
	[[ " $* " != *' -R '* ]] || name+=.cm
	if [[ $role == "$who" ]]; then
		serve "$name" "${program[@]}" "${serves[@]}"
	else
		ask "$name" "${program[@]}" "${asks[@]}"
	fi
}

# perftest's server in the guest needs its client's requests delayed.
step_cm() {	# SERVER
	if [[ $1 == host ]]; then
		step host ib_write_bw -R -n 20 -s 65536
		return
	fi
	[[ $role == host ]] || hold_requests eth0 || die "requests cannot be held"
	step guest ib_write_bw -R -n 20 -s 65536
	[[ $role == host ]] || held_some || die "no request was held"
}

set_up_end || die "no device"
mkdir "$TOLD" || die "no place for what is told"
python3 -m http.server 8000 --bind "$own" --directory "$TOLD" >/dev/null 2>&1 &
web_server=$!
# The host is the last server, so all programs have ended when the guest ends.
network=
for server in guest host; do
	step "$server" ibv_rc_pingpong -n 50 -c
	step "$server" ib_write_bw -n 20 -s 65536
	step "$server" ib_send_lat -n 20
	step "$server" rping -C 5 -S 1000 -V
	step "$server" rstream -S 4096 -I 5 -C 10
	step_cm "$server"
	step "$server" mckey -m 239.1.2.3
done
use_address 6
for server in guest host; do
	step "$server" rping -C 5 -S 1000 -V
	step "$server" udaddy -c 2 -C 5 -S 1000
	step "$server" rstream -S 4096 -I 5 -C 10
done
use_address 4
network=messy.
disturb || die "nothing can be disturbed"
for server in guest host; do
	step "$server" ibv_rc_pingpong -n 20 -c
	step "$server" ib_write_bw -n 10 -s 65536
	step "$server" rping -C 5 -S 1000 -V
done
check_disturbed
kill "$web_server"
