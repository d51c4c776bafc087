/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests to the daemon: one request and its reply at a time on a connection,
 * as many connections as threads ask at once. Safe in signal handlers.
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
 * daemon is gone; -ETIMEDOUT: it does not answer). Nothing is attached where attach is -1.
 */
int control_exchange(int sock, const struct iovec *iov, int niov, int attach, struct reply *reply);
/* A request of this session. */
int control_request(struct session *session, const struct iovec *iov, int niov,
		    struct reply *reply);
/* Say hello on a new connection for this session (space 0: a new one). */
int control_hello(int sock, struct session *session, struct reply *reply);
/* Keep this connection for later requests. */
void control_keep(struct session *session, int sock);
/* Close what a reply brought. */
void control_drop_fds(struct reply *reply);

#endif /* CONTROL_H */
