// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Moves the pages of a region that the program registers into the memory file. */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/settings.h"
#include "mapped/inside.h"
#include "mapped/quiet.h"
#include "../../platform/window.h"

/* Pages are moved in pieces of this size, so that other threads do not wait long. */
#define PIECE (1ull << 20)

/*
 * MAP_HOT: the limits of a region, and of all moved pages of a process. A move copies the pages, and
 * makes those resident that the program has not touched yet.
 */
#define HOT_REGION (32ull << 20)
#define HOT_PROCESS (256ull << 20)

/*
 * MAP_HOT: the limit of the time that plans and failed moves take, ns: a constant, and a part of the
 * time since the first registration. The search for the pages' flags takes long in a process with
 * much memory, and a move may wait for other threads' system calls in vain.
 */
#define HOT_TIME 100000000ull
#define HOT_TIME_PART 50

/* How often other threads' system calls are looked at, at intervals of 100 us, until they have ended. */
enum { HASTY = 5, PATIENT = 40 };

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static bool copy_to_file(int fd, u64 start, u64 end)
{
	while (start < end) {
		long n = sys(SYS_pwrite64, fd, start, end - start, start);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		start += (u64)n;
	}
	return true;
}

/* The pages were copied: have the file's pages in their place. */
static bool replace(int fd, u64 start, u64 end)
{
	long ret = sys(SYS_mmap, start, end - start, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED | MAP_NORESERVE | MAP_POPULATE, fd, start);

	if ((unsigned long)ret > -4096ul)
		return false;
	/* A child gets its copy another way, see mapped_fork_begin(). */
	(void)sys(SYS_madvise, start, end - start, MADV_DONTFORK);
	return true;
}

/* No other thread runs, and signals are blocked: nobody writes to the pages meanwhile. */
static u32 move_alone(int fd, u64 start, u64 end)
{
	return copy_to_file(fd, start, end) && replace(fd, start, end) ? 0 : VNET_UNMAPPED_MEMORY;
}

/* A seccomp filter may end the process for a call that the program itself never makes. */
static bool has_filter(void)
{
	char text[4096], *at;
	int fd = sys_open("/proc/thread-self/status", O_RDONLY);
	long n = fd < 0 ? fd : sys(SYS_read, fd, text, sizeof(text) - 1);

	sys_close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nSeccomp:\t");
	return !at || at[10] == '2';
}

static int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	int fd;

	if (settings()->map_regions != MAP_ALWAYS && has_filter())
		return -EPERM;
	fd = (int)sys(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return fd;
	if (!sys(SYS_ioctl, fd, UFFDIO_API, &api))
		return fd;
	sys_close(fd);
	return -ENOSYS;
}

/* Let threads go on that wait for [start, end). */
static void wake(int uffd, u64 start, u64 end)
{
	struct uffdio_range all = { .start = start, .len = end - start };

	(void)sys(SYS_ioctl, uffd, UFFDIO_WAKE, &all);
}

/*
 * Other threads run: pages are write-protected while they are copied. A thread that writes waits
 * until the file's page has taken the place of the old one.
 */
static u32 move_protected(int uffd, int fd, u64 start, u64 end)
{
	struct uffdio_register reg = { .range = { .start = start, .len = end - start },
				       .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .range = reg.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	bool moved;

	/* Only pages that are present can be protected. */
	if (sys(SYS_madvise, start, end - start, MADV_POPULATE_WRITE))
		return VNET_UNMAPPED_MEMORY;
	if (sys(SYS_ioctl, uffd, UFFDIO_REGISTER, &reg))
		return VNET_UNMAPPED_USERFAULTFD;
	if (!quiet_begin(start, end, settings()->map_regions == MAP_ALWAYS ? PATIENT : HASTY)) {
		quiet_end();
		(void)sys(SYS_ioctl, uffd, UFFDIO_UNREGISTER, &reg.range);
		return VNET_UNMAPPED_BUSY;
	}
	moved = !sys(SYS_ioctl, uffd, UFFDIO_WRITEPROTECT, &wp) && copy_to_file(fd, start, end) &&
		replace(fd, start, end);
	if (!moved) {
		wp.mode = 0;
		(void)sys(SYS_ioctl, uffd, UFFDIO_WRITEPROTECT, &wp);
		(void)sys(SYS_ioctl, uffd, UFFDIO_UNREGISTER, &reg.range);
	}
	wake(uffd, start, end);
	quiet_end();
	return moved ? 0 : VNET_UNMAPPED_MEMORY;
}

/* Move the pages of one part; *start advances by what was moved. */
static u32 move_part(const struct mapped_plan *p, int uffd, u64 *start, u64 end)
{
	u32 why = 0;

	while (*start < end && !why) {
		u64 piece = smaller(end, (*start + PIECE) & ~(PIECE - 1));
		int fd = p->session->memory_fd;

		/* A range that is not in the table would be missing in a forked child. */
		if (mapped_count >= MAPPED_RANGES - MAPPED_SPARE)
			return VNET_UNMAPPED_MEMORY;
		why = uffd < 0 ? move_alone(fd, *start, piece) :
				 move_protected(uffd, fd, *start, piece);
		if (why) {
			/* What was copied. */
			mapped_punch(p->session, *start, piece);
			break;
		}
		(void)mapped_enter(p->session, *start, piece);
		*start = piece;
	}
	return why;
}

static u32 move_all(const struct mapped_plan *p)
{
	int uffd = -1;
	u32 why = 0;

	if (quiet_threads() != 1) {
		uffd = open_userfaultfd();
		if (uffd < 0)
			return VNET_UNMAPPED_USERFAULTFD;
	}
	for (u32 i = 0; i < p->nparts && !why; i++) {
		u64 start = p->part[i].start, at = start;
		int ret = mapped_tell(p->session, VNET_MAP_BEGIN, 0, start, p->part[i].end);

		if (ret) {
			why = ret == -EBUSY ? VNET_UNMAPPED_OVERLAP : VNET_UNMAPPED_MEMORY;
			break;
		}
		why = move_part(p, uffd, &at, p->part[i].end);
	}
	sys_close(uffd);
	return why;
}

static bool is_too_large(u64 length)
{
	return settings()->map_regions != MAP_ALWAYS &&
	       (length > HOT_REGION || mapped_bytes() + length > HOT_PROCESS);
}

/* When the first region was registered, and the time that plans and failed moves took since then. */
static u64 since, spent;

static bool takes_too_long(u64 now)
{
	if (!since)
		since = now;
	return settings()->map_regions != MAP_ALWAYS &&
	       spent > HOT_TIME + (now - since) / HOT_TIME_PART;
}

/* Returns 0 or the reason why the pages stay where they are. Counts the time of plan and failure. */
static u32 try_to_move(struct mapped_plan *plan, u64 now)
{
	u32 why;

	mapped_make_plan(plan);
	spent += plat_clock() - now;
	if (plan->why)
		return plan->why;
	now = plat_clock();
	why = move_all(plan);
	if (why)
		spent += plat_clock() - now;
	return why;
}

/* Move the pages of [start, end), which are not in the memory file yet. The lock is held. */
static u32 map_pages(struct session *s, u64 start, u64 end)
{
	struct mapped_plan plan = { .session = s, .at = start, .end = end };
	u64 now = plat_clock();

	if (is_too_large(end - start))
		return VNET_UNMAPPED_LARGE;
	if (takes_too_long(now))
		return VNET_UNMAPPED_SLOW;
	if (nic_load(&quiet_is_shared))
		return VNET_UNMAPPED_BUSY;
	if (mapped_files_are_limited() || mapped_open_file(s))
		return VNET_UNMAPPED_MEMORY;
	return try_to_move(&plan, now);
}

/* The lock is held. */
static u32 map_region(struct session *s, u64 start, u64 end)
{
	/* The daemon may not know of pages that are in the file. */
	static bool told_gone;
	bool moves;
	u32 why = 0;

	if (mapped_check()) {
		/* It must not take other pages for those of the file. */
		(void)mapped_tell(s, VNET_MAP_GONE, 0, start, end);
		told_gone = true;
		return VNET_UNMAPPED_MEMORY;
	}
	mapped_leave_before(s);
	/* Pages that were moved for an earlier region stay where they are. */
	moves = !mapped_covers(s, start, end);
	if (moves)
		why = map_pages(s, start, end);
	if (!why && (moves || told_gone) && mapped_tell(s, VNET_MAP_DONE, 0, start, end))
		why = VNET_UNMAPPED_MEMORY;
	return why;
}

void mapped_register(u64 start, u64 length, bool on_demand)
{
	u64 first = page_ceiling(start), end = page_floor(start + length);
	struct session *s;
	raw_sigset_t saved;
	u32 why;

	/* On-demand regions follow the program's mappings. */
	if (settings()->map_regions == MAP_NEVER || on_demand || session_in_vfork_child() ||
	    start + length < start || first >= end || end > HOST_MEMORY_FILE_SIZE)
		return;
	s = session_current();
	if (!s || !session_alive(s))
		return;
	saved = lock_take(&mapped_lock);
	why = map_region(s, first, end);
	if (why)
		(void)mapped_tell(s, VNET_MAP_REFUSED, why, first, end);
	lock_release(&mapped_lock, saved);
}
