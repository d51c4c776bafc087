# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Can a library be preloaded into this program? The dynamic loader ignores
# LD_PRELOAD, without a word, for programs that run with more rights than their
# caller, and a static program has no loader. Better to say so beforehand.

# Sets elf_kind ("class machine"), elf_interpreter and elf_static of an ELF
# file; fails for anything else.
read_elf() {	# FILE
	local file=$1 b phoff phentsize phnum segments segment offset size

	lines_of b od -An -v -tu1 -w1 -N64 -- "$file" 2>/dev/null
	b=("${b[@]// /}")
	# Magic, and little-endian as every machine that this runs on.
	[[ "${b[*]:0:4}" == "127 69 76 70" && ${b[5]} == 1 && ${#b[@]} == 64 ]] || return 1
	elf_kind="${b[4]} $((b[18] + 256 * b[19]))"
	elf_static=yes
	elf_interpreter=
	if [[ ${b[4]} == 1 ]]; then
		phoff=$((b[28] + (b[29] << 8) + (b[30] << 16) + (b[31] << 24)))
		phentsize=$((b[42] + 256 * b[43])) phnum=$((b[44] + 256 * b[45]))
	else
		phoff=$((b[32] + (b[33] << 8) + (b[34] << 16) + (b[35] << 24)))
		phentsize=$((b[54] + 256 * b[55])) phnum=$((b[56] + 256 * b[57]))
	fi
	[[ $phentsize -ge 32 && $phnum -gt 0 ]] || return 0

	# A PT_INTERP (3) segment names the loader.
	segments=$(od -An -v -tu4 "-w$phentsize" -j "$phoff" -N "$((phentsize * phnum))" -- "$file")
	while read -r -a segment; do
		[[ ${segment[0]} == 3 ]] || continue
		elf_static=no
		if [[ ${b[4]} == 1 ]]; then
			offset=${segment[1]} size=${segment[4]}
		else
			offset=${segment[2]} size=${segment[8]}
		fi
		elf_interpreter=$(tail -c "+$((offset + 1))" -- "$file" | head -c "$((size - 1))")
	done <<<"$segments"
}

# The interpreter of a script: the program of "#!/usr/bin/env program" too.
script_interpreter() {	# FILE
	local line words word

	line=$(head -c 256 -- "$1" 2>/dev/null | tr '\0' '\n')
	line=${line%%$'\n'*}
	[[ $line == '#!'* ]] || return 1
	read -r -a words <<<"${line#'#!'}"
	[[ ${#words[@]} -gt 0 ]] || return 1
	if [[ ${words[0]##*/} != env ]]; then
		echo "${words[0]}"
		return
	fi
	for word in "${words[@]:1}"; do
		[[ $word == -* || $word == *=* ]] && continue
		type -P -- "$word"
		return
	done
	return 1
}

raises_rights() {	# FILE; prints how
	if [[ -u $1 && ! -O $1 ]]; then
		echo "set-user-id"
	elif [[ -g $1 && ! -G $1 ]]; then
		echo "set-group-id"
	elif [[ $EUID != 0 && -n $(PATH=$PATH:/usr/sbin:/sbin getcap -- "$1" 2>/dev/null) ]]; then
		echo "file capabilities"
	fi
}

# Ends vnet with the reason and the remedy where PROGRAM cannot be preloaded.
check_program() {	# PROGRAM (a path) PRELOAD
	local program=$1 preload=$2 interpreter how elf_kind elf_static elf_interpreter kind

	# The kernel itself follows no more than four.
	for _ in 1 2 3 4; do
		interpreter=$(script_interpreter "$program") || break
		program=$interpreter
	done

	how=$(raises_rights "$program")
	if [[ -n $how ]]; then
		die "$EXIT_CANNOT_RUN" "$program cannot see vnet's devices: it has $how," \
			"and the loader preloads nothing into a program with more rights than its caller." \
			"If it starts another program (sudo, su), put vnet inside: ${program##*/} vnet run CMD" \
			"Else run a plain copy of it: cp ${program@Q} . && vnet run ./${program##*/}"
	fi

	[[ -r $program ]] && read_elf "$preload" || return 0
	kind=$elf_kind
	read_elf "$program" || return 0
	case ${program##*/} in
	ld.so | ld-linux* | ld-[0-9]*) return 0 ;;	# the loader itself, by name
	esac
	if [[ $elf_kind != "$kind" ]]; then
		die "$EXIT_CANNOT_RUN" "$program is for another machine or word size than vnet was built for," \
			"so vnet cannot be preloaded into it. Use a native build of it."
	fi
	if [[ $elf_static == yes ]]; then
		die "$EXIT_CANNOT_RUN" "$program is statically linked: there is no loader to preload vnet into it." \
			"Link it dynamically (without -static; for Go with CGO_ENABLED=1)."
	fi
	if [[ $elf_interpreter == *musl* ]]; then
		die "$EXIT_CANNOT_RUN" "$program runs on musl's C library, vnet was built for glibc." \
			"Build it, or vnet, for the same C library."
	fi
}
