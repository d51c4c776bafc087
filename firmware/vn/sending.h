/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* State of the request whose packets are sent; shared by request.c, packet.c and retransmit.c. */
#ifndef NIC_VN_SENDING_H
#define NIC_VN_SENDING_H

#include "requester/requester.h"
#include "layout/opcodes.h"
#include "vn/vn.h"

/* A request of the send queue, whose packets are sent. */
struct nic_sending {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_endpoint *ep;
	struct nic_row *row;
	struct nic_request r;
	u8 grh[VNET_GRH_SIZE];
	u8 op_flags;
	/* Send one of several copies (multicast datagram, Ethernet frame), to s->row. */
	bool group;
	/* nic_counters.reclaimed before the row of a datagram was looked up. */
	u64 reclaimed;
};

/* Initialise without a request. row: destination, or NULL if it is found later. */
static inline void nic_sending_begin(struct nic_sending *s, struct nic *nic, struct nic_qp *qp,
				     struct nic_row *row)
{
	s->nic = nic;
	s->qp = qp;
	s->ep = NULL;
	s->row = row;
	s->r.nic = nic;
	s->r.qp = qp;
	s->r.nlocal = 0;
	s->r.length = 0;
	s->op_flags = 0;
	s->group = false;
}

/*
 * Collect the request's local memory again; a datagram gets its GRH in front. Returns a status, or
 * NIC_EXEC_PAGES if the operand of an atomic write is not present.
 */
u32 nic_sending_gather(struct nic_sending *s);
/*
 * Check that memory which is paged on demand is present, before the packet at `offset` of a
 * gathered request is made. Returns a status, or NIC_EXEC_PAGES.
 */
u32 nic_sending_fetch(struct nic_sending *s, u64 offset);
/*
 * Transmit the packet of a channel whose request is gathered. The packet fails if local memory
 * cannot be read. The caller holds the row's lock, which is released.
 */
void nic_transmit(struct nic_sending *s, struct nic_tx *tx, u64 now);

#endif /* NIC_VN_SENDING_H */
