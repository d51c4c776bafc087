# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# For attacks in user mode: two nodes of a user whose programs talk, and somebody else.
# shellcheck source=tests/link/lib.sh
. "${VNET_SOURCE_DIR:?run me through tests/isolated}/tests/link/lib.sh"

OTHER=65534	# nobody

# As another user; who is no root is no other user, but has nothing of the nodes' either.
as_other() {	# COMMAND...
	if ((EUID == 0)); then
		setpriv --reuid "$OTHER" --regid "$OTHER" --clear-groups --inh-caps=-all \
			--bounding-set=-all env -u VNET_RUNTIME_DIR "$@"
	else
		env -u VNET_RUNTIME_DIR "$@"
	fi
}

# Programs are where others reach them.
prepare_others() {
	OTHERS=$(mktemp -d "${TMPDIR:-/tmp}/vnet-o.XXXXXX") || skip "no folder for others"
	chmod 755 "$OTHERS"
	cp "$VNET_TREE/bin/attack_intruder" "$OTHERS"
	trap 'rm -rf "$OTHERS"' EXIT
	as_other "$OTHERS/attack_intruder" >/dev/null 2>&1
	(($? == 1)) || skip "programs of another user cannot be run"
}

# A victim at each of two nodes, connected; their input is a descriptor each.
start_victims() {	# OPTIONS...
	local node

	for node in A B; do
		start_node "$node" "$@" || fail "$node does not start: $(<"$SCRATCH/err")"
		mkfifo "$SCRATCH/in.$node" "$SCRATCH/out.$node"
	done
	"$VNET" run --node A "$VNET_TREE/bin/attack_victim" "$SCRATCH/A" "$SCRATCH/B" \
		<"$SCRATCH/in.A" >"$SCRATCH/out.A" &
	exec 5>"$SCRATCH/in.A" 6<"$SCRATCH/out.A"
	"$VNET" run --node B "$VNET_TREE/bin/attack_victim" "$SCRATCH/B" "$SCRATCH/A" \
		<"$SCRATCH/in.B" >"$SCRATCH/out.B" &
	exec 7>"$SCRATCH/in.B" 8<"$SCRATCH/out.B"
	if ! expect 6 ready || ! expect 8 ready; then
		fail "the victims do not connect"
	fi
	talk
}

expect() {	# DESCRIPTOR WORD
	local line

	read -r -t 30 -u "$1" line && [[ $line == "$2" ]]
}

# Memory is as it was, and traffic goes on, both ways.
talk() {
	local fd

	for fd in 5 7; do
		echo check >&"$fd"
		expect $((fd + 1)) ok || fail "line ${BASH_LINENO[0]}: memory was changed"
		echo talk >&"$fd"
		expect $((fd + 1)) ok || fail "line ${BASH_LINENO[0]}: traffic has ended"
	done
}

stop_victims() {
	exec 5>&- 6<&- 7>&- 8<&-
	wait
}

# The intruder, against A in the name of B; what it printed is in $told. `run` is as whom.
run=()
intrude() {	# ATTACK [KEY]
	local a b

	read -r -a a <"$SCRATCH/A"
	read -r -a b <"$SCRATCH/B"
	before=$(link_of A .counters)
	told=$("${run[@]}" "$OTHERS/attack_intruder" "$1" "$(link_of A .address)" \
		"$(link_of B .address)" "${a[1]}" "${b[1]}" "${a[0]}" "${b[0]}" "${a[2]}" "${a[3]}" \
		${2:+"$2"}) || fail "$1 cannot be tried"
	after=$(link_of A .counters)
}

# How far a counter of A has come during the attack.
grown() {	# NAME
	echo $(($(jq ".$1" <<<"$after") - $(jq ".$1" <<<"$before")))
}

said() {	# KIND: how many of these the intruder got
	awk -v kind="$1" '$1 == kind { n = $2 } END { print n + 0 }' <<<"$told"
}
