// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Table of the write commands that the device supports. */
#include <errno.h>

#include "write.h"

#define REQUEST(type) .request = sizeof(struct ib_uverbs_##type)
#define RESPONSE(type) .response = sizeof(struct ib_uverbs_##type##_resp), .responds = true
/* Extended commands: minimum length is up to the end of this member. */
#define REQUEST_TO(type, last) .request = UV_UP_TO(struct ib_uverbs_##type, last)
#define RESPONSE_TO(type, last)                                                                    \
	.response = UV_UP_TO(struct ib_uverbs_##type##_resp, last), .responds = true

static const struct uv_command plain[] = {
	[IB_USER_VERBS_CMD_GET_CONTEXT] = { uv_get_context, REQUEST(get_context),
					    RESPONSE(get_context), .driver_part = true },
	[IB_USER_VERBS_CMD_QUERY_DEVICE] = { uv_query_device, REQUEST(query_device),
					     RESPONSE(query_device) },
	[IB_USER_VERBS_CMD_QUERY_PORT] = { uv_query_port, REQUEST(query_port),
					   RESPONSE(query_port) },
	[IB_USER_VERBS_CMD_ALLOC_PD] = { uv_alloc_pd, REQUEST(alloc_pd), RESPONSE(alloc_pd),
					 .driver_part = true },
	[IB_USER_VERBS_CMD_DEALLOC_PD] = { uv_dealloc_pd, REQUEST(dealloc_pd) },
	[IB_USER_VERBS_CMD_CREATE_AH] = { uv_create_ah, REQUEST(create_ah), RESPONSE(create_ah),
					  .driver_part = true },
	[IB_USER_VERBS_CMD_DESTROY_AH] = { uv_destroy_ah, REQUEST(destroy_ah) },
	[IB_USER_VERBS_CMD_REG_MR] = { uv_reg_mr, REQUEST(reg_mr), RESPONSE(reg_mr),
				       .driver_part = true },
	[IB_USER_VERBS_CMD_REREG_MR] = { uv_rereg_mr, REQUEST(rereg_mr), RESPONSE(rereg_mr),
					 .driver_part = true },
	[IB_USER_VERBS_CMD_DEREG_MR] = { uv_dereg_mr, REQUEST(dereg_mr) },
	[IB_USER_VERBS_CMD_ALLOC_MW] = { uv_alloc_mw, REQUEST(alloc_mw), RESPONSE(alloc_mw),
					 .driver_part = true },
	[IB_USER_VERBS_CMD_DEALLOC_MW] = { uv_dealloc_mw, REQUEST(dealloc_mw) },
	[IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL] = { uv_create_comp_channel,
						    REQUEST(create_comp_channel),
						    RESPONSE(create_comp_channel) },
	[IB_USER_VERBS_CMD_CREATE_CQ] = { uv_create_cq, REQUEST(create_cq), RESPONSE(create_cq),
					  .driver_part = true },
	[IB_USER_VERBS_CMD_RESIZE_CQ] = { uv_resize_cq, REQUEST(resize_cq), RESPONSE(resize_cq),
					  .driver_part = true },
	[IB_USER_VERBS_CMD_DESTROY_CQ] = { uv_destroy_cq, REQUEST(destroy_cq),
					   RESPONSE(destroy_cq) },
	[IB_USER_VERBS_CMD_CREATE_QP] = { uv_create_qp, REQUEST(create_qp), RESPONSE(create_qp),
					  .driver_part = true },
	[IB_USER_VERBS_CMD_QUERY_QP] = { uv_query_qp, REQUEST(query_qp), RESPONSE(query_qp) },
	[IB_USER_VERBS_CMD_MODIFY_QP] = { uv_modify_qp, REQUEST(modify_qp) },
	[IB_USER_VERBS_CMD_DESTROY_QP] = { uv_destroy_qp, REQUEST(destroy_qp),
					   RESPONSE(destroy_qp) },
	[IB_USER_VERBS_CMD_POST_SEND] = { uv_post_send, REQUEST(post_send), RESPONSE(post_send) },
	[IB_USER_VERBS_CMD_CREATE_SRQ] = { uv_create_srq, REQUEST(create_srq), RESPONSE(create_srq),
					   .driver_part = true },
	[IB_USER_VERBS_CMD_MODIFY_SRQ] = { uv_modify_srq, REQUEST(modify_srq),
					   .driver_part = true },
	[IB_USER_VERBS_CMD_QUERY_SRQ] = { uv_query_srq, REQUEST(query_srq), RESPONSE(query_srq) },
	[IB_USER_VERBS_CMD_DESTROY_SRQ] = { uv_destroy_srq, REQUEST(destroy_srq),
					    RESPONSE(destroy_srq) },
	[IB_USER_VERBS_CMD_CREATE_XSRQ] = { uv_create_xsrq, REQUEST(create_xsrq),
					    RESPONSE(create_srq), .driver_part = true },
	[IB_USER_VERBS_CMD_ATTACH_MCAST] = { uv_attach_mcast, REQUEST(attach_mcast) },
	[IB_USER_VERBS_CMD_DETACH_MCAST] = { uv_detach_mcast, REQUEST(detach_mcast) },
	[IB_USER_VERBS_CMD_OPEN_XRCD] = { uv_open_xrcd, REQUEST(open_xrcd), RESPONSE(open_xrcd),
					  .driver_part = true },
	[IB_USER_VERBS_CMD_CLOSE_XRCD] = { uv_close_xrcd, REQUEST(close_xrcd) },
	/* The last command of the ABI. */
	[IB_USER_VERBS_CMD_OPEN_QP] = { uv_open_qp, REQUEST(open_qp), RESPONSE(create_qp),
					.driver_part = true },
};

static const struct uv_command extended[] = {
	[IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = { uv_ex_query_device,
						REQUEST_TO(ex_query_device, reserved),
						RESPONSE_TO(ex_query_device, response_length),
						.extended = true },
	[IB_USER_VERBS_EX_CMD_CREATE_CQ] = { uv_ex_create_cq, REQUEST_TO(ex_create_cq, reserved),
					     RESPONSE_TO(ex_create_cq, response_length),
					     .extended = true },
	[IB_USER_VERBS_EX_CMD_CREATE_QP] = { uv_ex_create_qp, REQUEST_TO(ex_create_qp, comp_mask),
					     RESPONSE_TO(ex_create_qp, response_length),
					     .extended = true },
	[IB_USER_VERBS_EX_CMD_MODIFY_QP] = { uv_ex_modify_qp, REQUEST_TO(ex_modify_qp, base),
					     RESPONSE_TO(ex_modify_qp, response_length),
					     .extended = true },
	[IB_USER_VERBS_EX_CMD_CREATE_FLOW] = { uv_create_flow, REQUEST_TO(create_flow, flow_attr),
					       RESPONSE_TO(create_flow, flow_handle),
					       .extended = true },
	[IB_USER_VERBS_EX_CMD_DESTROY_FLOW] = { uv_destroy_flow,
						REQUEST_TO(destroy_flow, flow_handle),
						.extended = true },
	[IB_USER_VERBS_EX_CMD_CREATE_WQ] = { uv_create_wq, REQUEST_TO(ex_create_wq, max_sge),
					     RESPONSE_TO(ex_create_wq, wqn), .extended = true },
	[IB_USER_VERBS_EX_CMD_MODIFY_WQ] = { uv_modify_wq, REQUEST_TO(ex_modify_wq, curr_wq_state),
					     .extended = true },
	[IB_USER_VERBS_EX_CMD_DESTROY_WQ] = { uv_destroy_wq, REQUEST_TO(ex_destroy_wq, wq_handle),
					      RESPONSE_TO(ex_destroy_wq, reserved),
					      .extended = true },
	[IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL] = { uv_create_table,
						      REQUEST_TO(ex_create_rwq_ind_table,
								 log_ind_tbl_size),
						      RESPONSE_TO(ex_create_rwq_ind_table,
								  ind_tbl_num),
						      .extended = true },
	[IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL] = { uv_destroy_table,
						       REQUEST_TO(ex_destroy_rwq_ind_table,
								  ind_tbl_handle),
						       .extended = true },
	/* The last extended command of the ABI. */
	[IB_USER_VERBS_EX_CMD_MODIFY_CQ] = { uv_modify_cq, REQUEST_TO(ex_modify_cq, reserved),
					     .extended = true },
};

int uv_command_find(u32 number, const struct uv_command **command)
{
	u32 index = number & IB_USER_VERBS_CMD_COMMAND_MASK;
	bool is_extended = number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	const struct uv_command *table = is_extended ? extended : plain;
	size_t count = is_extended ? UV_ARRAY_SIZE(extended) : UV_ARRAY_SIZE(plain);

	if (number & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_COMMAND_MASK))
		return -EINVAL;
	if (index >= count || !table[index].handler)
		return -EOPNOTSUPP;
	*command = &table[index];
	return 0;
}
