/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Addresses: destinations of queue pairs and datagrams, by GID on Ethernet and by LID on
 * InfiniBand, and the GRH of datagrams. Takes no lock, and calls no other room.
 */
#ifndef NIC_ADDRESS_H
#define NIC_ADDRESS_H

#include "layout/lock.h"

enum nic_lid_range {
	NIC_LID_FIRST = 0x0001,
	/* Larger ones are multicast LIDs, except 0xffff. */
	NIC_LID_LAST = 0xbfff,
	NIC_LID_PERMISSIVE = 0xffff,
};

static inline bool nic_lid_is_unicast(u32 lid)
{
	return lid >= NIC_LID_FIRST && lid <= NIC_LID_LAST;
}

/* Convert a LID to the GID (16 bytes) that represents it, and back (0: not such a GID). */
void nic_lid_gid(u16 lid, u8 *gid);
u16 nic_gid_lid(const u8 *gid);

static inline bool nic_gid_is_zero(const u8 *gid)
{
	u64 half[2];

	memcpy(half, gid, sizeof(half));
	return !(half[0] | half[1]);
}

/*
 * Does the datagram have a source GID, or need none? The GID may have been removed since its
 * address handle was created.
 */
static inline bool nic_has_source(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return likely(!nic_gid_is_zero(nic->hdr->gid[ud->sgid_index % NIC_MAX_GIDS])) ||
	       (nic->hdr->lid && ud->no_grh);
}

/* Is this GID one of the NIC's own? */
bool nic_is_own_gid(const struct nic *nic, const u8 *gid);

/* Does the path of a connected QP lead to this NIC? */
static inline bool nic_is_own_path(const struct nic *nic, const struct nic_qp_attr *attr)
{
	u32 lid = nic->hdr->lid;

	return unlikely(lid) ? attr->dlid == lid : nic_is_own_gid(nic, attr->dgid);
}

bool nic_is_group_gid(const u8 *gid);

/* The agent itself may use paths without LIDs. */
static inline bool nic_goes_by_lid(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return unlikely(nic->hdr->lid) && (ud->dlid || ud->no_grh);
}

/* Is the datagram for a group; for this NIC? */
bool nic_is_group_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);
bool nic_is_own_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);

/* -- grh.c */

/* Write the GRH of a datagram of `length` bytes, if it has one; returns VNET_WC_GRH* flags. */
u8 nic_make_grh(const struct nic *nic, const struct vnet_wqe_ud *ud, u64 length, u8 *grh);

#endif /* NIC_ADDRESS_H */
