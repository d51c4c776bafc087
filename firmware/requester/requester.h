/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester: executes send queues. A request for a queue pair of the same NIC is executed here,
 * in order and completely; the transport takes the others. The executor of a queue pair holds its
 * sq_lock.
 *
 * Calls responder, protection, completion, ether, address, pending, and the transport.
 */
#ifndef NIC_REQUESTER_H
#define NIC_REQUESTER_H

#include "responder/responder.h"

/* -- send.c: stretches, and the execution of send queues */

/* State of a stretch (NIC_STRETCH_REQUESTS). */
struct nic_stretch {
	/*
	 * Requests that may be executed, in this and later stretches; a long one counts as several.
	 */
	u32 budget;
	/* One stretch only: the caller must continue with something else. */
	bool once;
	/* Work in this stretch: bytes, and requests in multiples of NIC_STRETCH_REQUEST. */
	u64 work;
};

#define NIC_STRETCH_REQUEST (1ull << 40)
/*
 * The stretch is over after NIC_STRETCH_REQUESTS, or if the next request could exceed
 * NIC_STRETCH_BYTES. Both thresholds are powers of two, so that a mask tests them.
 */
#define NIC_STRETCH_OVER                                                                           \
	(~(NIC_STRETCH_REQUESTS * NIC_STRETCH_REQUEST - 1) |                                       \
	 (NIC_STRETCH_REQUEST - (NIC_STRETCH_BYTES - NIC_PIECE_BYTES)))
static_assert(!(NIC_STRETCH_REQUESTS & (NIC_STRETCH_REQUESTS - 1)), "a mask tells");
static_assert(!((NIC_STRETCH_BYTES - NIC_PIECE_BYTES) & (NIC_STRETCH_BYTES - NIC_PIECE_BYTES - 1)),
	      "a mask tells");

static inline u32 nic_stretch_requests(const struct nic_stretch *s)
{
	return (u32)(s->work / NIC_STRETCH_REQUEST);
}

static inline bool nic_stretch_is_over(const struct nic_stretch *s)
{
	return s->work & NIC_STRETCH_OVER;
}

/* End a stretch. true: the host had its turn, and a new stretch begins; false: return. */
NIC_COLD bool nic_stretch_next(struct nic *nic, struct nic_stretch *s);
/* Record the length of a stretch that has ended. */
NIC_COLD void nic_stretch_note(struct nic *nic, const struct nic_stretch *s);
static inline void nic_stretch_end(struct nic *nic, const struct nic_stretch *s)
{
	if (unlikely(s->work > nic_load(&nic->longest) || nic_stretch_is_over(s)))
		nic_stretch_note(nic, s);
}

/* Count an executed request, packet or piece of this many bytes. */
static inline void nic_stretch_add(struct nic_stretch *s, u64 bytes)
{
	s->work +=
		NIC_STRETCH_REQUEST + (likely(bytes <= NIC_PIECE_BYTES) ? bytes : NIC_PIECE_BYTES);
}

/*
 * Execute the send queue (and flush the receive queue) as far as possible, at most `budget`
 * requests, in as many stretches as needed. The caller holds no lock. false: another thread has
 * sq_lock, and may not see the latest request.
 */
bool nic_qp_run(struct nic *nic, struct nic_qp *qp, u32 budget);
/* The same, within the caller's stretch. */
bool nic_qp_run_stretch(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);
/*
 * The same for a caller whose process does not own the queue: a turn of at most `budget` requests
 * and one stretch. The NIC processor continues at once with the remaining requests.
 */
bool nic_qp_run_turn(struct nic *nic, struct nic_qp *qp, u32 budget);

/* Called without the lock: is there something to execute now? */
bool nic_qp_has_work(struct nic *nic, struct nic_qp *qp);
/*
 * Release sq_lock, and execute what was posted meanwhile: a poster that finds the lock taken leaves
 * the work to its holder.
 */
void nic_qp_unlock(struct nic *nic, struct nic_qp *qp);

/* -- requests under execution */

/* A request under execution. */
struct nic_request {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_qp *peer;
	/* SGEs or inline data of the WQE, in host queue memory. */
	const u8 *tail;
	/* Index in the send queue. */
	u32 index;
	struct vnet_send_wqe wqe;
	/* Local memory, checked, and its total length. */
	struct nic_piece local[VNET_MAX_SGE + 1];
	u32 nlocal;
	u64 length;
};

/* What to do with the head request: leave it, execute it, or flush it. */
enum nic_head_action { NIC_HEAD_LEAVE, NIC_HEAD_EXECUTE, NIC_HEAD_FLUSH };
enum nic_head_action nic_head_action(const struct nic_qp *qp);

/* Operations of a transport, a bit per enum vnet_wr_opcode. */
u32 nic_opcodes_of(u8 type);
/* Copy request `index` of the send queue. */
void nic_fetch(struct nic_request *r, const struct vnet_ring *ring, u32 index);
/*
 * Collect the local memory of a request. access: the right that the operation needs (0: read).
 * Returns VNET_WC_SUCCESS or an error.
 */
u32 nic_gather(struct nic_request *r, u32 access);
/*
 * The same for an atomic write, whose operand is copied to wqe.rdma.compare_add. Returns
 * NIC_EXEC_PAGES if it is not present.
 */
u32 nic_gather_word(struct nic_request *r);
/* The same for a flush, which has no data; checks its operand. */
u32 nic_gather_flush(struct nic_request *r);
/* Execute a key operation (bind, register, invalidate): a status, or NIC_EXEC_WAIT. */
u32 nic_do_local(struct nic_request *r);
/*
 * Deliver a gathered datagram to its receivers on this NIC. Returns a status, NIC_EXEC_WAIT, or
 * NIC_EXEC_MORE.
 */
u32 nic_do_datagram(struct nic_request *r);
/* Set the QP's state after a failed request. */
void nic_send_failed(struct nic *nic, struct nic_qp *qp, u32 status);
/* A request ended: complete SQD draining if nothing is outstanding. */
void nic_drained(struct nic *nic, struct nic_qp *qp);
/* Raise COMM_EST with the first message for a QP in RTR. */
void nic_established(struct nic *nic, struct nic_qp *peer);

/*
 * Deliver to receiver i of several. The progress is recorded before, so that no receiver gets the
 * message twice if the request waits or the process dies. VNET_WC_SUCCESS: go on with the next
 * receiver, even if this one lost the message. Otherwise returns why not now.
 */
u32 nic_deliver_one(struct nic_request *r, struct nic_qp *peer, struct nic_message *msg, u32 i);

/* -- frame.c: raw packets */

/*
 * Deliver a raw packet to its receivers on this NIC. VNET_WC_SUCCESS, even if it had no receiver;
 * an error; NIC_EXEC_WAIT or NIC_EXEC_MORE.
 */
u32 nic_do_frame(struct nic_request *r);

/* -- atomic.c */

/*
 * Atomic operation on a word, by the executor of a QP, for the request or packet `number`. *old:
 * the former value; *result: result of the copies. Executed once, even if called again: the intent
 * record tells recovery whether it happened before a death. false: the word's lock is held by
 * another.
 */
bool nic_atomic(struct nic *nic, struct nic_qp *executor, enum nic_intent_of what, u32 number,
		const struct vnet_send_wqe *wqe, const struct nic_piece *remote, u64 *old,
		enum nic_copy_result *result);
/* Recover the word's lock, and the unfinished operation, of a dead executor. */
void nic_atomic_recover(struct nic *nic, struct nic_qp *executor, u32 owner);

/* -- flush.c: receives of queue pairs in error */

/* Flush the receives of a QP in error, within the stretch s. The caller holds sq_lock. */
void nic_flush_receives(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);

#endif /* NIC_REQUESTER_H */
