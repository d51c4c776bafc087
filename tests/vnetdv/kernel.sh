# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: vnet's own verbs over the kernel's own device, and a device of another
# kind that has none.
#
#   kernel.sh PROGRAM...
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
place=/run/vnetdv

# What every user reaches.
(umask 0 && mkdir "$place")
for program in "$@"; do
	[[ ${program##*/} != vnetdv_flush ]] || core_has_flushes || continue
	socket=$place/${program##*/}
	as_user "$program" receive "$socket" vnet0 &
	receiver=$!
	await 30 test -S "$socket" || exit 1
	as_user "$program" send "$socket" vnet0 || {
		kill "$receiver"
		exit 1
	}
	wait "$receiver" || exit 1
done
as_user "$1" foreign rxe0
