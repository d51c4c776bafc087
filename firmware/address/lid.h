/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Destinations of queue pairs and datagrams: by GID on Ethernet, by LID on InfiniBand. */
#ifndef NIC_LID_H
#define NIC_LID_H

#include "requester/request.h"
#include "vn/vn.h"

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

/* Does the path of a connected QP lead to this NIC? Otherwise nic_path_row() finds its row. */
static inline bool nic_is_own_path(const struct nic *nic, const struct nic_qp_attr *attr)
{
	u32 lid = nic->hdr->lid;

	return unlikely(lid) ? attr->dlid == lid : nic_is_own_gid(nic, attr->dgid);
}

u32 nic_path_row(struct nic *nic, const struct nic_qp_attr *attr);
/* Does the path have a known address? If not, the user is told. */
bool nic_path_is_known(struct nic *nic, const struct nic_qp_attr *attr);

/*
 * Is the datagram for a group; for this NIC? Otherwise nic_datagram_row() finds its row, or
 * NIC_NONE.
 */
bool nic_is_group_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);
bool nic_is_own_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud);
u32 nic_datagram_row(struct nic *nic, const struct vnet_wqe_ud *ud);

#endif /* NIC_LID_H */
