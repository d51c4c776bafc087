# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet demo: compares programs of the distribution over vnet0 with TCP.

# shellcheck source=usermode/cmd/pair.sh
. "$VNET_SRC/usermode/cmd/pair.sh"

help_demo() {
	cat <<EOF
${BOLD}vnet demo${PLAIN}

Runs the distribution's ib_send_lat and ib_write_bw over vnet0, and the same exchange over
TCP on the loopback interface, and prints the results. Then compares a small Active
Message with plain verbs, and runs Split-C's reads and puts. As root, it installs missing
Debian packages; otherwise it names them. Takes less than a minute after the build.
EOF
}

# Prints a row of the table: the values of both programs, and their ratio.
demo_row() {	# WHAT UNIT VNET TCP better-is-less|better-is-more
	awk -v what="$1" -v unit="$2" -v vnet="$3" -v tcp="$4" -v better="$5" \
		-v bold="$BOLD$GREEN" -v plain="$PLAIN" '
		function digits(v) { return sprintf(v < 10 ? "%.2f" : v < 100 ? "%.1f" : "%.0f", v) }
		BEGIN {
			times = better == "better-is-less" ? tcp / vnet : vnet / tcp
			printf "  %-31s %s%8s %-5s%s %8s %-5s %7s x\n", what, bold, digits(vnet), unit, plain,
				digits(tcp), unit, digits(times)
		}'
}

# Runs a perftest program over vnet0, and sets VALUE to its result. perftest first measures the
# processor's clock. If the clock is uneven, as on a busy machine, it prints no times and is run
# again.
demo_vnet() {	# COLUMN SIZE TOOL [OPTION...]
	local column=$1 size=$2 out=$demo_dir/$3.out attempt
	shift 2

	progress "running $*"
	for attempt in 1 2 3; do
		choose_port || die "$EXIT_VNET" "$REASON"
		(cmd_pair --quiet --timeout 120 "${demo_server[@]}" "$@" -F -s "$size" -p "$PORT" -- \
			"${demo_client[@]}" "$@" -F -s "$size" -p "$PORT" localhost) >"$out" 2>"$out.err"
		VALUE=$(perftest_column "$out" "$column" "$size")
		[[ -n $VALUE ]] && return
		grep -qs 'Correlation coefficient r^2' "$out" "$out.err" || break
		progress "running $*, once more: the processor's clock was uneven (attempt $attempt)"
	done
	progress_end
	cat "$out" "$out.err" >&2
	die "$EXIT_VNET" "$* over vnet0 failed"
}

demo_tcp() {	# NAME PROGRAM [OPTION...]
	local name=$1 out=$demo_dir/tcp.out
	shift

	progress "running $*"
	"$TREE/bin/$1" "${@:2}" "${demo_tcp_cpus[@]}" >"$out" 2>&1
	VALUE=$(named_value "$out" "$name")
	[[ -n $VALUE ]] && return
	progress_end
	cat "$out" >&2
	die "$EXIT_VNET" "$* failed"
}

# Gives server and client a CPU each, for vnet and for TCP. On a shared CPU, a sleeping process
# would never be woken from another CPU.
demo_place() {
	local places

	# shellcheck source=bench/machine.sh
	. "$VNET_SRC/bench/machine.sh"
	places=$(two_cpus)
	[[ -n $places ]] && command -v taskset >/dev/null || return 0
	demo_server=(taskset -c "${places%,*}")
	demo_client=(taskset -c "${places#*,}")
	demo_tcp_cpus=(--cpus "$places")
}

demo_device() {
	progress "looking at vnet0"
	if ! (cmd_run ibv_devinfo -d vnet0) >"$demo_dir/devinfo" 2>&1; then
		progress_end
		cat "$demo_dir/devinfo" >&2
		die "$EXIT_VNET" "ibv_devinfo does not see vnet0"
	fi
	progress_end
	printf '%sibv_devinfo%s sees\n' "$BOLD" "$PLAIN"
	grep -E 'hca_id|fw_ver|state:|active_mtu|link_layer' "$demo_dir/devinfo"
}

demo_table() {
	local rows=() vnet

	demo_vnet 't_typical[usec]' 2 ib_send_lat -n 100000
	vnet=$VALUE
	demo_tcp one_way_median_usec tcp_pingpong --size 2 --spin
	rows+=("$(demo_row 'ib_send_lat, 2 bytes, polling' us "$vnet" "$VALUE" better-is-less)")

	demo_vnet 't_typical[usec]' 2 ib_send_lat -e -n 10000
	vnet=$VALUE
	demo_tcp one_way_median_usec tcp_pingpong --size 2
	rows+=("$(demo_row 'ib_send_lat -e, 2 bytes, asleep' us "$vnet" "$VALUE" better-is-less)")

	demo_vnet 'BW_average[' 65536 ib_write_bw -n 20000
	vnet=$VALUE
	demo_tcp bandwidth_mib_per_sec tcp_stream --size 65536
	rows+=("$(demo_row 'ib_write_bw, 64 KiB' MiB/s "$vnet" "$VALUE" better-is-more)")
	progress_end

	printf '\n%s  %-31s %14s %14s %9s%s\n' "$BOLD" '' 'vnet0' 'TCP loopback' 'better' "$PLAIN"
	printf '%s\n' "${rows[@]}"
	printf '\nTCP does the same as the program in its row: polls, sleeps, streams. One way, medians;\neach side on a CPU of its own.\n'
}

# Runs a LogP program of bench/am, and sets NAME_ns for each parameter.
demo_logp() {	# PROGRAM [OPTION...]
	local out=$demo_dir/logp.out name

	progress "running $1"
	(cmd_run -n 2 "$TREE/bin/$1" "${@:2}" "${demo_tcp_cpus[@]}") >"$out" 2>"$out.err"
	for name in rtt_half_ns o_s_ns o_r_ns g_ns; do
		printf -v "$name" %s "$(named_value "$out" "$name")"
	done
	[[ -n $rtt_half_ns && -n $g_ns ]] && return
	progress_end
	cat "$out" "$out.err" >&2
	die "$EXIT_VNET" "$1 over vnet0 failed"
}

# Prints a parameter. It is absent if it is the difference of two times, and noise made it negative.
demo_ns() {	# NANOSECONDS-OR-NOTHING
	if [[ -n $1 ]]; then printf '%.0f ns' "$1"; else printf 'not measured'; fi
}

demo_active_messages() {
	local rtt_half_ns o_s_ns o_r_ns g_ns verbs

	demo_logp raw_logp --iters 10000 --size 16
	verbs=$rtt_half_ns
	demo_logp am_logp --iters 10000
	progress_end
	printf '\nActive Messages over vnet0: half a round trip %.2f us (verbs alone, 16 bytes: %.2f),\n' \
		"$(awk "BEGIN { print $rtt_half_ns / 1000 }")" "$(awk "BEGIN { print $verbs / 1000 }")"
	printf 'LogP: o_s %s, o_r %s, g %s. More of it: %svnet bench logp%s\n\n' "$(demo_ns "$o_s_ns")" \
		"$(demo_ns "$o_r_ns")" "$(demo_ns "$g_ns")" "$BOLD" "$PLAIN"
}

demo_splitc() {
	local out=$demo_dir/splitc.out read put

	progress 'running splitc_ops'
	(cmd_run -n 2 "$TREE/bin/splitc_ops" --iters 5000 "${demo_tcp_cpus[@]}") >"$out" 2>"$out.err"
	read=$(demo_operation read) put=$(demo_operation put)
	progress_end
	if [[ -z $read || -z $put ]]; then
		cat "$out" "$out.err" >&2
		die "$EXIT_VNET" "splitc_ops over vnet0 failed"
	fi
	printf 'Split-C over vnet0: a read of 8 bytes %.2f us, a put in a stream %.2f us. More of it: %svnet bench splitc%s\n\n' \
		"$(awk "BEGIN { print $read / 1000 }")" "$(awk "BEGIN { print $put / 1000 }")" "$BOLD" "$PLAIN"
}

# Prints the time of an operation on a long, in ns.
demo_operation() {	# NAME
	awk -v name="$1" '$1 == "op" && $2 == name && $3 == "long" { print $4 }' "$demo_dir/splitc.out"
}

cmd_demo() {
	local demo_dir VALUE demo_server=() demo_client=() demo_tcp_cpus=()

	case ${1-} in
	'') ;;
	--help | -h)
		help_demo
		return
		;;
	*) die_usage "demo has no option '$1'; see: vnet demo --help" ;;
	esac

	[[ -e $VNET_SRC/bench/lib.sh ]] || die "$EXIT_VNET" "the demo is in vnet's source tree only"
	# shellcheck source=bench/lib.sh
	. "$VNET_SRC/bench/lib.sh"
	need_packages install build demo
	need_tree bench
	export VNET_TREE=$TREE
	demo_dir=$(mktemp -d) || die "$EXIT_VNET" "no temporary directory can be made"
	# shellcheck disable=SC2064	# this very directory
	trap "rm -rf -- '$demo_dir'" EXIT

	demo_place
	demo_device
	demo_table
	demo_active_messages
	demo_splitc
	printf 'More: %svnet bench peers%s, %svnet run --help%s, %svnet pair --help%s\n' \
		"$BOLD" "$PLAIN" "$BOLD" "$PLAIN" "$BOLD" "$PLAIN"
}
