// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* munmap(), mremap(), madvise() and others do to moved pages what they do to private ones. */
#define _GNU_SOURCE
#include "mapped/inside.h"
#include "mapped/quiet.h"

/* Peers must not use these pages any more. The lock is held. */
static void revoke_pages(u64 start, u64 end)
{
	struct session *s = session_current();

	if (s && session_alive(s))
		(void)mapped_tell(s, VNET_MAP_GONE, 0, start, end);
}

/* Call the function for each part of a range of the table within [start, end). */
static void each_part(u64 start, u64 end, void (*call)(const struct session *s, u64 start, u64 end))
{
	for (u32 i = mapped_first_after(start); i < mapped_count && mapped_range[i].start < end;
	     i++)
		call(mapped_range[i].session, larger(mapped_range[i].start, start),
		     smaller(mapped_range[i].end, end));
}

/* Does the program's range contain mapped pages? Sets the bounds; the range is of whole pages. */
static bool is_concerned(const void *address, size_t length, u64 *start, u64 *end)
{
	*start = (u64)address;
	*end = page_ceiling(*start + length);
	return *end > *start && *start == page_floor(*start) && !session_in_vfork_child() &&
	       !mapped_surely_untouched(*start, *end);
}

void mapped_change_begin(struct mapped_change *c, const void *address, size_t length)
{
	c->active = is_concerned(address, length, &c->start, &c->end);
	if (!c->active)
		return;
	c->saved = lock_take(&mapped_lock);
	c->active = mapped_touches(c->start, c->end);
	if (c->active)
		revoke_pages(c->start, c->end);
	else
		lock_release(&mapped_lock, c->saved);
}

void mapped_change_end(struct mapped_change *c, bool done)
{
	if (!c->active)
		return;
	if (done) {
		each_part(c->start, c->end, mapped_punch);
		mapped_forget(c->start, c->end);
	}
	lock_release(&mapped_lock, c->saved);
}

u8 *mapped_copy_out(const struct session *s, u64 start, u64 end)
{
	u8 *copy = sys_mmap(NULL, end - start, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	u64 at = start;

	while (copy && at < end) {
		long n = sys(SYS_pread64, s->memory_fd, copy + (at - start), end - at, at);

		if (n == -EINTR)
			continue;
		if (n <= 0) {
			(void)sys(SYS_munmap, copy, end - start);
			return NULL;
		}
		at += (u64)n;
	}
	return copy;
}

bool mapped_put_copy(u8 *copy, u64 start, u64 end, int prot)
{
	long ret = sys(SYS_mremap, copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED,
		       start);

	if ((unsigned long)ret > -4096ul)
		return false;
	if (prot != (PROT_READ | PROT_WRITE))
		(void)sys(SYS_mprotect, start, end - start, prot);
	return true;
}

/* Copy the pages of [start, end) back. The lock is held. Returns false if there is no memory. */
static bool make_private(u64 start, u64 end)
{
	while (mapped_touches(start, end)) {
		struct mapped_range r = mapped_range[mapped_first_after(start)];
		u8 *copy;

		r.start = larger(r.start, start);
		r.end = smaller(r.end, end);
		copy = mapped_copy_out(r.session, r.start, r.end);
		if (!copy)
			return false;
		/* Near the limit of mappings, for example. The file's pages remain. */
		if (!mapped_put_copy(copy, r.start, r.end, r.prot)) {
			(void)sys(SYS_munmap, copy, r.end - r.start);
			return false;
		}
		mapped_punch(r.session, r.start, r.end);
		mapped_forget(r.start, r.end);
	}
	return true;
}

bool mapped_make_private(const void *address, size_t length)
{
	u64 start, end;
	raw_sigset_t saved;
	bool done = true;

	if (!is_concerned(address, length, &start, &end))
		return true;
	saved = lock_take(&mapped_lock);
	/* Without the check, pages of the file could be copied over those that replaced them. */
	if (mapped_check()) {
		done = !mapped_touches(start, end);
	} else if (mapped_touches(start, end)) {
		revoke_pages(start, end);
		done = make_private(start, end);
	}
	lock_release(&mapped_lock, saved);
	return done;
}

static const struct mapped_range *range_of(const struct session *s)
{
	for (u32 i = 0; i < mapped_count; i++)
		if (mapped_range[i].session == s)
			return &mapped_range[i];
	return NULL;
}

static bool leave_file(const struct session *s)
{
	const struct mapped_range *r;

	while ((r = range_of(s)))
		/* Writes of other threads during the copy would be lost. */
		if (quiet_threads() != 1 || nic_load(&quiet_is_shared) ||
		    !make_private(r->start, r->end))
			return false;
	return true;
}

void mapped_leave_before(const struct session *s)
{
	for (struct session *old = s->before; old; old = old->before)
		if (old->memory_fd >= 0 && leave_file(old))
			mapped_close_file(old);
}

/* Advice that discards private pages: they read as zero afterwards. */
static bool discards(int advice)
{
#ifdef MADV_DONTNEED_LOCKED
	if (advice == MADV_DONTNEED_LOCKED)
		return true;
#endif
	return advice == MADV_DONTNEED || advice == MADV_FREE;
}

/* Advise what lies between mapped pages, and discard those. The lock is held. */
static long discard(u64 start, u64 end, int advice)
{
	long ret = 0;

	while (start < end && !ret) {
		u32 i = mapped_first_after(start);
		u64 next = i < mapped_count ? smaller(larger(mapped_range[i].start, start), end) :
					      end;

		if (next > start)
			ret = sys(SYS_madvise, start, next - start, advice);
		start = next;
		if (start == end || ret)
			break;
		next = smaller(mapped_range[i].end, end);
		mapped_punch(mapped_range[i].session, start, next);
		start = next;
	}
	return ret;
}

long mapped_madvise(void *address, size_t length, int advice)
{
	u64 start, end;
	raw_sigset_t saved;
	bool mapped, checked;
	long ret;

	if (!is_concerned(address, length, &start, &end))
		return sys(SYS_madvise, address, length, advice);
	saved = lock_take(&mapped_lock);
	checked = !mapped_check();
	mapped = mapped_touches(start, end);
	/* Some pages may have been replaced by private ones. */
	if (mapped && discards(advice) && !checked)
		(void)sys(SYS_madvise, start, end - start, MADV_DONTNEED);
	ret = mapped && discards(advice) ? discard(start, end, advice) : 0;
	lock_release(&mapped_lock, saved);
	if (mapped && (discards(advice) || advice == MADV_DOFORK))
		return ret;
	/* Private memory does not support it. */
	if (mapped && advice == MADV_REMOVE)
		return -EINVAL;
	if (mapped && (advice == MADV_WIPEONFORK || advice == MADV_DONTFORK))
		(void)mapped_make_private(address, length);
	return sys(SYS_madvise, address, length, advice);
}
