#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# For tests/report, in a guest: results of the judges for vnet0 and for rdma_rxe.
set -u -o pipefail

# shellcheck source=tests/kernel/guest.sh
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
ISOLATED=("$VNET_SOURCE_DIR/tests/isolated" --timeout 7000)
CONFORMANCE=$VNET_SOURCE_DIR/tests/conformance
APPS=$VNET_SOURCE_DIR/tests/apps

# Runs a program that connects by rdma_cm, both sides on one device. Prints the result in the
# judges' format.
cm_case() {	# WORLD SERVER... -- CLIENT...
	local world=$1 bad=
	shift

	CM_CASES=$((CM_CASES + 1))
	PAIR_TIMEOUT=120 pair "$@" >/run/cm 2>&1 || bad='not '
	[[ -z $bad ]] || sed 's/^/# /' /run/cm
	echo "${bad}ok $CM_CASES - $world: $1 (rdma_cm)"
}

cm_programs() {	# WORLD ADDRESS
	local program

	CM_CASES=0
	cm_case "$1" rping -s -C 5 -S 1000 -V -- rping -c -C 5 -S 1000 -V -a "$2"
	cm_case "$1" ucmatose -c 4 -C 5 -S 1000 -- ucmatose -c 4 -C 5 -S 1000 -s "$2"
	cm_case "$1" udaddy -c 2 -- udaddy -c 2 -s "$2"
	cm_case "$1" cmtime -c 10 -- cmtime -c 10 -s "$2"
	cm_case "$1" rdma_server -- rdma_client -s "$2"
	cm_case "$1" rdma_xserver -c r -- rdma_xclient -c r -s "$2"
	for program in rstream riostream; do
		cm_case "$1" "$program" -S 4096 -I 5 -C 10 -- "$program" -S 4096 -I 5 -C 10 -s "$2"
	done
	for program in ib_write_bw ib_send_lat ib_read_bw; do
		cm_case "$1" "$program" -R -n 20 -F -- "$program" -R -n 20 -F "$2"
	done
}

# Each world removes the device of the other, and creates its own.
for world in kernel rxe; do
	"${ISOLATED[@]}" "$CONFORMANCE/judge" --world "$world" --slice k \
		"$CONFORMANCE"/{tools,pingpong,perftest}.cases
	"${ISOLATED[@]}" "$APPS/judge" --world "$world" "$APPS"/{ucx,libfabric,mpi,programs}.cases
	"${ISOLATED[@]}" "$VNET_SOURCE_DIR/tests/pyverbs/run" --world "$world" --min 0 |
		sed -E "s/^# ([0-9]* passed, [0-9]* skipped).*/# python $world \\1/
			s/^ *([0-9]+ [A-Za-z0-9_.]+: )/# skipped $world \\1/"
	address=192.168.77.1
	[[ $world == kernel ]] || address=192.168.78.1
	cm_programs "$world" "$address"
done
# Failures are part of the report.
true
