// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Indirection tables, which map hash values of frames to work queues. */
#include <errno.h>
#include <string.h>

#include "ioctl.h"
#include "objects.h"

static void table_release(struct uv_object *obj)
{
	struct uv_table *table = UV_CAST(struct uv_table, obj);
	u32 i;

	for (i = 0; i < 1u << table->log_size; i++)
		uv_unuse(&table->wq[i]->obj);
	uv_number_put(&obj->device->alloc->table, table->number);
}

static const struct uv_class table_class = {
	.type = UVERBS_OBJECT_RWQ_IND_TBL,
	.size = sizeof(struct uv_table),
	.release = table_release,
};

static int table_new(struct uv_request *req, u32 log_size, struct uv_table **out)
{
	struct uv_object *obj;
	struct uv_table *table;
	int err;

	err = uv_object_new(req, &table_class, &obj);
	if (err)
		return err;
	table = UV_CAST(struct uv_table, obj);
	table->log_size = log_size;
	table->number = uv_number_get(&req->device->alloc->table, table);
	if (table->number == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	*out = table;
	return 0;
}

/* Reads `count` handles that follow the command; zeros may follow them. */
static int get_handles(const struct uv_request *req, u32 *handles, u32 count)
{
	const u32 start = offsetof(struct ib_uverbs_ex_create_rwq_ind_table, wq_handles);
	u32 i, end = start + count * (u32)sizeof(u32);

	if (req->in_length < end)
		return -EINVAL;
	for (i = end; i < req->in_length; i++)
		if (req->in[i])
			return -EOPNOTSUPP;
	memcpy(handles, req->in + start, count * sizeof(u32));
	return 0;
}

static int find_queues(struct uv_request *req, const u32 *handles, u32 count, struct uv_wq **wq)
{
	u32 i;

	for (i = 0; i < count; i++) {
		wq[i] = UV_CAST(struct uv_wq, uv_object_read(req, UVERBS_OBJECT_WQ, handles[i]));
		if (!wq[i])
			return -EINVAL;
	}
	return 0;
}

int uv_create_table(struct uv_request *req)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = { .comp_mask = 0 };
	struct uv_wq *wq[1 << NIC_MAX_RSS_LOG];
	u32 handles[1 << NIC_MAX_RSS_LOG];
	u32 i, head[2] = { 0, 0 }, count;
	struct uv_table *table;
	int err;

	/* comp_mask and log_ind_tbl_size: the minimum length of the command. */
	memcpy(head, req->in, sizeof(head));
	if (head[0])
		return -EOPNOTSUPP;
	if (head[1] > NIC_MAX_RSS_LOG)
		return -EINVAL;
	count = 1u << head[1];
	err = get_handles(req, handles, count);
	if (!err)
		err = find_queues(req, handles, count, wq);
	if (!err)
		err = table_new(req, head[1], &table);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		table->wq[i] = wq[i];
		uv_use(&wq[i]->obj);
	}
	req->created = &table->obj;
	resp.response_length = uv_response_length(req, sizeof(resp));
	resp.ind_tbl_handle = table->obj.handle;
	resp.ind_tbl_num = table->number;
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_destroy_table(struct uv_request *req)
{
	u32 handle;
	int err;

	err = uv_get_masked_handle(req, -EOPNOTSUPP, &handle);
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_RWQ_IND_TBL, handle);
}

int uv_ioctl_destroy_table(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_RWQ_IND_TBL, obj->handle);
}
