/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection and memory access: keys of regions and windows, the checks of access rights, copies
 * (also of memory that is paged on demand), flushes, and the grace period after which a revoked key
 * is not in use any more. The executor of a queue pair calls this room, and holds its sq_lock.
 *
 * Calls pending, for the wait for pages.
 */
#ifndef NIC_PROTECTION_H
#define NIC_PROTECTION_H

#include "layout/lookup.h"

/* -- copy.c: memory that is paged on demand */

/* Does this NIC have memory that is paged on demand? */
static inline bool nic_fetches(const struct nic *nic)
{
	return unlikely(nic->fetches && nic_load(nic->fetches));
}

/*
 * The operation that copies, and may wait for pages. what: index of a request in the send queue;
 * packet number of an arrival; or index of a receive, which other operations may wait for, too.
 */
struct nic_page_waiter {
	struct nic_qp *qp;
	u32 role;
	u32 what;
};

static inline struct nic_page_waiter nic_page_waiter(struct nic_qp *qp, enum nic_role role,
						     u32 what)
{
	return (struct nic_page_waiter){ .qp = qp, .role = role, .what = what };
}

/* plat_fetch(), recorded for this operation. */
enum nic_copy_result nic_fetch_pages(struct nic *nic, struct nic_page_waiter by,
				     const struct nic_piece *dst, u32 ndst,
				     const struct nic_piece *src, u32 nsrc, u64 length);
/*
 * Request the pages for the rest of a message in pieces, up to this many bytes: each packet that
 * finds pages missing costs a retransmission.
 */
#define NIC_FETCH_BLOCK (1ull << 20)
NIC_COLD void nic_fetch_ahead(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			      const struct nic_piece *src, u32 nsrc, u64 length);
/*
 * Request the missing pages of a failed copy. Returns NIC_COPY_*_LATER, or the result of the copy.
 */
NIC_COLD enum nic_copy_result nic_copy_again(struct nic *nic, struct nic_page_waiter by,
					     const struct nic_piece *dst, u32 ndst,
					     const struct nic_piece *src, u32 nsrc, u64 length);

/* plat_copy(); requests the pages if it returns NIC_COPY_*_LATER. */
static inline enum nic_copy_result nic_copy(struct nic *nic, struct nic_page_waiter by,
					    const struct nic_piece *dst, u32 ndst,
					    const struct nic_piece *src, u32 nsrc, u64 length)
{
	enum nic_copy_result result = plat_copy(nic, dst, ndst, src, nsrc, length);

	if (likely(!nic_is_later(result)))
		return result;
	return nic_copy_again(nic, by, dst, ndst, src, nsrc, length);
}

/*
 * Copy all data of the head request of by.qp; of a long one only the next piece. NIC_COPY_PART:
 * there is more, and the request waits for its next turn (NIC_WAIT_TURN). to: identifies the
 * receive, so that progress to another receive does not count; 0: the request names its
 * destination.
 */
NIC_COLD enum nic_copy_result nic_copy_piece(struct nic *nic, struct nic_page_waiter by, u64 to,
					     const struct nic_piece *dst, u32 ndst,
					     const struct nic_piece *src, u32 nsrc, u64 length);

static inline enum nic_copy_result nic_copy_long(struct nic *nic, struct nic_page_waiter by, u64 to,
						 const struct nic_piece *dst, u32 ndst,
						 const struct nic_piece *src, u32 nsrc, u64 length)
{
	if (likely(length <= NIC_PIECE_BYTES))
		return nic_copy(nic, by, dst, ndst, src, nsrc, length);
	return nic_copy_piece(nic, by, to, dst, ndst, src, nsrc, length);
}

/* Pieces of bytes [offset, offset + length) of a list; returns their number. */
u32 nic_slice(const struct nic_piece *piece, u32 n, u64 offset, u64 length, struct nic_piece *out);

/* The operation that waited for pages is complete: the next one starts a new record. */
static inline void nic_fetched(struct nic_qp *executor, enum nic_role role)
{
	if (unlikely(executor->counters.fetch_since[role]))
		nic_store(&executor->counters.fetch_since[role], 0);
}

/*
 * The head request waits for pages, its own or (!own) the receiver's. false: the request is
 * unreliable, and the limited wait for another process is over.
 */
NIC_COLD bool nic_wait_for_pages(struct nic *nic, struct nic_qp *qp, bool own);

/* -- grace.c: waiting for operations under way */

/*
 * The executor of qp is between two operations: it does not use any earlier look-up from here on.
 * Acquire pairs with nic_grace_begin(): an executor that sees the new epoch sees what was revoked
 * before.
 */
static inline void nic_grace_point(struct nic *nic, struct nic_qp *qp)
{
	u32 epoch = nic_load_acquire(&nic->hdr->grace_epoch);

	if (unlikely(epoch != qp->grace_seen))
		nic_store_release(&qp->grace_seen, epoch);
}

/* -- placement.c: flushes */

/* The range and rights of a flush. */
struct nic_placement {
	u32 key;
	/* Rights that it needs (enum nic_access), by its placement types. */
	u32 access;
	/* The whole region; otherwise this range. */
	bool whole;
	u64 addr;
	u64 length;
};

/* Decode vnet_flush_operand(); false: invalid. */
bool nic_placement_read(u64 operand, struct nic_placement *p);
/* Execute a flush for the responder's queue pair: VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_placement_run(struct nic *nic, const struct nic_qp *qp, u32 pdn,
				      const struct nic_placement *p);

/* -- keys.c */

/*
 * nic_check_key() for an ordinary region and a range that is not empty; false: look further. Like
 * every reader of an entry, it compares key and version before and after (keys.c).
 */
static inline __attribute__((__always_inline__)) bool nic_check_region(struct nic *nic, u32 key,
								       u32 pdn, u32 access,
								       u64 addr, u64 length,
								       struct nic_piece *piece)
{
	u32 index = nic_key_index(nic, key);
	const struct nic_mr *mr = &nic->mr[index];
	u64 offset, size;
	u32 version;

	/* Both pair with the release that made the key valid. */
	version = nic_load_acquire(&mr->version);
	if (unlikely(!nic_is_key(key) || nic_load_acquire(&mr->key) != key || !length))
		return false;
	offset = addr - nic_load(&mr->iova);
	size = nic_load(&mr->length);
	if (unlikely(nic_load(&mr->kind) != NIC_MR_REGION || nic_load(&mr->pdn) != pdn ||
		     access & ~nic_load(&mr->access) || offset > size || length > size - offset))
		return false;
	piece->addr = nic_load(&mr->addr) + offset;
	piece->length = length;
	piece->space = nic_load(&mr->space);
	piece->mr = index;
	/* Orders the loads above before those below. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return nic_load(&mr->key) == key && nic_load(&mr->version) == version;
}

/* nic_check_key() for any key and range. */
bool nic_check_any_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr, u64 length,
		       struct nic_piece *piece);

/*
 * Does the key name memory of pdn with the given rights (enum nic_access) over [addr, addr +
 * length)? Sets *piece. qpn: for type 2 windows. Length 0 is always allowed.
 */
static inline bool nic_check_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr,
				 u64 length, struct nic_piece *piece)
{
	return likely(nic_check_region(nic, key, pdn, access, addr, length, piece)) ||
	       nic_check_any_key(nic, key, pdn, qpn, access, addr, length, piece);
}

/* The same for a flush; its key is checked even if the range is empty. */
bool nic_check_placement(struct nic *nic, u32 pdn, u32 qpn, const struct nic_placement *p);
/* Bind a window (length 0: unbind): VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_bind_window(struct nic *nic, struct nic_qp *qp,
				    const struct vnet_wqe_bind *bind);
/* Register a region whose pages the host knows: VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_register(struct nic *nic, struct nic_qp *qp,
				 const struct vnet_wqe_bind *reg);
/*
 * Invalidate a fast registration or type 2 window of qp, locally or for a remote request, by the
 * executor. Returns VNET_WC_SUCCESS, the error, or NIC_EXEC_WAIT.
 */
u32 nic_invalidate_key(struct nic *nic, struct nic_qp *executor, const struct nic_qp *qp, u32 key);
/*
 * The executor of this QP died: close the object whose key it was changing, so that a repeated
 * operation finds a valid key, and can be executed.
 */
void nic_key_recover(struct nic *nic, const struct nic_qp *executor, u32 owner);

#endif /* NIC_PROTECTION_H */
