/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The state of an emulated NIC and its RDMA device. devices/ maintains it. */
#ifndef VNETD_DEVICE_H
#define VNETD_DEVICE_H

#include <net/if.h>

#include "../platform/link.h"
#include "loop/loop.h"
#include "vnetd.h"

struct daemon;

/* Identity of the device, in sysfs and in query_device. */
enum device_identity {
	DEVICE_VENDOR_ID = 0x766e,
	DEVICE_PART_ID = 0x6574,
	DEVICE_HW_REV = 1,
	DEVICE_PKEYS = 1,
	/* CM supported; on InfiniBand, extended speeds; on Ethernet, IP-based GIDs. */
	DEVICE_CAP_EXTENDED_SPEEDS = 1 << 14,
	DEVICE_CAP_CM = 1 << 16,
	DEVICE_CAP_IP_BASED_GIDS = 1 << 26,
};
#define DEVICE_FW_VER VNET_FW_VER_PREFIX VNET_VERSION

/* Limit of a port's counters, of either kind. */
#define MOST_COUNTERS 32

/* An emulated NIC and its RDMA device. */
struct device {
	struct daemon *daemon;
	u32 index;
	char name[64];
	/* Its files are uverbs<minor - VNET_UVERBS_FIRST_MINOR>. */
	u32 minor;
	/* In network order; constant for user, node and name. */
	u8 node_guid[8];
	/* LID of port 1 on InfiniBand; 0: link layer Ethernet. */
	u16 lid;
	/*
	 * GIDs 0 .. ngids - 1 of port 1, and the net device of each. They are copies; the
	 * firmware's are in NIC memory. Programs see the first gids_shown: on InfiniBand only the
	 * port's own GID, while those of IP addresses are for the connection manager.
	 */
	u32 ngids;
	u32 gids_shown;
	u8 gid[NIC_MAX_GIDS][16];
	u32 gid_ifindex[NIC_MAX_GIDS];
	int memory_fd;
	void *memory;
	u64 memory_size;
	struct nic nic;
	struct host host;
	/* Allocation of numbers and queue memory: uverbs/alloc.c. */
	struct device_alloc *alloc;
	/* Sum of the counters of destroyed queue pairs. */
	struct nic_qp_counters retired;
	/* How often the port went down. */
	u32 downs;
	/* Values of the port's counters when they were cleared: sysfs/port_counters.c. */
	u64 cleared[MOST_COUNTERS];
};

/* Whether the entry is empty: its address was removed, or never existed. */
static inline bool gid_is_none(const u8 *gid)
{
	u64 half[2];

	memcpy(half, gid, sizeof(half));
	return !(half[0] | half[1]);
}

static inline u32 device_cap_mask(const struct device *device)
{
	return DEVICE_CAP_CM |
	       (device->lid ? DEVICE_CAP_EXTENDED_SPEEDS : DEVICE_CAP_IP_BASED_GIDS);
}

/* A port counter, with the name that the kernel driver uses. */
struct counter {
	const char *name;
	u64 value;
};

/* struct device, with the core's private part. */
struct nic_device {
	struct device device;
	/* eventfd that kicks write to; watched edge-triggered. */
	struct source kick;
	/* Copy of the NIC's header up to the words that may change, to detect overwriting. */
	u8 header[offsetof(struct nic_header, agent_life)];
	/* processor.c: when the firmware has to run next; NEVER. */
	u64 run_at;
	char gid_ndev[NIC_MAX_GIDS][IF_NAMESIZE];
	/* Index of the GID that is the link's own address; 0: none. */
	u32 link_gid;
	/* link/link.c: socket (fd -1: no link), and memory shared with clients. */
	struct source link;
	int link_memory_fd;
	struct link_memory *link_memory;
	char link_ndev[IF_NAMESIZE];
	/* Why the NIC has no link. */
	const char *link_problem;
	/* Transport settings, which are kept when NIC memory is reset. */
	struct nic_settings settings;
	/* When to check that clients still poll the socket. NEVER: the daemon watches it. */
	u64 link_at;
};

static inline struct nic_device *nic_device(struct device *device)
{
	return container_of(device, struct nic_device, device);
}

#endif /* VNETD_DEVICE_H */
