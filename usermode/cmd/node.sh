# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The node that a command is about.

# What --node names, as vnetd names its directory.
take_node() {	# NAME
	[[ ${1-} =~ ^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31}$ ]] ||
		die_usage "--node wants a name: up to 32 letters, digits, - _ and ."
	export VNET_NODE=$1
}
