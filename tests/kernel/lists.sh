# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, with vnet_ktest.ko: a kernel consumer that posts a long list returns soon. It may
# post with interrupts off; the NIC processor executes the rest of the list. Kernel probes count
# the copies in one call.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# Limit for a list of 256 requests. One call may interrupt another.
MOST=$((2 * 64))

fail() {
	echo "lists: $*" >&2
	exit 1
}

probe() {
	may_trace || fail "no tracing"
	echo 8192 >"$TRACE/buffer_size_kb"
	echo >"$TRACE/trace"
	{
		echo 'p:vnet/copy vnet_ib:plat_copy'
		echo 'p:vnet/post vnet_ib:vnet_post_send'
		echo 'r:vnet/posted vnet_ib:vnet_post_send'
	} >"$TRACE/kprobe_events" || fail "no probes"
	echo 1 >"$TRACE/events/vnet/enable" || fail "no probes"
}

unprobe() {
	echo 0 >"$TRACE/events/vnet/enable"
	echo >"$TRACE/kprobe_events"
}

# Prints the total of copies, and the most in one call. They are counted for each task, not for
# each processor, because the NIC's thread may preempt a call.
copied() {
	awk '
		{
			match($0, /-[0-9]+ +\[/)
			task = substr($0, RSTART + 1, RLENGTH - 2) + 0
		}
		/ post: / { n[task] = 0; inside[task] = 1 }
		/ posted: / { inside[task] = 0 }
		/ copy: / {
			all++
			if (inside[task] && ++n[task] > most)
				most = n[task]
		}
		END { print all + 0, most + 0 }' "$TRACE/trace"
}

probe
echo "lists vnet0" >/dev/vnet_ktest || fail "the list is not carried out"
read -r all most < <(copied)
unprobe
echo "lists: $all copies, at most $most in one call"
((all >= 3 * 256)) || fail "there were to be $((3 * 256))"
((most > 0 && most <= MOST)) || fail "$most copies are made at once"
