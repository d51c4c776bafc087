/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What user.c and the module say to each other by /dev/vnet_ktest. */
#ifndef VNET_KTEST_H
#define VNET_KTEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * write("run DEVICE") tests a device, and fails with the first failure; "soak
 * DEVICE" does so at length;
 * write("lists DEVICE") and write("resize DEVICE") do so in part;
 * write("hold DEVICE") keeps a queue pair there until the file is closed.
 */
#define VNET_KTEST_DEVICE "/dev/vnet_ktest"

/* One end of a connection; memory that the other may write and read. */
struct vnet_ktest_end {
	__u8 gid[16];
	__u32 qpn;
	__u32 rkey;
	__aligned_u64 addr;
	__u32 length;
	__u32 rsvd;
};

/* In: the process' end, in state INIT. Out: the module's, in state RTS. */
struct vnet_ktest_connect {
	char device[64];
	struct vnet_ktest_end end;
};

/* Each message comes back with its bits turned over. */
#define VNET_KTEST_CONNECT _IOWR('v', 1, struct vnet_ktest_connect)
/* The module writes its memory to the process', and reads it back, as told. */
#define VNET_KTEST_WRITE _IO('v', 2)
#define VNET_KTEST_READ _IO('v', 3)

#define VNET_KTEST_MESSAGE 4096
#define VNET_KTEST_DEPTH 16

#endif /* VNET_KTEST_H */
