/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of bundles and endpoints share with that of the process. */
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

/* am_bundle.c, am_endpoint.c: with whatever belongs to them; unregistered before. */
void am_bundle_free(struct am_eb *eb);
void am_endpoint_free(struct am_ep *ep);

/* am_wire.c: what the bundle connects by. 0 or errno. */
int am_wire_open(struct am_eb *eb);
void am_wire_close(struct am_eb *eb);
void am_wire_address(const struct am_eb *eb, en_t *name);
/* Begins to connect: conn is in state AM_CONNECTING. */
void am_wire_connect(struct am_conn *conn);
/* Takes what has come, asks again where it is time to, and gives up where it is too late. */
void am_wire_look(struct am_eb *eb);
/* Readable when something has come that is no completion; -1: there is no such thing. */
int am_wire_fd(const struct am_eb *eb);
void am_wire_heard(struct am_conn *conn);
/* Whether the connection has to be drained for it. */
bool am_wire_goodbye(struct am_conn *conn);
void am_wire_forget(struct am_conn *conn);
void am_wire_broken(struct am_conn *conn);

/* wiring_hand.c: something came there: a completion with AM_WR_WIRE in its wr_id. */
void am_wire_completion(struct am_eb *eb, const struct ibv_wc *wc);

#endif
