# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions of link_peers.sh: the distribution's rdma_cm programs in several topologies. On one
# device, between two devices, and between a device and a node of user mode in each direction.

# A node of user mode, in the namespace c.
CM_USER=("${IN_C[@]}" env -u RDMAV_DRIVERS VNET_RUNTIME_DIR=/run/node-c)
CM_RUN=("${CM_USER[@]}" "$VNET" run --listen 10.9.9.3 --key "$KEYS/two")

cm_user_ids() {	# JQ CONDITION
	"${CM_USER[@]}" "$VNET" status --json 2>/dev/null | jq -e "$1" >/dev/null
}

cm_user_listens() {
	cm_user_ids 'any(.cm_ids[]; .state == "listen")'
}

# The ids of a server disappear a moment after its end.
cm_user_rests() {
	cm_user_ids '.cm_ids == []'
}

cm_kernel_listens() {
	rdma resource show cm_id | grep -q ' state LISTEN '
}

cm_place() {	# own|two|from-user|to-user
	local server=a client=b

	case $1 in
	own) client=a ;;
	from-user) client=c ;;
	to-user) server=c ;;
	esac
	CM_LISTENS=cm_kernel_listens
	cm_side "$server"
	CM_SERVER=("${CM_SIDE[@]}") CM_ADDRESS=10.9.9.1
	[[ $server != c ]] || CM_ADDRESS=10.9.9.3 CM_LISTENS=cm_user_listens
	cm_side "$client"
	CM_CLIENT=("${CM_SIDE[@]}")
}

cm_side() {	# a|b|c
	case $1 in
	a) CM_SIDE=("${IN_A[@]}") ;;
	b) CM_SIDE=("${IN_B[@]}") ;;
	c) CM_SIDE=("${CM_RUN[@]}") ;;
	esac
}

# Runs a server and a client: PROGRAM, or $CM_CALLER as the client, with options of both, then
# options of the client. With "ever", the server runs until it is killed, after its client.
cm_pair() {	# ends|ever PROGRAM OPTIONS... -- OPTIONS...
	local kind=$1 options=() serve=() start=$SECONDS server status client=0
	shift

	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	[[ ${options[0]} != rping ]] || serve=(-s)
	set -m
	timeout $((90 * SLOWNESS)) "${CM_SERVER[@]}" "${options[@]}" "${serve[@]}" >/run/server 2>&1 </dev/null &
	server=$!
	set +m
	await 60 "$CM_LISTENS" || { cat /run/server; die "${options[*]} does not listen"; }
	timeout $((60 * SLOWNESS)) "${CM_CLIENT[@]}" "${CM_CALLER:-${options[0]}}" "${options[@]:1}" "$@" >/run/out 2>&1 </dev/null || client=$?
	[[ $kind == ends && $client == 0 ]] || kill -- "-$server"
	wait "$server"
	status=$?
	[[ $kind == ends ]] || status=0
	[[ $CM_LISTENS != cm_user_listens ]] || await 60 cm_user_rests || die "ids are left of ${options[*]}"
	((client == 0 && status == 0)) && echo "#   ${options[*]}: $((SECONDS - start)) s" && return
	cat /run/server /run/out
	die "${options[*]} fails: the server with $status, the client with $client"
}

# Some programs for each place; all programs in a soak run.
cm_programs() {	# own|two|from-user|to-user
	local slice

	case $1 in
	own) slice='udaddy' ;;
	two) slice='ucmatose' ;;
	from-user) slice='rping rstream' ;;
	to-user) slice='ib_write_bw' ;;
	esac
	[[ -z ${VNET_SOAK-} ]] ||
		slice='rping ucmatose udaddy cmtime rdma_server rstream riostream ib_write_bw ib_send_lat ib_read_bw'
	cm_place "$1"
	for program in $slice; do
		cm_program "$program"
	done
}

cm_program() {	# PROGRAM
	local there=(-- -s "$CM_ADDRESS")

	case $1 in
	rping) cm_pair ends rping -C 5 -S 1000 -V -- -c -a "$CM_ADDRESS" ;;
	ucmatose) cm_pair ends ucmatose -c 4 -C 5 -S 1000 "${there[@]}" ;;
	udaddy) cm_pair ends udaddy -c 2 "${there[@]}" ;;
	cmtime) cm_pair ever cmtime -c 10 "${there[@]}" ;;
	rdma_server) CM_CALLER=rdma_client cm_pair ends rdma_server "${there[@]}" ;;
	rstream | riostream) cm_pair ends "$1" -S 4096 -I 5 -C 10 "${there[@]}" ;;
	ib_*) cm_pair ends "$1" -R -n 20 -F -- "$CM_ADDRESS" ;;
	esac
}
