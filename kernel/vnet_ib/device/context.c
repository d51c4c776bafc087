// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts and protection domains. */
#include <linux/file.h>
#include <linux/module.h>
#include <rdma/uverbs_ioctl.h>
#define UVERBS_MODULE_NAME vnet_ib
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "device.h"
#include "doorbells/doorbells.h"
#include "memory/memory.h"

/* ----------------------------------------------------------------- contexts */

/* A doorbell descriptor that is not installed yet. fd is -1 if none could be made. */
struct vnet_new_fd {
	int fd;
	struct file *file;
};

static struct vnet_new_fd vnet_new_doorbell(struct vnet_door *door)
{
	struct vnet_new_fd new = { .fd = get_unused_fd_flags(O_CLOEXEC) };

	if (new.fd < 0)
		goto none;
	new.file = vnet_door_file(door);
	if (!IS_ERR(new.file))
		return new;
	put_unused_fd(new.fd);
none:
	/* The process then rings by the uverbs write command. */
	return (struct vnet_new_fd){ .fd = -1 };
}

/* Install the descriptor if the process was told its number, else release it. */
static void vnet_end_doorbell(const struct vnet_new_fd *new, bool told)
{
	if (new->fd < 0)
		return;
	if (told) {
		fd_install(new->fd, new->file);
	} else {
		put_unused_fd(new->fd);
		fput(new->file);
	}
}

static struct vnet_alloc_ucontext_resp vnet_describe(const struct vnet_ucontext *uc,
						     int doorbell_fd)
{
	struct vnet_alloc_ucontext_resp resp = {
		.hw_version = VNET_HW_VERSION,
		.caps = VNET_UCONTEXT_CAP_TRAP_DOORBELL | VNET_UCONTEXT_CAP_DOORBELL_PAGE |
			VNET_UCONTEXT_CAP_IMM64 | VNET_UCONTEXT_CAP_RETURN | VNET_UCONTEXT_CAP_TM |
			VNET_UCONTEXT_CAP_QUERY_DEVICE,
		.max_send_sge = VNET_MAX_SGE,
		.max_recv_sge = VNET_MAX_SGE,
		.max_inline_data = VNET_MAX_INLINE,
		.clock_khz = USEC_PER_SEC,
		.doorbell_fd = doorbell_fd,
		.doorbell_page = rdma_user_mmap_get_offset(&uc->door->page.mmap->entry),
	};

	if (VNET_DEVICE_FLUSH != 0)
		resp.caps |= VNET_UCONTEXT_CAP_FLUSH;
	if (doorbell_fd >= 0)
		resp.caps |= VNET_UCONTEXT_CAP_DOORBELL_FD;
	return resp;
}

static int vnet_ucontext_respond(struct vnet_ucontext *uc, struct ib_udata *udata)
{
	struct vnet_new_fd new = vnet_new_doorbell(uc->door);
	struct vnet_alloc_ucontext_resp resp = vnet_describe(uc, new.fd);
	int err = ib_copy_to_udata(udata, &resp, sizeof(resp));

	vnet_end_doorbell(&new, !err);
	return err;
}

int vnet_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibuc->device);
	struct vnet_ucontext *uc = to_vuc(ibuc);
	struct vnet_alloc_ucontext_req req = {};
	int err;

	if (udata->inlen < sizeof(req) || udata->outlen < sizeof(struct vnet_alloc_ucontext_resp))
		return -EINVAL;
	err = vnet_copy_request(&req, sizeof(req), udata);
	if (err)
		return err;
	if (req.hw_version != VNET_HW_VERSION ||
	    memchr_inv(req.reserved_20, 0, sizeof(req.reserved_20)))
		return -EPROTONOSUPPORT;
	err = vnet_number_get(&dev->spaces, &uc->obj);
	if (err)
		return err;
	err = -ENOMEM;
	uc->door = vnet_door_make(uc);
	if (!uc->door)
		goto end_space;
	/* The module cannot be unloaded while a process has the device open. */
	__module_get(THIS_MODULE);
	err = vnet_ucontext_respond(uc, udata);
	if (!err)
		return 0;
	module_put(THIS_MODULE);
	vnet_door_close(uc->door);
end_space:
	vnet_number_end(&dev->spaces, &uc->obj);
	return err;
}

void vnet_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct vnet_ucontext *uc = to_vuc(ibuc);

	/* All regions of the context have ended, so no work is queued. */
	if (uc->pagers)
		destroy_workqueue(uc->pagers);
	vnet_door_close(uc->door);
	vnet_number_end(&to_vdev(ibuc->device)->spaces, &uc->obj);
	module_put(THIS_MODULE);
}

/*
 * The device is removed while the process has it open. Nothing to do: mapped rings are
 * reference-counted, and the core destroys the objects.
 */
void vnet_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/*
 * Describe a context that was imported from another process, or opened by another library
 * context.
 */
int vnet_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs)
{
	struct vnet_ucontext *uc = to_vuc(ibuc);
	struct vnet_new_fd new = vnet_new_doorbell(uc->door);
	struct vnet_alloc_ucontext_resp resp = vnet_describe(uc, new.fd);
	int err = uverbs_copy_to_struct_or_zero(attrs, VNET_ATTR_QUERY_CONTEXT_RESP, &resp,
						sizeof(resp));

	vnet_end_doorbell(&new, !err);
	return err;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(vnet_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(VNET_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct vnet_alloc_ucontext_resp,
								    doorbell_page),
						 UA_MANDATORY));

const struct uapi_definition vnet_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &vnet_query_context),
	UAPI_DEF_CHAIN(vnet_dm_uapi),
	{},
};

/* ------------------------------------------------------- protection domains */

int vnet_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vnet_pd *pd = container_of(ibpd, struct vnet_pd, ibpd);
	struct vnet_dev *dev = to_vdev(ibpd->device);
	struct vnet_alloc_pd_resp resp = {};
	int err;

	err = vnet_number_get(&dev->pds, &pd->obj);
	if (err || !udata)
		return err;
	resp.pdn = pd->obj.index;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		vnet_number_end(&dev->pds, &pd->obj);
	return err;
}

int vnet_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	vnet_number_end(&to_vdev(ibpd->device)->pds,
			&container_of(ibpd, struct vnet_pd, ibpd)->obj);
	return 0;
}
