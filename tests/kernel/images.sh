# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds and fetches kernels for guests, and makes their initramfs. Sourced by tests/kernel/run
# and by the vnet command; needs VNET_SRC, tree.sh and say.sh.
#
# An image is a directory with the contents of one of Debian's packages linux-image-VERSION:
# boot/vmlinuz-VERSION and lib/modules/VERSION. The host itself is one, if such a package is
# installed.

# Modules that a guest needs to reach the host's files and the channels.
KERNEL_BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_console)

# Images and initramfs are kept with the builds.
kernel_cache() {
	local root

	root=$(tree_root) || return
	mkdir -p -- "$root/kernel" || return
	echo "$root/kernel"
}

# Prints "VERSION DIRECTORY" of each usable image, newest last. All users may use those of the
# clone's owner.
kernel_images() {
	local directory vmlinuz version

	for directory in '' "$VNET_SRC"/build/kernel/image-* "$(kernel_cache)"/image-*; do
		for vmlinuz in "$directory"/boot/vmlinuz-*; do
			version=${vmlinuz##*/vmlinuz-}
			[[ -r $vmlinuz && -r $directory/lib/modules/$version/modules.dep ]] || continue
			echo "$version $directory"
		done
	done | sort -u | sort -s -V -k 1,1
}

# Sets KERNEL and KERNEL_IMAGE to the newest image that matches WANTED: a version like
# 6.1.0-56-amd64, the beginning of one like 6.1, or debug. If CONDITION is given, that command
# must succeed with the version as argument.
find_kernel() {	# WANTED [CONDITION]
	local version directory

	KERNEL='' KERNEL_IMAGE=''
	while read -r version directory; do
		case $version in
		"$1" | "$1"[.-]*) ;;
		*-vnet-"$1") ;;
		*) continue ;;
		esac
		[[ $version == *-vnet-debug && $1 != "$version" && $1 != debug ]] && continue
		"${2-true}" "$version" >/dev/null || continue
		KERNEL=$version KERNEL_IMAGE=$directory
	done < <(kernel_images)
	[[ -n $KERNEL ]]
}

# Unpacks the kernel's payload. QEMU starts it directly, which saves the guest the seconds of
# unpacking under emulation.
unpack_vmlinuz() {	# VMLINUZ FILE
	local setup offset length magic unpack

	setup=$(od -An -v -tu1 -j 497 -N 1 -- "$1")
	read -r offset length < <(od -An -v -tu4 -j 584 -N 8 -- "$1")
	offset=$(((setup + 1) * 512 + offset))
	magic=$(od -An -v -tx1 -j "$offset" -N 6 -- "$1")
	case $magic in
	" fd 37 7a 58 5a 00") unpack=xz ;;
	" 28 b5 2f fd"*) unpack=zstd ;;
	" 1f 8b"*) unpack=gzip ;;
	*) return 1 ;;
	esac
	# Four bytes with the size follow the payload; in gzip they are part of the format.
	[[ $unpack == gzip ]] || length=$((length - 4))
	head -c "$((offset + length))" -- "$1" | tail -c "+$((offset + 1))" | "$unpack" -dc >"$2" 2>/dev/null
}

# Makes FILE by COMMAND unless it exists. Safe if two run at once.
make_once() {	# FILE COMMAND...	(COMMAND gets a name to write to as last argument)
	local file=$1 part=$1.$BASHPID
	shift

	[[ -e $file ]] && return
	"$@" "$part" && mv -f -- "$part" "$file" && return
	rm -f -- "$part"
	return 1
}

# Prints the kernel for QEMU: the unpacked one, or vmlinuz.
kernel_to_boot() {
	local vmlinuz=$KERNEL_IMAGE/boot/vmlinuz-$KERNEL vmlinux key cache

	# Not the debug kernel: the entry code that QEMU uses then contains KASAN checks, which
	# cannot run so early.
	[[ $KERNEL != *-vnet-debug ]] || { echo "$vmlinuz"; return; }
	cache=$(kernel_cache) || return
	key=$(stat -c '%n %s %Y' -- "$vmlinuz" | cksum)
	vmlinux=$cache/vmlinux-$KERNEL-${key%% *}
	if make_once "$vmlinux" unpack_vmlinuz "$vmlinuz" 2>/dev/null; then
		echo "$vmlinux"
	else
		echo "$vmlinuz"
	fi
}

pack_initramfs() {	# FILE
	local directory file builtin=$KERNEL_IMAGE/lib/modules/$KERNEL/modules.builtin

	directory=$(mktemp -d) || return
	mkdir -p "$directory"/{bin,dev,proc,sys,host,layers,new,modules}
	cp -- "$(PATH=$PATH:/bin command -v busybox)" "$directory/bin/busybox"
	cp -- "$VNET_SRC/tests/kernel/initramfs-init" "$directory/init"
	chmod 755 "$directory/init" "$directory/bin/busybox"
	PATH=$PATH:/usr/sbin:/sbin modprobe -d "$KERNEL_IMAGE/" -S "$KERNEL" -a --show-depends \
		"${KERNEL_BOOT_MODULES[@]}" | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
		while IFS= read -r file; do
			cp -- "$file" "$directory/modules" && echo "${file##*/}"
		done >"$directory/modules/order"
	[[ -s $directory/modules/order || -s $builtin ]] &&
		(cd "$directory" && find . | cpio --quiet -o -H newc -R 0:0) >"$1"
	set -- $?
	rm -rf -- "$directory"
	return "$1"
}

# Prints the initramfs for KERNEL, which is rebuilt if one of its parts has changed.
kernel_initramfs() {
	local key cache file

	cache=$(kernel_cache) || return
	key=$(stat -c '%n %s %Y' -- "$VNET_SRC/tests/kernel/initramfs-init" "$VNET_SRC/tests/kernel/images.sh" \
		"$(command -v busybox)" "$KERNEL_IMAGE/lib/modules/$KERNEL/modules.dep" | cksum)
	file=$cache/initramfs-$KERNEL-${key%% *}
	make_once "$file" pack_initramfs || return
	find "$cache" -maxdepth 1 -name 'initramfs-*' -mmin +60 ! -name "${file##*/}" -delete
	echo "$file"
}

# Prints the packages of image WANTED that apt knows, best first: those with installed headers,
# because modules are built against these.
kernel_packages() {	# WANTED
	local pattern="${1//[.+]/\\&}([.-][^ ]*)?-amd64"

	[[ $1 != *-amd64 ]] || pattern=${1//[.+]/\\&}
	{
		apt-cache search --names-only "^linux-image-$pattern\$" | awk '{ print $1 }'
		# Later in the list is better.
		dpkg-query -W -f '${db:Status-Status} ${Package}\n' "linux-headers-$1*-amd64" 2>/dev/null |
			awk '$1 == "installed" { sub("headers", "image", $2); print $2, 1 }'
	} | grep -E "^linux-image-$pattern( 1)?\$" | grep -vE -- '-(cloud|rt)-' |
		grep -E -- '-[0-9]+\.[0-9]+\.[0-9]+' | sort -V -r | sort -s -r -k 2,2 | awk '!seen[$1]++ { print $1 }'
}

# Downloads the image WANTED from Debian and unpacks it, without installing it.
fetch_kernel() {	# WANTED
	local cache directory package version

	cache=$(kernel_cache) || return
	directory=$(mktemp -d "$cache/fetch.XXXXXX") || return
	while read -r package; do
		(cd -- "$directory" && apt-get download "$package" >log 2>&1 </dev/null) && break
	done < <(kernel_packages "$1")
	if ! compgen -G "$directory/*.deb" >/dev/null; then
		[[ ! -e $directory/log ]] || tail -n 3 "$directory/log" >&2
		rm -rf -- "$directory"
		return 1
	fi
	version=${package#linux-image-}
	if dpkg -x "$directory"/*.deb "$directory/image" &&
		PATH=$PATH:/usr/sbin:/sbin depmod -b "$directory/image" "$version" &&
		chmod 755 "$directory/image" &&
		{ [[ -e $cache/image-$version ]] || mv -T -- "$directory/image" "$cache/image-$version"; }; then
		rm -rf -- "$directory"
		return 0
	fi
	rm -rf -- "$directory"
	return 1
}
