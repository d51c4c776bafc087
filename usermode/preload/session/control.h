/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests to the daemon over a pool of control connections. A connection carries one request and
 * its reply at a time; the pool has one connection per concurrent request. Requests may be made in
 * signal handlers, and left by a jump (longjmp()).
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <sys/uio.h>

#include "session/session.h"

/* A reply, possibly followed by data such as the record of an async event. */
struct reply {
	union {
		struct vnet_msg msg;
		struct vnet_msg_result result;
		struct vnet_msg_opened opened;
		struct vnet_msg_welcome welcome;
		u8 bytes[512];
	};
	/* Received bytes and descriptors. */
	u32 length;
	u32 nfds;
	int fd[4 * VNET_MAX_NICS];
	/* Descriptors were lost, because this process has reached its limit of descriptors. */
	bool truncated;
};

/*
 * Send one message on a socket and receive the reply. Returns 0 or a negative errno (-EIO: the
 * daemon is gone; -ETIMEDOUT: it does not answer).
 */
int control_exchange(int sock, const struct iovec *iov, int niov, struct reply *reply);
/* Make a request over one of the session's pooled connections. */
int control_request(struct session *session, const struct iovec *iov, int niov,
		    struct reply *reply);
/* The same, with these descriptors attached. -EBADF: one of them is not open. */
int control_request_with(struct session *session, const struct iovec *iov, int niov, const int *fd,
			 u32 nfds, struct reply *reply);
/*
 * Returns a new connection to this session's daemon (close-on-exec), or a negative errno. It
 * connects by the path of the daemon's socket, or through the session if that path is no longer
 * accessible.
 */
int control_connect(struct session *session);
/* Send HELLO on a new connection of this session (space 0: make a new session). */
int control_hello(int sock, struct session *session, struct reply *reply);
/* Put this connection into the pool. */
void control_keep(struct session *session, int sock);
/*
 * The calling thread is about to jump (longjmp()) out of the requests it waits for. The daemon will
 * not write an answer into the program's memory any more. If the thread returns to the request
 * after all, the request fails with -EIO.
 */
void control_give_up(void);
/* Called in a forked child: requests that were under way belong to the parent. */
void control_forked(void);
/* Close the descriptors of a reply. */
void control_drop_fds(struct reply *reply);

#endif /* CONTROL_H */
