// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A forked child gets a private copy of moved pages.
 *
 * The pages are shared and carry MADV_DONTFORK, so the child has nothing there. The parent makes a
 * private copy elsewhere before it forks, and the child moves its copy of that to the address. So
 * it is complete before anyone can run in the child, and nobody has to wait for anybody.
 */
#define _GNU_SOURCE
#include <string.h>

#include "base/real.h"
#include "mapped/inside.h"
#include "mapped/quiet.h"

/* Names this library to __register_atfork(). */
extern void *__dso_handle __attribute__((visibility("hidden")));

static raw_sigset_t fork_saved;

/*
 * Without memory for the copy of a range, as near RLIMIT_AS, the child inherits the shared pages, and
 * copies them piece by piece. Until it has done so, it sees what the parent and peers write.
 */
static bool is_inherited(const struct mapped_range *r)
{
	return !r->copy;
}

static void inherit(const struct mapped_range *r, bool yes)
{
	(void)sys(SYS_madvise, r->start, r->end - r->start, yes ? MADV_DOFORK : MADV_DONTFORK);
}

void mapped_fork_begin(void)
{
	raw_sigset_t saved;

	if (likely(!quiet_wanted))
		return;
	saved = lock_take(&mapped_lock);
	fork_saved = saved;
	(void)mapped_check();
	for (u32 i = 0; i < mapped_count; i++) {
		struct mapped_range *r = &mapped_range[i];

		r->copy = mapped_copy_out(r->session, r->start, r->end);
		if (is_inherited(r))
			inherit(r, true);
	}
}

void mapped_fork_parent(void)
{
	bool inherited = false;

	if (likely(!quiet_wanted))
		return;
	for (u32 i = 0; i < mapped_count; i++) {
		struct mapped_range *r = &mapped_range[i];

		inherited |= is_inherited(r);
		if (r->copy)
			(void)sys(SYS_munmap, r->copy, r->end - r->start);
		r->copy = NULL;
	}
	/* Other pages may be in the place of some by now. */
	if (unlikely(inherited)) {
		(void)mapped_check();
		for (u32 i = 0; i < mapped_count; i++)
			inherit(&mapped_range[i], false);
	}
	lock_release(&mapped_lock, fork_saved);
}

/* Does the child have no mapping there? */
static bool is_missing(u64 start, u64 end)
{
	long ret = sys(SYS_mmap, start, end - start, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	return ret != -EEXIST;
}

/*
 * Put the copy in the place of the missing pages. The table may name pages that another thread has
 * replaced within libc since it was checked. Those were not missing in the fork.
 */
static void restore(const struct mapped_range *r)
{
	if (is_missing(r->start, r->end)) {
		(void)mapped_put_copy(r->copy, r->start, r->end, r->prot);
		return;
	}
	for (u64 at = r->start; at < r->end; at += PAGE_BYTES)
		if (is_missing(at, at + PAGE_BYTES))
			(void)mapped_put_copy(r->copy + (at - r->start), at, at + PAGE_BYTES,
					      r->prot);
	(void)sys(SYS_munmap, r->copy, r->end - r->start);
}

/* Put private memory in the place of inherited pages. */
static void make_own(const struct mapped_range *r)
{
	static u8 piece[65536];
	u64 next;

	for (u64 at = r->start; at < r->end; at = next) {
		next = smaller(at + sizeof(piece), r->end);
		/* Part of it may be missing. */
		if (sys(SYS_mprotect, at, next - at, PROT_READ)) {
			(void)sys(SYS_munmap, at, next - at);
			continue;
		}
		memcpy(piece, (const void *)at, next - at);
		if (sys(SYS_mmap, at, next - at, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			0) != (long)at) {
			/* It must not change the parent's pages. */
			(void)sys(SYS_munmap, at, next - at);
			continue;
		}
		memcpy((void *)at, piece, next - at);
		if (r->prot != (PROT_READ | PROT_WRITE))
			(void)sys(SYS_mprotect, at, next - at, r->prot);
	}
}

void mapped_fork_child(void)
{
	if (likely(!quiet_wanted))
		return;
	for (u32 i = 0; i < mapped_count; i++)
		if (is_inherited(&mapped_range[i]))
			make_own(&mapped_range[i]);
		else
			restore(&mapped_range[i]);
	nic_store(&mapped_count, 0);
	quiet_forked();
	lock_release(&mapped_lock, fork_saved);
}

void mapped_share(void)
{
	raw_sigset_t saved;

	if (likely(!quiet_wanted))
		return;
	saved = lock_take(&mapped_lock);
	nic_store(&quiet_is_shared, true);
	lock_release(&mapped_lock, saved);
}

void mapped_register_handlers(void)
{
	static bool done;

	if (!__atomic_exchange_n(&done, true, __ATOMIC_RELAXED) && real()->__register_atfork)
		(void)real()->__register_atfork(mapped_fork_begin, mapped_fork_parent,
						mapped_fork_child, &__dso_handle);
}

static void __attribute__((constructor)) mapped_load(void)
{
	mapped_register_handlers();
}
