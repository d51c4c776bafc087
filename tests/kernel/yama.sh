#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest whose kernel lets no process at another's memory, or only at those of its
# children or whoever said so (Yama's ptrace_scope, which Ubuntu sets): an ordinary
# user's programs work over user mode's vnet, with content checked.
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
# Of two processes that are no relatives, neither may look at the other.
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
