/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of a wiring: how two endpoints connect.
 *
 * There are two, one file each: by UD datagrams (wiring_hand.c) and by rdma_cm
 * (wiring_cm.c). A wiring gives each side the other's offer. am_wire.c implements the rest:
 * states, retries and time limits.
 *
 * All functions are called with the bundle's lock held.
 */
#ifndef AM_WIRING_H
#define AM_WIRING_H

#include "am_core.h"

struct am_wiring {
	const char *name;

	/* Creates eb->wire, the state of a bundle. 0 or errno. */
	int (*open)(struct am_eb *eb);
	void (*close)(struct am_eb *eb);
	/* Fills in the fields of @name that tell peers where to send connection requests. */
	void (*address)(const struct am_eb *eb, en_t *name);

	/* Starts a connection attempt. @conn is AM_CONNECTING and in eb->connecting. */
	void (*ask)(struct am_conn *conn);
	/* Called when @conn is due: the peer has not answered, or has not confirmed our answer. */
	void (*again)(struct am_conn *conn);
	/* Moves a queue pair of @conn from INIT to RTS. 0 or errno. */
	int (*connect_qp)(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);

	/*
	 * Tells the peer that the endpoint is being freed; all that it sent has been
	 * acknowledged. Returns true if it has posted an RDMA write for it, which the
	 * caller must drain.
	 */
	bool (*goodbye)(struct am_conn *conn);
	/* Frees the wiring's resources of a broken connection. May be NULL. */
	void (*broken)(struct am_conn *conn);

	/*
	 * Handles events that are no completions, and returns a descriptor to poll for
	 * them. May be NULL.
	 */
	void (*events)(struct am_eb *eb);
	int (*fd)(const struct am_eb *eb);
};

extern const struct am_wiring am_wiring_hand, am_wiring_cm;

/* am_wire.c, for the core: connection setup of a bundle, by either wiring. 0 or errno. */
int am_wire_open(struct am_eb *eb);
void am_wire_close(struct am_eb *eb);
void am_wire_address(const struct am_eb *eb, en_t *name);
/* Starts connecting @conn, which becomes AM_CONNECTING. */
void am_wire_connect(struct am_conn *conn);
/*
 * Handles events of the wiring, retries connection attempts that are due, and gives up
 * expired ones.
 */
void am_wire_look(struct am_eb *eb);
/* A descriptor that is readable when the wiring has an event, or -1. */
int am_wire_fd(const struct am_eb *eb);
void am_wire_heard(struct am_conn *conn);
/* Tells the peer that the endpoint is being freed. Returns whether the caller must drain @conn. */
bool am_wire_goodbye(struct am_conn *conn);
void am_wire_forget(struct am_conn *conn);
void am_wire_broken(struct am_conn *conn);

/* wiring_hand.c: handles a completion with AM_WR_WIRE in its wr_id. */
void am_wire_completion(struct am_eb *eb, const struct ibv_wc *wc);

/* am_wire.c: shared by the wirings. */
/* Adds @conn to eb->connecting: retries at growing intervals, and a time limit. */
void am_wire_watch(struct am_conn *conn);
/* Makes @conn ready: its requests may be sent. */
void am_wire_ready(struct am_conn *conn);
/* The endpoint of bundle @eb with that name, or NULL. */
struct am_ep *am_wire_endpoint(struct am_eb *eb, const en_t *name);
/* If both sides connect at once, the attempt of the endpoint with the smaller name counts. */
bool am_wire_smaller(const en_t *a, const en_t *b);
/* Whether the peer uses the same mapping. If not, prints a message. */
bool am_wire_same_mapping(unsigned int mapping);

/* am_qp.c: moves @qp to RTS with the parameters of conn->mine, conn->theirs and conn->peer. */
int am_qp_connect_by_hand(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* Sets those timers and retry counts in @attr that @mask selects. */
void am_qp_attributes(struct ibv_qp_attr *attr, int mask);

#endif
