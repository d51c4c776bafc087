# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Helpers for tests of commands: run a command, and check its exit status and output.

set -u -o pipefail
export LC_ALL=C
SCRATCH=${VNET_TEST_DIR:?run me through tests/isolated}
export SOURCE=${VNET_SOURCE_DIR:?}
# Settings of the user who runs the tests must have no effect.
unset LD_PRELOAD RDMAV_DRIVERS VNETD VNET_DEVICES VNET_NODE VNET_WITH_HOST_DEVICES VNET_UNLIMITED_MEMLOCK VNET_BUILD_DIR \
	VNET_PRESET CI
failures=0

fail() {
	printf 'line %s: %s\n' "${BASH_LINENO[1]}" "$*"
	[[ ! -e $SCRATCH/out ]] || sed 's/^/    out: /' "$SCRATCH/out"
	[[ ! -e $SCRATCH/err ]] || sed 's/^/    err: /' "$SCRATCH/err"
	failures=$((failures + 1))
}

expect() {	# STATUS COMMAND...
	local want=$1 status
	shift

	"$@" >"$SCRATCH/out" 2>"$SCRATCH/err" </dev/null
	status=$?
	[[ $status == "$want" ]] || fail "status $status instead of $want: $*"
}

out_has() {	# REGEX
	grep -qE -- "$1" "$SCRATCH/out" || fail "stdout lacks: $1"
}

err_has() {	# REGEX
	grep -qE -- "$1" "$SCRATCH/err" || fail "stderr lacks: $1"
}

out_is() {	# TEXT
	[[ $(<"$SCRATCH/out") == "$1" ]] || fail "stdout is not: $1"
}

err_is() {	# TEXT
	[[ $(<"$SCRATCH/err") == "$1" ]] || fail "stderr is not: $1"
}

# Creates a build tree with all files that vnet looks for, without contents.
fake_tree() {	# DIRECTORY
	mkdir -p "$1/bin" "$1/lib"
	printf '#!/bin/sh\n' >"$1/bin/vnetd"
	chmod +x "$1/bin/vnetd"
	echo 'int vnet_fake;' | gcc -shared -fPIC -x c -o "$1/lib/libvnet-preload.so" - || exit 1
	cp "$1/lib/libvnet-preload.so" "$1/lib/libvnet-rdmav34.so"
}

# Runs a command as an ordinary user. The test must run as root.
as_nobody() {	# COMMAND...
	setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$SCRATCH/home" "$@"
}

is_root() {
	[[ $EUID == 0 ]]
}

finish() {
	[[ $failures == 0 ]] || { echo "$failures failed"; exit 1; }
	exit 0
}
