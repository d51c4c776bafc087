// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "session/fdtable.h"

#include <sys/resource.h>

#include "base/lock.h"

#define PAGE_SHIFT 10
#define PAGE_SLOTS (1 << PAGE_SHIFT)
#define PAGES (FDTABLE_SIZE / PAGE_SLOTS)

/*
 * A table slot is a seqlock. Readers take no lock: they copy the entry, and retry unless its
 * sequence number is even and the same before and after.
 */
#define ENTRY_WORDS ((sizeof(struct fd_entry) + 7) / 8)

struct slot {
	u32 seq;
	u64 word[ENTRY_WORDS];
};

union entry_words {
	struct fd_entry entry;
	u64 word[ENTRY_WORDS];
};

u8 fdtable_kind[FDTABLE_SIZE];
bool fdtable_had_channel;
static struct slot *pages[PAGES];
static struct lock table_lock;
/* No entry has a higher number. */
static int highest = -1;

static struct slot *slot_of(int fd)
{
	struct slot *page = __atomic_load_n(&pages[fd >> PAGE_SHIFT], __ATOMIC_ACQUIRE);

	return page ? &page[fd & (PAGE_SLOTS - 1)] : NULL;
}

/* Returns the slot, allocated if necessary, or NULL. The caller holds table_lock. */
static struct slot *make_slot(int fd)
{
	struct slot *page;

	if (!pages[fd >> PAGE_SHIFT]) {
		page = sys_mmap(NULL, PAGE_SLOTS * sizeof(*page), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!page)
			return NULL;
		__atomic_store_n(&pages[fd >> PAGE_SHIFT], page, __ATOMIC_RELEASE);
	}
	return slot_of(fd);
}

static void set_kind(int fd, enum fd_kind kind)
{
	if (kind == FD_CHANNEL)
		__atomic_store_n(&fdtable_had_channel, true, __ATOMIC_RELAXED);
	__atomic_store_n(&fdtable_kind[fd], (u8)kind, __ATOMIC_RELEASE);
}

/* The caller holds table_lock. */
static int store(int fd, const struct fd_entry *entry)
{
	struct slot *slot = make_slot(fd);
	union entry_words words = { .word = { 0 } };
	size_t i;

	if (!slot)
		return -ENOMEM;
	words.entry = *entry;
	__atomic_store_n(&slot->seq, slot->seq + 1, __ATOMIC_RELAXED);
	/* Release: a reader that sees a new word also sees the odd sequence number. */
	for (i = 0; i < ENTRY_WORDS; i++)
		__atomic_store_n(&slot->word[i], words.word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&slot->seq, slot->seq + 1, __ATOMIC_RELEASE);
	if (fd > highest)
		__atomic_store_n(&highest, fd, __ATOMIC_RELAXED);
	set_kind(fd, entry->kind);
	return 0;
}

static bool load(int fd, struct fd_entry *entry)
{
	struct slot *slot = slot_of(fd);
	union entry_words words;
	u32 before, after;
	size_t i;

	if (!slot)
		return false;
	do {
		before = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
		for (i = 0; i < ENTRY_WORDS; i++)
			words.word[i] = __atomic_load_n(&slot->word[i], __ATOMIC_ACQUIRE);
		after = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);
	} while (before != after || (before & 1));
	*entry = words.entry;
	return true;
}

static bool same_file(int fd, const struct fd_entry *entry)
{
	struct identity id;

	return !sys_identity(fd, &id) && id.dev == entry->id.dev && id.ino == entry->id.ino;
}

bool fdtable_get(int fd, struct fd_entry *entry)
{
	enum fd_kind kind = fdtable_hint(fd);

	if (kind == FD_NONE || kind == FD_KEPT || !load(fd, entry) || entry->kind != kind)
		return false;
	if (same_file(fd, entry))
		return true;
	/* The number was closed without our notice, and now refers to another file. */
	fdtable_forget(fd);
	return false;
}

int fdtable_set(int fd, struct fd_entry *entry)
{
	raw_sigset_t saved;
	int ret;

	if ((unsigned int)fd >= FDTABLE_SIZE)
		return -EMFILE;
	if (session_in_vfork_child())
		return -EBUSY;
	ret = sys_identity(fd, &entry->id);
	if (ret)
		return ret;
	saved = lock_take(&table_lock);
	ret = store(fd, entry);
	lock_release(&table_lock, saved);
	return ret;
}

void fdtable_forget(int fd)
{
	if (fdtable_hint(fd) != FD_NONE && !session_in_vfork_child())
		set_kind(fd, FD_NONE);
}

void fdtable_copy(int from, int to)
{
	struct fd_entry entry;

	if (fdtable_get(from, &entry))
		(void)fdtable_set(to, &entry);
	else
		fdtable_forget(to);
}

bool fdtable_mark_ended(const struct fd_entry *entry)
{
	struct fd_entry other;
	bool first = true;
	raw_sigset_t saved = lock_take(&table_lock);
	int fd;

	for (fd = 0; fd <= highest; fd++) {
		if (fdtable_hint(fd) != FD_ASYNC || !load(fd, &other) ||
		    other.id.ino != entry->id.ino || other.id.dev != entry->id.dev)
			continue;
		first = first && !other.end_reported;
		other.end_reported = true;
		(void)store(fd, &other);
	}
	lock_release(&table_lock, saved);
	return first;
}

void fdtable_each(enum fd_kind kind, void (*call)(int fd, const struct fd_entry *entry, void *arg),
		  void *arg)
{
	int fd, last = __atomic_load_n(&highest, __ATOMIC_RELAXED);
	struct fd_entry entry;

	for (fd = 0; fd <= last; fd++)
		if (fdtable_hint(fd) == kind && load(fd, &entry) && same_file(fd, &entry))
			call(fd, &entry, arg);
}

/* ------------------------------------------------------- the library's own */

/* The library's own descriptors start at a number above those that programs get or iterate over. */
static int keep_base(void)
{
	struct rlimit limit = { 0 };

	if (sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) || limit.rlim_cur > 1536)
		return 768;
	return (int)limit.rlim_cur / 2;
}

static void mark_kept(int fd, bool channel_end)
{
	struct fd_entry entry = { .kind = FD_KEPT, .channel_end = channel_end };

	(void)fdtable_set(fd, &entry);
}

int fdtable_keep(int fd, bool channel_end)
{
	int high = (int)sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, keep_base());

	if (high >= 0) {
		sys_close(fd);
		fd = high;
	}
	mark_kept(fd, channel_end);
	return fd;
}

bool fdtable_is_kept(int fd)
{
	struct fd_entry entry;

	if (fdtable_hint(fd) != FD_KEPT || !load(fd, &entry))
		return false;
	if (same_file(fd, &entry))
		return true;
	fdtable_forget(fd);
	return false;
}

void fdtable_drop(int fd)
{
	if (!fdtable_is_kept(fd))
		return;
	fdtable_forget(fd);
	sys_close(fd);
}

void fdtable_make_way(int fd)
{
	struct fd_entry entry;
	int other;

	session_vacate(fd);
	if (!fdtable_is_kept(fd))
		return;
	other = (int)sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1);
	if (other < 0)
		return;
	mark_kept(other, load(fd, &entry) && entry.channel_end);
	session_fd_moved(fd, other);
	fdtable_forget(fd);
}

unsigned int fdtable_next_kept(unsigned int first, unsigned int last)
{
	unsigned int end = (unsigned int)__atomic_load_n(&highest, __ATOMIC_RELAXED) + 1;

	for (; first < end && first <= last; first++)
		if (fdtable_hint((int)first) == FD_KEPT && fdtable_is_kept((int)first))
			return first;
	return ~0u;
}

void fdtable_forked(void)
{
	int fd, page;

	/* Another thread of the parent may have held the lock at the time of the fork. */
	table_lock.taken = 0;
	for (page = 0; page < PAGES; page++)
		for (fd = 0; pages[page] && fd < PAGE_SLOTS; fd++)
			if (pages[page][fd].seq & 1) {
				pages[page][fd].seq++;
				fdtable_forget(page * PAGE_SLOTS + fd);
			}
	for (fd = 0; fd <= highest; fd++)
		if (fdtable_hint(fd) == FD_KEPT) {
			if (fdtable_is_kept(fd))
				sys_close(fd);
			fdtable_forget(fd);
		}
}
