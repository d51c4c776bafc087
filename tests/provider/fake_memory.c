// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of the fake agent for protection domains, memory regions, windows and address handles.
 */
#include <errno.h>

#include "cmd.h"
#include <rdma/ib_user_ioctl_cmds.h>

#include "fake_agent.h"
#include "fake_command.h"

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd, struct ibv_alloc_pd *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	pd->context = context;
	return fake_answer_new(&pd->handle);
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	return fake_answer_end();
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va, int access,
		   struct verbs_mr *vmr, struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	/* libibverbs does this after the provider's reg_mr(). */
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.addr = addr;
	vmr->ibv_mr.length = length;
	vmr->access = access;
	return fake_answer_new(&vmr->ibv_mr.handle);
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr, size_t length,
		     uint64_t hca_va, int access, struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_sz, struct ib_uverbs_rereg_mr_resp *resp, size_t resp_sz)
{
	return fake_answer();
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	return fake_answer_end();
}

int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *vmr, uint32_t mr_handle)
{
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.handle = mr_handle;
	return fake_answer();
}

int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg_list, uint32_t num_sge)
{
	return EOPNOTSUPP;
}

/* The fake agent has no device memory. */
int ibv_cmd_alloc_dm(struct ibv_context *ctx, const struct ibv_alloc_dm_attr *dm_attr,
		     struct verbs_dm *dm, struct ibv_command_buffer *link)
{
	return EOPNOTSUPP;
}

int ibv_cmd_free_dm(struct verbs_dm *dm)
{
	return EOPNOTSUPP;
}

int ibv_cmd_reg_dm_mr(struct ibv_pd *pd, struct verbs_dm *dm, uint64_t offset, size_t length,
		      unsigned int access, struct verbs_mr *vmr, struct ibv_command_buffer *link)
{
	return EOPNOTSUPP;
}

int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
			  int access, struct verbs_mr *vmr)
{
	return EOPNOTSUPP;
}

/* Of ioctls, only the query of a PD handle is supported. */
int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attr = cmd->hdr.attrs;
	int err;

	if (cmd->hdr.object_id != UVERBS_OBJECT_DEVICE ||
	    cmd->hdr.method_id != UVERBS_METHOD_INFO_HANDLES) {
		errno = EOPNOTSUPP;
		return -1;
	}
	assert_true(cmd->next_attr == attr + 3);
	assert_true(attr[0].data == UVERBS_OBJECT_PD);
	err = fake_answer();
	if (err) {
		errno = err;
		return -1;
	}
	*(uint32_t *)(uintptr_t)attr[1].data = 1;
	*(uint32_t *)(uintptr_t)attr[2].data = FAKE_PD;
	return 0;
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw *mw,
		     struct ibv_alloc_mw *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_mw_resp *resp, size_t resp_size)
{
	mw->context = pd->context;
	mw->type = type;
	mw->rkey = 0x5ff;
	return fake_answer_new(&mw->handle);
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	return fake_answer_end();
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	ah->context = pd->context;
	return fake_answer_new(&ah->handle);
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	return fake_answer_end();
}
