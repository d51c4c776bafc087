// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rdma_cm ids: creation and destruction, handles, and options. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <stdlib.h>

#include "uverbs/objects.h"
#include "inside.h"

/* ----------------------------------------------------------------- handles */

static bool grow(struct cm *cm)
{
	u32 capacity = cm->capacity ? 2 * cm->capacity : 64;
	struct cm_id **id;

	if (capacity > CM_MAX_IDS)
		return false;
	id = realloc(cm->id, capacity * sizeof(struct cm_id *));
	if (!id)
		return false;
	for (u32 i = cm->capacity; i < capacity; i++)
		id[i] = NULL;
	cm->id = id;
	cm->capacity = capacity;
	return true;
}

/* Assigns the lowest free handle: librdmacm's tables have 65536 entries. */
static bool take_handle(struct cm *cm, struct cm_id *id)
{
	u32 handle = cm->lowest_free;

	while (handle < cm->capacity && cm->id[handle])
		handle++;
	if (handle == cm->capacity && !grow(cm))
		return false;
	cm->id[handle] = id;
	cm->lowest_free = handle + 1;
	id->handle = handle;
	return true;
}

static void give_handle(struct cm *cm, u32 handle)
{
	cm->id[handle] = NULL;
	if (handle < cm->lowest_free)
		cm->lowest_free = handle;
}

/* -------------------------------------------------------------------- life */

int cm_id_new(struct cm_file *file, u16 ps, u8 qp_type, struct cm_id **made)
{
	struct cm_id *id;
	u32 psn;

	if (!cm_random(&psn, sizeof(psn)))
		return -EAGAIN;
	id = calloc(1, sizeof(*id));
	if (!id)
		return -ENOMEM;
	id->cm = file->cm;
	id->file = file;
	id->ps = ps;
	id->qp_type = qp_type;
	id->psn = psn & 0xffffff;
	if (!take_handle(file->cm, id)) {
		free(id);
		return -ENOMEM;
	}
	id->next = file->ids;
	file->ids = id;
	*made = id;
	return 0;
}

void cm_id_destroy(struct cm_id *id)
{
	struct cm_id **place = &id->file->ids;

	cm_groups_leave(id);
	if (id->conn)
		cm_conn_release(id->conn, false);
	if (id->unread)
		id->unread->request = NULL;
	cm_early_refuse(id);
	cm_port_give_back(id);
	cm_drop_events(id, NULL);
	while (*place != id)
		place = &(*place)->next;
	*place = id->next;
	cm_orphan_forget(id);
	give_handle(id->cm, id->handle);
	free(id);
}

static int qp_type_of(const struct rdma_ucm_create_id *cmd, u8 *type)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		*type = IBV_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*type = IBV_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		*type = cmd->qp_type;
		return 0;
	default:
		return -EINVAL;
	}
}

int cm_cmd_create_id(const struct cm_call *call)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd;
	struct cm_id *id;
	u8 type;
	int err;

	if (call->out_length < sizeof(resp))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = qp_type_of(&cmd, &type);
	if (err)
		return err;
	err = cm_id_new(call->file, cmd.ps, type, &id);
	if (err)
		return err;
	id->uid = cmd.uid;
	id->pid = call->client->pid;
	cm_orphan_write(id);
	resp.id = id->handle;
	err = cm_put(call, cmd.response, &resp, sizeof(resp));
	if (err)
		cm_id_destroy(id);
	return err;
}

int cm_cmd_destroy_id(const struct cm_call *call)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct cm_id *id;
	int err;

	if (call->out_length < sizeof(resp))
		return -ENOSPC;
	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_id(call, cmd.id, &id);
	if (err)
		return err;
	/* Park before the id is destroyed: a retry would not find it. */
	if (user_bring(call->client, cmd.response, sizeof(resp)) == UV_PARK)
		return UV_PARK;
	resp.events_reported = id->events_reported;
	cm_early_leave(id);
	cm_id_destroy(id);
	return cm_put(call, cmd.response, &resp, sizeof(resp));
}

/* ----------------------------------------------------------------- options */

static int set_reuseaddr(struct cm_id *id, bool on)
{
	if (id->state != CM_ID_IDLE && (!on || id->state == CM_ID_LISTEN))
		return -EINVAL;
	id->reuseaddr = on;
	return 0;
}

static int set_afonly(struct cm_id *id, bool on)
{
	if (id->state != CM_ID_IDLE && id->state != CM_ID_BOUND)
		return -EINVAL;
	id->afonly = on;
	id->afonly_set = true;
	return 0;
}

static int set_ack_timeout(struct cm_id *id, u8 timeout)
{
	if (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	/* The field has five bits. */
	if (timeout > 31)
		return -EINVAL;
	id->ack_timeout = timeout;
	id->ack_timeout_set = true;
	return 0;
}

static int set_id_option(struct cm_id *id, u32 name, const u8 *value, u32 length)
{
	u32 want = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT ? 1 : 4;
	int number = value[0];

	if (name > RDMA_OPTION_ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (length != want)
		return -EINVAL;
	if (want == sizeof(number))
		memcpy(&number, value, sizeof(number));
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		id->tos = (u8)number;
		id->tos_set = true;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuseaddr(id, number);
	case RDMA_OPTION_ID_AFONLY:
		return set_afonly(id, number);
	default:
		return set_ack_timeout(id, (u8)number);
	}
}

/* Handles a path record that the program supplies. On Ethernet its contents are not used. */
static int set_ib_path(struct cm_id *id, const u8 *value, u32 length)
{
	struct ib_path_rec_data path;

	if (length % sizeof(path))
		return -EINVAL;
	for (; length; length -= (u32)sizeof(path), value += sizeof(path)) {
		memcpy(&path, value, sizeof(path));
		if (path.flags == (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL))
			return id->path.device ? cm_set_route(id) : -EINVAL;
	}
	return -EINVAL;
}

int cm_cmd_set_option(const struct cm_call *call)
{
	struct rdma_ucm_set_option cmd;
	struct cm_id *id;
	u8 value[16 * sizeof(struct ib_path_rec_data)] = { 0 };
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	/* The kernel's limit is a page; valid options are far shorter. */
	if (cmd.optlen > 4096)
		return -EINVAL;
	err = cm_call_id(call, cmd.id, &id);
	if (err)
		return err;
	err = user_read(call->client, value, cmd.optval,
			cmd.optlen < sizeof(value) ? cmd.optlen : sizeof(value));
	if (err)
		return err;
	if (cmd.level == RDMA_OPTION_ID)
		return set_id_option(id, cmd.optname, value, cmd.optlen);
	if (cmd.level != RDMA_OPTION_IB || cmd.optname != RDMA_OPTION_IB_PATH)
		return -ENOSYS;
	return cmd.optlen > sizeof(value) ? -EINVAL : set_ib_path(id, value, cmd.optlen);
}
