// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "fd.h"
#include "host.h"
#include "link.h"
#include "raw.h"
#include "token.h"
#include "window.h"

/* ---------------------------------------------------------- simple functions */

void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	u64 within = offset - nic->off_queue;

	if (unlikely(offset < nic->off_queue || within > nic->queue_bytes ||
		     length > nic->queue_bytes - within || offset % sizeof(u64)))
		return NULL;
	return (u8 *)nic->hdr + offset;
}

u64 plat_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	u8 *at = bytes;

	(void)nic;
	/*
	 * getrandom(2) returns up to 256 bytes without interruption; longer requests may be cut
	 * short.
	 */
	while (length) {
		u32 some = length < 256 ? length : 256;
		long n = raw_syscall(SYS_getrandom, (long)at, some, 0, 0, 0, 0);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		length -= (u32)n;
	}
	return true;
}

/*
 * The program may have closed the descriptor and reused its number for a file of its own, which
 * would get the eight bytes. A file without an inode of its own, such as an eventfd, has no file
 * type.
 */
static bool is_eventfd(int fd)
{
	struct stat st = { 0 };

	return raw_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 && !(st.st_mode & S_IFMT);
}

void plat_kick(struct nic *nic)
{
	const struct host *host = nic->host;
	const u64 one = 1;
	int fd = nic_load(&host->kick_fd);

	if (!is_eventfd(fd))
		return;
	/* EAGAIN (the counter is full) is no error: vnetd wakes up anyway. */
	(void)raw_syscall(SYS_write, fd, (long)&one, sizeof(one), 0, 0, 0);
}

void plat_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* The kernel preempts threads and delivers signals at any time. */
bool plat_yield(struct nic *nic)
{
	(void)nic;
	return true;
}

/* ------------------------------------------------------------ begin and end */

/* Does the kernel permit process_vm_readv() at all? Reads a byte of our own memory. */
static bool probe_process_vm(void)
{
	u8 from = 1, to = 0;
	const struct iovec local = { .iov_base = &to, .iov_len = 1 };
	const struct iovec remote = { .iov_base = &from, .iov_len = 1 };

	return raw_process_vm(false, raw_getpid(), &local, 1, &remote, 1) == 1;
}

/*
 * A kick must not block, even if a process has written a large value into the counter. The flag
 * belongs to the open file, so it holds for all processes.
 */
static int make_nonblocking(int fd)
{
	long flags = raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);

	if (flags < 0)
		return (int)flags;
	if (flags & O_NONBLOCK)
		return 0;
	return (int)raw_syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK, 0, 0, 0);
}

/* Zeroed memory that is not allocated until it is touched. */
static void *map_lazily(size_t length)
{
	return raw_mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

static size_t channel_bytes(const struct nic *nic)
{
	return nic->max_channel * sizeof(struct host_fd);
}

/* Store this process' token in the client table, where peers find it. */
static void publish_token(struct host *host)
{
	u32 slot = host_space_slot(host->nic->space);

	if (host->nic->space == NIC_SPACE_POINTER || slot >= host->nspaces)
		return;
	/* Release: pairs with the acquire in identify(). */
	nic_store_release(&host->client[slot].token, token_own());
}

/* Let nic->one_thread point to the C library's flag, which glibc has since 2.32. */
static void find_thread_flag(struct nic *nic)
{
	const char *flag = dlsym(RTLD_DEFAULT, "__libc_single_threaded");

	if (flag)
		nic->one_thread = flag;
}

int host_init(struct host *host, struct nic *nic)
{
	u32 max = nic_load(&nic->hdr->config.max_client);

	host->nic = nic;
	host->bounce_busy = 0;
	host->link = (struct host_link){ .fd = -1 };
	host->nspaces = max < HOST_MAX_CLIENTS ? max : HOST_MAX_CLIENTS;
	for (u32 i = 0; i < HOST_MAX_CLIENTS; i++)
		host_fd_init(&host->space[i].mem);
	pthread_mutex_init(&host->lock, NULL);

	if (make_nonblocking(host->kick_fd))
		return -EBADF;
	host->channel = map_lazily(channel_bytes(nic));
	if (!host->channel)
		return -ENOMEM;
	for (u32 i = 0; i < nic->max_channel; i++)
		host_fd_init(&host->channel[i]);
	host->window = map_lazily(HOST_WINDOWS * sizeof(struct host_window));
	if (!host->window)
		return -ENOMEM;
	host->bounce = map_lazily(HOST_BOUNCE_SIZE);
	host->process_vm = probe_process_vm();
	nic->host = host;
	nic->fetches = &nic->hdr->fetches;
	find_thread_flag(nic);
	publish_token(host);
	return 0;
}

void host_fini(struct host *host)
{
	for (u32 i = 0; i < HOST_MAX_CLIENTS; i++)
		host_fd_close(&host->space[i].mem);
	for (u32 i = 0; host->channel && i < host->nic->max_channel; i++)
		host_fd_close(&host->channel[i]);
	if (host->channel)
		raw_munmap(host->channel, channel_bytes(host->nic));
	if (host->bounce)
		raw_munmap(host->bounce, HOST_BOUNCE_SIZE);
	if (host->window) {
		window_drop(host, 0);
		raw_munmap(host->window, HOST_WINDOWS * sizeof(struct host_window));
	}
	host->window = NULL;
	host->channel = NULL;
	host->bounce = NULL;
	link_close(host);
}

/* The lock may be held by a thread that a signal handler has interrupted: do not wait for it. */
void host_drop_all(struct host *host)
{
	if (pthread_mutex_trylock(&host->lock))
		return;
	for (u32 i = 0; i < host->nspaces; i++)
		(void)host_fd_clear(&host->space[i].mem);
	for (u32 i = 0; i < host->nic->max_channel; i++)
		(void)host_fd_clear(&host->channel[i]);
	window_drop(host, 0);
	pthread_mutex_unlock(&host->lock);
}

static struct host_fd *find_cached(struct host *host, int fd)
{
	for (u32 i = 0; i < host->nspaces; i++)
		if (nic_load(&host->space[i].mem.fd) == fd)
			return &host->space[i].mem;
	for (u32 i = 0; i < host->nic->max_channel; i++)
		if (nic_load(&host->channel[i].fd) == fd)
			return &host->channel[i];
	return NULL;
}

int host_vacate(struct host *host, int fd)
{
	struct host_fd *cached;
	int ret = 0;

	pthread_mutex_lock(&host->lock);
	cached = find_cached(host, fd);
	if (cached && !host_fd_retire(cached))
		ret = -EBUSY;
	pthread_mutex_unlock(&host->lock);
	return ret;
}
