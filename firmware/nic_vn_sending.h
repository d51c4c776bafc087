/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A packet that the requester is about: what nic_vn_{request,packet,again}.c share. */
#ifndef NIC_VN_SENDING_H
#define NIC_VN_SENDING_H

#include "nic_vn.h"

#define OP(n) (1u << (n))
#define ATOMIC_WRITE OP(VNET_WR_ATOMIC_WRITE)
/* Their operands are all that travels. */
#define ATOMICS (OP(VNET_WR_ATOMIC_CMP_SWP) | OP(VNET_WR_ATOMIC_FETCH_ADD) | ATOMIC_WRITE)
#define READS (ATOMICS | OP(VNET_WR_RDMA_READ))

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
};

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
 * Transmit the packet of a channel, whose request is gathered. The row's lock is
 * held, and released. false: local memory could not be read.
 */
bool nic_transmit(struct nic_sending *s, struct nic_tx *tx, u64 now);

#endif /* NIC_VN_SENDING_H */
