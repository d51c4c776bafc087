/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The way to the daemon, which is started when it is not there. */
#ifndef START_H
#define START_H

/* A new connection to the daemon (close-on-exec), or negative errno. */
int daemon_connect(void);
/* The same, but starts the daemon where none listens. The caller has its turn (patience.h). */
int daemon_connect_or_start(void);

#endif /* START_H */
