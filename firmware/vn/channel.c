// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending ends of the channels to one NIC: packets, acknowledgements, timers, congestion control.
 * Each channel is stop-and-wait; losses and refusals limit the number of channels in use.
 *
 * The packet's timer is the only mechanism of retransmission. A NACK only shows that the receiver
 * is alive. The acknowledgement of a later packet shortens the timer, to the time after which
 * reordering is unlikely. So that such an acknowledgement exists, the newest packet is sent again
 * as a probe if no frame has arrived for a while. Both follow RFC 8985 (RACK-TLP).
 */
#include "layout/lookup.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "vn/vn.h"

#define NIC_CREDIT_ONE 256u
#define NIC_FEWEST 4u
/* Weights, as shifts, of a sample in the averages of the round trip and its deviation. */
#define NIC_RTT_SHIFT 3
#define NIC_DEVIATION_SHIFT 2
/*
 * Time by which packets may be reordered, us: the longest of NIC_SLACK_US, a quarter of a round
 * trip, and the observed time (nic_row.slack), which is at most NIC_SLACK_MOST_US.
 * NIC_NACK_RETRY_US is the minimum delay before a refused packet is sent again.
 */
#define NIC_SLACK_US 20u
#define NIC_SLACK_MOST_US 20000u
#define NIC_NACK_RETRY_US 50u
/* A probe is sent after two round trips and this time, us, without any frame. */
#define NIC_PROBE_US 100u
#define NIC_BACKOFF_MAX 8u
/* Retry interval after VNET_RETURN_NO_QP: twice this, doubling NIC_NO_QP_SHIFT - 1 times. */
#define NIC_NO_QP_NS 500000ull
#define NIC_NO_QP_SHIFT 6u
#define NIC_RECHECK_NS 1000000ull
/* Retry interval of a packet whose local pages are not present, ns. */
#define NIC_DEFER_NS 200000ull
/* After the loss of a long frame none are sent for this time, ms, doubling with each loss. */
#define NIC_LONG_PAUSE_MS 1000u
#define NIC_LONG_PAUSE_MAX_MS 30000u
/* That time decays by this fraction with each long frame that arrives. */
#define NIC_LONG_PAUSE_DECAY 64u
/* Time for which a free channel is reserved for the next QP in the queue. */
#define NIC_TURN_NS 500000ull
/* Upper limit of the wait that a responder can ask for: IB's longest RNR timer. */
#define NIC_MAX_RNR_NS 655360000ull

/* ------------------------------------------------------- taking and freeing */

static u32 nic_row_limit(const struct nic *nic, const struct nic_row *row)
{
	u32 most = nic->hdr->settings.channels;

	if (most > VNET_WIRE_CHANNELS)
		most = VNET_WIRE_CHANNELS;
	if (nic->hdr->settings.adaptive && row->credit / NIC_CREDIT_ONE < most)
		most = row->credit / NIC_CREDIT_ONE;
	return most ? most : 1;
}

static u32 nic_row_queued(const struct nic_row *row)
{
	return row->queued < NIC_ROW_QUEUE ? row->queued : NIC_ROW_QUEUE;
}

/* Remove the first QP of the queue: it had its turn, or did not use it. */
static void nic_row_dequeue(struct nic_row *row, u64 now)
{
	u32 i, n = nic_row_queued(row);

	for (i = 1; i < n; i++)
		row->queue[i - 1] = row->queue[i];
	row->queued = n ? n - 1 : 0;
	row->queue_since = now;
}

static void nic_row_enqueue(struct nic_row *row, u32 qpn, u64 now)
{
	u32 i, n = nic_row_queued(row);

	for (i = 0; i < n; i++) {
		if (row->queue[i] == qpn)
			return;
	}
	if (n == NIC_ROW_QUEUE)
		return;
	if (!n)
		row->queue_since = now;
	row->queue[n] = qpn;
	row->queued = n + 1;
}

/* Can the QP use a channel? Its endpoint must be resident, and its state one that sends. */
static bool nic_can_transmit(struct nic *nic, u32 qpn)
{
	const struct nic_qp *qp = nic_find_qp(nic, qpn);
	const struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;
	u8 state = qp ? nic_load(&qp->state) : NIC_QPS_RESET;

	return ep && nic_load(&ep->qpn) == qpn && (state == NIC_QPS_RTS || state == NIC_QPS_SQD);
}

/* Is it this QP's turn? A free channel is offered to the QP that has waited longest. */
static bool nic_row_turn(struct nic *nic, struct nic_row *row, u32 qpn, u64 now)
{
	if (likely(!row->queued) || row->queue[0] == qpn)
		return true;
	while (row->queued && row->queue[0] != qpn && !nic_can_transmit(nic, row->queue[0]))
		nic_row_dequeue(row, now);
	/*
	 * The turn of the first QP is over. This is checked only when another QP asks, so a QP that
	 * comes late can still send if no other does.
	 */
	if (now - row->queue_since > NIC_TURN_NS)
		nic_row_dequeue(row, now);
	return !row->queued || row->queue[0] == qpn;
}

static bool nic_row_has_room(const struct nic *nic, const struct nic_row *row, u32 length)
{
	if (row->unacked >= nic_row_limit(nic, row) || !~row->busy)
		return false;
	return !row->unacked || row->unacked_bytes + length <= row->window;
}

struct nic_tx *nic_tx_take(struct nic *nic, struct nic_row *row, const struct nic_packet *packet,
			   u64 now)
{
	struct nic_tx *tx;
	u32 n;

	if (row->state != NIC_ROW_UP)
		return NULL;
	if (!nic_row_has_room(nic, row, packet->length)) {
		nic_row_enqueue(row, packet->qpn, now);
		/* The time of a turn begins only when a channel is free. */
		row->queue_since = now;
		return NULL;
	}
	if (!nic_row_turn(nic, row, packet->qpn, now)) {
		nic_row_enqueue(row, packet->qpn, now);
		return NULL;
	}
	if (unlikely(row->queued))
		nic_row_dequeue(row, now);
	n = (u32)__builtin_ctzll(~row->busy);
	tx = &row->tx[n];
	tx->seq++;
	nic_store(&tx->qpn, packet->qpn);
	tx->sq_index = packet->sq_index;
	tx->psn = packet->psn;
	tx->offset = packet->offset;
	tx->length = packet->length;
	tx->opcode = packet->opcode;
	tx->retries = 0;
	tx->backoff = 0;
	tx->flags = packet->unordered ? NIC_TX_UNORDERED : 0;
	if (unlikely(packet->group))
		tx->flags |= NIC_TX_GROUP;
	tx->since = now;
	tx->answered = nic_timeout_clock(nic, now);
	tx->due = now;
	row->unacked++;
	row->unacked_bytes += packet->length;
	/* Stored last: recovery counts outstanding packets by this mask. */
	nic_store_release(&row->busy, row->busy | 1ull << n);
	return tx;
}

/*
 * One-bit sequence numbers: the next packet must differ from the last one that was accepted. So the
 * channel stays in use, without a QP, until it is known whether this packet was accepted. false:
 * that is known, and the channel can be freed.
 */
static bool nic_tx_orphan(struct nic_tx *tx)
{
	if (tx->flags & NIC_TX_NACKED) {
		/*
		 * NACK of the latest transmission: on a link that keeps the order, the packet was
		 * not accepted.
		 */
		tx->seq--;
		return false;
	}
	if (tx->flags & NIC_TX_ANSWERED)
		return false;
	nic_store(&tx->qpn, 0);
	return true;
}

void nic_tx_free(struct nic *nic, struct nic_row *row, struct nic_tx *tx)
{
	if (unlikely(nic->hdr->settings.sequence_bits == 1) && nic_tx_orphan(tx))
		return;
	nic_store_release(&row->busy, row->busy & ~(1ull << nic_tx_channel(row, tx)));
	nic_store(&tx->qpn, 0);
	row->unacked--;
	row->unacked_bytes -= tx->length;
}

/* Retransmission timeout, ns. */
static u64 nic_row_rto(const struct nic *nic, const struct nic_row *row, u32 backoff)
{
	const struct nic_settings *set = &nic->hdr->settings;
	u64 us = row->rtt + 4ull * row->rtt_deviation;

	if (us < set->rto_min)
		us = set->rto_min;
	us <<= backoff < NIC_BACKOFF_MAX ? backoff : NIC_BACKOFF_MAX;
	if (us > set->rto_max)
		us = set->rto_max;
	return us * 1000;
}

/* Time without any answer after which the newest packet is sent again, ns. */
static u64 nic_row_probe_ns(const struct nic_row *row)
{
	return (2ull * row->rtt + 4ull * row->rtt_deviation + NIC_PROBE_US) * 1000;
}

static void nic_row_due(struct nic_row *row, u64 due)
{
	if (!row->due || due < row->due)
		nic_store(&row->due, due);
}

void nic_tx_sent(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now, u64 longest)
{
	u64 rto = nic_row_rto(nic, row, tx->backoff);

	/* A packet is to be transmitted more than once within its transport timeout. */
	if (longest && rto > longest) {
		rto = nic_row_rto(nic, row, 0);
		rto = rto > longest ? rto : longest;
	}
	tx->timestamp = nic_us(now);
	tx->flags &= NIC_TX_UNORDERED | NIC_TX_GROUP;
	tx->no_qp = 0;
	tx->due = now + rto;
	nic_row_due(row, tx->due);
	if (!tx->retries && !row->probed)
		nic_row_due(row, now + nic_row_probe_ns(row));
	nic_row_activate(nic, row);
}

void nic_tx_defer(struct nic *nic, struct nic_row *row, struct nic_qp *qp, struct nic_endpoint *ep,
		  struct nic_tx *tx, u64 now)
{
	if (tx->flags & NIC_TX_UNORDERED) {
		tx->flags |= NIC_TX_DEFERRED;
		tx->due = now + NIC_DEFER_NS;
		nic_row_due(row, tx->due);
		return;
	}
	/* Pages may take arbitrarily long: hold neither a channel nor a frame meanwhile. */
	nic_store(&ep->deferred, 1);
	nic_store(&ep->answered, nic_timeout_clock(nic, now));
	nic_fetch_or(&ep->resend, 1ull << (tx->psn % NIC_WINDOW));
	nic_tx_free(nic, row, tx);
	nic_pend(nic, qp);
}

void nic_tx_cancel(struct nic *nic, struct nic_row *row, u32 qpn)
{
	u64 busy = row->busy;

	(void)nic;
	while (busy) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		busy &= busy - 1;
		if (tx->qpn == qpn)
			nic_tx_free(nic, row, tx);
	}
}

/*
 * Outstanding datagrams end here: if one had arrived, its retransmission would be delivered twice.
 */
void nic_tx_renew(struct nic *nic, struct nic_row *row)
{
	u64 busy;

	for (busy = row->busy; busy; busy &= busy - 1) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];
		struct nic_qp *qp = nic_find_qp(nic, tx->qpn);
		struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;

		if (tx->qpn && !(tx->flags & NIC_TX_UNORDERED))
			continue;
		if (ep && ep->qpn == tx->qpn) {
			/* The incarnation that may have accepted it is over. */
			nic_vn_done(ep, tx->psn, VNET_WC_RETRY_EXC_ERR);
			nic_pend(nic, qp);
		}
		tx->flags = NIC_TX_ANSWERED;
		nic_tx_free(nic, row, tx);
	}
}

/* --------------------------------------------------------------- giving up */

bool nic_tx_is_silent(struct nic *nic, struct nic_row *row, const struct nic_qp *qp,
		      struct nic_endpoint *ep, const struct nic_tx *tx, u64 now)
{
	/* A connection counts answers to all its packets, on whatever channel. */
	u64 answered = nic_is_unordered(qp->type) ? tx->answered : nic_load(&ep->answered);
	u64 at = nic_timeout_clock(nic, now);
	/* `answered` may be in the future (RNR wait), or later than `now`. */
	u64 silence = at > answered ? at - answered : 0;
	u64 timeout = nic_transport_timeout(qp) * (qp->attr.retry_cnt + 1ull);

	if (qp->type == NIC_QPT_RC)
		return timeout && silence > timeout;
	return silence > nic_giveup_timeout(nic, nic_giveups(row, qp, ep)) >>
	       (tx->flags & NIC_TX_GROUP ? NIC_GROUP_TIMEOUT_SHIFT : 0);
}

void nic_tx_give_up(struct nic *nic, struct nic_row *row, struct nic_qp *qp,
		    struct nic_endpoint *ep, struct nic_tx *tx, u32 status)
{
	nic_count(nic, unreachable);
	if (qp->type == NIC_QPT_RC)
		nic_vn_fail(ep, tx->psn, status);
	else
		nic_vn_done(ep, tx->psn, status);
	if (qp->type != NIC_QPT_RC)
		nic_count_giveup(nic_giveups(row, qp, ep));
	nic_tx_free(nic, row, tx);
}

/* ------------------------------------------------------------------ answers */

static void nic_row_sample(struct nic_row *row, u32 us)
{
	s32 error = (s32)us - (s32)row->rtt;
	u32 size = (u32)(error < 0 ? -error : error);

	row->rtt = (u32)((s32)row->rtt + error / (1 << NIC_RTT_SHIFT));
	row->rtt_deviation = (u32)((s32)row->rtt_deviation + ((s32)size - (s32)row->rtt_deviation) /
								     (1 << NIC_DEVIATION_SHIFT));
}

/* Slow start until the first loss: one channel more for each answer; later one per round trip. */
static void nic_row_grow_credit(struct nic_row *row)
{
	u32 credit = row->credit ? row->credit : 1;

	row->credit = credit +
		      (row->cut_at ? NIC_CREDIT_ONE * NIC_CREDIT_ONE / credit + 1 : NIC_CREDIT_ONE);
	if (row->credit > VNET_WIRE_CHANNELS * NIC_CREDIT_ONE)
		row->credit = VNET_WIRE_CHANNELS * NIC_CREDIT_ONE;
}

/* Reduce the number of channels, at most once per round trip. */
static void nic_row_cut_credit(struct nic_row *row, u32 now)
{
	if (row->cut_at && now - row->cut_at < row->rtt)
		return;
	row->cut_at = now ? now : 1;
	row->credit -= row->credit / 4;
	/*
	 * With fewer channels, only the timer detects a loss, because no later packet is answered.
	 */
	if (row->credit < NIC_FEWEST * NIC_CREDIT_ONE)
		row->credit = NIC_FEWEST * NIC_CREDIT_ONE;
}

static u32 nic_row_slack(const struct nic_row *row)
{
	u32 slack = row->rtt / 4 > NIC_SLACK_US ? row->rtt / 4 : NIC_SLACK_US;

	return row->slack > slack ? row->slack : slack;
}

/*
 * Adapt the reordering time: decrease it if a retransmission was needed, increase it if the
 * original packet had arrived.
 */
static void nic_row_adapt_slack(struct nic_row *row, bool needed)
{
	if (needed)
		row->slack -= row->slack / 16;
	else if (row->slack < NIC_SLACK_MOST_US)
		row->slack = 2 * nic_row_slack(row);
}

u32 nic_row_piece(const struct nic *nic, const struct nic_row *row, u64 now)
{
	u32 fit = nic->hdr->settings.fit, payload = nic_row_payload(row);

	if (fit < VNET_WIRE_MIN_PAYLOAD || fit >= payload || now >= row->long_pause_end)
		return payload;
	return fit;
}

/*
 * A frame longer than `fit` arrived, or was lost. The network has cut it into fragments, and losing
 * one of them loses the frame. The receiver's kernel keeps the other fragments for a while (Linux:
 * 30 s), so few long frames may be sent while frames are lost.
 */
static void nic_row_note_long(struct nic_row *row, bool lost, u64 now)
{
	if (!lost) {
		row->long_pause_ms -=
			(row->long_pause_ms + NIC_LONG_PAUSE_DECAY - 1) / NIC_LONG_PAUSE_DECAY;
	} else if (now >= row->long_pause_end) {
		row->long_pause_ms = row->long_pause_ms > NIC_LONG_PAUSE_MAX_MS / 2 ?
					     NIC_LONG_PAUSE_MAX_MS :
					     2 * row->long_pause_ms;
		if (row->long_pause_ms < NIC_LONG_PAUSE_MS)
			row->long_pause_ms = NIC_LONG_PAUSE_MS;
		row->long_pause_end = now + row->long_pause_ms * 1000000ull;
	}
}

static void nic_answered_add(struct nic_answered *out, u32 qpn)
{
	u32 i;

	for (i = 0; i < out->n; i++) {
		if (out->qpn[i] == qpn)
			return;
	}
	if (out->n < VNET_WIRE_ACKS + NIC_ROW_QUEUE)
		out->qpn[out->n++] = qpn;
}

/* Return-to-sender status of a datagram. */
static u32 nic_ack_wc_status(const struct vnet_frame_ack *ack)
{
	u64 status = nic_le64(ack->result);

	if (ack->code < VNET_RETURN_FIRST)
		return VNET_WC_SUCCESS;
	return status >= VNET_WC_REM_INV_REQ_ERR && status <= VNET_WC_RNR_RETRY_EXC_ERR ?
		       (u32)status :
		       VNET_WC_REM_OP_ERR;
}

/*
 * The packet was accepted, or a datagram was refused for good. Its endpoint is resident as long as
 * it is outstanding.
 */
static void nic_tx_done(struct nic *nic, struct nic_row *row, struct nic_tx *tx,
			const struct vnet_frame_ack *ack)
{
	struct nic_qp *qp = nic_find_qp(nic, tx->qpn);
	struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;
	u32 una = ep ? nic_load(&ep->una) : 0;

	/* Ignore a packet that was sent twice and whose request is retired. */
	if (likely(ep && ep->qpn == tx->qpn && tx->psn - una < nic_load(&ep->next) - una)) {
		nic_store(&ep->rnr_until, 0);
		if (ep->allowed < NIC_WINDOW)
			nic_store(&ep->allowed, ep->allowed * 2);
		nic_store(&ep->answered, nic_timeout_clock(nic, row->heard));
		nic_store(&ep->giveups, 0);
		if (ack->code == VNET_ACK_RESULT)
			ep->result[tx->psn % NIC_WINDOW] = nic_le64(ack->result);
		nic_vn_done(ep, tx->psn, nic_ack_wc_status(ack));
	}
	tx->flags = NIC_TX_ANSWERED;
	nic_tx_free(nic, row, tx);
}

static void nic_tx_returned(struct nic *nic, struct nic_row *row, struct nic_tx *tx,
			    const struct vnet_frame_ack *ack)
{
	struct nic_qp *qp = nic_find_qp(nic, tx->qpn);
	struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;
	u64 status = nic_le64(ack->result);

	nic_count(nic, returned);
	if (status == VNET_WC_SUCCESS || status >= VNET_WC_STATUS_MAX)
		status = VNET_WC_REM_OP_ERR;
	if (ep && ep->qpn == tx->qpn)
		nic_vn_fail(ep, tx->psn, (u32)status);
	tx->flags = NIC_TX_ANSWERED;
	nic_tx_free(nic, row, tx);
}

/*
 * Of a QP's refused packets only the oldest keeps its channel, and is sent again. The others free
 * theirs for other QPs, and are sent when the oldest is accepted.
 */
static void nic_tx_yield_channel(struct nic *nic, struct nic_row *row, struct nic_endpoint *ep,
				 struct nic_tx *tx, struct nic_answered *out)
{
	if (tx->psn == nic_load(&ep->una))
		return;
	nic_fetch_or(&ep->resend, 1ull << (tx->psn % NIC_WINDOW));
	nic_store(&ep->gate, nic_load(&ep->una));
	nic_store(&ep->gated, 1);
	nic_tx_free(nic, row, tx);
	nic_answered_add(out, ep->qpn);
}

/*
 * A NACK. After RNR, the packet, and all others of its QP, are not sent before the time in the NACK
 * is over (rnr_until).
 */
static void nic_tx_refused(struct nic *nic, struct nic_row *row, struct nic_tx *tx,
			   const struct vnet_frame_ack *ack, u64 now, struct nic_answered *out)
{
	struct nic_qp *qp = nic_find_qp(nic, tx->qpn);
	struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;
	u64 again = nic_le64(ack->result), wait = again;

	nic_count(nic, nacks_received);
	if (ack->code != VNET_NACK_RNR)
		wait = 0;
	if (wait > NIC_MAX_RNR_NS)
		wait = NIC_MAX_RNR_NS;
	/* A lock may be held for hours (a stopped process), so BUSY is no sign of life. */
	if (ack->code != VNET_NACK_BUSY) {
		tx->answered = nic_timeout_clock(nic, now) + wait;
		if (ep && ep->qpn == tx->qpn)
			nic_store(&ep->answered, tx->answered);
	}
	/* NACK of an earlier transmission: the latest one may have been accepted. */
	if (nic_le32(ack->timestamp) != tx->timestamp && !plat_broken(NIC_RULE_LATEST))
		return;
	tx->flags |= NIC_TX_NACKED;
	if (ack->code != VNET_NACK_BUSY)
		tx->flags |= NIC_TX_HEARD;
	/* The packet has arrived, so the next transmission probably will: no backoff. */
	tx->backoff = 0;
	if (tx->due > now + nic_row_rto(nic, row, 0)) {
		tx->due = now + nic_row_rto(nic, row, 0);
		nic_row_due(row, tx->due);
	}
	/* An absent endpoint may say when to try again. */
	if (ack->code == VNET_NACK_ABSENT && again && tx->due > now + again) {
		tx->due = now + again;
		nic_row_due(row, tx->due);
	}
	if (ack->code == VNET_NACK_BUSY)
		nic_row_cut_credit(row, nic_us(now));
	if (!ep || ep->qpn != tx->qpn)
		return;
	/*
	 * After EARLY the window stays open, because only a missing packet is waited for; after
	 * other refusals it restarts at one packet.
	 */
	if (ack->code != VNET_NACK_EARLY)
		nic_store(&ep->allowed, 1);
	else if (!ep->allowed)
		nic_store(&ep->allowed, NIC_WINDOW);
	if (!(tx->flags & NIC_TX_UNORDERED))
		nic_tx_yield_channel(nic, row, ep, tx, out);
	if (ack->code != VNET_NACK_RNR)
		return;
	if (!tx->qpn) {
		if (ep->rnr_until < now + wait)
			nic_store(&ep->rnr_until, now + wait);
		return;
	}
	tx->due = now + wait;
	nic_row_due(row, tx->due);
	if (ep->rnr_until < tx->due)
		nic_store(&ep->rnr_until, tx->due);
	tx->flags |= NIC_TX_RNR;
}

/*
 * No such QP: treated as if there were no answer, so a connection retries until its timeout ends.
 * The timeout is also checked here, because the packets of an endpoint that is evicted often are
 * taken back before their timers expire.
 */
static void nic_tx_no_qp(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now,
			 struct nic_answered *out)
{
	struct nic_qp *qp = nic_find_qp(nic, tx->qpn);
	struct nic_endpoint *ep = qp ? nic_endpoint_at(nic, qp) : NULL;
	u64 wait;

	tx->flags |= NIC_TX_NACKED;
	tx->no_qp = 1;
	if (tx->backoff < NIC_NO_QP_SHIFT)
		tx->backoff++;
	wait = NIC_NO_QP_NS << (tx->backoff < NIC_NO_QP_SHIFT ? tx->backoff : NIC_NO_QP_SHIFT);
	if (tx->due > now + wait) {
		tx->due = now + wait;
		nic_row_due(row, tx->due);
	}
	if (!ep || ep->qpn != tx->qpn)
		return;
	if (nic_tx_is_silent(nic, row, qp, ep, tx, now)) {
		nic_answered_add(out, tx->qpn);
		nic_tx_give_up(nic, row, qp, ep, tx, VNET_WC_RETRY_EXC_ERR);
		return;
	}
	nic_store(&ep->allowed, 1);
	nic_tx_yield_channel(nic, row, ep, tx, out);
}

/* It is known whether the packet of an orphaned channel was accepted: see nic_tx_orphan(). */
static void nic_tx_orphan_acked(struct nic *nic, struct nic_row *row, struct nic_tx *tx,
				const struct vnet_frame_ack *ack, bool latest)
{
	if (ack->code < VNET_NACK_FIRST || ack->code > VNET_RETURN_NO_QP)
		tx->flags = NIC_TX_ANSWERED;
	else if (latest)
		tx->flags = NIC_TX_NACKED;
	else
		return;
	nic_tx_free(nic, row, tx);
}

/* The outstanding packet that is acknowledged; NULL: it is not outstanding any more. */
static struct nic_tx *nic_tx_answered(struct nic_row *row, const struct vnet_frame_ack *ack)
{
	struct nic_tx *tx = &row->tx[ack->channel];

	return row->busy & 1ull << ack->channel && tx->seq == nic_le32(ack->seq) ? tx : NULL;
}

static bool nic_is_atomic(u8 opcode)
{
	return opcode == VNET_WR_ATOMIC_CMP_SWP || opcode == VNET_WR_ATOMIC_FETCH_ADD ||
	       opcode == VNET_WR_ATOMIC_WRITE;
}

static bool nic_is_one_sided(u8 opcode)
{
	return opcode == VNET_WR_RDMA_WRITE || opcode == VNET_WR_RDMA_READ ||
	       opcode == VNET_WR_FLUSH || nic_is_atomic(opcode);
}

/* Can the packet get an RNR NACK? Of copies to a group, only Ethernet frames can. */
static bool nic_tx_may_rnr(struct nic *nic, const struct nic_tx *tx)
{
	const struct nic_qp *qp;

	if (!(tx->flags & NIC_TX_GROUP))
		return true;
	qp = nic_find_qp(nic, tx->qpn);
	return !qp || qp->type == NIC_QPT_RAW_PACKET;
}

/* Can a responder answer such a packet with this code? */
static bool nic_tx_code_ok(struct nic *nic, const struct nic_tx *tx, u8 code)
{
	const struct nic_qp *qp;

	/*
	 * The QP is gone: nic_tx_orphan_probe() has sent another packet with this sequence number.
	 */
	if (unlikely(!tx->qpn))
		return true;
	if (likely(code == VNET_ACK_DONE || code == VNET_ACK_RESULT))
		return nic_is_atomic(tx->opcode) == (code == VNET_ACK_RESULT);
	switch (code) {
	case VNET_NACK_ABSENT:
		return !(tx->flags & NIC_TX_GROUP);
	case VNET_NACK_BUSY:
		return true;
	case VNET_NACK_RNR:
		return nic_tx_may_rnr(nic, tx) && !nic_is_one_sided(tx->opcode);
	case VNET_RETURN_DROPPED:
		qp = tx->flags & NIC_TX_UNORDERED ? NULL : nic_find_qp(nic, tx->qpn);
		return !qp || qp->type != NIC_QPT_RC;
	default:
		return !(tx->flags & NIC_TX_UNORDERED);
	}
}

void nic_tx_note_alive(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	const struct nic_tx *tx;
	struct nic_endpoint *ep;
	struct nic_qp *qp;

	if (!nic_row_lock(nic, &row->lock, NIC_ROW_TRIES))
		return;
	if (nic_row_is_alive(nic, row, f) && nic_tx_acks_ok(nic, row, f)) {
		tx = nic_tx_answered(row, &f->ack[0]);
		qp = tx ? nic_find_qp(nic, tx->qpn) : NULL;
		ep = qp ? nic_endpoint_at(nic, qp) : NULL;
		if (ep && ep->qpn == tx->qpn)
			nic_store(&ep->answered, nic_timeout_clock(nic, plat_clock()));
	}
	nic_unlock(&row->lock);
}

bool nic_tx_acks_ok(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	u32 i;

	for (i = 0; i < f->nacks; i++) {
		const struct nic_tx *tx = nic_tx_answered(row, &f->ack[i]);

		if (unlikely(tx && !nic_tx_code_ok(nic, tx, f->ack[i].code))) {
			nic_count(nic, bad_field);
			return false;
		}
	}
	return true;
}

static void nic_tx_answer(struct nic *nic, struct nic_row *row, const struct vnet_frame_ack *ack,
			  bool data, u64 now, struct nic_answered *out)
{
	struct nic_tx *tx = nic_tx_answered(row, ack);
	bool latest;
	u32 trip;

	if (!tx) {
		nic_count(nic, stale_answers);
		return;
	}
	latest = nic_le32(ack->timestamp) == tx->timestamp;
	/* Sample any transmission: otherwise a timer that is too short would never be corrected. */
	trip = nic_us(now) - nic_le32(ack->timestamp);
	if (trip <= nic_us(now) - nic_us(tx->since))
		nic_row_sample(row, trip);
	if (unlikely(!tx->qpn)) {
		nic_tx_orphan_acked(nic, row, tx, ack, latest);
		return;
	}
	if (ack->code >= VNET_NACK_FIRST && ack->code < VNET_RETURN_FIRST) {
		nic_tx_refused(nic, row, tx, ack, now, out);
		return;
	}
	if (ack->code == VNET_RETURN_NO_QP && !(tx->flags & NIC_TX_UNORDERED)) {
		if (latest)
			nic_tx_no_qp(nic, row, tx, now, out);
		else
			nic_count(nic, stale_answers);
		return;
	}
	/* A read is completed by its data; this acknowledges another transmission of it. */
	if (tx->opcode == VNET_WR_RDMA_READ && tx->length && !data && ack->code < VNET_NACK_FIRST) {
		nic_count(nic, stale_answers);
		return;
	}
	nic_answered_add(out, tx->qpn);
	nic_row_grow_credit(row);
	if (tx->retries)
		nic_row_adapt_slack(row, latest);
	if (nic->hdr->settings.fit && tx->length > nic->hdr->settings.fit)
		nic_row_note_long(row, tx->retries && latest, now);
	if (ack->code == VNET_RETURN_ERROR && !(tx->flags & NIC_TX_UNORDERED))
		nic_tx_returned(nic, row, tx, ack);
	else
		nic_tx_done(nic, row, tx, ack);
}

/* Shorten the timers of packets that were sent well before one that has arrived: they are lost. */
static void nic_row_detect_loss(struct nic_row *row, u32 newest, u64 now)
{
	u32 slack = nic_row_slack(row);
	u64 busy = row->busy;

	while (busy) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];
		s32 left = (s32)(tx->timestamp - newest);
		u64 due = now;

		busy &= busy - 1;
		if (left > 0 || (tx->flags & NIC_TX_RNR) || tx->no_qp || tx->retries > 2)
			continue;
		left += (s32)(tx->flags & NIC_TX_NACKED && slack < NIC_NACK_RETRY_US ?
				      NIC_NACK_RETRY_US :
				      slack);
		if (left > 0)
			due += (u32)left * 1000ull;
		if (tx->due <= due)
			continue;
		tx->due = due;
		tx->flags |= NIC_TX_SOONER;
		nic_row_due(row, due);
	}
}

void nic_tx_answers(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f,
		    bool data, struct nic_answered *out)
{
	const struct vnet_frame_ack *acks = f->ack;
	u64 now = plat_clock();
	u32 i, newest;

	nic_store(&row->heard, now);
	nic_store(&row->giveups, 0);
	row->probed = 0;
	nic_store(&row->calls, 0);
	/*
	 * QPs that wait for a channel come before those that were answered and may want theirs
	 * again.
	 */
	for (i = 0; i < nic_row_queued(row); i++)
		nic_answered_add(out, row->queue[i]);
	newest = nic_le32(acks[0].timestamp);
	for (i = 0; i < f->nacks; i++) {
		nic_tx_answer(nic, row, &acks[i], data && !i, now, out);
		if ((s32)(nic_le32(acks[i].timestamp) - newest) > 0)
			newest = nic_le32(acks[i].timestamp);
	}
	if (row->busy)
		nic_row_detect_loss(row, newest, now);
}

/* ------------------------------------------------------------------- timers */

/*
 * The packet to send as a probe: the newest one, once, if no frame has arrived for a while. Its
 * acknowledgement shows which of the others are lost. NULL: none now; *next: when to check again.
 */
static struct nic_tx *nic_row_probe_tx(struct nic_row *row, u64 now, u64 *next)
{
	struct nic_tx *newest = NULL;
	u64 busy, quiet;

	if (row->probed)
		return NULL;
	for (busy = row->busy; busy; busy &= busy - 1) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		if (!tx->retries && !(tx->flags & (NIC_TX_NACKED | NIC_TX_RNR | NIC_TX_DEFERRED)) &&
		    (!newest || tx->since > newest->since))
			newest = tx;
	}
	if (!newest)
		return NULL;
	quiet = (row->heard > newest->since ? row->heard : newest->since) + nic_row_probe_ns(row);
	if (quiet <= now)
		return newest;
	if (!*next || quiet < *next)
		*next = quiet;
	return NULL;
}

void nic_row_timers(struct nic *nic, struct nic_row *row, u64 now)
{
	u32 seq[VNET_WIRE_CHANNELS];
	u64 busy, due = 0, next = 0;
	struct nic_tx *probe;
	bool lost = false;

	if (!nic_lock(nic, &row->lock))
		return;
	nic_row_call(nic, row, now);
	probe = nic_row_probe_tx(row, now, &next);
	if (probe && probe->due > now) {
		probe->due = now;
		probe->flags |= NIC_TX_SOONER;
		row->probed = 1;
	}
	for (busy = row->busy; busy; busy &= busy - 1) {
		u32 n = (u32)__builtin_ctzll(busy);
		struct nic_tx *tx = &row->tx[n];

		if (tx->due <= now) {
			seq[n] = tx->seq;
			due |= 1ull << n;
			lost = lost ||
			       !(tx->flags & (NIC_TX_NACKED | NIC_TX_DEFERRED) || tx == probe);
			/* If its QP is in use, it is not sent now: look again soon. */
			tx->due = now + NIC_RECHECK_NS;
		}
		if (!next || tx->due < next)
			next = tx->due;
	}
	nic_store(&row->due, next);
	if (lost)
		nic_row_cut_credit(row, nic_us(now));
	/* No frame for long: call the peer, to find out whether it has the same incarnation. */
	if (due && row->state == NIC_ROW_UP && now > row->heard + NIC_SILENCE_NS)
		nic_row_probe(nic, row, now);
	nic_unlock(&row->lock);
	for (; due; due &= due - 1) {
		u32 n = (u32)__builtin_ctzll(due);

		nic_vn_retransmit(nic, row, n, seq[n], now);
	}
}
