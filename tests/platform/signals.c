// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The program's own dispositions of SIGSEGV and SIGBUS behind the guard. A fault outside of a
 * guarded copy is handled as without the guard.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "world.h"

static u8 *bad;
static volatile sig_atomic_t calls;

/* A fault that sanitizers do not detect. */
static void fault(void)
{
#if defined(__x86_64__)
	__asm__ volatile("movb $1, (%0)" : : "r"(bad) : "memory");
#else
	__asm__ volatile("strb wzr, [%0]" : : "r"(bad) : "memory");
#endif
}

static void guard_works(void)
{
	u8 byte = 0;

	CHECK_EQUAL(host_guarded_copy(bad, &byte, 1), NIC_COPY_DST_FAULT);
	CHECK_EQUAL(host_guarded_copy(&byte, bad, 1), NIC_COPY_SRC_FAULT);
}

static void open_page(void)
{
	CHECK(mprotect(bad, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void shut_page(void)
{
	CHECK(mprotect(bad, PAGE, PROT_NONE) == 0);
}

static void on_fault(int sig)
{
	CHECK_EQUAL(sig, SIGSEGV);
	calls++;
	open_page();
}

static void set(int sig, void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

	CHECK_EQUAL(host_guard_sigaction(sig, &act, NULL), 0);
}

/* Exit status of a child that executes this function. */
static int status_of(void (*act)(void))
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		CHECK_EQUAL(host_guard_init(), 0);
		act();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static bool dies_by(int sig, void (*act)(void))
{
	int status = status_of(act);

	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

static bool survives(void (*act)(void))
{
	return status_of(act) == 0;
}

/* ---------------------------------------------------------------- no handler */

static void fault_with_default(void)
{
	set(SIGSEGV, SIG_DFL, 0);
	guard_works();
	fault();
}

static void fault_while_ignored(void)
{
	set(SIGSEGV, SIG_IGN, 0);
	guard_works();
	fault();
}

static void sent_with_default(void)
{
	set(SIGSEGV, SIG_DFL, 0);
	guard_works();
	kill(getpid(), SIGSEGV);
}

static void bus_sent_with_default(void)
{
	set(SIGBUS, SIG_DFL, 0);
	raise(SIGBUS);
}

static void sent_while_ignored(void)
{
	set(SIGSEGV, SIG_IGN, 0);
	set(SIGBUS, SIG_IGN, 0);
	kill(getpid(), SIGSEGV);
	raise(SIGBUS);
	guard_works();
}

static void no_handler(void)
{
	CHECK(dies_by(SIGSEGV, fault_with_default));
	CHECK(dies_by(SIGSEGV, fault_while_ignored));
	CHECK(dies_by(SIGSEGV, sent_with_default));
	CHECK(dies_by(SIGBUS, bus_sent_with_default));
	CHECK(survives(sent_while_ignored));
}

/* ------------------------------------------------------------------ handlers */

static void own_handler(void)
{
	set(SIGSEGV, on_fault, 0);
	guard_works();
	CHECK_EQUAL(calls, 0);
	fault();
	CHECK_EQUAL(calls, 1);
	shut_page();
	guard_works();
	fault();
	CHECK_EQUAL(calls, 2);
	shut_page();
	raise(SIGSEGV);
	CHECK_EQUAL(calls, 3);
}

static bool is_frame(const void *pc)
{
	void *frame[32];
	int n = backtrace(frame, ARRAY_SIZE(frame));

	for (int i = 0; i < n; i++)
		if (frame[i] == pc)
			return true;
	return false;
}

static void on_fault_info(int sig, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;

	CHECK_EQUAL(sig, SIGSEGV);
	CHECK(info->si_addr == bad);
	/* Unwinders find the frames below the signal frame. */
#if defined(__x86_64__)
	CHECK(is_frame((void *)m->gregs[REG_RIP]));
#else
	CHECK(is_frame((void *)m->pc));
#endif
	calls++;
	open_page();
}

static void handler_with_info(void)
{
	struct sigaction act = { .sa_sigaction = on_fault_info, .sa_flags = SA_SIGINFO };

	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, &act, NULL), 0);
	fault();
	CHECK_EQUAL(calls, 1);
}

static void reset_after_one(void)
{
	struct sigaction now;

	set(SIGSEGV, on_fault, SA_RESETHAND);
	fault();
	CHECK_EQUAL(calls, 1);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, NULL, &now), 0);
	CHECK(now.sa_handler == SIG_DFL);
	shut_page();
	guard_works();
	fault();
}

static void reset_hand(void)
{
	CHECK(dies_by(SIGSEGV, reset_after_one));
}

static sigset_t seen_mask;
/* Guarded signals that are really blocked, and those that the program sees as blocked. */
static bool really_blocked;
static u8 seen_bits;

static void look_at_mask(int sig)
{
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &seen_mask) == 0);
	really_blocked = sigismember(&seen_mask, SIGSEGV) || sigismember(&seen_mask, SIGBUS);
	seen_bits = host_guard_blocked();
	calls++;
	open_page();
}

static void mask_and_nodefer(void)
{
	struct sigaction act = { .sa_handler = look_at_mask };
	sigset_t after;

	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGUSR1);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, &act, NULL), 0);
	fault();
	CHECK(sigismember(&seen_mask, SIGUSR1) && seen_bits == HOST_GUARD_SEGV);
	CHECK(!sigismember(&seen_mask, SIGUSR2) && !really_blocked);

	shut_page();
	act.sa_flags = SA_NODEFER;
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, &act, NULL), 0);
	fault();
	CHECK(sigismember(&seen_mask, SIGUSR1) && !seen_bits && !really_blocked);
	CHECK_EQUAL(host_guard_blocked(), 0);

	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
	CHECK(!sigismember(&after, SIGUSR1) && !sigismember(&after, SIGSEGV));
	CHECK_EQUAL(calls, 2);
}

static u8 other_stack[65536];
static bool was_on_other_stack;

static void look_at_stack(int sig)
{
	u8 *here = __builtin_frame_address(0);

	was_on_other_stack = here >= other_stack && here < other_stack + sizeof(other_stack);
	calls++;
	open_page();
}

static void alternate_stack(void)
{
	const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	CHECK(sigaltstack(&stack, NULL) == 0);
	set(SIGSEGV, look_at_stack, 0);
	fault();
	CHECK(!was_on_other_stack);
	shut_page();
	set(SIGSEGV, look_at_stack, SA_ONSTACK);
	fault();
	CHECK(was_on_other_stack);
	shut_page();
	guard_works();
	CHECK_EQUAL(calls, 2);
}

static sigjmp_buf jump;

static void on_fault_jump(int sig)
{
	siglongjmp(jump, sig);
}

static void jump_out(void)
{
	set(SIGSEGV, on_fault_jump, 0);
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(jump, 1) == 0) {
			fault();
			CHECK(false);
		}
		/* After a jump out of the handler, copies work, and the jump sets the mask. */
		guard_works();
		CHECK_EQUAL(host_guard_blocked(), HOST_GUARD_SEGV);
		host_guard_block(0);
	}
}

static void copy_in_handler(int sig)
{
	guard_works();
	calls++;
	open_page();
}

/* A handler that makes a guarded copy which faults; the signal must not be blocked. */
static void guarded_in_handler(void)
{
	set(SIGSEGV, copy_in_handler, SA_NODEFER);
	fault();
	CHECK_EQUAL(calls, 1);
}

/* ----------------------------------------------------------------- interface */

static void answers(void)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_RESTART }, old;

	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGHUP);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, &act, NULL), 0);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, NULL, &old), 0);
	CHECK(old.sa_handler == on_fault);
	CHECK_EQUAL(old.sa_flags & ~0x04000000, SA_RESTART);
	CHECK(sigismember(&old.sa_mask, SIGHUP) && !sigismember(&old.sa_mask, SIGINT));

	act.sa_handler = SIG_IGN;
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, &act, &act), 0);
	CHECK(act.sa_handler == on_fault);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_IGN);

	errno = 0;
	CHECK_EQUAL(host_guard_sigaction(SIGKILL, &old, NULL), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK_EQUAL(host_guard_sigaction(1000, NULL, &old), -1);
}

static void other_signals(void)
{
	struct sigaction old;

	set(SIGUSR1, look_at_mask, 0);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0);
	CHECK(old.sa_handler == look_at_mask);
	open_page();
	raise(SIGUSR1);
	CHECK_EQUAL(calls, 1);
	CHECK(sigismember(&seen_mask, SIGUSR1));
}

/* A vfork()ed child has its own dispositions, but shares memory. */
static void vforked_child(void)
{
	const struct sigaction act = { .sa_handler = SIG_DFL };
	struct sigaction old;
	int status;
	pid_t pid;

	set(SIGSEGV, on_fault, 0);
	pid = vfork();
	if (pid == 0) {
		/* Not POSIX', but what such children do. NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
		int ret = host_guard_sigaction(SIGSEGV, &act, &old);

		_exit(ret || old.sa_handler != on_fault || kill(getpid(), SIGSEGV));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQUAL(host_guard_sigaction(SIGSEGV, NULL, &old), 0);
	CHECK(old.sa_handler == on_fault);
	fault();
	CHECK_EQUAL(calls, 1);
}

static void forked_child(void)
{
	set(SIGSEGV, on_fault, 0);
	CHECK(survives(own_handler));
}

/* Dispositions that a runtime set before the guard was installed. */
static void adopted(void)
{
	struct sigaction act = { .sa_handler = on_fault };

	CHECK(sigaction(SIGSEGV, &act, NULL) == 0);
	CHECK_EQUAL(host_guard_init(), 0);
	guard_works();
	CHECK_EQUAL(calls, 0);
	fault();
	CHECK_EQUAL(calls, 1);
	shut_page();
	CHECK_EQUAL(host_guard_init(), 0);
	guard_works();
	fault();
	CHECK_EQUAL(calls, 2);
}

static void *blocked_thread(void *arg)
{
	sigset_t set_;

	sigfillset(&set_);
	host_guard_filter_mask(&set_);
	CHECK(pthread_sigmask(SIG_SETMASK, &set_, NULL) == 0);
	guard_works();
	return arg;
}

static void filtered_mask(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, blocked_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void blocked_at_start(void)
{
	sigset_t set_;

	sigfillset(&set_);
	CHECK(sigprocmask(SIG_SETMASK, &set_, NULL) == 0);
	CHECK_EQUAL(host_guard_init(), 0);
	guard_works();
}

/* Handlers read the dispositions while a thread changes them. */
static void *change_dispositions(void *arg)
{
	u32 *stop = arg;

	while (!nic_load(stop)) {
		set(SIGSEGV, on_fault, 0);
		set(SIGSEGV, SIG_IGN, 0);
		set(SIGSEGV, SIG_DFL, 0);
	}
	return NULL;
}

static void concurrent(void)
{
	pthread_t thread;
	u32 stop = 0;

	CHECK(pthread_create(&thread, NULL, change_dispositions, &stop) == 0);
	for (int i = 0; i < 20000; i++)
		guard_works();
	nic_store(&stop, 1);
	pthread_join(thread, NULL);
}

static const struct test_case cases[] = {
	{ "no_handler", no_handler },
	{ "own_handler", own_handler },
	{ "handler_with_info", handler_with_info },
	{ "reset_hand", reset_hand },
	{ "mask_and_nodefer", mask_and_nodefer },
	{ "alternate_stack", alternate_stack },
	{ "jump_out", jump_out },
	{ "guarded_in_handler", guarded_in_handler },
	{ "answers", answers },
	{ "other_signals", other_signals },
	{ "vforked_child", vforked_child },
	{ "forked_child", forked_child },
	{ "adopted", adopted },
	{ "filtered_mask", filtered_mask },
	{ "blocked_at_start", blocked_at_start },
	{ "concurrent", concurrent },
};

int main(int argc, char **argv)
{
	bad = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(bad != MAP_FAILED);
	return run_cases(cases, ARRAY_SIZE(cases), argc, argv);
}
