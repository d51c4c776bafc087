# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reads the costs of the steps of a message (am_cost.h) from a program's output, and prints tables.
# The steps have the groups of the paper's tables 3 and 4. The caller sets PUBLISHED and
# GROUP_PUBLISHED to percents of the time, by step and by group.
# shellcheck disable=SC2153,SC2154

STEPS=(post_send post_receive recycle_send recycle_receive build_send_request
	poll_send poll_receive send_bookkeeping process_received copy_data read_data act)
declare -A STEP_NAME=(
	[post_send]='post send' [post_receive]='post receive' [recycle_send]='recycle send'
	[recycle_receive]='recycle receive' [build_send_request]='build send request'
	[poll_send]='poll CQ, send' [poll_receive]='poll CQ, receive'
	[send_bookkeeping]='send bookkeeping' [process_received]='process received'
	[copy_data]='copy data' [read_data]='read data' [act]='act'
)
GROUPS_OF_STEPS=(verbs events flow_control semantics)
declare -A GROUP_NAME=(
	[verbs]='base verbs' [events]='event notification'
	[flow_control]='flow control' [semantics]='semantics'
)
declare -A GROUP_STEPS=(
	[verbs]='post_send post_receive recycle_send recycle_receive build_send_request'
	[events]='poll_send poll_receive'
	[flow_control]='send_bookkeeping process_received'
	[semantics]='copy_data read_data act'
)

# Adds the keys of all steps, SUBJECT.STEP.SIDE.
add_steps() {	# SUBJECT LABEL
	local step side

	LABEL[$1]=$2
	for step in "${STEPS[@]}"; do
		for side in client server; do
			add_key "$1.$step.$side" "$2: ${STEP_NAME[$step]}, $side" ns
		done
	done
	add_key "$1.empty.client" "$2: an empty poll" ns
	add_key "$1.mark" "$2: a pair of marks" ns
}

# Prints a column of a step's line: "step", side, group, name, calls, ns, empty polls, their ns,
# interruptions. Calls, polls and ns are per round trip.
step_value() {	# FILE SIDE NAME COLUMN
	awk -F '\t' -v side="$2" -v name="$3" -v column="$4" \
		'$1 == "step" && $2 == side && $4 == name { print $column; exit }' "$1"
}

# Prints the time of a poll that finds no completion, in ns.
empty_poll() {	# FILE
	awk -F '\t' '$1 == "step" && $2 == "client" { n += $7; ns += $8 }
		END { if (n > 0) printf "%.2f", ns / n; else print 0 }' "$1"
}

record_steps() {	# SUBJECT FILE
	local step side key

	for step in "${STEPS[@]}"; do
		for side in client server; do
			key=$1.$step.$side
			record "$key" "$(step_value "$2" "$side" "${STEP_NAME[$step]}" 6)"
		done
	done
	record "$1.empty.client" "$(empty_poll "$2")"
	record "$1.mark" "$(awk -F '\t' '$1 == "mark_ns" { print $2 }' "$2")"
}

# ------------------------------------------------------------------ the results

sum() {	# NUMBER...
	printf '%s\n' "$@" | awk '{ s += $1 } END { printf "%.2f", s }'
}

# Prints the sum of the steps on one side, or without SIDE on both.
sum_of_steps() {	# SUBJECT "STEP..." [SIDE]
	local step side values=()

	for step in $2; do
		for side in ${3:-client server}; do
			values+=("$(median_of "$1.$step.$side")")
		done
	done
	sum "${values[@]:-0}"
}

share() {	# PART WHOLE
	awk -v part="$1" -v whole="$2" 'BEGIN { if (whole > 0) printf "%.1f", 100 * part / whole; else printf "-" }'
}

print_line() {	# NAME CLIENT SERVER WHOLE PUBLISHED
	local both

	both=$(sum "$2" "$3")
	printf '%-24s %8.1f %8.1f %8.1f %7s %10s\n' "$1" "$2" "$3" "$both" "$(share "$both" "$4")" "${5:--}"
}

print_group() {	# SUBJECT GROUP WHOLE
	local step

	print_line "${GROUP_NAME[$2]}" "$(sum_of_steps "$1" "${GROUP_STEPS[$2]}" client)" \
		"$(sum_of_steps "$1" "${GROUP_STEPS[$2]}" server)" "$3" "${GROUP_PUBLISHED[$2]}"
	for step in ${GROUP_STEPS[$2]}; do
		print_line "  ${STEP_NAME[$step]}" "$(sum_of_steps "$1" "$step" client)" \
			"$(sum_of_steps "$1" "$step" server)" "$3" "${PUBLISHED[$step]}"
	done
}

print_steps() {	# SUBJECT
	local group whole

	whole=$(sum_of_steps "$1" "${STEPS[*]}")
	printf '%s%-24s %8s %8s %8s %7s %10s%s\n' "$BOLD" "${LABEL[$1]}, ns" client server both 'share %' \
		'published' "$PLAIN"
	for group in "${GROUPS_OF_STEPS[@]}"; do
		print_group "$1" "$group" "$whole"
	done
	print_line 'all' "$(sum_of_steps "$1" "${STEPS[*]}" client)" \
		"$(sum_of_steps "$1" "${STEPS[*]}" server)" "$whole" 100
	printf 'not in it: a poll that finds nothing, %s ns; a pair of marks, %s ns\n\n' \
		"$(number "$(median_of "$1.empty.client")")" "$(number "$(median_of "$1.mark")")"
}

json_step() {	# STEP
	printf '\n    {"step": %s, "percent": %s}' "$(json_string "${STEP_NAME[$1]}")" \
		"$(json_number "${PUBLISHED[$1]}")"
}

json_share() {	# "SUBJECT GROUP"
	local subject=${1% *} group=${1##* }

	printf '\n    {"subject": %s, "group": %s, "percent": %s, "published_percent": %s}' \
		"$(json_string "$subject")" "$(json_string "${GROUP_NAME[$group]}")" \
		"$(share "$(sum_of_steps "$subject" "${GROUP_STEPS[$group]}")" \
			"$(sum_of_steps "$subject" "${STEPS[*]}")" | sed 's/^-$/null/')" \
		"${GROUP_PUBLISHED[$group]}"
}

json_shares() {	# SUBJECT...
	local subject group shares=()

	for subject in "$@"; do
		for group in "${GROUPS_OF_STEPS[@]}"; do
			shares+=("$subject $group")
		done
	done
	json_list json_share "${shares[@]}"
}

# Columns of the data file: a title, and the share of each group.
plot_shares() {	# NAME TITLE PUBLISHED_TITLE SUBJECT...
	local name=$1 title=$2 published=$3 subject group whole
	shift 3

	{
		printf '"%s (published)"' "$published"
		for group in "${GROUPS_OF_STEPS[@]}"; do
			printf ' %s' "${GROUP_PUBLISHED[$group]}"
		done
		printf '\n'
		for subject in "$@"; do
			whole=$(sum_of_steps "$subject" "${STEPS[*]}")
			printf '"%s"' "${LABEL[$subject]}"
			for group in "${GROUPS_OF_STEPS[@]}"; do
				printf ' %s' "$(share "$(sum_of_steps "$subject" "${GROUP_STEPS[$group]}")" "$whole")"
			done
			printf '\n'
		done
	} >"$PLOTS/$name.dat"
	plot "$name" <<END
set title '$title'
set ylabel 'percent'
set yrange [0:100]
set style data histogram
set style histogram rowstacked
set style fill solid 0.8 border -1
set boxwidth 0.6
set key outside right
set grid ytics
plot '$name.dat' using 2:xtic(1) title 'base verbs', '' using 3 title 'event notification', \\
	'' using 4 title 'flow control', '' using 5 title 'semantics'
END
}
