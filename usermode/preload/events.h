/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading events: the descriptor tells only that there is one, the events
 * themselves are in NIC memory (completion channels) or with the daemon
 * (asynchronous events).
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "fdtable.h"

/* read() of a completion channel, of an async event file: as the system call. */
long channel_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);
long async_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);

/*
 * A CQ of this device is gone, and with it its unread events: channels that
 * have none left are no longer readable.
 */
void channels_settle(const struct fd_entry *device);

#endif /* EVENTS_H */
