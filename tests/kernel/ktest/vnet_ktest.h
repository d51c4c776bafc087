/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Interface of /dev/vnet_ktest, between user.c or scripts and the module. */
#ifndef VNET_KTEST_H
#define VNET_KTEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * write("run DEVICE") runs all tests on a device, and fails with the first failure;
 * "soak DEVICE" does so at length;
 * write("lists DEVICE") and write("resize DEVICE") run some of the tests;
 * write("hold DEVICE") keeps a queue pair open until the file is closed.
 */
#define VNET_KTEST_DEVICE "/dev/vnet_ktest"

/* One end of a connection, with memory that the other end may write and read. */
struct vnet_ktest_end {
	__u8 gid[16];
	__u32 qpn;
	__u32 rkey;
	__aligned_u64 addr;
	__u32 length;
	__u32 rsvd;
};

/* In: the process's end, in state INIT. Out: the module's end, in state RTS. */
struct vnet_ktest_connect {
	char device[64];
	struct vnet_ktest_end end;
};

/* Connects. The module returns each message with its bits inverted. */
#define VNET_KTEST_CONNECT _IOWR('v', 1, struct vnet_ktest_connect)
/* The module copies its memory to the process's memory, or reads it back. */
#define VNET_KTEST_WRITE _IO('v', 2)
#define VNET_KTEST_READ _IO('v', 3)

#define VNET_KTEST_MESSAGE 4096
#define VNET_KTEST_DEPTH 16

#endif /* VNET_KTEST_H */
