/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* State of an arrived packet under execution; shared by respond.c, message.c, remote.c and rx.c. */
#ifndef NIC_VN_RESPONDING_H
#define NIC_VN_RESPONDING_H

#include "layout/message.h"
#include "vn/vn.h"

/* Retry interval in the NACK of an unreliable message without a receive, ns. */
#define NIC_STALL_TRY_NS 200000ull

/* A packet, and the answer to it. */
struct nic_arrival_op {
	struct nic *nic;
	struct nic_row *row;
	const struct vnet_frame_op *op;
	/* Incarnation of the sending NIC. */
	u64 life;
	struct nic_piece data;
	struct nic_qp *qp;
	struct nic_endpoint *ep;
	/* Frame with the data of an RDMA read; NULL: none. */
	struct vnet_frame *reply;
	u32 reply_len;
	/* Repeated packet, executed before; packet that is executed before its turn. */
	bool again;
	bool early;
	/* The repetition was already counted when the channel recognised it. */
	bool counted;
	u8 code;
	u64 result;
};

static inline void nic_answer(struct nic_arrival_op *a, u8 code, u64 result)
{
	a->code = code;
	a->result = result;
}

/*
 * Advance `expected` over the packet that was executed, and over those executed before their turn.
 */
static inline void nic_endpoint_advance(struct nic_endpoint *ep)
{
	u64 bit;

	do {
		bit = 1ull << (ep->expected % NIC_WINDOW);
		/*
		 * Stored first: if the process dies here, the stale bit is outside of the window.
		 */
		nic_store_release(&ep->expected, ep->expected + 1);
		ep->ahead &= ~bit;
	} while (ep->ahead & 1ull << (ep->expected % NIC_WINDOW));
}

/* Bytes of the message from this packet on, as its sender announced. */
static inline u64 nic_message_left(const struct vnet_frame_op *op)
{
	u32 length = nic_le32(op->msg_len), offset = nic_le32(op->offset);

	return length > offset ? length - offset : 0;
}

/*
 * Does the record of a wait for pages (fetch_since) belong to this packet? A repeated read must not
 * use the record of another packet.
 */
static inline bool nic_arrival_owns_wait(const struct nic_arrival_op *a)
{
	const struct nic_qp_counters *c = &a->qp->counters;

	if (a->early)
		return false;
	return !a->again || !nic_load(&c->fetch_since[NIC_ARRIVALS]) ||
	       c->fetch_for[NIC_ARRIVALS] == nic_le32(a->op->psn);
}

/* -- vn/respond.c: order and refusals */

/*
 * Refuse a packet with an error: the queue pair fails, and a reliable requester gets the status. A
 * repeated packet does not make the queue pair fail, because its memory may be gone by now.
 */
void nic_refuse(struct nic_arrival_op *a, enum vnet_wc_status status);
/* Refuse a packet until its pages are present. An unreliable one is lost after a limited time. */
NIC_COLD void nic_no_pages_yet(struct nic_arrival_op *a);

/* -- vn/message.c: messages that take a receive */

/* Fill *msg for the message that the packet belongs to; the latter for a datagram. */
void nic_message_of(struct nic_arrival_op *a, struct nic_message *msg);
void nic_datagram_of(struct nic_arrival_op *a, struct nic_message *msg);
/* Complete a receive with the message; sets the answer. */
void nic_arrival_deliver(struct nic_arrival_op *a, const struct nic_message *msg);
/* Execute the expected packet of a message, or a datagram. */
void nic_arrive_send(struct nic_arrival_op *a);
void nic_arrive_datagram(struct nic_arrival_op *a);

/* -- vn/remote.c: one-sided operations */

/* Write the data of an RDMA write. false: refused, the answer is set. */
bool nic_arrive_data(struct nic_arrival_op *a);
/* Execute the expected packet of a one-sided operation; reads also if they are repeated. */
void nic_arrive_write(struct nic_arrival_op *a);
void nic_arrive_read(struct nic_arrival_op *a);
void nic_arrive_atomic(struct nic_arrival_op *a);
void nic_arrive_flush(struct nic_arrival_op *a);
/* A repeated atomic operation: answer with the stored result. */
void nic_atomic_again(struct nic_arrival_op *a, u32 psn);
/* Send the reply frame of a read. */
void nic_send_reply(struct nic_arrival_op *a);

/* -- vn/rx.c: receiving ends of channels */

/*
 * Must the packet be executed? Then the channel is busy until nic_rx_end(). *counted: set if it is
 * a repetition that was counted.
 */
bool nic_rx_begin(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f,
		  bool *counted);
/* The packet was executed or refused: record the answer a->code, which is then owed. */
void nic_rx_end(const struct nic_arrival_op *a);

#endif /* NIC_VN_RESPONDING_H */
