// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "mapped/quiet.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/entries.h"
#include "base/settings.h"
#include "base/sys.h"

/* Between two looks at the other threads, ns. */
#define PAUSE 100000

enum { SLOTS = 4096 };

bool quiet_wanted;
bool quiet_is_shared;

/* Pages are being moved. */
static u32 moving;
/* A thread that is in such a call has its id in its slot. */
static u32 slot[SLOTS];
static u32 nslots;

/* This thread's slot, plus 1, and its id. */
static __thread u32 own_slot __attribute__((tls_model("initial-exec")));
static __thread u32 own_id __attribute__((tls_model("initial-exec")));

static void pause_a_little(void)
{
	const struct timespec time = { .tv_nsec = PAUSE };

	(void)sys(SYS_nanosleep, &time, NULL);
}

u32 quiet_enter(void)
{
	u32 outer, *place;

	if (unlikely(!own_slot)) {
		own_id = (u32)sys(SYS_gettid);
		own_slot = 1 + __atomic_fetch_add(&nslots, 1, __ATOMIC_RELAXED) % SLOTS;
	}
	place = &slot[own_slot - 1];
	outer = nic_load(place);
	for (;;) {
		/* Full barrier between the store and the look; pairs with that of quiet_begin(). */
		(void)nic_xchg(place, own_id);
		if (likely(!nic_load(&moving)))
			return outer;
		nic_store_release(place, outer);
		pause_a_little();
	}
}

void quiet_leave(u32 outer)
{
	if (likely(own_slot))
		nic_store_release(&slot[own_slot - 1], outer);
}

void quiet_forked(void)
{
	memset(slot, 0, sizeof(slot));
	nic_store(&moving, 0);
	own_slot = 0;
	quiet_is_shared = false;
}

/* ------------------------------------------------------- looking at threads */

static bool overlaps(u64 start, u64 end, u64 addr, u64 length)
{
	return addr < end && length && addr + length > start;
}

/*
 * Read arguments of another thread's call, which may have ended, so the memory may be unmapped.
 * Signals are blocked, so a fault would end the process.
 */
static bool read_own(void *to, u64 from, size_t length)
{
	struct iovec local = { .iov_base = to, .iov_len = length };
	struct iovec remote = { .iov_base = (void *)from, .iov_len = length };

	return sys(SYS_process_vm_readv, sys_getpid(), &local, 1, &remote, 1, 0) == (long)length;
}

#define IOVECS 64

static bool overlaps_iov(u64 start, u64 end, u64 iov, u64 n)
{
	struct iovec copy[IOVECS] = { 0 };

	if (n > IOVECS || !read_own(copy, iov, n * sizeof(copy[0])))
		return true;
	for (u64 i = 0; i < n; i++)
		if (overlaps(start, end, (u64)copy[i].iov_base, copy[i].iov_len))
			return true;
	return false;
}

static bool overlaps_msg(u64 start, u64 end, u64 addr)
{
	struct msghdr msg = { 0 };

	if (!read_own(&msg, addr, sizeof(msg)))
		return true;
	return overlaps(start, end, addr, sizeof(msg)) ||
	       overlaps(start, end, (u64)msg.msg_name, msg.msg_namelen) ||
	       overlaps(start, end, (u64)msg.msg_control, msg.msg_controllen) ||
	       overlaps_iov(start, end, (u64)msg.msg_iov, msg.msg_iovlen);
}

/*
 * Otherwise the kernel finds the waiter by its page, which a move changes, so a wake-up would be lost;
 * or it writes to the word (priority inheritance).
 */
static bool is_private_wait(u64 operation)
{
	u64 command = operation & FUTEX_CMD_MASK;

	return (operation & FUTEX_PRIVATE_FLAG) &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

/* Does it matter to a thread that is blocked in this system call that [start, end) moves? */
static bool is_affected(long number, const u64 *arg, u64 start, u64 end)
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigsuspend:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_sendto:
	case SYS_sendmsg:
#ifdef SYS_pause
	case SYS_pause:
#endif
		return false;
	case SYS_futex:
		return !is_private_wait(arg[1]) && overlaps(start, end, arg[0], 4);
	case SYS_read:
	case SYS_pread64:
		return overlaps(start, end, arg[1], arg[2]);
	case SYS_recvfrom:
		return overlaps(start, end, arg[1], arg[2]) || overlaps(start, end, arg[4], 128);
	case SYS_readv:
	case SYS_preadv:
		return overlaps_iov(start, end, arg[1], arg[2]);
	case SYS_recvmsg:
		return overlaps_msg(start, end, arg[1]);
	case SYS_ppoll:
#ifdef SYS_poll
	case SYS_poll:
#endif
		return overlaps(start, end, arg[0], arg[1] * 8);
	case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
		return overlaps(start, end, arg[1], arg[2] * 16);
	case SYS_pselect6:
#ifdef SYS_select
	case SYS_select:
#endif
		return overlaps(start, end, arg[1], 128) || overlaps(start, end, arg[2], 128) ||
		       overlaps(start, end, arg[3], 128) || overlaps(start, end, arg[4], 16);
	case SYS_accept:
	case SYS_accept4:
		return overlaps(start, end, arg[1], 128) || overlaps(start, end, arg[2], 4);
	case SYS_wait4:
		return overlaps(start, end, arg[1], 4) || overlaps(start, end, arg[3], 256);
	case SYS_rt_sigtimedwait:
		return overlaps(start, end, arg[1], 128);
	default:
		return true;
	}
}

static bool is_in_call(u32 id)
{
	for (u32 i = 0; i < SLOTS; i++)
		if (nic_load(&slot[i]) == id)
			return true;
	return false;
}

/* Calls between quiet_call_begin() and quiet_call_end(). */
static bool is_announced(long number)
{
	return number == SYS_read || number == SYS_pread64 || number == SYS_readv ||
	       number == SYS_preadv || number == SYS_recvfrom || number == SYS_recvmsg ||
	       number == SYS_recvmmsg;
}

/* Parse "0 0x3 0x7ffd... sp pc", "-1 sp pc" or "running". */
static bool text_is_quiet(char *text, u32 id, u64 start, u64 end)
{
	u64 arg[6];
	long number;
	char *at;

	if (!strncmp(text, "running", 7))
		return !is_in_call(id);
	number = strtol(text, &at, 10);
	if (at == text)
		return false;
	/* It waits for a page, or is stopped. */
	if (number < 0)
		return !is_in_call(id);
	/* A signal handler runs, and the call that it interrupted may go on afterwards. */
	if (is_in_call(id) && !is_announced(number))
		return false;
	for (u32 i = 0; i < 6; i++)
		arg[i] = strtoull(at, &at, 16);
	return !is_affected(number, arg, start, end);
}

struct quiet_look {
	u32 self;
	u64 start, end;
	bool quiet;
	bool self_seen;
};

static void look_at(const char *name, void *arg)
{
	struct quiet_look *look = arg;
	u32 id = (u32)strtoul(name, NULL, 10);
	char path[64], text[256];
	long n;
	int fd;

	look->self_seen |= id == look->self;
	if (id == look->self || !look->quiet)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", name);
	fd = sys_open(path, O_RDONLY);
	n = fd < 0 ? fd : sys(SYS_read, fd, text, sizeof(text) - 1);
	sys_close(fd);
	/* The thread has ended. */
	if (n == -ENOENT || n == -ESRCH)
		return;
	text[n > 0 ? n : 0] = '\0';
	look->quiet = n > 0 && text_is_quiet(text, id, look->start, look->end);
}

bool quiet_begin(u64 start, u64 end, u32 looks)
{
	struct quiet_look look = { .self = (u32)sys(SYS_gettid), .start = start, .end = end };

	/* Full barrier; see quiet_enter(). */
	(void)nic_xchg(&moving, 1);
	for (u32 i = 0; i < looks; i++) {
		look.quiet = true;
		/* If /proc is that of another PID namespace, its ids are not those of the slots. */
		if (entries_each("/proc/self/task", look_at, &look) || !look.self_seen)
			return false;
		if (look.quiet)
			return true;
		pause_a_little();
	}
	return false;
}

void quiet_end(void)
{
	nic_store_release(&moving, 0);
}

u32 quiet_threads(void)
{
	char text[1024];
	int fd = sys_open("/proc/self/stat", O_RDONLY);
	long n = fd < 0 ? fd : sys(SYS_read, fd, text, sizeof(text) - 1);
	char *at;

	sys_close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name is in parentheses, and may contain any character. Then follow state, ... */
	at = strrchr(text, ')');
	for (u32 i = 0; at && i < 18; i++)
		at = strchr(at + 1, ' ');
	return at ? (u32)strtoul(at, NULL, 10) : 0;
}

static void __attribute__((constructor)) quiet_load(void)
{
	quiet_wanted = settings()->map_regions && !settings()->off;
}
