/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A work request under execution, and the functions that its executors share. */
#ifndef NIC_REQUEST_H
#define NIC_REQUEST_H

#include "nic_internal.h"

/* A request under execution. */
struct nic_request {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_qp *peer;
	/* SGEs or inline data of the WQE, in host queue memory. */
	const u8 *tail;
	/* Index in the send queue. */
	u32 index;
	struct vnet_send_wqe wqe;
	/* Local memory, checked, and its total length. */
	struct nic_piece local[VNET_MAX_SGE + 1];
	u32 nlocal;
	u64 length;
};

/* -- requester/send.c */

/* What to do with the head request: leave it, execute it, or flush it. */
enum nic_turn { NIC_TURN_REST, NIC_TURN_EXECUTE, NIC_TURN_FLUSH };
enum nic_turn nic_turn(const struct nic_qp *qp);

/* Operations of a transport, a bit per enum vnet_wr_opcode. */
u32 nic_opcodes_of(u8 type);
struct vnet_ring *nic_sq_ring(struct nic *nic, const struct nic_qp *qp);
/* Copy request `index` of the send queue. */
void nic_fetch(struct nic_request *r, const struct vnet_ring *ring, u32 index);
/*
 * Collect the local memory of a request. access: the right that the operation needs (0: read).
 * Returns VNET_WC_SUCCESS or an error.
 */
u32 nic_gather(struct nic_request *r, u32 access);
/*
 * The same for an atomic write, whose operand is copied to wqe.rdma.compare_add. Returns
 * NIC_EXEC_PAGES if it is not present.
 */
u32 nic_gather_word(struct nic_request *r);
/* The same for a flush, which has no data; checks its operand. */
u32 nic_gather_flush(struct nic_request *r);
/* Execute a key operation (bind, register, invalidate): a status, or NIC_EXEC_WAIT. */
u32 nic_do_local(struct nic_request *r);
/*
 * Deliver a gathered datagram to its receivers on this NIC. Returns a status, NIC_EXEC_WAIT, or
 * NIC_EXEC_MORE.
 */
u32 nic_do_datagram(struct nic_request *r);
/* Set the QP's state after a failed request. */
void nic_send_failed(struct nic *nic, struct nic_qp *qp, u32 status);
/* A request ended: complete SQD draining if nothing is outstanding. */
void nic_drained(struct nic *nic, struct nic_qp *qp);
/* Raise COMM_EST with the first message for a QP in RTR. */
void nic_established(struct nic *nic, struct nic_qp *peer);
/* Is this GID one of the NIC's own? */
bool nic_is_own_gid(const struct nic *nic, const u8 *gid);

/*
 * Deliver to receiver i of several. The progress is recorded before, so that no receiver gets the
 * message twice if the request waits or the process dies. VNET_WC_SUCCESS: go on with the next
 * receiver, even if this one lost the message. Otherwise returns why not now.
 */
u32 nic_deliver_one(struct nic_request *r, struct nic_qp *peer, struct nic_message *msg, u32 i);

/* -- ether/frame.c */

/*
 * Deliver a raw packet to its receivers on this NIC. VNET_WC_SUCCESS, even if nobody received it;
 * an error; NIC_EXEC_WAIT or NIC_EXEC_MORE.
 */
u32 nic_do_frame(struct nic_request *r);

/* -- requester/atomic.c */

/*
 * Atomic operation on a word, by the executor of a QP, for the request or packet `number`. *old:
 * the former value; *result: result of the copies. Executed once, even if called again: the intent
 * record tells recovery whether it happened before a death. false: the word's lock is held by
 * another.
 */
bool nic_atomic(struct nic *nic, struct nic_qp *executor, enum nic_intent_of what, u32 number,
		const struct vnet_send_wqe *wqe, const struct nic_piece *remote, u64 *old,
		enum nic_copy_result *result);
/* Recover the word's lock, and the unfinished operation, of a dead executor. */
void nic_atomic_recover(struct nic *nic, struct nic_qp *executor, u32 owner);

#endif /* NIC_REQUEST_H */
