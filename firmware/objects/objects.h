/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs objects: creation, destruction and state transitions of queue pairs, completion queues,
 * shared receive queues, completion channels and multicast memberships (nic.h declares the
 * commands). Commands take all locks of an object, or none.
 *
 * Calls pending, completion, tags, ether, and the transport.
 */
#ifndef NIC_OBJECTS_H
#define NIC_OBJECTS_H

#include "layout/lookup.h"

/* -- qp.c */

/* Take all locks under which a QP executes or receives; all or none. */
bool nic_qp_lock_all(struct nic *nic, struct nic_qp *qp);
void nic_qp_unlock_all(struct nic *nic, struct nic_qp *qp);
/*
 * Prevent new operations with a QP, all of whose locks the caller holds. Returns whether none is
 * under way; false: call again.
 */
bool nic_qp_seal(struct nic *nic, struct nic_qp *qp);

/* -- group.c: multicast groups */

/* QP number of all members of a multicast group (IB vol 1, 10.5). */
#define NIC_GROUP_QPN VNET_WIRE_GROUP_QPN
/*
 * Progress of a request with several receivers: index of the next member, flow or row, and some
 * bits of the request's number. The bits distinguish it from stale progress of another request,
 * which a death may leave behind.
 */
#define NIC_MARK_BITS 16
#define NIC_MARK_MOST ((1u << NIC_MARK_BITS) - 1)

static inline u32 nic_group_mark(u32 request, u32 at)
{
	return (request | 0x8000u) << NIC_MARK_BITS | (at < NIC_MARK_MOST ? at : NIC_MARK_MOST);
}

/* NIC_NONE: the progress is that of another request. */
static inline u32 nic_group_at(u32 mark, u32 request)
{
	return (mark & ~NIC_MARK_MOST) == nic_group_mark(request, 0) ? mark & NIC_MARK_MOST :
								       NIC_NONE;
}

/* Another request begins. Stale progress must go, as request numbers repeat in these bits. */
static inline void nic_group_forget(struct nic_qp *qp)
{
	if (unlikely(qp->op_member))
		nic_store(&qp->op_member, 0);
}

u32 nic_member_high(const struct nic *nic);
/* Member i < nic_member_high(), if it is attached to this group; else NULL. */
struct nic_qp *nic_member_find(struct nic *nic, u32 i, const u8 *gid);
/* Is a QP of this NIC attached to the group? */
bool nic_group_is_joined(struct nic *nic, const u8 *gid);
/* Remove a destroyed QP from all groups. */
void nic_members_remove(struct nic *nic, u32 qpn);

#endif /* NIC_OBJECTS_H */
