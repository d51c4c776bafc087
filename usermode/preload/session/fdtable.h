/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Table of the program's descriptors that belong to the device, by number.
 *
 * Numbers may be reused without our notice (close() in a library that is not intercepted, raw
 * system calls). So an entry counts only while its number still refers to the same file as when it
 * was entered.
 *
 * The table also has the library's own descriptors. They have high numbers, and the program can
 * neither close nor replace them.
 */
#ifndef FDTABLE_H
#define FDTABLE_H

#include "session/session.h"

#define FDTABLE_SIZE (1 << 20)

enum fd_kind {
	FD_NONE = 0,
	FD_UVERBS = VNET_FILE_UVERBS,
	FD_CHANNEL = VNET_FILE_CHANNEL,
	FD_ASYNC = VNET_FILE_ASYNC,
	FD_NETLINK = VNET_FILE_NETLINK,
	FD_RDMA_CM = VNET_FILE_RDMA_CM,
	FD_UMAD = VNET_FILE_UMAD,
	/* One of the library's own descriptors. */
	FD_KEPT,
};

struct fd_entry {
	enum fd_kind kind;
	struct identity id;
	struct session *session;
	u32 file_id;
	/* UVERBS, RDMA_CM, UMAD: device number. */
	u32 minor;
	/*
	 * CHANNEL: the NIC and channel that hold its event records. NETLINK: `number` is the
	 * socket's type.
	 */
	u32 nic;
	u32 number;
	u32 generation;
	/* ASYNC: the event IBV_EVENT_DEVICE_FATAL for the daemon's death was read. */
	bool end_reported;
	/* KEPT: this is the daemon's end of a completion channel. */
	bool channel_end;
};

/* Kinds by number. For a descriptor that is not ours, an intercepted call costs one load of it. */
extern u8 fdtable_kind[FDTABLE_SIZE];

static inline enum fd_kind fdtable_hint(int fd)
{
	if (unlikely((unsigned int)fd >= FDTABLE_SIZE))
		return FD_NONE;
	return (enum fd_kind)__atomic_load_n(&fdtable_kind[fd], __ATOMIC_RELAXED);
}

/* A completion channel has been entered, in this process or before a fork. Never cleared. */
extern bool fdtable_had_channel;

/* Returns true and copies the entry if `fd` is one of the program's device descriptors. */
bool fdtable_get(int fd, struct fd_entry *entry);
/* Enter a descriptor; fills in entry->id. Returns 0 or a negative errno. */
int fdtable_set(int fd, struct fd_entry *entry);
void fdtable_forget(int fd);
/* `to` has become a duplicate of `from`. */
void fdtable_copy(int from, int to);
/*
 * Mark the device's end as reported on this async file and all its duplicates. Returns false if it
 * was reported before.
 */
bool fdtable_mark_ended(const struct fd_entry *entry);
/* Call the function for every descriptor of this kind. */
void fdtable_each(enum fd_kind kind, void (*call)(int fd, const struct fd_entry *entry, void *arg),
		  void *arg);

/* Make a descriptor the library's own and move it to a high number. Returns the new number. */
int fdtable_keep(int fd, bool channel_end);
/* Close one of the library's own descriptors, unless the program has replaced it unnoticed. */
void fdtable_drop(int fd);
/*
 * fdtable_is_kept(): is `fd` (still) one of the library's own? fdtable_next_kept(): returns the
 * lowest of them in [first, last], or ~0.
 */
bool fdtable_is_kept(int fd);
unsigned int fdtable_next_kept(unsigned int first, unsigned int last);
/*
 * The program needs number `fd`: if it is one of the library's own descriptors, move that one away.
 */
void fdtable_make_way(int fd);
/* Called in a forked child: close the library's own descriptors, which belong to the parent. */
void fdtable_forked(void);

#endif /* FDTABLE_H */
