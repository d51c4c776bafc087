/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Types, macros and units of time that all of vnetd uses.
 *
 * Each room has a header of its own with what other rooms may call. device.h and daemon.h have
 * the state of a device and of the daemon. All of it is in the daemon's private memory, and
 * permissions are decided by it alone; NIC memory, which clients can overwrite, is not consulted.
 *
 * The daemon has one thread and never blocks.
 */
#ifndef VNETD_H
#define VNETD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../abi/vnet-abi.h"
#include "../platform/host.h"
#include "../vnet_proto.h"

#define container_of(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define NEVER UINT64_MAX
#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull

static inline u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

#endif /* VNETD_H */
