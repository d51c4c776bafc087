// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast datagrams between NICs: the sender's copies, and their delivery to members. A link
 * connects two NICs. So after the delivery to the members on its own NIC (objects/group.c), the
 * sender sends a packet to each other NIC that has a row. The receiving NIC delivers the packet to
 * its members. Waits are short, because a slow receiver must not delay the others. Ethernet frames
 * are sent in the same way (vn/ether.c).
 */
#include "address/address.h"
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "responder/responder.h"
#include "objects/objects.h"
#include "requester/requester.h"
#include "vn/vn.h"

/* A NIC that has not answered this number of calls (255 ms) gets no copies. */
#define NIC_GROUP_CALLS 8u

/* ----------------------------------------------------------------- the sender */

bool nic_has_remote_copies(const struct nic *nic, const struct nic_qp *qp,
			   const struct vnet_send_wqe *wqe)
{
	return nic_is_wired(nic) &&
	       (qp->type == NIC_QPT_RAW_PACKET ||
		(qp->type == NIC_QPT_UD && wqe->ud.remote_qpn == NIC_GROUP_QPN));
}

/* A NIC with several GIDs may have several rows. */
static bool nic_is_same_nic(const struct nic_row *a, const struct nic_row *b)
{
	u64 x[4], y[4], life = nic_load(&a->incarnation);

	static_assert(sizeof(x) == sizeof(struct nic_address), "addresses");
	if (life && life == nic_load(&b->incarnation))
		return true;
	memcpy(x, &a->address, sizeof(x));
	memcpy(y, &b->address, sizeof(y));
	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/*
 * Does the row lead to another NIC? On an InfiniBand port, by LID, so that receivers see the LID.
 */
static bool nic_row_is_remote(const struct nic *nic, const struct nic_row *row)
{
	return nic_load(&row->state) != NIC_ROW_FREE && !nic_is_own_gid(nic, row->gid) &&
	       (!nic->hdr->lid || nic_gid_lid(row->gid));
}

/*
 * Rank of a row as the way to its NIC: 2: the NIC answers; 1: it is being called; 0: it does not
 * answer.
 */
static u32 nic_row_rank(const struct nic_row *row)
{
	if (nic_load(&row->state) == NIC_ROW_UP)
		return nic_load(&row->giveups) < NIC_MAX_GIVEUPS ? 2 : 0;
	return nic_load(&row->calls) <= NIC_GROUP_CALLS;
}

/* Of the rows of one NIC, copies use the first one with the highest rank. */
static bool nic_row_is_preferred(const struct nic *nic, u32 n)
{
	const struct nic_row *row = &nic->row[n];
	u32 i, rank = nic_row_rank(row), other;

	for (i = 0; i < nic_row_high(nic); i++) {
		other = nic_row_rank(&nic->row[i]);
		if (i == n || other < rank || (other == rank && i > n))
			continue;
		if (nic_is_same_nic(&nic->row[i], row) && nic_row_is_remote(nic, &nic->row[i]))
			return false;
	}
	return true;
}

/* Call a silent NIC. It gets no copies until a frame has arrived from it. */
static void nic_row_probe_silent(struct nic *nic, struct nic_row *row)
{
	if (!nic_lock(nic, &row->lock))
		return;
	nic_row_activate(nic, row);
	nic_row_probe(nic, row, plat_clock());
	nic_unlock(&row->lock);
}

u32 nic_group_next(struct nic *nic, u32 row)
{
	bool silent;

	for (; row < nic_row_high(nic) && row < NIC_MARK_MOST; row++) {
		if (!nic_row_is_remote(nic, &nic->row[row]))
			continue;
		silent = !nic_row_rank(&nic->row[row]);
		if (silent)
			nic_row_probe_silent(nic, &nic->row[row]);
		if (!nic_row_is_preferred(nic, row))
			continue;
		if (!silent)
			return row;
		/* None of the NIC's rows is answered. */
		nic_count(nic, unreachable);
	}
	return NIC_NONE;
}

/* Does the queue have a request, begun or not, with copies for other NICs? */
static bool nic_sq_has_copies(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring)
{
	struct nic_request r = { .nic = nic, .qp = qp };
	u32 i = nic_load(&qp->sq_cons), n = nic_load_acquire(&ring->prod) - i;

	/* The producer index may be corrupted. */
	if (n > qp->sq_mask + 1)
		n = qp->sq_mask + 1;
	for (; n; i++, n--) {
		nic_fetch(&r, ring, i);
		if (nic_has_remote_copies(nic, qp, &r.wqe))
			return true;
	}
	return false;
}

bool nic_mcast_is_pending(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);
	const struct vnet_ring *ring;

	if (!qp || !nic_is_unordered(qp->type) || nic_load(&qp->state) != NIC_QPS_RTS)
		return false;
	if (qp->attr.rate_limit)
		return false;
	ring = nic_sq_ring(nic, qp);
	return ring && nic_sq_has_copies(nic, qp, ring);
}

/* --------------------------------------------------------------- the receiver */

bool nic_group_of(const struct vnet_frame_op *op, u8 *gid)
{
	if (likely(op->dst_qpn != nic_to_le32(NIC_GROUP_QPN) || op->qp_type != NIC_QPT_UD))
		return false;
	memcpy(gid, op->group_high, 8);
	memcpy(gid + 8, op->group_low, 8);
	return nic_is_group_gid(gid);
}

/* Is the queue pair of the right type, in a state to receive, and with the right Q_Key? */
static bool nic_member_takes(struct nic *nic, const struct nic_qp *qp,
			     const struct vnet_frame_op *op)
{
	u8 state = nic_load(&qp->state);

	if (qp->type != op->qp_type || state < NIC_QPS_RTR || state == NIC_QPS_ERR) {
		nic_count(nic, drop_no_qp);
		return false;
	}
	if (nic_is_ether(op) || nic_le32(op->read_len) == qp->attr.qkey)
		return true;
	nic_count(nic, drop_qkey);
	return false;
}

/* The queue that the member takes its receives from. */
static struct nic_rq *nic_member_rq(struct nic *nic, struct nic_qp *qp)
{
	struct nic_srq *srq = qp->srqn ? nic_find_srq(nic, qp->srqn) : NULL;

	return srq ? &srq->rq : &qp->rq;
}

/* No receive: wait for one, or lose the packet? */
static enum nic_member_result nic_member_no_receive(struct nic_rq *rq, enum nic_rnr_wait wait)
{
	if (wait == NIC_RNR_WAIT && !nic_load(&rq->lossy))
		return NIC_MEMBER_RNR;
	if (wait != NIC_RNR_NO_WAIT)
		nic_store(&rq->lossy, 1);
	return NIC_MEMBER_DONE;
}

/* The caller holds the member's sq_lock; the member is executor and receiver. */
static enum nic_member_result nic_member_deliver(struct nic *nic, struct nic_qp *qp,
						 const struct nic_message *msg,
						 enum nic_rnr_wait wait)
{
	enum nic_member_result fate = NIC_MEMBER_DONE;
	u32 status;

	if (qp->op_phase != NIC_OP_IDLE) {
		nic_pend(nic, qp);
		return NIC_MEMBER_BUSY;
	}
	if (qp->type == NIC_QPT_UD)
		nic_established(nic, qp);
	qp->op_arrival = NIC_ARRIVAL_DATAGRAM;
	status = nic_deliver(nic, qp, qp, msg);
	if (qp->op_phase == NIC_OP_IDLE)
		qp->op_arrival = NIC_ARRIVAL_NONE;
	if (status == NIC_EXEC_BUSY)
		return NIC_MEMBER_BUSY;
	if (status == NIC_EXEC_NO_RECEIVE)
		fate = nic_member_no_receive(nic_member_rq(nic, qp), wait);
	/* Missing pages of a member are not waited for, either. */
	if ((status == NIC_EXEC_NO_RECEIVE || status == NIC_EXEC_PAGES) &&
	    fate == NIC_MEMBER_DONE) {
		qp->counters.dropped++;
		nic_count(nic, drop_no_receive);
	}
	return fate;
}

enum nic_member_result nic_member_arrive(struct nic *nic, struct nic_qp *qp,
					 const struct vnet_frame_op *op, struct nic_message *msg,
					 enum nic_rnr_wait wait)
{
	enum nic_member_result fate = NIC_MEMBER_DONE;

	if (!nic_member_takes(nic, qp, op))
		return NIC_MEMBER_DONE;
	if (!nic_lock(nic, &qp->sq_lock))
		return NIC_MEMBER_BUSY;
	nic_grace_point(nic, qp);
	msg->dest = qp->qpn;
	if (qp->qpn && nic_member_takes(nic, qp, op))
		fate = nic_member_deliver(nic, qp, msg, wait);
	nic_qp_unlock(nic, qp);
	return fate;
}

u32 nic_member_next(const struct nic_rx *rx, const struct vnet_frame_op *op)
{
	return rx->member_seq == nic_le32(op->seq) ? rx->member : 0;
}

bool nic_member_may_wait(const struct nic *nic, const struct nic_rx *rx,
			 const struct vnet_frame_op *op, u32 i)
{
	if (rx->member_seq != nic_le32(op->seq) || rx->member != i)
		return true;
	return nic_us(plat_clock()) - rx->member_since < nic->stall_ns / 1000;
}

bool nic_member_wait(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op, u32 i)
{
	u32 seq = nic_le32(op->seq);

	if (rx->member_seq == seq && rx->member == i)
		return nic_member_may_wait(nic, rx, op, i);
	rx->member = i;
	rx->member_since = nic_us(plat_clock());
	rx->member_seq = seq;
	return true;
}

bool nic_group_arrive(struct nic *nic, struct nic_rx *rx, const struct vnet_frame_op *op,
		      struct nic_message *msg)
{
	u32 i = nic_member_next(rx, op), members = 0;
	struct nic_qp *qp;
	u8 gid[16];

	nic_group_of(op, gid);
	msg->group = true;
	for (; i < nic_member_high(nic); i++) {
		qp = nic_member_find(nic, i, gid);
		if (!qp)
			continue;
		members++;
		if (nic_member_arrive(nic, qp, op, msg, NIC_RNR_NO_WAIT) != NIC_MEMBER_DONE &&
		    nic_member_wait(nic, rx, op, i))
			return false;
	}
	/* The sender does not know which NICs have members. */
	if (!members)
		nic_count(nic, drop_no_qp);
	return true;
}
