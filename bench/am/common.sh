# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Common code of the benchmarks of layers over verbs: options, runs of two processes, report, plots.
# The caller sets TITLE and DEFAULT_MAPPINGS. It also sets LAYER, LAYER_SETTINGS and MAPPING_PATTERN
# if the layer is not Active Messages, or NO_LAYER if it measures only verbs. It defines
# usage_text, plan, measure, print_result, json_result and plots.
# shellcheck disable=SC2034,SC2154

export LC_ALL=C

BENCH=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
SOURCE=${VNET_SOURCE_DIR:-${BENCH%/*}}
VNET=${VNET:-$SOURCE/vnet}
BIN=${VNET_TREE:-$SOURCE/build/release}/bin

# shellcheck source=usermode/cmd/say.sh
. "$SOURCE/usermode/cmd/say.sh"
# shellcheck source=bench/lib.sh
. "$BENCH/lib.sh"
# shellcheck source=bench/figures.sh
. "$BENCH/figures.sh"
# shellcheck source=bench/machine.sh
. "$BENCH/machine.sh"
# shellcheck source=bench/report.sh
. "$BENCH/report.sh"

LAYER=${LAYER:-Active Messages}
LAYER_SETTINGS=${LAYER_SETTINGS:-AM_SETTINGS}	# the environment variable with its settings
MAPPING_PATTERN=${MAPPING_PATTERN:-v[1-4]}
ROUNDS=${DEFAULT_ROUNDS:-5}
ITERS=''
CPUS=''
JSON=''
PLOTS=''
CREDITS=8
DEVICES=()
MAPPINGS=()
PEERS_ONLY=''
BUILT=(raw_logp am_logp)	# programs of the build that the benchmark needs
FIGURES=()
KEYS=()
ROUND=()

usage_options() {
	printf '  --device NAME[,...]   the verbs devices (default: vnet0)\n'
	[[ -n ${NO_LAYER-} ]] || cat <<EOF
  --mapping NAME[,...]  the mappings of $LAYER (default: ${DEFAULT_MAPPINGS//,/, })
  --compare A,B         two devices, or two mappings, in one run
  --credits N           requests that may be outstanding (default: $CREDITS)
EOF
	cat <<EOF
  --runs N              rounds; each figure is the median of its rounds (default: $ROUNDS)
  --iters N             operations of each measurement, or bytes of a stream
                        (default: each program's own)
  --cpus A,B            CPUs of server and client (default: the first two cores)
  --json                print JSON: every run of every figure
  --plot DIRECTORY      write the curves' data there, and plots as SVG and PNG
  --help                show this text
EOF
	[[ -n ${NO_LAYER-} ]] || printf '\nFurther settings of %s are taken from %s.\n' "$LAYER" "$LAYER_SETTINGS"
}

# ------------------------------------------------------------------ the options

add_names() {	# DEVICES|MAPPINGS LIST
	local -n names=$1
	local pattern='^[A-Za-z0-9_.-]{1,63}$' name list

	[[ $1 == DEVICES ]] || pattern="^($MAPPING_PATTERN)\$"
	IFS=, read -r -a list <<<"$2"
	for name in "${list[@]}"; do
		[[ $name =~ $pattern ]] || die_usage "'$name' is not the name of one (try --help)"
		names+=("$name")
	done
}

# Adds two mappings if both names are mappings, otherwise two devices.
add_compared() {	# A,B
	[[ $1 =~ ^[^,]+,[^,]+$ ]] || die_usage "--compare wants two names, A,B, not '$1'"
	if [[ $1 =~ ^($MAPPING_PATTERN),($MAPPING_PATTERN)$ ]]; then
		MAPPINGS=()
		add_names MAPPINGS "$1"
	else
		DEVICES=()
		add_names DEVICES "$1"
	fi
}

take_option() {	# NAME VALUE
	case ${NO_LAYER:+bare}$1 in
	bare--mapping | bare--compare | bare--credits) die_usage "what is '$1'? (try --help)" ;;
	esac
	case $1 in
	--device) add_names DEVICES "$2" ;;
	--mapping) add_names MAPPINGS "$2" ;;
	--compare) add_compared "$2" ;;
	--credits) CREDITS=$2 ;;
	--runs) ROUNDS=$2 ;;
	--iters) ITERS=$2 ;;
	--cpus) CPUS=$2 ;;
	--plot) PLOTS=$2 ;;
	*) die_usage "what is '$1'? (try --help)" ;;
	esac
}

check_options() {
	[[ $ROUNDS =~ ^[1-9][0-9]{0,3}$ ]] || die_usage "--runs wants a number from 1, not '$ROUNDS'"
	[[ $ITERS =~ ^([1-9][0-9]{0,8})?$ ]] || die_usage "--iters wants a number from 1, not '$ITERS'"
	[[ $CREDITS =~ ^[1-9][0-9]?$ && $CREDITS -le 64 ]] ||
		die_usage "--credits wants a number from 1 to 64, not '$CREDITS'"
	((${#DEVICES[@]})) || DEVICES=(vnet0)
	((${#MAPPINGS[@]})) || [[ -n ${NO_LAYER-} ]] || add_names MAPPINGS "$DEFAULT_MAPPINGS"
	CPUS=${CPUS:-$(two_cpus)}
	[[ -n $CPUS ]] || die_usage "server and client need a CPU each, and there is only one"
	[[ $CPUS =~ ^[0-9]+,[0-9]+$ ]] || die_usage "--cpus wants two numbers, A,B, not '$CPUS'"
	SERVER_CPU=${CPUS%,*} CLIENT_CPU=${CPUS#*,}
	choose_device_options
}

parse_options() {
	while (($#)); do
		case $1 in
		--json) JSON=1 ;;
		--help | -h) usage_text; exit 0 ;;
		--*=*) take_option "${1%%=*}" "${1#*=}" ;;
		--*)
			(($# > 1)) || die_usage "what is '$1', or its value? (try --help)"
			take_option "$1" "$2"
			shift
			;;
		*) die_usage "what is '$1'? (try --help)" ;;
		esac
		shift
	done
	check_options
}

# --------------------------------------------------------------------- running

# Sets DEVICE_OPTIONS to the options of vnet run that make all devices present. A name of one of the
# machine's own devices means that device; the others are emulated by one daemon.
choose_device_options() {
	local device emulated=''

	DEVICE_OPTIONS=()
	for device in "${DEVICES[@]}"; do
		if [[ -e /sys/class/infiniband/$device ]]; then
			DEVICE_OPTIONS=(--with-host-devices)
		else
			emulated+=${emulated:+,}$device
		fi
	done
	[[ -z $emulated ]] || DEVICE_OPTIONS+=(--device "$emulated")
}

# run_job OUT PROGRAM ARGUMENT...: runs two processes, each on its own CPU; rank 0 is the client.
run_job() {
	local out=$1 program=$2
	shift 2

	run_one "$out" "$VNET" run "${DEVICE_OPTIONS[@]}" -n 2 "$BIN/$program" \
		--cpus "$CLIENT_CPU,$SERVER_CPU" ${ITERS:+--iters "$ITERS"} "$@"
}

# run_two OUT DEVICE MAPPING PROGRAM ARGUMENT...: runs a program of bench/am.
run_two() {
	local out=$1 device=$2 mapping=$3 program=$4
	shift 4

	AM_SETTINGS=${AM_SETTINGS:+$AM_SETTINGS,}${mapping:+mapping=$mapping} \
		run_job "$out" "$program" --device "$device" "$@"
}

# named_value() for values that may be negative.
signed_value() {	# FILE NAME
	awk -v name="$2" '$1 == name && $2 ~ /^-?[0-9.]+$/ { print $2; exit }' "$1" 2>/dev/null
}

add_key() {	# KEY LABEL UNIT
	KEYS+=("$1")
	divisor "$@"
}

# Runs a perftest program and records a column of its output, times FACTOR.
measure_perftest() {	# KEY DEVICE PROGRAM SIZE COLUMN FACTOR [OPTION...]
	local key=$1 device=$2 program=$3 size=$4 column=$5 factor=$6 run value
	shift 6

	run=("$VNET" run "${DEVICE_OPTIONS[@]}" taskset -c)
	set -- "$program" -d "$device" -F -s "$size" "$@"
	if ! { choose_port && run_pair "$PORT" "$TMP/$key" \
		"${run[@]}" "$SERVER_CPU" "$@" -p "$PORT" -- \
		"${run[@]}" "$CLIENT_CPU" "$@" -p "$PORT" 127.0.0.1; }; then
		record_failure "$key" "$REASON"
		return
	fi
	value=$(perftest_column "$TMP/$key.client" "$column" "$size")
	record "$key" "${value:+$(awk -v v="$value" -v f="$factor" 'BEGIN { print v * f }')}"
}

# Records the latency of UCX's active messages over shared memory, in ns.
measure_ucx_am() {	# KEY
	local ucx=(env 'UCX_TLS=posix,self' ucx_perftest -f -v) value

	if ! { choose_port && run_pair "$PORT" "$TMP/$1" \
		taskset -c "$SERVER_CPU" "${ucx[@]}" -p "$PORT" -- \
		taskset -c "$CLIENT_CPU" "${ucx[@]}" -p "$PORT" -t ucp_am_lat -s 8 -n 500000 127.0.0.1; }; then
		record_failure "$1" "$REASON"
		return
	fi
	value=$(csv_column "$TMP/$1.client" 50.0_percentile_lat)
	record "$1" "${value:+$(awk -v v="$value" 'BEGIN { print v * 1000 }')}"
}

# ------------------------------------------------------------------- the report

print_frame() {
	printf '%s%s%s\n' "$BOLD" "$TITLE" "$PLAIN"
	print_machine
	if [[ -n ${NO_LAYER-} ]]; then
		printf 'devices: %s\n' "${DEVICES[*]}"
	else
		printf 'devices: %s; mappings: %s; credits: %s; other settings: %s\n' \
			"${DEVICES[*]}" "${MAPPINGS[*]}" "$CREDITS" "${!LAYER_SETTINGS:-none}"
	fi
	printf 'seeds:   none, nothing is drawn by lot\n\n'
}

# Prints the figures that have limits.
print_limits() {
	local key

	((${#FIGURES[@]})) || return 0
	printf '\n%s%-20s %8s %-5s %8s %-37s %6s  %-8s %-8s %s%s\n' "$BOLD" figure ours '' \
		peer '' ratio limit goal verdict "$PLAIN"
	for key in "${FIGURES[@]}"; do
		print_figure "$key"
	done
}

json_frame() {
	printf '{\n  "title": %s,\n' "$(json_string "$TITLE")"
	printf '  "machine": {"cpus": %s, "cpu": %s, "kernel": %s},\n' \
		"$(nproc)" "$(json_string "$(cpu_model)")" "$(json_string "$(uname -r)")"
	printf '  "versions": {"vnet": %s, "libibverbs": %s, "perftest": %s, "ucx": %s},\n' \
		"$(json_string "$(version_of_vnet "$SOURCE")")" \
		"$(json_string "$(version_of_package libibverbs1)")" \
		"$(json_string "$(version_of_perftest)")" "$(json_string "$(version_of_ucx)")"
	printf '  "devices": %s, "mappings": %s, "credits": %s, "seeds": [],\n' \
		"$(json_list json_string "${DEVICES[@]}")" \
		"$(json_list json_string "${MAPPINGS[@]}")" "$CREDITS"
	printf '  "settings": %s,\n' "$(json_string "${!LAYER_SETTINGS-}")"
	printf '  "rounds": %s, "server_cpu": %s, "client_cpu": %s,\n' \
		"$ROUNDS" "$SERVER_CPU" "$CLIENT_CPU"
	printf '  "load_before": %s, "waited_percent": %s, "stolen_percent": %s,\n' \
		"$LOAD" "$WAITED" "$STOLEN"
}

json_key() {	# KEY
	printf '\n    {"key": %s, %s}' "$(json_string "$1")" "$(json_runs "$1")"
}

print_all_json() {
	json_frame
	printf '  "measured": %s,\n' "$(json_list json_key "${KEYS[@]}")"
	printf '  "figures": %s,\n' "$(json_list json_figure "${FIGURES[@]}")"
	json_result
	printf '}\n'
}

everything_measured() {
	((${#FAILURES[@]} == 0)) && { ((${#FIGURES[@]} == 0)) || all_well; }
}

# ------------------------------------------------------------------------ plots

# Writes NAME.gp from stdin and runs it for each format. The curves' data are in the same folder.
plot() {	# NAME
	local script="$PLOTS/$1.gp" format

	cat >"$script"
	command -v gnuplot >/dev/null || { say "no gnuplot: $script waits for one"; return; }
	for format in svg png; do
		(cd -- "$PLOTS" && gnuplot -e "set terminal $format size 900,600 background 'white'" \
			-e "set output '$1.$format'" "$1.gp") || say "gnuplot failed at $script"
	done
}

# -------------------------------------------------------------------------- main

need_programs() {	# COMMAND...
	local program missing=()

	for program in "$@"; do
		command -v "$program" >/dev/null || missing+=("$program")
	done
	((${#missing[@]} == 0)) ||
		die "$EXIT_VNET" "not installed: ${missing[*]} (Debian packages: perftest, ucx-utils, util-linux)"
	for program in "${BUILT[@]}"; do
		[[ -x $BIN/$program ]] ||
			die "$EXIT_VNET" "not built: $BIN/$program (\"vnet bench\" builds what is missing)"
	done
}

report() {
	if [[ -n $JSON ]]; then
		print_all_json
	else
		print_frame
		print_result
		print_limits
		print_failures
	fi
	[[ -z $PLOTS ]] || plots
}

run_bench() {
	local stolen waited

	TMP=$(mktemp -d) || die "$EXIT_VNET" "no temporary directory can be made"
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	[[ -z $PLOTS ]] || mkdir -p -- "$PLOTS" || exit "$EXIT_VNET"

	LOAD=$(load)
	plan
	# The first run may build vnet and start the daemon, so it is not measured.
	run_one "$TMP/first" "$VNET" run "${DEVICE_OPTIONS[@]}" ibv_devinfo || say "vnet run ibv_devinfo: $REASON"
	stolen=$(stolen_ticks) waited=$(waited_usec)
	measure_rounds
	STOLEN=$(percent_since "$stolen" "$(stolen_ticks)")
	WAITED=$(percent_since "$waited" "$(waited_usec)")

	report
	everything_measured
}
