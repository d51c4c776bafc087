// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: the table of queue pairs that are attached. Commands write the table, one at a
 * time; senders read it without a lock.
 */
#include "address/address.h"
#include "layout/lookup.h"
#include "objects/objects.h"

static bool nic_same_gid(const u8 *a, const u8 *b)
{
	u64 left[2], right[2];

	memcpy(left, a, sizeof(left));
	memcpy(right, b, sizeof(right));
	return left[0] == right[0] && left[1] == right[1];
}

u32 nic_member_high(const struct nic *nic)
{
	u32 high = nic_load(&nic->hdr->member_high);

	return high < NIC_MAX_MEMBERS ? high : NIC_MAX_MEMBERS;
}

struct nic_qp *nic_member_find(struct nic *nic, u32 i, const u8 *gid)
{
	const struct nic_member *member = &nic->hdr->member[i];
	u32 qpn = nic_load_acquire(&member->qpn);

	if (!qpn || !nic_same_gid(member->gid, gid))
		return NULL;
	/* The entry may have been reused meanwhile. */
	nic_barrier();
	return nic_load(&member->qpn) == qpn ? nic_find_qp(nic, qpn) : NULL;
}

/* Returns NIC_NONE if there is none. */
static u32 nic_member_index(const struct nic *nic, u32 qpn, const u8 *gid)
{
	u32 i;

	for (i = 0; i < nic_member_high(nic); i++) {
		if (nic->hdr->member[i].qpn == qpn &&
		    (!qpn || nic_same_gid(nic->hdr->member[i].gid, gid)))
			return i;
	}
	return NIC_NONE;
}

bool nic_group_is_joined(struct nic *nic, const u8 *gid)
{
	u32 i;

	for (i = 0; i < nic_member_high(nic); i++) {
		if (nic_member_find(nic, i, gid))
			return true;
	}
	return false;
}

enum nic_result nic_mcast_attach(struct nic *nic, u32 qpn, const u8 *gid)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);
	u32 i;

	if (!qp || qp->type != NIC_QPT_UD || !nic_is_group_gid(gid))
		return NIC_EINVAL;
	if (nic_member_index(nic, qpn, gid) != NIC_NONE)
		return NIC_EINUSE;
	i = nic_member_index(nic, 0, gid);
	if (i == NIC_NONE)
		i = nic_member_high(nic);
	if (i == NIC_MAX_MEMBERS)
		return NIC_ENOMEM;
	memcpy(nic->hdr->member[i].gid, gid, sizeof(nic->hdr->member[i].gid));
	/* Pairs with the acquire by senders. */
	nic_store_release(&nic->hdr->member[i].qpn, qpn);
	if (i >= nic_member_high(nic))
		nic_store_release(&nic->hdr->member_high, i + 1);
	return NIC_OK;
}

enum nic_result nic_mcast_detach(struct nic *nic, u32 qpn, const u8 *gid)
{
	u32 i = qpn ? nic_member_index(nic, qpn, gid) : NIC_NONE;

	if (i == NIC_NONE)
		return NIC_EINVAL;
	nic_store(&nic->hdr->member[i].qpn, 0);
	return NIC_OK;
}

void nic_members_remove(struct nic *nic, u32 qpn)
{
	u32 i;

	for (i = 0; i < nic_member_high(nic); i++) {
		if (nic->hdr->member[i].qpn == qpn)
			nic_store(&nic->hdr->member[i].qpn, 0);
	}
}
