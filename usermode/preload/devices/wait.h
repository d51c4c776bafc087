/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Waits for events with the semantics of read(). */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>

#include "session/session.h"

/*
 * Wait like a read() of this event descriptor. Returns 0 when it is readable or hung up, or the
 * daemon is gone; -EAGAIN at once if the descriptor is non-blocking; -EINTR if a signal handler
 * without SA_RESTART ran; -EBADF if another thread has closed it. A cancellation point.
 */
int wait_readable(int fd, struct session *session);
/*
 * The same for the descriptor of a completion channel, number `channel` of `nic`. The event may come
 * from a frame of another node, so the thread also serves the links' sockets. Before it sleeps, it
 * spins for an event, up to 10 us.
 */
int wait_event(int fd, struct session *session, struct nic *nic, u32 channel);
/*
 * Another thread has closed the descriptor under a waiting call. No event comes any more, and as in
 * the kernel the call goes on waiting. Returns -EIO when the daemon is gone, -EINTR as above.
 */
int wait_for_end(struct session *session);
/* Read all bytes that make the descriptor readable. */
void wait_drain(int fd);
/*
 * Pause while a lock is held elsewhere; *turns counts the pauses. Returns 0, -EINTR as above, or
 * -EAGAIN if the descriptor is non-blocking and the pauses are too many (the lock's holder may be
 * stopped).
 */
int wait_for_lock(int fd, unsigned int *turns);

#endif /* WAIT_H */
