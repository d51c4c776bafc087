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

#include "nic.h"

struct link_memory;
struct link_batch;
struct link_inbox;

#define HOST_MAX_CLIENTS 1024
#define HOST_SPACE_SLOT_BITS 16
#define HOST_BOUNCE_SIZE 65536

static inline u32 host_space_slot(u32 space)
{
	return space & ((1u << HOST_SPACE_SLOT_BITS) - 1);
}

/*
 * A process, in the client table of NIC 0's memory (nic_header.off_client),
 * slot = owner id - 1. Slot 0 is vnetd. Written by vnetd, but for the token.
 */
struct host_client {
	/* Space id of the process that lives here; 0: none, or gone. */
	u32 space;
	u32 pid;
	/*
	 * Written by the client (host_init): address of its token page, which
	 * tells its address space from every other; 0: it has none. What is
	 * left of an earlier client is harmless: tokens are verified.
	 */
	u64 token;
	u32 rsvd[12];
};
static_assert(sizeof(struct host_client) == 64, "client");

/* A descriptor got once and kept while its space or channel lives: fd.c. */
struct host_fd {
	/*
	 * Space id or channel generation that it belongs to (0: none) << 32 |
	 * how many threads are using it just now.
	 */
	u64 ref;
	int fd;
};

/* What is known of another process' address space: space.c. */
struct host_space {
	/* Its memory descriptor. */
	struct host_fd mem;
	/* process_vm_*() reach it by this pid and token; 0: they do not. */
	u32 pid;
	u64 token;
};

struct host {
	/* --- filled by the caller before host_init(). */
	/* Which of the node's NICs. */
	u32 nic_index;
	/* eventfd that wakes vnetd. */
	int kick_fd;
	/* The client table (of NIC 0, whichever NIC this is). */
	struct host_client *client;
	/*
	 * How missing descriptors are got: vnetd has them, a client asks vnetd.
	 * A new descriptor, or -1. Called with `lock` held, and with locks of
	 * NIC memory.
	 */
	int (*get_space)(struct host *host, u32 space);
	int (*get_channel)(struct host *host, u32 channel, u32 generation);
	/*
	 * Has pages of a file brought that a piece of another process lacks. 0: they are
	 * there; -EAGAIN: not yet, the NIC processor is woken when they are; -EFAULT: they
	 * could not be, when that was tried at `since` or after. vnetd's; or NULL.
	 */
	int (*bring)(const struct host *host, const struct nic_piece *piece, u64 length, u64 since);
	/* Tells the user that a NIC is not spoken with, for want of a key; or NULL. */
	void (*refused)(struct host *host, const u8 *gid, u32 why);

	/* --- by host_init(). */
	struct nic *nic;
	/* process_vm_*() are allowed to this process at all. */
	bool process_vm;
	/* Held while the tables below are filled, never to use what is there. */
	pthread_mutex_t lock;
	/* By slot. */
	u32 nspaces;
	struct host_space space[HOST_MAX_CLIENTS];
	/* By channel index; nic->max_channel of them. */
	struct host_fd *channel;
	/* For copies between two other processes: HOST_BOUNCE_SIZE bytes. */
	u32 bounce_busy;
	u8 *bounce;

	/* The link: link.h. */
	struct host_link {
		/* -1: there is none. */
		int fd;
		dev_t dev;
		ino_t ino;
		struct link_memory *memory;
		u64 size;
		struct link_batch *batch;
		struct link_inbox *inbox;
		/* Who sleeps here sleeps on the socket, too. */
		bool waits;
		/* link_refusal.count when the user was told last. */
		u32 refusals_told;
	} link;
};

/*
 * Once for a NIC that was attached, with nic->self and nic->space set: tables,
 * locks, probing; sets nic->host. 0 or -errno.
 */
int host_init(struct host *host, struct nic *nic);
/*
 * Close every cached descriptor; the host may be initialised again. Also right
 * in a forked child, whatever other threads of the parent were doing: it takes
 * no lock. Descriptors filled in by the caller stay open.
 */
void host_fini(struct host *host);

/*
 * Somebody else (a program's dup2()) wants this number: if it is that of a cached
 * descriptor, close that and forget it. 0; -EBUSY: it is in use and stays so.
 */
int host_vacate(struct host *host, int fd);

/*
 * A space or channel is gone for good: close what is cached of it now, and not
 * when its slot is used again. For vnetd, which outlives them all.
 */
void host_drop_space(struct host *host, u32 space);
void host_drop_channel(struct host *host, u32 channel);

/* ------------------------------------------------------------- guarded copy */

/*
 * memcpy() where either side may be unmapped or protected: NIC_COPY_OK, or
 * which side faulted. The last bytes (up to eight) are stored last. Needs
 * host_guard_init() once in the process, and SIGSEGV and SIGBUS not blocked in
 * the calling thread (host_guard_filter_mask).
 */
enum nic_copy_result host_guarded_copy(void *dst, const void *src, size_t length);

/*
 * Install the SIGSEGV and SIGBUS handlers that guarded copies need, and unblock
 * the two in this thread. Again in a forked child. 0 or -errno.
 */
int host_guard_init(void);
/*
 * For a wrapper of sigaction(), with its return value and errno: SIGSEGV and
 * SIGBUS keep the guard in front, and the program's own disposition is
 * remembered, answered and obeyed for every fault that is not a guarded copy's.
 * Other signals are handed to the system as they are. Async-signal-safe.
 */
int host_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
/*
 * For wrappers of sigprocmask() and pthread_sigmask(): takes SIGSEGV and SIGBUS
 * out of a set that is about to be blocked. The system kills a thread that
 * faults with its signal blocked, whatever handler there is.
 */
void host_guard_filter_mask(sigset_t *set);
/*
 * Which of SIGSEGV and SIGBUS the calling thread blocks as far as its program knows, as
 * bits. In truth neither is ever blocked. A handler of the program's blocks what it was
 * installed with, until it returns, or leaves by a jump that restores a mask.
 */
#define HOST_GUARD_SEGV 1
#define HOST_GUARD_BUS 2
u8 host_guard_bits(const sigset_t *set);
u8 host_guard_blocked(void);
void host_guard_block(u8 bits);

#endif /* HOST_H */
