# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: processes that write nonsense wherever they can; and privileges and numbers
# of objects, as an ordinary user.
#
#   hostile.sh HOSTILE FAULT_HOSTILE PRIVILEGES NUMBERS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The first device is the one that is tested.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
# That such a process crashes is no news.
echo 0 >/proc/sys/debug/exception-trace

as_user "$3" || exit 1
as_user --inh-caps +net_raw --ambient-caps +net_raw "$3" || exit 1
as_user "$4" || exit 1

# Raw packets are a privilege, the only one they have.
raw=(--inh-caps +net_raw --ambient-caps +net_raw)
as_user "${raw[@]}" "$1" || exit 1
as_user "${raw[@]}" "$2" commands || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
