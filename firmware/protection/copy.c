// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies of memory that is paged on demand: missing pages are requested, and the copy is repeated.
 *
 * Bringing pages takes time, and the firmware never waits for it. A request waits as it waits for a
 * receive, a responder refuses the packet, and the whole operation is executed again later.
 *
 * A failure to bring pages may be older than the operation, and the memory may be valid by now. So
 * a QP records, as requester and as responder, since when its operation waits for pages, and only
 * later failures count. The record lasts until the operation has been executed, which may take
 * several copies. Another operation starts a record of its own. Of the requests in a send queue,
 * the oldest that waits has the record. Younger requests have their pages requested, too, and may
 * fail when they are the oldest.
 */
#include "pending/pending.h"
#include "protection/protection.h"

/* Time since which this operation waits for pages; 0: it does not. */
static u64 nic_page_wait_since(const struct nic_page_waiter *by)
{
	const struct nic_qp_counters *c = &by->qp->counters;

	if (by->role >= NIC_EARLY || c->fetch_for[by->role] != by->what)
		return 0;
	return nic_load(&c->fetch_since[by->role]);
}

/* Does an older request of the send queue, which has not ended, wait for pages? */
static bool nic_older_request_waits(const struct nic_page_waiter *by)
{
	const struct nic_qp_counters *c = &by->qp->counters;
	u32 other = c->fetch_for[NIC_REQUESTS];

	return by->role == NIC_REQUESTS && c->fetch_since[NIC_REQUESTS] &&
	       (s32)(by->what - other) > 0 && (s32)(other - by->qp->sq_cons) >= 0;
}

static void nic_page_wait_begin(const struct nic_page_waiter *by, u64 since)
{
	struct nic_qp_counters *c = &by->qp->counters;

	if (by->role >= NIC_EARLY || nic_older_request_waits(by))
		return;
	nic_store(&c->fetch_for[by->role], by->what);
	nic_store(&c->fetch_since[by->role], since);
}

enum nic_copy_result nic_fetch_pages(struct nic *nic, struct nic_page_waiter by,
				     const struct nic_piece *dst, u32 ndst,
				     const struct nic_piece *src, u32 nsrc, u64 length)
{
	u64 since = nic_page_wait_since(&by);
	enum nic_copy_result result;

	if (!since)
		since = plat_clock();
	result = plat_fetch(nic, dst, ndst, src, nsrc, length, since);
	if (nic_is_later(result))
		nic_page_wait_begin(&by, since);
	return result;
}

void nic_fetch_ahead(struct nic *nic, const struct nic_piece *dst, u32 ndst,
		     const struct nic_piece *src, u32 nsrc, u64 length)
{
	(void)plat_fetch(nic, dst, ndst, src, nsrc, length, plat_clock());
}

enum nic_copy_result nic_copy_again(struct nic *nic, struct nic_page_waiter by,
				    const struct nic_piece *dst, u32 ndst,
				    const struct nic_piece *src, u32 nsrc, u64 length)
{
	enum nic_copy_result result = nic_fetch_pages(nic, by, dst, ndst, src, nsrc, length);

	if (result != NIC_COPY_OK)
		return result;
	/* The pages have arrived meanwhile, and may have been evicted again. */
	result = plat_copy(nic, dst, ndst, src, nsrc, length);
	if (nic_is_later(result) && !nic_page_wait_since(&by))
		nic_page_wait_begin(&by, plat_clock());
	return result;
}

u32 nic_slice(const struct nic_piece *piece, u32 n, u64 offset, u64 length, struct nic_piece *out)
{
	u32 i, made = 0;

	for (i = 0; i < n && length; i++) {
		struct nic_piece part = piece[i];

		if (offset >= part.length) {
			offset -= part.length;
			continue;
		}
		part.addr += offset;
		part.length -= offset;
		offset = 0;
		if (part.length > length)
			part.length = length;
		length -= part.length;
		out[made++] = part;
	}
	return made;
}

/* Bytes of the request that were moved to this receive so far. */
static u64 nic_moved(const struct nic_qp_counters *c, u32 of, u64 to, u64 length)
{
	return c->moved_of == of && c->moved_to == to && c->moved < length ? c->moved : 0;
}

/*
 * Moves one piece of a long request. Its other pages need not be present at the same time, as
 * memory may be smaller than the request.
 */
enum nic_copy_result nic_copy_piece(struct nic *nic, struct nic_page_waiter by, u64 to,
				    const struct nic_piece *dst, u32 ndst,
				    const struct nic_piece *src, u32 nsrc, u64 length)
{
	struct nic_qp_counters *c = &by.qp->counters;
	struct nic_piece into[VNET_MAX_SGE + 2] NIC_SCRATCH;
	struct nic_piece from[VNET_MAX_SGE + 2] NIC_SCRATCH;
	u64 begin = nic_moved(c, by.what, to, length);
	u64 n = length - begin < NIC_PIECE_BYTES ? length - begin : NIC_PIECE_BYTES;
	enum nic_copy_result result;

	result = nic_copy(nic, by, into, nic_slice(dst, ndst, begin, n, into), from,
			  nic_slice(src, nsrc, begin, n, from), n);
	if (result == NIC_COPY_OK && begin + n < length) {
		begin += n;
		result = NIC_COPY_PART;
		/* The request made progress, so its next wait is a new one. */
		nic_store(&by.qp->wait, NIC_WAIT_TURN);
	} else if (!nic_is_later(result)) {
		begin = 0;
	}
	c->moved_of = by.what;
	c->moved_to = to;
	c->moved = begin;
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
