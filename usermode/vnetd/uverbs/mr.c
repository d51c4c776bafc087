// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions. Registration fails if the process itself lacks the requested access to the
 * memory.
 */
#include <errno.h>

#include "../../platform/range.h"
#include "ioctl.h"
#include "process.h"
#include "objects.h"

#define PAGE_OFFSET_MASK (PAGE_BYTES - 1)
/* Access flags that require writable memory, as in the kernel's ib_umem. */
#define ACCESS_WRITES                                                                              \
	((u32)(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                      \
	       IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND))
/* Access flags that require local write access. */
#define ACCESS_REMOTE_WRITES ((u32)(IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC))
#define ACCESS_KNOWN                                                                               \
	((u32)((NIC_ACCESS_FLUSH_PERSISTENT << 1) - 1) | (u32)IB_UVERBS_ACCESS_OPTIONAL_RANGE)
/* Flags that the firmware needs; the others are hints. */
#define ACCESS_NIC                                                                                 \
	((u32)(NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ |         \
	       NIC_ACCESS_REMOTE_ATOMIC | NIC_ACCESS_MW_BIND | NIC_ACCESS_ZERO_BASED |             \
	       NIC_ACCESS_ON_DEMAND | NIC_ACCESS_FLUSH_GLOBAL))

/* Bits of ib_uverbs_rereg_mr.flags: enum ibv_rereg_mr_flags. */
enum {
	REREG_TRANSLATION = 1 << 0,
	REREG_PD = 1 << 1,
	REREG_ACCESS = 1 << 2,
	REREG_KNOWN = REREG_TRANSLATION | REREG_PD | REREG_ACCESS,
};

int uv_mr_start(struct uv_request *req, struct uv_object *obj)
{
	return uv_created(req->device,
			  nic_mr_create(&req->device->nic, &UV_CAST(struct uv_mr, obj)->params));
}

int uv_mr_stop(struct uv_object *obj)
{
	struct uv_mr *mr = UV_CAST(struct uv_mr, obj);

	/* After a failed reregistration, the NIC has no such region. */
	if (!mr->params.key)
		return 0;
	return uv_result(nic_mr_destroy(&obj->device->nic, mr->params.key));
}

void uv_mr_release(struct uv_object *obj)
{
	struct uv_mr *mr = UV_CAST(struct uv_mr, obj);

	uv_number_put(&obj->device->alloc->mr, mr->index);
	uv_unuse(&mr->pd->obj);
	if (mr->dm)
		uv_unuse(&mr->dm->obj);
}

const struct uv_class uv_mr_class = {
	.type = UVERBS_OBJECT_MR,
	.size = sizeof(struct uv_mr),
	.start = uv_mr_start,
	.stop = uv_mr_stop,
	.release = uv_mr_release,
};

int uv_mr_new(struct uv_request *req, const struct uv_class *class, struct uv_object *pd,
	      const struct nic_mr_params *params, struct uv_mr **out)
{
	struct uv_object *obj;
	struct uv_mr *mr;
	u32 key;
	int err;

	err = uv_object_new(req, class, &obj);
	if (err)
		return err;
	mr = UV_CAST(struct uv_mr, obj);
	err = uv_key_new(req->device, mr, &key);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	mr->index = nic_key_index(&req->device->nic, key);
	mr->pd = UV_CAST(struct uv_pd, pd);
	uv_use(pd);
	mr->params = *params;
	mr->params.key = key;
	mr->params.pdn = mr->pd->pdn;
	mr->params.space = req->client->space;
	req->created = obj;
	*out = mr;
	return 0;
}

/* --------------------------------------------------------------- register */

int uv_mr_check_access(u32 access)
{
	if (access & ACCESS_REMOTE_WRITES && !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~ACCESS_KNOWN)
		return -EINVAL;
	/* No process memory is known to be persistent. */
	return access & NIC_ACCESS_FLUSH_PERSISTENT ? -EOPNOTSUPP : 0;
}

/* Whether it is an implicit ODP region, which covers the whole address space. */
static bool is_implicit(u64 start, u64 length, u32 access)
{
	return access & IB_UVERBS_ACCESS_ON_DEMAND && !start && length == ~0ull;
}

/* Validates a range. As with page tables, address and IOVA have the same page offset. */
static int check_range(u64 start, u64 length, u64 hca_va, u32 access)
{
	if (is_implicit(start, length, access))
		return hca_va ? -EINVAL : 0;
	if ((start & PAGE_OFFSET_MASK) != (hca_va & PAGE_OFFSET_MASK))
		return -EINVAL;
	if (!length || length > UV_MAX_MR_SIZE)
		return -EINVAL;
	/* Neither range may wrap around. */
	if (start + length + PAGE_OFFSET_MASK < start || hca_va + length < hca_va)
		return -EINVAL;
	return 0;
}

static void set_range(struct nic_mr_params *params, u64 start, u64 length, u64 hca_va)
{
	params->addr = start;
	params->length = length;
	params->iova = params->access & NIC_ACCESS_ZERO_BASED ? 0 : hca_va;
}

/*
 * Checks that the memory is mapped with the required rights, and sets NIC_MR_FILE if a part of it
 * belongs to a file. For on-demand paging, each access checks that instead.
 */
static int check_memory(struct uv_request *req, u64 start, u64 length, u32 access, u8 *flags)
{
	bool file;
	int err;

	*flags = 0;
	/* Pages that a peer writes to now would be lost. */
	if (client_moves(req->client, start, length))
		return UV_PARK;
	if (!(access & IB_UVERBS_ACCESS_ON_DEMAND)) {
		err = uv_process_mapped(req->client, start, length, access & ACCESS_WRITES, &file);
		if (!err && file)
			*flags = NIC_MR_FILE;
		return err;
	}
	/* The page size is that of the first mapping. */
	if (access & IB_UVERBS_ACCESS_HUGETLB && !uv_process_huge(req->client, start))
		return -EINVAL;
	return 0;
}

int uv_reg_mr(struct uv_request *req)
{
	struct nic_mr_params params = { .kind = NIC_MR_REGION };
	struct ib_uverbs_reg_mr_resp resp;
	struct ib_uverbs_reg_mr cmd;
	struct uv_object *pd;
	struct uv_mr *mr;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = check_range(cmd.start, cmd.length, cmd.hca_va, cmd.access_flags);
	if (!err)
		err = uv_mr_check_access(cmd.access_flags);
	if (err)
		return err;
	pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle);
	if (!pd)
		return -EINVAL;
	err = check_memory(req, cmd.start, cmd.length, cmd.access_flags, &params.flags);
	if (err)
		return err;
	params.access = cmd.access_flags & ACCESS_NIC;
	set_range(&params, cmd.start, cmd.length, cmd.hca_va);
	uv_mr_set_mapped(req, &params);
	err = uv_mr_new(req, &uv_mr_class, pd, &params, &mr);
	if (err)
		return err;
	resp = (struct ib_uverbs_reg_mr_resp){
		.mr_handle = mr->obj.handle,
		.lkey = mr->params.key,
		.rkey = mr->params.key,
	};
	return uv_respond(req, &resp, sizeof(resp));
}

/* ------------------------------------------------------------- reregister */

static int check_rereg(const struct ib_uverbs_rereg_mr *cmd, const struct uv_mr *mr)
{
	u32 access = cmd->flags & REREG_ACCESS ? cmd->access_flags : mr->params.access;
	int err = 0;

	if (cmd->flags & REREG_TRANSLATION)
		err = check_range(cmd->start, cmd->length, cmd->hca_va, access);
	if (!err && cmd->flags & REREG_ACCESS)
		err = uv_mr_check_access(cmd->access_flags);
	return err;
}

/* Applies the requested changes to the parameters. */
static void rereg_params(struct uv_request *req, const struct ib_uverbs_rereg_mr *cmd,
			 const struct uv_pd *pd, struct nic_mr_params *params)
{
	params->pdn = pd->pdn;
	if (cmd->flags & REREG_ACCESS)
		params->access = cmd->access_flags & ACCESS_NIC;
	if (cmd->flags & REREG_TRANSLATION) {
		set_range(params, cmd->start, cmd->length, cmd->hca_va);
		params->space = req->client->space;
	}
}

/* Checks the memory again, if the change concerns it. */
static int check_change(struct uv_request *req, const struct ib_uverbs_rereg_mr *cmd,
			struct nic_mr_params *params)
{
	int err;

	if (!(cmd->flags & (REREG_TRANSLATION | REREG_ACCESS)))
		return 0;
	/* The region may be in another process' memory, which cannot be checked here. */
	if (params->space != req->client->space)
		return -EINVAL;
	err = check_memory(req, params->addr, params->length,
			   cmd->flags & REREG_ACCESS ? cmd->access_flags : params->access,
			   &params->flags);
	if (!err)
		uv_mr_set_mapped(req, params);
	return err;
}

/*
 * Destroys the region and creates it again with the same key. A region whose pages the process has
 * protected stays marked: the mark is in the NIC's entry only, because the shim sets it.
 */
static int mr_change(struct uv_request *req, struct uv_mr *mr, struct nic_mr_params *params)
{
	int err;

	params->flags |= nic_load(&req->device->nic.mr[mr->index].flags) & NIC_MR_CHECK_PAGES;
	err = uv_mr_stop(&mr->obj);
	if (err)
		return err;
	err = uv_created(req->device, nic_mr_create(&req->device->nic, params));
	mr->params = *params;
	if (err)
		mr->params.key = 0;
	return err;
}

static int mr_rereg(struct uv_request *req, const struct ib_uverbs_rereg_mr *cmd, struct uv_mr *mr,
		    struct uv_pd *pd)
{
	struct nic_mr_params params = mr->params;
	struct ib_uverbs_rereg_mr_resp resp = { .lkey = params.key, .rkey = params.key };
	int err;

	rereg_params(req, cmd, pd, &params);
	err = check_change(req, cmd, &params);
	if (!err)
		err = uv_respond(req, &resp, sizeof(resp));
	if (!err)
		err = mr_change(req, mr, &params);
	if (err)
		return err;
	uv_unuse(&mr->pd->obj);
	mr->pd = pd;
	uv_use(&pd->obj);
	return 0;
}

int uv_rereg_mr(struct uv_request *req)
{
	struct ib_uverbs_rereg_mr cmd;
	struct uv_object *obj, *pd;
	struct uv_mr *mr;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!cmd.flags)
		return -EINVAL;
	if (cmd.flags & ~(u32)REREG_KNOWN)
		return -EOPNOTSUPP;
	err = uv_object_find(req->ctx, UVERBS_OBJECT_MR, cmd.mr_handle, &obj);
	if (err)
		return err;
	mr = UV_CAST(struct uv_mr, obj);
	/* A device memory region cannot be changed. */
	err = mr->dm ? -EINVAL : check_rereg(&cmd, mr);
	if (err)
		return err;
	pd = &mr->pd->obj;
	if (cmd.flags & REREG_PD)
		pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle);
	if (!pd || !mr->params.key)
		return -EINVAL;
	return mr_rereg(req, &cmd, mr, UV_CAST(struct uv_pd, pd));
}

/* ------------------------------------------------------- destroy and query */

int uv_dereg_mr(struct uv_request *req)
{
	struct ib_uverbs_dereg_mr cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_MR, cmd.mr_handle);
}

int uv_ioctl_destroy_mr(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_MR_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_MR, obj->handle);
}

int uv_ioctl_query_mr(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_QUERY_MR_HANDLE);
	const struct nic_mr_params *params = &UV_CAST(struct uv_mr, obj)->params;
	int err;

	err = uv_attr_put(req, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &params->key, sizeof(params->key));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &params->key,
				  sizeof(params->key));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &params->length,
				  sizeof(params->length));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &params->iova,
				  sizeof(params->iova));
	return err;
}

int uv_ioctl_unsupported(struct uv_request *req)
{
	(void)req;
	return -EOPNOTSUPP;
}
