# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds and installs missing Debian packages; packages.txt lists them with reasons.
# shellcheck source=usermode/cmd/lines.sh
. "$VNET_SRC/usermode/cmd/lines.sh"

have_package() {	# NAME COMMAND
	if [[ $2 != - ]]; then
		PATH=$PATH:/usr/sbin:/sbin command -v "$2" >/dev/null && return 0
	fi
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Prints the packages of the given groups that are missing.
missing_packages() {	# GROUP...
	local name group command arch rest

	if ! command -v dpkg-query >/dev/null; then
		return 0	# not Debian: the build itself will say what it misses
	fi
	arch=$(dpkg --print-architecture)
	while IFS='|' read -r name group command rest; do
		read -r name <<<"${name//@ARCH@/$arch}"
		read -r group <<<"$group"
		read -r command <<<"$command"
		[[ -n $name && $name != \#* && " $* " == *" $group "* ]] || continue
		have_package "$name" "$command" || echo "$name"
	done <"$VNET_SRC/packages.txt"
}

install_packages() {	# NAME...
	local log

	log=$(mktemp) || die "$EXIT_VNET" "no temporary file can be made"
	say "installing $*"
	if ! { apt-get update &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
		>"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "$EXIT_VNET" "these packages could not be installed: $*"
	fi
	rm -f "$log"
}

# Ends vnet if packages of the groups are missing, and names them. With "install", root installs
# them instead; only commands whose help says so use it (demo, test, ...).
need_packages() {	# install|tell GROUP...
	local how=$1 missing
	shift

	lines_of missing missing_packages "$@"
	[[ ${#missing[@]} -gt 0 ]] || return 0
	if [[ $how == install && $EUID == 0 ]] && command -v apt-get >/dev/null; then
		install_packages "${missing[@]}"
		return
	fi
	die "$EXIT_VNET" "these Debian packages are missing: ${missing[*]}" \
		"as root: apt-get install ${missing[*]}"
}
