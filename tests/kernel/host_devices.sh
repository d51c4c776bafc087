#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with RDMA devices of the kernel: "vnet run" shows only its own device by default.
# With --with-host-devices it shows the others, too; all of them work in one process, both vnets
# by the same provider.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
PROVIDER=$RDMAV_DRIVERS
unset RDMAV_DRIVERS	# vnet run names it
VNET=$VNET_SOURCE_DIR/vnet
VNET_RUNTIME_DIR=$(mktemp -d) && export VNET_RUNTIME_DIR || exit

die() {
	echo "$*" >&2
	exit 1
}

devices() {	# OPTION...: names that a program sees
	"$VNET" run --device u0 "$@" ibv_devices | awk 'NR > 2 { print $1 }' | sort | paste -sd ' '
}

[[ $(RDMAV_DRIVERS=$PROVIDER ibv_devices) == *vnet0* ]] || die "the guest has no vnet0"
found=$(devices)
[[ $found == u0 ]] || die "the machine's devices leak in: $found"
found=$(devices --with-host-devices)
[[ $found == 'rxe0 u0 vnet0' ]] || die "the machine's devices were asked for: $found"
for device in u0 'rxe0 -x 1' 'vnet0 -x 1'; do
	# shellcheck disable=SC2086 # a name and an option
	"$VNET" pair --quiet --timeout $((60 * SLOWNESS)) --device u0 --with-host-devices ib_write_bw -n 20 -d $device \
		>/tmp/out 2>&1 || { cat /tmp/out; die "$device does not work beside the others"; }
done
"$VNET" stop
echo "u0 alone, and u0, rxe0 and vnet0 together"
