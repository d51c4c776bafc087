// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoints that wait, and the NIC processor that retries them.
 *
 * A request that cannot go on leaves its QP in the pending bitmap. It is tried
 * again by the process that owns it, when that polls an empty CQ; by the NIC
 * processor, every millisecond while anything is pending; and when a receive
 * is posted that the NIC processor is known to wait for. Any try may find the
 * cause gone; only the passing of time counts as a retry.
 */
#include "nic_vn.h"

#define NIC_TICK_NS 1000000ull
#define NIC_MOST_LINGER 1000u
/*
 * A process that polls looks again so often. Looking takes lines away from the
 * receiver, and is better rewarded when that has posted several receives.
 */
#define NIC_LOOK_NS 3000ull
/* Requests that an idle process executes for one QP before it polls again. */
#define NIC_IDLE_BUDGET 64

/* Words of the bitmap per bit of the summary. */
static u32 nic_pending_stride(const struct nic *nic)
{
	return nic->max_qp > 64 * 64 ? nic->max_qp / (64 * 64) : 1;
}

static u32 nic_pending_words(const struct nic *nic)
{
	return (nic->max_qp + 63) / 64;
}

static void nic_mark(struct nic *nic, const struct nic_qp *qp)
{
	struct nic_header *hdr = nic->hdr;
	u32 i = nic_qp_index(nic, qp);
	u64 bit = 1ull << (i % 64);

	/*
	 * Full barrier: who clears this bit afterwards sees why it was set. And
	 * a summary that is still set now has not been scanned since.
	 */
	nic_fetch_or(&nic->pending[i / 64], bit);
	bit = 1ull << (i / 64 / nic_pending_stride(nic));
	if (!(nic_load(&hdr->pending_summary) & bit))
		nic_fetch_or(&hdr->pending_summary, bit);
}

void nic_pend(struct nic *nic, struct nic_qp *qp)
{
	struct nic_header *hdr = nic->hdr;

	nic_mark(nic, qp);
	/* A dozing processor finds it at its next tick. */
	if (nic_load(&hdr->processor_sleeps) == NIC_SLEEPS &&
	    nic_xchg(&hdr->processor_sleeps, NIC_AWAKE)) {
		nic_fetch_add(&hdr->counters.kicks, 1);
		plat_kick(nic);
	}
}

void nic_follow(struct nic *nic, struct nic_qp *qp)
{
	struct nic_qp *other = nic_find_qp(nic, nic_xchg(&nic->follow, qp->qpn));

	nic_mark(nic, qp);
	/* Another thread's, which may have come too late to run it. */
	if (unlikely(other && other != qp))
		nic_pend(nic, other);
}

void nic_unpend(struct nic *nic, struct nic_qp *qp)
{
	u32 i = nic_qp_index(nic, qp);

	nic_fetch_and(&nic->pending[i / 64], ~(1ull << (i % 64)));
}

/* ---------------------------------------------------------------- patience */

u64 nic_peer_patience(const struct nic_qp *qp)
{
	u8 timeout = qp->attr.timeout & 31;

	/* 4.096 us times two to the power of timeout (IB vol 1, 9.7.6.1.3). */
	return timeout ? 4096ull << timeout : 0;
}

u64 nic_rnr_patience(const struct nic_qp *responder)
{
	/* RNR NAK timer field, in 10 us (IB vol 1, table 45); 0 is the longest. */
	static const u32 timer[32] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return timer[responder->attr.min_rnr_timer & 31] * 10000ull;
}

/* A period of waiting is over: fail, or give it another one? */
static enum vnet_wc_status nic_wait_over(struct nic_qp *qp, enum nic_wait reason)
{
	if (reason == NIC_WAIT_RNR) {
		qp->counters.rnr_waits++;
		if (qp->attr.rnr_retry == 7)
			return VNET_WC_SUCCESS;
		if (qp->rnr_used >= qp->attr.rnr_retry)
			return VNET_WC_RNR_RETRY_EXC_ERR;
		qp->rnr_used++;
		return VNET_WC_SUCCESS;
	}
	if (reason == NIC_WAIT_STALL || reason == NIC_WAIT_PEER_PAGES)
		return VNET_WC_GENERAL_ERR;
	if (qp->retries_used >= qp->attr.retry_cnt)
		return VNET_WC_RETRY_EXC_ERR;
	qp->counters.retries++;
	qp->retries_used++;
	return VNET_WC_SUCCESS;
}

enum vnet_wc_status nic_wait_on(struct nic *nic, struct nic_qp *qp, enum nic_wait reason,
				u64 patience)
{
	u64 now = plat_clock();
	enum vnet_wc_status status = VNET_WC_SUCCESS;

	if (qp->wait != reason) {
		/* A responder that says "not ready" is alive. */
		if (reason == NIC_WAIT_RNR)
			qp->retries_used = 0;
		nic_store(&qp->wait, reason);
		qp->deadline = patience ? now + patience : 0;
	} else if (qp->deadline && now >= qp->deadline) {
		status = nic_wait_over(qp, reason);
		qp->deadline = now + patience;
	}
	nic_store(&qp->look_at, reason == NIC_WAIT_LOCK ? now : now + NIC_LOOK_NS);
	if (status == VNET_WC_SUCCESS)
		nic_pend(nic, qp);
	return status;
}

/*
 * Is this pending QP one that a process of `space` should try? *now is the time, or 0:
 * who polls while others wait needs none.
 */
static bool nic_is_due(const struct nic_qp *qp, u32 space, u64 *now)
{
	if (nic_load(&qp->space) != space)
		return false;
	if (!*now)
		*now = plat_clock();
	return nic_load(&qp->look_at) <= *now;
}

/* ---------------------------------------------------- who tries them again */

/* Of `budget`, its share. */
static u32 nic_share(const struct nic *nic, const struct nic_qp *qp, u32 budget)
{
	u8 weight = nic->hdr->settings.weight[qp->attr.sl & 15];

	return weight > 1 ? budget * weight : budget;
}

/*
 * The NIC processor's turn at an endpoint: at most its share, and a while for the
 * process to post more. false: somebody else has the queue's lock.
 */
static bool nic_serve(struct nic *nic, struct nic_qp *qp, u32 budget)
{
	u32 linger = nic_load(&nic->hdr->settings.linger);

	/* Whoever wrote that there: others have their turn. */
	if (linger > NIC_MOST_LINGER)
		linger = NIC_MOST_LINGER;
	budget = nic_share(nic, qp, budget);
	if (!nic_qp_run(nic, qp, budget))
		return false;
	for (; unlikely(linger); linger--) {
		plat_relax();
		if (nic_qp_has_work(nic, qp) && !nic_qp_run(nic, qp, budget))
			return false;
	}
	return true;
}

/* Of the pending QPs in one word, try those of one space that are due (or all). */
static void nic_run_word(struct nic *nic, u32 word, u32 space, u32 budget)
{
	u64 bits = nic_load(&nic->pending[word]);
	u64 now = 0;

	while (bits) {
		u32 i = word * 64 + (u32)__builtin_ctzll(bits);
		struct nic_qp *qp = &nic->qp[i];

		bits &= bits - 1;
		if (space != NIC_SPACE_POINTER && !nic_is_due(qp, space, &now))
			continue;
		/* Before the try, which sets it again if the QP still waits. */
		nic_fetch_and(&nic->pending[word], ~(1ull << (i % 64)));
		/* The holder of its lock may have set it just before us. */
		if (nic_load(&qp->qpn) &&
		    !(space == NIC_SPACE_POINTER ? nic_serve(nic, qp, budget) :
						   nic_qp_run(nic, qp, budget)))
			nic_pend(nic, qp);
		plat_turn(nic, budget);
	}
}

static void nic_run_pending(struct nic *nic, u32 space, u32 budget)
{
	u32 stride = nic_pending_stride(nic);
	u64 summary = nic_load(&nic->hdr->pending_summary);

	while (summary) {
		u32 bit = (u32)__builtin_ctzll(summary);
		u32 word = bit * stride;
		u32 end = word + stride;
		bool left = false;

		summary &= summary - 1;
		if (end > nic_pending_words(nic))
			end = nic_pending_words(nic);
		/*
		 * Cleared before the words are read: see nic_memory.h. By the NIC
		 * processor alone, which must not find the summary empty and fall
		 * asleep because somebody else is just looking through the words.
		 */
		if (space == NIC_SPACE_POINTER)
			nic_fetch_and(&nic->hdr->pending_summary, ~(1ull << bit));
		for (; word < end; word++) {
			nic_run_word(nic, word, space, budget);
			left = left || nic_load(&nic->pending[word]);
		}
		if (left && space == NIC_SPACE_POINTER)
			nic_fetch_or(&nic->hdr->pending_summary, 1ull << bit);
	}
}

void nic_idle(struct nic *nic)
{
	if (unlikely(nic->max_row))
		nic_vn_idle(nic);
	if (likely(!nic_load(&nic->hdr->pending_summary)))
		return;
	nic_run_pending(nic, nic->space, NIC_IDLE_BUDGET);
}

bool nic_run(struct nic *nic, u32 budget, u64 *next)
{
	u64 now;
	bool wire = false;

	nic_run_pending(nic, NIC_SPACE_POINTER, budget);
	now = plat_clock();
	*next = now + NIC_TICK_NS;
	if (nic->max_row)
		wire = nic_vn_tick(nic, now, next);
	if (nic_load(&nic->hdr->cq_due))
		nic_cq_run_due(nic, now, next);
	return wire || nic_load(&nic->hdr->pending_summary) || nic_load(&nic->hdr->cq_due);
}

u32 nic_budget(const struct nic *nic)
{
	u32 budget = nic_load(&nic->hdr->settings.budget);

	return budget - 1 < NIC_MOST_BUDGET ? budget : NIC_DEFAULT_BUDGET;
}

bool nic_has_work(const struct nic *nic)
{
	const struct nic_header *hdr = nic->hdr;

	return nic_load(&hdr->pending_summary) || nic_load(&hdr->row_active) ||
	       nic_load(&hdr->cq_due);
}

/* To a queue pair in error: what is posted comes back at once. */
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
	 * It may fail just now. Either we see that behind this barrier, or who flushes it sees
	 * that the doorbell is not asked for any more: nic_flush_receives().
	 */
	(void)nic_xchg(&ring->need_doorbell, 0);
	if (nic_recv_in_error(nic, qp))
		return;
	if (nic_xchg(&nic->hdr->processor_sleeps, NIC_AWAKE))
		plat_kick(nic);
}
