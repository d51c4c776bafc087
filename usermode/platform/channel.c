// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion channels: the thread that made an event wakes the waiter by itself,
 * through the agent's end of the channel's socket.
 */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "fd.h"
#include "raw.h"

static long send_byte(int fd)
{
	const u8 byte = 0;

	/* A full socket is readable, which is all that is wanted. */
	return raw_syscall(SYS_sendto, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL,
			   0, 0);
}

/*
 * An edge of what is readable already, as epoll(7) knows them: the system tells who waits for
 * a socket that its peer has shut down, and again each time. Nothing is queued for that, so
 * there is no end to the events that nobody reads; and nothing comes from there anyway.
 */
static long make_edge(int fd)
{
	return raw_syscall(SYS_shutdown, fd, SHUT_RD, 0, 0, 0, 0);
}

static long wake(int fd, bool first)
{
	return first ? send_byte(fd) : make_edge(fd);
}

/* Sockets of channels that are gone: whoever ended them, nobody tells us. */
static void drop_ended(struct host *host)
{
	const struct nic *nic = host->nic;

	for (u32 i = 0; i < nic->max_channel; i++) {
		u32 generation = host_fd_key(&host->channel[i]);

		if (generation && generation != nic_load(&nic->channel[i].generation))
			(void)host_fd_clear(&host->channel[i]);
	}
}

/* The first event for this channel from this process. */
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

/* Nobody holds the other end: let go of this one, unless it is in use. */
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
		/* The agent can send the byte, if we cannot get hold of the socket. */
		if (!ready_slow(host, channel, generation, first))
			plat_kick(nic);
		return;
	}
	ret = wake(fd, first);
	host_fd_unpin(&host->channel[channel]);
	if (unlikely(ret == -EPIPE || ret == -ECONNRESET))
		forget(host, channel, generation, false);
	else if (unlikely(ret == -EBADF || ret == -ENOTSOCK))
		forget(host, channel, generation, true);
}

void host_drop_channel(struct host *host, u32 channel)
{
	pthread_mutex_lock(&host->lock);
	if (channel < host->nic->max_channel)
		(void)host_fd_clear(&host->channel[channel]);
	pthread_mutex_unlock(&host->lock);
}
