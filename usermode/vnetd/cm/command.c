// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The write() interface of the rdma_cm file: dispatch, and access to command memory. */
#include <errno.h>

#include "uverbs/objects.h"
#include "inside.h"

static int (*const commands[])(const struct cm_call *call) = {
	[RDMA_USER_CM_CMD_CREATE_ID] = cm_cmd_create_id,
	[RDMA_USER_CM_CMD_DESTROY_ID] = cm_cmd_destroy_id,
	[RDMA_USER_CM_CMD_BIND_IP] = cm_cmd_bind_ip,
	[RDMA_USER_CM_CMD_RESOLVE_IP] = cm_cmd_resolve_ip,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = cm_cmd_resolve_route,
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = cm_cmd_query_route,
	[RDMA_USER_CM_CMD_CONNECT] = cm_cmd_connect,
	[RDMA_USER_CM_CMD_LISTEN] = cm_cmd_listen,
	[RDMA_USER_CM_CMD_ACCEPT] = cm_cmd_accept,
	[RDMA_USER_CM_CMD_REJECT] = cm_cmd_reject,
	[RDMA_USER_CM_CMD_DISCONNECT] = cm_cmd_disconnect,
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = cm_cmd_init_qp_attr,
	[RDMA_USER_CM_CMD_GET_EVENT] = cm_cmd_get_event,
	[RDMA_USER_CM_CMD_SET_OPTION] = cm_cmd_set_option,
	[RDMA_USER_CM_CMD_NOTIFY] = cm_cmd_notify,
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = cm_cmd_join_ip_mcast,
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = cm_cmd_leave_mcast,
	[RDMA_USER_CM_CMD_MIGRATE_ID] = cm_cmd_migrate_id,
	[RDMA_USER_CM_CMD_QUERY] = cm_cmd_query,
	[RDMA_USER_CM_CMD_BIND] = cm_cmd_bind,
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = cm_cmd_resolve_addr,
	[RDMA_USER_CM_CMD_JOIN_MCAST] = cm_cmd_join_mcast,
};

int cm_get(const struct cm_call *call, void *dst, size_t size)
{
	if (size > call->given)
		return user_read(call->client, dst, call->addr, size);
	memcpy(dst, call->in, size);
	return 0;
}

int cm_put(const struct cm_call *call, u64 response, const void *src, size_t size)
{
	return user_write(call->client, response, src, size);
}

int cm_call_id(const struct cm_call *call, u32 handle, struct cm_id **out)
{
	struct cm_id *id = handle < call->cm->capacity ? call->cm->id[handle] : NULL;

	if (!id || id->unread)
		return -ENOENT;
	if (id->file != call->file)
		return -EINVAL;
	*out = id;
	return 0;
}

int cm_call_device_id(const struct cm_call *call, u32 handle, struct cm_id **out)
{
	int err = cm_call_id(call, handle, out);

	if (!err && !(*out)->path.device)
		err = -EINVAL;
	return err;
}

static int run(struct call *call)
{
	struct cm_file *file = call->file->priv;
	struct cm_call command = {
		.cm = file->cm,
		.file = file,
		.client = call->client,
		.other_file = call->other_file,
	};
	struct rdma_ucm_cmd_hdr hdr;

	if (call->length < sizeof(hdr))
		return -EINVAL;
	memcpy(&hdr, call->data, sizeof(hdr));
	if (hdr.cmd >= ARRAY_SIZE(commands) || hdr.in + sizeof(hdr) > call->length)
		return -EINVAL;
	if (!commands[hdr.cmd])
		return -ENOSYS;
	command.addr = call->user_addr + sizeof(hdr);
	command.in = call->data + sizeof(hdr);
	command.given = call->length - (u32)sizeof(hdr);
	command.in_length = hdr.in;
	command.out_length = hdr.out;
	return commands[hdr.cmd](&command);
}

enum call_outcome cm_write(struct call *call)
{
	return uv_answer(call, run(call), (s32)call->length);
}
