// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waiting queue pairs, and the rounds of the NIC processor that retry them.
 *
 * The bit of a QP whose head request cannot continue is set in the pending bitmap. The request is
 * tried again by its own process, when that polls an empty CQ; and by the NIC processor, each
 * millisecond while any QP is pending, and at once when a receive is posted for which a doorbell
 * was requested. Any try may find that the request can continue. Retries (retry_cnt, rnr_retry) are
 * counted by time, not by the number of tries.
 */
#include "layout/wake.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "completion/completion.h"
#include "requester/requester.h"
#include "tags/tags.h"

#define NIC_TICK_NS 1000000ull
#define NIC_MOST_LINGER 1000u
/* Requests that an idle process executes for one QP before it polls again. */
#define NIC_IDLE_BUDGET 64

/*
 * Should a process of `space` try this pending QP now? *now: the clock, or 0 if it has not been
 * read yet; it is read only when needed.
 */
static bool nic_is_due(const struct nic_qp *qp, u32 space, u64 *now)
{
	if (nic_load(&qp->space) != space)
		return false;
	if (!*now)
		*now = plat_clock();
	return nic_load(&qp->look_at) <= *now;
}

/* The QP's part of `budget`, by the weight of its service level. */
static u32 nic_weighted_budget(const struct nic *nic, const struct nic_qp *qp, u32 budget)
{
	u8 weight = nic->hdr->settings.weight[qp->attr.sl & 15];

	return weight > 1 ? budget * weight : budget;
}

/* A round over pending QPs: of the NIC processor, or of a process that polls. */
struct nic_round {
	struct nic *nic;
	/* Address space whose QPs are visited; NIC_SPACE_POINTER: all. */
	u32 space;
	u32 budget;
	struct nic_stretch stretch;
	/* NIC clock, read when first needed; 0: not yet. */
	u64 now;
	/* Skip QPs that wait for something: they had their turn in this tick. */
	bool quick;
	/* Some QP could go on at once. */
	bool more;
};

static bool nic_is_processor(const struct nic_round *round)
{
	return round->space == NIC_SPACE_POINTER;
}

/*
 * Turn of one QP at the NIC processor: up to its part of the budget, then `linger` more looks for
 * new requests. false: another thread has the lock of the queue.
 */
static bool nic_serve(struct nic_round *round, struct nic_qp *qp)
{
	struct nic *nic = round->nic;
	u32 linger = nic_load(&nic->hdr->settings.linger);

	/* NIC memory may be corrupted: do not starve the other QPs. */
	if (linger > NIC_MOST_LINGER)
		linger = NIC_MOST_LINGER;
	round->stretch.budget = nic_weighted_budget(nic, qp, round->budget);
	if (!nic_qp_run_stretch(nic, qp, &round->stretch))
		return false;
	for (; unlikely(linger); linger--) {
		plat_relax();
		round->stretch.budget = nic_weighted_budget(nic, qp, round->budget);
		if (nic_qp_has_work(nic, qp) && !nic_qp_run_stretch(nic, qp, &round->stretch))
			return false;
	}
	return true;
}

/* Give a pending QP its turn. */
static void nic_round_visit(struct nic_round *round, struct nic_qp *qp)
{
	u64 before = round->stretch.work;
	struct nic *nic = round->nic;
	bool served;

	round->stretch.budget = round->budget;
	served = nic_is_processor(round) ? nic_serve(round, qp) :
					   nic_qp_run_stretch(nic, qp, &round->stretch);
	/* The holder of its lock may have set the pending bit just before it was cleared here. */
	if (!served)
		nic_pend(nic, qp);
	if (round->stretch.work == before)
		round->stretch.work += NIC_STRETCH_REQUEST;
	else if (nic_is_processor(round) && nic_qp_has_work(nic, qp))
		round->more = true;
}

/* Should the QP have its turn in this round? */
static bool nic_round_selects(struct nic_round *round, const struct nic_qp *qp)
{
	u8 wait;

	if (!nic_is_processor(round))
		return nic_is_due(qp, round->space, &round->now);
	wait = unlikely(round->quick) ? nic_load(&qp->wait) : NIC_WAIT_NONE;
	return likely(wait == NIC_WAIT_NONE || wait == NIC_WAIT_TURN);
}

/* Visit the pending QPs of one word that mask selects. false: the stretch is over. */
static bool nic_round_word(struct nic_round *round, u32 word, u64 mask)
{
	struct nic *nic = round->nic;
	u64 bits = nic_load(&nic->pending[word]) & mask;

	while (bits) {
		u32 i = word * 64 + (u32)__builtin_ctzll(bits);
		struct nic_qp *qp = &nic->qp[i];

		bits &= bits - 1;
		if (!nic_round_selects(round, qp))
			continue;
		if (unlikely(nic_stretch_is_over(&round->stretch))) {
			nic_store(&nic->hand, i);
			return false;
		}
		/* Cleared before the try, which sets it again if the QP still waits. */
		nic_fetch_and(&nic->pending[word], ~(1ull << (i % 64)));
		if (nic_load(&qp->qpn))
			nic_round_visit(round, qp);
	}
	return true;
}

/*
 * Visit the pending QPs in [from, to), which summary bit `bit` covers. false: the stretch is over.
 */
static bool nic_round_group(struct nic_round *round, u32 bit, u32 from, u32 to)
{
	struct nic *nic = round->nic;
	u32 word, first = bit * nic_pending_stride(nic), end = first + nic_pending_stride(nic);
	bool goes_on = true, left = false;

	/*
	 * Cleared before the words are read: see layout/memory.h. Only the NIC processor clears it.
	 * If a process cleared it while it scans the words, the NIC processor could find the
	 * summary empty and fall asleep.
	 */
	if (nic_is_processor(round))
		nic_fetch_and(&nic->hdr->pending_summary, ~(1ull << bit));
	for (word = from / 64; word * 64 < to && goes_on; word++) {
		u64 mask = ~0ull;

		if (word == from / 64)
			mask <<= from % 64;
		if (to - word * 64 < 64)
			mask &= (1ull << (to - word * 64)) - 1;
		goes_on = nic_round_word(round, word, mask);
	}
	if (!nic_is_processor(round))
		return goes_on;
	for (word = first; word < end && word < nic_pending_words(nic); word++)
		left = left || nic_load(&nic->pending[word]);
	if (left)
		nic_fetch_or(&nic->hdr->pending_summary, 1ull << bit);
	return goes_on;
}

/* Visit the pending QPs in [from, to). false: the stretch is over. */
static bool nic_round_range(struct nic_round *round, u32 from, u32 to)
{
	u32 end, each = 64 * nic_pending_stride(round->nic);
	u64 summary = nic_load(&round->nic->hdr->pending_summary);

	for (; from < to; from = end) {
		u32 bit = from / each;

		end = (bit + 1) * each < to ? (bit + 1) * each : to;
		if (summary >> bit & 1 && !nic_round_group(round, bit, from, end))
			return false;
	}
	return true;
}

/*
 * Visit the pending QPs of the n from nic->hand on. false: the stretch is over, at the new
 * nic->hand.
 */
static bool nic_round_run(struct nic_round *round, u32 n)
{
	struct nic *nic = round->nic;
	u32 hand = nic_load(&nic->hand) & (nic->max_qp - 1);
	u32 here = n < nic->max_qp - hand ? n : nic->max_qp - hand;

	return nic_round_range(round, hand, hand + here) && nic_round_range(round, 0, n - here);
}

void nic_idle(struct nic *nic)
{
	struct nic_round round;

	if (unlikely(nic->max_row))
		nic_vn_idle(nic);
	if (likely(!nic_load(&nic->hdr->pending_summary)))
		return;
	round = (struct nic_round){ .nic = nic,
				    .space = nic->space,
				    .budget = NIC_IDLE_BUDGET,
				    .stretch = { .once = true } };
	(void)nic_round_run(&round, nic->max_qp);
	nic_stretch_end(nic, &round.stretch);
}

/*
 * Begin a sweep: each pending QP has its turn once, in as many rounds as needed. QPs that wait for
 * something have theirs once in a tick, or when the processor was woken. A QP that used up its
 * budget has its next turn in the next sweep, which follows at once.
 */
static void nic_sweep_begin(struct nic *nic, u64 now)
{
	u32 bits = nic_pending_words(nic) / nic_pending_stride(nic);

	/* Bits that stand for no words, if NIC memory is corrupted, would never be cleared. */
	if (unlikely(bits < 64 && nic_load(&nic->hdr->pending_summary) >> bits))
		nic_fetch_and(&nic->hdr->pending_summary, (1ull << bits) - 1);
	nic->sweep_left = nic->max_qp;
	nic->sweep_quick = nic->sweep_more && now - nic->swept_at < NIC_TICK_NS;
	nic->sweep_more = false;
	if (!nic->sweep_quick)
		nic->swept_at = now;
}

/* One round of a sweep. false: nothing more can be done at once. */
static bool nic_sweep(struct nic *nic, u32 budget)
{
	struct nic_round round = { .nic = nic,
				   .space = NIC_SPACE_POINTER,
				   .budget = budget,
				   .stretch = { .once = true } };
	u32 hand = nic->hand & (nic->max_qp - 1);

	if (!nic->sweep_left)
		nic_sweep_begin(nic, plat_clock());
	round.quick = nic->sweep_quick;
	if (nic_round_run(&round, nic->sweep_left))
		nic->sweep_left = 0;
	else
		nic->sweep_left -= (nic->hand - hand) & (nic->max_qp - 1);
	nic_stretch_end(nic, &round.stretch);
	nic->sweep_more |= round.more;
	return nic->sweep_left || nic->sweep_more;
}

/* Is there work for the NIC processor, apart from the link's? */
static bool nic_has_own_work(const struct nic_header *hdr)
{
	return nic_load(&hdr->pending_summary) || nic_load(&hdr->cq_due) ||
	       nic_load(&hdr->tm_due) || nic_load(&hdr->channel_due);
}

bool nic_run(struct nic *nic, u32 budget, u64 *next)
{
	bool wire = false, more = nic_sweep(nic, budget);
	u64 now = plat_clock();

	*next = now + NIC_TICK_NS;
	if (nic->max_row)
		wire = nic_vn_tick(nic, now, next);
	if (nic_load(&nic->hdr->cq_due))
		nic_cq_run_due(nic, now, next);
	if (nic_load(&nic->hdr->tm_due))
		nic_tm_run_due(nic);
	if (nic_load(&nic->hdr->channel_due))
		nic_channels_run_due(nic);
	if (more)
		*next = now;
	return wire || nic_has_own_work(nic->hdr);
}

u32 nic_budget(const struct nic *nic)
{
	u32 budget = nic_load(&nic->hdr->settings.budget);

	return budget - 1 < NIC_MOST_BUDGET ? budget : NIC_DEFAULT_BUDGET;
}

bool nic_has_work(const struct nic *nic)
{
	const struct nic_header *hdr = nic->hdr;

	return nic_load(&hdr->row_active) || nic_has_own_work(hdr);
}

/* If the QP is in error, flush what was posted. false: it is not. */
static bool nic_recv_in_error(struct nic *nic, struct nic_qp *qp)
{
	if (!qp || nic_load(&qp->state) != NIC_QPS_ERR)
		return false;
	nic_store(&qp->flush_rq, 1);
	if (!nic_qp_run(nic, qp, NIC_IDLE_BUDGET))
		nic_pend(nic, qp);
	return true;
}

void nic_recv_doorbell(struct nic *nic, u32 num, bool is_srq)
{
	struct nic_rq *rq = nic_find_rq(nic, num, is_srq);
	struct vnet_ring *ring;
	struct nic_qp *qp;

	if (!rq || (nic->space != NIC_SPACE_POINTER && nic_load(&rq->space) != nic->space))
		return;
	qp = is_srq ? NULL : nic_find_qp(nic, num);
	if (nic_recv_in_error(nic, qp))
		return;
	ring = plat_queue(nic, rq->ring, VNET_RING_HDR_SIZE);
	if (!ring)
		return;
	/*
	 * The QP may fail at this moment. Either this thread sees that after the barrier, or
	 * nic_flush_receives() sees that no doorbell is requested any more.
	 */
	(void)nic_xchg(&ring->need_doorbell, 0);
	if (nic_recv_in_error(nic, qp))
		return;
	if (nic_end_sleep(nic))
		plat_kick(nic);
}

void nic_recv_fault(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp || nic_load(&qp->space) != nic->space)
		return;
	nic_qp_fail(nic, qp, -1);
	nic_qp_run(nic, qp, qp->sq_mask + 1);
}
