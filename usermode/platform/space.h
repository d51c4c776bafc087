/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Other processes' address spaces, as this process reaches them.
 */
#ifndef SPACE_H
#define SPACE_H

#include "fd.h"

/* A space in use. */
struct space {
	/* The process' /proc/self/mem: bound to its address space, not to its pid. */
	int mem;
	/* For process_vm_*(); token 0: not to be used. */
	u32 pid;
	u64 token;
	/* Where mem is cached, or NULL: it is to be closed. */
	struct host_space *cached;
	/* The program closed mem behind our back. */
	bool stolen;
};

/* Fills in *space; false: its process is gone, or cannot be reached just now. */
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

/* Is its process still vnetd's client? */
bool space_is_alive(const struct host *host, u32 id);

/* process_vm_*() turned out to be refused for this space. */
void space_distrust(struct space *space);

/*
 * After space_close(): what is cached was of no use, because the process is gone
 * or the descriptor stolen. Drop it, so that neither it nor a mistake stays.
 */
void space_forget(struct host *host, u32 id, bool stolen);

#endif /* SPACE_H */
