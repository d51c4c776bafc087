/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections: allocation and freeing, the part of connection setup that all wirings share, queue
 * pairs and CQ entries, boards, and the slots of requests.
 *
 * This room calls the device, and the mapping and the wiring of a bundle by their tables of
 * functions. It runs no handler. All functions are called with the bundle's lock held; a slot that
 * releases its registration takes the lock of the device.
 */
#ifndef AM_CONNECTIONS_H
#define AM_CONNECTIONS_H

#include "objects/am_core.h"

/* --------------------------------------------------------------- am_conn.c */

#define AM_DOUBTS 2 /* idle connections that are probed for each new one */

struct am_conn *am_conn_find(struct am_ep *ep, const en_t *peer);
struct am_conn *am_conn_make(struct am_ep *ep, const en_t *peer);
/* Connects the queue pairs with the peer's, by its offer. 0 or errno. */
int am_conn_connect(struct am_conn *conn, const struct am_offer *theirs);
void am_conn_broken(struct am_conn *conn, int status);
void am_conn_free(struct am_conn *conn);
/* Until am_conn_release(), the connection is not freed, even if it breaks. */
void am_conn_hold(struct am_conn *conn);
void am_conn_release(struct am_conn *conn);
/* Called if one reference fewer to @conn exists: makes am_conns_reap() check it if it is broken. */
void am_conn_check(struct am_conn *conn);
void am_conns_reap(struct am_eb *eb);

/* -------------------------------------------------------------- am_probe.c */

/* Posts an empty RDMA write to the peer. 0 or errno. */
int am_conn_nudge(struct am_conn *conn);
void am_conn_probe(struct am_eb *eb);

/* --------------------------------------------------------- am_connecting.c */

/* Adds @conn to eb->connecting: retries at growing intervals, and a time limit. */
void am_wire_watch(struct am_conn *conn);
/* Removes @conn from eb->connecting. */
void am_wire_forget(struct am_conn *conn);

/* --------------------------------------------------------------- am_wire.c */

/* Starts connecting @conn, which becomes AM_CONNECTING. */
void am_wire_connect(struct am_conn *conn);
/* Moves @qp, which is in INIT, to RTS, by the wiring. 0 or errno. */
int am_qp_connect(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* Makes @conn ready: its requests may be sent. */
void am_wire_ready(struct am_conn *conn);
void am_wire_heard(struct am_conn *conn);
/*
 * Handles events of the wiring, retries connection attempts that are due, and gives up
 * expired ones.
 */
void am_wire_look(struct am_eb *eb);
/* A descriptor that is readable when the wiring has an event, or -1. */
int am_wire_fd(const struct am_eb *eb);
/* Tells the peer that the endpoint is being freed. Returns whether the caller must drain @conn. */
bool am_wire_goodbye(struct am_conn *conn);

/* For the wirings: */
/* The endpoint of bundle @eb with that name, or NULL. */
struct am_ep *am_wire_endpoint(struct am_eb *eb, const en_t *name);
/* If both sides connect at once, the attempt of the endpoint with the smaller name counts. */
bool am_wire_smaller(const en_t *a, const en_t *b);
/* Whether the peer uses the same mapping. If not, prints a message. */
bool am_wire_same_mapping(unsigned int mapping);

/* ----------------------------------------------------------------- am_qp.c */

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
/* Moves @qp to RTS with the parameters of conn->mine, conn->theirs and conn->peer. 0 or errno. */
int am_qp_connect_by_hand(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* Sets those timers and retry counts in @attr that @mask selects. */
void am_qp_attributes(struct ibv_qp_attr *attr, int mask);
/* Moves all queue pairs of the connection to the error state: posted work requests are flushed. */
void am_qp_stop(struct am_conn *conn);
void am_qp_free(struct am_conn *conn, struct ibv_qp *qp, const struct am_qp_needs *needs);

/* ----------------------------------------------------------------- am_cq.c */

/* Reserves entries of the bundle's completion queues, and resizes them if necessary. 0 or errno. */
int am_cq_room(struct am_eb *eb, unsigned int sends, unsigned int receives);
void am_cq_room_back(struct am_eb *eb, unsigned int sends, unsigned int receives);
struct am_conn *am_conn_by_qpn(struct am_eb *eb, uint32_t qpn);
int am_qpn_insert(struct am_eb *eb, struct am_conn *conn, uint32_t qpn);
void am_qpn_remove(struct am_eb *eb, uint32_t qpn);

/* ------------------------------------------------------------ am_segment.c */

struct am_segment am_segment_mine(const struct am_ep *ep);
struct am_segment am_segment_of(const struct am_conn *conn);
/* Writes segment and tag of the endpoint to the peer's board. 0 or errno. */
int am_segment_tell(struct am_conn *conn);
int am_segment_goodbye(struct am_conn *conn); /* the same; the endpoint is being freed */

/* ------------------------------------------------------------- am_return.c */

void am_slot_done(struct am_conn *conn, unsigned int slot);
void am_return_slot(struct am_conn *conn, unsigned int slot, int status);
void am_return_call(struct am_ep *ep, int status, op_t opcode,
		    const struct am_arguments *arguments);
void am_default_error(int status, op_t opcode, void *argblock);

#endif
