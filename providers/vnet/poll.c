// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling completions: the fast path of every program.
 *
 * No allocation, no log, and no call except to the agent: a copy if a message is in its completion,
 * and `idle` for an empty poll. The entries from `cons` up to the next one that the NIC makes
 * belong to the process until it stores the ring's cons.
 *
 * The CQ's lock is never held when a function returns to the program. A batch of extended polling
 * (ibv_start_poll() to ibv_end_poll()) excludes other pollers by the flag `in_batch`. Deregistering
 * a region, destroying a QP and arming the CQ take only the lock, so they may run within a batch.
 * The entries from the ring's cons to the CQ's cons belong to the batch, and no other thread
 * changes them.
 */
#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "cqe.h"
#include "vnet.h"

/* In vnet_cqe.opcode: an entry of a destroyed or reset QP. The NIC never writes this value. */
#define VNET_CQE_CLEANED 0xff

/* ------------------------------------------------------------------- entries */

/* Returns entry `index`, or NULL if the NIC has not made it yet. */
static inline struct vnet_cqe *entry_at(const struct vnet_cq *cq, uint32_t index)
{
	struct vnet_cqe *cqe = &cq->slots[index & cq->mask];

	/*
	 * Acquire: pairs with the NIC's release store of seq, which follows the rest of the entry
	 * and the data that the entry announces.
	 */
	if (__atomic_load_n(&cqe->seq, __ATOMIC_ACQUIRE) != index + 1)
		return NULL;
	return cqe;
}

/*
 * The NIC may have overwritten unpolled entries: continue at the oldest one that is left. Returns
 * false if nothing was lost.
 */
static __attribute__((cold, noinline)) bool skip_lost(struct vnet_cq *cq)
{
	uint32_t seq = __atomic_load_n(&cq->slots[cq->cons & cq->mask].seq, __ATOMIC_ACQUIRE);

	/* The entry is of an earlier round of the ring. */
	if ((int32_t)(seq - (cq->cons + 1)) <= 0)
		return false;
	/* Entry seq - 1 is the newest known one, and the ring holds mask + 1 entries. */
	cq->cons = seq - (cq->mask + 1);
	return true;
}

/* Returns the next completion or NULL. The caller holds the lock. */
static inline struct vnet_cqe *take(struct vnet_cq *cq)
{
	struct vnet_cqe *cqe;

	for (;;) {
		cqe = entry_at(cq, cq->cons);
		if (!cqe) {
			if (likely(!cq->ignores_overrun) || !skip_lost(cq))
				return NULL;
			continue;
		}
		cq->cons++;
		if (likely(cqe->opcode != VNET_CQE_CLEANED))
			return cqe;
	}
}

/*
 * Return the polled entries to the NIC. Release: pairs with the NIC's acquire of ring->cons before
 * it writes into their slots.
 */
static inline void give_back(struct vnet_cq *cq)
{
	__atomic_store_n(&cq->ring->cons, cq->cons, __ATOMIC_RELEASE);
}

/*
 * Lock the CQ for polling, outside of other threads' batches. If the lock is skipped, record the
 * polling thread: that thread may also look at unpolled entries for another purpose
 * (may_look_into()).
 */
static inline void begin(struct vnet_cq *cq)
{
	if (cq->lock.skip) {
		cq->poller = pthread_self();
		return;
	}
	vnet_lock(&cq->lock);
	if (unlikely(vnet_cq_in_batch(cq)))
		vnet_cq_await_batch(cq);
}

void vnet_cq_await_batch(struct vnet_cq *cq)
{
	while (vnet_cq_in_batch(cq) && !pthread_equal(cq->poller, pthread_self())) {
		vnet_unlock(&cq->lock);
		sched_yield();
		vnet_lock(&cq->lock);
	}
}

/*
 * Let the agent work after an empty poll. Returns true if there may be a completion now, which the
 * caller must look for: the agent may have made one, or may have let the peer run for any time. If
 * the poll returned "empty" then, the program could see the peer's disconnection, which arrives by
 * another way, before a message that the peer sent first.
 */
static inline bool idle(struct vnet_cq *cq)
{
	/* Any thread may store it: it is a hint. */
	if (!__atomic_load_n(&cq->seen_empty, __ATOMIC_RELAXED))
		__atomic_store_n(&cq->seen_empty, true, __ATOMIC_RELAXED);
	if (!cq->idle)
		return false;
	cq->idle(cq->cookie, cq->cqn);
	return true;
}

/* ------------------------------------------------------------------ payloads */

static __attribute__((cold, noinline)) uint8_t placing_failed(const struct vnet_cq *cq,
							      uint32_t qpn)
{
	const struct vnet_context *ctx = to_vctx(cq->vcq.cq.context);

	ctx->gate.recv_fault(cq->cookie, qpn);
	return IBV_WC_LOC_PROT_ERR;
}

/* Copy the message in the entry to its buffer. Returns the completion's status. */
static inline uint8_t place(const struct vnet_cq *cq, const struct vnet_cqe *cqe)
{
	void *dst = (void *)(uintptr_t)cqe->scatter_addr;
	uint32_t len = cqe->payload_len;

	if (unlikely(len > VNET_CQE_PAYLOAD))
		len = VNET_CQE_PAYLOAD;
	if (unlikely(!cq->copy)) {
		memcpy(dst, cqe->payload, len);
		return cqe->status;
	}
	if (unlikely(cq->copy(cq->cookie, dst, cqe->payload, len)))
		return placing_failed(cq, cqe->qp_num);
	return cqe->status;
}

static inline uint8_t settle_status(const struct vnet_cq *cq, const struct vnet_cqe *cqe)
{
	return cqe->payload_len ? place(cq, cqe) : cqe->status;
}

/* ------------------------------------------------------------------- polling */

/*
 * On Ethernet, the service level of a datagram tells the kind of its network header, as in
 * completions of RoCE adapters: bit 3 for RoCE v2, and 1 for IPv6 or 2 for IPv4. Annex 17 requires
 * that information, and struct ibv_wc has no other field for it.
 */
static inline uint8_t sl_of(const struct vnet_cqe *cqe)
{
	if (unlikely(cqe->flags & VNET_WC_LID))
		return (uint8_t)(cqe->src_qp >> VNET_CQE_SL_SHIFT);
	if (likely(!(cqe->flags & VNET_WC_GRH)))
		return 0;
	return cqe->flags & VNET_WC_GRH_IPV4 ? 8 | 2 : 8 | 1;
}

static inline void fill_wc(const struct vnet_cq *cq, const struct vnet_cqe *cqe, struct ibv_wc *wc)
{
	uint8_t status = settle_status(cq, cqe);

	wc->wr_id = cqe->wr_id;
	wc->status = status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->status ? cqe->imm : 0;
	wc->byte_len = byte_len_of(cqe);
	wc->invalidated_rkey = cqe->imm;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = src_qp_of(cqe);
	wc->wc_flags = wc_flags_of(cqe);
	wc->pkey_index = 0;
	wc->slid = slid_of(cqe);
	wc->sl = sl_of(cqe);
	wc->dlid_path_bits = 0;
}

/* All 64 bits of the immediate data. */
static inline uint64_t imm64_of(const struct vnet_cqe *cqe)
{
	uint32_t high = 0;

	if (cqe->flags & VNET_WC_IMM64)
		memcpy(&high, cqe->payload + vnet_cqe_imm_high(byte_len_of(cqe)), sizeof(high));
	return (uint64_t)high << 32 | be32toh(cqe->imm);
}

static inline int poll_now(struct vnet_cq *cq, int num_entries, struct ibv_wc *wc)
{
	const struct vnet_cqe *cqe;
	uint32_t start;
	int n;

	begin(cq);
	start = cq->cons;
	for (n = 0; n < num_entries; n++) {
		cqe = take(cq);
		if (!cqe)
			break;
		fill_wc(cq, cqe, &wc[n]);
	}
	if (cq->cons != start)
		give_back(cq);
	vnet_unlock(&cq->lock);
	return n;
}

static __attribute__((noinline)) int poll_again(struct vnet_cq *cq, int num_entries,
						struct ibv_wc *wc)
{
	return poll_now(cq, num_entries, wc);
}

int vnet_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct vnet_cq *cq = to_vcq(ibcq);
	int n = poll_now(cq, num_entries, wc);

	if (!n && idle(cq))
		n = poll_again(cq, num_entries, wc);
	return n;
}

static inline int poll_imm64_now(struct vnet_cq *cq, int num_entries, struct vnetdv_wc *wc)
{
	const struct vnet_cqe *cqe;
	uint32_t start;
	int n;

	begin(cq);
	start = cq->cons;
	for (n = 0; n < num_entries; n++) {
		cqe = take(cq);
		if (!cqe)
			break;
		fill_wc(cq, cqe, &wc[n].wc);
		wc[n].imm64 = imm64_of(cqe);
	}
	if (cq->cons != start)
		give_back(cq);
	vnet_unlock(&cq->lock);
	return n;
}

static __attribute__((noinline)) int poll_imm64_again(struct vnet_cq *cq, int num_entries,
						      struct vnetdv_wc *wc)
{
	return poll_imm64_now(cq, num_entries, wc);
}

/* Inline, because a caller in this file is on the path of every message. */
inline int vnet_poll_imm64(struct ibv_cq *ibcq, int num_entries, struct vnetdv_wc *wc)
{
	struct vnet_cq *cq = to_vcq(ibcq);
	int n = poll_imm64_now(cq, num_entries, wc);

	if (!n && idle(cq))
		n = poll_imm64_again(cq, num_entries, wc);
	return n;
}

/* Programs call it by name and not through a table, so it checks where the CQ is. */
int vnetdv_poll_cq(struct ibv_cq *ibcq, int num_entries, struct vnetdv_wc *wc)
{
	if (unlikely(to_vcq(ibcq)->in_nic))
		return vnet_cq_poll_imm64_in_nic(ibcq, num_entries, wc);
	return vnet_poll_imm64(ibcq, num_entries, wc);
}

/* ---------------------------------------------------------- extended polling */

static inline void show(struct vnet_cq *cq, const struct vnet_cqe *cqe)
{
	cq->cur = cqe;
	cq->vcq.cq_ex.status = settle_status(cq, cqe);
	cq->vcq.cq_ex.wr_id = cqe->wr_id;
}

/*
 * Limit the first batch after arming to the entries that were there when the CQ was armed. Later
 * entries have an event, and must still be there when the program reads that event. With an
 * adapter, the completion of a request posted within the batch comes too late for the batch; here
 * it may be there before ibv_post_send() returns. Some programs treat an event without a completion
 * as an error. The caller holds the lock.
 */
static __attribute__((cold, noinline)) void bound_batch(struct vnet_cq *cq)
{
	/* The batch's first entry has been taken already. */
	cq->bounded = (int32_t)(cq->armed_at - cq->cons) >= 0;
	cq->batch_end = cq->armed_at;
}

/* Returns true if a batch has begun; it lasts until end_poll(). */
static inline bool start_now(struct vnet_cq *cq)
{
	const struct vnet_cqe *cqe;
	uint32_t start;

	begin(cq);
	start = cq->cons;
	cqe = take(cq);
	if (likely(cqe)) {
		show(cq, cqe);
		if (unlikely(cq->uses_events))
			bound_batch(cq);
		cq->poller = pthread_self();
		__atomic_store_n(&cq->in_batch, true, __ATOMIC_RELAXED);
	} else if (cq->cons != start) {
		give_back(cq);
	}
	vnet_unlock(&cq->lock);
	return cqe;
}

static __attribute__((noinline)) int start_idle(struct vnet_cq *cq)
{
	bool ready = idle(cq);

	/* Retry tag operations that could not be executed when they were posted. */
	if (unlikely(__atomic_load_n(&cq->matching, __ATOMIC_RELAXED)))
		vnet_tm_flush(cq);
	return ready && start_now(cq) ? 0 : ENOENT;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct vnet_cq *cq = to_vcq_ex(ibcq);

	if (unlikely(attr->comp_mask))
		return EINVAL;
	return likely(start_now(cq)) ? 0 : start_idle(cq);
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	struct vnet_cq *cq = to_vcq_ex(ibcq);
	const struct vnet_cqe *cqe;

	if (unlikely(cq->bounded) && (int32_t)(cq->batch_end - cq->cons) <= 0) {
		/* Report the end once only: the program may go on polling within the batch. */
		cq->bounded = false;
		return ENOENT;
	}
	/* Another thread that deregisters a region may be reading the entries. */
	vnet_lock(&cq->lock);
	cqe = take(cq);
	if (cqe)
		show(cq, cqe);
	vnet_unlock(&cq->lock);
	return cqe ? 0 : ENOENT;
}

/* Release: pairs with the acquire in vnet_cq_in_batch(). */
static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct vnet_cq *cq = to_vcq_ex(ibcq);

	give_back(cq);
	__atomic_store_n(&cq->in_batch, false, __ATOMIC_RELEASE);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return to_vcq_ex(ibcq)->cur->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	const struct vnet_cqe *cqe = to_vcq_ex(ibcq)->cur;

	return cqe->status ? cqe->imm : 0;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return byte_len_of(to_vcq_ex(ibcq)->cur);
}

static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__be32)to_vcq_ex(ibcq)->cur->imm;
}

uint64_t vnetdv_wc_read_imm64(struct ibv_cq_ex *ibcq)
{
	return imm64_of(to_vcq_ex(ibcq)->cur);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_vcq_ex(ibcq)->cur->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibcq)
{
	return src_qp_of(to_vcq_ex(ibcq)->cur);
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return wc_flags_of(to_vcq_ex(ibcq)->cur);
}

static uint32_t read_slid(struct ibv_cq_ex *ibcq)
{
	return slid_of(to_vcq_ex(ibcq)->cur);
}

static uint8_t read_sl(struct ibv_cq_ex *ibcq)
{
	return sl_of(to_vcq_ex(ibcq)->cur);
}

static uint8_t read_zero(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

/* Received frames keep their VLAN tags, so none is reported here. */
static uint16_t read_cvlan(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *ibcq)
{
	const struct vnet_cqe *cqe = to_vcq_ex(ibcq)->cur;

	return cqe->opcode < VNET_WC_TM_ADD && cqe->flags & VNET_WC_FLOW_TAG ? cqe->imm : 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_vcq_ex(ibcq)->cur->timestamp;
}

/* The NIC's clock is the monotonic clock; add its current distance from the wall clock. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	uint64_t ahead = vnet_clock_ns(CLOCK_REALTIME) - vnet_clock_ns(CLOCK_MONOTONIC);

	return to_vcq_ex(ibcq)->cur->timestamp + ahead;
}

static void read_tm_info(struct ibv_cq_ex *ibcq, struct ibv_wc_tm_info *info)
{
	const struct vnet_cqe *cqe = to_vcq_ex(ibcq)->cur;
	const uint8_t *at = cqe->payload + vnet_cqe_tm_info(cqe->byte_len);

	memset(info, 0, sizeof(*info));
	if (cqe->opcode != VNET_WC_TM_RECV || !(cqe->flags & VNET_WC_TM_MATCH))
		return;
	memcpy(&info->tag, at, sizeof(info->tag));
	memcpy(&info->priv, at + sizeof(info->tag), sizeof(info->priv));
}

void vnet_cq_set_poll_ops(struct vnet_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_zero;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		ex->read_tm_info = read_tm_info;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

/* ---------------------------------------------------------- unpolled entries */

void vnet_cq_clean(struct ibv_cq *ibcq, uint32_t qpn)
{
	struct vnet_cqe *cqe;
	struct vnet_cq *cq;
	uint32_t i;

	if (!ibcq)
		return;
	cq = to_vcq(ibcq);
	vnet_lock(&cq->lock);
	for (i = cq->cons; (cqe = entry_at(cq, i)); i++)
		if (cqe->qp_num == qpn)
			cqe->opcode = VNET_CQE_CLEANED;
	vnet_unlock(&cq->lock);
}

/*
 * Only the polling thread may look at the entries of a CQ without a lock. From another thread they
 * stay unplaced, and the program must poll them before it reuses the memory.
 */
static bool may_look_into(const struct vnet_cq *cq)
{
	return !cq->lock.skip || vnet_one_thread() || pthread_equal(cq->poller, pthread_self());
}

static void place_within(struct vnet_cq *cq, uint64_t addr, size_t length)
{
	struct vnet_cqe *cqe;
	uint8_t status;
	uint32_t i;

	for (i = cq->cons; (cqe = entry_at(cq, i)); i++) {
		if (!cqe->payload_len || cqe->opcode == VNET_CQE_CLEANED)
			continue;
		if (cqe->scatter_addr - addr >= length)
			continue;
		status = place(cq, cqe);
		cqe->payload_len = 0;
		if (status == cqe->status)
			continue;
		cqe->status = status;
		cqe->imm = 0;
	}
}

void vnet_cqs_place(struct vnet_context *ctx, const void *addr, size_t length)
{
	struct vnet_cq *cq;

	pthread_mutex_lock(&ctx->cq_mutex);
	for (cq = ctx->cqs; cq; cq = cq->next) {
		if (!may_look_into(cq))
			continue;
		vnet_lock(&cq->lock);
		place_within(cq, (uintptr_t)addr, length);
		vnet_unlock(&cq->lock);
	}
	pthread_mutex_unlock(&ctx->cq_mutex);
}
