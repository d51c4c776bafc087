/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands with vnet's own part behind the common one, as the ibv_cmd_*()
 * functions want them. Neither part may be padded.
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

/* The common parts end in a driver_data[] of no size: ours begins there. */
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

#endif /* VNET_CMD_H */
