/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cached descriptor, used by many threads without a lock and yet never closed
 * under one of them: a number that somebody is about to use must not become
 * another file's.
 */
#ifndef FD_H
#define FD_H

#include "host.h"

#define HOST_FD_KEY_SHIFT 32

static inline void host_fd_unpin(struct host_fd *cached)
{
	/* Release: pairs with the acquire in host_fd_clear(). */
	(void)__atomic_fetch_sub(&cached->ref, 1, __ATOMIC_RELEASE);
}

/* The descriptor of this key (not 0), until host_fd_unpin(); or -1. */
static inline int host_fd_pin(struct host_fd *cached, u32 key)
{
	/* Acquire: pairs with the release in host_fd_set(). */
	u64 ref = __atomic_fetch_add(&cached->ref, 1, __ATOMIC_ACQUIRE);

	if (likely((u32)(ref >> HOST_FD_KEY_SHIFT) == key))
		return nic_load(&cached->fd);
	host_fd_unpin(cached);
	return -1;
}

static inline u32 host_fd_key(const struct host_fd *cached)
{
	return (u32)(nic_load_acquire(&cached->ref) >> HOST_FD_KEY_SHIFT);
}

void host_fd_init(struct host_fd *cached);

/* The rest with host.lock held, but for host_fd_close(). */

/* Empty the slot, closing what it held; false: it is in use just now. */
bool host_fd_clear(struct host_fd *cached);
/* The same where the number is the program's by now: nothing is closed. */
bool host_fd_abandon(struct host_fd *cached);
/*
 * Empty the slot even if it is in use, waiting till that ends (which takes a
 * system call's time): false if that takes far too long.
 */
bool host_fd_retire(struct host_fd *cached);
/* Fill a cleared slot. */
void host_fd_set(struct host_fd *cached, u32 key, int fd);
/* Nobody else uses it any more: close, whatever state it is in. */
void host_fd_close(struct host_fd *cached);

#endif /* FD_H */
