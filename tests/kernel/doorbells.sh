# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: requests are executed with each kind of doorbell (VNET_DOORBELL). Programs poll or
# sleep; a processor may be idle when the first request is posted.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up

for way in trap write page; do
	for options in '-c' '-c -e'; do
		# shellcheck disable=SC2086 # a list
		VNET_DOORBELL=$way pair as_user ibv_rc_pingpong -d vnet0 -g 1 -n 50 $options >/dev/null || {
			echo "doorbells: nothing comes by $way with $options" >&2
			exit 1
		}
	done
done
echo "doorbells: by trap, write and page"
