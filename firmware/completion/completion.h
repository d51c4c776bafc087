/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completions and events: completion queue entries, which are written with an intent record so that
 * a death leaves none half-written; completion events of channels; asynchronous events; and the
 * transition of a queue pair to the error state, which raises them. Takes the locks of completion
 * queues and channels, in this order.
 *
 * Calls protection and pending.
 */
#ifndef NIC_COMPLETION_H
#define NIC_COMPLETION_H

#include "layout/lookup.h"

/* -- complete.c: completion queue entries, with intent for recovery */

struct nic_completion {
	u64 wr_id;
	u64 scatter_addr;
	u32 byte_len;
	u32 qp_num;
	u32 src_qp;
	u32 imm;
	u8 opcode;
	u8 status;
	u8 flags;
	u8 payload_len;
	/* The sender asked for an event. */
	bool solicited;
	/* Tag matching: &vnet_ring.ended of the tag ring, and the value to store. */
	u32 *ended;
	u32 ended_with;
};

/* Ring of a CQ, NULL if its memory is not queue memory. */
struct vnet_ring *nic_cq_ring(struct nic *nic, const struct nic_cq *cq);
/*
 * Slot for the next entry; the caller holds the CQ's lock. NULL: the CQ overran (nic_cq.error is
 * set and IBV_EVENT_CQ_ERR is raised), or had an error before. The QP whose completion has no room
 * then fails.
 */
struct vnet_cqe *nic_cq_slot(struct nic *nic, struct nic_cq *cq);
/* The same without the error and the event: NULL if nic_cq_slot() would not return a slot now. */
struct vnet_cqe *nic_cq_free_slot(struct nic *nic, struct nic_cq *cq);
/*
 * Consume the receive at rq->cons, and complete it in cq. Called by the executor of qp, which holds
 * sq_lock and the locks of rq and cq; a payload in the CQE is written already. Leaves qp in
 * NIC_OP_NOTIFY (with op_arrival: NIC_OP_RETIRE_NOTIFY), and releases cq's lock. rq NULL: no
 * receive is consumed here.
 */
void nic_commit_receive(struct nic *nic, struct nic_qp *qp, struct nic_rq *rq, struct nic_cq *cq,
			struct vnet_cqe *slot, const struct nic_completion *wc);
/* Write an entry without intent, to a locked CQ of the process itself. */
void nic_complete_alone(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *slot,
			const struct nic_completion *wc);
/* Consume the receive at rq->cons. */
void nic_take_receive(struct nic *nic, struct nic_rq *rq);
/*
 * Retire the head of the send queue with op_status: completion, if one is due, and consumer index.
 * false: a lock is held by another, call again.
 */
bool nic_retire(struct nic *nic, struct nic_qp *qp, const struct vnet_send_wqe *wqe);
/* Second part of nic_retire(), in NIC_OP_RETIRE_NOTIFY: the completion event. */
bool nic_retire_notify(struct nic *nic, struct nic_qp *qp);

/* -- event.c: completion channels and asynchronous events */

/* Raise an asynchronous event of an object. Any locks may be held. */
void nic_raise_qp(struct nic *nic, struct nic_qp *qp, enum nic_event event);
void nic_raise_cq(struct nic *nic, struct nic_cq *cq, enum nic_event event);
void nic_raise_srq(struct nic *nic, struct nic_srq *srq, enum nic_event event);
/*
 * The CQ got an entry, and its lock was released since, with a full barrier: make a completion
 * event if the CQ is armed for it. false: the channel's lock is held by another, call again.
 */
bool nic_cq_notify(struct nic *nic, struct nic_cq *cq, bool solicited);
/* Wake the NIC processor, whether it sleeps or dozes. */
void nic_wake_processor(struct nic *nic);
/* Recovery: let the NIC processor make the event, as the channel's lock is held by another. */
void nic_cq_notify_later(struct nic *nic, struct nic_cq *cq);
/* NIC processor: make moderated events whose time is over; *next as in nic_run(). */
void nic_cq_run_due(struct nic *nic, u64 now, u64 *next);
/* NIC processor: make channels readable for nic_channel_later(). */
void nic_channels_run_due(struct nic *nic);
/* The holder of the channel's lock died: rebuild the list from the CQs. */
void nic_channel_rebuild(struct nic *nic, u32 channel);

/* -- fail.c */

/*
 * Put a QP into the error state. The caller holds its sq_lock or rq.lock. event < 0: raise none.
 * Requests and receives are flushed later.
 */
void nic_qp_fail(struct nic *nic, struct nic_qp *qp, int event);

#endif /* NIC_COMPLETION_H */
