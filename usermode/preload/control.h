/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests to the daemon: one request and its reply at a time on a connection,
 * as many connections as threads ask at once. Safe in signal handlers, and left by jumps.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <sys/uio.h>

#include "session.h"

/* A reply, and what may come with it: an async event's record. */
struct reply {
	union {
		struct vnet_msg msg;
		struct vnet_msg_result result;
		struct vnet_msg_opened opened;
		struct vnet_msg_welcome welcome;
		u8 bytes[512];
	};
	/* Bytes that came; descriptors that came. */
	u32 length;
	u32 nfds;
	int fd[4 * VNET_MAX_NICS];
	/* There were more descriptors than this process may have. */
	bool truncated;
};

/*
 * One message to a socket, and the reply to it: 0 or negative errno (-EIO: the
 * daemon is gone; -ETIMEDOUT: it does not answer).
 */
int control_exchange(int sock, const struct iovec *iov, int niov, struct reply *reply);
/* A request of this session. */
int control_request(struct session *session, const struct iovec *iov, int niov,
		    struct reply *reply);
/* The same, with these descriptors attached; -EBADF: one of them is none. */
int control_request_with(struct session *session, const struct iovec *iov, int niov, const int *fd,
			 u32 nfds, struct reply *reply);
/*
 * A new connection to this session's daemon (close-on-exec): by the name of its socket, or
 * where that does not lead there any more, by the session itself. Negative errno.
 */
int control_connect(struct session *session);
/* Say hello on a new connection for this session (space 0: a new one). */
int control_hello(int sock, struct session *session, struct reply *reply);
/* Keep this connection for later requests. */
void control_keep(struct session *session, int sock);
/*
 * This thread leaves by a jump what it waits for, if it waits: the daemon writes no answer
 * into the program's memory any more, and a call that is not left after all fails with -EIO.
 */
void control_give_up(void);
/* In a forked child, whose parent waits still. */
void control_forked(void);
/* Close what a reply brought. */
void control_drop_fds(struct reply *reply);

#endif /* CONTROL_H */
