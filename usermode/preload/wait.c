// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "wait.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "signals.h"

/* How long a program that does not wait is kept by a lock: turns. */
#define LOCK_TURNS 100
#define LOCK_YIELDS 20
#define LOCK_PAUSE_NS 20000
#define DRAIN_AT_ONCE 4

static bool never_waits(int fd)
{
	long flags = sys(SYS_fcntl, fd, F_GETFL, 0);

	return flags < 0 || (flags & O_NONBLOCK);
}

/* What poll() would say just now, without a cancellation point. */
static bool is_readable(int fd)
{
	char byte;

	return sys(SYS_recvfrom, fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) != -EAGAIN;
}

int wait_readable(int fd, struct session *session)
{
	struct pollfd pfd[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = session->watch_fd },
	};

	if (!session_alive(session))
		return 0;
	if (never_waits(fd))
		return is_readable(fd) ? 0 : -EAGAIN;
	for (u32 i = 0; i < session->nnics; i++)
		if (nic_is_wired(&session->nic[i]->nic))
			link_hand_back(&session->nic[i]->nic);
	/* Nothing is held: the thread may be cancelled here, as in read(). */
	while (poll(pfd, 2, -1) < 0) {
		if (errno != EINTR)
			return -errno;
		/* The system restarts read() behind most handlers, poll() never. */
		if (!signals_restart())
			return -EINTR;
	}
	return 0;
}

/* Mostly there is one byte; to learn that there are no more costs no call. */
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
	/* After a hang-up there are empty messages without end. */
	while (sys(SYS_recvmmsg, fd, messages, DRAIN_AT_ONCE, MSG_DONTWAIT, NULL) ==
		       DRAIN_AT_ONCE &&
	       messages[DRAIN_AT_ONCE - 1].msg_len)
		;
}

int wait_for_lock(int fd, unsigned int *turns)
{
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	/* Its holder is at work, most likely. */
	if (++*turns < LOCK_YIELDS) {
		(void)sys(SYS_sched_yield);
		return 0;
	}
	if (*turns > LOCK_TURNS && never_waits(fd))
		return -EAGAIN;
	(void)sys(SYS_nanosleep, &pause, NULL);
	return 0;
}
