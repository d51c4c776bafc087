// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: create, query and destroy. objects/qp_modify.c has modify. */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "transport/transport.h"
#include "ether/ether.h"
#include "pending/pending.h"
#include "objects/objects.h"

static struct nic_srq *nic_qp_srq(struct nic *nic, const struct nic_qp *qp)
{
	return qp->srqn ? nic_find_srq(nic, qp->srqn) : NULL;
}

bool nic_qp_lock_all(struct nic *nic, struct nic_qp *qp)
{
	struct nic_srq *srq = nic_qp_srq(nic, qp);

	if (!nic_lock(nic, &qp->sq_lock))
		return false;
	if (!nic_lock(nic, &qp->rq.lock))
		goto unlock_sq;
	if (!srq || nic_lock(nic, &srq->rq.lock))
		return true;
	nic_unlock(&qp->rq.lock);
unlock_sq:
	nic_unlock(&qp->sq_lock);
	return false;
}

void nic_qp_unlock_all(struct nic *nic, struct nic_qp *qp)
{
	struct nic_srq *srq = nic_qp_srq(nic, qp);

	if (srq && nic_holds(nic, &srq->rq.lock))
		nic_unlock(&srq->rq.lock);
	nic_unlock(&qp->rq.lock);
	nic_unlock(&qp->sq_lock);
}

/* The QP whose one-sided operations access this QP's memory; or NULL. */
static struct nic_qp *nic_qp_connected(struct nic *nic, struct nic_qp *qp)
{
	struct nic_qp *peer = nic_find_qp(nic, qp->attr.dest_qpn);

	if (!peer || peer == qp || qp->type == NIC_QPT_UD ||
	    nic_load(&peer->attr.dest_qpn) != qp->qpn)
		return NULL;
	return peer;
}

bool nic_qp_seal(struct nic *nic, struct nic_qp *qp)
{
	struct nic_qp *peer = nic_qp_connected(nic, qp);
	int turns;

	nic_store(&qp->state, NIC_QPS_RESET);
	if (!peer)
		return true;
	/*
	 * One-sided operations take no lock of this QP. Their executor takes its own lock and then
	 * checks this QP's state; this is the reverse order.
	 */
	nic_barrier();
	for (turns = 0; turns < NIC_LOCK_SPINS; turns++) {
		if (!nic_load_acquire(&peer->sq_lock))
			return true;
		plat_relax();
	}
	return false;
}

u32 nic_qp_lock_owner(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);
	struct nic_qp *peer;
	struct nic_srq *srq;
	u32 holder;

	if (!qp)
		return 0;
	holder = nic_load(&qp->sq_lock);
	if (!holder)
		holder = nic_load(&qp->rq.lock);
	srq = nic_qp_srq(nic, qp);
	if (!holder && srq)
		holder = nic_load(&srq->rq.lock);
	peer = nic_qp_connected(nic, qp);
	if (!holder && peer)
		holder = nic_load(&peer->sq_lock);
	return holder;
}

/* ------------------------------------------------------------------ create */

static bool nic_qp_sq_ok(struct nic *nic, const struct nic_qp_params *p)
{
	u32 tail = p->max_send_sge * (u32)sizeof(struct vnet_sge);

	if (tail < p->max_inline)
		tail = p->max_inline;
	return p->max_send_sge <= VNET_MAX_SGE && p->max_inline <= VNET_MAX_INLINE &&
	       nic_slot_holds(p->sq_stride_shift, VNET_WQE_HDR_SIZE, tail) &&
	       nic_ring_check(nic, p->sq_ring, p->sq_entries, p->sq_stride_shift);
}

static bool nic_qp_rq_ok(struct nic *nic, const struct nic_qp_params *p)
{
	const struct nic_srq *srq;

	if (nic_is_extended(p->type))
		return !p->srqn && !p->rq_entries && !p->recv_cqn;
	/* Not for unreliable connections (IB vol 1, 10.2.9). */
	if (p->srqn) {
		srq = nic_find_srq(nic, p->srqn);
		return p->type != NIC_QPT_UC && !p->rq_entries && srq && !srq->xrcdn &&
		       (!srq->tm || p->type == NIC_QPT_RC);
	}
	return p->max_recv_sge <= VNET_MAX_SGE &&
	       nic_slot_holds(p->rq_stride_shift, VNET_RECV_HDR_SIZE,
			      p->max_recv_sge * sizeof(struct vnet_sge)) &&
	       nic_ring_check(nic, p->rq_ring, p->rq_entries, p->rq_stride_shift);
}

static bool nic_type_is_ether(u8 type)
{
	return type == NIC_QPT_RAW_PACKET || type == NIC_QPT_WQ;
}

static bool nic_qp_params_ok(struct nic *nic, const struct nic_qp_params *p)
{
	if (!p->qpn || p->qpn >> NIC_QPN_BITS)
		return false;
	if (p->type != NIC_QPT_RC && p->type != NIC_QPT_UC && p->type != NIC_QPT_UD &&
	    !nic_type_is_ether(p->type) && !nic_is_extended(p->type))
		return false;
	if (p->type == NIC_QPT_WQ && p->srqn)
		return false;
	if (p->returns && p->type != NIC_QPT_UD)
		return false;
	if (!p->xrcdn != (p->type != NIC_QPT_XRC_TGT))
		return false;
	if (p->type == NIC_QPT_XRC_TGT ? p->send_cqn : !nic_find_cq(nic, p->send_cqn))
		return false;
	return (nic_is_extended(p->type) || nic_find_cq(nic, p->recv_cqn)) &&
	       nic_qp_sq_ok(nic, p) && nic_qp_rq_ok(nic, p);
}

/* Clear all but the two lock words, which are held. */
static void nic_qp_wipe(struct nic_qp *qp)
{
	const size_t rq_lock = offsetof(struct nic_qp, rq.lock);
	u8 *bytes = (u8 *)qp;

	memset(bytes + sizeof(qp->sq_lock), 0, rq_lock - sizeof(qp->sq_lock));
	memset(bytes + rq_lock + sizeof(qp->rq.lock), 0,
	       sizeof(*qp) - rq_lock - sizeof(qp->rq.lock));
}

static u8 nic_transport_of(u8 type)
{
	if (nic_is_extended(type))
		return NIC_QPT_RC;
	return nic_type_is_ether(type) ? NIC_QPT_RAW_PACKET : type;
}

static void nic_qp_fill(struct nic_qp *qp, const struct nic_qp_params *p)
{
	qp->type = nic_transport_of(p->type);
	qp->kind = p->type;
	qp->peer_kind = nic_is_extended(p->type) ? NIC_NO_PEER_KIND : p->type;
	qp->xrcdn = p->xrcdn;
	qp->state = NIC_QPS_RESET;
	qp->sq_sig_all = p->sq_sig_all;
	qp->sq_shift = p->sq_stride_shift;
	qp->pdn = p->pdn;
	qp->sq_ring = p->sq_ring;
	qp->sq_mask = p->sq_entries - 1;
	qp->send_cqn = p->send_cqn;
	qp->space = p->space;
	qp->max_inline = p->max_inline;
	qp->max_send_sge = p->max_send_sge;
	qp->recv_cqn = p->recv_cqn;
	qp->srqn = p->srqn;
	qp->owner_pid = p->owner_pid;
	qp->privileged = p->privileged;
	qp->returns = p->returns;
	qp->row = NIC_NONE;
	qp->frame = NIC_NONE;
	if (p->type == NIC_QPT_XRC_TGT) {
		/*
		 * XRC: protection domain and receives are those of the SRQ that each request names.
		 */
		qp->srqn = NIC_SRQ_NAMED;
		qp->pdn = NIC_NONE;
	}
	if (qp->srqn || nic_is_extended(p->type))
		return;
	qp->rq.ring = p->rq_ring;
	qp->rq.mask = p->rq_entries - 1;
	qp->rq.shift = p->rq_stride_shift;
	qp->rq.max_sge = p->max_recv_sge;
	qp->rq.num = p->qpn;
	qp->rq.pdn = p->pdn;
	qp->rq.space = p->space;
	qp->rq.lossy = 1;
}

u32 nic_qp_next(const struct nic *nic, u32 i)
{
	u64 word;

	while (i < nic->max_qp) {
		word = nic_load(&nic->made[i / 64]) >> (i % 64);
		if (word)
			return i + (u32)__builtin_ctzll(word);
		i = (i | 63) + 1;
	}
	return nic->max_qp;
}

/*
 * Grace periods and recovery visit only the queue pairs in this bitmap. So the bit is set
 * before the queue pair exists, and stays set.
 */
static void nic_qp_note(struct nic *nic, u32 index)
{
	nic_fetch_or(&nic->made[index / 64], 1ull << (index % 64));
}

enum nic_result nic_qp_create(struct nic *nic, const struct nic_qp_params *p)
{
	struct nic_qp *qp;

	if (!nic_qp_params_ok(nic, p))
		return NIC_EINVAL;
	qp = &nic->qp[nic_qpn_index(nic, p->qpn)];
	if (nic_load(&qp->qpn))
		return NIC_EINUSE;
	nic_qp_note(nic, nic_qp_index(nic, qp));
	/* An earlier QP of this entry may still have a lock holder. */
	if (!nic_lock(nic, &qp->sq_lock))
		return NIC_BUSY;
	if (!nic_lock(nic, &qp->rq.lock)) {
		nic_unlock(&qp->sq_lock);
		return NIC_BUSY;
	}
	nic_qp_wipe(qp);
	nic_qp_fill(qp, p);
	nic_store_release(&qp->qpn, p->qpn);
	nic_unlock(&qp->rq.lock);
	nic_unlock(&qp->sq_lock);
	return NIC_OK;
}

/* ---------------------------------------------------------- query, destroy */

enum nic_result nic_qp_query(struct nic *nic, u32 qpn, struct nic_qp_attr *attr, u8 *state,
			     u8 *sq_draining)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp)
		return NIC_EINVAL;
	/* Only commands write attributes, and one runs at a time. */
	*attr = qp->attr;
	*state = nic_load(&qp->state);
	*sq_draining = *state == NIC_QPS_SQD && nic_load(&qp->sq_draining);
	return NIC_OK;
}

enum nic_result nic_qp_destroy(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp)
		return NIC_EINVAL;
	/*
	 * Executors of this QP hold sq_lock, those that deliver to it rq.lock. With both locks
	 * held, only a peer's one-sided operation can be under way (nic_qp_seal()). Without its
	 * number, no new operation finds the QP.
	 */
	if (!nic_qp_lock_all(nic, qp))
		return NIC_BUSY;
	if (!nic_vn_teardown(nic, qp) || !nic_qp_seal(nic, qp)) {
		nic_qp_unlock_all(nic, qp);
		return NIC_BUSY;
	}
	nic_members_remove(nic, qpn);
	nic_flows_remove(nic, qpn);
	nic_store(&qp->qpn, 0);
	nic_store(&qp->rq.num, 0);
	nic_store(&qp->flush_rq, 0);
	nic_unpend(nic, qp);
	nic_xchg(&qp->async_pending, 0);
	nic_qp_unlock_all(nic, qp);
	return NIC_OK;
}

void nic_counters_add(struct nic_qp_counters *sum, const struct nic_qp_counters *c)
{
	sum->sent_msgs += nic_load(&c->sent_msgs);
	sum->sent_bytes += nic_load(&c->sent_bytes);
	sum->send_errors += nic_load(&c->send_errors);
	sum->rnr_waits += nic_load(&c->rnr_waits);
	sum->retries += nic_load(&c->retries);
	sum->got_msgs += nic_load(&c->got_msgs);
	sum->got_bytes += nic_load(&c->got_bytes);
	sum->dropped += nic_load(&c->dropped);
}
