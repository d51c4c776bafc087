/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Out-of-tree stand-in for rdma-core's private <infiniband/kern-abi.h>. It declares the buffers
 * that the ibv_cmd_*() functions of libibverbs 44 fill in and send. A buffer is the uverbs header
 * followed by the kernel's structure; the provider's part follows without a gap.
 */
#ifndef VNET_COMPAT_KERN_ABI_H
#define VNET_COMPAT_KERN_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_verbs.h>

struct ex_hdr {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
};

#define VNET_COMPAT_CMD(_name, _payload)                                                           \
	struct _name {                                                                             \
		struct ib_uverbs_cmd_hdr hdr;                                                      \
		struct _payload core_payload;                                                      \
	}

#define VNET_COMPAT_CMD_EX(_name, _payload)                                                        \
	struct _name {                                                                             \
		struct ex_hdr hdr;                                                                 \
		struct _payload core_payload;                                                      \
	}

VNET_COMPAT_CMD(ibv_get_context, ib_uverbs_get_context);
VNET_COMPAT_CMD(ibv_query_port, ib_uverbs_query_port);
VNET_COMPAT_CMD(ibv_alloc_pd, ib_uverbs_alloc_pd);
VNET_COMPAT_CMD(ibv_reg_mr, ib_uverbs_reg_mr);
VNET_COMPAT_CMD(ibv_rereg_mr, ib_uverbs_rereg_mr);
VNET_COMPAT_CMD(ibv_alloc_mw, ib_uverbs_alloc_mw);
VNET_COMPAT_CMD(ibv_resize_cq, ib_uverbs_resize_cq);
VNET_COMPAT_CMD(ibv_create_srq, ib_uverbs_create_srq);
VNET_COMPAT_CMD(ibv_create_xsrq, ib_uverbs_create_xsrq);
VNET_COMPAT_CMD(ibv_modify_srq, ib_uverbs_modify_srq);
VNET_COMPAT_CMD(ibv_query_srq, ib_uverbs_query_srq);
VNET_COMPAT_CMD(ibv_open_xrcd, ib_uverbs_open_xrcd);
VNET_COMPAT_CMD(ibv_open_qp, ib_uverbs_open_qp);
VNET_COMPAT_CMD(ibv_query_qp, ib_uverbs_query_qp);
VNET_COMPAT_CMD(ibv_modify_qp, ib_uverbs_modify_qp);
VNET_COMPAT_CMD_EX(ibv_create_cq_ex, ib_uverbs_ex_create_cq);
VNET_COMPAT_CMD_EX(ibv_modify_cq, ib_uverbs_ex_modify_cq);
VNET_COMPAT_CMD_EX(ibv_create_qp_ex, ib_uverbs_ex_create_qp);
VNET_COMPAT_CMD_EX(ibv_modify_qp_ex, ib_uverbs_ex_modify_qp);
VNET_COMPAT_CMD_EX(ibv_create_wq, ib_uverbs_ex_create_wq);
VNET_COMPAT_CMD_EX(ibv_modify_wq, ib_uverbs_ex_modify_wq);

#endif /* VNET_COMPAT_KERN_ABI_H */
