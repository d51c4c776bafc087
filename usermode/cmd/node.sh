# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Selects the node that a command applies to.

# Exports the name given by --node. vnetd uses it as the name of a directory.
take_node() {	# NAME
	[[ ${1-} =~ ^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,31}$ ]] ||
		die_usage "--node wants a name: up to 32 letters, digits, - _ and ."
	export VNET_NODE=$1
}
