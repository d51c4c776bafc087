# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: memory of the device counts against limits as long as processes have it mapped.
#
#   mappings.sh MAPPINGS
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The programs use the first device, which must be vnet0.
[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
MAPPINGS=$1
CGROUP=/sys/fs/cgroup/mappings
# 32 MiB
ENTRIES=262144
BYTES=$((ENTRIES * 128))

fail() {
	echo "mappings: $*" >&2
	exit 1
}

nothing_left() {
	nothing_held vnet0
}

# Starts a program, which prints WORD and waits for a line.
start() {	# WORD ARGS...
	local word=$1 line=''

	coproc PROGRAM { as_user "$MAPPINGS" "${@:2}"; }
	read -r -t $((60 * SLOWNESS)) -u "${PROGRAM[0]}" line
	[[ $line == "$word" ]] || fail "${*:2}: '$line' instead of '$word'"
}

go_on() {
	local pid=$PROGRAM_PID

	echo >&"${PROGRAM[1]}"
	wait "$pid" || fail "the program failed"
}

# -------------------------------------------------------------- memory cgroups

in_cgroup() {	# COMMAND...
	echo "$BASHPID" >"$CGROUP/cgroup.procs" || fail "no control group"
	"$@"
	echo "$BASHPID" >/sys/fs/cgroup/cgroup.procs
}

bytes_charged() {
	sed -n 's/^vmalloc //p' "$CGROUP/memory.stat"
}

# Freed memory is uncharged with a delay.
is_freed() {
	(($(bytes_charged) < BYTES / 8))
}

charged() {
	local bytes

	in_cgroup start made make "$ENTRIES"
	bytes=$(bytes_charged)
	go_on
	((bytes >= BYTES)) || fail "$bytes bytes of a ring of $BYTES are charged"
}

# The creation fails with ENOMEM, and no process is killed.
refused() {
	await 20 is_freed || fail "$(bytes_charged) bytes are still charged"
	echo $((BYTES / 2)) >"$CGROUP/memory.max"
	in_cgroup start none make "$ENTRIES"
	go_on
	echo max >"$CGROUP/memory.max"
	grep -q '^oom_kill 0$' "$CGROUP/memory.events" || fail "somebody was killed: $(<"$CGROUP/memory.events")"
}

groups() {
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control || fail "no control groups of memory"
	mkdir "$CGROUP" || fail "no control group"
	charged
	refused
	rmdir "$CGROUP"
	echo -memory >/sys/fs/cgroup/cgroup.subtree_control
}

# ---------------------------------------------------------------------- lifetime

module_stays() {
	local file module=

	for file in $VNET_GUEST_MODULE_LIST; do
		[[ $file != */vnet_ib.ko ]] || module=$file
	done
	start kept keep
	await 10 nothing_left || fail "what is mapped keeps more than itself: $(rdma resource show)"
	rmmod vnet_ib 2>/dev/null && fail "the module went under a mapping"
	rdma link delete vnet0 || fail "the device cannot be deleted"
	rmmod vnet_ib 2>/dev/null && fail "the module went under a mapping of a device that is gone"
	go_on
	rmmod vnet_ib || fail "the module cannot be unloaded"
	insmod "$module" || fail "the module cannot be loaded again"
	add_device vnet0 vnet d0 || fail "the device cannot be made again"
}

as_user "$MAPPINGS" limit || fail "the limit"
groups
module_stays
await 10 nothing_left || fail "something is left: $(rdma resource show)"
