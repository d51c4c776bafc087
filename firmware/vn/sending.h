/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A packet that the requester is about: what nic_vn_{request,packet,again}.c share. */
#ifndef NIC_VN_SENDING_H
#define NIC_VN_SENDING_H

#include "requester/opcodes.h"
#include "vn/vn.h"

/* What is under way, as it stands in the send queue. */
struct nic_sending {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_endpoint *ep;
	struct nic_row *row;
	struct nic_request r;
	u8 grh[VNET_GRH_SIZE];
	u8 op_flags;
	/* It is a datagram to a group, and this the copy for s->row. */
	bool group;
	/* nic_counters.reclaimed before the row of a datagram was found. */
	u64 reclaimed;
};

/* Nothing of a request yet. row: where it goes, or NULL if that is found out later. */
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
 * Find the request's memory again; a datagram has its header in front. A status, or
 * NIC_EXEC_PAGES: what an atomic operation writes cannot be read yet.
 */
u32 nic_sending_gather(struct nic_sending *s);
/*
 * Before a packet of a request that was gathered is made, at `offset` of it: is the memory
 * there that is paged on demand? A status, or NIC_EXEC_PAGES.
 */
u32 nic_sending_fetch(struct nic_sending *s, u64 offset);
/*
 * Transmit the packet of a channel, whose request is gathered; it fails if local
 * memory cannot be read. The row's lock is held, and released.
 */
void nic_transmit(struct nic_sending *s, struct nic_tx *tx, u64 now);

#endif /* NIC_VN_SENDING_H */
