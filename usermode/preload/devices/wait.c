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
 * Wait for the event and for frames. The sleeping thread itself receives frames: this takes one
 * wake-up. If the daemon received them, it would be woken first, and then wake this thread. The
 * kernel never restarts poll() after a signal handler. So signals_restart() decides, which knows
 * only handlers that were installed through intercepted calls.
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

/*
 * A spin saves a sleep and its wake-up if the event is about to come. The limit of a spin is about
 * the time that those two take, so a spin in vain costs no more than a sleep. Where spins are in
 * vain (a slow peer, one processor for both), fewer and fewer waits begin with one: after n failures
 * in a row, every 2^n-th, up to MAX_SKIPPED + 1.
 */
#define SPIN_NS 10000
#define MAX_SKIPPED 63

struct spin {
	u32 skip; /* number of waits that begin without a spin */
	u32 failed; /* the same, after the next failure: 2^failures - 1 */
};

/* A thread that spins does not receive frames, which another thread would then have to. */
static bool may_spin(const struct session *session)
{
	for (u32 i = 0; i < session->nnics; i++)
		if (nic_is_wired(&session->nic[i]->nic))
			return false;
	return true;
}

static bool spin_finds(const struct nic *nic, u32 channel)
{
	u64 end = plat_clock() + SPIN_NS;

	do {
		if (nic_channel_has_event(nic, channel))
			return true;
		plat_relax();
	} while (plat_clock() < end);
	return false;
}

static bool comes_soon(const struct nic *nic, u32 channel)
{
	static __thread struct spin spin;

	if (spin.skip) {
		spin.skip--;
		return false;
	}
	if (spin_finds(nic, channel)) {
		spin.failed = 0;
		return true;
	}
	spin.failed = spin.failed < MAX_SKIPPED ? 2 * spin.failed + 1 : MAX_SKIPPED;
	spin.skip = spin.failed;
	return false;
}

/* Returns 0 or -EAGAIN. */
static int look(int fd, struct session *session)
{
	if (is_readable(fd))
		return 0;
	hand_back_links(session);
	return is_readable(fd) ? 0 : -EAGAIN;
}

/* The number may refer to another file by now. */
static int unless_closed(int fd, enum fd_kind kind, int ret)
{
	return ret || fdtable_hint(fd) == kind ? ret : -EBADF;
}

int wait_readable(int fd, struct session *session)
{
	enum fd_kind kind = fdtable_hint(fd);

	if (!session_alive(session))
		return 0;
	if (kind == FD_NONE)
		return -EBADF;
	return unless_closed(fd, kind, never_waits(fd) ? look(fd, session) : wait_on(fd));
}

int wait_event(int fd, struct session *session, struct nic *nic, u32 channel)
{
	enum fd_kind kind = fdtable_hint(fd);
	bool blocks;

	if (!session_alive(session))
		return 0;
	if (kind == FD_NONE)
		return -EBADF;
	blocks = !never_waits(fd);
	nic_channel_reader_blocks(nic, channel, blocks);
	if (!blocks)
		return unless_closed(fd, kind, look(fd, session));
	if (may_spin(session) && comes_soon(nic, channel))
		return 0;
	return unless_closed(fd, kind, wait_with_links(fd, session));
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
