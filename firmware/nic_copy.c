// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies to and from memory that is paged on demand, where the host has to bring its
 * pages: that takes a while, and nobody waits for it in here. A requester's request
 * waits as for a receive, a responder refuses the packet, and it is all done again.
 *
 * Not every failure to bring them is this operation's: the memory may have come after
 * another one failed. So each queue pair knows since when it asks, as a requester and
 * as a responder, and what failed before counts for nothing. It does so until it has
 * carried out what it was about, which may take more than one copy.
 */
#include "nic_internal.h"

enum nic_copy_result nic_fetch_pages(struct nic *nic, struct nic_qp *executor, enum nic_role role,
				     const struct nic_piece *dst, u32 ndst,
				     const struct nic_piece *src, u32 nsrc, u64 length)
{
	u64 *asked = &executor->counters.fetch_since[role];
	u64 since = nic_load(asked);
	enum nic_copy_result result;

	if (!since)
		since = plat_clock();
	result = plat_fetch(nic, dst, ndst, src, nsrc, length, since);
	if (nic_is_later(result))
		nic_store(asked, since);
	return result;
}

void nic_fetch_ahead(struct nic *nic, const struct nic_piece *dst, u32 ndst,
		     const struct nic_piece *src, u32 nsrc, u64 length)
{
	(void)plat_fetch(nic, dst, ndst, src, nsrc, length, plat_clock());
}

enum nic_copy_result nic_copy_again(struct nic *nic, struct nic_qp *executor, enum nic_role role,
				    const struct nic_piece *dst, u32 ndst,
				    const struct nic_piece *src, u32 nsrc, u64 length)
{
	enum nic_copy_result result =
		nic_fetch_pages(nic, executor, role, dst, ndst, src, nsrc, length);

	if (result != NIC_COPY_OK)
		return result;
	/* They have come meanwhile; and may have gone again. */
	result = plat_copy(nic, dst, ndst, src, nsrc, length);
	if (nic_is_later(result) && !nic_load(&executor->counters.fetch_since[role]))
		nic_store(&executor->counters.fetch_since[role], plat_clock());
	return result;
}

bool nic_wait_for_pages(struct nic *nic, struct nic_qp *qp, bool own)
{
	bool bounded = !own && qp->type != NIC_QPT_RC;
	enum nic_wait reason = own ? NIC_WAIT_PAGES : NIC_WAIT_PEER_PAGES;

	if (bounded && !nic->stall_ns)
		return false;
	return nic_wait_on(nic, qp, reason, bounded ? nic->stall_ns : 0) == VNET_WC_SUCCESS;
}
