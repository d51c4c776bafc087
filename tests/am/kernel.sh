# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the tests in a kernel guest, over the kernel's devices and without the preload library.
#
#   kernel.sh VNET_LAUNCH DIRECTORY
#
# DIRECTORY contains the programs.
# shellcheck source=tests/kernel/guest.sh
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
launch=$1 programs=$2

failures=0
try() {	# DEVICE MAPPING[,SETTING...] PROCESSES PROGRAM [ARG...]
	local device=$1 mapping=$2 processes=$3 program=$4
	shift 4

	echo "$device $mapping: $program $*"
	as_user env AM_SETTINGS="device=$device,mapping=$mapping,timeout=19" \
		"$launch" -n "$processes" "$programs/am_test_$program" "$@" || ((++failures))
}

for device in rxe0 vnet0; do
	[[ -e /sys/class/infiniband/$device ]] || continue
	for mapping in v1 v2 v3 v4; do
		try "$device" "$mapping" 2 messages
		try "$device" "$mapping" 2 delivery
	done
	try "$device" v3 3 flood 20
	try "$device" v4 3 flood 20
	try "$device" v4,wiring=cm 2 messages
done
exit $((failures > 0))
