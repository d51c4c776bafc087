/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Between the firmware's own files; grouped by the file that implements them.
 */
#ifndef NIC_INTERNAL_H
#define NIC_INTERNAL_H

#include "nic_lock.h"

/* -- look-ups: NULL for a number that is out of range or not in use */

static inline struct nic_qp *nic_find_qp(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = &nic->qp[qpn & nic->qp_index_mask];

	return qpn && nic_load(&qp->qpn) == qpn ? qp : NULL;
}

static inline u32 nic_qp_index(const struct nic *nic, const struct nic_qp *qp)
{
	return (u32)(qp - nic->qp);
}

static inline struct nic_cq *nic_find_cq(struct nic *nic, u32 cqn)
{
	struct nic_cq *cq = &nic->cq[(cqn - 1) & (nic->max_cq - 1)];

	return cqn && nic_load(&cq->num) == cqn ? cq : NULL;
}

static inline struct nic_srq *nic_find_srq(struct nic *nic, u32 srqn)
{
	struct nic_srq *srq = &nic->srq[(srqn - 1) & (nic->max_srq - 1)];

	return srqn && nic_load(&srq->rq.num) == srqn ? srq : NULL;
}

static inline struct nic_mr *nic_find_mr(struct nic *nic, u32 key)
{
	struct nic_mr *mr = &nic->mr[(key >> NIC_KEY_TAG_BITS) & (nic->max_mr - 1)];

	return key && nic_load(&mr->key) == key ? mr : NULL;
}

/* -- nic_event.c: completion channels and asynchronous events */

/* Raise an event of an object (kind as in struct nic_async). Any locks held. */
void nic_raise_qp(struct nic *nic, struct nic_qp *qp, enum nic_event event);
void nic_raise_cq(struct nic *nic, struct nic_cq *cq, enum nic_event event);
void nic_raise_srq(struct nic *nic, struct nic_srq *srq, enum nic_event event);
/*
 * The CQ got entries and its lock was released since: make an event if it is
 * armed. false: the channel's lock could not be had; call again later.
 */
bool nic_cq_notify(struct nic *nic, struct nic_cq *cq, bool solicited);

/* -- nic_wait.c: pending endpoints */

/* Mark the QP as having work for the NIC processor, and wake that if needed. */
void nic_pend(struct nic *nic, struct nic_qp *qp);
void nic_unpend(struct nic *nic, struct nic_qp *qp);

/* -- nic_send.c: the requester */

/*
 * Run the send queue (and the deferred flush of the receive queue) as far as
 * it goes, at most `budget` requests. The caller holds nothing.
 */
void nic_qp_run(struct nic *nic, struct nic_qp *qp, u32 budget);

/* -- nic_mr.c: keys */

/*
 * Check that key names memory of pdn with the wanted rights (enum nic_access)
 * over [addr, addr + length), and tell where it is. qpn: for windows of type
 * 2. false: it does not. Length 0 is always allowed.
 */
bool nic_check_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr, u64 length,
		   struct nic_piece *piece);
/* Bind a window (or unbind, length 0): VNET_WC_SUCCESS, or why not. */
enum vnet_wc_status nic_bind_window(struct nic *nic, struct nic_qp *qp,
				    const struct vnet_wqe_bind *bind);
/* Local or remote invalidate of a type 2 window's key: false if not allowed. */
bool nic_invalidate_key(struct nic *nic, const struct nic_qp *qp, u32 key);

#endif /* NIC_INTERNAL_H */
