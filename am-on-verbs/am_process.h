/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal functions of the process-wide state (am_init.c), for bundles, endpoints and wiring. */
#ifndef AM_PROCESS_H
#define AM_PROCESS_H

#include "am_core.h"

/* am_init.c */
uint32_t am_endpoint_number(void);
void am_endpoints_lock(void);
void am_endpoints_unlock(void);
void am_bundle_register(struct am_eb *eb);
bool am_bundle_unregister(struct am_eb *eb);
bool am_endpoint_elsewhere(const struct am_eb *eb, const en_t *name, en_t *now);

/*
 * am_bundle.c, am_endpoint.c: free the object and all that belongs to it. A bundle must
 * have been unregistered.
 */
void am_bundle_free(struct am_eb *eb);
void am_endpoint_free(struct am_ep *ep);

/* am_wire.c: connection setup of a bundle, by either wiring. 0 or errno. */
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

#endif
