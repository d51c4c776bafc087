# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs a server and its client as a measurement, and reads numbers from their output. A function
# that fails returns 1 and sets REASON.

# shellcheck source=bench/ports.sh
. "${BASH_SOURCE%/*}/ports.sh"

REASON=''
SERVER_PID=''		# of the server that runs now, if any
TIME_LIMIT=120		# seconds that any one run may take
LISTEN_LIMIT=20		# seconds until its server listens

fail() {
	REASON=$*
	return 1
}

# Whether the server listens at PORT, or has printed WORDS to FILE.
is_ready() {	# PORT|WORDS FILE
	if [[ $1 =~ ^[0-9]+$ ]]; then
		listens "$1"
	else
		grep -qsF -- "$1" "$2"
	fi
}

await_listener() {	# PORT|WORDS PID FILE
	local end=$((SECONDS + LISTEN_LIMIT))

	until is_ready "$1" "$3"; do
		kill -0 "$2" 2>/dev/null || { fail "the server ended before it listened"; return; }
		((SECONDS < end)) || { fail "the server does not listen after $LISTEN_LIMIT s"; return; }
		sleep 0.01
	done
}

stop_server() {
	[[ -n $SERVER_PID ]] || return 0
	kill "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID" 2>/dev/null
	SERVER_PID=''
}

# Prints the last line of a failed program's output that is not empty.
last_words() {	# FILE
	awk 'NF { line = $0 } END { if (line) print ": " line }' "$1"
}

outcome() {	# STATUS FILE
	case $1 in
	124 | 137) echo "not done after $TIME_LIMIT s$(last_words "$2")" ;;
	*) echo "status $1$(last_words "$2")" ;;
	esac
}

# run_one OUT COMMAND...: runs the command with a time limit; its output goes to OUT.
run_one() {
	local out=$1 status
	shift

	timeout -k 5 "$TIME_LIMIT" "$@" >"$out" 2>&1 </dev/null
	status=$?
	((status == 0)) || fail "$(outcome "$status" "$out")"
}

# run_pair PORT|WORDS OUT SERVER... -- CLIENT...: starts the server, waits until it listens at PORT
# or prints WORDS, runs the client, and waits until the server ends by itself. Their outputs go to
# OUT.server and OUT.client.
run_pair() {
	local port=$1 out=$2 server=() status
	shift 2

	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift

	timeout -k 5 "$TIME_LIMIT" "${server[@]}" >"$out.server" 2>&1 </dev/null &
	SERVER_PID=$!
	if ! await_listener "$port" "$SERVER_PID" "$out.server"; then
		stop_server
		fail "$REASON$(last_words "$out.server")"
		return
	fi
	if ! run_one "$out.client" "$@"; then
		stop_server
		fail "client: $REASON"
		return
	fi
	wait "$SERVER_PID"
	status=$?
	SERVER_PID=''
	((status == 0)) || fail "server: $(outcome "$status" "$out.server")"
}

# csv_column and perftest_column print the number in a column of a table, or nothing if there is
# none. perftest_column needs only the beginning of the column's name, because the names differ:
# "BW_average[MB/sec]" in some versions and "BW_average[MiB/sec]" in others, and MiB in both.
csv_column() {	# FILE COLUMN
	awk -F, -v column="$2" '
		at && $at ~ /^[0-9.]+$/ { print $at; exit }
		{ for (i = 1; i <= NF; i++) if ($i == column) at = i }' "$1"
}

perftest_column() {	# FILE COLUMN SIZE
	awk -v column="$2" -v size="$3" '
		/#bytes/ { gsub(/BW +/, "BW_"); for (i = 1; i <= NF; i++) if (index($i, column) == 1) at = i; next }
		at && $1 == size && $at ~ /^[0-9.]+$/ { print $at; exit }' "$1"
}

# Prints the value in a line "name value", as the programs of this folder print it.
named_value() {	# FILE NAME
	awk -v name="$2" '$1 == name && $2 ~ /^[0-9.]+$/ { print $2; exit }' "$1"
}

median() {	# NUMBER...
	printf '%s\n' "$@" | sort -g | awk '
		{ v[NR] = $1 }
		END { if (NR) printf "%.6g\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

json_string() {	# TEXT
	local s=${1//\\/\\\\}

	s=${s//\"/\\\"}
	printf '"%s"' "${s//[[:cntrl:]]/ }"
}

json_list() {	# FORMATTER VALUE...
	local format=$1 separator='' value
	shift

	printf '['
	for value in "$@"; do
		printf '%s%s' "$separator" "$("$format" "$value")"
		separator=', '
	done
	printf ']'
}
