# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The figures of a benchmark, the divisors that they are compared with, and their results by round.
# Needs say.sh and lib.sh. The caller defines the array ROUND and the function measure.
# shellcheck disable=SC2034,SC2153,SC2154

declare -a FIGURES
declare -A LABEL UNIT DIVISOR RELATION LIMIT GOAL

figure() {	# KEY LABEL UNIT DIVISOR at_most|at_least LIMIT GOAL
	FIGURES+=("$1")
	LABEL[$1]=$2 UNIT[$1]=$3 DIVISOR[$1]=$4 RELATION[$1]=$5 LIMIT[$1]=$6 GOAL[$1]=$7
}

divisor() {	# KEY LABEL UNIT
	LABEL[$1]=$2 UNIT[$1]=$3
}

declare -A RUNS=() FAILURES=()	# of each figure and divisor: numbers; reasons, a line each

record() {	# KEY NUMBER
	if [[ -z $2 ]]; then
		record_failure "$1" "its output holds no result"
	else
		RUNS[$1]+="$2 "
	fi
}

record_failure() {	# KEY REASON
	FAILURES[$1]+="$2"$'\n'
	progress_end
	say "${LABEL[$1]}: failed: $2"
}

runs_of() {	# KEY: a number a line
	tr ' ' '\n' <<<"${RUNS[$1]-}" | grep .
}

failures_of() {	# KEY: a reason a line
	grep . <<<"${FAILURES[$1]-}"
}

median_of() {	# KEY
	local runs

	mapfile -t runs < <(runs_of "$1")
	((${#runs[@]} == 0)) || median "${runs[@]}"
}

measure_rounds() {
	local round entry

	for ((round = 1; round <= ROUNDS; round++)); do
		for entry in "${ROUND[@]}"; do
			progress "round $round of $ROUNDS: ${LABEL[$entry]-$entry}"
			measure "$entry"
		done
	done
	progress_end
}

clean_up() {
	stop_server
	rm -rf -- "$TMP"
}
