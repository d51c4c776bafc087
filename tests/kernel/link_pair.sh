# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Set-up of the tests kernel.link-*: two devices in two network namespaces. They are joined by a
# bridge, and a third namespace is for a node of user mode. LINK_TEST is the name of the test.
#
#   [a: va 10.9.9.1] -- sw0 -- [b: vb 10.9.9.2]
#                        |
#                        +---- [c: user mode, 10.9.9.3]
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
PAIR_TIMEOUT=30
KEYS=/run/keys

die() {
	echo "$LINK_TEST: $*" >&2
	for space in a b; do
		ip netns exec "$space" rdma statistic show link "v$space/1" >&2
	done
	exit 1
}

# Not functions: the servers run in the background, and a function would run in a subshell.
# shellcheck disable=SC2034	# used by the tests
IN_A=(ip netns exec a) IN_B=(ip netns exec b) IN_C=(ip netns exec c)

# -u 18: a peer may not answer for seconds if the guest has only a part of a processor.
PERFTEST=(-x 1 -F -u 18)
GID=1

add_space() {	# NAME ADDRESS
	ip netns add "$1" && ip link add "e$1" type veth peer name "p$1" &&
		ip link set "e$1" netns "$1" && ip link set "p$1" master sw0 up &&
		ip netns exec "$1" ip address add "$2/24" dev "e$1" &&
		ip netns exec "$1" ip link set "e$1" up && ip netns exec "$1" ip link set lo up
}

has_gid_in() {	# NAME
	ip netns exec "$1" grep -q ':0a09:09' "/sys/class/infiniband/v$1/ports/1/gids/1" 2>/dev/null
}

# Prints the index of the GID that begins with TEXT.
gid_of() {	# NAME TEXT
	ip netns exec "$1" grep -l "^$2" -r "/sys/class/infiniband/v$1/ports/1/gids" 2>/dev/null |
		sed 's,.*/,,' | sort -n | sed -n 1p
}

has_gid_of() {	# NAME TEXT
	[[ -n $(gid_of "$1" "$2") ]]
}

add_link_device() {	# NAME
	ip netns exec "$1" rdma link add "v$1" type vnet netdev "e$1" && await 10 has_gid_in "$1"
}

make_network() {
	ip link add name sw0 type bridge && ip link set sw0 up && add_space a 10.9.9.1 &&
		add_space b 10.9.9.2 && add_space c 10.9.9.3 &&
		add_link_device a && add_link_device b
}

counter() {	# NAME COUNTER
	ip netns exec "$1" cat "/sys/class/infiniband/v$1/ports/1/hw_counters/$2"
}

set_key() {	# NAME FILE KEY
	ip netns exec "$1" dd bs=4096 status=none if="$KEYS/$3" of="/sys/class/infiniband/v$1/link/$2"
}

# Sets a key by "vnet kernel key".
vnet_key() {	# NAME ARGS...
	ip netns exec "$1" "$VNET" kernel key --device "v$1" "${@:2}"
}

figure() {	# PROGRAM: of its table, the last line
	awk -v program="$1" '/^ *[0-9]+ +[0-9]+ / { figure = program ~ /_lat$/ ? $5 " us" : $4 " MB/s" }
		END { if (figure) print program ": " figure }'
}

perftest() {	# PROGRAM OPTIONS...
	pair "${IN_A[@]}" "$@" -d va "${PERFTEST[@]}" -- "${IN_B[@]}" "$@" -d vb "${PERFTEST[@]}" 10.9.9.1 >/run/out ||
		{ cat /run/out; die "$* fails"; }
	figure "$1" </run/out
}

pingpong() {	# PROGRAM OPTIONS...
	pair "${IN_A[@]}" "$@" -d va -g "$GID" -- "${IN_B[@]}" "$@" -d vb -g "$GID" 10.9.9.1 >/run/out ||
		{ cat /run/out; die "$* fails"; }
}

refused() {	# WHY NAME COUNTER
	local before

	before=$(counter "$2" "$3")
	pair "${IN_A[@]}" ibv_rc_pingpong -n 10 -d va -g 1 -- "${IN_B[@]}" ibv_rc_pingpong -n 10 -d vb -g 1 10.9.9.1 \
		>/run/out 2>&1 && die "frames pass, $1"
	(($(counter "$2" "$3") > before)) || { cat /run/out; die "nobody counts frames, $1"; }
}

timed() {	# COMMAND...
	local start=$SECONDS

	"$@"
	echo "# $*: $((SECONDS - start)) s"
}

# The devices, without keys, and the files of three keys.
begin_link() {
	local key

	load_modules || die "no module"
	mkdir -m 700 "$KEYS"
	for key in one other two; do
		printf 'a key of the test, which is called %s\n' "$key" >"$KEYS/$key"
	done
	chmod 600 "$KEYS"/*
	make_network || die "no network"
}

# The devices, with one key.
begin_link_with_key() {
	begin_link
	{ set_key a use_key two && set_key b use_key two; } || die "no key can be set"
}
