// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion channels: the thread that makes an event wakes the waiter directly. It writes to the
 * agent's end of the channel's socket.
 */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "fd.h"
#include "raw.h"

static long send_byte(int fd)
{
	const u8 byte = 0;

	return raw_syscall(SYS_sendto, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL,
			   0, 0);
}

/*
 * Make a new edge (epoll(7), EPOLLET) on a channel that is readable already. shutdown(SHUT_RD) of
 * our end makes the kernel notify waiters at the other end, again with each call. Unlike further
 * bytes, it queues nothing, so events that the program does not read take no space. It raises no
 * signal. Our end never receives anything.
 */
static long make_edge(int fd)
{
	return raw_syscall(SYS_shutdown, fd, SHUT_RD, 0, 0, 0, 0);
}

static long wake(int fd, bool first)
{
	long ret = first ? send_byte(fd) : -EAGAIN;

	/* A full socket is readable already. */
	return ret == -EAGAIN ? make_edge(fd) : ret;
}

/*
 * Close cached sockets of channels that were destroyed: this process gets no notification of that.
 */
static void drop_ended(struct host *host)
{
	const struct nic *nic = host->nic;

	for (u32 i = 0; i < nic->max_channel; i++) {
		u32 generation = host_fd_key(&host->channel[i]);

		if (generation && generation != nic_load(&nic->channel[i].generation))
			(void)host_fd_clear(&host->channel[i]);
	}
}

/* The channel's socket is not cached: get it, wake the waiter, and cache it. */
static bool ready_slow(struct host *host, u32 channel, u32 generation, bool first)
{
	struct host_fd *cached = &host->channel[channel];
	int fd;

	pthread_mutex_lock(&host->lock);
	drop_ended(host);
	fd = host->get_channel(host, channel, generation);
	if (fd >= 0) {
		(void)wake(fd, first);
		if (host_fd_clear(cached))
			host_fd_set(cached, generation, fd);
		else
			raw_close(fd);
	}
	pthread_mutex_unlock(&host->lock);
	return fd >= 0;
}

/* The other end is closed, or our descriptor is not ours any more: drop it, unless it is in use. */
static void forget(struct host *host, u32 channel, u32 generation, bool stolen)
{
	struct host_fd *cached = &host->channel[channel];

	if (pthread_mutex_trylock(&host->lock))
		return;
	if (host_fd_key(cached) == generation)
		(void)(stolen ? host_fd_abandon(cached) : host_fd_clear(cached));
	pthread_mutex_unlock(&host->lock);
}

void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
	struct host *host = nic->host;
	u32 generation;
	long ret;
	int fd;

	if (channel >= nic->max_channel)
		return;
	generation = nic_load(&nic->channel[channel].generation);
	if (!generation)
		return;
	fd = host_fd_pin(&host->channel[channel], generation);
	if (unlikely(fd < 0)) {
		if (!ready_slow(host, channel, generation, first))
			nic_channel_later(nic, channel);
		return;
	}
	ret = wake(fd, first);
	host_fd_unpin(&host->channel[channel]);
	if (unlikely(ret == -EPIPE || ret == -ECONNRESET))
		forget(host, channel, generation, false);
	/* The waiter was not woken. */
	if (unlikely(ret == -EBADF || ret == -ENOTSOCK)) {
		forget(host, channel, generation, true);
		nic_channel_later(nic, channel);
	}
}

void host_drop_channel(struct host *host, u32 channel)
{
	pthread_mutex_lock(&host->lock);
	if (channel < host->nic->max_channel)
		(void)host_fd_clear(&host->channel[channel]);
	pthread_mutex_unlock(&host->lock);
}
