/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the layer is made of: bundles hold endpoints, an endpoint holds a
 * translation table and connections; a connection joins two endpoints and is
 * carried by one of the mappings (am_mapping.h).
 *
 * All of a bundle is guarded by its lock, if it has one (AM_PAR).
 */
#ifndef AM_CORE_H
#define AM_CORE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/am.h"
#include "am_device.h"
#include "am_message.h"
#include "am_settings.h"

struct am_mapping;
struct am_wiring;

#define AM_MAX_QPS 3 /* of a connection */

/* Where an endpoint's segment is: peers keep it up to date by RDMA write. */
struct am_segment {
	_Alignas(64) uint64_t before; /* differs from @after while it is being written */
	uint64_t address;
	uint64_t length;
	uint32_t rkey;
	uint32_t goodbye; /* 1: the endpoint goes; what it owes has been sent */
	uint64_t tag; /* of the endpoint */
	uint64_t after;
};

/* What one side of a connection tells the other while it is made. */
struct am_offer {
	uint32_t qpn[AM_MAX_QPS];
	uint32_t psn;
	uint64_t board; /* address of the other's struct am_segment */
	uint64_t buffers; /* of the mapping's, for RDMA writes */
	uint32_t board_rkey;
	uint32_t buffers_rkey;
	uint8_t mapping;
	uint8_t credits;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t imm64; /* it takes immediates of 64 bits */
	uint8_t unused[4];
	struct am_segment segment;
};

/* A receive buffer, and its place in the queue of messages to be handled. */
struct am_buffer {
	struct am_buffer *next;
	struct am_conn *conn;
	struct am_message *at; /* the message, in bytes[] */
	uint32_t index; /* the mapping's */
	uint64_t unused[4]; /* the bytes begin on a cache line */
	union {
		struct am_message message;
		uint8_t bytes[(AM_MESSAGE_MAX + 63) / 64 * 64];
	};
};

struct am_queue {
	struct am_buffer *first, **last;
};

/* A request slot: what is outstanding, and what must be known if it comes back. */
struct am_slot {
	bool outstanding;
	bool answered; /* a reply has come, and waits for its turn */
	int index; /* of the translation */
	const void *source; /* of a bulk transfer */
	struct am_region *region; /* held until it is answered */
};

/* Work requests that complete in their order, counted from the first. */
struct am_sequence {
	uint32_t sent, done;
	uint32_t awaited; /* sent when it was last waited for */
};

#define AM_MAX_SEQUENCES 4 /* of a connection; one of a single queue pair has the first */

enum am_conn_state { AM_CONNECTING, AM_ACCEPTED, AM_READY, AM_BROKEN };

struct am_conn {
	struct am_conn *next; /* of the endpoint's */
	struct am_ep *ep;
	struct am_eb *eb;
	en_t peer;
	enum am_conn_state state;
	unsigned int credits; /* slots in each direction */
	unsigned int nfree; /* slots that are free, in free[] */
	uint8_t free[AM_MAX_CREDITS];
	struct am_slot slot[AM_MAX_CREDITS];
	/* Requests handled without a reply, which are not acknowledged yet. */
	unsigned int nacks;
	uint8_t ack[AM_MAX_CREDITS];
	bool acks; /* it is one of those that the bundle will acknowledge */
	struct am_conn *acking; /* the next of them */
	bool replying[AM_MAX_CREDITS]; /* the other's slots that wait for an answer */

	uint8_t *out; /* send buffers: of requests by slot, then of replies */
	struct am_segment *board; /* the peer's segment */
	struct ibv_mr *mr; /* of the memory that holds both, and the mapping's */
	void *memory;
	size_t memory_size;

	struct am_offer mine, theirs;
	int status; /* why it is broken */
	bool congested; /* the peer had no room for it */
	uint64_t wait, due; /* when to ask for the connection again, ns */
	uint64_t deadline;
	uint64_t cookie; /* of the attempt */
	struct am_conn *connecting; /* next of those that the bundle watches */
	uint64_t heard; /* eb->clock when something came */
	uint64_t probed; /* eb->clock of the last probe */

	struct ibv_qp *qp[AM_MAX_QPS]; /* those that there are come first */
	struct am_sequence sq[AM_MAX_SEQUENCES];
	uint32_t sq_depth;
	bool imm64; /* both sides have immediates of 64 bits */
	unsigned int unsignaled; /* of them, since a completion was asked for */
	uint32_t max_inline;
	uint32_t rq_posted; /* receives whose completion is to come */
	void *private; /* the mapping's */
	void *wired; /* the wiring's */
};

struct am_entry {
	bool inuse;
	en_t name;
	tag_t tag;
	struct am_conn *conn;
	unsigned int outstanding;
};

struct am_ep {
	struct am_ep *next; /* of the bundle's */
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
	unsigned int credits; /* of connections to come */
	struct am_statistics statistics;
	am_handler_fn_t handler[AM_MaxNumHandlers()];
};

/* A message that came back, on its way to handler 0. */
struct am_returned {
	struct am_returned *next;
	int status;
	op_t opcode;
	struct am_arguments arguments;
	uint8_t data[];
};

enum am_running { AM_IDLE, AM_IN_REQUEST, AM_IN_REPLY, AM_IN_ERROR };

struct am_eb {
	struct am_eb *next; /* of the process's */
	const struct am_mapping *mapping;
	struct am_device *device;
	struct am_ep *eps;
	enum am_running running; /* the kind of handler that is running */
	unsigned int outstanding; /* requests of all endpoints */
	struct am_queue requests, replies; /* that have come */
	struct am_returned *returned, **returned_last;
	struct am_conn *connecting, *acking;

	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq; /* a mapping may use one for both */
	struct ibv_srq *srq;
	unsigned int scq_needed, rcq_needed; /* completions that may come */
	struct am_cq_event {
		unsigned int send, receive;
	} events; /* got, not yet acknowledged */
	const struct am_wiring *wiring;
	void *wire; /* the wiring's */
	struct am_qpn {
		uint32_t qpn;
		struct am_conn *conn;
	} * by_qpn; /* open hash */
	unsigned int by_qpn_size, by_qpn_used;

	int event_mask;
	bool semaphore;
	unsigned int idle; /* polls in a row that found nothing */
	unsigned int busy; /* polls that found something, since the last look at all else */
	uint64_t clock; /* ns, of the last look at it */
	void *private; /* the mapping's */

	bool parallel;
	pthread_mutex_t lock;
};

/* A handler's token. */
struct am_token {
	struct am_conn *conn;
	const struct am_message *message;
	bool is_request;
	bool replied;
};

/* Whether a request is outstanding in @slot that nobody has answered. */
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

/* The buffer from which a request's slot, or the answer to one, is sent. */
static inline struct am_message *am_request_buffer(struct am_conn *conn, unsigned int slot)
{
	return (struct am_message *)(void *)(conn->out +
					     slot * sizeof(((struct am_buffer *)0)->bytes));
}

static inline struct am_message *am_reply_buffer(struct am_conn *conn, unsigned int slot)
{
	return am_request_buffer(conn, conn->mine.credits + slot);
}

uint64_t am_now(void); /* ns, monotonic */

/* am_init.c: whether AM_Init() was called. */
bool am_initialised(void);
struct am_device *am_the_device(void);
void am_drain_all(void); /* all bundles, which nobody else uses any more */

/* am_bundle.c */
int am_cq_room(struct am_eb *eb, unsigned int sends, unsigned int receives);
void am_cq_room_back(struct am_eb *eb, unsigned int sends, unsigned int receives);
struct am_conn *am_conn_by_qpn(struct am_eb *eb, uint32_t qpn);
int am_qpn_insert(struct am_eb *eb, struct am_conn *conn, uint32_t qpn);
void am_qpn_remove(struct am_eb *eb, uint32_t qpn);

/* am_conn.c */
struct am_conn *am_conn_find(struct am_ep *ep, const en_t *peer);
struct am_conn *am_conn_make(struct am_ep *ep, const en_t *peer);
int am_conn_connect(struct am_conn *conn, const struct am_offer *theirs);
void am_conn_broken(struct am_conn *conn, int status);
void am_conn_free(struct am_conn *conn);
/* Until what was sent is acknowledged, or can not be. */
void am_conns_drain(struct am_ep *ep);
void am_bundle_drain(struct am_eb *eb);
void am_conn_probe(struct am_eb *eb);

/* am_poll.c */
void am_arrival(struct am_conn *conn, struct am_buffer *buffer, uint32_t length);
void am_arrival_at(struct am_conn *conn, struct am_buffer *buffer, struct am_message *message,
		   uint32_t length);
int am_drain(struct am_eb *eb); /* fills the queues, runs nothing; how much was found */
int am_progress(struct am_eb *eb); /* AM_Poll() under the lock */
void am_yield(struct am_eb *eb); /* in a loop that waits for others */
void am_let_others(const struct am_eb *eb); /* the same, and keeps the lock */
void am_local_processes(int n); /* of the job, on this machine */

/* am_dispatch.c */
void am_run_message(struct am_buffer *buffer);
void am_run_error(struct am_eb *eb, struct am_returned *returned);

/* am_return.c */
void am_return_slot(struct am_conn *conn, unsigned int slot, int status);
void am_return_call(struct am_ep *ep, int status, op_t opcode,
		    const struct am_arguments *arguments);
void am_default_error(int status, op_t opcode, void *argblock);
void am_slot_done(struct am_conn *conn, unsigned int slot);

/* am_reply.c */
void am_acknowledge(struct am_conn *conn, unsigned int slot);
void am_flush_acks(struct am_conn *conn);
void am_acks_forget(struct am_conn *conn);
void am_refuse(struct am_conn *conn, unsigned int slot, int status);

/* am_segment.c */
int am_segment_tell(struct am_conn *conn);
int am_segment_goodbye(struct am_conn *conn); /* the same; its endpoint goes */
struct am_segment am_segment_mine(const struct am_ep *ep);
/* Everybody connected knows the segment and the tag before it returns. */
void am_segment_tell_all(struct am_ep *ep);
struct am_segment am_segment_of(const struct am_conn *conn);

/* am_request.c: requests of the layer itself, to an endpoint by its name. */
int am_system_request(struct am_ep *ep, int index, handler_t handler, int nargs,
		      const int32_t *args, const void *data, size_t nbytes);
typedef void (*am_system_fn_t)(struct am_ep *ep, const struct am_message *message,
			       const void *data);
void am_system_handler(handler_t handler, am_system_fn_t function);
am_system_fn_t am_system_function(handler_t handler);

#endif
