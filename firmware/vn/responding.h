/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet that the responder is about: what nic_vn_{respond,message,remote,rx}.c share.
 */
#ifndef NIC_VN_RESPONDING_H
#define NIC_VN_RESPONDING_H

#include "vn/vn.h"

/* How soon an unreliable message that waits for a receive tries again, ns. */
#define NIC_STALL_TRY_NS 200000ull

/* A packet, and the answer to it. */
struct nic_arrival_op {
	struct nic *nic;
	struct nic_row *row;
	const struct vnet_frame_op *op;
	/* Of the NIC that sent it. */
	u64 life;
	struct nic_piece data;
	struct nic_qp *qp;
	struct nic_endpoint *ep;
	/* Begun for the data of an RDMA read. */
	struct vnet_frame *reply;
	u32 reply_len;
	/* It was carried out before, or is before its turn. */
	bool again;
	bool early;
	/* The channel knows that it came before, and has counted it. */
	bool counted;
	u8 code;
	u64 result;
};

static inline void nic_answer(struct nic_arrival_op *a, u8 code, u64 result)
{
	a->code = code;
	a->result = result;
}

/* The packet that was expected is done, and with it those that came before. */
static inline void nic_endpoint_advance(struct nic_endpoint *ep)
{
	u64 bit;

	do {
		bit = 1ull << (ep->expected % NIC_WINDOW);
		/* First: a bit that a death leaves behind is outside of the window. */
		nic_store_release(&ep->expected, ep->expected + 1);
		ep->ahead &= ~bit;
	} while (ep->ahead & 1ull << (ep->expected % NIC_WINDOW));
}

/* Bytes of the message from this packet on, as its sender says. */
static inline u64 nic_message_left(const struct vnet_frame_op *op)
{
	u32 length = nic_le32(op->msg_len), offset = nic_le32(op->offset);

	return length > offset ? length - offset : 0;
}

/* The wait for pages is this packet's: a read that comes again leaves others theirs. */
static inline bool nic_arrival_asks(const struct nic_arrival_op *a)
{
	const struct nic_qp_counters *c = &a->qp->counters;

	if (a->early)
		return false;
	return !a->again || !nic_load(&c->fetch_since[NIC_ARRIVALS]) ||
	       c->fetch_for[NIC_ARRIVALS] == nic_le32(a->op->psn);
}

/* -- vn/respond.c: whose turn it is, and refusals */

/*
 * The queue pair fails; a reliable requester learns with what. Not by what it has
 * carried out already: its memory may have gone since, as it may.
 */
void nic_refuse(struct nic_arrival_op *a, enum vnet_wc_status status);
/*
 * Memory that is paged on demand is being brought: the packet is to come again. An
 * unreliable one is lost after a while, so that its sender goes on.
 */
NIC_COLD void nic_no_pages_yet(struct nic_arrival_op *a);

/* -- vn/message.c: what needs a receive */

/* The message that the packet is, or is a piece of; and the one that a datagram is. */
void nic_message_of(struct nic_arrival_op *a, struct nic_message *msg);
void nic_datagram_of(struct nic_arrival_op *a, struct nic_message *msg);
/* Complete a receive with it: the answer is a->code. */
void nic_arrival_deliver(struct nic_arrival_op *a, const struct nic_message *msg);
/* In its turn: a message, or a piece of one. */
void nic_arrive_send(struct nic_arrival_op *a);
void nic_arrive_datagram(struct nic_arrival_op *a);

/* -- vn/remote.c: one-sided operations */

/* Data of a write goes where it belongs. false: it does not, which is answered already. */
bool nic_arrive_data(struct nic_arrival_op *a);
/* In their turn. A read, which is as good when it comes again, does not need that. */
void nic_arrive_write(struct nic_arrival_op *a);
void nic_arrive_read(struct nic_arrival_op *a);
void nic_arrive_atomic(struct nic_arrival_op *a);
void nic_arrive_flush(struct nic_arrival_op *a);
/* It was carried out, and is answered by what came of it then. */
void nic_atomic_again(struct nic_arrival_op *a, u32 psn);
/* The answer that a->reply has been begun for. */
void nic_send_reply(struct nic_arrival_op *a);

/* -- vn/rx.c: the receiver's ends of channels */

/*
 * Is the packet to be carried out? Then the channel is ours until nic_rx_end(). counted: it
 * came before, as the channel knows.
 */
bool nic_rx_begin(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f,
		  bool *counted);
/* It was carried out, or refused: a->code is owed. */
void nic_rx_end(const struct nic_arrival_op *a);

#endif /* NIC_VN_RESPONDING_H */
