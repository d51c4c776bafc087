// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * LIDs of InfiniBand ports: paths and datagrams by LID. On such a port the LID gives the
 * destination, and a GRH is only information for the receiver. A NIC has one LID (nic_header.lid;
 * 0: an Ethernet port). The vn transport uses GIDs only, so each LID is represented by a link-local
 * GID that no program can use.
 */
#include "address/lid.h"

/* fe80::4c:4944:0, with the LID in the low bits; it is not the GID of any port. */
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

/* Both ends of a path: its GIDs, or those that represent LIDs. */
static void nic_path_ends(const struct nic *nic, const struct nic_qp_attr *attr, u8 *gid, u8 *own)
{
	if (nic->hdr->lid) {
		nic_lid_gid(attr->dlid, gid);
		nic_lid_gid((u16)nic->hdr->lid, own);
	} else {
		memcpy(gid, attr->dgid, 16);
		memcpy(own, nic->hdr->gid[attr->sgid_index % NIC_MAX_GIDS], 16);
	}
}

u32 nic_path_row(struct nic *nic, const struct nic_qp_attr *attr)
{
	u8 gid[16], own[16];

	nic_path_ends(nic, attr, gid, own);
	return nic_row_find(nic, gid, own);
}

bool nic_path_is_known(struct nic *nic, const struct nic_qp_attr *attr)
{
	struct nic_address address;
	u8 gid[16], own[16];

	nic_path_ends(nic, attr, gid, own);
	if (plat_resolve(nic, gid, &address))
		return true;
	plat_unknown(nic, gid);
	return false;
}

/* The agent itself may use paths without LIDs. */
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
	const u8 *own = nic->hdr->gid[ud->sgid_index % NIC_MAX_GIDS];
	u8 lid[16];
	const u8 *gid = ud->dgid;
	u32 row;

	if (nic_goes_by_lid(nic, ud)) {
		if (!nic_lid_is_unicast(ud->dlid))
			return NIC_NONE;
		nic_lid_gid(ud->dlid, lid);
		gid = lid;
		row = nic_path_row(nic, &(const struct nic_qp_attr){ .dlid = ud->dlid });
	} else {
		row = nic_row_find(nic, gid, own);
	}
	if (unlikely(row == NIC_NONE))
		plat_unknown(nic, gid);
	return row;
}
