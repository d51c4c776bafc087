// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Atomic operations, atomic among the operations of this NIC (IBV_ATOMIC_HCA). Words are locked by
 * address.
 */
#include "protection/protection.h"
#include "requester/requester.h"

static u64 nic_atomic_result(const struct vnet_send_wqe *wqe, u64 old)
{
	if (wqe->opcode == VNET_WR_ATOMIC_FETCH_ADD)
		return old + wqe->rdma.compare_add;
	if (wqe->opcode == VNET_WR_ATOMIC_WRITE)
		return wqe->rdma.compare_add;
	return old == wqe->rdma.compare_add ? wqe->rdma.swap : old;
}

/* Address of the word that is the same for all processes; for device memory not the pointer. */
static u64 nic_word_addr(const struct nic *nic, const struct nic_piece *word)
{
	if (likely(!(word->mr & NIC_PIECE_DEVICE)))
		return word->addr;
	return word->addr - (u64)(unsigned long)nic->hdr;
}

/* Find a word by this address, for recovery. false: its address space no longer exists. */
static bool nic_word_find(struct nic *nic, struct nic_piece *word)
{
	u64 skew = word->addr % sizeof(u64);
	u8 *memory;

	if (word->space != NIC_SPACE_DEVICE)
		return word->space != NIC_SPACE_POINTER;
	memory = plat_queue(nic, word->addr - skew, sizeof(u64) + skew);
	if (!memory)
		return false;
	word->addr = (u64)(unsigned long)(memory + skew);
	word->space = NIC_SPACE_POINTER;
	return true;
}

/*
 * Read, modify and write the remote word, under its lock. The new value is recorded before the
 * write, so that recovery can find out whether it was written.
 */
static enum nic_copy_result nic_atomic_exchange(struct nic *nic, struct nic_qp *executor,
						struct nic_intent *intent, u64 key,
						const struct vnet_send_wqe *wqe,
						const struct nic_piece *remote)
{
	struct nic_page_waiter by = nic_page_waiter(
		executor,
		intent == &executor->intent[NIC_INTENT_PACKET] ? NIC_ARRIVALS : NIC_REQUESTS,
		(u32)key);
	struct nic_piece here = { .length = 8, .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;
	u64 old, new_value;

	here.addr = (u64)(unsigned long)&old;
	result = nic_copy(nic, by, &here, 1, remote, 1, 8);
	if (result != NIC_COPY_OK)
		return result;
	new_value = nic_atomic_result(wqe, old);
	intent->old = old;
	if (new_value != old) {
		executor->op_word = nic_word_addr(nic, remote);
		executor->op_word_space =
			unlikely(remote->mr & NIC_PIECE_DEVICE) ? NIC_SPACE_DEVICE : remote->space;
		executor->op_word_mr = remote->mr;
		executor->op_new = new_value;
		nic_store_release(&intent->key, key | NIC_INTENT_BEGUN);
		here.addr = (u64)(unsigned long)&new_value;
		result = nic_copy(nic, by, remote, 1, &here, 1, 8);
		/* Both copies access the remote word, so the caller gets the error of a source. */
		if (result == NIC_COPY_DST_GONE)
			return NIC_COPY_SRC_GONE;
		if (result == NIC_COPY_DST_LATER)
			return NIC_COPY_SRC_LATER;
		if (result != NIC_COPY_OK)
			return NIC_COPY_SRC_FAULT;
	}
	nic_store_release(&intent->key, key | NIC_INTENT_DONE);
	return NIC_COPY_OK;
}

bool nic_atomic(struct nic *nic, struct nic_qp *executor, enum nic_intent_of what, u32 number,
		const struct vnet_send_wqe *wqe, const struct nic_piece *remote, u64 *old,
		enum nic_copy_result *result)
{
	/* By its address, because the word may be accessed by several keys. */
	u32 n = (u32)(nic_word_addr(nic, remote) >> 3) % NIC_ATOMIC_LOCKS;
	nic_lock_t *lock = &nic->hdr->atomic_lock[n];
	struct nic_intent *intent = &executor->intent[what];

	*result = NIC_COPY_OK;
	if (unlikely(intent->key == (number | NIC_INTENT_DONE))) {
		*old = intent->old;
		return true;
	}
	if (!nic_lock(nic, lock))
		return false;
	intent->key = 0;
	executor->op_atomic = n + 1;
	plat_step(6);
	*result = nic_atomic_exchange(nic, executor, intent, number, wqe, remote);
	*old = intent->old;
	plat_step(7);
	nic_unlock_release(lock);
	executor->op_atomic = 0;
	return true;
}

void nic_atomic_recover(struct nic *nic, struct nic_qp *executor, u32 owner)
{
	u32 i, n = executor->op_atomic;
	bool found;
	u64 word;
	struct nic_piece here = { .addr = (u64)(unsigned long)&word,
				  .length = 8,
				  .space = NIC_SPACE_POINTER };
	struct nic_piece remote = { .addr = executor->op_word,
				    .length = 8,
				    .space = executor->op_word_space,
				    .mr = executor->op_word_mr };

	executor->op_atomic = 0;
	if (!n || n > NIC_ATOMIC_LOCKS || nic_load(&nic->hdr->atomic_lock[n - 1]) != owner)
		return;
	found = nic_word_find(nic, &remote);
	for (i = 0; i < 2; i++) {
		struct nic_intent *intent = &executor->intent[i];

		if (!(intent->key & NIC_INTENT_BEGUN))
			continue;
		/* No one else has changed the word since, because its lock is still held. */
		if (found && plat_copy(nic, &here, 1, &remote, 1, 8) == NIC_COPY_OK &&
		    word == executor->op_new)
			intent->key = (u32)intent->key | NIC_INTENT_DONE;
		else
			intent->key = 0;
	}
	nic_unlock(&nic->hdr->atomic_lock[n - 1]);
}
