// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paths as programs see them. On Ethernet, a path is two GIDs, which stand for addresses. On
 * InfiniBand, it is the GIDs and LIDs of two ports, which IPoIB and the subnet administrator
 * would provide; here they follow from the node that has the address.
 */
#include <endian.h>
#include <errno.h>

#include "inside.h"

/* Parts of a multicast GID (IB vol 1, 4.1.1; RFC 4391, 4). */
enum {
	MGID_TRANSIENT_LINK_LOCAL = 0x12,
	MGID_IPV4 = 0x40,
	MGID_IPV6 = 0x60,
	/* Last byte of the signature: IPoIB, or groups of rdma_cm. */
	MGID_IPOIB = 0x1b,
	MGID_RDMA_CM = 0x01,
	/* An IPv6 address that is such an MGID itself. */
	MGID_ASSIGNED = 0xa0,
};

int cm_path_complete(struct cm_path *path)
{
	if (!path->device->lid)
		return 0;
	return lid_find(path->device->daemon, path->dgid, &path->port) ? 0 : -EHOSTUNREACH;
}

const u8 *cm_path_sgid(const struct cm_path *path)
{
	return path->device->gid[path->device->lid ? 0 : path->sgid_index];
}

const u8 *cm_path_dgid(const struct cm_path *path)
{
	return path->device && path->device->lid ? path->port.gid : path->dgid;
}

/* There is no routing within an InfiniBand subnet. */
u8 cm_path_hops(const struct cm_path *path)
{
	return path->device->lid ? 0 : path->hop_limit;
}

void cm_path_ah(const struct cm_path *path, struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->port_num = 1;
	if (path->device->lid) {
		ah->dlid = path->port.lid;
		return;
	}
	memcpy(ah->grh.dgid, path->dgid, sizeof(ah->grh.dgid));
	ah->grh.sgid_index = path->sgid_index;
	ah->grh.hop_limit = path->hop_limit;
	ah->grh.traffic_class = path->traffic_class;
	ah->is_global = 1;
}

/* ------------------------------------------------------------------ groups */

static bool is_assigned(const union cm_address *address)
{
	const u8 *ip = address->in6.sin6_addr.s6_addr;

	return address->any.sa_family == AF_INET6 && ip[0] == 0xff && (ip[1] & 0xf0) == 0x10 &&
	       ip[2] == MGID_ASSIGNED && ip[3] == MGID_IPOIB;
}

static void make_mgid(u8 *gid, u16 ps, const union cm_address *address)
{
	bool ipv4 = address->any.sa_family == AF_INET;

	if (is_assigned(address) || address->any.sa_family == CM_AF_IB) {
		cm_address_gid(address, gid);
		return;
	}
	memset(gid, 0, 16);
	gid[0] = 0xff;
	gid[1] = MGID_TRANSIENT_LINK_LOCAL;
	gid[2] = ipv4 ? MGID_IPV4 : MGID_IPV6;
	gid[3] = ps == RDMA_PS_UDP ? MGID_RDMA_CM : MGID_IPOIB;
	/* P_Key. */
	gid[4] = gid[5] = 0xff;
	if (ipv4) {
		memcpy(gid + 12, &address->in.sin_addr, 4);
		gid[12] &= 0x0f;
	} else {
		memcpy(gid + 6, address->in6.sin6_addr.s6_addr + 6, 10);
	}
}

/* Hashes an MGID to an MLID. The lowest MLID is left to the IPoIB broadcast group. */
static u16 make_mlid(const u8 *gid)
{
	u32 h = 0x811c9dc5;

	for (u32 i = 0; i < 16; i++)
		h = (h ^ gid[i]) * 0x01000193;
	return (u16)(NIC_LID_LAST + 2 + h % (NIC_LID_PERMISSIVE - NIC_LID_LAST - 2));
}

void cm_path_group(const struct cm_path *path, u16 ps, const union cm_address *address,
		   struct lid_port *group)
{
	memset(group, 0, sizeof(*group));
	if (!path->device->lid) {
		cm_address_gid(address, group->gid);
		return;
	}
	make_mgid(group->gid, ps, address);
	group->lid = make_mlid(group->gid);
}

void cm_path_group_ah(const struct cm_path *path, const struct lid_port *group, u8 tos,
		      struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	memcpy(ah->grh.dgid, group->gid, sizeof(ah->grh.dgid));
	ah->grh.sgid_index = path->device->lid ? 0 : path->sgid_index;
	/* Groups are link-local. */
	ah->grh.hop_limit = 1;
	ah->grh.traffic_class = tos;
	ah->dlid = group->lid;
	ah->is_global = 1;
	ah->port_num = 1;
}
