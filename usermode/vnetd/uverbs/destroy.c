// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Common code of destroy commands: decodes the handle, and reports the number of events. */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

static_assert(sizeof(struct ib_uverbs_destroy_qp) == sizeof(struct ib_uverbs_destroy_srq) &&
		      offsetof(struct ib_uverbs_destroy_qp, qp_handle) ==
			      offsetof(struct ib_uverbs_destroy_srq, srq_handle) &&
		      sizeof(struct ib_uverbs_destroy_qp_resp) ==
			      sizeof(struct ib_uverbs_destroy_srq_resp),
	      "queue pairs and shared receive queues are destroyed alike");
static_assert(sizeof(struct ib_uverbs_ex_destroy_rwq_ind_table) ==
			      sizeof(struct ib_uverbs_ex_destroy_wq) &&
		      sizeof(struct ib_uverbs_destroy_flow) ==
			      sizeof(struct ib_uverbs_ex_destroy_wq),
	      "tables and flows are named as work queues are");

int uv_get_masked_handle(struct uv_request *req, int unknown, u32 *handle)
{
	struct ib_uverbs_ex_destroy_wq cmd;
	int err = uv_get(req, &cmd, sizeof(cmd));

	if (err)
		return err;
	*handle = cmd.wq_handle;
	return cmd.comp_mask ? unknown : 0;
}

int uv_destroy_count_events(struct uv_request *req, u16 type)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct ib_uverbs_destroy_qp cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = uv_object_end(req->ctx, type, cmd.qp_handle, &resp.events_reported);
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

int uv_ioctl_destroy_count_events(struct uv_request *req, u16 handle, u16 answer)
{
	const struct uv_object *obj = uv_attr_object(req, handle);
	u32 events;
	int err;

	err = uv_object_end(req->ctx, obj->class->type, obj->handle, &events);
	return err ? err : uv_attr_put(req, answer, &events, sizeof(events));
}
