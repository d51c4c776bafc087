/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects of Active Messages: bundle, endpoint, connection, slot.
 *
 * A bundle holds endpoints. An endpoint holds a translation table and connections. A
 * connection joins two endpoints; a mapping (am_mapping.h) carries its messages, and a wiring
 * (am_wiring.h) establishes it.
 *
 * A bundle's lock, which only AM_PAR bundles have, guards the bundle and everything in it.
 *
 * The room also has the format of messages, the interfaces of mappings and wirings, and the state
 * of the process. It calls a wiring by its table of functions, and no other room. Beside am_lock(),
 * its functions take only the lock of the list of bundles (am_process.h).
 */
#ifndef AM_CORE_H
#define AM_CORE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "am_message.h"
#include "device/am_device.h"
#include "include/am.h"
#include "settings/am_settings.h"

struct am_mapping;
struct am_wiring;

#define AM_MAX_QPS 3 /* queue pairs of a connection */

/* Location of an endpoint's segment. The endpoint updates its peers' copies by RDMA write. */
struct am_segment {
	_Alignas(64) uint64_t before; /* differs from @after while it is being written */
	uint64_t address;
	uint64_t length;
	uint32_t rkey;
	/* 1: the endpoint is being freed; all that it had to send has been sent */
	uint32_t goodbye;
	uint64_t tag; /* of the endpoint */
	uint64_t after;
};

/* What each side of a connection tells the other during connection setup. */
struct am_offer {
	uint32_t qpn[AM_MAX_QPS];
	uint32_t psn;
	uint64_t board; /* address of the sender's copy of the receiver's struct am_segment */
	uint64_t buffers; /* address of the mapping's buffers for RDMA writes */
	uint32_t board_rkey;
	uint32_t buffers_rkey;
	uint8_t mapping;
	uint8_t credits;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t imm64; /* the sender supports 64-bit immediates */
	uint8_t unused[4];
	struct am_segment segment;
};

/* A receive buffer, linked into the queue of messages that wait for their handler. */
struct am_buffer {
	struct am_buffer *next;
	struct am_conn *conn;
	struct am_message *at; /* the message, in bytes[] */
	uint32_t index; /* for the mapping's use */
	uint64_t unused[4]; /* bytes[] begins on a cache line */
	union {
		struct am_message message;
		uint8_t bytes[(AM_MESSAGE_MAX + 63) / 64 * 64];
	};
};

struct am_queue {
	struct am_buffer *first, **last;
};

/* A request slot: the outstanding request, and what is needed to return it to the program. */
struct am_slot {
	bool outstanding;
	bool answered; /* the reply has been received; its handler has not run yet */
	int index; /* into the translation table */
	const void *source; /* of a bulk transfer */
	struct am_region *region; /* held until the request is answered */
};

/* Counts of work requests that complete in order. */
struct am_sequence {
	uint32_t sent, done;
	uint32_t awaited; /* value of @sent at the last drain */
};

#define AM_MAX_SEQUENCES 4 /* per connection; a mapping with one queue pair uses only the first */

enum am_conn_state { AM_CONNECTING, AM_ACCEPTED, AM_READY, AM_BROKEN };

struct am_conn {
	struct am_conn *next; /* next connection of the endpoint */
	struct am_ep *ep;
	struct am_eb *eb;
	en_t peer;
	enum am_conn_state state;
	unsigned int credits; /* slots in each direction */
	unsigned int nfree; /* number of free slots, listed in free[] */
	uint8_t free[AM_MAX_CREDITS];
	struct am_slot slot[AM_MAX_CREDITS];
	/* Slots of requests that were handled without a reply and are not acknowledged yet. */
	unsigned int nacks;
	uint8_t ack[AM_MAX_CREDITS];
	bool acks; /* the connection is in eb->acking */
	struct am_conn *acking; /* next in eb->acking */
	bool replying[AM_MAX_CREDITS]; /* the peer's slots whose request has no answer yet */

	uint8_t *out; /* send buffers: one per request slot, then one per reply slot */
	/* [0]: the peer's segment, written by the peer; [1]: source of writes to its board */
	struct am_segment *board;
	struct ibv_mr *mr; /* covers board, send buffers and the mapping's memory */
	void *memory;
	size_t memory_size;

	struct am_offer mine, theirs;
	int status; /* EBAD..., EUNREACHABLE or ECONGESTION, if state is AM_BROKEN */
	unsigned int held; /* calls that refer to the connection, and may release the lock */
	bool unchecked; /* am_conns_reap() is to check whether it can be freed */
	bool congested; /* the peer rejected an attempt for lack of resources */
	uint64_t wait, due; /* retry interval and time of the next connection attempt, ns */
	uint64_t deadline;
	uint64_t cookie; /* identifies the connection attempt */
	struct am_conn *connecting; /* next in eb->connecting */
	uint64_t heard; /* eb->clock when the last message arrived */
	uint64_t probed; /* eb->clock of the last probe */

	struct ibv_qp *qp[AM_MAX_QPS]; /* unused entries are NULL and come last */
	struct am_sequence sq[AM_MAX_SEQUENCES];
	uint32_t sq_depth;
	bool imm64; /* both sides support 64-bit immediates */
	unsigned int unsignaled; /* work requests posted since the last signaled one */
	uint32_t max_inline;
	uint32_t rq_posted; /* posted receives that have not completed */
	void *private; /* for the mapping's use */
	void *wired; /* for the wiring's use; freed with the connection */
};

struct am_entry {
	bool inuse;
	en_t name;
	tag_t tag;
	struct am_conn *conn;
	unsigned int outstanding;
};

struct am_ep {
	struct am_ep *next; /* next endpoint of the bundle */
	struct am_eb *eb;
	en_t name;
	tag_t tag;
	void *segment;
	uintptr_t segment_length;
	struct ibv_mr *segment_mr;
	uint64_t segment_version;
	int ntranslations;
	struct am_entry *entry;
	struct am_conn *conns;
	unsigned int credits; /* credits of connections made later; 0: default */
	struct am_statistics statistics;
	am_handler_fn_t handler[AM_MaxNumHandlers()];
};

/* A message that was returned to its sender and waits for handler 0. */
struct am_returned {
	struct am_returned *next;
	int status;
	op_t opcode;
	struct am_arguments arguments;
	uint8_t data[];
};

enum am_running { AM_IDLE, AM_IN_REQUEST, AM_IN_REPLY, AM_IN_ERROR };

struct am_eb {
	struct am_eb *next; /* next bundle of the process */
	const struct am_mapping *mapping;
	struct am_device *device;
	struct am_ep *eps;
	enum am_running running; /* kind of handler that is running */
	unsigned int outstanding; /* requests of all endpoints */
	struct am_queue requests, replies; /* received messages whose handlers have not run */
	struct am_returned *returned, **returned_last;
	bool chores; /* there are returned messages, or connections to be checked */
	unsigned int doubts; /* idle connections to be probed */
	struct am_conn *connecting, *acking;

	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq; /* the same CQ in mappings that need only one */
	struct ibv_srq *srq;
	unsigned int scq_needed, rcq_needed; /* reserved CQ entries */
	struct am_cq_event {
		unsigned int send, receive;
	} events; /* CQ events read, but not yet passed to ibv_ack_cq_events() */
	const struct am_wiring *wiring;
	void *wire; /* for the wiring's use */
	struct am_qpn {
		uint32_t qpn;
		struct am_conn *conn;
	} * by_qpn; /* open-addressing hash table */
	unsigned int by_qpn_size, by_qpn_used;

	int event_mask;
	bool semaphore;
	unsigned int idle; /* consecutive polls that found nothing */
	unsigned int busy; /* polls that found something since the last look_at_clock() */
	uint64_t clock; /* am_now() when it was last read */
	void *private; /* for the mapping's use */

	bool parallel;
	pthread_mutex_t lock;
};

/* The token that a handler receives. */
struct am_token {
	struct am_conn *conn;
	const struct am_message *message;
	bool is_request;
	bool replied;
};

/* Whether a request is outstanding in @slot and no answer has been received. */
static inline bool am_slot_waits(const struct am_conn *conn, unsigned int slot)
{
	return conn->slot[slot].outstanding && !conn->slot[slot].answered;
}

static inline void am_lock(struct am_eb *eb)
{
	if (eb->parallel)
		pthread_mutex_lock(&eb->lock);
}

static inline void am_unlock(struct am_eb *eb)
{
	if (eb->parallel)
		pthread_mutex_unlock(&eb->lock);
}

/* Send buffers of a slot: of the request, and of the answer to the peer's request. */
static inline struct am_message *am_request_buffer(struct am_conn *conn, unsigned int slot)
{
	return (struct am_message *)(void *)(conn->out +
					     slot * sizeof(((struct am_buffer *)0)->bytes));
}

static inline struct am_message *am_reply_buffer(struct am_conn *conn, unsigned int slot)
{
	return am_request_buffer(conn, conn->mine.credits + slot);
}

uint64_t am_now(void); /* ns, monotonic (am_process.c) */

#endif
