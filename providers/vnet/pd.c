// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, and the library's own thread domains and parent domains.
 */
#include <errno.h>
#include <stdlib.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "cmd.h"
#include "vnet.h"

struct ibv_pd *vnet_alloc_pd(struct ibv_context *context)
{
	struct ibv_alloc_pd cmd = {};
	struct vnet_alloc_pd_reply reply = {};
	struct vnet_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ret = ibv_cmd_alloc_pd(context, &pd->ibv_pd, &cmd, sizeof(cmd), &reply.ibv, sizeof(reply));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->ibv_pd;
}

static uint32_t users_of(const uint32_t *users)
{
	return __atomic_load_n(users, __ATOMIC_RELAXED);
}

static void free_parent_domain(struct vnet_pd *parent)
{
	__atomic_fetch_sub(&parent->contained->users, 1, __ATOMIC_RELAXED);
	if (parent->td)
		__atomic_fetch_sub(&parent->td->users, 1, __ATOMIC_RELAXED);
	free(parent);
}

int vnet_dealloc_pd(struct ibv_pd *ibpd)
{
	struct vnet_pd *pd = to_vpd(ibpd);
	int ret;

	if (users_of(&pd->users))
		return EBUSY;
	if (pd->contained) {
		free_parent_domain(pd);
		return 0;
	}

	ret = ibv_cmd_dealloc_pd(ibpd);
	if (ret)
		return ret;
	free(pd);
	return 0;
}

static bool is_listed(uint32_t handle, const uint32_t *list, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (list[i] == handle)
			return true;
	return false;
}

/*
 * Check that the context has a PD with this handle. Returns 0 or an errno value. If the list fills
 * the largest possible attribute, it may be incomplete: then 0 is returned, and creating objects in
 * the PD will fail.
 */
static int look_for_pd(struct ibv_context *context, uint32_t handle)
{
	const uint32_t room = UINT16_MAX / sizeof(uint32_t);
	uint32_t *list, total = 0;
	int ret = 0;

	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, 3);

	list = calloc(room, sizeof(*list));
	if (!list)
		return ENOMEM;
	fill_attr_const_in(cmd, UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD);
	fill_attr_out_ptr(cmd, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total);
	fill_attr_out(cmd, UVERBS_ATTR_INFO_HANDLES_LIST, list, room * sizeof(*list));
	if (execute_ioctl(context, cmd))
		ret = errno;
	else if (total < room && !is_listed(handle, list, total))
		ret = ENOENT;
	free(list);
	return ret;
}

struct ibv_pd *vnet_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vnet_pd *pd;
	int ret;

	ret = look_for_pd(context, handle);
	if (ret) {
		errno = ret;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->ibv_pd.context = context;
	pd->ibv_pd.handle = handle;
	return &pd->ibv_pd;
}

void vnet_unimport_pd(struct ibv_pd *pd)
{
	free(to_vpd(pd));
}

struct ibv_td *vnet_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vnet_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = context;
	return &td->ibv_td;
}

int vnet_dealloc_td(struct ibv_td *ibtd)
{
	struct vnet_td *td = to_vtd(ibtd);

	if (users_of(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

/*
 * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of newer headers: permits memory that
 * devices can access in a confidential guest. This device can access all memory.
 */
#define PARENT_DOMAIN_UNPROTECTED_MEMORY (1u << 2)

/*
 * Allocators are accepted but never called: queues are in the device's memory, and the other
 * allocations are a few hundred bytes.
 */
struct ibv_pd *vnet_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
			       PARENT_DOMAIN_UNPROTECTED_MEMORY;
	struct vnet_pd *parent;

	if (!attr->pd || attr->pd->context != context || to_vpd(attr->pd)->contained ||
	    !check_comp_mask(attr->comp_mask, known)) {
		errno = EINVAL;
		return NULL;
	}
	parent = calloc(1, sizeof(*parent));
	if (!parent)
		return NULL;

	parent->ibv_pd.context = context;
	parent->ibv_pd.handle = attr->pd->handle;
	parent->contained = to_vpd(attr->pd);
	__atomic_fetch_add(&parent->contained->users, 1, __ATOMIC_RELAXED);
	if (attr->td) {
		parent->td = to_vtd(attr->td);
		__atomic_fetch_add(&parent->td->users, 1, __ATOMIC_RELAXED);
	}
	return &parent->ibv_pd;
}

bool vnet_pd_skips_locks(struct ibv_pd *pd)
{
	return pd && to_vpd(pd)->td;
}
