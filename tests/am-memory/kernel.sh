# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the test in a kernel guest, over devices that pin registered pages. There, a registration
# that is kept too long sends old data.
#
#   kernel.sh AM_MEMORY
# shellcheck source=tests/kernel/guest.sh
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
program=$1

failures=0
for device in rxe0 vnet0; do
	[[ -e /sys/class/infiniband/$device ]] || continue
	for option in '' --unwatched; do
		echo "$device $option"
		# The option may be empty.
		# shellcheck disable=SC2086
		as_user env AM_SETTINGS="device=$device" "$program" $option || ((++failures))
	done
done
exit $((failures > 0))
