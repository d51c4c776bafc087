// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "devices/uverbs.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <string.h>

#include "devices/device.h"
#include "devices/events.h"
#include "devices/gate.h"
#include "mapped/mapped.h"
#include "devices/regions.h"
#include "devices/user.h"
#include "session/control.h"
#include "../../../abi/vnet-abi.h"

/* ib_uverbs_rereg_mr.flags: IBV_REREG_MR_CHANGE_TRANSLATION */
#define REREG_TRANSLATION 1u
#define CALL_ROOM (VNET_MSG_MAX - sizeof(struct vnet_msg_call))

/* ------------------------------------------------------------------------ results */

/*
 * Complete the response of ALLOC_UCONTEXT: the context's doorbells are functions of this library.
 */
static int add_gate(struct session *s, const struct vnet_msg_result *result)
{
	struct vnet_alloc_ucontext_resp *resp =
		(struct vnet_alloc_ucontext_resp *)(unsigned long)result->ucontext_addr;
	u64 address = (u64)(unsigned long)&gate;
	u64 cookie;

	if (result->ucontext_nic >= s->nnics)
		return -EPROTO;
	cookie = (u64)(unsigned long)s->nic[result->ucontext_nic];
	if (user_copy(&resp->gate, &address, sizeof(address)) ||
	    user_copy(&resp->gate_cookie, &cookie, sizeof(cookie)))
		return -EFAULT;
	return 0;
}

/* The command made a descriptor: enter it, and write its number into the program's response. */
static int add_fd(struct session *s, const struct vnet_msg_fd *made, int fd)
{
	struct fd_entry entry = {
		.kind = (enum fd_kind)made->kind,
		.session = s,
		.file_id = made->file_id,
		.nic = made->nic,
		.number = made->number,
		.generation = made->generation,
	};
	u64 number = (u64)fd;
	int ret = fdtable_set(fd, &entry);

	if (ret)
		return ret;
	/* Little-endian: the low half comes first. */
	return user_copy((void *)(unsigned long)made->user_addr, &number,
			 made->user_size == sizeof(u64) ? sizeof(u64) : sizeof(u32));
}

static int add_fds(struct session *s, struct reply *reply)
{
	u32 i;
	int ret = 0;

	if (reply->truncated)
		ret = -EMFILE;
	else if (reply->nfds != reply->result.nfds || reply->nfds > VNET_RESULT_FDS)
		ret = -EPROTO;
	for (i = 0; !ret && i < reply->nfds; i++)
		ret = add_fd(s, &reply->result.fd[i], reply->fd[i]);
	/* When the descriptor is closed, the daemon frees the object. */
	if (ret)
		control_drop_fds(reply);
	return ret;
}

static long take_result(struct session *s, struct reply *reply)
{
	const struct vnet_msg_result *result = &reply->result;
	int ret;

	if (result->error) {
		control_drop_fds(reply);
		return -(long)result->error;
	}
	ret = add_fds(s, reply);
	if (!ret && result->ucontext_addr)
		ret = add_gate(s, result);
	return ret ? ret : result->value;
}

/* ----------------------------------------------------------------------- commands */

struct command {
	u32 type;
	/* Its address and length in the program's memory. */
	const u8 *address;
	size_t length;
	/* Its first bytes, copied once so that they cannot change after the check. */
	const void *head;
	size_t head_length;
};

/*
 * The daemon has not executed the command: it asks for a descriptor that the command names. Add it.
 */
static bool needs_descriptor(struct vnet_msg_call *call, const struct reply *reply)
{
	if (!reply->result.wants_fd || call->nfds == VNET_MSG_FDS)
		return false;
	call->fd[call->nfds++] = reply->result.wanted_fd;
	return true;
}

static long forward(const struct fd_entry *entry, const struct command *command)
{
	struct vnet_msg_call call = {
		.msg = { .type = command->type, .length = (u32)(sizeof(call) + command->length) },
		.file_id = entry->file_id,
		.user_addr = (u64)(unsigned long)command->address,
	};
	struct iovec iov[3] = {
		{ .iov_base = &call, .iov_len = sizeof(call) },
		{ .iov_base = (void *)(uintptr_t)command->head, .iov_len = command->head_length },
		{ .iov_base = (void *)(uintptr_t)(command->address + command->head_length),
		  .iov_len = command->length - command->head_length },
	};
	struct reply reply;
	struct session *s;
	int ret;

	ret = device_session(entry, &s);
	while (!ret) {
		ret = control_request_with(s, iov, 3, call.fd, call.nfds, &reply);
		if (ret || !needs_descriptor(&call, &reply))
			break;
	}
	/*
	 * The command may have connected to a NIC for which there is no key: print why it is
	 * refused.
	 */
	if (!ret && entry->nic < s->nnics && s->nic[entry->nic]->link)
		link_report_refusals(&s->nic[entry->nic]->host);
	return ret ? ret : take_result(s, &reply);
}

/* ---------------------------------------------- commands that concern the shim */

/* The parts of a command that concern the shim; the command is a write() or an ioctl. */
struct meaning {
	bool destroys_cq;
	bool registers;
	/* It registers memory that is not registered already. */
	bool brings_memory;
	struct ib_uverbs_reg_mr reg;
};

static void parse_write(struct meaning *m, u32 command, const void *body, size_t length)
{
	m->destroys_cq = command == IB_USER_VERBS_CMD_DESTROY_CQ;
	m->registers =
		(command == IB_USER_VERBS_CMD_REG_MR || command == IB_USER_VERBS_CMD_REREG_MR) &&
		length >= sizeof(m->reg) && !user_copy(&m->reg, body, sizeof(m->reg));
	m->brings_memory = m->registers;
	if (m->registers && command == IB_USER_VERBS_CMD_REREG_MR) {
		struct ib_uverbs_rereg_mr rereg = { 0 };

		memcpy(&rereg, &m->reg, sizeof(m->reg));
		m->reg.start = rereg.start;
		m->reg.length = rereg.length;
		m->reg.access_flags = rereg.access_flags;
		m->brings_memory = rereg.flags & REREG_TRANSLATION;
	}
}

/* UVERBS_METHOD_INVOKE_WRITE: an ioctl that carries a write command. */
static void parse_invoke(struct meaning *m, const struct ib_uverbs_attr *attr, u32 n)
{
	const struct ib_uverbs_attr *body = NULL;
	u32 i, command = ~0u;

	for (i = 0; i < n; i++) {
		if (attr[i].attr_id == UVERBS_ATTR_WRITE_CMD)
			command = (u32)attr[i].data;
		else if (attr[i].attr_id == UVERBS_ATTR_CORE_IN)
			body = &attr[i];
	}
	parse_write(m, command, body ? (const void *)(unsigned long)body->data : NULL,
		    body ? body->len : 0);
}

/* Before the command is executed. */
static void prepare_for(const struct meaning *m)
{
	if (m->brings_memory)
		mapped_register(m->reg.start, m->reg.length,
				m->reg.access_flags & NIC_ACCESS_ON_DEMAND);
}

static void act_on(const struct fd_entry *entry, const struct meaning *m)
{
	if (m->registers)
		regions_note(m->reg.start, m->reg.length);
	if (m->destroys_cq)
		channels_clear_stale(entry);
}

/* ----------------------------------------------------------------------- the calls */

long uverbs_write(const struct fd_entry *entry, const void *buffer, size_t count)
{
	struct ib_uverbs_cmd_hdr hdr;
	struct command command = {
		.type = VNET_MSG_WRITE,
		.address = buffer,
		.length = count,
		.head = &hdr,
		.head_length = sizeof(hdr),
	};
	struct meaning meaning = { 0 };
	long ret;

	if (count < sizeof(hdr) || count > CALL_ROOM)
		return -EINVAL;
	if (user_copy(&hdr, buffer, sizeof(hdr)))
		return -EFAULT;
	parse_write(&meaning, hdr.command, (const u8 *)buffer + sizeof(hdr), count - sizeof(hdr));
	prepare_for(&meaning);
	ret = forward(entry, &command);
	if (ret >= 0)
		act_on(entry, &meaning);
	return ret;
}

#define MAX_ATTRS 32

long uverbs_ioctl(const struct fd_entry *entry, void *argument)
{
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[MAX_ATTRS];
	struct command command = {
		.type = VNET_MSG_IOCTL,
		.address = argument,
		.head = &hdr,
		.head_length = sizeof(hdr),
	};
	struct meaning meaning = { 0 };
	long ret;

	if (user_copy(&hdr, argument, sizeof(hdr)))
		return -EFAULT;
	if (hdr.length < sizeof(hdr) || hdr.length > CALL_ROOM ||
	    hdr.length != sizeof(hdr) + hdr.num_attrs * sizeof(attr[0]))
		return -EINVAL;
	command.length = hdr.length;
	if (hdr.object_id == UVERBS_OBJECT_DEVICE && hdr.method_id == UVERBS_METHOD_INVOKE_WRITE &&
	    hdr.num_attrs <= MAX_ATTRS &&
	    !user_copy(attr, (const u8 *)argument + sizeof(hdr), hdr.num_attrs * sizeof(attr[0])))
		parse_invoke(&meaning, attr, hdr.num_attrs);
	meaning.destroys_cq |= hdr.object_id == UVERBS_OBJECT_CQ &&
			       hdr.method_id == UVERBS_METHOD_CQ_DESTROY;
	prepare_for(&meaning);
	ret = forward(entry, &command);
	if (ret >= 0)
		act_on(entry, &meaning);
	return ret;
}
