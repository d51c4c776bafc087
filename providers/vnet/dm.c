// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocated in the NIC, mapped into the process, registered by offset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "vnet.h"

/* Device memory is accessed in words of this size. */
#define DM_WORD 4

static bool is_inside(const struct vnet_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->length && length <= dm->length - offset &&
	       !((offset | length) & (DM_WORD - 1));
}

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct vnet_dm *dm = to_vdm(ibdm);

	if (!is_inside(dm, offset, length))
		return EFAULT;
	memcpy(dm->memory + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct vnet_dm *dm = to_vdm(ibdm);

	if (!is_inside(dm, offset, length))
		return EFAULT;
	memcpy(to, dm->memory + offset, length);
	return 0;
}

static int map_dm(struct vnet_dm *dm, struct ibv_context *context,
		  const struct vnet_alloc_dm_resp *resp)
{
	const struct vnet_context *ctx = to_vctx(context);
	void *addr = NULL;

	/* The agent is trusted, but an agent of another version could return a wrong layout. */
	if (!resp->length || resp->length > resp->mmap_size)
		return EPROTO;
	if (ctx->gate.ring)
		addr = ctx->gate.ring(ctx->gate_cookie, resp->mmap_offset, resp->mmap_size);
	if (!addr) {
		addr = mmap(NULL, resp->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    context->cmd_fd, (off_t)resp->mmap_offset);
		if (addr == MAP_FAILED)
			return errno;
		dm->mapped = resp->mmap_size;
	}
	dm->memory = addr;
	dm->length = resp->length;
	dm->vdm.dm.memcpy_to_dm = memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = memcpy_from_dm;
	return 0;
}

static void put_dm(struct vnet_dm *dm)
{
	if (dm->mapped)
		munmap(dm->memory, dm->mapped);
	free(dm);
}

struct ibv_dm *vnet_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vnet_alloc_dm_resp resp = {};
	struct vnet_dm *dm;
	int ret;

	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, 1);

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_out_ptr(cmd, VNET_ATTR_ALLOC_DM_RESP, &resp);
	ret = ibv_cmd_alloc_dm(context, attr, &dm->vdm, cmd);
	if (ret)
		goto free_dm;
	ret = map_dm(dm, context, &resp);
	if (!ret)
		return &dm->vdm.dm;
	(void)ibv_cmd_free_dm(&dm->vdm);
free_dm:
	free(dm);
	errno = ret;
	return NULL;
}

int vnet_free_dm(struct ibv_dm *ibdm)
{
	struct vnet_dm *dm = to_vdm(ibdm);
	int ret;

	ret = ibv_cmd_free_dm(&dm->vdm);
	if (ret)
		return ret;
	put_dm(dm);
	return 0;
}

struct ibv_dm *vnet_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct vnet_alloc_dm_resp resp = {};
	struct vnet_dm *dm;
	int ret;

	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, VNET_METHOD_DM_QUERY, 2);

	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_in_obj(cmd, VNET_ATTR_QUERY_DM_HANDLE, handle);
	fill_attr_out_ptr(cmd, VNET_ATTR_QUERY_DM_RESP, &resp);
	ret = execute_ioctl(context, cmd) ? errno : map_dm(dm, context, &resp);
	if (ret) {
		free(dm);
		errno = ret;
		return NULL;
	}
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = context;
	return &dm->vdm.dm;
}

void vnet_unimport_dm(struct ibv_dm *ibdm)
{
	put_dm(to_vdm(ibdm));
}

struct ibv_mr *vnet_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t dm_offset,
			      size_t length, unsigned int access)
{
	struct verbs_mr *vmr;
	int ret;

	/* Handles are numbered per context, so this one would name another device memory. */
	if (ibdm->context != pd->context) {
		errno = EINVAL;
		return NULL;
	}
	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	ret = ibv_cmd_reg_dm_mr(pd, &to_vdm(ibdm)->vdm, dm_offset, length, access, vmr, NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}
