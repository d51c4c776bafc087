/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How two endpoints find each other and connect: what differs between the ways to do
 * that, a file each. They bring each side the other's offer; what happens then, and
 * what the program sees of it, is the same with all (am_wire.c).
 *
 * All is called with the bundle's lock held.
 */
#ifndef AM_WIRING_H
#define AM_WIRING_H

#include "am_core.h"

struct am_wiring {
	const char *name;

	/* What a bundle has for it: eb->wire. 0 or errno. */
	int (*open)(struct am_eb *eb);
	void (*close)(struct am_eb *eb);
	/* Where an endpoint of the bundle is asked for connections, into its @name. */
	void (*address)(const struct am_eb *eb, en_t *name);

	/* Asks for @conn: it is AM_CONNECTING, and watched. */
	void (*ask)(struct am_conn *conn);
	/* The same, when nothing has come of it for a time, or nothing of an answer. */
	void (*again)(struct am_conn *conn);
	/* One of its queue pairs, in state INIT, to RTS. 0 or errno. */
	int (*connect_qp)(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);

	/* Its endpoint goes, and all that it sent has arrived. Whether that is told by a write. */
	bool (*goodbye)(struct am_conn *conn);
	/* It is broken: what the wiring has of it is let go. NULL: nothing. */
	void (*broken)(struct am_conn *conn);

	/* What does not come as a completion: a look at it, and what to sleep on. NULL: nothing. */
	void (*events)(struct am_eb *eb);
	int (*fd)(const struct am_eb *eb);
};

extern const struct am_wiring am_wiring_hand, am_wiring_cm;

/* am_wire.c: what they share. */
/* From now on, it is asked for again, and given up at some time. */
void am_wire_watch(struct am_conn *conn);
/* Requests may go. */
void am_wire_ready(struct am_conn *conn);
/* The bundle's endpoint of that name, or NULL. */
struct am_ep *am_wire_endpoint(struct am_eb *eb, const en_t *name);
/* Of two attempts to connect that cross, that of the smaller name counts. */
bool am_wire_smaller(const en_t *a, const en_t *b);
/* Whether a peer that makes that offer has our mapping. If not, it is told on stderr. */
bool am_wire_same_mapping(unsigned int mapping);

/* am_qp.c: the queue pair to RTS by conn->mine, conn->theirs and conn->peer alone. */
int am_qp_connect_by_hand(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn);
/* What is asked of all of them, put into @attr, as far as @mask has it. */
void am_qp_attributes(struct ibv_qp_attr *attr, int mask);

#endif
