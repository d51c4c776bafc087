# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: nvme-rdma with nvmet-rdma over vnet0. A file system and fio read back what they
# wrote. The disk is disconnected under load, and its RDMA device is deleted under load.
. "$VNET_SOURCE_DIR/tests/kernel/guest.sh"
set_up
ADDRESS=192.168.77.1
TARGET=/sys/kernel/config/nvmet
HOST=00000000-0000-0000-0000-000000000001
SECONDS_OF_LOAD=0.5
[[ -z ${VNET_SOAK-} ]] || SECONDS_OF_LOAD=20

die() {
	echo "nvme: $*" >&2
	rdma resource show >&2
	ls /dev/nvme* /sys/block >&2
	grep -H . /sys/class/nvme/nvme*/state >&2
	exit 1
}

if ! modprobe -a nvmet-rdma nvme-rdma loop ext4 2>/dev/null || ! command -v fio mkfs.ext4 >/dev/null; then
	echo "SKIP: no nvme-rdma in this kernel, or no fio or mkfs.ext4"
	exit 77
fi

make_target() {
	local loop

	truncate -s 128M /dev/shm/disk && loop=$(losetup -f --show /dev/shm/disk) &&
		mount -t configfs none /sys/kernel/config || return
	mkdir "$TARGET/subsystems/vnet" "$TARGET/subsystems/vnet/namespaces/1" "$TARGET/ports/1" &&
		echo 1 >"$TARGET/subsystems/vnet/attr_allow_any_host" &&
		echo "$loop" >"$TARGET/subsystems/vnet/namespaces/1/device_path" &&
		echo 1 >"$TARGET/subsystems/vnet/namespaces/1/enable"
}

listen() {
	local port=$TARGET/ports/1

	echo rdma >"$port/addr_trtype" && echo ipv4 >"$port/addr_adrfam" &&
		echo "$ADDRESS" >"$port/addr_traddr" && echo 4420 >"$port/addr_trsvcid" &&
		ln -s "$TARGET/subsystems/vnet" "$port/subsystems/vnet"
}

end_target() {
	rm -f "$TARGET/ports/1/subsystems/vnet"
	rmdir "$TARGET/ports/1" "$TARGET/subsystems/vnet/namespaces/1" "$TARGET/subsystems/vnet"
	losetup -D
	modprobe -r nvmet-rdma nvme-rdma
}

connect() {
	echo "transport=rdma,traddr=$ADDRESS,trsvcid=4420,nqn=vnet,hostid=$HOST,queue_size=32,\
hostnqn=nqn.2014-08.org.nvmexpress:uuid:$HOST,ctrl_loss_tmo=0,reconnect_delay=1" >/dev/nvme-fabrics || return
	await 30 has_disk
}

has_disk() {
	DISK=$(compgen -G '/dev/nvme[0-9]*n[0-9]*') && [[ -b $DISK ]]
}

has_no_disk() {
	! has_disk
}

# fio must not create a file if the disk is gone.
fio_on_disk() {	# OPTIONS...
	fio --allow_file_create=0 --name=vnet --filename="$DISK" --size=8M --bs=16k --ioengine=libaio --iodepth=16 --direct=1 "$@" >/run/fio 2>&1
}

write_file() {
	mkfs.ext4 -q -F "$DISK" && mkdir -p /run/disk && mount "$DISK" /run/disk &&
		dd if=/dev/shm/data of=/run/disk/data bs=1M conv=fsync status=none &&
		umount /run/disk && blockdev --flushbufs "$DISK" && mount "$DISK" /run/disk
}

# Checks data through a file system, and by fio.
check_data() {
	head -c 8M /dev/urandom >/dev/shm/data
	write_file || die "no file system"
	cmp /dev/shm/data /run/disk/data || die "what is read is not what was written"
	umount /run/disk
	fio_on_disk --rw=randrw --verify=crc32c --verify_fatal=1 || { cat /run/fio; die "fio finds errors"; }
}

messages() {
	cat /sys/class/infiniband/vnet0/ports/1/hw_counters/rcvd_msgs
}

more_messages() {
	(($(messages) > before + 200))
}

start_load() {
	before=$(messages)
	fio_on_disk --rw=randwrite --time_based --runtime=600 &
	load=$!
	await 30 more_messages || { cat /run/fio; die "no load"; }
	nap "$SECONDS_OF_LOAD"
}

end_load() {
	await 20 has_no_disk || die "the disk is still there"
	wait "$load" && die "fio ends well though its disk went"
}

disconnect() {
	echo 1 >"$(compgen -G '/sys/class/nvme/nvme*/delete_controller')"
}

{ make_target && listen && connect; } || die "no connection"
timed_from=$SECONDS
check_data
echo "written and verified: $((SECONDS - timed_from)) s"
start_load
disconnect
end_load
connect || die "no second connection"
start_load
timeout $((30 * SLOWNESS)) rdma link delete vnet0 || die "the device cannot be deleted under load"
end_load
add_device vnet0 vnet d0 || die "the device cannot be made again"
end_target
await 20 nothing_held vnet0 || die "something is left"
echo "disconnected, and without its device, under load"
