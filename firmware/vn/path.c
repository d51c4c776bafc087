// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rows of the peers that paths and datagrams lead to: by GID, or by the GID that represents a LID. */
#include "address/address.h"
#include "vn/vn.h"

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
	plat_report_unknown(nic, gid);
	return false;
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
		plat_report_unknown(nic, gid);
	return row;
}
