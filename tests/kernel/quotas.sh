# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: one user cannot take a device's tables from others.
#
#   quotas.sh QUOTAS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
chmod 666 /dev/infiniband/uverbs0

# With a given key, NICs of other machines can be peers.
head -c 32 /dev/urandom >/run/quota-key && "$VNET" kernel key /run/quota-key || exit 1
"$1" "$VNET_GUEST_UID" $((VNET_GUEST_UID - 1)) || exit 1
"$VNET" kernel key --forget || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
