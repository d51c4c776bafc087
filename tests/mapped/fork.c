// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that a child of fork(), _Fork() or clone() has a private copy of mapped pages, with what
 * was there at the fork: neither process sees what the other writes later, and what a peer writes
 * reaches the parent alone. Children that share the parent's memory see it as ever.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "servant.h"

#define PAGE 4096u
#define LENGTH (600 * PAGE)

enum { MARK_BEFORE = 1, MARK_CHILD, MARK_PARENT, MARK_PEER };

pid_t _Fork(void);

static uint8_t *memory;

static void expect_exit(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void step(int sock, char which)
{
	CHECK_EQ(write(sock, &which, 1), 1);
}

static void await_step(int sock, char which)
{
	char is;

	CHECK_EQ(read(sock, &is, 1), 1);
	CHECK_EQ(is, which);
}

/* The child's part; down and up: pipes from and to the parent. */
static int pipes[2][2];

static void child(void)
{
	CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
	CHECK(!is_mapped(memory));
	await_step(pipes[0][0], 'p');
	/* The parent and the peer have written. */
	CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
	fill(memory, LENGTH, MARK_CHILD);
	step(pipes[1][1], 'c');
	await_step(pipes[0][0], 'e');
	CHECK(is_filled(memory, LENGTH, MARK_CHILD));
}

static pid_t by_fork(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	child();
	_exit(0);
}

static pid_t by_bare_fork(void)
{
	pid_t pid = _Fork();

	if (pid)
		return pid;
	child();
	_exit(0);
}

static int run_child(void *arg)
{
	(void)arg;
	child();
	_exit(0);
}

static pid_t by_clone(void)
{
	static uint8_t stack[65536] __attribute__((aligned(16)));

	return clone(run_child, stack + sizeof(stack), SIGCHLD, NULL);
}

/* A child whose child is tested: the first copy is ordinary memory. */
static pid_t by_forks(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	expect_exit(by_fork());
	_exit(0);
}

static void one_fork(struct servant *v, struct ibv_mr *mr, pid_t (*start)(void))
{
	pid_t pid;

	CHECK_EQ(pipe(pipes[0]), 0);
	CHECK_EQ(pipe(pipes[1]), 0);
	fill(memory, LENGTH, MARK_BEFORE);
	pid = start();
	CHECK(is_mapped(memory));
	CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
	fill(memory, LENGTH, MARK_PARENT);
	CHECK_EQ(servant_write(v, memory, mr, LENGTH / 4, MARK_PEER), IBV_WC_SUCCESS);
	step(pipes[0][1], 'p');
	await_step(pipes[1][0], 'c');
	CHECK(is_filled(memory, LENGTH / 4, MARK_PEER));
	CHECK_EQ(servant_read(v, memory, mr, LENGTH / 4, MARK_PEER), IBV_WC_SUCCESS);
	step(pipes[0][1], 'e');
	expect_exit(pid);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
}

/* A child that shares memory. */
static void share(struct servant *v, const struct ibv_mr *mr)
{
	pid_t pid = vfork();

	/* NOLINTBEGIN(clang-analyzer-unix.Vfork) */
	if (!pid) {
		memory[5] = 77;
		_exit(0);
	}
	/* NOLINTEND(clang-analyzer-unix.Vfork) */
	expect_exit(pid);
	CHECK_EQ(memory[5], 77);
	CHECK_EQ(servant_read_bytes(v, memory + 5, mr, 1, 77), IBV_WC_SUCCESS);
	CHECK_EQ(system("exit 0"), 0);
}

/* Rights that the program has taken away are missing in the child, too. */
static void protected(const struct ibv_mr *mr)
{
	int status;
	pid_t pid;

	(void)mr;
	CHECK_EQ(mprotect(memory + PAGE, PAGE, PROT_READ), 0);
	pid = fork();
	if (!pid) {
		memory[0] = 1;
		memory[2 * PAGE] = 1;
		memory[PAGE] = 1;
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQ(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
}

/* There is no address space for a copy. */
static void limited(void)
{
	struct rlimit was, limit;
	unsigned long pages;
	FILE *file;
	pid_t pid;

	fill(memory, LENGTH, MARK_BEFORE);
	CHECK_EQ(getrlimit(RLIMIT_AS, &was), 0);
	limit = was;
	file = MADE(fopen("/proc/self/statm", "re"));
	CHECK_EQ(fscanf(file, "%lu", &pages), 1);
	CHECK_EQ(fclose(file), 0);
	limit.rlim_cur = (rlim_t)pages * PAGE + LENGTH / 2;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	pid = fork();
	if (!pid) {
		CHECK(!is_mapped(memory));
		CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
		fill(memory, LENGTH, MARK_CHILD);
		_exit(0);
	}
	expect_exit(pid);
	CHECK_EQ(setrlimit(RLIMIT_AS, &was), 0);
	CHECK(is_mapped(memory));
	CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
}

static volatile bool stop;

static int count_until_stop(void *arg)
{
	volatile uint8_t *at = arg;

	while (!stop)
		++*at;
	return 0;
}

/*
 * A process that shares the memory writes to it during a registration. To be called last: no region
 * is mapped afterwards.
 */
static void writes_of_another_process(struct servant *v)
{
	static uint8_t stack[65536] __attribute__((aligned(16)));
	uint8_t *other =
		mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	pid_t pid;

	CHECK(other != MAP_FAILED);
	pid = clone(count_until_stop, stack + sizeof(stack), CLONE_VM | SIGCHLD, other);
	mr = MADE(ibv_reg_mr(v->side.pd, other, LENGTH, SIDE_ACCESS));
	CHECK(!is_mapped(other));
	stop = true;
	expect_exit(pid);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(other, LENGTH), 0);
}

int main(void)
{
	static pid_t (*const ways[])(void) = { by_fork, by_bare_fork, by_clone, by_forks };
	struct ibv_mr *mr;
	struct servant v;

	servant_start(&v);
	memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	mr = ibv_reg_mr(v.side.pd, memory, LENGTH, SIDE_ACCESS);
	CHECK(mr);
	for (unsigned int i = 0; i < 4 * rounds(3, 200); i++)
		one_fork(&v, mr, ways[i % 4]);
	share(&v, mr);
	protected(mr);
	limited();
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	/* Pages stay shared after that, and children still get a copy. */
	fill(memory, LENGTH, MARK_BEFORE);
	CHECK_EQ(pipe(pipes[0]), 0);
	CHECK_EQ(pipe(pipes[1]), 0);
	step(pipes[0][1], 'p');
	step(pipes[0][1], 'e');
	expect_exit(by_fork());
	CHECK(is_filled(memory, LENGTH, MARK_BEFORE));
	writes_of_another_process(&v);
	servant_end(&v);
	return 0;
}
