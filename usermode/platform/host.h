/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user-mode host of the firmware: the state that plat_*() need. It is the same in vnetd and in
 * a client. nic.host points to one of these.
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
 * A client process, in the client table of NIC 0's memory (nic_header.off_client); its slot is its
 * owner id - 1. Slot 0 is vnetd. Written by vnetd, except for the token.
 */
struct host_client {
	/* Space id of the process in this slot; 0: none, or it has ended. */
	u32 space;
	u32 pid;
	/*
	 * Written by the client (host_init): address of its token page, which distinguishes its
	 * address space from every other; 0: none. The value of an earlier client in this slot does
	 * no harm, because tokens are verified.
	 */
	u64 token;
	u32 rsvd0[12];
	/*
	 * Written by the client, atomic: bytes that it has copied to and from memory of other
	 * processes, by windows (window.h) and by system calls.
	 */
	u64 bytes_mapped;
	u64 bytes_called;
	u64 rsvd1[6];
};
static_assert(sizeof(struct host_client) == NIC_CLIENT_SIZE, "client");

/* A descriptor that is cached while its space or channel exists (fd.c). */
struct host_fd {
	/*
	 * Bits 63..32: space id or channel generation it belongs to (0: none). Bits 31..0: number
	 * of threads that are using it.
	 */
	u64 ref;
	int fd;
	/* Identity of the descriptor's file: the program may have replaced it without our notice. */
	dev_t dev;
	ino_t ino;
};

/* What this process knows of another process' address space (space.c). */
struct host_space {
	/* Descriptor of the process' /proc/self/mem. */
	struct host_fd mem;
	/* PID and token for process_vm_*(); token 0: these are not usable. */
	u32 pid;
	u64 token;
	/* Space id whose memory file was refused, and the time until which it is not asked for. */
	u32 no_window;
	u64 no_window_until;
};

/* A window to another process' memory file (window.c). */
struct host_window {
	/* Key (0: empty entry), and below it the number of threads that use the window. */
	u64 ref;
	u8 *base;
};

struct host {
	/* --- Filled in by the caller before host_init(). */
	/* Index of this NIC in the node. */
	u32 nic_index;
	/* The eventfd that wakes vnetd. */
	int kick_fd;
	/* The client table, which is in NIC 0's memory for all NICs. */
	struct host_client *client;
	/*
	 * Obtain a missing descriptor: vnetd has them, a client requests them from vnetd. Return a
	 * new descriptor, or -1. Called with `lock` held, and possibly with locks of NIC memory.
	 */
	int (*get_space)(struct host *host, u32 space);
	int (*get_channel)(struct host *host, u32 channel, u32 generation);
	/* The space's memory file (window.h), which the caller closes. */
	int (*get_memory)(struct host *host, u32 space);
	/*
	 * Bring absent pages of a file into memory for a piece of another process. Returns 0 if
	 * they are present; -EAGAIN if not yet, then the NIC processor is woken when they are;
	 * -EFAULT if they could not be brought when that was tried at `since` or later. Only in
	 * vnetd; otherwise NULL.
	 */
	int (*bring)(const struct host *host, const struct nic_piece *piece, u64 length, u64 since);
	/*
	 * Tell the user that this NIC cannot communicate with the NIC with this GID, and why (enum
	 * link_refusal_reason); or NULL.
	 */
	void (*refused)(struct host *host, const u8 *gid, u32 why);

	/* --- Filled in by host_init(). */
	struct nic *nic;
	/* The kernel permits this process to use process_vm_*() at all. */
	bool process_vm;
	/* Held while the tables below are changed; not needed for use of an entry. */
	pthread_mutex_t lock;
	/* Indexed by slot. */
	u32 nspaces;
	struct host_space space[HOST_MAX_CLIENTS];
	/* HOST_WINDOWS entries, and the next one to give up when the table is full. */
	struct host_window *window;
	u32 window_hand;
	/* Indexed by channel; nic->max_channel entries. */
	struct host_fd *channel;
	/* Buffer for copies between two other processes: HOST_BOUNCE_SIZE bytes. */
	u32 bounce_busy;
	u8 *bounce;

	/* The link (link.h). */
	struct host_link {
		/* The UDP socket; -1: there is no link. */
		int fd;
		dev_t dev;
		ino_t ino;
		struct link_memory *memory;
		u64 size;
		struct link_batch *batch;
		struct link_inbox *inbox;
		/* Threads that wait for events in this process also wait for the socket. */
		bool waits;
		/*
		 * Values of link_refusal.count: up to which a thread has begun to tell the user,
		 * and up to which the user has been told.
		 */
		u32 refusals_told;
		u32 refusals_said;
	} link;
};

/* Other threads of this process cannot be in the firmware, nor use the tables of the host. */
static inline bool host_has_one_thread(const struct host *host)
{
	return nic_load(host->nic->one_thread);
}

/*
 * Initialise the host of an attached NIC whose nic->self and nic->space are set. Sets nic->host.
 * Returns 0 or -errno.
 */
int host_init(struct host *host, struct nic *nic);
/*
 * Close all cached descriptors; the host may then be initialised again. Takes no lock, so it also
 * works in a forked child, whatever the parent's other threads were doing. Descriptors that the
 * caller had filled in stay open.
 */
void host_fini(struct host *host);

/*
 * The program needs descriptor number `fd` (dup2()): if it is a cached descriptor, close and forget
 * it. Returns 0, or -EBUSY if it remains in use.
 */
int host_vacate(struct host *host, int fd);

/* vnetd is dead: close all cached descriptors that are not in use. For any thread. */
void host_drop_all(struct host *host);

/*
 * A space or channel has ended: close its cached descriptors now, not only when its slot is used
 * again. For vnetd, which outlives all of them.
 */
void host_drop_space(struct host *host, u32 space);
void host_drop_channel(struct host *host, u32 channel);

/* ------------------------------------------------------------- guarded copy */

/*
 * memcpy() where either side may be unmapped or protected. Returns NIC_COPY_OK, or the side that
 * faulted. The tail (up to eight bytes) is stored last. The process must have called
 * host_guard_init(), and the calling thread must not block SIGSEGV and SIGBUS
 * (host_guard_filter_mask()).
 */
enum nic_copy_result host_guarded_copy(void *dst, const void *src, size_t length);

/*
 * Install the SIGSEGV and SIGBUS handlers for guarded copies, and unblock the two signals in this
 * thread. To be called again in a forked child. Returns 0 or -errno.
 */
int host_guard_init(void);
/*
 * For a wrapper of sigaction(); return value and errno are those of sigaction(). For SIGSEGV and
 * SIGBUS, the guard's handler stays installed. The program's own disposition is stored, reported by
 * later calls, and applied to all faults outside guarded copies. Other signals are passed to the
 * kernel unchanged. Async-signal-safe.
 */
int host_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
/*
 * For wrappers of sigprocmask() and pthread_sigmask(): remove SIGSEGV and SIGBUS from a set that is
 * about to be blocked. The kernel kills a thread that faults while the signal is blocked, whatever
 * handler is installed.
 */
void host_guard_filter_mask(sigset_t *set);
/*
 * Which of SIGSEGV and SIGBUS the calling thread blocks from its program's point of view, as bits.
 * In fact neither is ever blocked. While a handler of the program runs, the signals of its sa_mask
 * count as blocked, until it returns, or leaves by a jump that restores a mask.
 */
#define HOST_GUARD_SEGV 1
#define HOST_GUARD_BUS 2
u8 host_guard_bits(const sigset_t *set);
u8 host_guard_blocked(void);
void host_guard_block(u8 bits);

#endif /* HOST_H */
