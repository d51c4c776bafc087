/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Connecting to the daemon, and starting it if none is running. */
#ifndef START_H
#define START_H

/* Returns a new connection to the daemon (close-on-exec), or a negative errno. */
int daemon_connect(void);
/*
 * The same, but starts the daemon if none listens. The caller holds the turn of session_get()
 * (answer_timeout.h).
 */
int daemon_connect_or_start(void);

#endif /* START_H */
