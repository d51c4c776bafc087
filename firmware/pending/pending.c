// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The bitmap of pending queue pairs, and the timers of requests that wait: transport timeout, RNR
 * timer, locks, and pages.
 */
#include "layout/wake.h"
#include "pending/pending.h"

/*
 * Interval at which a polling process retries a waiting QP. Each try takes cache lines away from
 * the receiver, and gains more if that has posted several receives.
 */
#define NIC_LOOK_NS 3000ull

static void nic_set_pending(struct nic *nic, const struct nic_qp *qp)
{
	struct nic_header *hdr = nic->hdr;
	u32 i = nic_qp_index(nic, qp);
	u64 bit = 1ull << (i % 64);

	/*
	 * Full barrier: the thread that clears this bit afterwards sees all stores before it was
	 * set. If the summary's bit is still set after the barrier, the word has not been scanned
	 * since.
	 */
	nic_fetch_or(&nic->pending[i / 64], bit);
	bit = 1ull << (i / 64 / nic_pending_stride(nic));
	if (!(nic_load(&hdr->pending_summary) & bit))
		nic_fetch_or(&hdr->pending_summary, bit);
}

void nic_pend(struct nic *nic, struct nic_qp *qp)
{
	nic_set_pending(nic, qp);
	nic_wake_for_tick(nic);
}

void nic_pend_now(struct nic *nic, struct nic_qp *qp)
{
	nic_set_pending(nic, qp);
	nic_wake_now(nic);
}

void nic_pend_next(struct nic *nic, struct nic_qp *qp)
{
	struct nic_qp *other = nic_find_qp(nic, nic_xchg(&nic->follow, qp->qpn));

	nic_set_pending(nic, qp);
	/* The QP was named by another thread, which may not look at nic->follow again. */
	if (unlikely(other && other != qp))
		nic_pend(nic, other);
}

void nic_unpend(struct nic *nic, struct nic_qp *qp)
{
	u32 i = nic_qp_index(nic, qp);

	nic_fetch_and(&nic->pending[i / 64], ~(1ull << (i % 64)));
}

/* ---------------------------------------------------------------- timeouts */

u64 nic_transport_timeout(const struct nic_qp *qp)
{
	u8 timeout = qp->attr.timeout & 31;

	/* 4.096 us times two to the power of timeout (IB vol 1, 9.7.6.1.3). */
	return timeout ? 4096ull << timeout : 0;
}

u64 nic_rnr_timeout(const struct nic_qp *responder)
{
	/* RNR NAK timer field, in 10 us (IB vol 1, table 45); 0 is the longest. */
	static const u32 timer[32] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return timer[responder->attr.min_rnr_timer & 31] * 10000ull;
}

/* A period of waiting is over. Returns VNET_WC_SUCCESS for another one, or the error. */
static enum vnet_wc_status nic_wait_expired(struct nic_qp *qp, enum nic_wait reason)
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
				u64 timeout)
{
	u64 now = plat_clock();
	enum vnet_wc_status status = VNET_WC_SUCCESS;

	if (qp->wait != reason) {
		/* A responder that sends RNR NAKs is alive. */
		if (reason == NIC_WAIT_RNR)
			qp->retries_used = 0;
		nic_store(&qp->wait, reason);
		qp->deadline = timeout ? now + timeout : 0;
	} else if (qp->deadline && now >= qp->deadline) {
		status = nic_wait_expired(qp, reason);
		qp->deadline = now + timeout;
	}
	nic_store(&qp->look_at, reason == NIC_WAIT_LOCK ? now : now + NIC_LOOK_NS);
	if (status == VNET_WC_SUCCESS)
		nic_pend(nic, qp);
	return status;
}
