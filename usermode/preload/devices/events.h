/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading events of completion channels and async files. The descriptor only shows that there is an
 * event. Completion events are in NIC memory, asynchronous events in the daemon.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "session/fdtable.h"

/*
 * read() of a completion channel, and of an async event file. Results as for the system call,
 * errors as negative errno.
 */
long channel_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);
/* Somebody waits for edges of this channel's descriptor: epoll(7), EPOLLET. */
void channel_needs_edges(int fd);
/* Somebody wants a signal for each event of this channel: fcntl(2), O_ASYNC; FIOASYNC. */
void channel_needs_signals(int fd);
long async_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);

/*
 * A CQ of this device was destroyed together with its unread events: channels without any other
 * event must not remain readable.
 */
void channels_clear_stale(const struct fd_entry *device);

#endif /* EVENTS_H */
