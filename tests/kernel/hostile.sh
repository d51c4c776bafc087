# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: hostile processes; and privileges and numbers of objects, as an ordinary user.
#
#   hostile.sh HOSTILE FAULT_HOSTILE PRIVILEGES NUMBERS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
# Crashes of these processes are expected, so the kernel does not log them.
echo 0 >/proc/sys/debug/exception-trace

as_user "$3" || exit 1
as_user --inh-caps +net_raw --ambient-caps +net_raw "$3" || exit 1
as_user "$4" || exit 1

# The processes have CAP_NET_RAW only.
raw=(--inh-caps +net_raw --ambient-caps +net_raw)
as_user "${raw[@]}" "$1" || exit 1
as_user "${raw[@]}" "$2" commands || exit 1
await 10 nothing_held vnet0 || { rdma resource show; exit 1; }
