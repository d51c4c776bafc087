/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the program's descriptors are, by number. Numbers are reused behind our
 * back (close in a library we do not see, raw system calls), so an entry counts
 * only while the number still names the very file that was entered.
 *
 * The library's own descriptors are in it too: they stand at high numbers, and
 * the program can neither close nor replace them.
 */
#ifndef FDTABLE_H
#define FDTABLE_H

#include "session.h"

#define FDTABLE_SIZE (1 << 20)

enum fd_kind {
	FD_NONE = 0,
	FD_UVERBS = VNET_FILE_UVERBS,
	FD_CHANNEL = VNET_FILE_CHANNEL,
	FD_ASYNC = VNET_FILE_ASYNC,
	FD_NETLINK = VNET_FILE_NETLINK,
	FD_RDMA_CM = VNET_FILE_RDMA_CM,
	FD_UMAD = VNET_FILE_UMAD,
	/* The library's own. */
	FD_KEPT,
};

struct fd_entry {
	enum fd_kind kind;
	struct identity id;
	struct session *session;
	u32 file_id;
	/* UVERBS, RDMA_CM, UMAD: device number. */
	u32 minor;
	/* CHANNEL: where its records are. NETLINK: `number` is the socket's type. */
	u32 nic;
	u32 number;
	u32 generation;
	/* ASYNC: the event that tells the device's end was read. */
	bool told_end;
	/* KEPT: the daemon's end of a completion channel of somebody. */
	bool channel_end;
};

/* Kinds by number: all that a descriptor which is not ours costs. */
extern u8 fdtable_kind[FDTABLE_SIZE];

static inline enum fd_kind fdtable_hint(int fd)
{
	if (unlikely((unsigned int)fd >= FDTABLE_SIZE))
		return FD_NONE;
	return (enum fd_kind)__atomic_load_n(&fdtable_kind[fd], __ATOMIC_RELAXED);
}

/* Is it one of the program's device descriptors? Copies what it is. */
bool fdtable_get(int fd, struct fd_entry *entry);
/* Enter; entry->id is filled in. 0 or negative errno. */
int fdtable_set(int fd, struct fd_entry *entry);
void fdtable_forget(int fd);
/* `to` is a duplicate of `from` now. */
void fdtable_copy(int from, int to);
/*
 * The end of the device is told to whoever reads this async file, in all its
 * duplicates: false if it was told before.
 */
bool fdtable_tell_end(const struct fd_entry *entry);
/* Call for every descriptor of this kind. */
void fdtable_each(enum fd_kind kind, void (*call)(int fd, const struct fd_entry *entry, void *arg),
		  void *arg);

/* Make a descriptor the library's own: its new number. */
int fdtable_keep(int fd, bool channel_end);
/* Close one of the library's own. */
void fdtable_drop(int fd);
/* Is it one (still)? The lowest of them from `first` to `last`, or ~0. */
bool fdtable_is_kept(int fd);
unsigned int fdtable_next_kept(unsigned int first, unsigned int last);
/* The program wants this number, which is one of the library's own. */
void fdtable_make_way(int fd);
/* In a forked child: the library's own are the parent's, and are closed. */
void fdtable_forked(void);

#endif /* FDTABLE_H */
