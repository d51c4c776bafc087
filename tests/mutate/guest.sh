# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest whose module contains all mutations of the driver: runs the test of each. The test
# must first pass without a mutation. Prints "KILLED number test" or "SURVIVED number test".
#
#   guest.sh LIST     lines of a number and its test
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
{ add_netdev d2 10.9.8.1/24 && add_device vnet1 vnet d2; } || exit 1
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
chmod 666 /dev/infiniband/uverbs*

parameter=/sys/module/vnet_ib/parameters/mutant
bin=$VNET_TREE/bin

# NICs of other machines can be peers as long as a key is given.
with_key() {	# COMMAND...
	local status

	head -c 32 /dev/urandom >/run/mutate-key && "$VNET" kernel key /run/mutate-key || return 2
	"$@"
	status=$?
	"$VNET" kernel key --forget || return 2
	return "$status"
}

run_test() {	# NAME
	case $1 in
	refusals) as_user timeout 60 "$bin/kernel_refusals" ;;
	privileges) as_user timeout 60 "$bin/fault_privileges" ;;
	impostor) as_user timeout 120 "$bin/kernel_impostor" vnet0 vnet1 ;;
	mappings) as_user timeout 60 "$bin/kernel_mappings" limit ;;
	quotas) with_key timeout 120 "$bin/kernel_quotas" "$VNET_GUEST_UID" $((VNET_GUEST_UID - 1)) ;;
	*) echo "guest.sh: there is no test $1"; return 2 ;;
	esac
}

declare -A passes
while read -r number name; do
	if [[ -z ${passes[$name]-} ]]; then
		echo 0 >"$parameter"
		run_test "$name" >/tmp/out 2>&1
		passes[$name]=$?
		[[ ${passes[$name]} == 0 ]] || { echo "$name fails without a mutation:"; cat /tmp/out; }
	fi
	[[ ${passes[$name]} == 0 ]] || { echo "NOTEST $number $name"; continue; }
	echo "$number" >"$parameter"
	if run_test "$name" >/tmp/out 2>&1; then
		echo "SURVIVED $number $name"
	else
		echo "KILLED $number $name"
	fi
	echo 0 >"$parameter"
done <"$1"
{ rdma link delete vnet1 && ip link delete d2; } || exit 1
