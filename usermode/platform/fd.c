// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <sys/stat.h>

#include "fd.h"
#include "raw.h"

/* About one second, the time of a copy of many gigabytes. */
#define RETIRE_TURNS 5000000

void host_fd_init(struct host_fd *cached)
{
	cached->ref = 0;
	nic_store(&cached->fd, -1);
}

/* Clear the key unless a thread uses the descriptor. */
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
	nic_store(&cached->fd, -1);
	return true;
}

bool host_fd_retire(struct host_fd *cached)
{
	const u64 users = ~0u;
	/*
	 * From here on there are no new users, apart from threads that pin it for a moment, find
	 * another key, and unpin it.
	 */
	u64 key = __atomic_fetch_and(&cached->ref, users, __ATOMIC_RELAXED) & ~users;

	/* Acquire: pairs with the release in host_fd_unpin(). */
	for (u32 turns = 0; nic_load_acquire(&cached->ref) & users; turns++) {
		if (turns == RETIRE_TURNS) {
			(void)__atomic_fetch_add(&cached->ref, key, __ATOMIC_RELAXED);
			return false;
		}
		(void)raw_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	host_fd_close(cached);
	return true;
}

void host_fd_set(struct host_fd *cached, u32 key, int fd)
{
	struct stat st = { 0 };

	(void)raw_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);
	cached->dev = st.st_dev;
	cached->ino = st.st_ino;
	nic_store(&cached->fd, fd);
	/* Add, because threads that look for another key may have changed the count. */
	(void)__atomic_fetch_add(&cached->ref, (u64)key << HOST_FD_KEY_SHIFT, __ATOMIC_RELEASE);
}

void host_fd_close(struct host_fd *cached)
{
	struct stat st = { 0 };
	int fd = cached->fd;

	/* Forget it first: a child that is forked in between must not close the number again. */
	nic_store(&cached->fd, -1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fd >= 0 && !raw_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) &&
	    st.st_dev == cached->dev && st.st_ino == cached->ino)
		raw_close(fd);
}
