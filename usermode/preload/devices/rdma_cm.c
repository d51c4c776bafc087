// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of the rdma_cm device file. The daemon answers every command at once, except GET_EVENT:
 * the shim waits for an event on the descriptor, in which a byte shows that there are unread
 * events.
 */
#define _GNU_SOURCE
#include "devices/rdma_cm.h"

#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "devices/device.h"
#include "devices/orphaned_ids.h"
#include "devices/user.h"
#include "devices/wait.h"
#include "session/control.h"

#define CALL_ROOM (VNET_MSG_MAX - sizeof(struct vnet_msg_call))

struct command {
	const void *buffer;
	size_t count;
	struct rdma_ucm_cmd_hdr hdr;
	/* File id of a descriptor inside the command; 0: none. */
	u32 other_file;
};

/* Make one request. Returns what write() returns. */
static long ask(const struct fd_entry *entry, struct session *session, u32 type,
		const struct command *command)
{
	struct vnet_msg_call call = {
		.msg = { .type = type, .length = (u32)(sizeof(call) + command->count) },
		.file_id = entry->file_id,
		.other_file = command->other_file,
		.user_addr = (u64)(unsigned long)command->buffer,
	};
	size_t head = command->count ? sizeof(command->hdr) : 0;
	struct iovec iov[3] = {
		{ .iov_base = &call, .iov_len = sizeof(call) },
		/* The checked copy: the program may have changed the original since. */
		{ .iov_base = (void *)(uintptr_t)&command->hdr, .iov_len = head },
		{ .iov_base = (u8 *)(uintptr_t)command->buffer + head,
		  .iov_len = command->count - head },
	};
	struct reply reply;
	int ret = control_request(session, iov, 3, &reply);

	if (ret)
		return ret;
	/* The event may report that another NIC refuses this one: print why. */
	for (u32 i = 0; i < session->nnics; i++)
		if (session->nic[i]->link)
			link_report_refusals(&session->nic[i]->host);
	control_drop_fds(&reply);
	return reply.result.error ? -(long)reply.result.error : reply.result.value;
}

static long forward(const struct fd_entry *entry, const struct command *command)
{
	struct session *session;
	int ret = device_session(entry, &session);

	return ret ? ret : ask(entry, session, VNET_MSG_WRITE, command);
}

/*
 * Events were removed together with their id: clear the descriptor, and ask the daemon to make it
 * readable again if other events are left.
 */
static void settle(int fd, const struct fd_entry *entry)
{
	static const struct command nothing;
	struct session *session;

	if (device_session(entry, &session))
		return;
	wait_drain(fd);
	(void)ask(entry, session, VNET_MSG_RESIGNAL, &nothing);
}

/* Did another thread close the descriptor? That does not wake a thread that waits on it. */
static bool is_closed(int fd, const struct fd_entry *entry)
{
	struct fd_entry now;

	return !fdtable_get(fd, &now) || now.file_id != entry->file_id;
}

/* ------------------------------------------------- after the daemon's death */

/*
 * After the daemon's death: report RDMA_CM_EVENT_DEVICE_REMOVAL once for each id that is bound to a
 * device, then fail with -EIO.
 */
static long last_event(const struct fd_entry *entry, const struct command *command)
{
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_get_event get;
	size_t size = command->hdr.out < sizeof(event) ? command->hdr.out : sizeof(event);

	if (session_current() == entry->session)
		session_ended(entry->session);
	if (user_copy(&get, (const u8 *)command->buffer + sizeof(command->hdr), sizeof(get)))
		return -EFAULT;
	if (!orphan_removal(entry->session, entry->file_id, &event))
		return -EIO;
	if (user_copy((void *)(uintptr_t)get.response, &event, size))
		return -EFAULT;
	return (long)command->count;
}

static long destroy_orphan(const struct fd_entry *entry, const struct command *command)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id destroy;
	int ret;

	if (command->hdr.out < sizeof(resp))
		return -ENOSPC;
	if (user_copy(&destroy, (const u8 *)command->buffer + sizeof(command->hdr),
		      sizeof(destroy)))
		return -EFAULT;
	ret = orphan_destroy(entry->session, entry->file_id, destroy.id, &resp.events_reported);
	if (ret)
		return ret;
	if (user_copy((void *)(uintptr_t)destroy.response, &resp, sizeof(resp)))
		return -EFAULT;
	return (long)command->count;
}

/* ------------------------------------------------------------------- commands */

static long destroy_id(int fd, const struct fd_entry *entry, const struct command *command)
{
	long ret = forward(entry, command);

	if (ret == -EIO && !session_alive(entry->session))
		return destroy_orphan(entry, command);
	settle(fd, entry);
	return ret;
}

static long get_event(int fd, const struct fd_entry *entry, const struct command *command)
{
	bool waits = !(sys(SYS_fcntl, fd, F_GETFL, 0) & O_NONBLOCK);
	struct session *session;
	long ret;

	/* Report an invalid command before any wait. */
	if (command->hdr.out < offsetof(struct rdma_ucm_event_resp, reserved))
		return -ENOSPC;
	do {
		if (!session_alive(entry->session))
			return last_event(entry, command);
		ret = device_session(entry, &session);
		if (!ret)
			ret = wait_readable(fd, session);
		/* The number may refer to another file by now. */
		if ((!ret || ret == -EBADF) && is_closed(fd, entry))
			return waits ? wait_for_end(session) : -EBADF;
		if (ret)
			return ret;
		/*
		 * Drain before asking: the daemon makes the descriptor readable again if events are
		 * left.
		 */
		wait_drain(fd);
		ret = ask(entry, session, VNET_MSG_WRITE, command);
		if (ret < 0 && waits && is_closed(fd, entry))
			return wait_for_end(session);
	} while (ret == -EAGAIN || (ret == -EIO && !session_alive(entry->session)));
	return ret;
}

static int find_other(struct command *command, struct fd_entry *other)
{
	struct rdma_ucm_migrate_id migrate;
	int ret;

	ret = user_copy(&migrate, (const u8 *)command->buffer + sizeof(command->hdr),
			sizeof(migrate));
	if (ret)
		return ret;
	if (!fdtable_get((int)migrate.fd, other) &&
	    !(device_adopt((int)migrate.fd) && fdtable_get((int)migrate.fd, other)))
		return sys(SYS_fcntl, (int)migrate.fd, F_GETFD) < 0 ? -ENOENT : -EINVAL;
	if (other->kind != FD_RDMA_CM)
		return -EINVAL;
	command->other_file = other->file_id;
	return 0;
}

static long migrate_id(const struct fd_entry *entry, struct command *command)
{
	struct rdma_ucm_migrate_id migrate;
	struct fd_entry other;
	long ret = find_other(command, &other);

	if (!ret)
		ret = forward(entry, command);
	if (ret > 0 && !user_copy(&migrate, (const u8 *)command->buffer + sizeof(command->hdr),
				  sizeof(migrate)))
		settle((int)migrate.fd, &other);
	return ret;
}

long rdma_cm_write(int fd, const struct fd_entry *entry, const void *buffer, size_t count)
{
	struct command command = { .buffer = buffer, .count = count };
	long ret;

	if (count < sizeof(command.hdr) || count > CALL_ROOM)
		return -EINVAL;
	if (user_copy(&command.hdr, buffer, sizeof(command.hdr)))
		return -EFAULT;
	if (command.hdr.in + sizeof(command.hdr) > count)
		return -EINVAL;
	switch (command.hdr.cmd) {
	case RDMA_USER_CM_CMD_GET_EVENT:
		return get_event(fd, entry, &command);
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		return migrate_id(entry, &command);
	case RDMA_USER_CM_CMD_DESTROY_ID:
		return destroy_id(fd, entry, &command);
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		ret = forward(entry, &command);
		settle(fd, entry);
		return ret;
	default:
		return forward(entry, &command);
	}
}
