// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports of InfiniBand: frames go by LID there, and a GRH is a header for the
 * receiver to read. A NIC has one LID (nic_header.lid; 0: its port is an Ethernet
 * one, which has none). Below queue pairs all is by GID, so a LID has a GID that
 * stands for it: of the link, by which no program can name it.
 */
#include "nic_lid.h"

/* fe80::4c:4944:0, and the LID: not the identifier of any port. */
static const u8 nic_lid_prefix[14] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'L', 'I', 'D' };

void nic_lid_gid(u16 lid, u8 *gid)
{
	memcpy(gid, nic_lid_prefix, sizeof(nic_lid_prefix));
	gid[14] = (u8)(lid >> 8);
	gid[15] = (u8)lid;
}

u16 nic_gid_lid(const u8 *gid)
{
	u16 lid;
	u32 i;

	for (i = 0; i < sizeof(nic_lid_prefix); i++) {
		if (gid[i] != nic_lid_prefix[i])
			return 0;
	}
	lid = (u16)(gid[14] << 8 | gid[15]);
	return nic_lid_is_unicast(lid) ? lid : 0;
}

u32 nic_path_row(struct nic *nic, const struct nic_qp_attr *attr)
{
	u8 gid[16], own[16];

	if (!nic->hdr->lid)
		return nic_row_find(nic, attr->dgid,
				    nic->hdr->gid[attr->sgid_index % NIC_MAX_GIDS]);
	nic_lid_gid(attr->dlid, gid);
	nic_lid_gid((u16)nic->hdr->lid, own);
	return nic_row_find(nic, gid, own);
}

/* A path that the agent itself uses may be without LIDs. */
static bool nic_goes_by_lid(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return unlikely(nic->hdr->lid) && (ud->dlid || ud->no_grh);
}

bool nic_is_group_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return nic_is_group_gid(ud->dgid) && !(nic->hdr->lid && ud->no_grh);
}

bool nic_is_own_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return nic_goes_by_lid(nic, ud) ? ud->dlid == nic->hdr->lid : nic_is_own_gid(nic, ud->dgid);
}

u32 nic_datagram_row(struct nic *nic, const struct vnet_wqe_ud *ud)
{
	const struct nic_qp_attr attr = { .dlid = ud->dlid };

	if (!nic_goes_by_lid(nic, ud))
		return nic_row_find(nic, ud->dgid, nic->hdr->gid[ud->sgid_index % NIC_MAX_GIDS]);
	return nic_lid_is_unicast(ud->dlid) ? nic_path_row(nic, &attr) : NIC_NONE;
}
