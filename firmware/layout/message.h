/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A message on its way to a receive queue, and the results of an attempt to execute a request. The
 * requester, the responder and the transports share these.
 */
#ifndef NIC_MESSAGE_H
#define NIC_MESSAGE_H

#include "layout/lock.h"

/* A message for a receive queue. */
struct nic_message {
	/* Numbers of the destination QP and of the sender. */
	u32 dest;
	u32 from;
	const struct nic_piece *src;
	u32 nsrc;
	/* Upper half of immediate data, with VNET_WC_IMM64. */
	u32 imm_high;
	u64 length;
	u32 imm;
	/* enum vnet_wc_flags */
	u8 wc_flags;
	/* VNET_WC_RECV; VNET_WC_RECV_RDMA_WITH_IMM: the data is placed already. */
	u8 wc_opcode;
	bool solicited;
	bool datagram;
	/* Datagrams on InfiniBand ports: service level, and the sender's LID. */
	u8 sl;
	u16 slid;
	/* The message has several receivers: none of them is waited for. */
	bool group;
	/* Invalidate key `imm` at the receiver. */
	bool invalidate;
	/* The message is from another NIC; the executor is the responder itself. */
	bool arrival;
	/* Receive that was taken by the first packet of the message; NULL: none. */
	const struct nic_open_receive *opened;
	/* Error in writing an earlier piece, or in taking the receive. */
	enum vnet_wc_status broken;
};

/* Results of an execution attempt that are not a completion status. The request waits. */
#define NIC_EXEC_WAIT 0x100u
/* Datagram to several receivers: a completion event must be made before the next receiver. */
#define NIC_EXEC_MORE 0x101u
/* Arrivals: no receive; a lock is held by another, or the process is gone. */
#define NIC_EXEC_NO_RECEIVE 0x102u
#define NIC_EXEC_BUSY 0x103u
/* Pages are being brought. */
#define NIC_EXEC_PAGES 0x104u
/* Not a short message (nic_deliver_short()): nothing was done. */
#define NIC_EXEC_OTHER 0x106u
/* A piece was executed: NIC_COPY_PART. */
#define NIC_EXEC_PART 0x105u
/*
 * Flag: an unreliable message was lost or refused, with the status that says why. The requester
 * learns of it only with return to sender (nic_requester_wc_status()).
 */
#define NIC_EXEC_DROPPED 0x200u

/* Completion status of the requester. */
static inline u32 nic_requester_wc_status(const struct nic_qp *qp, u32 status)
{
	if (likely(!(status & NIC_EXEC_DROPPED)))
		return status;
	return qp->returns ? status & ~NIC_EXEC_DROPPED : VNET_WC_SUCCESS;
}

/*
 * Is this the status of a message that was returned to its sender? That is a failure of the peer or
 * of the path, and does not affect the sender's queue pair.
 */
static inline bool nic_is_returned(const struct nic_qp *qp, u32 status)
{
	return qp->returns && status >= VNET_WC_REM_INV_REQ_ERR &&
	       status <= VNET_WC_RNR_RETRY_EXC_ERR;
}

#endif /* NIC_MESSAGE_H */
