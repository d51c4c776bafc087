/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where frames go: on Ethernet by GID, on InfiniBand by LID.
 */
#ifndef NIC_LID_H
#define NIC_LID_H

#include "requester/request.h"
#include "vn/vn.h"

enum nic_lid_range {
	NIC_LID_FIRST = 0x0001,
	/* Those after it are of multicast groups, up to the last but one. */
	NIC_LID_LAST = 0xbfff,
	NIC_LID_PERMISSIVE = 0xffff,
};

static inline bool nic_lid_is_unicast(u32 lid)
{
	return lid >= NIC_LID_FIRST && lid <= NIC_LID_LAST;
}

/* The GID (16 bytes) that stands for a LID; and the LID of one, or 0. */
void nic_lid_gid(u16 lid, u8 *gid);
u16 nic_gid_lid(const u8 *gid);

/* A connected QP's peer: is it on this NIC? Else the row of the other; or NIC_NONE. */
static inline bool nic_is_own_path(const struct nic *nic, const struct nic_qp_attr *attr)
{
	u32 lid = nic->hdr->lid;

	return unlikely(lid) ? attr->dlid == lid : nic_is_own_gid(nic, attr->dgid);
}

u32 nic_path_row(struct nic *nic, const struct nic_qp_attr *attr);
/* Is there an address for it? Otherwise it leads to nobody. */
bool nic_path_is_known(struct nic *nic, const struct nic_qp_attr *attr);

/* Where a datagram goes: to a group, to this NIC, or by that row; or nowhere (NIC_NONE). */
bool nic_is_group_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);
bool nic_is_own_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);
u32 nic_datagram_row(struct nic *nic, const struct vnet_wqe_ud *ud);

#endif /* NIC_LID_H */
