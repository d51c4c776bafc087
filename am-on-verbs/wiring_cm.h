/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of connecting by rdma_cm share: wiring_cm.c, which says how it goes,
 * cm_ask.c for the side that asks and cm_asked.c for the other.
 */
#ifndef WIRING_CM_H
#define WIRING_CM_H

#include <rdma/rdma_cma.h>

#include "am_wiring.h"

#define CM_MAGIC 0x31434d41u /* "AMC1" */
#define CM_REQUEST_ROOM 56 /* of private data, where the manager needs 36 of 92 */
#define CM_REPLY_ROOM 196

/* Reasons to reject beside EBAD... of am.h. */
#define CM_MOVED 255 /* to another bundle of the same process, which listens at @port */
#define CM_CROSSED 254 /* the other side's attempt counts */

struct cm_request {
	uint32_t magic;
	uint8_t mapping, credits, imm64;
	uint8_t index; /* of the queue pair */
	uint64_t to, from; /* incarnations */
	uint64_t board, buffers;
	uint32_t rkey; /* of both */
	uint32_t to_endpoint, from_endpoint;
	uint32_t attempt; /* all queue pairs of a connection are asked for in the same */
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

/* A bundle's. */
struct cm_wire {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	uint64_t next_look;
};

/* A queue pair's, which its id names. */
struct cm_end {
	struct am_conn *conn;
	struct rdma_cm_id *id; /* NULL: none */
	bool heard; /* the other side has asked, or answered */
};

/* A connection's. */
struct cm_wired {
	struct cm_end end[AM_MAX_QPS];
	uint32_t attempt;
	bool asked; /* by the other side */
	struct am_offer theirs;
};

/* What has come, by values: the event itself is given back before it is handled. */
struct cm_event {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status;
	size_t length;
	uint8_t data[256];
};

/* wiring_cm.c: of a connection. How many queue pairs it has. */
unsigned int cm_queue_pairs(const struct am_conn *conn);
/* Its ids go, and the other side is told. */
void cm_drop(struct am_conn *conn);
/* The same, and there is conn->wired, with nothing in it. False: no memory. */
bool cm_make_wired(struct am_conn *conn);
/* No watch over it any more, and am_conn_broken(). */
void cm_broken(struct am_conn *conn, int status);
/* Whether all of its queue pairs have been asked for, or answered. */
bool cm_all_heard(const struct am_conn *conn);
struct rdma_conn_param cm_parameters(const struct am_conn *conn, unsigned int index,
				     const void *data, size_t length);

/* cm_ask.c: the wiring's, and what is done at each step. 0 or -1, or events that end it. */
void cm_ask(struct am_conn *conn);
void cm_again(struct am_conn *conn);
int cm_resolve_route(const struct cm_end *end);
int cm_request(const struct cm_end *end);
void cm_answered(struct cm_end *end, const struct cm_event *event);
void cm_refused(struct am_conn *conn, const struct cm_event *event);

/* cm_asked.c */
void cm_requested(struct am_eb *eb, const struct cm_event *event);

#endif
