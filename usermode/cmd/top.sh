# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet top: vnet status, live.

# shellcheck source=usermode/cmd/status.sh
. "$VNET_SRC/usermode/cmd/status.sh"

cmd_top() {
	cmd_status --watch "$@"
}
