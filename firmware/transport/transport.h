/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of the transport between NICs, which carries requests to other NICs and delivers
 * what arrives from them. The requester, the responder, the objects, recovery and the NIC processor
 * call these functions, and know nothing else of the transport. The room vn implements it. Requests
 * for a queue pair of the same NIC do not pass through a transport.
 */
#ifndef NIC_TRANSPORT_H
#define NIC_TRANSPORT_H

#include "layout/lock.h"

struct nic_stretch;

/* Datagrams and Ethernet frames: each is one packet, without order, that may be lost. */
static inline bool nic_is_unordered(u8 type)
{
	return type == NIC_QPT_UD || type == NIC_QPT_RAW_PACKET;
}

/*
 * Can anything of this QP be on the wire? A cheap check, without a lock, for each request. It is
 * false for a connection to a QP of the same NIC.
 */
static inline bool nic_vn_concerns(const struct nic *nic, const struct nic_qp *qp)
{
	return nic->max_row &&
	       (nic_load(&qp->row) != NIC_NONE || nic_load(&qp->frame) < nic->max_frame ||
		nic_is_unordered(qp->type));
}

/* -- send queues */

/* Must nic_vn_run() run the send queue, which has `waiting` requests? The caller holds sq_lock. */
bool nic_vn_must_run(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring, u32 waiting);
/*
 * Retire completed requests, and send packets; the caller holds sq_lock. Returns true if all is
 * done for now. false: the QP is pending, or (nic_vn_must_run() returns false) the head request is
 * for this NIC.
 */
bool nic_vn_run(struct nic *nic, struct nic_qp *qp, struct vnet_ring *ring,
		struct nic_stretch *stretch);
/* Called without the lock: is there something to retire or to send? */
bool nic_vn_has_work(struct nic *nic, struct nic_qp *qp, const struct vnet_ring *ring);

/* -- arrivals */

/* Advance the endpoint after the message op_psn of op_arrival was delivered. Idempotent. */
void nic_vn_arrived(struct nic *nic, struct nic_qp *qp);

/* -- transitions of queue pairs */

/* The QP's endpoint, in its frame or in host memory; the caller holds sq_lock. */
struct nic_endpoint *nic_endpoint_any(struct nic *nic, struct nic_qp *qp);

/*
 * Set up the endpoint for a QP transition; path: the path has changed. Changes nothing on failure:
 * NIC_BUSY, call again; NIC_ENOMEM, there is no row for the peer.
 */
enum nic_result nic_vn_configure(struct nic *nic, struct nic_qp *qp, bool path, u8 from, u8 to);
/*
 * End all outstanding packets, and reset the endpoint. The caller holds all locks of the QP. false:
 * a row's lock is not available, call again.
 */
bool nic_vn_teardown(struct nic *nic, struct nic_qp *qp);
/* Are packets outstanding? */
bool nic_vn_is_busy(struct nic *nic, struct nic_qp *qp);

/* -- timers, for nic_run() and nic_idle() */

/*
 * Run timers. true: call again by *next, because packets are outstanding or acknowledgements owed.
 */
bool nic_vn_tick(struct nic *nic, u64 now, u64 *next);
/* Called by a polling process: cheap checks of what is due. */
void nic_vn_idle(struct nic *nic);

/* -- recovery */

/* Recover the vn state of a dead owner: its locks, and its unfinished operations. */
void nic_vn_recover(struct nic *nic, u32 owner);

#endif /* NIC_TRANSPORT_H */
