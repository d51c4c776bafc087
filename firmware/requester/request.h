/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A work request of a send queue, for those who carry it out. */
#ifndef NIC_REQUEST_H
#define NIC_REQUEST_H

#include "nic_internal.h"

/* A request under execution. */
struct nic_request {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_qp *peer;
	/* Where the entry's SGEs or inline data begin, in host queue memory. */
	const u8 *tail;
	/* Its place in the send queue. */
	u32 index;
	struct vnet_send_wqe wqe;
	/* Local memory, checked; its total. */
	struct nic_piece local[VNET_MAX_SGE + 1];
	u32 nlocal;
	u64 length;
};

/* -- requester/send.c */

/* May the head request be executed, flushed, or neither? */
enum nic_turn { NIC_TURN_REST, NIC_TURN_EXECUTE, NIC_TURN_FLUSH };
enum nic_turn nic_turn(const struct nic_qp *qp);

/* What each transport can do, a bit per enum vnet_wr_opcode. */
u32 nic_opcodes_of(u8 type);
struct vnet_ring *nic_sq_ring(struct nic *nic, const struct nic_qp *qp);
/* Copy request `index` of the send queue. */
void nic_fetch(struct nic_request *r, const struct vnet_ring *ring, u32 index);
/*
 * Find its local memory. access: what the operation does to that (0: reads it).
 * VNET_WC_SUCCESS or why not.
 */
u32 nic_gather(struct nic_request *r, u32 access);
/*
 * The same for an atomic write: what is to be written stands in the request's
 * rdma.compare_add then. NIC_EXEC_PAGES: it cannot be read yet.
 */
u32 nic_gather_word(struct nic_request *r);
/* The same for a flush, which has no data: VNET_WC_SUCCESS if there is such a one. */
u32 nic_gather_flush(struct nic_request *r);
/* Requests on keys only: no peer, no data. A status, or NIC_EXEC_WAIT. */
u32 nic_do_local(struct nic_request *r);
/*
 * A datagram whose memory is found: to whoever of this NIC it is for. A status,
 * NIC_EXEC_WAIT, or NIC_EXEC_MORE.
 */
u32 nic_do_datagram(struct nic_request *r);
/* A request failed: what becomes of the QP. */
void nic_send_failed(struct nic *nic, struct nic_qp *qp, u32 status);
/* A request ended: it may have been the one that draining waits for. */
void nic_drained(struct nic *nic, struct nic_qp *qp);
/* The first message for a QP that is ready to receive. */
void nic_established(struct nic *nic, struct nic_qp *peer);
/* Is it one of this NIC's own? */
bool nic_is_own_gid(const struct nic *nic, const u8 *gid);

/*
 * To receiver i of several, which is noted before, so that none is twice when the request
 * waits, or we die. VNET_WC_SUCCESS, also if it is lost to that one: the next one's turn; or
 * why there is none now.
 */
u32 nic_deliver_one(struct nic_request *r, struct nic_qp *peer, struct nic_message *msg, u32 i);

/* -- ether/frame.c */

/*
 * A raw packet, to whoever of this NIC it is for: VNET_WC_SUCCESS, wherever it went; or why
 * not; or NIC_EXEC_WAIT, or NIC_EXEC_MORE.
 */
u32 nic_do_frame(struct nic_request *r);

/* -- requester/atomic.c */

/*
 * Fetch-and-add or compare-and-swap on a word, by the executor of a QP, for the
 * request or packet of this number: *old is what was there, *result how the copies
 * went. Done once, however often it is asked for: should we die within it, recovery
 * finds out whether it was. false: the word's lock could not be had.
 */
bool nic_atomic(struct nic *nic, struct nic_qp *executor, enum nic_intent_of what, u32 number,
		const struct vnet_send_wqe *wqe, const struct nic_piece *remote, u64 *old,
		enum nic_copy_result *result);
/* The word's lock, and what was being done to it, of a dead executor. */
void nic_atomic_recover(struct nic *nic, struct nic_qp *executor, u32 owner);

#endif /* NIC_REQUEST_H */
