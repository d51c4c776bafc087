// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the program's SIGSEGV and SIGBUS handlers and masks. They work as without the device,
 * and the device works whatever they are.
 */
#define _GNU_SOURCE
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t caught;
static char *volatile nowhere;

static void on_fault(int sig)
{
	caught = sig;
	siglongjmp(back, 1);
}

static void DELIBERATE fault(void)
{
	caught = 0;
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	EXPECT(caught == SIGSEGV);
}

/* An RDMA write to unmapped memory must end with a completion, not with a signal. */
static void write_to_nothing(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct pair pair;
	char *target;

	pair_make(&pair);
	target = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = ibv_reg_mr(pair.pd, target, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(mr);
	munmap(target, 4096);
	sge = (struct ibv_sge){ .addr = (uintptr_t)pair.buffer,
				.length = 4096,
				.lkey = pair.mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)target;
	wr.wr.rdma.rkey = mr->rkey;
	caught = 0;
	EXPECT(!ibv_post_send(pair.qp[0], &wr, &bad));
	EXPECT(pair_poll(&pair) == IBV_WC_REM_ACCESS_ERR || caught == 0);
	EXPECT(!caught);
	ibv_dereg_mr(mr);
	pair_end(&pair);
}

static void handler_before(void)
{
	struct sigaction act = { .sa_handler = on_fault }, old;

	sigfillset(&act.sa_mask);
	EXPECT(!sigaction(SIGSEGV, &act, NULL));
	fault();
	write_to_nothing();
	fault();
	EXPECT(!sigaction(SIGSEGV, NULL, &old) && old.sa_handler == on_fault);
}

static void handler_after(void)
{
	struct ibv_context *context = open_first();
	struct sigaction old;

	EXPECT(signal(SIGSEGV, SIG_DFL) == on_fault);
	EXPECT(signal(SIGSEGV, on_fault) == SIG_DFL);
	EXPECT(!sigaction(SIGSEGV, NULL, &old) && (old.sa_flags & SA_RESTART));
	fault();
	write_to_nothing();
	fault();
	ibv_close_device(context);
}

/* The program sees blocked signals as blocked, and the device works all the same. */
static void blocked(void)
{
	sigset_t all, before, now;

	sigfillset(&all);
	EXPECT(!pthread_sigmask(SIG_SETMASK, &all, &before));
	EXPECT(!sigismember(&before, SIGSEGV));
	EXPECT(!sigprocmask(SIG_BLOCK, NULL, &now));
	EXPECT(sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS) &&
	       sigismember(&now, SIGUSR1));
	write_to_nothing();
	EXPECT(!sigprocmask(SIG_SETMASK, &before, &now));
	EXPECT(sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS));
	EXPECT(!sigprocmask(SIG_BLOCK, NULL, &now));
	EXPECT(!sigismember(&now, SIGSEGV) && !sigismember(&now, SIGBUS));
}

static void uses_device(int sig)
{
	write_to_nothing();
	caught = 1;
}

/* Uses the device in a handler that blocks all other signals. */
static void in_handler(void)
{
	struct sigaction act = { .sa_handler = uses_device };

	sigfillset(&act.sa_mask);
	EXPECT(!sigaction(SIGUSR1, &act, NULL));
	raise(SIGUSR1);
	EXPECT(caught == 1);
}

static jmp_buf unmasked_back;

static void on_fault_jump(int sig)
{
	caught = sig;
	longjmp(unmasked_back, 1);
}

/*
 * As without the device, longjmp() out of a handler leaves its signal blocked. The program sees
 * that, and a further fault of its own ends it. Faults of the device's copies are handled all the
 * same.
 */
static void DELIBERATE left_blocked(void)
{
	struct sigaction act = { .sa_handler = on_fault_jump };
	sigset_t now;
	int status;
	pid_t pid;

	EXPECT(!sigaction(SIGSEGV, &act, NULL));
	caught = 0;
	if (!setjmp(unmasked_back))
		*nowhere = 1;
	EXPECT(caught == SIGSEGV);
	EXPECT(!pthread_sigmask(SIG_BLOCK, NULL, &now) && sigismember(&now, SIGSEGV) == 1);
	write_to_nothing();
	pid = fork();
	if (pid == 0) {
		if (!setjmp(unmasked_back))
			*nowhere = 1;
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	sigemptyset(&now);
	sigaddset(&now, SIGSEGV);
	EXPECT(!pthread_sigmask(SIG_UNBLOCK, &now, NULL));
	caught = 0;
	if (!setjmp(unmasked_back))
		*nowhere = 1;
	EXPECT(caught == SIGSEGV && !pthread_sigmask(SIG_UNBLOCK, &now, NULL));
}

/* As without the device, a fault without a handler ends the program. */
static void DELIBERATE default_ends(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*nowhere = 1;
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void)
{
	handler_before();
	handler_after();
	blocked();
	in_handler();
	left_blocked();
	default_ends();
	return 0;
}
