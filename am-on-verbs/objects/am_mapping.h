/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of a mapping of Active Messages onto queue pairs, and helpers for mappings.
 *
 * There are four mappings, one file each, which follow the versions in the papers.
 *
 * The core builds the message in the send buffer of a slot (am_request_buffer(),
 * am_reply_buffer()) and holds the credit for it. The mapping transfers the message to the
 * peer. There the message must arrive exactly once, complete, and after the data of its
 * bulk transfer. The receiving mapping passes it to am_arrival() and gets the buffer back
 * by release(). If a queue pair fails, or a peer sends something invalid, the mapping calls
 * am_conn_broken(), which moves all queue pairs of the connection to the error state.
 *
 * All functions are called with the bundle's lock held.
 */
#ifndef AM_MAPPING_H
#define AM_MAPPING_H

#include "am_core.h"
#include "cost/am_cost.h"

/* A bulk transfer: from @source of this process to @address, @rkey of the peer's segment. */
struct am_bulk {
	const void *source;
	size_t nbytes;
	uint64_t address;
	uint32_t rkey;
	bool async; /* @source stays valid and unchanged until the request is answered */
	/* the request's slot, which may hold the source's region; NULL: a reply */
	struct am_slot *slot;
};

struct am_mapping {
	const char *name;
	const char *about; /* one-line description */
	unsigned int max_credits;

	/* Creates the completion queues and all that a bundle's connections share. 0 or errno. */
	int (*open_bundle)(struct am_eb *eb);
	void (*close_bundle)(struct am_eb *eb);

	/* Size of the registered memory that the mapping needs per connection, in bytes. */
	size_t (*memory)(const struct am_conn *conn);

	/*
	 * Creates the queue pairs in state INIT, posts their receives, and fills
	 * conn->mine.qpn[] and .buffers. @memory has the size that memory() returned. 0 or
	 * errno.
	 */
	int (*open)(struct am_conn *conn, void *memory);
	/* Moves the queue pairs to RTS, with the peer's parameters in conn->theirs. 0 or errno. */
	int (*connect)(struct am_conn *conn);
	/* Frees the queue pairs. The connection is broken. */
	void (*close)(struct am_conn *conn);

	/*
	 * Sends the message in the request buffer of @slot (@reply: in its reply buffer),
	 * after the data of @bulk, if that is not NULL. Returns when the source of @bulk
	 * may be used again, or at once if it is asynchronous. 0, or errno if nothing was
	 * sent.
	 */
	int (*send)(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		    const struct am_bulk *bulk);

	/*
	 * Posts a signaled RDMA write from the connection's memory. The peer gets no
	 * message. 0 or errno.
	 */
	int (*write)(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		     uint32_t rkey);

	/* Polls the completion queues. Returns the number of completions. */
	int (*poll)(struct am_eb *eb);

	/* Takes back @buffer: its message has been handled. */
	void (*release)(struct am_conn *conn, struct am_buffer *buffer);
};

extern const struct am_mapping am_mapping_v1, am_mapping_v2, am_mapping_v3, am_mapping_v4;

/* The mapping with a number as in struct am_offer, 1 to 4, or NULL. */
const struct am_mapping *am_mapping(unsigned int number);

/* am_qp.c: helpers for mappings. */
struct am_qp_needs {
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	uint32_t max_send_wr, max_recv_wr, max_inline;
	bool sq_sig_all;
};
/*
 * Creates an RC queue pair in state INIT, and reserves CQ entries. NULL and errno on
 * failure. *@max_inline, if not NULL: a length that the queue pair can send inline.
 */
struct ibv_qp *am_qp_make(struct am_conn *conn, const struct am_qp_needs *needs,
			  uint32_t *max_inline);
int am_qp_connect(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* Moves all queue pairs of the connection to the error state: posted work requests are flushed. */
void am_qp_stop(struct am_conn *conn);
void am_qp_free(struct am_conn *conn, struct ibv_qp *qp, const struct am_qp_needs *needs);

/* Posts the list @wr. 0 or errno. */
static inline int am_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_SEND);
	err = ibv_post_send(qp, wr, &bad);
	am_cost_end(AM_COST_POST_SEND);
	return err;
}

/* am_bulk.c: a bulk transfer as an RDMA write. */
struct am_bulk_write {
	struct ibv_send_wr wr; /* wr_id and next are the caller's to fill in */
	struct ibv_sge sge;
	/* the source's region, held until the write is complete; NULL: none */
	struct am_region *region;
	bool waits; /* am_bulk_finish() must wait for the write's completion */
};

/*
 * Prepares the RDMA write of @bulk. A short source is copied behind @message in its send
 * buffer. A longer one is copied into a buffer of the device, or registered in place. 0 or
 * errno.
 *
 * After posting the write as work request number @target (as conn->sq[0].sent counts), the
 * caller calls am_bulk_finish(), which waits for the completion if necessary and releases
 * the region.
 */
int am_bulk_begin(struct am_conn *conn, struct am_message *message, const struct am_bulk *bulk,
		  struct am_bulk_write *write);
void am_bulk_finish(struct am_conn *conn, const struct am_bulk *bulk,
		    const struct am_bulk_write *write, uint32_t target);

#define AM_FLUSH_NS 2000000000u /* time limit for flushing a queue pair in the error state */

/* Low bits of wr_id: a send's completion; a completion of the connection setup's queue pair. */
#define AM_WR_SEND 1u
#define AM_WR_WIRE 2u

#endif
