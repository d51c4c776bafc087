/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Windows: parts of other processes' memory files that are mapped in this process. A process'
 * memory file holds the pages of its mapped regions, each at the offset that equals its address. A
 * window shows an aligned block of HOST_WINDOW_SIZE bytes of one process' addresses.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include "host.h"

enum window_limits {
	HOST_WINDOW_BITS = 28,
	HOST_WINDOWS = 256,
	/* Entries of the table in which a window may be. */
	HOST_WINDOW_WAYS = 8,
	/* Bits of struct host_window.ref that count users; the others are the key. */
	HOST_WINDOW_PIN_BITS = 13,
};

#define HOST_WINDOW_SIZE (1ull << HOST_WINDOW_BITS)
/* User addresses have 47 bits. */
#define HOST_MEMORY_FILE_SIZE (1ull << 47)

/* A window that this thread uses; at: the address here. */
struct window {
	struct host_window *entry;
	u8 *at;
};

static inline u64 window_key(u32 space, u64 addr)
{
	return (u64)space << (47 - HOST_WINDOW_BITS) | addr >> HOST_WINDOW_BITS;
}

static inline u32 window_hash(u64 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ull) >> 56) & (HOST_WINDOWS - 1);
}

/*
 * Count a user of the window, or one less. With a single thread, no other one changes the entry.
 * Returns the value before.
 */
static inline u64 window_count(const struct host *host, struct host_window *entry, u64 change)
{
	u64 ref;

	/* Acquire: pairs with the release in fill(); release: with the acquire in take_entry(). */
	if (!host_has_one_thread(host))
		return __atomic_fetch_add(&entry->ref, change, __ATOMIC_ACQ_REL);
	ref = nic_load(&entry->ref);
	nic_store(&entry->ref, ref + change);
	return ref;
}

static inline void window_close(const struct host *host, const struct window *w)
{
	(void)window_count(host, w->entry, -1ull);
}

/* Map the block that contains addr, and use it. Returns false if that is refused. */
bool window_open_slow(struct host *host, u32 space, u64 addr, struct window *w);

/*
 * Use the window that shows this address of the process until window_close(). Returns false if it
 * cannot be mapped now.
 */
static inline bool window_open(struct host *host, u32 space, u64 addr, struct window *w)
{
	u64 key = window_key(space, addr);
	u32 first = window_hash(key);

	if (unlikely(addr >= HOST_MEMORY_FILE_SIZE))
		return false;
	for (u32 i = 0; i < HOST_WINDOW_WAYS; i++) {
		w->entry = &host->window[(first + i) % HOST_WINDOWS];
		if (nic_load(&w->entry->ref) >> HOST_WINDOW_PIN_BITS != key)
			continue;
		if (likely(window_count(host, w->entry, 1) >> HOST_WINDOW_PIN_BITS == key)) {
			w->at = w->entry->base + (addr & (HOST_WINDOW_SIZE - 1));
			return true;
		}
		window_close(host, w);
	}
	return window_open_slow(host, space, addr, w);
}

/* Unmap the windows of this process (0: of all) that nobody uses. host->lock is held. */
void window_drop(struct host *host, u32 space);

#endif /* WINDOW_H */
