#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# For tests/report, in a guest: what the judges say of the kernel's device, and of
# rdma_rxe beside it.
set -u -o pipefail

# shellcheck source=tests/kernel/guest.sh
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
ISOLATED=("$VNET_SOURCE_DIR/tests/isolated" --timeout 7000)
CONFORMANCE=$VNET_SOURCE_DIR/tests/conformance

# Each takes the other's device away, and makes its own.
for world in kernel rxe; do
	"${ISOLATED[@]}" "$CONFORMANCE/judge" --world "$world" --slice k \
		"$CONFORMANCE"/{tools,pingpong,perftest}.cases
	"${ISOLATED[@]}" "$VNET_SOURCE_DIR/tests/pyverbs/run" --world "$world" --min 0 |
		sed "s/^# \([0-9]* passed, [0-9]* skipped\).*/# python $world \1/"
done
# What fails there is what is to be told.
true
