// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp.h"

#include <string.h>

#define QKEY 0x1234

struct ibv_context *open_test_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device = list;
	struct ibv_context *context = NULL;

	if (!list)
		return NULL;
	while (*device && name && strcmp(ibv_get_device_name(*device), name) != 0)
		device++;
	if (*device)
		context = ibv_open_device(*device);
	ibv_free_device_list(list);
	return context;
}

struct ibv_qp_attr qp_attr_to(uint32_t qpn, const union ibv_gid *gid, uint8_t sgid_index)
{
	return (struct ibv_qp_attr){
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = *gid, .sgid_index = sgid_index, .hop_limit = 64 },
		},
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
}

/* The attributes that a transition requires (InfiniBand specification, 11.2.5.2). */
static int required(enum ibv_qp_state state, enum ibv_qp_type type)
{
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		if (type == IBV_QPT_UD)
			return 0;
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       (type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	case IBV_QPS_RTS:
		return IBV_QP_SQ_PSN |
		       (type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						     IBV_QP_MAX_QP_RD_ATOMIC :
					     0);
	default:
		return 0;
	}
}

int qp_to(struct ibv_qp *qp, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	attr->qp_state = state;
	return ibv_modify_qp(qp, attr, IBV_QP_STATE | required(state, qp->qp_type));
}

int qp_to_rts(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	int status = qp_to(qp, IBV_QPS_INIT, attr);

	if (!status)
		status = qp_to(qp, IBV_QPS_RTR, attr);
	if (!status)
		status = qp_to(qp, IBV_QPS_RTS, attr);
	return status;
}
