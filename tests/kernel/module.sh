# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds kernel modules outside of the source tree. Needs VNET_SRC, tree.sh and images.sh.

# Prints the folder of a kernel's headers.
kernel_headers() {	# VERSION
	local directory

	for directory in "/lib/modules/$1/build" "/usr/src/linux-headers-$1" \
		"$VNET_SRC/build/kernel/image-$1/build" "$(kernel_cache)/image-$1/build"; do
		[[ -e $directory/Makefile && -e $directory/.config ]] || continue
		echo "$directory"
		return
	done
	return 1
}

# Kbuild puts objects beside their sources, so it gets a tree of links to the sources.
link_sources() {	# TREE FOLDER
	local folder file

	for folder in abi firmware $(cd "$VNET_SRC" && printf '%s\n' firmware/*/ "$2"/*/) "$2"; do
		folder=${folder%/}
		[[ -d $VNET_SRC/$folder ]] || continue
		mkdir -p -- "$1/$folder" || return
		for file in "$VNET_SRC/$folder"/*; do
			case ${file##*/} in
			*.[chS] | Kbuild | Makefile)
				[[ $1/$folder/${file##*/} -ef $file ]] || ln -sfn -- "$file" "$1/$folder/" || return
				;;
			esac
		done
		find "$1/$folder" -maxdepth 1 -xtype l -delete
	done
}

make_module() {	# TREE FOLDER HEADERS [VARIABLE=VALUE...]
	link_sources "$1" "$2" &&
		make -j "$(nproc)" -C "$3" M="$1/$2" "${@:4}" modules >"$1/log" 2>&1
}

# Builds the module of a folder of the source tree for the kernel VERSION, and sets MODULE to
# its file. Under a lock, so that a second caller finds it built.
build_module() {	# FOLDER VERSION
	local folder=${1%/} headers tree lock status

	[[ -e $VNET_SRC/$folder/Kbuild || -e $VNET_SRC/$folder/Makefile ]] ||
		{ warn "there is no module in $folder"; return 1; }
	headers=$(kernel_headers "$2") || { warn "no headers of the kernel $2 are here"; return 1; }
	tree=$(kernel_cache)/build-$2/${folder//\//-}
	mkdir -p -- "$tree" || return
	exec {lock}>"$tree/.lock" || return
	flock "$lock"
	make_module "$tree" "$folder" "$headers"
	status=$?
	exec {lock}>&-
	if [[ $status != 0 ]]; then
		grep -E -A 8 'error|warning|Error' "$tree/log" >&2 || tail -n 20 "$tree/log" >&2
		warn "$folder could not be built for $2; all that make said is in $tree/log"
		return 1
	fi
	for MODULE in "$tree/$folder"/*.ko; do
		[[ -e $MODULE ]] && return
	done
	warn "$folder makes no module"
	return 1
}
