// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The GRH of datagrams: the 40 bytes in front of the data. RoCE v2 over IPv4 has an IPv4 header in
 * the last 20 bytes instead (InfiniBand Architecture, annex 17, A17.4.5.2). On InfiniBand there may
 * be no GRH; then the bytes are undefined.
 */
#include "address/address.h"

/* UDP (8), BTH (12), DETH (8) and ICRC (4) around the data. */
#define NIC_ROCE_OVERHEAD 32
/* The same for InfiniBand, without UDP. */
#define NIC_IB_OVERHEAD 24
#define NIC_PROTO_UDP 17
#define NIC_PROTO_IBA 0x1b
#define NIC_DEFAULT_HOPS 64

static bool nic_gid_is_ipv4(const u8 *gid)
{
	u32 i;

	for (i = 0; i < 10; i++) {
		if (gid[i])
			return false;
	}
	return gid[10] == 0xff && gid[11] == 0xff;
}

static void nic_put16(u8 *at, u64 value)
{
	at[0] = (u8)(value >> 8);
	at[1] = (u8)value;
}

/* Receivers recognise an IPv4 header by its valid checksum. */
static u16 nic_ipv4_checksum(const u8 *header)
{
	u32 i, sum = 0;

	for (i = 0; i < 20; i += 2)
		sum += (u32)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}

static void nic_make_ipv4(const u8 *sgid, const struct vnet_wqe_ud *ud, u64 length, u8 *header)
{
	header[0] = 0x45;
	header[1] = ud->traffic_class;
	nic_put16(&header[2], length + NIC_ROCE_OVERHEAD + 20);
	/* Never fragmented. */
	header[6] = 0x40;
	header[8] = ud->hop_limit ? ud->hop_limit : NIC_DEFAULT_HOPS;
	header[9] = NIC_PROTO_UDP;
	memcpy(&header[12], &sgid[12], 4);
	memcpy(&header[16], &ud->dgid[12], 4);
	nic_put16(&header[10], nic_ipv4_checksum(header));
}

static void nic_make_ipv6(const u8 *sgid, const struct vnet_wqe_ud *ud, u64 length, bool is_ib,
			  u8 *grh)
{
	u32 word = 6u << 28 | (u32)ud->traffic_class << 20 | (ud->flow_label & 0xfffff);

	nic_put16(&grh[0], word >> 16);
	nic_put16(&grh[2], word);
	nic_put16(&grh[4], length + (is_ib ? NIC_IB_OVERHEAD : NIC_ROCE_OVERHEAD));
	grh[6] = is_ib ? NIC_PROTO_IBA : NIC_PROTO_UDP;
	grh[7] = ud->hop_limit || is_ib ? ud->hop_limit : NIC_DEFAULT_HOPS;
	memcpy(&grh[8], sgid, 16);
	memcpy(&grh[24], ud->dgid, 16);
}

u8 nic_make_grh(const struct nic *nic, const struct vnet_wqe_ud *ud, u64 length, u8 *grh)
{
	const u8 *sgid = nic->hdr->gid[ud->sgid_index % NIC_MAX_GIDS];
	bool is_ib = nic->hdr->lid;

	memset(grh, 0, VNET_GRH_SIZE);
	if (is_ib && ud->no_grh)
		return 0;
	if (nic_gid_is_ipv4(sgid)) {
		nic_make_ipv4(sgid, ud, length, grh + 20);
		return VNET_WC_GRH | VNET_WC_GRH_IPV4;
	}
	nic_make_ipv6(sgid, ud, length, is_ib, grh);
	return VNET_WC_GRH;
}
