// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Detects, by userfaultfd(2), that memory with a cached registration is unmapped or
 * replaced.
 *
 * Moved memory (mremap) and memory that is given back (madvise) count, too. Paper 004,
 * F125, uses hooks in malloc for this. The kernel can report it: userfaultfd watches a
 * range of addresses, and a system call that removes memory from it does not return before
 * its event has been read. That is exact, and costs nothing while no memory is removed.
 * Wrappers of munmap() and similar functions would miss the calls of the C library itself,
 * of libraries that were loaded with other symbols, and direct system calls, and malloc
 * would have to be forbidden to give memory back.
 *
 * The thread that unmaps sleeps until the event has been read, so another thread must read
 * it. The watch thread starts with the first cached registration, and does nothing else. It
 * reads events with region_lock held. So a thread that takes this lock after memory was
 * removed finds its registration marked. For the same reason, no thread may allocate, free
 * or unmap memory with this lock held: it would wait for the watch thread, which waits for
 * the lock.
 *
 * Registrations of memory that cannot be watched are not cached: memory of files, memory
 * that the program watches itself, and all memory in sandboxes that forbid userfaultfd.
 *
 * A child of fork() is not watched; its copy of the descriptor reports nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "am_region.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/*
 * Marks the registrations that overlap the range stale, so that they are not used again. The
 * caller holds region_lock.
 */
static void mark_stale(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	for (struct am_region *r = device->regions; r; r = r->next) {
		if (r->begin >= end || begin >= r->end)
			continue;
		r->stale = true;
		device->regions_stale = true;
		__atomic_fetch_add(&device->regions_gone, 1, __ATOMIC_RELAXED);
	}
}

/* Handles an event. The caller holds region_lock. */
static void memory_gone(struct am_device *device, const struct uffd_msg *message)
{
	switch (message->event) {
	case UFFD_EVENT_REMOVE:
	case UFFD_EVENT_UNMAP:
		mark_stale(device, message->arg.remove.start, message->arg.remove.end);
		break;
	case UFFD_EVENT_REMAP:
		mark_stale(device, message->arg.remap.from,
			   message->arg.remap.from + message->arg.remap.len);
		break;
	}
}

static void *watch(void *arg)
{
	struct am_device *device = arg;
	struct pollfd fds[2] = { { .fd = device->watch.fd, .events = POLLIN },
				 { .fd = device->watch.end, .events = POLLIN } };
	struct uffd_msg message;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		pthread_mutex_lock(&device->region_lock);
		/*
		 * Before the event is read: the unmapping thread continues as soon as it
		 * has been read, and may check this counter only, without the lock.
		 */
		__atomic_fetch_add(&device->regions_gone, 1, __ATOMIC_SEQ_CST);
		while (read(device->watch.fd, &message, sizeof(message)) == sizeof(message))
			memory_gone(device, &message);
		pthread_mutex_unlock(&device->region_lock);
		if (fds[1].revents)
			break;
	}
	/*
	 * The descriptor is closed here, not in am_watch_close(). When this thread exits,
	 * it frees memory, which may be watched, and nobody would read that event. Closing
	 * it also releases threads that wait for an event to be read.
	 */
	close(device->watch.fd);
	return NULL;
}

static int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
					      UFFD_FEATURE_EVENT_REMAP };
	/* UFFD_USER_MODE_ONLY needs no privilege. Faults in kernel mode are not needed. */
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (!ioctl(fd, UFFDIO_API, &api))
		return fd;
	close(fd);
	return -1;
}

/*
 * Starts the watch thread, with a small stack, and with all signals blocked: they are for
 * the program's threads.
 */
static int start_thread(struct am_device *device)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&device->watch.thread, &attr, watch, device);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(device->watch.thread, "am-watch");
	return err;
}

void am_watch_open(struct am_device *device)
{
	device->watch.fd = open_userfaultfd();
	if (device->watch.fd < 0)
		return;
	device->watch.end = eventfd(0, EFD_CLOEXEC);
	if (device->watch.end < 0)
		goto close_fd;
	if (!start_thread(device))
		return;
	close(device->watch.end);
close_fd:
	close(device->watch.fd);
	device->watch.fd = -1;
}

void am_watch_close(struct am_device *device)
{
	if (device->watch.fd < 0)
		return;
	eventfd_write(device->watch.end, 1);
	pthread_join(device->watch.thread, NULL);
	close(device->watch.end);
	device->watch.fd = -1;
}

/*
 * Watching needs registration for some kind of fault. Write-protect faults never occur,
 * because no page is write-protected through this userfaultfd.
 */
bool am_watch_add(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	struct uffdio_register range = { .range = { .start = begin, .len = end - begin },
					 .mode = UFFDIO_REGISTER_MODE_WP };

	return device->watch.fd >= 0 && !ioctl(device->watch.fd, UFFDIO_REGISTER, &range);
}

/* Parts of the range may have been unmapped; they are not watched any more. */
void am_watch_remove(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	struct uffdio_range range = { .start = begin, .len = end - begin };

	if (device->watch.fd >= 0)
		ioctl(device->watch.fd, UFFDIO_UNREGISTER, &range);
}
