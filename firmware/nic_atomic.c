// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Atomic operations: atomic among the operations of this NIC (IBV_ATOMIC_HCA),
 * for which words are locked by address.
 */
#include "nic_request.h"

static u64 nic_atomic_result(const struct vnet_send_wqe *wqe, u64 old)
{
	if (wqe->opcode == VNET_WR_ATOMIC_FETCH_ADD)
		return old + wqe->rdma.compare_add;
	return old == wqe->rdma.compare_add ? wqe->rdma.swap : old;
}

/* Read, modify and write the remote word, under its lock. */
static enum nic_copy_result nic_atomic_exchange(struct nic *nic, const struct vnet_send_wqe *wqe,
						const struct nic_piece *remote, u64 *old)
{
	struct nic_piece here = { .length = 8, .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;
	u64 new_value;

	here.addr = (u64)(unsigned long)old;
	result = plat_copy(nic, &here, 1, remote, 1, 8);
	if (result != NIC_COPY_OK)
		return result;
	new_value = nic_atomic_result(wqe, *old);
	if (new_value == *old)
		return NIC_COPY_OK;
	here.addr = (u64)(unsigned long)&new_value;
	result = plat_copy(nic, remote, 1, &here, 1, 8);
	/* Both sides of this copy are the remote one to our caller. */
	if (result == NIC_COPY_DST_GONE)
		return NIC_COPY_SRC_GONE;
	return result == NIC_COPY_OK ? result : NIC_COPY_SRC_FAULT;
}

bool nic_atomic(struct nic *nic, struct nic_qp *executor, const struct vnet_send_wqe *wqe,
		const struct nic_piece *remote, u64 *old, enum nic_copy_result *result)
{
	/* Where the word is, not what it is called: keys may differ. */
	u32 n = (u32)(remote->addr >> 3) % NIC_ATOMIC_LOCKS;
	nic_lock_t *lock = &nic->hdr->atomic_lock[n];

	if (!nic_lock(nic, lock))
		return false;
	executor->op_atomic = n + 1;
	plat_step(6);
	*result = nic_atomic_exchange(nic, wqe, remote, old);
	plat_step(7);
	nic_unlock_release(lock);
	executor->op_atomic = 0;
	return true;
}
