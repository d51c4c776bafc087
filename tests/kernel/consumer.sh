# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, with vnet_ktest.ko: a kernel consumer, and a process that communicates with it.
# The same runs over rxe, which shows that the test itself is right.
#
#   consumer.sh KTEST_USER
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
user=$1
verb=run
[[ -z ${VNET_SOAK-} ]] || verb=soak

failures=0
for device in rxe0 vnet0; do
	echo "$verb $device" >/dev/vnet_ktest || ((++failures))
	as_user "$user" "$device" 300 || ((++failures))
done
dmesg | grep -o 'vnet_ktest: .*'
exit $((failures > 0))
