// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Brings absent pages of clients into memory. A thread that touches a page of a file blocks until
 * the file's server has sent the page; neither a signal nor the death of the page's owner ends
 * that. So the daemon, which has one thread, never touches such a page. It starts a process,
 * vnetd-pager, that reads one byte of each page. Of the daemon's descriptors, this process keeps
 * only the client's memory, so no other process waits for it while it blocks. The pager writes a
 * byte to a pipe when all pages are present; end of file without a byte means that they cannot be
 * brought.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon.h"
#include "loop/loop.h"
#include "process/process.h"

#define NAME "vnetd-pager"
/* Limits of concurrent pagers: in total, and for one client. */
#define MOST 32
#define MOST_OF_ONE 4
/* Limit of bytes that one pager brings. */
#define BLOCK (64ull << 20)

/* A process that brings pages. */
struct pager {
	struct source source;
	struct daemon *daemon;
	u32 space;
	u64 start, end;
	u64 since;
	/* -1: the kernel has no pidfds. */
	int pidfd;
	struct pager *next;
};

/* ------------------------------------------------------------- the process */

/*
 * Reads one byte of a page. process_vm_readv() comes first: it does not hold the client's mmap
 * lock while it waits, so the client can change its mappings. pread() on the descriptor holds
 * that lock, and is used if process_vm_readv() is refused. If the pid was reused, the first call
 * reads a byte of another process, which is discarded.
 */
static bool touch(pid_t pid, int mem, u64 addr)
{
	char byte;
	struct iovec here = { .iov_base = &byte, .iov_len = 1 };
	struct iovec there = { .iov_base = (void *)addr, .iov_len = 1 };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 ||
	       pread(mem, &byte, 1, (off_t)addr) == 1;
}

static void __attribute__((noreturn))
bring_pages(pid_t pid, int mem, int report, u64 start, u64 end)
{
	u64 size = (u64)sysconf(_SC_PAGESIZE);
	sigset_t all;
	char byte = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, NAME);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Move both descriptors to 0 and 1, and close all others. */
	mem = fcntl(mem, F_DUPFD, STDERR_FILENO + 1);
	if (mem < 0 || dup2(report, STDOUT_FILENO) < 0 || dup2(mem, STDIN_FILENO) < 0)
		_exit(1);
	close_all_between(STDERR_FILENO, ~0u);
	for (; start < end; start += size)
		if (!touch(pid, STDIN_FILENO, start))
			_exit(1);
	_exit(write(STDOUT_FILENO, &byte, 1) == 1 ? 0 : 1);
}

/* ------------------------------------------------------- the daemon's side */

static void remember_failure(struct daemon *daemon, const struct pager *pager)
{
	u32 at = daemon->pagers.failures++ % ARRAY_SIZE(daemon->pagers.failure);

	daemon->pagers.failure[at] = (struct pager_failure){
		.space = pager->space,
		.start = pager->start,
		.end = pager->end,
		.since = pager->since,
	};
}

/* Lets the firmware retry queue pairs that wait for pages. */
static void wake_processors(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		daemon->device[i]->run_at = 0;
}

static void free_pager(struct pager *pager)
{
	struct daemon *daemon = pager->daemon;
	struct pager **link = &daemon->pagers.running;

	while (*link != pager)
		link = &(*link)->next;
	*link = pager->next;
	daemon->pagers.nrunning--;
	loop_remove(&daemon->loop, &pager->source, pager);
	close(pager->source.fd);
	if (pager->pidfd >= 0)
		close(pager->pidfd);
}

/*
 * Ends a pager that has finished and frees it. Returns 0 if it brought the pages, -EFAULT if not.
 */
static int end_pager(struct pager *pager)
{
	struct daemon *daemon = pager->daemon;
	char byte;
	bool brought = read(pager->source.fd, &byte, 1) == 1;

	if (!brought)
		remember_failure(daemon, pager);
	free_pager(pager);
	wake_processors(daemon);
	return brought ? 0 : -EFAULT;
}

/*
 * A process that waits for a page may not end until the page arrives. It no longer counts, so that
 * dead clients do not use up the pagers of others.
 */
void pager_client_dead(const struct client *client)
{
	struct pager *pager, *next;

	for (pager = client->daemon->pagers.running; pager; pager = next) {
		next = pager->next;
		if (pager->space != client->space)
			continue;
		if (pager->pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, pager->pidfd, SIGKILL, NULL, 0);
		free_pager(pager);
	}
}

static void pager_ready(struct source *source, u32 events)
{
	(void)events;
	(void)end_pager(container_of(source, struct pager, source));
}

static int fork_pager(struct pager *pager, const struct client *client)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (!pid)
		bring_pages(client->pid, client->mem_fd, fds[1], pager->start, pager->end);
	close(fds[1]);
	pager->pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	pager->source.fd = fds[0];
	pager->source.ready = pager_ready;
	if (pid < 0 || loop_add(&pager->daemon->loop, &pager->source, EPOLLIN) < 0) {
		close(fds[0]);
		if (pager->pidfd >= 0)
			close(pager->pidfd);
		return -EAGAIN;
	}
	return 0;
}

static struct pager *start_pager(const struct client *client, u64 start, u64 end)
{
	struct daemon *daemon = client->daemon;
	struct pager *pager = calloc(1, sizeof(*pager));

	if (!pager)
		return NULL;
	pager->daemon = daemon;
	pager->space = client->space;
	pager->start = start;
	pager->end = end;
	pager->since = plat_clock();
	if (fork_pager(pager, client)) {
		free(pager);
		return NULL;
	}
	pager->next = daemon->pagers.running;
	daemon->pagers.running = pager;
	daemon->pagers.nrunning++;
	return pager;
}

/* Whether a pager is at work on part of this range, or the limits are reached. */
static bool is_busy(const struct client *client, u64 start, u64 end)
{
	const struct pagers *pagers = &client->daemon->pagers;
	u32 own = 0;

	for (const struct pager *p = pagers->running; p; p = p->next) {
		if (p->space != client->space)
			continue;
		if (p->start < end && start < p->end)
			return true;
		own++;
	}
	return own >= MOST_OF_ONE || pagers->nrunning >= MOST;
}

static bool has_failed(const struct client *client, u64 start, u64 end, u64 since)
{
	const struct pagers *pagers = &client->daemon->pagers;

	for (u32 i = 0; i < ARRAY_SIZE(pagers->failure); i++) {
		const struct pager_failure *f = &pagers->failure[i];

		if (f->space == client->space && f->since >= since && f->start < end &&
		    start < f->end)
			return true;
	}
	return false;
}

int pager_bring(struct client *client, u64 addr, u64 length, u64 since, int wait_ms)
{
	u64 size = (u64)sysconf(_SC_PAGESIZE);
	u64 start = addr & ~(size - 1), end = (addr + length + size - 1) & ~(size - 1);
	struct pager *pager;
	struct pollfd look;

	if (client->dead || end <= start)
		return -EFAULT;
	if (end - start > BLOCK)
		end = start + BLOCK;
	if (has_failed(client, start, end, since))
		return -EFAULT;
	if (is_busy(client, start, end))
		return -EAGAIN;
	pager = start_pager(client, start, end);
	if (!pager)
		return -EAGAIN;
	look = (struct pollfd){ .fd = pager->source.fd, .events = POLLIN };
	if (!wait_ms || poll(&look, 1, wait_ms) != 1)
		return -EAGAIN;
	return end_pager(pager);
}
