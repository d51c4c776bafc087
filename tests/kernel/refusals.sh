# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: requests of an ordinary user that the driver refuses before it calls the firmware.
#
#   refusals.sh REFUSALS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
chmod 666 /dev/infiniband/uverbs0

as_user "$1" || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
