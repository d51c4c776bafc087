/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cached descriptor that many threads use without a lock. It is never closed while a thread uses
 * it: otherwise its number could become another file's before the thread makes its system call.
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

/* Returns the descriptor if it belongs to this key (not 0), until host_fd_unpin(); otherwise -1. */
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

/* The caller of the functions below holds host.lock, except for host_fd_close(). */

/* Empty the slot and close its descriptor. Returns false if it is in use. */
bool host_fd_clear(struct host_fd *cached);
/* The same for a number that the program has taken over: nothing is closed. */
bool host_fd_abandon(struct host_fd *cached);
/*
 * Empty the slot even if it is in use, after waiting for the users, which takes about as long as a
 * system call. Returns false if it takes far too long.
 */
bool host_fd_retire(struct host_fd *cached);
/* Fill an empty slot. */
void host_fd_set(struct host_fd *cached, u32 key, int fd);
/* Close the descriptor, whatever the slot's state. The caller makes sure that no thread uses it. */
void host_fd_close(struct host_fd *cached);

#endif /* FD_H */
