/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Waiting for events as read() waits. */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>

#include "session.h"

/*
 * Wait as a read() of this event descriptor would: 0 when it is readable or
 * hung up, or the daemon is gone; -EAGAIN at once where the program asked not
 * to wait; -EINTR when a signal's handler asks for that; -EBADF when another thread has
 * closed it. A cancellation point.
 * frames: what makes it readable may come by the links of this node.
 */
int wait_readable(int fd, struct session *session, bool frames);
/*
 * What a system call waits on was closed under it: nothing comes any more, but it
 * waits on. -EIO: the daemon is gone; -EINTR as above.
 */
int wait_for_end(struct session *session);
/* Take out all that makes it readable. */
void wait_drain(int fd);
/*
 * A pause while somebody holds a lock; -EAGAIN where that has been too long, -EINTR
 * as above: the holder may be stopped.
 */
int wait_for_lock(int fd, unsigned int *turns);

#endif /* WAIT_H */
