/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A mapping of Active Messages onto queue pairs: what differs between the
 * papers' versions, a file each.
 *
 * The core has the message in the send buffer of a slot (am_request_buffer(),
 * am_reply_buffer()) and holds the credit for it; the mapping brings it to the
 * other side, where it must appear once, whole, and after the data of its bulk
 * transfer. What arrives it hands to am_arrival() and takes back by release().
 * A queue pair that fails, or brings what cannot be, it reports by am_conn_broken(),
 * which puts all of the connection's into state ERR.
 *
 * All is called with the bundle's lock held.
 */
#ifndef AM_MAPPING_H
#define AM_MAPPING_H

#include "am_core.h"
#include "am_cost.h"

/* The data of a bulk transfer: @region names @source, the peer's segment the target. */
struct am_bulk {
	const void *source;
	size_t nbytes;
	uint64_t address;
	uint32_t rkey;
	bool async; /* @source stays as it is until the request is answered */
	struct am_slot *slot; /* which then holds the region; NULL: a reply */
};

struct am_mapping {
	const char *name;
	const char *about; /* a line for people */
	unsigned int max_credits;

	/* Completion queues and whatever all connections of a bundle share. 0 or errno. */
	int (*open_bundle)(struct am_eb *eb);
	void (*close_bundle)(struct am_eb *eb);

	/* Bytes of registered memory that a connection wants, beside the core's. */
	size_t (*memory)(const struct am_conn *conn);

	/*
	 * Queue pairs, in state INIT, with their receives posted; fills
	 * conn->mine.qpn[], .buffers. @memory is what memory() asked for. 0 or errno.
	 */
	int (*open)(struct am_conn *conn, void *memory);
	/* The queue pairs to RTS, by conn->theirs. 0 or errno. */
	int (*connect)(struct am_conn *conn);
	/* The connection is broken. */
	void (*close)(struct am_conn *conn);

	/*
	 * Sends the message in @slot's request buffer (@reply: its reply buffer) and,
	 * before it, @bulk (NULL: none). Returns when the source of @bulk may be
	 * used again, unless it is asynchronous. 0, or errno: nothing was sent.
	 */
	int (*send)(struct am_conn *conn, unsigned int slot, bool reply, size_t size,
		    const struct am_bulk *bulk);

	/* RDMA-writes @size bytes at @source of the connection's memory; signaled, no message. */
	int (*write)(struct am_conn *conn, const void *source, size_t size, uint64_t address,
		     uint32_t rkey);

	/* Takes completions. How many there were. */
	int (*poll)(struct am_eb *eb);

	/* @buffer's message has been handled. */
	void (*release)(struct am_conn *conn, struct am_buffer *buffer);
};

extern const struct am_mapping am_mapping_v1, am_mapping_v2, am_mapping_v3, am_mapping_v4;

/* By number, as offers carry it: 1 to 4. NULL: there is none. */
const struct am_mapping *am_mapping(unsigned int number);

/* am_qp.c: what mappings share. */
struct am_qp_needs {
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	uint32_t max_send_wr, max_recv_wr, max_inline;
	bool sq_sig_all;
};
/* A reliable queue pair in state INIT, or NULL and errno. @max_inline: what it got. */
struct ibv_qp *am_qp_make(struct am_conn *conn, const struct am_qp_needs *needs,
			  uint32_t *max_inline);
int am_qp_connect(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* All of the connection's to state ERR: what is posted completes, nothing is received. */
void am_qp_stop(struct am_conn *conn);
void am_qp_free(struct am_conn *conn, struct ibv_qp *qp, const struct am_qp_needs *needs);

/* Posts @wr, a list. 0 or errno. */
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
	struct ibv_send_wr wr; /* without its name, and what it is followed by */
	struct ibv_sge sge;
	struct am_region *region; /* what it holds until it is done, if not NULL */
	bool waits; /* until then its source, or what it holds, is not given back */
};

/*
 * Makes the write of @bulk. Its source is a copy behind @message in its send
 * buffer, if it is short, or in a buffer of the device's, or it is where it is,
 * registered. 0 or errno. When it has been
 * posted, as number @target of the send queue's work requests, counted by
 * conn->sq[0].sent, am_bulk_finish() waits for it, if it has to, and lets go what it holds.
 */
int am_bulk_begin(struct am_conn *conn, struct am_message *message, const struct am_bulk *bulk,
		  struct am_bulk_write *write);
void am_bulk_finish(struct am_conn *conn, const struct am_bulk *bulk,
		    const struct am_bulk_write *write, uint32_t target);

#define AM_FLUSH_NS 2000000000u /* how long a queue pair in error may take to flush */

/* wr_id of what is no message of a connection: completions of sends. */
#define AM_WR_SEND 1u
#define AM_WR_WIRE 2u

#endif
