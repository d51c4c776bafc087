// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Preloaded into traced programs: reports waits for completion events to the provider. The
 * provider's hook is called before the program sleeps. libibverbs itself informs the provider only
 * of events that have arrived.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "vnet_trace.h"

#define EXPORT __attribute__((visibility("default")))

struct ibv_cq;
/* The part of libibverbs' structure that is needed here. */
struct ibv_comp_channel {
	void *context;
	int fd;
};

EXPORT extern vnet_trace_wait_fn VNET_TRACE_WAIT_HOOK;
vnet_trace_wait_fn VNET_TRACE_WAIT_HOOK;

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
int __poll_chk(struct pollfd *fds, nfds_t nfds, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		const sigset_t *mask, size_t size);

static void tell(int fd, int alone)
{
	vnet_trace_wait_fn hook = __atomic_load_n(&VNET_TRACE_WAIT_HOOK, __ATOMIC_ACQUIRE);

	if (hook && fd >= 0)
		hook(fd, alone);
}

/*
 * Returns the next definition of the function, also if its library was loaded with local scope
 * (RTLD_LOCAL).
 */
static void *next(const char *name, const char *library)
{
	void *function = dlsym(RTLD_NEXT, name), *handle;

	if (function || !library)
		return function;
	handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	return handle ? dlsym(handle, name) : NULL;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	static int (*real)(struct ibv_comp_channel *, struct ibv_cq **, void **);
	int flags = fcntl(channel->fd, F_GETFL);

	if (!real)
		real = next("ibv_get_cq_event", "libibverbs.so.1");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	/* A non-blocking read of a channel whose CQ is not armed is no mistake. */
	if (flags >= 0 && !(flags & O_NONBLOCK))
		tell(channel->fd, 1);
	return real(channel, cq, cq_context);
}

static void tell_all(const struct pollfd *fds, nfds_t nfds)
{
	nfds_t i;

	for (i = 0; i < nfds; i++)
		if (fds[i].events & POLLIN)
			tell(fds[i].fd, nfds == 1);
}

EXPORT int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	static int (*real)(struct pollfd *, nfds_t, int);

	if (!real)
		real = next("poll", NULL);
	if (timeout)
		tell_all(fds, nfds);
	return real(fds, nfds, timeout);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t nfds, int timeout, size_t size)
{
	static int (*real)(struct pollfd *, nfds_t, int, size_t);

	if (!real)
		real = next("__poll_chk", NULL);
	if (timeout)
		tell_all(fds, nfds);
	return real(fds, nfds, timeout, size);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		 const sigset_t *mask)
{
	static int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

	if (!real)
		real = next("ppoll", NULL);
	if (!timeout || timeout->tv_sec || timeout->tv_nsec)
		tell_all(fds, nfds);
	return real(fds, nfds, timeout, mask);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		       const sigset_t *mask, size_t size)
{
	static int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
			   size_t);

	if (!real)
		real = next("__ppoll_chk", NULL);
	if (!timeout || timeout->tv_sec || timeout->tv_nsec)
		tell_all(fds, nfds);
	return real(fds, nfds, timeout, mask, size);
}
