// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <sys/mman.h>
#include <sys/resource.h>

#include "raw.h"
#include "space.h"
#include "window.h"

/* After a refusal, a process' memory file is not asked for again for this time, ns. */
#define PAUSE 100000000ull
/* Between the usual places of the heap and of mappings. */
#define WINDOWS_START (1ull << 45)

static u64 key_of(const struct host_window *entry)
{
	return nic_load(&entry->ref) >> HOST_WINDOW_PIN_BITS;
}

static u32 space_of(const struct host_window *entry)
{
	return (u32)(key_of(entry) >> (47 - HOST_WINDOW_BITS));
}

/* Empty an entry of the table, unless a thread uses it. */
static bool take_entry(struct host_window *entry)
{
	u64 ref = nic_load(&entry->ref);

	if (!(ref >> HOST_WINDOW_PIN_BITS))
		return true;
	if (ref & ((1u << HOST_WINDOW_PIN_BITS) - 1) ||
	    !__atomic_compare_exchange_n(&entry->ref, &ref, 0, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	raw_munmap(entry->base, HOST_WINDOW_SIZE);
	entry->base = NULL;
	return true;
}

void window_drop(struct host *host, u32 space)
{
	for (u32 i = 0; i < HOST_WINDOWS; i++)
		if (key_of(&host->window[i]) && (!space || space_of(&host->window[i]) == space))
			(void)take_entry(&host->window[i]);
}

static void drop_dead(struct host *host)
{
	for (u32 i = 0; i < HOST_WINDOWS; i++) {
		struct host_window *entry = &host->window[i];
		u32 space = space_of(entry);

		if (space &&
		    (host_space_slot(space) >= host->nspaces || !space_is_alive(host, space)))
			(void)take_entry(entry);
	}
}

/* An empty entry for this key; otherwise one is emptied, a different one each time. */
static struct host_window *find_entry(struct host *host, u64 key)
{
	u32 first = window_hash(key), i;

	for (i = 0; i < HOST_WINDOW_WAYS; i++)
		if (!key_of(&host->window[(first + i) % HOST_WINDOWS]))
			return &host->window[(first + i) % HOST_WINDOWS];
	for (i = 0; i < HOST_WINDOW_WAYS; i++) {
		u32 victim = (first + host->window_hand++ % HOST_WINDOW_WAYS) % HOST_WINDOWS;

		if (take_entry(&host->window[victim]))
			return &host->window[victim];
	}
	return NULL;
}

/*
 * Where a window should be: far from the program's own mappings. Otherwise the system could place
 * it where the program has just unmapped memory, and a late access of the program, or a request
 * that still names that memory, would not fault.
 */
static u64 place_of(const struct host *host, const struct host_window *entry)
{
	u64 index = (u64)(entry - host->window) + (u64)host->nic_index * HOST_WINDOWS;

	return WINDOWS_START + index * HOST_WINDOW_SIZE;
}

/* Windows would take address space that the program may need. */
static bool address_space_is_limited(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	(void)raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0);
	return limit.rlim_cur < HOST_MEMORY_FILE_SIZE;
}

static u8 *map_block(int fd, u64 block, u64 place)
{
	long ret = raw_syscall(SYS_mmap, (long)place, HOST_WINDOW_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_NORESERVE, fd, (long)block);

	if ((unsigned long)ret > -4096ul)
		return NULL;
	(void)raw_syscall(SYS_madvise, ret, HOST_WINDOW_SIZE, MADV_DONTDUMP, 0, 0, 0);
	return (u8 *)ret;
}

static bool fill(struct host *host, struct host_window *entry, u64 key, int fd)
{
	u64 block = (key << HOST_WINDOW_BITS) & (HOST_MEMORY_FILE_SIZE - 1);
	u64 place = place_of(host, entry);
	u8 *base = map_block(fd, block, place);

	/* The address space may be used up: give back what it can spare. */
	if (!base) {
		window_drop(host, 0);
		base = map_block(fd, block, place);
	}
	if (!base)
		return false;
	entry->base = base;
	/* Add, because threads that look for another key may have changed the count. */
	(void)__atomic_fetch_add(&entry->ref, key << HOST_WINDOW_PIN_BITS, __ATOMIC_RELEASE);
	return true;
}

static bool is_refused(const struct host_space *space, u32 id)
{
	return space->no_window == id && plat_clock() < space->no_window_until;
}

/* Returns true if the window is in the table. host->lock is held. */
static bool bring_window(struct host *host, u32 id, u64 key)
{
	struct host_space *space = &host->space[host_space_slot(id)];
	u32 first = window_hash(key);
	struct host_window *entry;
	bool filled = false;
	int fd;

	for (u32 i = 0; i < HOST_WINDOW_WAYS; i++)
		if (key_of(&host->window[(first + i) % HOST_WINDOWS]) == key)
			return true;
	if (is_refused(space, id))
		return false;
	drop_dead(host);
	entry = address_space_is_limited() ? NULL : find_entry(host, key);
	fd = entry ? host->get_memory(host, id) : -1;
	if (fd >= 0) {
		filled = fill(host, entry, key, fd);
		raw_close(fd);
	}
	if (!filled) {
		space->no_window = id;
		space->no_window_until = plat_clock() + PAUSE;
	}
	return filled;
}

bool window_open_slow(struct host *host, u32 id, u64 addr, struct window *w)
{
	u32 slot = host_space_slot(id);
	bool there;

	if (slot >= host->nspaces || !host->get_memory || !space_is_alive(host, id) ||
	    is_refused(&host->space[slot], id))
		return false;
	pthread_mutex_lock(&host->lock);
	there = bring_window(host, id, window_key(id, addr));
	pthread_mutex_unlock(&host->lock);
	/* If it is gone again, the table is too small for those who use it at the same time. */
	if (!there)
		return false;
	return window_open(host, id, addr, w);
}
