/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Definitions shared by the files of the wiring by rdma_cm: wiring_cm.c (events) calls cm_active.c
 * (active side) and cm_passive.c (passive side), and all three call cm_ids.c (the ids).
 */
#ifndef WIRING_CM_H
#define WIRING_CM_H

#include <rdma/rdma_cma.h>

#include "objects/am_wiring.h"

#define CM_MAGIC 0x31434d41u /* "AMC1" */
#define CM_REQUEST_ROOM 56 /* bytes of private data: a REQ has 92, of which the CM uses 36 */
#define CM_REPLY_ROOM 196

/* Reasons to reject, in addition to EBAD... of am.h. */
/* the endpoint is in another bundle of the same process, which listens at @port */
#define CM_MOVED 255
#define CM_CROSSED 254 /* both sides connect; the other side's attempt counts */

struct cm_request {
	uint32_t magic;
	uint8_t mapping, credits, imm64;
	uint8_t index; /* which queue pair of the connection */
	uint64_t to, from; /* incarnations of the endpoints */
	uint64_t board, buffers;
	uint32_t rkey; /* of both board and buffers */
	uint32_t to_endpoint, from_endpoint;
	uint32_t attempt; /* the same in the requests of all queue pairs of one attempt */
};

struct cm_reply {
	uint32_t magic;
	uint32_t unused;
	uint8_t offer[sizeof(struct am_offer)];
};

struct cm_rejection {
	uint32_t magic;
	uint16_t port;
	uint8_t status;
	uint8_t unused;
};

static_assert(sizeof(struct cm_request) <= CM_REQUEST_ROOM, "a request is private data");
static_assert(sizeof(struct cm_reply) <= CM_REPLY_ROOM, "so is a reply");

/* rdma_cm state of a bundle. */
struct cm_wire {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	uint64_t next_look;
};

/* rdma_cm state of a queue pair. id->context points to it. */
struct cm_end {
	struct am_conn *conn;
	struct rdma_cm_id *id; /* NULL: not connecting */
	bool heard; /* the peer has sent REQ or REP for this queue pair */
};

/* rdma_cm state of a connection. */
struct cm_wired {
	struct cm_end end[AM_MAX_QPS];
	uint32_t attempt;
	bool asked; /* the peer's attempt is in progress (passive side) */
	struct am_offer theirs;
};

/* A copy of an rdma_cm event. The event itself is acknowledged before the copy is handled. */
struct cm_event {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status;
	size_t length;
	uint8_t data[256];
};

/* cm_ids.c. Number of queue pairs of a connection. */
unsigned int cm_queue_pairs(const struct am_conn *conn);
/* Destroys the ids of a connection, which also informs the peer. */
void cm_drop(struct am_conn *conn);
/* Allocates conn->wired if necessary, and destroys its ids. False: out of memory. */
bool cm_make_wired(struct am_conn *conn);
/* Stops retries, and breaks the connection with @status. */
void cm_broken(struct am_conn *conn, int status);
/* Whether the peer has sent REQ or REP for all queue pairs of the connection. */
bool cm_all_heard(const struct am_conn *conn);
struct rdma_conn_param cm_parameters(const struct am_conn *conn, unsigned int index,
				     const void *data, size_t length);

/* cm_active.c: the active side, step by step. 0, or -1 and errno, where there is a result. */
void cm_ask(struct am_conn *conn);
void cm_again(struct am_conn *conn);
int cm_resolve_route(const struct cm_end *end);
int cm_request(const struct cm_end *end);
void cm_answered(struct cm_end *end, const struct cm_event *event);
void cm_refused(struct am_conn *conn, const struct cm_event *event);

/* cm_passive.c: handles RDMA_CM_EVENT_CONNECT_REQUEST. */
void cm_requested(struct am_eb *eb, const struct cm_event *event);

#endif
