// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "devices/wait.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/signals.h"
#include "session/fdtable.h"

/* Limit of pauses that wait_for_lock() imposes on a non-blocking descriptor. */
#define LOCK_TURNS 100
#define LOCK_YIELDS 20
#define LOCK_PAUSE_NS 20000
#define DRAIN_AT_ONCE 4

static bool never_waits(int fd)
{
	long flags = sys(SYS_fcntl, fd, F_GETFL, 0);

	return flags < 0 || (flags & O_NONBLOCK);
}

/* Like poll() with a timeout of 0, but no cancellation point. */
static bool is_readable(int fd)
{
	char byte;

	return sys(SYS_recvfrom, fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) != -EAGAIN;
}

/*
 * Add the sockets of wired NICs to the poll set. nic[] has the NIC of each. Marks the links as
 * waited for.
 */
static nfds_t add_links(struct session *session, struct pollfd *pfd, struct nic **nic)
{
	nfds_t n = 0;

	for (u32 i = 0; i < session->nnics; i++) {
		struct client_nic *cn = session->nic[i];
		int fd = nic_load(&cn->host.link.fd);

		if (fd < 0 || !nic_is_wired(&cn->nic))
			continue;
		nic_store(&cn->host.link.waits, true);
		pfd[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
		nic[n++] = &cn->nic;
	}
	return n;
}

/* A non-blocking program does not wait here, so the daemon must watch the links again. */
static void hand_back_links(struct session *session)
{
	for (u32 i = 0; i < session->nnics; i++) {
		struct client_nic *cn = session->nic[i];

		if (!nic_is_wired(&cn->nic))
			continue;
		nic_store(&cn->host.link.waits, false);
		link_hand_back(&cn->nic);
	}
}

/*
 * Wait in recv(), which the kernel restarts after a signal handler, or ends with EINTR, as the
 * handler's SA_RESTART says, however it was installed. No lock is held: the thread may be cancelled
 * here, as in read(). When the daemon dies, the other end of the socket is closed, if necessary by
 * the guardian.
 */
static int wait_on(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno != EAGAIN ? -errno : 0;
}

/*
 * Wait for the event and for frames. The sleeping thread itself receives frames: this takes half of
 * the time in which the daemon would receive them and wake this thread. The kernel never restarts
 * poll() after a signal handler. So signals_restart() decides, which knows only handlers that were
 * installed through intercepted calls.
 */
static int wait_with_links(int fd, struct session *session)
{
	struct nic *nic[VNET_MAX_NICS];
	struct pollfd pfd[2 + VNET_MAX_NICS] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = session->door_fd },
	};
	nfds_t i, links = add_links(session, pfd + 2, nic);

	if (!links)
		return wait_on(fd);
	for (;;) {
		/* No lock is held here: a cancellation point. */
		if (poll(pfd, 2 + links, -1) < 0) {
			if (errno != EINTR)
				return -errno;
			/* Unlike read(), poll() is never restarted. */
			if (!signals_restart())
				return -EINTR;
			continue;
		}
		if (pfd[0].revents || pfd[1].revents)
			return 0;
		for (i = 0; i < links; i++)
			if (pfd[2 + i].revents & POLLNVAL)
				pfd[2 + i].fd = -1;
			else if (pfd[2 + i].revents)
				link_woken(nic[i]);
	}
}

static int wait_open(int fd, struct session *session, bool frames)
{
	if (!never_waits(fd))
		return frames ? wait_with_links(fd, session) : wait_on(fd);
	if (is_readable(fd))
		return 0;
	hand_back_links(session);
	return is_readable(fd) ? 0 : -EAGAIN;
}

int wait_readable(int fd, struct session *session, bool frames)
{
	enum fd_kind kind = fdtable_hint(fd);
	int ret;

	if (!session_alive(session))
		return 0;
	ret = kind == FD_NONE ? -EBADF : wait_open(fd, session, frames);
	/* The number may refer to another file by now. */
	return ret || fdtable_hint(fd) == kind ? ret : -EBADF;
}

int wait_for_end(struct session *session)
{
	struct pollfd pfd = { .fd = session->door_fd };

	while (session_alive(session) && poll(&pfd, 1, -1) < 0) {
		if (errno != EINTR)
			return -errno;
		if (!signals_restart())
			return -EINTR;
	}
	return -EIO;
}

/* Usually there is one byte. recvmmsg() shows without a further call that there are no more. */
void wait_drain(int fd)
{
	struct mmsghdr messages[DRAIN_AT_ONCE] = { 0 };
	char bytes[DRAIN_AT_ONCE];
	struct iovec iov[DRAIN_AT_ONCE];
	int i;

	for (i = 0; i < DRAIN_AT_ONCE; i++) {
		iov[i] = (struct iovec){ .iov_base = &bytes[i], .iov_len = 1 };
		messages[i].msg_hdr.msg_iov = &iov[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	/* After a hang-up, empty messages come without end. */
	while (sys(SYS_recvmmsg, fd, messages, DRAIN_AT_ONCE, MSG_DONTWAIT, NULL) ==
		       DRAIN_AT_ONCE &&
	       messages[DRAIN_AT_ONCE - 1].msg_len)
		;
}

int wait_for_lock(int fd, unsigned int *turns)
{
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	/* The holder is probably running: yield first. */
	if (++*turns < LOCK_YIELDS) {
		(void)sys(SYS_sched_yield);
		return 0;
	}
	if (*turns > LOCK_TURNS && never_waits(fd))
		return -EAGAIN;
	if (sys(SYS_nanosleep, &pause, NULL) == -EINTR && !signals_restart())
		return -EINTR;
	return 0;
}
