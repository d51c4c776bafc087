// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester for other NICs: cuts requests into packets, and retires them in order. Up to
 * NIC_WINDOW packets are outstanding. A packet is not stored: each transmission gathers it again
 * from the request, which stays in the send queue until it is retired.
 */
#include "address/address.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "objects/objects.h"
#include "requester/requester.h"
#include "vn/sending.h"

/* Turns for which an endpoint that is to leave its frame sends nothing new. */
#define NIC_LEAVING_ROUNDS 3

void nic_vn_fail(struct nic_endpoint *ep, u32 psn, u32 status)
{
	u64 seen = nic_load(&ep->failed);

	/* The earliest packet counts, whichever thread comes first. */
	while (!seen || (s32)(psn - (u32)seen) < 0) {
		plat_step(NIC_STEP_FAIL);
		if (__atomic_compare_exchange_n(&ep->failed, &seen, nic_failure(psn, status), false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
}

void nic_vn_done(struct nic_endpoint *ep, u32 psn, u32 fate)
{
	u32 i = psn % NIC_WINDOW;

	nic_store(&ep->fate[ep->index[i] % NIC_WINDOW], (u8)fate);
	/* Last, and a full barrier: a thread that sees the bit sees the fate. */
	nic_fetch_or(&ep->done, 1ull << i);
}

void nic_vn_done_all(struct nic_endpoint *ep, u64 bits)
{
	for (; bits; bits &= bits - 1)
		nic_vn_done(ep, (u32)__builtin_ctzll(bits), VNET_WC_RETRY_EXC_ERR);
}

/* ------------------------------------------------------------------- retiring */

/* All packets of the request at sq_next have been made. */
static void nic_request_segmented(struct nic_endpoint *ep)
{
	nic_store_release(&ep->sq_next, ep->sq_next + 1);
	nic_store(&ep->cut, 0);
}

/* Advance `una` over the packets that are done. */
static void nic_window_advance(struct nic_endpoint *ep)
{
	while (ep->una != ep->next) {
		u64 bit = 1ull << (ep->una % NIC_WINDOW);

		/* Pairs with the fetch_or in nic_vn_done(). */
		if (!(nic_load_acquire(&ep->done) & bit))
			return;
		/*
		 * Stored first: if the process dies here, the stale bit is outside of the window.
		 */
		nic_store_release(&ep->una, ep->una + 1);
		nic_fetch_and(&ep->done, ~bit);
	}
}

/* Store the result of an atomic operation; returns a status, or NIC_EXEC_PAGES. */
static u32 nic_retire_atomic(struct nic_sending *s, u32 psn)
{
	u64 old = s->ep->result[psn % NIC_WINDOW];
	struct nic_piece here = { .addr = (u64)(unsigned long)&old,
				  .length = 8,
				  .space = NIC_SPACE_POINTER };
	u32 status = nic_gather(&s->r, NIC_ACCESS_LOCAL_WRITE);
	enum nic_copy_result result;

	if (status)
		return status;
	if (s->r.length != 8)
		return VNET_WC_LOC_LEN_ERR;
	s->qp->op_bytes = 8;
	result = nic_copy(s->nic, nic_page_waiter(s->qp, NIC_REQUESTS, s->r.index), s->r.local,
			  s->r.nlocal, &here, 1, 8);
	if (unlikely(nic_is_later(result)))
		return NIC_EXEC_PAGES;
	return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
}

/* End the head request with `status`. false: a lock is held by another, call again. */
static bool nic_head_complete(struct nic_sending *s, u32 status)
{
	struct nic_qp *qp = s->qp;

	if (status == VNET_WC_SUCCESS) {
		qp->counters.sent_msgs++;
		qp->counters.sent_bytes += s->r.length;
	} else {
		nic_send_failed(s->nic, qp, status);
	}
	qp->op_status = (u8)status;
	nic_store_release(&qp->op_phase, NIC_OP_EXECUTED);
	if (!nic_retire(s->nic, qp, &s->r.wqe))
		return false;
	nic_drained(s->nic, qp);
	return true;
}

/* Retire completed requests, up to the first that failed. false: not all, call again. */
static bool nic_vn_retire(struct nic_sending *s, struct vnet_ring *ring)
{
	struct nic_endpoint *ep = s->ep;
	struct nic_qp *qp = s->qp;
	u32 status, retired = 0;
	u64 failed;
	bool fate;

	nic_window_advance(ep);
	while (qp->sq_cons != ep->sq_next || ep->cut) {
		bool whole = qp->sq_cons != ep->sq_next;
		u32 last = whole ? ep->last[qp->sq_cons % NIC_WINDOW] : ep->next - 1;

		/* More than can be outstanding: the indices are corrupted. */
		if (unlikely(retired++ > NIC_WINDOW))
			return false;
		fate = false;
		failed = nic_load_acquire(&ep->failed);
		status = VNET_WC_SUCCESS;
		if (failed && (s32)((u32)failed - last) <= 0)
			status = (u32)(failed >> 32);
		else if (whole && ((s32)(ep->una - last) > 0 || plat_broken(NIC_RULE_RETIRE)))
			fate = qp->returns;
		else
			return true;
		nic_fetch(&s->r, ring, qp->sq_cons);
		s->r.length = 0;
		/* A multicast datagram has no single fate: each copy has its own. */
		if (unlikely(fate) && !nic_is_group_datagram(s->nic, &s->r.wqe.ud))
			status = ep->fate[qp->sq_cons % NIC_WINDOW];
		if (!status && (ATOMICS & ~ATOMIC_WRITE & OP(s->r.wqe.opcode & 31)))
			status = nic_retire_atomic(s, last);
		else if (!status && !nic_gather(&s->r, 0) && s->r.wqe.opcode == VNET_WR_RDMA_READ)
			qp->op_bytes = (u32)s->r.length;
		if (unlikely(status == NIC_EXEC_PAGES)) {
			if (nic_head_action(qp) != NIC_HEAD_FLUSH)
				return false;
			/* The queue is flushed: its result is not needed. */
			status = VNET_WC_WR_FLUSH_ERR;
		}
		if (status && !nic_is_returned(qp, status)) {
			/* The answers to later packets are not needed. */
			nic_store(&ep->failed, 0);
			if (!whole)
				nic_request_segmented(ep);
		}
		if (!nic_head_complete(s, status))
			return false;
		if (status && !nic_is_returned(qp, status))
			return true;
	}
	return true;
}

/* -------------------------------------------------------------------- sending */

enum nic_sent {
	/* A packet was sent, or the request advanced; go on. */
	NIC_SENT,
	/* Nothing to do until an answer comes, or the process posts. */
	NIC_SENT_REST,
	/* Not possible now, and nothing will trigger it: leave the QP pending. */
	NIC_SENT_LATER,
	/* The head request is for this NIC. */
	NIC_SENT_LOCAL,
};

/*
 * End a request without sending a packet: it has failed, or (NIC_EXEC_DROPPED) is a datagram that
 * was lost for this reason. It completes after the requests before it. It takes no packet number,
 * because the responder waits for each of these.
 */
static enum nic_sent nic_packet_skip(struct nic_endpoint *ep, u32 status)
{
	u32 fate = status & NIC_EXEC_DROPPED ? status & ~NIC_EXEC_DROPPED : VNET_WC_SUCCESS;

	if (status & NIC_EXEC_DROPPED)
		status = VNET_WC_SUCCESS;
	nic_store(&ep->fate[ep->sq_next % NIC_WINDOW], (u8)fate);
	ep->last[ep->sq_next % NIC_WINDOW] = status ? ep->next : ep->next - 1;
	if (status)
		nic_vn_fail(ep, ep->next, status);
	nic_request_segmented(ep);
	return NIC_SENT;
}

/* Wait for an answer; if none is outstanding, the NIC processor tries again. */
static enum nic_sent nic_sent_wait(const struct nic_endpoint *ep)
{
	return ep->una != ep->next ? NIC_SENT_REST : NIC_SENT_LATER;
}

/*
 * The handshake with the other NIC is not complete, so no packet is outstanding whose timer would
 * expire. The oldest request is given up after the same timeout.
 */
static enum nic_sent nic_wait_for_row(struct nic_sending *s)
{
	struct nic_endpoint *ep = s->ep;
	const struct nic_qp *qp = s->qp;
	u32 *giveups = nic_giveups(s->row, qp, ep);
	u64 now = nic_timeout_clock(s->nic, plat_clock());
	u64 timeout = nic_giveup_timeout(s->nic, giveups);

	if (nic_load(&s->row->state) != NIC_ROW_CALLING)
		return nic_sent_wait(ep);
	if (!ep->waits_since)
		ep->waits_since = now;
	if (qp->type == NIC_QPT_RC)
		timeout = nic_transport_timeout(qp) * (qp->attr.retry_cnt + 1ull);
	/* A peer that refused the call will not answer. Acquire pairs with nic_handle_refuse(). */
	if (!nic_load_acquire(&s->row->refused) && (!timeout || now - ep->waits_since <= timeout))
		return NIC_SENT_LATER;
	nic_count(s->nic, unreachable);
	if (qp->type != NIC_QPT_RC)
		nic_count_giveup(giveups);
	ep->waits_since = 0;
	if (ep->una == ep->next && !ep->cut)
		return nic_packet_skip(ep, qp->type == NIC_QPT_RC ?
						   VNET_WC_RETRY_EXC_ERR :
						   NIC_EXEC_DROPPED | VNET_WC_RETRY_EXC_ERR);
	if (qp->type == NIC_QPT_RC)
		nic_vn_fail(ep, ep->una, VNET_WC_RETRY_EXC_ERR);
	else
		nic_vn_done_all(ep, ep->resend);
	nic_store(&ep->resend, 0);
	return NIC_SENT;
}

/* Call a NIC that is not known yet. The caller holds the row's lock. */
static void nic_row_start_call(struct nic *nic, struct nic_row *row)
{
	if (likely(row->state != NIC_ROW_CALLING))
		return;
	nic_row_activate(nic, row);
	nic_row_call(nic, row, plat_clock());
}

/* Record that the next packet of the request at sq_next is made. */
static void nic_packet_made(struct nic_sending *s, const struct nic_packet *packet)
{
	struct nic_endpoint *ep = s->ep;

	ep->last[ep->sq_next % NIC_WINDOW] = ep->next;
	/* Stored first: if the process dies here, a NIC gets no copy rather than two. */
	if (unlikely(packet->group))
		nic_store(&ep->cut, nic_group_mark(ep->sq_next, nic_row_index(s->nic, s->row) + 1));
	nic_store(&ep->next, ep->next + 1);
	if (READS & OP(packet->opcode))
		ep->read_end = ep->next;
	if (unlikely(packet->group))
		return;
	if (!packet->unordered)
		nic_store(&ep->cut, ep->cut + packet->length);
	if (packet->unordered || ep->cut >= s->r.length)
		nic_request_segmented(ep);
}

/* Transmit the packet on a free channel; false: there is none. Releases the row's lock. */
static bool nic_launch(struct nic_sending *s, const struct nic_packet *packet, u64 now)
{
	struct nic_endpoint *ep = s->ep;
	struct nic_row *row = s->row;
	u32 i = packet->psn % NIC_WINDOW;
	bool first = ep->una == ep->next;
	struct nic_tx *tx = nic_tx_take(s->nic, row, packet, now);

	if (!tx) {
		nic_unlock(&row->lock);
		return false;
	}
	ep->waits_since = 0;
	if (first || unlikely(ep->deferred))
		nic_store(&ep->answered, nic_timeout_clock(s->nic, now));
	nic_store(&ep->deferred, 0);
	ep->index[i] = packet->sq_index;
	ep->offset[i] = packet->offset;
	ep->length[i] = packet->length;
	ep->sent++;
	if (packet->psn == ep->next)
		nic_packet_made(s, packet);
	else
		nic_fetch_and(&ep->resend, ~(1ull << i));
	nic_transmit(s, tx, now);
	return true;
}

static u32 nic_popcount(u64 word)
{
	u32 n;

	for (n = 0; word; n++)
		word &= word - 1;
	return n;
}

/* Bits of the packets in [una, next). */
static u64 nic_window(const struct nic_endpoint *ep)
{
	u32 n = ep->next - ep->una, first = ep->una % NIC_WINDOW;
	u64 bits = n < NIC_WINDOW ? (1ull << n) - 1 : ~0ull;

	return first ? bits << first | bits >> (NIC_WINDOW - first) : bits;
}

/* Number of packets that occupy a channel. */
static u32 nic_in_flight(const struct nic_endpoint *ep)
{
	u64 off = (nic_load(&ep->resend) | nic_load(&ep->done)) & nic_window(ep);

	return ep->next - ep->una - nic_popcount(off);
}

/* If local pages vanished while the packet was gathered, do not try again at once. */
static enum nic_sent nic_sent(const struct nic_endpoint *ep)
{
	return unlikely(ep->deferred) ? NIC_SENT_LATER : NIC_SENT;
}

/* Send again the oldest packet that was taken back. */
static enum nic_sent nic_resend_oldest(struct nic_sending *s, const struct vnet_ring *ring)
{
	struct nic_endpoint *ep = s->ep;
	struct nic_packet packet = { .qpn = s->qp->qpn, .psn = ep->una };
	u32 i, status;

	for (i = 0; i < NIC_WINDOW && !(nic_load(&ep->resend) & 1ull << (packet.psn % NIC_WINDOW));
	     i++)
		packet.psn++;
	i = packet.psn % NIC_WINDOW;
	/*
	 * A process died between setting this bit and freeing the channel; the packet was
	 * acknowledged.
	 */
	if (unlikely(packet.psn - ep->una >= ep->next - ep->una)) {
		nic_fetch_and(&ep->resend, ~(1ull << i));
		return NIC_SENT;
	}
	/* While the oldest packet is refused, the others would be, too. */
	if (packet.psn != ep->una && nic_load(&ep->gated) &&
	    (nic_load(&ep->gate) == ep->una || nic_in_flight(ep) >= nic_load(&ep->allowed)))
		return NIC_SENT_REST;
	packet.sq_index = ep->index[i];
	packet.offset = ep->offset[i];
	packet.length = ep->length[i];
	nic_fetch(&s->r, ring, packet.sq_index);
	packet.opcode = s->r.wqe.opcode;
	status = packet.opcode <= VNET_WR_MAX ? nic_sending_gather(s) : VNET_WC_LOC_QP_OP_ERR;
	if (!status && !(ATOMICS & OP(packet.opcode)) &&
	    (u64)packet.offset + packet.length > s->r.length)
		status = VNET_WC_LOC_QP_OP_ERR;
	if (unlikely(!s->row))
		status = status ? status : VNET_WC_LOC_QP_OP_ERR;
	if (!status)
		status = nic_sending_fetch(s, packet.offset);
	if (unlikely(status == NIC_EXEC_PAGES)) {
		nic_store(&ep->deferred, 1);
		return NIC_SENT_LATER;
	}
	if (status) {
		nic_fetch_and(&ep->resend, ~(1ull << i));
		nic_vn_fail(ep, packet.psn, status);
		return NIC_SENT;
	}
	if (!nic_lock(s->nic, &s->row->lock))
		return NIC_SENT_LATER;
	nic_row_start_call(s->nic, s->row);
	if (nic_launch(s, &packet, plat_clock()))
		return nic_sent(ep);
	return nic_wait_for_row(s) == NIC_SENT ? NIC_SENT : NIC_SENT_LATER;
}

static enum nic_sent nic_send_packet(struct nic_sending *s)
{
	struct nic_endpoint *ep = s->ep;
	struct nic_row *row = s->row;
	bool unordered = nic_is_unordered(s->qp->type);
	u32 cut = unordered ? 0 : ep->cut;
	u64 left = s->r.length - cut, now = plat_clock();
	struct nic_packet packet = {
		.qpn = s->qp->qpn,
		.sq_index = ep->sq_next,
		.psn = ep->next,
		.offset = cut,
		.opcode = s->r.wqe.opcode,
		.unordered = unordered,
		.group = s->group,
	};
	u32 piece;

	if (!nic_lock(s->nic, &row->lock))
		return NIC_SENT_LATER;
	/* The row may have been reclaimed for another NIC since it was found. */
	if (unordered && !s->group &&
	    unlikely(s->reclaimed != nic_load(&s->nic->hdr->counters.reclaimed))) {
		nic_unlock(&row->lock);
		return NIC_SENT_LATER;
	}
	nic_row_start_call(s->nic, row);
	/* All packets of a message have the same length: see nic_arrive_early(). */
	if (!cut)
		ep->piece = nic_row_piece(s->nic, row, now);
	piece = ep->piece && ep->piece < nic_row_payload(row) ? ep->piece : nic_row_payload(row);
	packet.length = (u32)(left < piece || unordered ? left : piece);
	if (ATOMICS & OP(s->r.wqe.opcode))
		packet.length = 8;
	if (nic_launch(s, &packet, now))
		return nic_sent(ep);
	/* A NIC that does not answer calls is soon skipped: nic_group_next(). */
	if (unlikely(s->group))
		return nic_load(&row->state) == NIC_ROW_UP ? nic_sent_wait(ep) : NIC_SENT_LATER;
	return nic_wait_for_row(s);
}

/* Key operations affect other requests: execute them only when no packets are outstanding. */
static enum nic_sent nic_send_local(struct nic_sending *s)
{
	u32 status;

	if (s->ep->una != s->ep->next)
		return NIC_SENT_REST;
	status = nic_do_local(&s->r);
	if (status == NIC_EXEC_WAIT) {
		nic_store(&s->qp->wait, NIC_WAIT_NONE);
		return NIC_SENT_LATER;
	}
	return nic_packet_skip(s->ep, status);
}

/* Deliver to the group's members on this NIC, as nic_do_datagram() does. */
static u32 nic_deliver_own_group(struct nic_sending *s)
{
	u32 status = nic_gather(&s->r, 0);

	if (!status && s->r.length > NIC_MTU)
		status = VNET_WC_LOC_LEN_ERR;
	if (!status && nic_group_is_joined(s->nic, s->r.wqe.ud.dgid))
		return nic_do_datagram(&s->r);
	nic_group_forget(s->qp);
	return status;
}

/*
 * Deliver to the receivers on this NIC first. true: all had their turn; else *sent is the result.
 */
static bool nic_deliver_own(struct nic_sending *s, enum nic_sent *sent)
{
	struct nic_endpoint *ep = s->ep;
	u32 status = s->qp->type == NIC_QPT_UD ? nic_deliver_own_group(s) : nic_do_frame(&s->r);

	if (status == NIC_EXEC_WAIT || status == NIC_EXEC_MORE) {
		*sent = NIC_SENT_LATER;
		return false;
	}
	if (status) {
		*sent = nic_packet_skip(ep, status);
		return false;
	}
	nic_store(&ep->cut, nic_group_mark(ep->sq_next, 0));
	return true;
}

/* Multicast or raw packet: select the row of the next copy. false: *sent is the result. */
static bool nic_route_copy(struct nic_sending *s, enum nic_sent *sent)
{
	struct nic_endpoint *ep = s->ep;
	u32 row;

	if (!nic_has_remote_copies(s->nic, s->qp, &s->r.wqe)) {
		*sent = ep->una != ep->next ? NIC_SENT_REST : NIC_SENT_LOCAL;
		return false;
	}
	if (nic_group_at(ep->cut, ep->sq_next) == NIC_NONE && !nic_deliver_own(s, sent))
		return false;
	row = nic_group_next(s->nic, nic_group_at(ep->cut, ep->sq_next));
	if (row == NIC_NONE) {
		/* The last copy exists (or, after a death, was recorded and not sent). */
		ep->last[ep->sq_next % NIC_WINDOW] = ep->next - 1;
		nic_request_segmented(ep);
		*sent = NIC_SENT;
		return false;
	}
	/* The rows before it are done: copies that are dropped are counted once. */
	nic_store(&ep->cut, nic_group_mark(ep->sq_next, row));
	s->row = nic_row_at(s->nic, row);
	s->group = true;
	return true;
}

/* Select the row of a datagram or frame. true: s->row is set; else *sent is the result. */
static bool nic_route_datagram(struct nic_sending *s, enum nic_sent *sent)
{
	const struct vnet_wqe_ud *ud = &s->r.wqe.ud;
	u32 row;

	s->group = false;
	if (s->qp->type == NIC_QPT_UD && unlikely(!nic_has_source(s->nic, ud))) {
		*sent = nic_packet_skip(s->ep, VNET_WC_LOC_QP_OP_ERR);
		return false;
	}
	if (s->qp->type == NIC_QPT_RAW_PACKET || nic_is_group_datagram(s->nic, ud))
		return nic_route_copy(s, sent);
	nic_group_forget(s->qp);
	if (nic_is_own_datagram(s->nic, ud)) {
		*sent = s->ep->una != s->ep->next ? NIC_SENT_REST : NIC_SENT_LOCAL;
		return false;
	}
	s->reclaimed = nic_load(&s->nic->hdr->counters.reclaimed);
	row = nic_datagram_row(s->nic, ud);
	if (row == NIC_NONE) {
		nic_count(s->nic, drop_address);
		*sent = nic_packet_skip(s->ep, NIC_EXEC_DROPPED | VNET_WC_RETRY_EXC_ERR);
		return false;
	}
	s->row = nic_row_at(s->nic, row);
	return true;
}

/* The request at sq_next waits for a receiver on this NIC; its copies to others will follow. */
static bool nic_head_waits(const struct nic_sending *s)
{
	return nic_is_unordered(s->qp->type) && nic_load(&s->qp->wait) &&
	       s->ep->sq_next == s->qp->sq_cons;
}

/* May the request at sq_next, or the rest of it, be sent now? */
static bool nic_may_send(const struct nic_sending *s)
{
	const struct nic_endpoint *ep = s->ep;
	u8 state = nic_load(&s->qp->state);

	if (state != NIC_QPS_RTS && !(state == NIC_QPS_SQD && (ep->cut || nic_head_waits(s))))
		return false;
	return ep->next - ep->una < NIC_WINDOW && ep->sq_next - s->qp->sq_cons < NIC_WINDOW &&
	       !nic_load(&ep->failed);
}

/* Raw packet QPs have a single operation, and no entry in nic_opcodes_of(). */
static bool nic_can_request(const struct nic_qp *qp, u8 opcode)
{
	u32 able = qp->kind == NIC_QPT_RAW_PACKET ? OP(VNET_WR_SEND) : nic_opcodes_of(qp->kind);

	return opcode <= VNET_WR_MAX && able & OP(opcode);
}

/* RNR wait. The thread that gets an answer changes the time under the row's lock. */
static bool nic_in_rnr_wait(const struct nic_endpoint *ep)
{
	u64 until = nic_load(&ep->rnr_until);

	return until && plat_clock() < until;
}

static enum nic_sent nic_send_next(struct nic_sending *s, struct vnet_ring *ring)
{
	struct nic_endpoint *ep = s->ep;
	struct nic_qp *qp = s->qp;
	enum nic_sent sent;
	u32 status, queued = nic_load_acquire(&ring->prod) - qp->sq_cons;
	u8 opcode;

	if (queued > qp->sq_mask + 1) {
		nic_qp_fail(s->nic, qp, NIC_EVENT_QP_FATAL);
		return NIC_SENT_LATER;
	}
	/* A later request that has failed waits for those before it. */
	if (nic_load(&ep->resend))
		return nic_in_rnr_wait(ep) ? NIC_SENT_LATER : nic_resend_oldest(s, ring);
	if (queued == ep->sq_next - qp->sq_cons || !nic_may_send(s))
		return NIC_SENT_REST;
	if (nic_in_rnr_wait(ep))
		return nic_sent_wait(ep);
	/*
	 * Another endpoint wants the frame: send nothing new. If nobody has taken the frame after a
	 * few rounds, this endpoint continues.
	 */
	if (ep->leaving && (ep->una != ep->next || ep->leaving++ < NIC_LEAVING_ROUNDS))
		return NIC_SENT_LATER;
	if (ep->leaving) {
		ep->leaving = 0;
		ep->sent = 0;
	}
	nic_fetch(&s->r, ring, ep->sq_next);
	opcode = s->r.wqe.opcode;
	if (!nic_can_request(qp, opcode))
		return nic_packet_skip(ep, VNET_WC_LOC_QP_OP_ERR);
	if (KEYS & OP(opcode))
		return nic_send_local(s);
	if ((s->r.wqe.flags & VNET_WR_FENCE) && (s32)(ep->read_end - ep->una) > 0 &&
	    !plat_broken(NIC_RULE_FENCE))
		return NIC_SENT_REST;
	if ((READS & OP(opcode)) && !qp->attr.max_rd_atomic)
		return nic_packet_skip(ep, VNET_WC_LOC_QP_OP_ERR);
	/* The responder keeps the results of NIC_RESULTS atomic operations. */
	if ((ATOMICS & OP(opcode)) && ep->next - ep->una >= NIC_RESULTS)
		return NIC_SENT_REST;
	if (nic_is_unordered(qp->type) && !nic_route_datagram(s, &sent))
		return sent;
	status = nic_sending_gather(s);
	/* The process may have changed a request of which a part was sent. */
	if (!status && !nic_is_unordered(qp->type) && ep->cut > s->r.length)
		status = VNET_WC_LOC_QP_OP_ERR;
	/* A connection has a row, unless NIC memory is corrupted. */
	if (unlikely(!s->row))
		status = VNET_WC_LOC_QP_OP_ERR;
	if (!status)
		status = nic_sending_fetch(s, nic_is_unordered(qp->type) ? 0 : ep->cut);
	if (unlikely(status == NIC_EXEC_PAGES))
		return NIC_SENT_LATER;
	if (status)
		return nic_packet_skip(ep, status);
	return nic_send_packet(s);
}

/* ------------------------------------------------------------------- the queue */

/*
 * Is the datagram or frame at the head of the queue for another NIC? Not inlined: few requests ask.
 */
static __attribute__((__noinline__)) bool nic_datagram_is_remote(struct nic *nic, struct nic_qp *qp,
								 const struct vnet_ring *ring)
{
	struct nic_request r NIC_SCRATCH;

	r.nic = nic;
	r.qp = qp;
	if (qp->type == NIC_QPT_RAW_PACKET)
		return nic_is_wired(nic);
	nic_fetch(&r, ring, qp->sq_cons);
	if (nic_is_group_datagram(nic, &r.wqe.ud))
		return nic_has_remote_copies(nic, qp, &r.wqe);
	return !nic_is_own_datagram(nic, &r.wqe.ud);
}

/* Does the head request need copies to other NICs? Not inlined, either. */
static __attribute__((__noinline__)) bool nic_has_copies(struct nic *nic, struct nic_qp *qp,
							 const struct vnet_ring *ring)
{
	struct nic_request r = { .nic = nic, .qp = qp };

	if (!nic_is_unordered(qp->type))
		return false;
	nic_fetch(&r, ring, qp->sq_cons);
	return nic_has_remote_copies(nic, qp, &r.wqe);
}

bool nic_vn_must_run(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring, u32 waiting)
{
	u8 state = nic_load(&qp->state);

	if (nic_vn_is_busy(nic, qp))
		return true;
	/*
	 * While the queue drains, no request begins. One that waits for a local receiver still
	 * sends its copies.
	 */
	if (state != NIC_QPS_RTS && !(state == NIC_QPS_SQD && waiting && nic_load(&qp->wait) &&
				      nic_has_copies(nic, qp, ring)))
		return false;
	if (!nic_is_unordered(qp->type) && qp->row == NIC_NONE)
		return false;
	/* A QP with nothing to send needs no endpoint frame. */
	if (!waiting)
		return false;
	return !nic_is_unordered(qp->type) || nic_datagram_is_remote(nic, qp, ring);
}

bool nic_vn_has_work(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring)
{
	const struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (!ring || nic_load(&qp->op_phase) != NIC_OP_IDLE)
		return false;
	if (!ep || nic_load(&ep->qpn) != nic_load(&qp->qpn))
		return nic_load(&qp->state) == NIC_QPS_RTS &&
		       nic_load_acquire(&ring->prod) != nic_load(&qp->sq_cons);
	if (nic_vn_is_answered(ep))
		return true;
	if (nic_load(&ep->failed))
		return true;
	return nic_load_acquire(&ring->prod) != nic_load(&ep->sq_next) &&
	       nic_load(&qp->state) == NIC_QPS_RTS && !nic_load(&ep->resting);
}

bool nic_vn_retire_only(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep)
{
	struct vnet_ring *ring = nic_sq_ring(nic, qp);
	struct nic_sending s NIC_SCRATCH;

	if (!ring || nic_head_action(qp) == NIC_HEAD_FLUSH)
		return false;
	nic_sending_begin(&s, nic, qp, NULL);
	s.ep = ep;
	/* The window may have room for more packets now. */
	nic_store(&ep->resting, 0);
	/*
	 * The answers may allow packets that were taken back to be sent; nothing else triggers
	 * that.
	 */
	if (nic_load(&ep->resend))
		nic_pend(nic, qp);
	return nic_vn_retire(&s, ring);
}

/* Upper limit of the bytes that were copied for the last packet. */
static u64 nic_packet_bytes(const struct nic_sending *s)
{
	u64 piece = s->row ? nic_row_payload(s->row) : 0;

	/* NOLINTNEXTLINE(clang-analyzer-core.*): nic_fetch() sets it */
	if (READS & OP(s->r.wqe.opcode & 31))
		return 0;
	return s->r.length < piece ? s->r.length : piece;
}

bool nic_vn_run(struct nic *nic, struct nic_qp *qp, struct vnet_ring *ring,
		struct nic_stretch *stretch)
{
	struct nic_sending s NIC_SCRATCH;
	enum nic_sent sent = NIC_SENT;
	u32 prod = 0;
	bool flush;

	nic_sending_begin(&s, nic, qp, NULL);
	/* A queue that is only flushed needs no endpoint frame. */
	flush = nic_head_action(qp) == NIC_HEAD_FLUSH;
	s.ep = flush ? nic_endpoint_any(nic, qp) : nic_endpoint_get(nic, qp);
	if (!s.ep)
		goto later;
	if (!nic_is_unordered(qp->type))
		s.row = nic_row_at(nic, qp->row);
	nic_store(&s.ep->resting, 0);
	/* Datagrams to this NIC were executed elsewhere meanwhile. */
	if ((s32)(qp->sq_cons - s.ep->sq_next) > 0)
		nic_store(&s.ep->sq_next, qp->sq_cons);
	while (sent == NIC_SENT) {
		nic_grace_point(nic, qp);
		if (!nic_vn_retire(&s, ring))
			goto later;
		if (flush || nic_head_action(qp) == NIC_HEAD_FLUSH) {
			if (!nic_vn_cancel(nic, qp, s.ep))
				goto later;
			plat_flush(nic);
			return false;
		}
		/* Read before the check: what is posted later rings the doorbell again. */
		prod = nic_load_acquire(&ring->prod);
		if (stretch->budget && !nic_stretch_is_over(stretch)) {
			sent = nic_send_next(&s, ring);
			if (sent == NIC_SENT) {
				stretch->budget--;
				nic_stretch_add(stretch, nic_packet_bytes(&s));
			}
		} else if (nic_load(&s.ep->resend) || prod != s.ep->sq_next) {
			goto later;
		} else {
			/* Nothing is left to send: the QP need not be pending. */
			sent = NIC_SENT_REST;
		}
	}
	plat_flush(nic);
	if (sent == NIC_SENT_REST) {
		/*
		 * While requests are queued that need an answer before they can be sent, posting
		 * further ones need not run the queue.
		 */
		nic_store(&s.ep->resting, prod != s.ep->sq_next);
		return true;
	}
	if (sent == NIC_SENT_LOCAL)
		return false;
later:
	plat_flush(nic);
	nic_store(&qp->look_at, 0);
	nic_pend(nic, qp);
	return false;
}
