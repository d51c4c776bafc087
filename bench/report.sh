# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Prints the results of a benchmark as a table or as JSON. Reads the arrays KEYS, FIGURES, RUNS and
# FAILURES, and those that figure() fills.
# shellcheck disable=SC2153,SC2154

# -------------------------------------------------------------- the judgement

# Prints the ratio of the medians, if there is one. A negative figure (the difference of two times)
# counts as not measured.
ratio_of() {	# FIGURE
	local a b

	a=$(median_of "$1") b=$(median_of "${DIVISOR[$1]}")
	[[ -n $a && -n $b ]] && awk -v a="$a" -v b="$b" 'BEGIN { if (b > 0 && a >= 0) printf "%.3f", a / b }'
}

holds() {	# RATIO at_most|at_least BOUND
	awk -v r="$1" -v how="$2" -v b="$3" 'BEGIN { exit !(how == "at_most" ? r <= b : r >= b) }'
}

verdict_of() {	# FIGURE
	local ratio

	ratio=$(ratio_of "$1")
	if [[ -n ${FAILURES[$1]-} || -n ${FAILURES[${DIVISOR[$1]}]-} ]]; then
		echo failed
	elif [[ -z $ratio ]]; then
		echo 'not measured'
	elif holds "$ratio" "${RELATION[$1]}" "${GOAL[$1]}"; then
		echo 'goal met'
	elif holds "$ratio" "${RELATION[$1]}" "${LIMIT[$1]}"; then
		echo 'within limit'
	else
		echo 'limit missed'
	fi
}

colour_of() {	# VERDICT
	case $1 in
	'goal met') printf '%s' "$GREEN" ;;
	'within limit') printf '%s' "$YELLOW" ;;
	*) printf '%s' "$RED" ;;
	esac
}

all_well() {
	local key

	[[ -n $PEERS_ONLY ]] && { [[ ${#FAILURES[@]} == 0 ]]; return; }
	for key in "${FIGURES[@]}"; do
		[[ $(verdict_of "$key") =~ ^(goal met|within limit)$ ]] || return 1
	done
}

# ----------------------------------------------------------------- the report

number() {	# NUMBER: with as many digits as mean something
	[[ -n $1 ]] || { printf '%s' -; return; }
	awk -v v="$1" 'BEGIN { a = v < 0 ? -v : v; printf (a < 10 ? "%.2f" : a < 100 ? "%.1f" : "%.0f"), v }'
}

spread() {	# KEY: its smallest and largest run
	local low high

	low=$(runs_of "$1" | sort -g | head -n 1)
	high=$(runs_of "$1" | sort -g | tail -n 1)
	[[ -z $low ]] || printf '(%s..%s)' "$(number "$low")" "$(number "$high")"
}

print_machine() {
	cat <<EOF
machine: $(nproc) CPUs, $(cpu_model); Linux $(uname -r)
with:    vnet $(version_of_vnet "$SOURCE"), libibverbs $(version_of_package libibverbs1), perftest $(version_of_perftest), UCX $(version_of_ucx)
run:     $ROUNDS rounds, server on CPU $SERVER_CPU, client on CPU $CLIENT_CPU
quiet?   load before $LOAD; while it ran, someone waited for a CPU $WAITED % of the time, and
         $STOLEN % of the CPUs' time was the hypervisor's

EOF
}

print_figure() {	# FIGURE
	local key=$1 peer=${DIVISOR[$1]} bound='<=' verdict

	[[ ${RELATION[$key]} == at_most ]] || bound='>='
	verdict=$(verdict_of "$key")
	printf '%-20s %8s %-5s %8s %-5s %-31s %6s  %s %-5s %s %-5s %s%s%s\n' \
		"${LABEL[$key]}" "$(number "$(median_of "$key")")" "${UNIT[$key]}" \
		"$(number "$(median_of "$peer")")" "${UNIT[$peer]}" "${LABEL[$peer]}" \
		"$(number "$(ratio_of "$key")")" "$bound" "${LIMIT[$key]}" "$bound" "${GOAL[$key]}" \
		"$(colour_of "$verdict")" "$verdict" "$PLAIN"
}

print_spreads() {
	local key

	printf '\nmedians, and the range of the rounds:\n'
	for key in "${KEYS[@]}"; do
		printf '  %-31s %8s %-5s %s\n' "${LABEL[$key]}" "$(number "$(median_of "$key")")" \
			"${UNIT[$key]}" "$(spread "$key")"
	done
}

print_failures() {
	local key failed

	for key in "${KEYS[@]}"; do
		failed=$(failures_of "$key" | wc -l)
		((failed > 0)) || continue
		printf '%s%s: %s of %s runs failed:%s\n' "$RED" "${LABEL[$key]}" \
			"$failed" "$((failed + $(runs_of "$key" | wc -l)))" "$PLAIN"
		failures_of "$key" | sort | uniq -c
	done
}

print_table() {
	local key

	print_machine
	if [[ -z $PEERS_ONLY ]]; then
		printf '%s%-20s %8s %-5s %8s %-37s %6s  %-8s %-8s %s%s\n' "$BOLD" figure vnet0 '' \
			peer '' ratio limit goal verdict "$PLAIN"
		for key in "${FIGURES[@]}"; do
			print_figure "$key"
		done
	fi
	print_spreads
	print_failures
}

json_number() {
	printf '%s' "${1:-null}"
}

json_runs() {	# KEY: the members that a figure and a divisor have in common
	local runs failures

	mapfile -t runs < <(runs_of "$1")
	mapfile -t failures < <(failures_of "$1")
	printf '"name": %s, "unit": %s, "median": %s, "runs": %s, "failures": %s' \
		"$(json_string "${LABEL[$1]}")" "$(json_string "${UNIT[$1]}")" \
		"$(json_number "$(median_of "$1")")" "$(json_list json_number "${runs[@]}")" \
		"$(json_list json_string "${failures[@]}")"
}

json_figure() {	# FIGURE
	printf '\n    {%s,\n     "peer": {%s},\n     ' "$(json_runs "$1")" "$(json_runs "${DIVISOR[$1]}")"
	printf '"ratio": %s, "relation": "%s", "limit": %s, "goal": %s, "verdict": "%s"}' \
		"$(json_number "$(ratio_of "$1")")" "${RELATION[$1]/_/ }" "${LIMIT[$1]}" "${GOAL[$1]}" \
		"$(verdict_of "$1")"
}

json_divisor() {	# DIVISOR
	printf '\n    {%s}' "$(json_runs "$1")"
}

print_json() {
	printf '{\n  "machine": {"cpus": %s, "cpu": %s, "kernel": %s},\n' \
		"$(nproc)" "$(json_string "$(cpu_model)")" "$(json_string "$(uname -r)")"
	printf '  "versions": {"vnet": %s, "libibverbs": %s, "perftest": %s, "ucx": %s},\n' \
		"$(json_string "$(version_of_vnet "$SOURCE")")" \
		"$(json_string "$(version_of_package libibverbs1)")" \
		"$(json_string "$(version_of_perftest)")" "$(json_string "$(version_of_ucx)")"
	printf '  "rounds": %s, "server_cpu": %s, "client_cpu": %s,\n' \
		"$ROUNDS" "$SERVER_CPU" "$CLIENT_CPU"
	printf '  "load_before": %s, "waited_percent": %s, "stolen_percent": %s,\n' \
		"$LOAD" "$WAITED" "$STOLEN"
	if [[ -n $PEERS_ONLY ]]; then
		printf '  "peers": %s\n}\n' "$(json_list json_divisor "${KEYS[@]}")"
	else
		printf '  "figures": %s\n}\n' "$(json_list json_figure "${FIGURES[@]}")"
	fi
}
