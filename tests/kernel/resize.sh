# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, with vnet_ktest.ko: a CQ resize moves entries with interrupts and softirqs
# enabled. For CQs of a process and of a kernel consumer; no event is lost. Checked by kernel
# probes.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
# The interrupt flag of the processor's flags register.
INTERRUPTS=0x200

fail() {
	echo "resize: $*" >&2
	exit 1
}

probe() {
	may_trace || fail "no tracing"
	echo >"$TRACE/trace"
	{
		echo 'p:vnet/resize vnet_ib:nic_cq_resize entries=$arg4:u32 flags=%flags:u32'
		echo 'r:vnet/resized vnet_ib:nic_cq_resize'
	} >"$TRACE/kprobe_events" || fail "no probes"
	echo 1 >"$TRACE/events/vnet/enable" || fail "no probes"
}

unprobe() {
	echo 0 >"$TRACE/events/vnet/enable"
	echo >"$TRACE/kprobe_events"
}

# Prints the number of resizes, the number with interrupts or softirqs off (which the trace
# shows), the most entries, and the longest time in us.
resized() {
	awk -v on="$((INTERRUPTS))" '
		function time() {
			match($0, /[0-9]+\.[0-9]+: /)
			return substr($0, RSTART, RLENGTH - 2) * 1000000
		}
		function value(name) {
			match($0, name "=[0-9]+")
			return substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) + 0
		}
		/ resize: / {
			n++
			if (int(value("flags") / on) % 2 == 0 || $3 ~ /^[bD]/)
				off++
			if (value("entries") > most)
				most = value("entries")
			since[$1] = time()
		}
		/ resized: / && since[$1] {
			if (time() - since[$1] > longest)
				longest = time() - since[$1]
		}
		END { printf "%d %d %d %.0f\n", n, off, most, longest }' "$TRACE/trace"
}

# Resizes a CQ of a process to the largest size.
process() {
	as_user /usr/bin/python3 - <<-'END'
		from pyverbs.device import Context
		from pyverbs.cq import CQ

		context = Context(name="vnet0")
		cq = CQ(context, 10)
		cq.resize(context.query_device().max_cqe)
	END
}

consumer() {
	echo "resize vnet0" >/dev/vnet_ktest
}

check() {	# WHO
	local n off most longest

	probe
	"$1" || fail "$1: no other size"
	read -r n off most longest < <(resized)
	unprobe
	echo "resize: $1: $n times, to at most $most entries, which took $longest us"
	((n > 0)) || fail "$1: nothing was to be seen"
	((off == 0)) || fail "$1: entries move with interrupts or softirqs off, $off times"
}

check process
check consumer
