// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fd.h"
#include "raw.h"

void host_fd_init(struct host_fd *cached)
{
	cached->ref = 0;
	cached->fd = -1;
}

/* Take the key away unless somebody uses the descriptor. */
static bool take_key(struct host_fd *cached)
{
	u64 ref = nic_load(&cached->ref);

	if (ref >> HOST_FD_KEY_SHIFT == 0)
		return true;
	if ((u32)ref != 0)
		return false;
	return __atomic_compare_exchange_n(&cached->ref, &ref, 0, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

bool host_fd_clear(struct host_fd *cached)
{
	if (!take_key(cached))
		return false;
	host_fd_close(cached);
	return true;
}

bool host_fd_abandon(struct host_fd *cached)
{
	if (!take_key(cached))
		return false;
	cached->fd = -1;
	return true;
}

void host_fd_set(struct host_fd *cached, u32 key, int fd)
{
	cached->fd = fd;
	/* Threads that look for another key come and go: keep their count. */
	(void)__atomic_fetch_add(&cached->ref, (u64)key << HOST_FD_KEY_SHIFT, __ATOMIC_RELEASE);
}

void host_fd_close(struct host_fd *cached)
{
	int fd = cached->fd;

	/* Forgotten first: a child forked in between must not close it again. */
	nic_store(&cached->fd, -1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fd >= 0)
		raw_close(fd);
}
