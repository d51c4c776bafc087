/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of a mapping of Active Messages onto queue pairs.
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

#define AM_FLUSH_NS 2000000000u /* time limit for flushing a queue pair in the error state */

/* Low bits of wr_id: a send's completion; a completion of the connection setup's queue pair. */
#define AM_WR_SEND 1u
#define AM_WR_WIRE 2u

#endif
