// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * LIDs of InfiniBand ports: paths and datagrams by LID. On such a port the LID determines the
 * destination, and a GRH is only information for the receiver. A NIC has one LID (nic_header.lid;
 * 0: an Ethernet port). The vn transport uses GIDs only, so each LID is represented by a link-local
 * GID that no program can use.
 */
#include "address/address.h"

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

/* Does the GID name this NIC? On an InfiniBand port, a GID made from its LID does, too. */
bool nic_is_own_gid(const struct nic *nic, const u8 *gid)
{
	u64 want[2], have[2];
	u32 i;

	memcpy(want, gid, sizeof(want));
	for (i = 0; i < nic->hdr->ngids && i < NIC_MAX_GIDS; i++) {
		memcpy(have, nic->hdr->gid[i], sizeof(have));
		if (have[0] == want[0] && have[1] == want[1])
			return have[0] | have[1];
	}
	return nic->hdr->lid && nic_gid_lid(gid) == nic->hdr->lid;
}

bool nic_is_group_gid(const u8 *gid)
{
	u32 i;

	if (gid[0] == 0xff)
		return true;
	for (i = 0; i < 10; i++) {
		if (gid[i])
			return false;
	}
	/* 224.0.0.0/4 */
	return gid[10] == 0xff && gid[11] == 0xff && (gid[12] & 0xf0) == 0xe0;
}

bool nic_is_group_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return nic_is_group_gid(ud->dgid) && !(nic->hdr->lid && ud->no_grh);
}

bool nic_is_own_datagram(const struct nic *nic, const struct vnet_wqe_ud *ud)
{
	return nic_goes_by_lid(nic, ud) ? ud->dlid == nic->hdr->lid : nic_is_own_gid(nic, ud->dgid);
}
