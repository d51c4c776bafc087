# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: immediate data of 64 bits over the kernel's own device, and a device
# of another kind that has none.
#
#   kernel.sh PROGRAM
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
program=$1
place=/run/vnetdv

# What every user reaches.
(umask 0 && mkdir "$place")
as_user "$program" receive "$place/socket" vnet0 &
receiver=$!
await 30 test -S "$place/socket" || exit 1
as_user "$program" send "$place/socket" vnet0 || {
	kill "$receiver"
	exit 1
}
wait "$receiver" || exit 1
as_user "$program" foreign rxe0
