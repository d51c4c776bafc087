# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet key: the keys of a node that runs.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

help_key() {
	cat <<EOF
${BOLD}vnet key${PLAIN} [--node NAME] [FILE[@NETWORK]...]

Gives a running node, which was started with a key, the keys in FILE...: frames
are sent with the first, and taken with any of them. Without FILE it reads those
again that it has. To change a key under traffic:

  vnet key old new         on every node: the new one is taken, too;
  vnet key new old         then: the new one is used;
  vnet key new             then: the old one is worth nothing any more.

A key with a NETWORK is for peers whose addresses are in it (10.1.0.0/16, fd00:1::/32,
or an address alone), one without for all. For a peer those keys count that have the
narrowest network it is in. So one node can be in several groups, which do not hear
each other:

  vnet key old@10.1.0.0/16 other@10.2.0.0/16 everybody

A key is any 16 to 4096 bytes in a file that nobody else can read:

  (umask 077; head -c 32 /dev/urandom >key)
EOF
}

cmd_key() {
	local list=''

	while [[ ${1-} == --* ]]; do
		case $1 in
		--help)
			help_key
			return
			;;
		--node)
			take_node "${2-}"
			shift
			;;
		*) die_usage "key has no option '$1'; see: vnet key --help" ;;
		esac
		shift
	done
	while [[ $# -gt 0 ]]; do
		list+=${list:+,}$(absolute_paths "$1")
		shift
	done
	need_tree device
	exec "$TREE/bin/vnet-status" --link "key $list"
}
