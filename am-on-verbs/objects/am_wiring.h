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
	/*
	 * Handles a completion with AM_WR_WIRE in its wr_id, which the mapping has polled. May
	 * be NULL if the wiring posts no work requests.
	 */
	void (*completion)(struct am_eb *eb, const struct ibv_wc *wc);
};

#endif
