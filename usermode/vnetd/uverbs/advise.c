// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ADVISE_MR: prefetching of on-demand paging regions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl.h"
#include "process.h"
#include "objects.h"

/*
 * Finds a region by key, with the error codes of the kernel's drivers. Keys are per device, so a
 * key of another context gives the same answers.
 */
static int find_region(struct uv_request *req, const struct uv_object *pd, u32 key, bool write,
		       const struct uv_mr **out)
{
	const struct uv_mr *mr =
		uv_number_owner(&req->device->alloc->mr, nic_key_index(&req->device->nic, key));

	if (!mr || !mr->obj.live || mr->obj.dying || mr->params.key != key)
		return -ENOENT;
	if (mr->obj.class->type != UVERBS_OBJECT_MR)
		return -EINVAL;
	if (!(mr->params.access & NIC_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (&mr->pd->obj != pd)
		return -EPERM;
	if (write && !(mr->params.access & NIC_ACCESS_LOCAL_WRITE))
		return -EPERM;
	*out = mr;
	return 0;
}

static int prefetch(struct uv_request *req, const struct uv_mr *mr, u64 advice,
		    const struct ib_uverbs_sge *sge)
{
	const struct nic_mr_params *params = &mr->params;
	u64 offset = sge->addr - params->iova, at = params->addr + offset;
	int err;

	if (sge->addr < params->iova || offset > params->length ||
	    sge->length > params->length - offset)
		return -EFAULT;
	/* Only memory of the calling process can be checked and brought. */
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || !sge->length ||
	    params->space != req->client->space)
		return 0;
	err = uv_process_mapped(req->client, at, sge->length,
				advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, NULL);
	return err ? err : user_bring(req->client, at, sge->length);
}

/* Validates all keys first. Errors of ranges are returned only if the caller waits (FLUSH). */
static int advise(struct uv_request *req, u64 advice, bool waits, const struct ib_uverbs_sge *sge,
		  u32 count)
{
	const struct uv_object *pd = uv_attr_object(req, UVERBS_ATTR_ADVISE_MR_PD_HANDLE);
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const struct uv_mr *mr;
	u32 i;
	int err;

	for (i = 0; i < count; i++) {
		err = find_region(req, pd, sge[i].lkey, write, &mr);
		if (err)
			return err;
	}
	for (i = 0; i < count; i++) {
		err = find_region(req, pd, sge[i].lkey, write, &mr);
		if (!err)
			err = prefetch(req, mr, advice, &sge[i]);
		if (err && waits)
			return err;
	}
	return 0;
}

int uv_ioctl_advise_mr(struct uv_request *req)
{
	struct ib_uverbs_sge *sge;
	u32 flags, length;
	u64 advice;
	u8 *bytes;
	int err;

	err = uv_attr_const(req, UVERBS_ATTR_ADVISE_MR_ADVICE, ~0ull, &advice);
	if (!err)
		err = uv_attr_flags(req, UVERBS_ATTR_ADVISE_MR_FLAGS,
				    IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &flags);
	if (err)
		return err;
	if (uv_attr_length(req, UVERBS_ATTR_ADVISE_MR_SGE_LIST) % sizeof(*sge))
		return -EINVAL;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	err = uv_attr_copy(req, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &bytes, &length);
	sge = (struct ib_uverbs_sge *)(void *)bytes;
	if (!err)
		err = advise(req, advice, flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge,
			     length / (u32)sizeof(*sge));
	free(bytes);
	return err;
}
