// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guarded copies, and the emulation of the program's SIGSEGV and SIGBUS dispositions.
 *
 * The handler here is installed permanently. After a fault within guard_copy_raw() it continues at
 * the fixup. Every other fault is passed to the program's handler, with the stack, mask and flags
 * that the program asked for, because the guard's handler is installed with the same ones. Two
 * things are emulated. One is SA_RESETHAND, because the kernel would reset the guard's handler. The
 * other is blocking of these two signals: they are never blocked, because a handler that is left by
 * a jump would leave them blocked.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#include "guard.h"
#include "host.h"
#include "range.h"
#include "raw.h"

/* ------------------------------------------------------------------- copies */

static bool within(u64 address, u64 start, size_t length)
{
	return address - start < length;
}

static bool within_pages(u64 address, u64 start, size_t length)
{
	u64 page = page_floor(address);

	return page >= page_floor(start) && page <= page_floor(start + length - 1);
}

/*
 * Find the side that an address belongs to. This is exact except in two cases: for memory failures,
 * whose address may be rounded, and for non-canonical addresses, which the processor does not
 * report; but those have high bits set.
 */
static enum nic_copy_result faulted_side(u64 address, u64 dst, u64 src, size_t length)
{
	if (within(address, dst, length))
		return NIC_COPY_DST_FAULT;
	if (within(address, src, length))
		return NIC_COPY_SRC_FAULT;
	if (within_pages(address, dst, length))
		return NIC_COPY_DST_FAULT;
	if (within_pages(address, src, length))
		return NIC_COPY_SRC_FAULT;
	return (src + length) >> 47 ? NIC_COPY_SRC_FAULT : NIC_COPY_DST_FAULT;
}

enum nic_copy_result host_guarded_copy(void *dst, const void *src, size_t length)
{
	struct guard_result result = guard_copy_raw(dst, src, length);

	if (likely(!result.faulted))
		return NIC_COPY_OK;
	return faulted_side(result.address, (u64)dst, (u64)src, length);
}

/* If a guarded copy has faulted, continue at its fixup. */
static bool repair(const siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	const u64 begin = (u64)guard_copy_begin;
	const u64 end = (u64)guard_copy_end;

#if defined(__x86_64__)
	if ((u64)m->gregs[REG_RIP] < begin || (u64)m->gregs[REG_RIP] >= end)
		return false;
	m->gregs[REG_RIP] = (greg_t)guard_copy_fixup;
	m->gregs[REG_RAX] = 1;
	m->gregs[REG_RDX] = (greg_t)info->si_addr;
#elif defined(__aarch64__)
	if (m->pc < begin || m->pc >= end)
		return false;
	m->pc = (u64)guard_copy_fixup;
	m->regs[0] = 1;
	m->regs[1] = (u64)info->si_addr;
#endif
	return true;
}

/* --------------------------------------- dispositions in the kernel's format */

struct raw_sigaction {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	raw_sigset_t mask;
};

#define RAW_SA_RESTORER 0x04000000ul

static void raw_sigaction(int sig, const struct raw_sigaction *act, struct raw_sigaction *old)
{
	(void)raw_syscall(SYS_rt_sigaction, sig, (long)act, (long)old, sizeof(raw_sigset_t), 0, 0);
}

static void to_raw(struct raw_sigaction *raw, const struct sigaction *act)
{
	raw->handler = act->sa_sigaction;
	raw->flags = (unsigned int)act->sa_flags;
	raw->restorer = NULL;
	memcpy(&raw->mask, &act->sa_mask, sizeof(raw->mask));
#ifdef __x86_64__
	raw->flags |= RAW_SA_RESTORER;
	raw->restorer = guard_restore_rt;
#endif
}

static void from_raw(struct sigaction *act, const struct raw_sigaction *raw)
{
	memset(act, 0, sizeof(*act));
	act->sa_sigaction = raw->handler;
	act->sa_flags = (int)raw->flags;
	act->sa_restorer = raw->restorer;
	memcpy(&act->sa_mask, &raw->mask, sizeof(raw->mask));
}

/* ----------------------------------------------- the program's dispositions */

/*
 * Two copies, of which the lowest bit of `generation` selects the current one. So a handler can
 * read it at any time, even if it has interrupted the writer.
 */
static struct disposition {
	u32 generation;
	struct sigaction copy[2];
} dispositions[2];

/*
 * Lock of the writers, who hold it with all signals blocked. In a forked child it is reset: see
 * guard_pid.
 */
static u32 writing;
/*
 * The process whose dispositions these are; 0: the guard is not installed. A child of vfork() sees
 * this memory, but has dispositions of its own.
 */
static u32 guard_pid;

static struct disposition *disposition_of(int sig)
{
	if (sig == SIGSEGV)
		return &dispositions[0];
	if (sig == SIGBUS)
		return &dispositions[1];
	return NULL;
}

static void disposition_read(const struct disposition *d, struct sigaction *act)
{
	u32 generation;

	do {
		generation = nic_load_acquire(&d->generation);
		*act = d->copy[generation & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (nic_load(&d->generation) != generation);
}

static void disposition_write(struct disposition *d, const struct sigaction *act)
{
	u32 next = d->generation + 1;

	d->copy[next & 1] = *act;
	/* Release: pairs with the acquire in disposition_read(). */
	nic_store_release(&d->generation, next);
}

static raw_sigset_t writer_begin(void)
{
	raw_sigset_t saved = raw_sigmask(SIG_BLOCK, ~(raw_sigset_t)0);

	while (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQUIRE))
		(void)raw_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	return saved;
}

static void writer_end(raw_sigset_t saved)
{
	nic_store_release(&writing, 0);
	(void)raw_sigmask(SIG_SETMASK, saved);
}

/* ------------------------------------------------------------------ handler */

static void guard_handler(int sig, siginfo_t *info, void *context);

static bool is_function(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

/* Which of the two signals this thread blocks from its program's point of view (guard_bit()). */
static __thread u8 blocked __attribute__((tls_model("initial-exec")));

static u8 guard_bit(int sig)
{
	return sig == SIGSEGV ? HOST_GUARD_SEGV : HOST_GUARD_BUS;
}

u8 host_guard_bits(const sigset_t *set)
{
	return (u8)((sigismember(set, SIGSEGV) == 1 ? HOST_GUARD_SEGV : 0) |
		    (sigismember(set, SIGBUS) == 1 ? HOST_GUARD_BUS : 0));
}

u8 host_guard_blocked(void)
{
	return blocked;
}

void host_guard_block(u8 bits)
{
	blocked = bits;
}

/* Install the guard with the flags and mask of the program's handler. */
static void guard_install(int sig, const struct sigaction *act)
{
	struct raw_sigaction raw;
	struct sigaction guard = { .sa_flags = SA_ONSTACK | SA_RESTART };

	if (is_function(act))
		guard = *act;
	guard.sa_sigaction = guard_handler;
	guard.sa_flags |= SA_SIGINFO | SA_NODEFER;
	guard.sa_flags &= ~(int)SA_RESETHAND;
	host_guard_filter_mask(&guard.sa_mask);
	to_raw(&raw, &guard);
	raw_sigaction(sig, &raw, NULL);
}

static void set_default(int sig)
{
	struct raw_sigaction raw = { .handler = NULL };

	raw_sigaction(sig, &raw, NULL);
}

/* Was it raised by the current instruction, which will raise it again if nothing changes? */
static bool is_synchronous(int sig, const siginfo_t *info)
{
	return info->si_code > 0 && !(sig == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/*
 * End the process as without a handler, including core and exit status. A fault recurs when the
 * instruction is executed again. Other signals are sent again, and arrive when this handler returns
 * and the signal is unblocked.
 */
static void die_by(int sig, siginfo_t *info)
{
	set_default(sig);
	if (!is_synchronous(sig, info))
		(void)raw_syscall(SYS_rt_tgsigqueueinfo, raw_getpid(),
				  raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), sig, (long)info, 0, 0);
}

/* SA_RESETHAND: this was the last delivery to the program's handler. */
static void reset_handler(int sig)
{
	static const struct sigaction initial = { .sa_flags = 0 };
	raw_sigset_t saved = writer_begin();

	disposition_write(disposition_of(sig), &initial);
	guard_install(sig, &initial);
	writer_end(saved);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction act;
	u8 before = blocked;

	disposition_read(disposition_of(sig), &act);
	/* The kernel does not let a process ignore a fault: it kills the process. */
	if (act.sa_handler == SIG_IGN && !is_synchronous(sig, info))
		return;
	/* A fault whose signal is blocked kills the process, too. */
	if (!is_function(&act) || (before & guard_bit(sig) && is_synchronous(sig, info))) {
		die_by(sig, info);
		return;
	}
	if (act.sa_flags & (int)SA_RESETHAND)
		reset_handler(sig);
	blocked = before | host_guard_bits(&act.sa_mask) |
		  (act.sa_flags & SA_NODEFER ? 0 : guard_bit(sig));
	act.sa_sigaction(sig, info, context);
	blocked = before;
}

static void guard_handler(int sig, siginfo_t *info, void *context)
{
	if (is_synchronous(sig, info) && repair(info, context))
		return;
	pass_on(sig, info, context);
}

/* ---------------------------------------------------------------- interface */

#ifdef __x86_64__
/*
 * With "enhanced rep movsb" (ERMS), the string instruction is the fastest copy from about 1 KiB on;
 * without it, it may be the slowest.
 */
static void choose_string_copy(void)
{
	enum { FEATURES = 7, EBX_ERMS = 1 << 9, WORTH_IT = 1024 };
	u32 eax = 0, ebx, ecx = 0, edx;

	__asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	if (eax < FEATURES)
		return;
	eax = FEATURES;
	ecx = 0;
	__asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	if (ebx & EBX_ERMS)
		guard_rep_from = WORTH_IT;
}
#else
static void choose_string_copy(void)
{
}
#endif

/* Store the program's current disposition, and install the guard instead. */
static void guard_adopt(int sig)
{
	struct raw_sigaction raw = { .handler = NULL };
	struct sigaction act;

	raw_sigaction(sig, NULL, &raw);
	if (raw.handler == guard_handler)
		return;
	from_raw(&act, &raw);
	disposition_write(disposition_of(sig), &act);
	guard_install(sig, &act);
}

int host_guard_init(void)
{
	const raw_sigset_t both = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
	raw_sigset_t saved;

	if (guard_pid != raw_getpid())
		nic_store(&writing, 0);
	choose_string_copy();
	saved = writer_begin();
	guard_adopt(SIGSEGV);
	guard_adopt(SIGBUS);
	nic_store(&guard_pid, raw_getpid());
	writer_end(saved);
	(void)raw_sigmask(SIG_UNBLOCK, both);
	return 0;
}

/* Pass the call to the kernel: the signal is not guarded, or not in this process. */
static int sigaction_direct(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct raw_sigaction raw_act, raw_old = { .handler = NULL };
	long ret;

	if (act)
		to_raw(&raw_act, act);
	ret = raw_syscall(SYS_rt_sigaction, sig, act ? (long)&raw_act : 0, (long)&raw_old,
			  sizeof(raw_sigset_t), 0, 0);
	if (ret) {
		errno = (int)-ret;
		return -1;
	}
	if (!old)
		return 0;
	from_raw(old, &raw_old);
	if (raw_old.handler == guard_handler)
		disposition_read(disposition_of(sig), old);
	return 0;
}

int host_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct disposition *d = disposition_of(sig);
	/* act and old may be the same object. */
	struct sigaction before;
	raw_sigset_t saved;

	if (!d || nic_load(&guard_pid) != raw_getpid())
		return sigaction_direct(sig, act, old);

	saved = writer_begin();
	before = d->copy[d->generation & 1];
	if (act) {
		disposition_write(d, act);
		guard_install(sig, act);
	}
	writer_end(saved);
	if (old)
		*old = before;
	return 0;
}

void host_guard_filter_mask(sigset_t *set)
{
	(void)sigdelset(set, SIGSEGV);
	(void)sigdelset(set, SIGBUS);
}
