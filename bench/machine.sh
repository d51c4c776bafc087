# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Describes the machine of a measurement: CPUs, versions, and load by other tasks and guests.

cpu_model() {
	local model

	model=$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo)
	printf '%s' "${model:-$(uname -m)}"
	if grep -qw hypervisor /proc/cpuinfo; then
		printf ', virtual machine'
	fi
}

# Prints the CPUs that this process may use, one per line.
allowed_cpus() {
	awk '/^Cpus_allowed_list:/ {
		n = split($2, ranges, ",")
		for (i = 1; i <= n; i++) {
			split(ranges[i], r, "-")
			for (c = r[1]; c <= (r[2] == "" ? r[1] : r[2]); c++)
				print c
		}
	}' /proc/self/status
}

siblings() {	# CPU: the CPUs that are threads of its core
	local list=/sys/devices/system/cpu/cpu$1/topology/thread_siblings_list

	if [[ -r $list ]]; then
		tr ',' '\n' <"$list" | awk -F- '{ for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c }'
	else
		echo "$1"
	fi
}

# Prints two CPUs "A,B", on different cores if possible; nothing if there is only one CPU.
two_cpus() {
	local cpus first other

	mapfile -t cpus < <(allowed_cpus)
	first=${cpus[0]}
	other=$(comm -13 <(siblings "$first" | sort) <(printf '%s\n' "${cpus[@]}" | sort) |
		sort -n | head -n 1)
	other=${other:-${cpus[1]-}}
	[[ -z $other ]] || echo "$first,$other"
}

version_of_package() {	# NAME
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null || printf 'unknown'
}

version_of_perftest() {
	ib_send_lat --version 2>/dev/null | awk '/^Version/ { print $2; found = 1 }
		END { if (!found) print "not installed" }'
}

version_of_ucx() {
	ucx_info -v 2>/dev/null | awk '/Version/ { v = $NF } END { print v ? v : "not installed" }'
}

version_of_vnet() {	# SOURCE_DIR
	git -C "$1" describe --always --dirty 2>/dev/null || printf 'unknown'
}

load() {
	cut -d' ' -f1 /proc/loadavg
}

# Prints "PART WHOLE" since boot: the CPU time that the hypervisor gave to other guests, and all
# CPU time.
stolen_ticks() {
	awk '$1 == "cpu" { all = 0; for (i = 2; i <= 9; i++) all += $i; print $9, all }' /proc/stat
}

# Prints "PART WHOLE" since boot: the time in which a task waited for a CPU, and all time. If server
# and client have a CPU each, it shows how much other tasks disturbed them.
waited_usec() {
	local waited

	waited=$(awk '$1 == "some" { sub("total=", "", $5); print $5 }' /proc/pressure/cpu 2>/dev/null)
	echo "${waited:-0} $(awk '{ print $1 * 1000000 }' /proc/uptime)"
}

percent_since() {	# "PART WHOLE" before, and after
	awk -v before="$1" -v after="$2" 'BEGIN {
		split(before, b)
		split(after, a)
		printf "%.1f", (a[2] > b[2] ? 100 * (a[1] - b[1]) / (a[2] - b[2]) : 0)
	}'
}
