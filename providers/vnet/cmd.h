/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands and responses: the common part followed by vnet's own part. The ibv_cmd_*() functions
 * expect this layout. There must be no padding between the parts.
 */
#ifndef VNET_CMD_H
#define VNET_CMD_H

#include <assert.h>

#include <infiniband/driver.h>

#include "vnet-abi.h"

#define VNET_CMD(_name, _common, _own)                                                             \
	struct _name {                                                                             \
		struct _common ibv;                                                                \
		struct _own vnet;                                                                  \
	};                                                                                         \
	static_assert(sizeof(struct _name) == sizeof(struct _common) + sizeof(struct _own),        \
		      "padding in " #_name)

/* The common parts end in a zero-size driver_data[], where our part begins. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"
#endif

VNET_CMD(vnet_get_context_cmd, ibv_get_context, vnet_alloc_ucontext_req);
VNET_CMD(vnet_get_context_reply, ib_uverbs_get_context_resp, vnet_alloc_ucontext_resp);
VNET_CMD(vnet_query_device_reply, ib_uverbs_ex_query_device_resp, vnet_query_device_resp);
VNET_CMD(vnet_alloc_pd_reply, ib_uverbs_alloc_pd_resp, vnet_alloc_pd_resp);
VNET_CMD(vnet_create_cq_cmd, ibv_create_cq_ex, vnet_create_cq_req);
VNET_CMD(vnet_create_cq_reply, ib_uverbs_ex_create_cq_resp, vnet_create_cq_resp);
VNET_CMD(vnet_resize_cq_reply, ib_uverbs_resize_cq_resp, vnet_resize_cq_resp);
VNET_CMD(vnet_create_srq_reply, ib_uverbs_create_srq_resp, vnet_create_srq_resp);
VNET_CMD(vnet_create_qp_cmd, ibv_create_qp_ex, vnet_create_qp_req);
VNET_CMD(vnet_create_wq_reply, ib_uverbs_ex_create_wq_resp, vnet_create_wq_resp);
VNET_CMD(vnet_create_qp_reply, ib_uverbs_ex_create_qp_resp, vnet_create_qp_resp);

#ifdef __clang__
#pragma clang diagnostic pop
#endif

/*
 * The provider ABI of later rdma-core versions has more parameters in three functions, for features
 * that vnet does not have. These wrappers call either version.
 */
static inline int vnet_cmd_get_context(struct verbs_context *ctx, struct vnet_get_context_cmd *cmd,
				       struct vnet_get_context_reply *reply)
{
	return ibv_cmd_get_context(ctx, &cmd->ibv, sizeof(*cmd),
#if IBVERBS_PABI_VERSION >= 57
				   NULL,
#endif
				   &reply->ibv, sizeof(*reply));
}

static inline int vnet_cmd_create_cq(struct ibv_context *context,
				     const struct ibv_cq_init_attr_ex *attr, struct verbs_cq *cq,
				     struct vnet_create_cq_cmd *cmd,
				     struct vnet_create_cq_reply *reply)
{
	return ibv_cmd_create_cq_ex(context, attr,
#if IBVERBS_PABI_VERSION >= 59
				    NULL,
#endif
				    cq, &cmd->ibv, sizeof(*cmd), &reply->ibv, sizeof(*reply),
				    CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
}

/* size: length of the request, with or without the provider's part. */
static inline int vnet_cmd_create_qp(struct ibv_context *context, struct verbs_qp *qp,
				     struct ibv_qp_init_attr_ex *attr,
				     struct vnet_create_qp_cmd *cmd, size_t size,
				     struct vnet_create_qp_reply *reply)
{
#if IBVERBS_PABI_VERSION >= 64
	return ibv_cmd_create_qp_ex2(context, qp, attr, &cmd->ibv, size, &reply->ibv,
				     sizeof(*reply), NULL);
#else
	return ibv_cmd_create_qp_ex2(context, qp, attr, &cmd->ibv, size, &reply->ibv,
				     sizeof(*reply));
#endif
}

#endif /* VNET_CMD_H */
