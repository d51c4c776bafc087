// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * umad device files. Received datagrams, each with its header, are messages in the file's own
 * socket. Datagrams to send go to the daemon as requests, so that errors are returned at once.
 */
#define _GNU_SOURCE
#include "devices/umad.h"

#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <string.h>
#include <sys/socket.h>

#include "devices/device.h"
#include "devices/user.h"
#include "devices/wait.h"
#include "session/control.h"

#define CALL_ROOM (VNET_MSG_MAX - sizeof(struct vnet_msg_call))

/* Make one request. Returns its result. */
static long ask(const struct fd_entry *entry, u32 type, const void *data, size_t length)
{
	struct vnet_msg_call call = {
		.msg = { .type = type, .length = (u32)(sizeof(call) + length) },
		.file_id = entry->file_id,
		.user_addr = (u64)(unsigned long)data,
	};
	struct iovec iov[2] = {
		{ .iov_base = &call, .iov_len = sizeof(call) },
		{ .iov_base = (void *)(uintptr_t)data, .iov_len = length },
	};
	struct session *session;
	struct reply reply;
	int ret = device_session(entry, &session);

	if (!ret)
		ret = control_request(session, iov, 2, &reply);
	if (ret)
		return ret;
	control_drop_fds(&reply);
	return reply.result.error ? -(long)reply.result.error : reply.result.value;
}

/* ----------------------------------------------------------- datagrams, both ways */

/* Size of the next datagram; -EAGAIN: there is none; 0: the daemon is gone. */
static long next_size(int fd)
{
	char byte;

	return sys(SYS_recvfrom, fd, &byte, sizeof(byte), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT, NULL,
		   NULL);
}

long umad_read(int fd, const struct fd_entry *entry, void *buffer, size_t count)
{
	struct session *session;
	long ret;

	if (count < sizeof(struct ib_user_mad_hdr_old))
		return -EINVAL;
	for (;;) {
		ret = device_session(entry, &session);
		if (!ret)
			ret = wait_readable(fd, session);
		if (ret)
			return ret;
		ret = next_size(fd);
		if (ret > (long)count)
			return -EINVAL;
		if (ret > 0)
			ret = sys(SYS_recvfrom, fd, buffer, count, MSG_DONTWAIT, NULL, NULL);
		if (!ret)
			return -EIO;
		/* Another thread may have read the datagram first. */
		if (ret != -EAGAIN)
			return ret;
	}
}

long umad_write(const struct fd_entry *entry, const void *buffer, size_t count)
{
	return count > CALL_ROOM ? -EINVAL : ask(entry, VNET_MSG_WRITE, buffer, count);
}

/* ---------------------------------------------------------------------- ioctl() */

static long ask_ioctl(const struct fd_entry *entry, const struct vnet_umad_ioctl *call)
{
	return ask(entry, VNET_MSG_IOCTL, call, sizeof(*call));
}

/* Register an agent. If its id cannot be written to the program's memory, undo the registration. */
static long make_agent(const struct fd_entry *entry, const struct vnet_umad_ioctl *call, u32 *id)
{
	struct vnet_umad_ioctl undo = { .op = VNET_UMAD_UNREGISTER };
	long ret = ask_ioctl(entry, call);

	if (ret < 0)
		return ret;
	undo.id = (u32)ret;
	if (!user_copy(id, &undo.id, sizeof(undo.id)))
		return 0;
	(void)ask_ioctl(entry, &undo);
	return -EFAULT;
}

static long register_agent(const struct fd_entry *entry, struct ib_user_mad_reg_req *argument)
{
	struct vnet_umad_ioctl call = { .op = VNET_UMAD_REGISTER };
	struct ib_user_mad_reg_req req;

	if (user_copy(&req, argument, sizeof(req)))
		return -EFAULT;
	call.qpn = req.qpn;
	call.mgmt_class = req.mgmt_class;
	call.class_version = req.mgmt_class_version;
	call.rmpp_version = req.rmpp_version;
	static_assert(sizeof(req.method_mask) == sizeof(call.method_mask), "128 bits");
	memcpy(call.method_mask, req.method_mask, sizeof(call.method_mask));
	call.oui = (u32)req.oui[0] << 16 | (u32)req.oui[1] << 8 | req.oui[2];
	return make_agent(entry, &call, &argument->id);
}

/*
 * No flags are supported. As in the kernel, a request with flags fails, and the supported ones are
 * reported.
 */
static long register_agent2(const struct fd_entry *entry, struct ib_user_mad_reg_req2 *argument)
{
	const u32 flags = 0;
	struct vnet_umad_ioctl call = { .op = VNET_UMAD_REGISTER };
	struct ib_user_mad_reg_req2 req;
	int ret;

	if (user_copy(&req, argument, sizeof(req)))
		return -EFAULT;
	if (req.flags || req.oui >> 24) {
		ret = user_copy(&argument->flags, &flags, sizeof(flags));
		return ret ? ret : -EINVAL;
	}
	call.with_pkeys = 1;
	call.oui = req.oui;
	call.qpn = req.qpn;
	call.mgmt_class = req.mgmt_class;
	call.class_version = req.mgmt_class_version;
	call.rmpp_version = req.rmpp_version;
	memcpy(call.method_mask, req.method_mask, sizeof(call.method_mask));
	return make_agent(entry, &call, &argument->id);
}

static long unregister_agent(const struct fd_entry *entry, const u32 *argument)
{
	struct vnet_umad_ioctl call = { .op = VNET_UMAD_UNREGISTER };

	if (user_copy(&call.id, argument, sizeof(call.id)))
		return -EFAULT;
	return ask_ioctl(entry, &call);
}

long umad_ioctl(const struct fd_entry *entry, unsigned long request, void *argument)
{
	static const struct vnet_umad_ioctl enable = { .op = VNET_UMAD_ENABLE_PKEYS };

	switch (request) {
	case IB_USER_MAD_REGISTER_AGENT:
		return register_agent(entry, argument);
	case IB_USER_MAD_REGISTER_AGENT2:
		return register_agent2(entry, argument);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return unregister_agent(entry, argument);
	case IB_USER_MAD_ENABLE_PKEY:
		return ask_ioctl(entry, &enable);
	default:
		return -ENOTTY;
	}
}
