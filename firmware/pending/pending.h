/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pending queue pairs: those whose head request waits for something, or that have work for the NIC
 * processor. This room keeps the bitmap of them and the timers of their requests; the room
 * processor retries them. Takes no lock, and calls no other room.
 *
 * These are the timers of requests to a queue pair of the same NIC, among them the RNR timer and
 * the count of rnr_retry. Between NICs, vn/channel.c and vn/retransmit.c have them.
 */
#ifndef NIC_PENDING_H
#define NIC_PENDING_H

#include "layout/lookup.h"

/* Words of the bitmap per bit of the summary. */
static inline u32 nic_pending_stride(const struct nic *nic)
{
	return nic->max_qp > 64 * 64 ? nic->max_qp / (64 * 64) : 1;
}

static inline u32 nic_pending_words(const struct nic *nic)
{
	return (nic->max_qp + 63) / 64;
}

/* Mark the QP as pending, and wake the NIC processor if it sleeps without a tick. */
void nic_pend(struct nic *nic, struct nic_qp *qp);
/* Mark the QP as pending, and run it after the caller's current queue is unlocked. */
void nic_pend_next(struct nic *nic, struct nic_qp *qp);
/* As nic_pend(), for work that can be done at once: also wakes a processor that dozes. */
void nic_pend_now(struct nic *nic, struct nic_qp *qp);
/* The QP is destroyed. */
void nic_unpend(struct nic *nic, struct nic_qp *qp);
/*
 * The head request cannot continue for this reason. Starts or continues its timer of `timeout` ns
 * (0: none). Returns VNET_WC_SUCCESS: the request waits, and the QP is pending; else the status
 * with which it fails now.
 */
enum vnet_wc_status nic_wait_on(struct nic *nic, struct nic_qp *qp, enum nic_wait reason,
				u64 timeout);
/* Transport timeout of a request, ns; 0: infinite. */
u64 nic_transport_timeout(const struct nic_qp *qp);
/* RNR timer of the responder, ns. */
u64 nic_rnr_timeout(const struct nic_qp *responder);

#endif /* NIC_PENDING_H */
