# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Functions for attacks in user mode: two nodes of a user, and an attacker.
# shellcheck source=tests/link/lib.sh
. "${VNET_SOURCE_DIR:?run me through tests/isolated}/tests/link/lib.sh"

OTHER=65534	# nobody

# Runs a command as another user. Without root, it is the same user, but without the nodes'
# runtime directory.
as_other() {	# COMMAND...
	if ((EUID == 0)); then
		setpriv --reuid "$OTHER" --regid "$OTHER" --clear-groups --inh-caps=-all \
			--bounding-set=-all env -u VNET_RUNTIME_DIR "$@"
	else
		env -u VNET_RUNTIME_DIR "$@"
	fi
}

# Copies the attacker's program to a folder that other users can access.
prepare_others() {
	OTHERS=$(mktemp -d "${TMPDIR:-/tmp}/vnet-o.XXXXXX") || skip "no folder for others"
	chmod 755 "$OTHERS"
	cp "$VNET_TREE/bin/attack_intruder" "$OTHERS"
	trap 'rm -rf "$OTHERS"' EXIT
	as_other "$OTHERS/attack_intruder" >/dev/null 2>&1
	(($? == 1)) || skip "programs of another user cannot be run"
}

# Starts a victim on each of two nodes, connected. Their inputs are descriptors 5 and 7.
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

# Checks that memory is unchanged and that traffic works, in both directions.
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

# Runs an attack against A in the name of B. Sets $told to its output. `run` is the command that
# selects the user.
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

# Increase of a counter of A during the attack.
grown() {	# NAME
	echo $(($(jq ".$1" <<<"$after") - $(jq ".$1" <<<"$before")))
}

said() {	# KIND: how many of these the intruder got
	awk -v kind="$1" '$1 == kind { n = $2 } END { print n + 0 }' <<<"$told"
}
