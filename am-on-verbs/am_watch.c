// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tells when memory whose registration is kept goes away: unmapped, moved, given
 * back or mapped over, by whomever. (Paper 004, F125, has hooks in malloc for it.)
 *
 * The kernel tells: userfaultfd(2) watches a range of addresses, and a call that
 * takes memory out of it does not return before its event has been read. That is
 * exact, and costs nothing as long as nothing goes away. Functions of the library
 * in place of munmap() and its like would not see the C library's own calls, those
 * of a library that was loaded with other symbols, or those without the C library,
 * and would have to forbid malloc to give memory back.
 *
 * Who unmaps sleeps until the event is read, so that only another thread can read
 * it: one that begins with the first registration that is kept, and does nothing
 * else. It reads with the lock held that guards the registrations. So whoever
 * takes that lock after memory has gone finds its registration marked. In return
 * nothing may be allocated, freed or unmapped under that lock.
 *
 * What cannot be watched is not kept: memory of files, memory that the program
 * watches itself, and everything where a sandbox forbids userfaultfd.
 *
 * A child of fork() is not watched, and its copy of the descriptor tells nothing.
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

#include "am_device.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* Of an event; the lock is held. */
static void memory_gone(struct am_device *device, const struct uffd_msg *message)
{
	switch (message->event) {
	case UFFD_EVENT_REMOVE:
	case UFFD_EVENT_UNMAP:
		am_regions_gone(device, message->arg.remove.start, message->arg.remove.end);
		break;
	case UFFD_EVENT_REMAP:
		am_regions_gone(device, message->arg.remap.from,
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
		/* Before: who unmapped goes on as soon as it is read, and may look at this only. */
		__atomic_fetch_add(&device->regions_gone, 1, __ATOMIC_SEQ_CST);
		while (read(device->watch.fd, &message, sizeof(message)) == sizeof(message))
			memory_gone(device, &message);
		pthread_mutex_unlock(&device->region_lock);
		if (fds[1].revents)
			break;
	}
	/*
	 * Here, not where the device is closed: this thread gives back memory of its own
	 * when it ends, which may be watched, and there would be nobody to read of that.
	 * Who waits for an event to be read is let go.
	 */
	close(device->watch.fd);
	return NULL;
}

static int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
					      UFFD_FEATURE_EVENT_REMAP };
	/* Faults of the kernel are not wanted, and so it needs no privilege. */
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (!ioctl(fd, UFFDIO_API, &api))
		return fd;
	close(fd);
	return -1;
}

/* The thread has a small stack, and takes no signal: those are the program's. */
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
 * To watch is to register for faults of one kind or another. Those of pages that
 * were protected by userfaultfd itself do not happen: nobody protects any.
 */
bool am_watch_add(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	struct uffdio_register range = { .range = { .start = begin, .len = end - begin },
					 .mode = UFFDIO_REGISTER_MODE_WP };

	return device->watch.fd >= 0 && !ioctl(device->watch.fd, UFFDIO_REGISTER, &range);
}

/* Parts that have gone are not watched any more, and need not be there. */
void am_watch_remove(struct am_device *device, uintptr_t begin, uintptr_t end)
{
	struct uffdio_range range = { .start = begin, .len = end - begin };

	if (device->watch.fd >= 0)
		ioctl(device->watch.fd, UFFDIO_UNREGISTER, &range);
}
