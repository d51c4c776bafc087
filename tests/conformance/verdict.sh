# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Checks the output of programs. A judge_* function returns 1 and sets REASON if the output is
# wrong; it sets FIGURE to a measured number.
export FIGURE=''

# Words that a program prints only on errors.
complaints() {	# FILE...
	grep -hiE "fail|error|could ?n[o']t|unable|invalid|mismatch|not support|unsupported|vnet:" "$@"
}

# Prints the value of an option, or nothing.
option() {	# OPTION ARGS...
	local wanted=$1 last=''
	shift

	for word; do
		[[ $last == "$wanted" ]] && { echo "$word"; return; }
		last=$word
	done
}

has_option() {	# OPTION ARGS...
	local wanted=$1
	shift

	[[ " $* " == *" $wanted "* ]]
}

# ------------------------------------------------------------------- perftest

# Prints "size iterations value" for every line of a perftest table. The unit in the head of a
# column depends on perftest's version.
perftest_table() {	# FILE COLUMN
	awk -v column="$2" '
		/#bytes/ {
			gsub(/BW +/, "BW_")
			for (i = 1; i <= NF; i++)
				if (index($i, column "[") == 1)
					at = i
			next
		}
		at && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ { print $1, $2, $at }' "$1"
}

# The sizes for which a line is expected.
perftest_sizes() {	# PROGRAM OPTIONS...
	local last=23 power size

	if has_option -a "$@"; then
		# A datagram is no larger than the MTU.
		[[ $(option -c "$@") == UD ]] && last=12
		for ((power = 1; power <= last; power++)); do
			echo $((1 << power))
		done
		return
	fi
	size=$(option -s "$@")
	case $1 in
	*_atomic_*) size=8 ;;
	*_lat) size=${size:-2} ;;
	*_bw) size=${size:-$([[ $(option -c "$@") == UD ]] && echo 4096 || echo 65536)} ;;
	esac
	echo "$size"
}

judge_perftest_table() {	# FILE PROGRAM OPTIONS...
	local file=$1 column=BW_average unit=MiB/s table
	shift

	[[ $1 == *_lat ]] && column=t_avg unit=us
	has_option --report_gbits "$@" && unit=Gb/s
	table=$(perftest_table "$file" "$column")
	[[ -n $table ]] || { fail "there is no result"; return; }
	if [[ $(cut -d' ' -f1 <<<"$table") != "$(perftest_sizes "$@")" ]]; then
		fail "results are for sizes $(cut -d' ' -f1 <<<"$table" | xargs)," \
			"not $(perftest_sizes "$@" | xargs)"
		return
	fi
	awk '!($2 > 0 && $3 ~ /^[0-9.]+$/ && $3 > 0) { bad = 1 } END { exit bad }' <<<"$table" ||
		{ fail "a result is not above zero"; return; }
	FIGURE="$(tail -n 1 <<<"$table" | cut -d' ' -f3) $unit"
}

judge_perftest() {	# OUT PROGRAM OPTIONS...
	local out=$1
	shift

	judge_perftest_table "$out.client" "$@" || { REASON="client: $REASON"; return 1; }
	# The server prints a table, too, if it measures.
	if has_option -b "$@" || [[ $1 =~ (ib_(send|write)|raw_ethernet)_lat ]]; then
		judge_perftest_table "$out.server" "$@" || { REASON="server: $REASON"; return 1; }
	fi
}

# ------------------------------------------------------------------ ping-pong

judge_pingpong_side() {	# FILE PROGRAM OPTIONS...
	local file=$1 size count
	shift

	size=$(option -s "$@") count=$(option -n "$@")
	size=${size:-$([[ $1 == *_ud_* ]] && echo 1024 || echo 4096)} count=${count:-1000}
	grep -qE "^$((size * count * 2)) bytes in [0-9.]+ seconds = [0-9.]+ Mbit/sec\$" "$file" ||
		{ fail "no line tells that $((size * count * 2)) bytes were exchanged"; return; }
	grep -qE "^$count iters in [0-9.]+ seconds = [0-9.]+ usec/iter\$" "$file" ||
		{ fail "no line tells of $count exchanges"; return; }
	FIGURE="$(sed -nE 's/.* = ([0-9.]+) usec\/iter$/\1/p' "$file") us"
}

# ibv_xsrq_pingpong prints "success" instead of figures.
judge_xsrq() {	# OUT PROGRAM OPTIONS...
	local side

	for side in server client; do
		[[ $(tail -n 1 "$1.$side") == success ]] ||
			{ REASON="$side: it does not say success"; return 1; }
	done
	FIGURE=
}

judge_pingpong() {	# OUT PROGRAM OPTIONS...
	local out=$1 side
	shift

	for side in server client; do
		judge_pingpong_side "$out.$side" "$@" || { REASON="$side: $REASON"; return 1; }
	done
}

judge_pair() {	# OUT PROGRAM OPTIONS...
	local words

	words=$(complaints "$1.server" "$1.client") && { fail "it complains: $words"; return; }
	case $2 in
	*_xsrq_pingpong) judge_xsrq "$@" ;;
	*_pingpong) judge_pingpong "$@" ;;
	*) judge_perftest "$@" ;;
	esac
}

# ---------------------------------------------------------------------- tools

# Checks that only this device is listed, with a node GUID.
judge_devices() {	# FILE
	local devices

	devices=$(awk 'list { print $1, $2 } /^ *-+[ \t]+-+$/ { list = 1 }' "$1")
	[[ $devices =~ ^"$DEVICE "[0-9a-f]{16}$ && $devices != *' 0000000000000000' ]] ||
		fail "it shows other devices: ${devices:-none}"
}

judge_devinfo() {	# FILE PROGRAM OPTIONS...
	local file=$1 wanted=("^hca_id:[[:space:]]*$DEVICE\$" 'state:[[:space:]]*PORT_ACTIVE'
		'active_mtu:[[:space:]]*4096' "link_layer:[[:space:]]*$LINK_LAYER") pattern
	shift

	if has_option -l "$@"; then
		wanted=('^1 HCA found' "^[[:space:]]*$DEVICE\$")
	elif has_option -v "$@"; then
		wanted+=('GID\[ *0\]:[[:space:]]*fe80:'
			'max_qp:[[:space:]]*[1-9]' 'atomic_cap:[[:space:]]*ATOMIC_')
	fi
	if has_option -v "$@" && [[ $LINK_LAYER == Ethernet ]]; then
		wanted+=('GID\[ *1\]:[[:space:]]*::ffff:')
	elif [[ $LINK_LAYER == InfiniBand ]]; then
		wanted+=('sm_lid:[[:space:]]*[1-9]' 'port_lid:[[:space:]]*[1-9]' 'port_lmc:[[:space:]]*0x00')
	fi
	for pattern in "${wanted[@]}"; do
		grep -qE "$pattern" "$file" || { fail "it does not show $pattern"; return; }
	done
	# The line on tag matching looks like an error.
	pattern=$(complaints "$file" | grep -v 'tag matching not supported')
	[[ -z $pattern ]] || fail "it complains: $pattern"
}

# Checks the output of "rdma": this device and no other.
judge_rdma() {	# FILE PROGRAM OPTIONS...
	local file=$1 pattern
	shift 2

	case "$*" in
	*-j*dev)
		[[ $(jq -r '.[].ifname' "$file") == "$DEVICE" ]] || fail "it shows other devices: $(<"$file")"
		return
		;;
	*resource*) pattern="[0-9]+: $DEVICE:( (pd|cq|qp|cm_id|mr|ctx|srq) [0-9]+)+" ;;
	*statistic*) pattern="link $DEVICE/1 sent_msgs [0-9]+ .*" ;;
	*link*)
		pattern="link $DEVICE/1 "
		[[ $LINK_LAYER == Ethernet ]] ||
			pattern+="subnet_prefix fe80:0000:0000:0000 lid [1-9][0-9]* sm_lid 1 lmc 0 "
		pattern+="state ACTIVE physical_state LINK_UP .*"
		;;
	*) pattern="[0-9]+: $DEVICE: node_type ca fw [^ ]+ node_guid [0-9a-f:]{19} .*" ;;
	esac
	[[ $(<"$file") =~ ^$pattern\ *$ ]] || fail "it says: $(<"$file")"
}

# ibstat and ibstatus print the same properties in different words.
judge_ibstat() {	# FILE PROGRAM OPTIONS...
	local file=$1 lid=0 pattern wanted
	shift

	# A LID in hexadecimal or decimal, not 0.
	[[ $LINK_LAYER == Ethernet ]] || lid='[1-9a-f]'
	if [[ $1 == ibstatus ]]; then
		wanted=("^Infiniband device '$DEVICE' port 1 status:" 'default gid:.*fe80:' "base lid:[[:space:]]*0x$lid"
			'[^_]state:[[:space:]]*4: ACTIVE' 'phys state:[[:space:]]*5: LinkUp' "link_layer:[[:space:]]*$LINK_LAYER")
	elif has_option -l "$@"; then
		wanted=("^$DEVICE\$")
	else
		wanted=("^CA '$DEVICE'" 'Number of ports: 1' 'Node GUID: 0x[0-9a-f]{16}' "Base lid: $lid"
			'State: Active' 'Physical state: LinkUp' "Link layer: $LINK_LAYER")
	fi
	for pattern in "${wanted[@]}"; do
		grep -qE "$pattern" "$file" || { fail "it does not say $pattern"; return; }
	done
	[[ $(grep -cE "^CA |^Infiniband device |^$DEVICE\$" "$file") == 1 ]] || fail "it shows other devices"
}
