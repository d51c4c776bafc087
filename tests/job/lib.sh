# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the tests of jobs share.
# shellcheck source=tests/command/lib.sh
. "$SOURCE_OF_TESTS/command/lib.sh"

member=$VNET_TREE/bin/job-member
launch=$VNET_TREE/bin/vnet-launch
# So that what is left of a session can be found.
export TMPDIR=$SCRATCH/tmp
mkdir "$TMPDIR"

# Processes of this test's jobs: all name its scratch directory, or carry it.
job_processes() {
	grep -lzsxF "VNET_TEST_DIR=$SCRATCH" /proc/[0-9]*/environ | grep -oE '[0-9]+' |
		while read -r pid; do
			[[ $(readlink "/proc/$pid/exe") == @("$member"|"$launch") ]] && echo "$pid"
		done
}

# Waits for a condition; tests/isolated knows how long at most.
await() {	# COMMAND...
	until "$@"; do sleep 0.02; done
}

nothing_left() {
	[[ -z $(job_processes) && -z $(ls -A "$TMPDIR") ]]
}

# Every test ends so.
finish_job() {
	await nothing_left
	finish
}
