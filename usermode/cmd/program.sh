# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Checks whether a library can be preloaded into a program. The dynamic loader silently ignores
# LD_PRELOAD for programs that run with more rights than their caller, and a static program has no
# loader. vnet prints the reason before it starts the program.

# Sets elf_words to the 32-bit words of the beginning of a little-endian ELF file, and elf_kind to
# its "class machine". Fails for any other file. Starts one process only, which keeps vnet run fast.
read_elf_header() {	# FILE BYTES
	lines_of elf_words od -An -v -tu4 -w4 "-N$2" -- "$1" 2>/dev/null
	# Magic (0x7f, E, L, F); EI_DATA is 1 for little-endian.
	[[ ${#elf_words[@]} -ge 13 && ${elf_words[0]// /} == 1179403647 ]] || return 1
	(((elf_words[1] >> 8 & 255) == 1)) || return 1
	elf_kind="$((elf_words[1] & 255)) $((elf_words[4] >> 16))"
}

# Sets elf_path to the string at an offset of an ELF file.
read_elf_path() {	# FILE OFFSET SIZE
	local i byte escaped=''

	if (($2 + $3 > 4 * ${#elf_words[@]})); then
		elf_path=$(tail -c "+$(($2 + 1))" -- "$1" | head -c "$(($3 - 1))")
		return
	fi
	for ((i = $2; i < $2 + $3 - 1; i++)); do
		printf -v byte '\\x%02x' "$((elf_words[i / 4] >> 8 * (i % 4) & 255))"
		escaped+=$byte
	done
	printf -v elf_path '%b' "$escaped"
}

# Sets elf_kind, elf_static, and elf_interpreter (the dynamic loader) of an ELF file; fails for any
# other file.
read_elf() {	# FILE
	local file=$1 head=4096 first size number i elf_words elf_path

	read_elf_header "$file" "$head" || return
	elf_static=yes
	elf_interpreter=
	# The program headers: index of the first one, size in words, number.
	if [[ $elf_kind == 1\ * ]]; then
		first=$((elf_words[7] / 4)) size=$((elf_words[10] >> 18)) number=$((elf_words[11] & 65535))
	else
		first=$((elf_words[8] / 4)) size=$((elf_words[13] >> 18)) number=$((elf_words[14] & 65535))
	fi
	if ((4 * (first + size * number) > head)); then
		read_elf_header "$file" "$((4 * (first + size * number)))" || return
	fi
	# A header of type PT_INTERP (3) names the loader.
	for ((i = first; i < first + size * number && i + 8 < ${#elf_words[@]}; i += size)); do
		((size >= 8 && elf_words[i] == 3)) || continue
		elf_static=no
		if [[ $elf_kind == 1\ * ]]; then
			read_elf_path "$file" "${elf_words[i + 1]}" "${elf_words[i + 4]}"
		else
			read_elf_path "$file" "${elf_words[i + 2]}" "${elf_words[i + 8]}"
		fi
		elf_interpreter=$elf_path
	done
}

# Sets interpreter to that of a script; for "#!/usr/bin/env program", to the program.
script_interpreter() {	# FILE
	local line='' words word

	# read ignores NUL bytes.
	[[ -r $1 ]] && IFS= read -r -n 256 line <"$1"
	[[ $line == '#!'* ]] || return 1
	read -r -a words <<<"${line#'#!'}"
	[[ ${#words[@]} -gt 0 ]] || return 1
	interpreter=${words[0]}
	[[ ${interpreter##*/} == env ]] || return 0
	for word in "${words[@]:1}"; do
		[[ $word == -* || $word == *=* ]] && continue
		interpreter=$(type -P -- "$word")
		return
	done
	return 1
}

# Sets how to the way in which a program gets more rights than its caller, if it does.
raises_rights() {	# FILE
	how=
	if [[ -u $1 && ! -O $1 ]]; then
		how="set-user-id"
	elif [[ -g $1 && ! -G $1 ]]; then
		how="set-group-id"
	elif [[ $EUID != 0 && -n $(PATH=$PATH:/usr/sbin:/sbin getcap -- "$1" 2>/dev/null) ]]; then
		how="file capabilities"
	fi
}

# Ends vnet with the reason and a remedy if nothing can be preloaded into PROGRAM.
check_program() {	# PROGRAM (a path) PRELOAD
	local program=$1 preload=$2 interpreter how elf_kind elf_static elf_interpreter elf_words kind

	# The kernel follows at most four interpreters.
	for _ in 1 2 3 4; do
		script_interpreter "$program" || break
		program=$interpreter
	done

	raises_rights "$program"
	if [[ -n $how ]]; then
		die "$EXIT_CANNOT_RUN" "$program cannot see vnet's devices: it has $how," \
			"and the loader preloads nothing into a program with more rights than its caller." \
			"If it starts another program (sudo, su), put vnet inside: ${program##*/} vnet run CMD" \
			"Else run a plain copy of it: cp ${program@Q} . && vnet run ./${program##*/}"
	fi

	[[ -r $program ]] && read_elf_header "$preload" 64 || return 0
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
