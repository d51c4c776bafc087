# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet key: replaces the keys of a running node.

# shellcheck source=usermode/cmd/run.sh
. "$VNET_SRC/usermode/cmd/run.sh"

help_key() {
	cat <<EOF
${BOLD}vnet key${PLAIN} [--node NAME] [FILE[@NETWORK]...]

Replaces the keys of a running node that was started with a key. The first key signs
frames, and all keys are accepted. Without FILE, the node reads its key files again. To
change a key under traffic:

  vnet key old new         on every node: the new key is accepted, too;
  vnet key new old         then on every node: the new key signs frames;
  vnet key new             then on every node: the old key is not accepted any more.

A key with a NETWORK is for peers whose addresses are in that network (10.1.0.0/16,
fd00:1::/32, or a single address), a key without a network for all peers. For a peer, only
the keys with the narrowest matching network are used. So one node can belong to several
groups that cannot communicate with each other:

  vnet key old@10.1.0.0/16 other@10.2.0.0/16 everybody

A key file has 16 to 4096 arbitrary bytes, and only its owner may read it:

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
