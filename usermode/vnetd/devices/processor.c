// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC processor: runs the firmware for pending queue pairs and collects asynchronous events.
 * It runs when it is kicked and while work is pending; otherwise it sleeps without a timeout.
 */
#include <sys/epoll.h>
#include <sys/uio.h>

#include "daemon.h"
#include "devices.h"
#include "link/link.h"
#include "loop/loop.h"
#include "uverbs/uverbs.h"

/*
 * Shortest pause between two rounds, however much is pending. It leaves time for other sources of
 * the loop, and for processes that poll and execute their own requests faster.
 */
#define LEAST_PAUSE (50 * NSEC_PER_USEC)

/*
 * A kick raises an edge, so reading the eventfd is not required for the next edge. The eventfd is
 * read nevertheless, because a full counter accepts no more kicks. RWF_NOWAIT, because clients
 * share the file description and can clear O_NONBLOCK.
 */
static void kicked(struct source *source, u32 events)
{
	u64 count;
	struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };

	(void)events;
	if (preadv2(source->fd, &iov, 1, -1, RWF_NOWAIT) < 0)
		count = 0;
	container_of(source, struct nic_device, kick)->run_at = 0;
}

int processor_init(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct source *kick = &daemon->device[i]->kick;
		int error;

		kick->ready = kicked;
		error = loop_add(&daemon->loop, kick, EPOLLIN | EPOLLET);
		if (error)
			return error;
	}
	return 0;
}

static void run_pending(struct nic_device *device, u64 now)
{
	struct nic *nic = &device->device.nic;
	u64 next;

	if (device->run_at == NEVER && !nic_has_work(nic))
		return;
	if (device->run_at != NEVER && device->run_at > now)
		return;
	device->run_at = NEVER;
	/* Receive frames first: an acknowledgement may have arrived before its timer is handled. */
	link_receive_now(device);
	if (nic_run(nic, nic_budget(nic), &next)) {
		/* `next` is in units of the NIC's clock. */
		u64 at = plat_clock(), pause = next > at ? next - at : 0;

		if (pause > NSEC_PER_MSEC)
			pause = NSEC_PER_MSEC;
		device->run_at = clock_now() + (pause > LEAST_PAUSE ? pause : LEAST_PAUSE);
	}
}

/*
 * Sets the sleep flag. Returns false if work or events have appeared meanwhile. Pairs with
 * nic_pend() and nic_raise_*().
 */
static bool go_to_sleep(struct nic_device *device)
{
	const struct nic *nic = &device->device.nic;
	bool dozes = device->run_at != NEVER;

	nic_store(&nic->hdr->processor_sleeps, dozes ? NIC_DOZES : NIC_SLEEPS);
	/* Store the flag before the last check. Posters set their bit before they read the flag. */
	nic_barrier();
	return !nic_load(&nic->hdr->async_any) && (dozes || !nic_has_work(nic));
}

u64 processor_run(struct daemon *daemon, u64 now)
{
	u64 deadline = NEVER;

	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct nic_device *device = daemon->device[i];

		if (nic_load(&device->device.nic.hdr->async_any))
			uverbs_collect_async(&device->device);
		run_pending(device, now);
		deadline = earlier(deadline, device->run_at);
		if (!go_to_sleep(device))
			deadline = now;
	}
	return deadline;
}

void processor_awake(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		nic_store(&daemon->device[i]->device.nic.hdr->processor_sleeps, NIC_AWAKE);
}
