// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_cm multicast. Joining needs no subnet administrator: it only tells the program which group
 * an address means. The program attaches its queue pair by verbs.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "uverbs/objects.h"
#include "inside.h"

#define MULTICAST_QPN 0xffffff

static struct cm_group *find(struct cm *cm, u32 handle)
{
	for (u32 i = 0; i < cm->capacity; i++) {
		struct cm_group *group = cm->id[i] ? cm->id[i]->groups : NULL;

		for (; group; group = group->next)
			if (group->handle == handle)
				return group;
	}
	return NULL;
}

static u32 new_handle(struct cm *cm)
{
	do
		cm->last_group = (cm->last_group + 1) & 0x7fffffff;
	while (find(cm, cm->last_group));
	return cm->last_group;
}

static void leave(struct cm_group *group)
{
	struct cm_group **place = &group->id->groups;

	cm_drop_events(group->id, group);
	while (*place != group)
		place = &(*place)->next;
	*place = group->next;
	free(group);
}

void cm_groups_leave(struct cm_id *id)
{
	while (id->groups)
		leave(id->groups);
}

static void report_joined(struct cm_group *group)
{
	struct rdma_ucm_event_resp resp = { .event = CM_EVENT_MULTICAST_JOIN };
	struct rdma_ucm_ud_param *param = &resp.param.ud;
	struct cm_id *id = group->id;

	param->qp_num = MULTICAST_QPN;
	param->qkey = id->qkey;
	cm_path_group_ah(&id->path, &group->port, id->tos, &param->ah_attr);
	(void)cm_event(id, group, NULL, &resp);
}

static int check(const struct cm_id *id, const union cm_address *address)
{
	if (!id->path.device || id->qp_type != IBV_QPT_UD ||
	    (id->state != CM_ID_BOUND && id->state != CM_ID_ADDR_RESOLVED))
		return -EINVAL;
	/* AF_IB group addresses exist only on InfiniBand. */
	if (address->any.sa_family == CM_AF_IB &&
	    (!id->path.device->lid || !cm_address_is_multicast(address)))
		return -EINVAL;
	if (cm_address_is_any(address))
		return -EINVAL;
	return 0;
}

static int join(const struct cm_call *call, const struct rdma_ucm_join_mcast *cmd)
{
	struct rdma_ucm_create_id_resp resp;
	union cm_address address;
	struct cm_group *group;
	struct cm_id *id;
	int err;

	if (call->out_length < sizeof(resp))
		return -ENOSPC;
	if (!cmd->addr_size || !cm_address_copy(&address, &cmd->addr, sizeof(cmd->addr)) ||
	    cmd->addr_size != cm_address_size(&address) ||
	    cmd->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return -EINVAL;
	err = cm_call_id(call, cmd->id, &id);
	if (!err)
		err = check(id, &address);
	if (err)
		return err;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->id = id;
	group->uid = cmd->uid;
	group->handle = new_handle(call->cm);
	group->address = address;
	cm_path_group(&id->path, id->ps, &address, &group->port);
	group->next = id->groups;
	id->groups = group;
	resp.id = group->handle;
	err = cm_put(call, cmd->response, &resp, sizeof(resp));
	if (err) {
		leave(group);
		return err;
	}
	if (!id->qkey)
		id->qkey = CM_UD_QKEY;
	report_joined(group);
	return 0;
}

int cm_cmd_join_ip_mcast(const struct cm_call *call)
{
	struct rdma_ucm_join_mcast cmd = { .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER };
	struct rdma_ucm_join_ip_mcast ip;
	union cm_address address;
	int err;

	err = cm_get(call, &ip, sizeof(ip));
	if (err)
		return err;
	if (!cm_address_copy(&address, &ip.addr, sizeof(ip.addr)))
		return -EINVAL;
	cmd.response = ip.response;
	cmd.uid = ip.uid;
	cmd.id = ip.id;
	cmd.addr_size = (u16)cm_address_size(&address);
	memcpy(&cmd.addr, &address, cmd.addr_size);
	return join(call, &cmd);
}

int cm_cmd_join_mcast(const struct cm_call *call)
{
	struct rdma_ucm_join_mcast cmd;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	return err ? err : join(call, &cmd);
}

int cm_cmd_leave_mcast(const struct cm_call *call)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct cm_group *group;
	int err;

	if (call->out_length < sizeof(resp))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	group = find(call->cm, cmd.id);
	if (!group)
		return -ENOENT;
	if (group->id->file != call->file)
		return -EINVAL;
	/* Park before the group is left: a retry would not find it. */
	if (user_bring(call->client, cmd.response, sizeof(resp)) == UV_PARK)
		return UV_PARK;
	resp.events_reported = group->events_reported;
	leave(group);
	return cm_put(call, cmd.response, &resp, sizeof(resp));
}
