/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder: gives a message to a receive queue of this NIC, in one piece or in several, and
 * completes its receive. The executor holds sq_lock of its queue pair; the room takes the locks of
 * the receive queue and of the completion queue.
 *
 * Calls tags, completion, protection, pending, and the transport for arrivals.
 */
#ifndef NIC_RESPONDER_H
#define NIC_RESPONDER_H

#include "layout/message.h"
#include "protection/protection.h"

/* -- receive.c */

/* Result of an attempt that needs pages. */
static inline u32 nic_await_pages(struct nic *nic, struct nic_qp *qp, bool own)
{
	return nic_wait_for_pages(nic, qp, own) ? NIC_EXEC_WAIT :
						  NIC_EXEC_DROPPED | VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * Deliver a message to peer's receive queue. Called by the executor of qp, which holds its sq_lock.
 * Returns the requester's completion status, or NIC_EXEC_*.
 */
u32 nic_deliver(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		const struct nic_message *msg);

/* -- short.c: the most frequent messages */

/*
 * Deliver a plain SEND of one piece, which a completion entry can hold, from a connected QP:
 * nic_deliver() with fewer instructions, if everything is as usual. NIC_EXEC_OTHER: it is not, and
 * nothing was done, so that nic_deliver() has to decide.
 */
u32 nic_deliver_short(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		      const struct nic_piece *src, bool solicited);

/* -- pieces.c: messages of several packets */

/*
 * First packet of a message: take the receive or tagged buffer for it, and record it in *open.
 * Returns VNET_WC_SUCCESS, NIC_EXEC_NO_RECEIVE, NIC_EXEC_BUSY, or the error of a receive that
 * cannot hold the message.
 */
u32 nic_open(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg,
	     struct nic_open_receive *open);
/* false: the receive is of an SRQ that was destroyed, so it needs no completion. */
bool nic_open_srq_exists(struct nic *nic, const struct nic_qp *qp,
			 const struct nic_open_receive *open);
/*
 * Write a packet's data at `offset` of the message; left: bytes from there to the message's end.
 * Returns the receiver's status, NIC_EXEC_PAGES, or NIC_EXEC_BUSY if the receiving process is
 * exiting.
 */
u32 nic_fill_open(struct nic *nic, struct nic_qp *qp, const struct nic_open_receive *open,
		  u64 offset, const struct nic_piece *src, u64 left);

#endif /* NIC_RESPONDER_H */
