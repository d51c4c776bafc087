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
try() {	# DEVICE MAPPING PROCESSES PROGRAM [ARG...]
	local device=$1 mapping=$2 processes=$3 program=$4
	shift 4

	echo "$device $mapping: $program $*"
	as_user env SPLITC_SETTINGS="device=$device,mapping=$mapping,timeout=19" \
		"$launch" -n "$processes" "$programs/splitc_test_$program" "$@" || ((++failures))
}

for device in rxe0 vnet0; do
	[[ -e /sys/class/infiniband/$device ]] || continue
	for mapping in messages direct; do
		try "$device" "$mapping" 2 values
		try "$device" "$mapping" 2 bulk
		try "$device" "$mapping" 3 flood 4
	done
	try "$device" direct 3 spread
	try "$device" direct 3 collective
	try "$device" direct 3 atomic 10
done
exit $((failures > 0))
