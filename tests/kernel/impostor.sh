# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: an ordinary user with a UDP socket says that he is a device of this machine.
# He is not believed by another.
#
#   impostor.sh IMPOSTOR
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
{ add_netdev d2 10.9.8.1/24 && add_device vnet1 vnet d2; } || exit 1

as_user "$1" vnet0 vnet1 || exit 1
# Who reads the loopback device knows lives, rows and sequence numbers, too.
as_user --inh-caps +net_raw --ambient-caps +net_raw "$1" vnet0 vnet1 || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
{ rdma link delete vnet1 && ip link delete d2; } || exit 1
