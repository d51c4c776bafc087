# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In one of two guests that are connected by a wire: compares vnet0 with rxe0, both on eth0. The
# programs run in turn; then over vnet0 alone, also by rdma_cm, and while the wire loses,
# duplicates and reorders frames.
#
#   wire.sh server|client ROUNDS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
# shellcheck source=tests/kernel/told.sh
. "$VNET_SOURCE_DIR/tests/kernel/told.sh"
role=$1 rounds=$2
SERVER=192.168.90.1 CLIENT=192.168.90.2
# The server announces, the client asks.
TOLD=/run/told TELLER=$SERVER
COMMON=(-x 1 -F -u 18)
# Ratio of the medians of vnet0 and rxe0: limit and goal. A miss is reported but is no failure,
# because both guests may have only a part of a processor.
LEAST=1.5 GOAL=3

die() {
	echo "wire: $role: $*" >&2
	rdma statistic show link vnet0/1 >&2
	exit 1
}

set_up_wire() {
	local own=$SERVER

	[[ $role == server ]] || own=$CLIENT
	load_modules && modprobe -a virtio_net rdma_rxe && ready_to_hold && ip address add "$own/24" dev eth0 &&
		ip link set eth0 up && add_device vnet0 vnet eth0 && add_device rxe0 rxe eth0 &&
		printf '%032d' 7 >/sys/class/infiniband/vnet0/link/use_key
}

serve() {	# NAME PROGRAM OPTIONS...
	local pid

	set -m
	"${@:2}" "${COMMON[@]}" >/run/out 2>&1 </dev/null &
	pid=$!
	set +m
	await 30 listens_or_gone "$pid"
	tell "$1"
	wait "$pid" || { cat /run/out; die "$1 fails"; }
}

ask() {	# NAME PROGRAM OPTIONS...
	await 120 told "$1" || die "the server is not ready for $1"
	timeout $((60 * SLOWNESS)) "${@:2}" "${COMMON[@]}" "$SERVER" >/run/out 2>&1 || { cat /run/out; die "$1 fails"; }
	awk -v name="$1" '/^ *[0-9]+ +[0-9]+ / { figure = name ~ /lat/ ? $5 " us" : $4 " MB/s" }
		END { print name ": " (figure ? figure : "done") }' /run/out | tee -a /run/figures
}

median() {	# DEVICE
	awk -v device="write_bw.$1." 'index($1, device) == 1 { print $2 }' /run/figures | sort -g |
		awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

compare() {
	awk -v vnet="$(median vnet0)" -v rxe="$(median rxe0)" -v least="$LEAST" -v goal="$GOAL" 'BEGIN {
		ratio = rxe ? vnet / rxe : 0
		verdict = ratio >= goal ? "goal met" : ratio >= least ? "within limit" : "limit missed"
		printf "write_bw, medians: vnet0 %.2f, rxe0 %.2f MB/s: %.2f (at least %s, goal %s): %s\n",
			vnet, rxe, ratio, least, goal, verdict
	}'
}

step() {
	if [[ $role == server ]]; then serve "$@"; else ask "$@"; fi
}

# Programs whose server and client have different options.
step_rping() {	# NAME
	local COMMON=(-s)

	[[ $role == server ]] || COMMON=(-c -a)
	step "$1" rping -C 5 -S 1000 -V
}

step_rstream() {	# NAME
	local COMMON=()

	[[ $role == server ]] || COMMON=(-s)
	step "$1" rstream -S 4096 -I 5 -C 10
}

set_up_wire || die "no devices"
mkdir "$TOLD"
if [[ $role == server ]]; then
	python3 -m http.server 8000 --directory "$TOLD" >/run/web 2>&1 &
	web_server=$!
fi
for ((round = 1; round <= rounds; round++)); do
	for device in vnet0 rxe0; do
		step "write_bw.$device.$round" ib_write_bw -d "$device" -n 50 -s 65536
	done
done
[[ $role == server ]] || compare
step write_lat.vnet0 ib_write_lat -d vnet0 -n 50
step write_lat.rxe0 ib_write_lat -d rxe0 -n 50
# rdma_cm selects the device by address, and both have the same one.
rdma link delete rxe0 || die "rxe0 stays"
step_rping cm.rping
step_rstream cm.rstream
[[ $role == client ]] || hold_requests eth0 || die "requests cannot be held"
step cm.write_bw ib_write_bw -R -n 50 -s 65536
step cm.send_lat ib_send_lat -R -n 50
tc qdisc add dev eth0 root netem loss 1% duplicate 1% reorder 5% delay 1ms || die "no netem"
step netem.write_bw ib_write_bw -d vnet0 -n 20 -s 65536
step netem.send_bw ib_send_bw -d vnet0 -n 20 -s 65536
step netem.read_bw ib_read_bw -d vnet0 -n 10 -s 65536
step netem.atomic_bw ib_atomic_bw -d vnet0 -n 20
step_rping netem.cm.rping
step netem.cm.write_bw ib_write_bw -R -n 20 -s 65536
if [[ $role == server ]]; then
	tell end
	await 60 grep -q 'GET /end .* 200' /run/web || die "the client does not end"
	kill "$web_server"
	rdma statistic show link vnet0/1
else
	rdma statistic show link vnet0/1
	await 60 told end || die "the server does not end"
fi
