/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages: requests and their answers, polling, and the handlers.
 *
 * This room calls connections, and the mapping of a bundle by its table of functions.
 *
 * Requests and AM_Poll() take the bundle's lock, which is recursive, and handlers run with the lock
 * held. The other functions are called with it held, and only am_yield() releases it for a moment.
 * am_let_others() and am_cpus_shared() need no lock.
 */
#ifndef AM_MESSAGES_H
#define AM_MESSAGES_H

#include "objects/am_core.h"

/* --------------------------------------------------------------- am_poll.c */

/* Queues the message that has arrived in @buffer, or at @message within it. */
void am_arrival(struct am_conn *conn, struct am_buffer *buffer, uint32_t length);
void am_arrival_at(struct am_conn *conn, struct am_buffer *buffer, struct am_message *message,
		   uint32_t length);
/* Polls and fills the queues. Runs no handler. Returns the number of completions. */
int am_drain(struct am_eb *eb);
int am_progress(struct am_eb *eb); /* AM_Poll() with the lock held */
void am_yield(struct am_eb *eb); /* for wait loops: may release the lock and call sched_yield() */
void am_let_others(const struct am_eb *eb); /* the same without releasing the lock */
void am_cpus_shared(bool shared); /* whether processes of the job share CPUs; initially true */

/* -------------------------------------------------------- am_conns_drain.c */

/* Wait until the peers have acknowledged all that was sent, at most connect-timeout. */
void am_conns_drain(struct am_ep *ep);
void am_bundle_drain(struct am_eb *eb);

/* ----------------------------------------------------------- am_dispatch.c */

void am_run_message(struct am_buffer *buffer);
void am_run_error(struct am_eb *eb, struct am_returned *returned);
/* Sets the function that runs for a peer's am_system_request() with that @handler. */
typedef void (*am_system_fn_t)(struct am_ep *ep, const struct am_message *message,
			       const void *data);
void am_system_handler(handler_t handler, am_system_fn_t function);

/* -------------------------------------------------------------- am_reply.c */

void am_acknowledge(struct am_conn *conn, unsigned int slot);
void am_flush_acks(struct am_conn *conn);
void am_refuse(struct am_conn *conn, unsigned int slot, int status);

/* ------------------------------------------------------------ am_request.c */

/* A request of the library itself. Takes the bundle's lock. */
int am_system_request(struct am_ep *ep, int index, handler_t handler, int nargs,
		      const int32_t *args, const void *data, size_t nbytes);

#endif
