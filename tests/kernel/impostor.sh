# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: frames of an ordinary user, in the name of a device of this machine, are refused.
#
#   impostor.sh IMPOSTOR
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
{ add_netdev d2 10.9.8.1/24 && add_device vnet1 vnet d2; } || exit 1

as_user "$1" vnet0 vnet1 || exit 1
# With CAP_NET_RAW, the program reads incarnations, rows and sequence numbers from the loopback
# device.
as_user --inh-caps +net_raw --ambient-caps +net_raw "$1" vnet0 vnet1 || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
{ rdma link delete vnet1 && ip link delete d2; } || exit 1
