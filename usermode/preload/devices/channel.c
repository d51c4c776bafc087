// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "devices/events.h"

#include <rdma/ib_user_verbs.h>

#include "devices/device.h"
#include "devices/wait.h"

static void drain(void *arg)
{
	wait_drain(*(int *)arg);
}

/*
 * Returns the NIC whose channel this is, or NULL. After the daemon's death, the session that made
 * the entry still has the memory with the last events.
 */
static struct nic *channel_nic(const struct fd_entry *entry, struct session **session)
{
	struct nic *nic;

	if (device_session(entry, session)) {
		*session = entry->session;
		if (session_current() != entry->session)
			return NULL;
	}
	if (entry->nic >= (*session)->nnics)
		return NULL;
	nic = &(*session)->nic[entry->nic]->nic;
	if (entry->number >= nic->max_channel ||
	    nic_load(&nic->channel[entry->number].generation) != entry->generation)
		return NULL;
	return nic;
}

/* There is no event: wait for one. */
static int wait_for_event(int fd, const struct fd_entry *entry, struct nic *nic,
			  struct session *session)
{
	int ret = wait_event(fd, session, nic, entry->number);

	if (ret)
		return ret;
	if (!session_alive(session) || session->ended) {
		/* Flush this process' own requests, which may make the last events. */
		session_ended(session);
		return nic_load(&nic->channel[entry->number].head) == NIC_NONE ? -EIO : 0;
	}
	/*
	 * The announced event may have been removed with its CQ: clear the descriptor if the
	 * channel has no event.
	 */
	(void)nic_channel_clear_stale(nic, entry->number, drain, &fd);
	return 0;
}

long channel_read(int fd, const struct fd_entry *entry, void *buffer, size_t count)
{
	struct ib_uverbs_comp_event_desc event;
	struct session *session;
	struct nic *nic = channel_nic(entry, &session);
	unsigned int turns = 0;
	u64 handle;
	int ret;

	if (!nic)
		return -EIO;
	if (count < sizeof(event))
		return -EINVAL;
	for (;;) {
		switch (nic_channel_take(nic, entry->number, &handle, drain, &fd)) {
		case NIC_OK:
			event.cq_handle = handle;
			if (host_guarded_copy(buffer, &event, sizeof(event)) != NIC_COPY_OK)
				return -EFAULT;
			return sizeof(event);
		case NIC_BUSY:
			ret = wait_for_lock(fd, &turns);
			break;
		default:
			ret = wait_for_event(fd, entry, nic, session);
			break;
		}
		if (ret)
			return ret;
	}
}

static void tell_nic(int fd, void (*needs)(struct nic *nic, u32 channel))
{
	struct session *session;
	struct fd_entry entry;
	struct nic *nic;

	if (!fdtable_get(fd, &entry) || entry.kind != FD_CHANNEL)
		return;
	nic = channel_nic(&entry, &session);
	if (nic)
		needs(nic, entry.number);
}

void channel_needs_edges(int fd)
{
	tell_nic(fd, nic_channel_needs_edges);
}

void channel_needs_signals(int fd)
{
	tell_nic(fd, nic_channel_needs_signals);
}

static void settle(int fd, const struct fd_entry *entry, void *arg)
{
	const struct fd_entry *device = arg;
	struct session *session;
	struct nic *nic = channel_nic(entry, &session);

	if (nic && session == device->session)
		(void)nic_channel_clear_stale(nic, entry->number, drain, &fd);
}

void channels_clear_stale(const struct fd_entry *device)
{
	fdtable_each(FD_CHANNEL, settle, (void *)(uintptr_t)device);
}
