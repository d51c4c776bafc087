# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the tests of vnet's own verbs in a kernel guest.
#
# vnet's device must have these verbs, and rxe must be refused.
#
#   kernel.sh PROGRAM...
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
place=/run/vnetdv

# A folder that all users can write.
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
