/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access to other processes' address spaces.
 */
#ifndef SPACE_H
#define SPACE_H

#include "fd.h"

/* A space that is in use by this thread. */
struct space {
	/* The process' /proc/self/mem, which is bound to its address space, not to its PID. */
	int mem;
	/* For process_vm_*(); token 0: do not use them. */
	u32 pid;
	u64 token;
	/* The cache entry that mem belongs to; NULL: mem is not cached, and is to be closed. */
	struct host_space *cached;
	/* The program has closed mem without our notice. */
	bool stolen;
};

/* Fill in *space. Returns false if the process has ended, or cannot be reached now. */
bool space_open_slow(struct host *host, u32 id, struct space *space);

static inline bool space_open(struct host *host, u32 id, struct space *space)
{
	u32 slot = host_space_slot(id);
	struct host_space *cached;

	space->stolen = false;
	if (unlikely(slot >= host->nspaces))
		return false;
	cached = &host->space[slot];
	space->mem = host_fd_pin(&cached->mem, id);
	if (unlikely(space->mem < 0))
		return space_open_slow(host, id, space);
	space->pid = nic_load(&cached->pid);
	space->token = nic_load(&cached->token);
	space->cached = cached;
	return true;
}

void space_close_slow(struct space *space);

static inline void space_close(struct space *space)
{
	if (unlikely(!space->cached))
		space_close_slow(space);
	else
		host_fd_unpin(&space->cached->mem);
}

/* Is the process still a client of vnetd? */
bool space_is_alive(const struct host *host, u32 id);

/* The kernel refuses process_vm_*() for this space: do not try them again. */
void space_disable_vm(struct space *space);

/*
 * After space_close(): an access failed because the process has ended or the descriptor is stolen.
 * Drop the cached descriptor, unless the process still counts as alive.
 */
void space_forget(struct host *host, u32 id, bool stolen);

#endif /* SPACE_H */
