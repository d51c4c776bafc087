# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Helpers for tests of jobs.
# shellcheck source=tests/command/lib.sh
. "$SOURCE_OF_TESTS/command/lib.sh"

member=$VNET_TREE/bin/job-member
launch=$VNET_TREE/bin/vnet-launch
# A TMPDIR of its own, so that leftover session directories can be found.
export TMPDIR=$SCRATCH/tmp
mkdir "$TMPDIR"

# Prints the processes of this test's jobs, which have its scratch directory in their environment.
job_processes() {
	grep -lzsxF "VNET_TEST_DIR=$SCRATCH" /proc/[0-9]*/environ | grep -oE '[0-9]+' |
		while read -r pid; do
			[[ $(readlink "/proc/$pid/exe") == @("$member"|"$launch") ]] && echo "$pid"
		done
}

# Waits for a condition; tests/isolated limits the time.
await() {	# COMMAND...
	until "$@"; do sleep 0.02; done
}

nothing_left() {
	[[ -z $(job_processes) && -z $(ls -A "$TMPDIR") ]]
}

# All tests end with this.
finish_job() {
	await nothing_left
	finish
}
