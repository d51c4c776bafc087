#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with Yama's ptrace_scope set: programs of an ordinary user work over vnet of user
# mode. The kernel refuses access to the memory of other processes, of all or of those that are
# no children and have not allowed it (as Ubuntu sets it). Data is checked.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
unset RDMAV_DRIVERS	# vnet run names it
VNET=$VNET_SOURCE_DIR/vnet
SCOPE=/proc/sys/kernel/yama/ptrace_scope

die() {
	echo "yama: $*" >&2
	exit 1
}

works() {	# SCOPE PROGRAM...
	local directory=/run/yama-$1

	echo "$1" >"$SCOPE" || die "no scope $1"
	rm -rf -- "$directory"
	install -d -m 700 -o "$VNET_GUEST_UID" "$directory"
	as_user env "VNET_RUNTIME_DIR=$directory" "$VNET" pair --quiet --timeout $((60 * SLOWNESS)) "${@:2}" >/run/out 2>&1 ||
		{ cat /run/out; die "${*:2} fails with ptrace_scope $1"; }
	as_user env "VNET_RUNTIME_DIR=$directory" "$VNET" stop
}

[[ -e $SCOPE ]] || die "the kernel has no Yama"
# Check that an unrelated process cannot read another one's memory.
echo 1 >"$SCOPE"
as_user sleep 1000 &
sleeper=$!
await 10 test -r "/proc/$sleeper/mem"
as_user head -c 1 "/proc/$(pgrep -u "$VNET_GUEST_UID" -n sleep)/mem" >/dev/null 2>&1 && die "there is nothing to be refused"
kill "$sleeper"
for scope in 1 2 3; do
	works "$scope" ibv_rc_pingpong -d vnet0 -g 1 -c -n 50 -s 65536
done
works 3 ib_write_lat -n 100
echo "ptrace_scope 1, 2 and 3: an ordinary user's programs work"
