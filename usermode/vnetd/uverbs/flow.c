// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flows: rules that steer Ethernet frames to queue pairs. */
#include <errno.h>
#include <string.h>

#include "ioctl.h"
#include "link/link.h"
#include "objects.h"

/* Values of enum ibv_flow_flags. */
enum {
	FLAG_DONT_TRAP = 1 << 1,
	FLAG_EGRESS = 1 << 2,
	FLAGS_END = 1 << 3,
};
#define MOST_SPECS 10

static int flow_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_flow *flow = UV_CAST(struct uv_flow, obj);

	return uv_created(req->device,
			  nic_flow_create(&req->device->nic, flow->index, &flow->params));
}

static int flow_stop(struct uv_object *obj)
{
	return uv_result(nic_flow_destroy(&obj->device->nic, UV_CAST(struct uv_flow, obj)->index));
}

static void flow_release(struct uv_object *obj)
{
	struct uv_flow *flow = UV_CAST(struct uv_flow, obj);

	uv_number_put(&obj->device->alloc->flow, flow->index);
	if (flow->counters)
		uv_unuse(&flow->counters->obj);
	uv_unuse(&flow->qp->obj);
}

static const struct uv_class flow_class = {
	.type = UVERBS_OBJECT_FLOW,
	.size = sizeof(struct uv_flow),
	.start = flow_start,
	.stop = flow_stop,
	.release = flow_release,
};

static int check_attr(const struct ib_uverbs_flow_attr *attr)
{
	if (attr->flags >= FLAGS_END || attr->type > NIC_FLOW_SNIFFER || attr->port != 1 ||
	    attr->num_of_specs > MOST_SPECS || attr->reserved[0] || attr->reserved[1])
		return -EINVAL;
	if (attr->flags & FLAG_DONT_TRAP && attr->type != NIC_FLOW_NORMAL)
		return -EINVAL;
	return attr->flags & FLAG_EGRESS ? -EOPNOTSUPP : 0;
}

static int find_qp(struct uv_request *req, u32 handle, struct uv_qp **out)
{
	struct uv_object *obj = uv_object_read(req, UVERBS_OBJECT_QP, handle);

	if (!obj)
		return -EINVAL;
	*out = UV_CAST(struct uv_qp, obj);
	if ((*out)->params.type == NIC_QPT_UD)
		return -EOPNOTSUPP;
	return (*out)->params.type == NIC_QPT_RAW_PACKET ? 0 : -EINVAL;
}

static void flow_fill(struct uv_flow *flow, const struct ib_uverbs_flow_attr *attr)
{
	const struct uv_qp *qp = flow->qp;

	flow->params.type = (u8)attr->type;
	flow->params.priority = attr->priority;
	if (attr->flags & FLAG_DONT_TRAP)
		flow->params.flags |= NIC_FLOW_DONT_TRAP;
	flow->params.qpn = qp->params.qpn;
	flow->params.rss = uv_qp_is_rss(qp) ? qp->spread->offset : 0;
	flow->params.counter = flow->counters ? flow->counters->index : NIC_NONE;
}

static int flow_new(struct uv_request *req, const struct uv_flow *like, struct uv_flow **out)
{
	struct uv_object *obj;
	struct uv_flow *flow;
	u32 index;
	int err;

	err = uv_object_new(req, &flow_class, &obj);
	if (err)
		return err;
	flow = UV_CAST(struct uv_flow, obj);
	index = uv_number_get(&req->device->alloc->flow, flow);
	if (index == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	flow->index = index;
	flow->qp = like->qp;
	flow->counters = like->counters;
	flow->params = like->params;
	uv_use(&flow->qp->obj);
	if (flow->counters)
		uv_use(&flow->counters->obj);
	req->created = obj;
	*out = flow;
	return 0;
}

/* Reads the command. Only the specifications, and then zeros, may follow it. */
static int get_command(const struct uv_request *req, struct ib_uverbs_create_flow *cmd)
{
	u32 i;

	memcpy(cmd, req->in, sizeof(*cmd));
	if (cmd->comp_mask || cmd->flow_attr.size > req->in_length - sizeof(*cmd))
		return -EINVAL;
	for (i = (u32)sizeof(*cmd) + cmd->flow_attr.size; i < req->in_length; i++)
		if (req->in[i])
			return -EOPNOTSUPP;
	return 0;
}

int uv_create_flow(struct uv_request *req)
{
	struct ib_uverbs_create_flow_resp resp = { .comp_mask = 0 };
	struct uv_flow *flow, like = { .counters = NULL };
	struct ib_uverbs_create_flow cmd;
	int err;

	err = get_command(req, &cmd);
	if (!err)
		err = uv_check_raw(req);
	if (!err)
		err = check_attr(&cmd.flow_attr);
	if (!err)
		err = find_qp(req, cmd.qp_handle, &like.qp);
	if (!err)
		err = uv_flow_read_specs(req, req->in + sizeof(cmd), cmd.flow_attr.size,
					 cmd.flow_attr.num_of_specs, &like);
	if (err)
		return err;
	flow_fill(&like, &cmd.flow_attr);
	err = flow_new(req, &like, &flow);
	if (err)
		return err;
	/* Senders of frames must know this NIC. */
	discover_peers(req->device);
	resp.flow_handle = flow->obj.handle;
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_destroy_flow(struct uv_request *req)
{
	u32 handle;
	int err;

	err = uv_get_masked_handle(req, -EINVAL, &handle);
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_FLOW, handle);
}

int uv_ioctl_destroy_flow(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_FLOW_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_FLOW, obj->handle);
}
