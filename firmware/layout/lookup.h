/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Look-ups of objects by number, in the tables of NIC memory, and small helpers for values that a
 * process may change.
 */
#ifndef NIC_LOOKUP_H
#define NIC_LOOKUP_H

#include "layout/lock.h"

/* -- NULL for a number that is out of range or not in use */

static inline struct nic_qp *nic_find_qp(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = &nic->qp[nic_qpn_index(nic, qpn)];

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
	struct nic_srq *srq = &nic->srq[nic_srqn_index(nic, srqn)];

	return srqn && nic_load(&srq->rq.num) == srqn ? srq : NULL;
}

/*
 * The SRQ that messages for a QP take receives from. named: SRQ number in the request, for XRC.
 * NULL: the QP has no SRQ, or its domain has no such SRQ.
 */
static inline struct nic_srq *nic_srq_of(struct nic *nic, const struct nic_qp *qp, u32 named)
{
	u32 srqn = nic_load(&qp->srqn);
	struct nic_srq *srq;

	if (likely(srqn != NIC_SRQ_NAMED))
		return nic_find_srq(nic, srqn);
	srq = nic_find_srq(nic, named);
	return srq && srq->xrcdn == qp->xrcdn ? srq : NULL;
}

/* Not 0, and without the bit of a claim. */
static inline bool nic_is_key(u32 key)
{
	return key && !(key & NIC_KEY_CLAIMED);
}

static inline struct nic_mr *nic_find_mr(struct nic *nic, u32 key)
{
	struct nic_mr *mr = &nic->mr[nic_key_index(nic, key)];

	return nic_is_key(key) && nic_load(&mr->key) == key ? mr : NULL;
}

static inline bool nic_is_extended(u8 type)
{
	return type == NIC_QPT_XRC_INI || type == NIC_QPT_XRC_TGT;
}

/* The receive queue that an intent record names. */
static inline struct nic_rq *nic_find_rq(struct nic *nic, u32 num, bool is_srq)
{
	struct nic_srq *srq;
	struct nic_qp *qp;

	if (is_srq) {
		srq = nic_find_srq(nic, num);
		return srq ? &srq->rq : NULL;
	}
	qp = nic_find_qp(nic, num);
	return qp ? &qp->rq : NULL;
}

/*
 * Does a slot of 1 << shift bytes have room for `bytes` after its header? Checked at each use,
 * because the values stored at creation may be corrupted.
 */
static inline bool nic_slot_holds(u8 shift, u32 header, u32 bytes)
{
	return likely(shift < 16 && bytes < 1u << 16 && 1u << shift >= header + bytes);
}

/* Prevents the compiler from reading again what a process may change. */
#define nic_read_once_barrier() __asm__ __volatile__("" ::: "memory")

/* Count an event in the counters of the NIC. */
#define nic_count(nic, what) nic_fetch_add(&(nic)->hdr->counters.what, 1)

#endif /* NIC_LOOKUP_H */
