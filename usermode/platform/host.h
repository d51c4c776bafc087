/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user-mode host of the firmware: what plat_*() need to know, the same in
 * vnetd and in a client. nic.host points to one of these.
 */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../../firmware/nic.h"

#define HOST_MAX_CLIENTS 1024
#define HOST_SPACE_SLOT_BITS 16

static inline u32 host_space_slot(u32 space)
{
	return space & ((1u << HOST_SPACE_SLOT_BITS) - 1);
}

/*
 * A process, in the client table of NIC 0's memory (nic_header.off_client),
 * slot = owner id - 1. Slot 0 is vnetd. Written by vnetd alone.
 */
struct host_client {
	/* Space id of the process that lives here; 0: none, or gone. */
	u32 space;
	u32 pid;
	u32 rsvd[14];
};

/* A descriptor got once and kept while its space or channel lives. */
struct host_fd {
	/* Space id, or channel generation, that fd belongs to; 0: none. */
	u32 key;
	int fd;
};

struct host {
	struct nic *nic;
	/* Which of the node's NICs. */
	u32 nic_index;
	/* eventfd that wakes vnetd. */
	int kick_fd;
	/* process_vm_*() works on this machine (probed); else mem descriptors. */
	bool process_vm;
	/* The client table. */
	struct host_client *client;
	pthread_mutex_t lock;
	/* By slot; by channel index (allocated on first use). */
	struct host_fd space_fd[HOST_MAX_CLIENTS];
	struct host_fd *channel_fd;
	/*
	 * How missing descriptors are got: vnetd has them, a client asks vnetd.
	 * A new descriptor, or -1. Never called with a lock of the host held
	 * other than `lock`.
	 */
	int (*get_space)(struct host *host, u32 space);
	int (*get_channel)(struct host *host, u32 channel, u32 generation);
};

/* Once for a NIC that was attached: tables, locks, probing. 0 or -errno. */
int host_init(struct host *host, struct nic *nic);
/* Close every cached descriptor; the host may be initialised again. */
void host_fini(struct host *host);

/*
 * memcpy() where either side may be unmapped or protected: 0, or which side
 * faulted. Needs host_guard_init() once in the process.
 */
enum nic_copy_result host_guarded_copy(void *dst, const void *src, size_t length);

/* Install the SIGSEGV and SIGBUS handlers that guarded copies need. */
int host_guard_init(void);
/*
 * For a wrapper of sigaction(): like sigaction(), but SIGSEGV and SIGBUS keep
 * the guard in front, and the program's own disposition is remembered, answered
 * and obeyed for every fault that is not a guarded copy's.
 */
int host_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

#endif /* HOST_H */
