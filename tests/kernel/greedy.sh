# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: a process with an excessive load does not delay others, and ends when it is
# killed.
#
#   greedy.sh FAULT_GREEDY
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0

"$1" || exit 1
await 30 nothing_held vnet0 || { rdma resource show; exit 1; }
