// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events, including the device's failure when the daemon dies. */
#define _GNU_SOURCE
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "devices/device.h"
#include "devices/events.h"
#include "devices/wait.h"
#include "session/control.h"

/* IBV_EVENT_DEVICE_FATAL of enum ibv_event_type. */
#define EVENT_DEVICE_FATAL 8

/* Get the oldest event from the daemon; -EAGAIN: there is none. */
static int ask_event(const struct fd_entry *entry, struct session *session,
		     struct ib_uverbs_async_event_desc *event)
{
	struct vnet_msg_call call = {
		.msg = { .type = VNET_MSG_ASYNC_READ, .length = sizeof(call) },
		.file_id = entry->file_id,
	};
	struct iovec iov = { .iov_base = &call, .iov_len = sizeof(call) };
	struct reply reply;
	int ret = control_request(session, &iov, 1, &reply);

	if (ret)
		return ret;
	control_drop_fds(&reply);
	if (reply.result.error)
		return -(int)reply.result.error;
	if (reply.length < sizeof(reply.result) + sizeof(*event))
		return -EPROTO;
	memcpy(event, reply.bytes + sizeof(reply.result), sizeof(*event));
	return 0;
}

/* The daemon is dead: IBV_EVENT_DEVICE_FATAL is the last event, and is reported once. */
static int last_event(const struct fd_entry *entry, struct ib_uverbs_async_event_desc *event)
{
	if (session_current() == entry->session)
		session_ended(entry->session);
	if (!fdtable_mark_ended(entry))
		return -EIO;
	memset(event, 0, sizeof(*event));
	event->event_type = EVENT_DEVICE_FATAL;
	return 0;
}

static int next_event(int fd, const struct fd_entry *entry,
		      struct ib_uverbs_async_event_desc *event)
{
	struct session *session;
	int ret;

	do {
		if (!session_alive(entry->session))
			return last_event(entry, event);
		ret = device_session(entry, &session);
		if (!ret)
			ret = wait_readable(fd, session);
		if (ret)
			return ret;
		/*
		 * Drain before asking: the daemon makes the descriptor readable again if events are
		 * left.
		 */
		wait_drain(fd);
		ret = ask_event(entry, session, event);
	} while (ret == -EAGAIN || (ret == -EIO && !session_alive(entry->session)));
	return ret;
}

long async_read(int fd, const struct fd_entry *entry, void *buffer, size_t count)
{
	struct ib_uverbs_async_event_desc event;
	int ret;

	if (count < sizeof(event))
		return -EINVAL;
	ret = next_event(fd, entry, &event);
	if (ret)
		return ret;
	if (host_guarded_copy(buffer, &event, sizeof(event)) != NIC_COPY_OK)
		return -EFAULT;
	return sizeof(event);
}
