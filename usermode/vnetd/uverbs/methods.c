// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tables of ioctl objects, methods and attributes. They are those of a kernel driver without
 * optional ones.
 */
#include "ioctl.h"

#define BYTES_IN(name, min, max, ...)                                                              \
	{                                                                                          \
		.id = name, .type = UV_ATTR_IN, .min_length = min, .max_length = max, __VA_ARGS__  \
	}
#define BYTES_OUT(name, min, max, ...)                                                             \
	{                                                                                          \
		.id = name, .type = UV_ATTR_OUT, .min_length = min, .max_length = max, __VA_ARGS__ \
	}

/* A value of exactly this type. */
#define IN(name, ctype, ...) BYTES_IN(name, sizeof(ctype), sizeof(ctype), __VA_ARGS__)
#define OUT(name, ctype, ...) BYTES_OUT(name, sizeof(ctype), sizeof(ctype), __VA_ARGS__)
/* A structure whose first version ended with `last`, and which may grow. */
#define STRUCT_IN(name, ctype, last, ...)                                                          \
	BYTES_IN(name, UV_UP_TO(ctype, last), sizeof(ctype), .zero_tail = true, __VA_ARGS__)
#define STRUCT_OUT(name, ctype, last, ...)                                                         \
	BYTES_OUT(name, UV_UP_TO(ctype, last), sizeof(ctype), .zero_tail = true, __VA_ARGS__)
/* At least `min` bytes. */
#define MIN_IN(name, min, ...) BYTES_IN(name, min, 0xffff, __VA_ARGS__)
#define MIN_OUT(name, min, ...) BYTES_OUT(name, min, 0xffff, __VA_ARGS__)
/* A constant has 64 bits; flags have 32 or 64. */
#define CONST_IN(name, ...) IN(name, u64, __VA_ARGS__)
#define FLAGS_IN(name, ...) BYTES_IN(name, sizeof(u32), sizeof(u64), __VA_ARGS__)
#define HANDLE(name, what, how, ...)                                                               \
	{                                                                                          \
		.id = name, .type = UV_ATTR_HANDLE, .object = what, .access = how, __VA_ARGS__     \
	}
#define FD(name, what, how, ...)                                                                   \
	{                                                                                          \
		.id = name, .type = UV_ATTR_FD, .object = what, .access = how, __VA_ARGS__         \
	}
#define MANDATORY .mandatory = true
#define OPTIONAL .mandatory = false
#define DRIVER_PART                                                                                \
	MIN_IN(UVERBS_ATTR_UHW_IN, 0, OPTIONAL), MIN_OUT(UVERBS_ATTR_UHW_OUT, 0, OPTIONAL)

/* ----------------------------------------------------------------- device */

static const struct uv_attr_spec invoke_write[] = {
	CONST_IN(UVERBS_ATTR_WRITE_CMD, MANDATORY),
	MIN_IN(UVERBS_ATTR_CORE_IN, sizeof(u32), OPTIONAL),
	MIN_OUT(UVERBS_ATTR_CORE_OUT, 0, OPTIONAL),
	DRIVER_PART,
};

static const struct uv_attr_spec info_handles[] = {
	CONST_IN(UVERBS_ATTR_INFO_OBJECT_ID, MANDATORY),
	OUT(UVERBS_ATTR_INFO_TOTAL_HANDLES, u32, OPTIONAL),
	MIN_OUT(UVERBS_ATTR_INFO_HANDLES_LIST, sizeof(u32), OPTIONAL),
};

static const struct uv_attr_spec query_port[] = {
	CONST_IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM, MANDATORY),
	STRUCT_OUT(UVERBS_ATTR_QUERY_PORT_RESP, struct ib_uverbs_query_port_resp_ex, reserved,
		   MANDATORY),
};

static const struct uv_attr_spec get_context[] = {
	OUT(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, u32, OPTIONAL),
	OUT(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, u64, OPTIONAL),
	DRIVER_PART,
};

static const struct uv_attr_spec query_context[] = {
	OUT(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, u32, OPTIONAL),
	OUT(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, u64, OPTIONAL),
	STRUCT_OUT(VNET_ATTR_QUERY_CONTEXT_RESP, struct vnet_alloc_ucontext_resp, clock_khz,
		   OPTIONAL),
};

static const struct uv_attr_spec query_gid_table[] = {
	CONST_IN(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, OPTIONAL),
	MIN_OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0, MANDATORY),
	OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, u64, MANDATORY),
};

static const struct uv_attr_spec query_gid_entry[] = {
	CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, MANDATORY),
	CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, MANDATORY),
	STRUCT_OUT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, struct ib_uverbs_gid_entry,
		   netdev_ifindex, MANDATORY),
};

static const struct uv_attr_spec alloc_events[] = {
	FD(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, UVERBS_OBJECT_ASYNC_EVENT, UV_ATTR_NEW,
	   MANDATORY),
};

/* ----------------------------------------------------------------- queues */

static const struct uv_attr_spec create_cq[] = {
	HANDLE(UVERBS_ATTR_CREATE_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_NEW, MANDATORY),
	IN(UVERBS_ATTR_CREATE_CQ_CQE, u32, MANDATORY),
	IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, u64, MANDATORY),
	FD(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, UVERBS_OBJECT_COMP_CHANNEL, UV_ATTR_READ, OPTIONAL),
	IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, u32, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_CREATE_CQ_FLAGS, OPTIONAL),
	OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, u32, MANDATORY),
	FD(UVERBS_ATTR_CREATE_CQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT, UV_ATTR_READ, OPTIONAL),
	DRIVER_PART,
};

static const struct uv_attr_spec destroy_cq[] = {
	HANDLE(UVERBS_ATTR_DESTROY_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_DESTROY, MANDATORY),
	OUT(UVERBS_ATTR_DESTROY_CQ_RESP, struct ib_uverbs_destroy_cq_resp, MANDATORY),
};

static const struct uv_attr_spec create_qp[] = {
	HANDLE(UVERBS_ATTR_CREATE_QP_HANDLE, UVERBS_OBJECT_QP, UV_ATTR_NEW, MANDATORY),
	HANDLE(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, UVERBS_OBJECT_XRCD, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_QP_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, UVERBS_OBJECT_SRQ, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, UVERBS_OBJECT_RWQ_IND_TBL, UV_ATTR_READ,
	       OPTIONAL),
	IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, u64, MANDATORY),
	STRUCT_IN(UVERBS_ATTR_CREATE_QP_CAP, struct ib_uverbs_qp_cap, max_inline_data, MANDATORY),
	CONST_IN(UVERBS_ATTR_CREATE_QP_TYPE, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_CREATE_QP_FLAGS, OPTIONAL),
	IN(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, u32, OPTIONAL),
	FD(UVERBS_ATTR_CREATE_QP_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT, UV_ATTR_READ, OPTIONAL),
	STRUCT_OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP, struct ib_uverbs_qp_cap, max_inline_data,
		   MANDATORY),
	OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, u32, MANDATORY),
	DRIVER_PART,
};

static const struct uv_attr_spec destroy_qp[] = {
	HANDLE(UVERBS_ATTR_DESTROY_QP_HANDLE, UVERBS_OBJECT_QP, UV_ATTR_DESTROY, MANDATORY),
	OUT(UVERBS_ATTR_DESTROY_QP_RESP, struct ib_uverbs_destroy_qp_resp, MANDATORY),
};

static const struct uv_attr_spec create_srq[] = {
	HANDLE(UVERBS_ATTR_CREATE_SRQ_HANDLE, UVERBS_OBJECT_SRQ, UV_ATTR_NEW, MANDATORY),
	HANDLE(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, MANDATORY),
	HANDLE(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_OBJECT_XRCD, UV_ATTR_READ, OPTIONAL),
	HANDLE(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_READ, OPTIONAL),
	IN(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, u64, MANDATORY),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_WR, u32, MANDATORY),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, u32, MANDATORY),
	IN(UVERBS_ATTR_CREATE_SRQ_LIMIT, u32, MANDATORY),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, u32, OPTIONAL),
	CONST_IN(UVERBS_ATTR_CREATE_SRQ_TYPE, MANDATORY),
	FD(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT, UV_ATTR_READ, OPTIONAL),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, u32, MANDATORY),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, u32, MANDATORY),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, u32, OPTIONAL),
	DRIVER_PART,
};

static const struct uv_attr_spec destroy_srq[] = {
	HANDLE(UVERBS_ATTR_DESTROY_SRQ_HANDLE, UVERBS_OBJECT_SRQ, UV_ATTR_DESTROY, MANDATORY),
	OUT(UVERBS_ATTR_DESTROY_SRQ_RESP, struct ib_uverbs_destroy_srq_resp, MANDATORY),
};

static const struct uv_attr_spec create_wq[] = {
	HANDLE(UVERBS_ATTR_CREATE_WQ_HANDLE, UVERBS_OBJECT_WQ, UV_ATTR_NEW, MANDATORY),
	HANDLE(UVERBS_ATTR_CREATE_WQ_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, MANDATORY),
	HANDLE(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, UVERBS_OBJECT_CQ, UV_ATTR_READ, MANDATORY),
	IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, u64, MANDATORY),
	CONST_IN(UVERBS_ATTR_CREATE_WQ_TYPE, MANDATORY),
	FD(UVERBS_ATTR_CREATE_WQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT, UV_ATTR_READ, OPTIONAL),
	IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, u32, MANDATORY),
	IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, u32, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_CREATE_WQ_FLAGS, MANDATORY),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, u32, MANDATORY),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, u32, MANDATORY),
	OUT(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, u32, OPTIONAL),
	DRIVER_PART,
};

static const struct uv_attr_spec destroy_wq[] = {
	HANDLE(UVERBS_ATTR_DESTROY_WQ_HANDLE, UVERBS_OBJECT_WQ, UV_ATTR_DESTROY, MANDATORY),
	OUT(UVERBS_ATTR_DESTROY_WQ_RESP, u32, MANDATORY),
};

static const struct uv_attr_spec destroy_table[] = {
	HANDLE(UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, UVERBS_OBJECT_RWQ_IND_TBL, UV_ATTR_DESTROY,
	       MANDATORY),
};

static const struct uv_attr_spec destroy_flow[] = {
	HANDLE(UVERBS_ATTR_DESTROY_FLOW_HANDLE, UVERBS_OBJECT_FLOW, UV_ATTR_DESTROY, MANDATORY),
};

static const struct uv_attr_spec create_counters[] = {
	HANDLE(UVERBS_ATTR_CREATE_COUNTERS_HANDLE, UVERBS_OBJECT_COUNTERS, UV_ATTR_NEW, MANDATORY),
};

static const struct uv_attr_spec destroy_counters[] = {
	HANDLE(UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, UVERBS_OBJECT_COUNTERS, UV_ATTR_DESTROY,
	       MANDATORY),
};

static const struct uv_attr_spec read_counters[] = {
	HANDLE(UVERBS_ATTR_READ_COUNTERS_HANDLE, UVERBS_OBJECT_COUNTERS, UV_ATTR_READ, MANDATORY),
	MIN_OUT(UVERBS_ATTR_READ_COUNTERS_BUFF, 0, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_READ_COUNTERS_FLAGS, OPTIONAL),
};

static const struct uv_attr_spec destroy_xrcd[] = {
	HANDLE(UVERBS_ATTR_DESTROY_XRCD_HANDLE, UVERBS_OBJECT_XRCD, UV_ATTR_DESTROY, MANDATORY),
};

/* ----------------------------------------------------------------- memory */

static const struct uv_attr_spec destroy_mr[] = {
	HANDLE(UVERBS_ATTR_DESTROY_MR_HANDLE, UVERBS_OBJECT_MR, UV_ATTR_DESTROY, MANDATORY),
};

static const struct uv_attr_spec query_mr[] = {
	HANDLE(UVERBS_ATTR_QUERY_MR_HANDLE, UVERBS_OBJECT_MR, UV_ATTR_READ, MANDATORY),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_RKEY, u32, MANDATORY),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LKEY, u32, MANDATORY),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, u64, MANDATORY),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_IOVA, u64, OPTIONAL),
};

static const struct uv_attr_spec advise_mr[] = {
	HANDLE(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, MANDATORY),
	CONST_IN(UVERBS_ATTR_ADVISE_MR_ADVICE, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_ADVISE_MR_FLAGS, MANDATORY),
	MIN_IN(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(struct ib_uverbs_sge), MANDATORY),
};

static const struct uv_attr_spec reg_dm_mr[] = {
	HANDLE(UVERBS_ATTR_REG_DM_MR_HANDLE, UVERBS_OBJECT_MR, UV_ATTR_NEW, MANDATORY),
	IN(UVERBS_ATTR_REG_DM_MR_OFFSET, u64, MANDATORY),
	IN(UVERBS_ATTR_REG_DM_MR_LENGTH, u64, MANDATORY),
	HANDLE(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, OPTIONAL),
	HANDLE(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, UVERBS_OBJECT_DM, UV_ATTR_READ, MANDATORY),
	OUT(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, u32, MANDATORY),
	OUT(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, u32, MANDATORY),
};

static const struct uv_attr_spec reg_dmabuf_mr[] = {
	HANDLE(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, UVERBS_OBJECT_MR, UV_ATTR_NEW, MANDATORY),
	HANDLE(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_READ, MANDATORY),
	IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, u64, MANDATORY),
	IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, u64, MANDATORY),
	IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, u64, MANDATORY),
	IN(UVERBS_ATTR_REG_DMABUF_MR_FD, u32, MANDATORY),
	FLAGS_IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, MANDATORY),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, u32, MANDATORY),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, u32, MANDATORY),
};

static const struct uv_attr_spec alloc_dm[] = {
	HANDLE(UVERBS_ATTR_ALLOC_DM_HANDLE, UVERBS_OBJECT_DM, UV_ATTR_NEW, MANDATORY),
	IN(UVERBS_ATTR_ALLOC_DM_LENGTH, u64, MANDATORY),
	IN(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, u32, MANDATORY),
	STRUCT_OUT(VNET_ATTR_ALLOC_DM_RESP, struct vnet_alloc_dm_resp, length, OPTIONAL),
};

static const struct uv_attr_spec free_dm[] = {
	HANDLE(UVERBS_ATTR_FREE_DM_HANDLE, UVERBS_OBJECT_DM, UV_ATTR_DESTROY, MANDATORY),
};

static const struct uv_attr_spec query_dm[] = {
	HANDLE(VNET_ATTR_QUERY_DM_HANDLE, UVERBS_OBJECT_DM, UV_ATTR_READ, MANDATORY),
	STRUCT_OUT(VNET_ATTR_QUERY_DM_RESP, struct vnet_alloc_dm_resp, length, MANDATORY),
};

static const struct uv_attr_spec destroy_mw[] = {
	HANDLE(UVERBS_ATTR_DESTROY_MW_HANDLE, UVERBS_OBJECT_MW, UV_ATTR_DESTROY, MANDATORY),
};

static const struct uv_attr_spec destroy_pd[] = {
	HANDLE(UVERBS_ATTR_DESTROY_PD_HANDLE, UVERBS_OBJECT_PD, UV_ATTR_DESTROY, MANDATORY),
};

static const struct uv_attr_spec destroy_ah[] = {
	HANDLE(UVERBS_ATTR_DESTROY_AH_HANDLE, UVERBS_OBJECT_AH, UV_ATTR_DESTROY, MANDATORY),
};

/* ---------------------------------------------------------------- methods */

static_assert(UV_ARRAY_SIZE(create_qp) <= UV_MAX_ATTRS, "room in a request");
static_assert(UV_ARRAY_SIZE(create_srq) <= UV_MAX_ATTRS, "room in a request");

#define METHOD(what, name, table, fn)                                                              \
	{                                                                                          \
		.object = UVERBS_OBJECT_##what, .id = UVERBS_METHOD_##name, .attr = table,         \
		.attrs = UV_ARRAY_SIZE(table), .handler = fn                                       \
	}
#define DRIVER_METHOD(what, name, table, fn)                                                       \
	{                                                                                          \
		.object = UVERBS_OBJECT_##what, .id = UVERBS_METHOD_##name, .attr = table,         \
		.attrs = UV_ARRAY_SIZE(table), .handler = fn, .driver_part = true                  \
	}

static const struct uv_method methods[] = {
	DRIVER_METHOD(DEVICE, INVOKE_WRITE, invoke_write, uv_ioctl_invoke_write),
	METHOD(DEVICE, INFO_HANDLES, info_handles, uv_ioctl_info_handles),
	METHOD(DEVICE, QUERY_PORT, query_port, uv_ioctl_query_port),
	DRIVER_METHOD(DEVICE, GET_CONTEXT, get_context, uv_ioctl_get_context),
	METHOD(DEVICE, QUERY_CONTEXT, query_context, uv_ioctl_query_context),
	METHOD(DEVICE, QUERY_GID_TABLE, query_gid_table, uv_ioctl_query_gid_table),
	METHOD(DEVICE, QUERY_GID_ENTRY, query_gid_entry, uv_ioctl_query_gid_entry),
	METHOD(ASYNC_EVENT, ASYNC_EVENT_ALLOC, alloc_events, uv_ioctl_alloc_events),
	DRIVER_METHOD(CQ, CQ_CREATE, create_cq, uv_ioctl_create_cq),
	METHOD(CQ, CQ_DESTROY, destroy_cq, uv_ioctl_destroy_cq),
	DRIVER_METHOD(QP, QP_CREATE, create_qp, uv_ioctl_create_qp),
	METHOD(QP, QP_DESTROY, destroy_qp, uv_ioctl_destroy_qp),
	DRIVER_METHOD(SRQ, SRQ_CREATE, create_srq, uv_ioctl_create_srq),
	METHOD(SRQ, SRQ_DESTROY, destroy_srq, uv_ioctl_destroy_srq),
	METHOD(MR, DM_MR_REG, reg_dm_mr, uv_ioctl_reg_dm_mr),
	METHOD(MR, MR_DESTROY, destroy_mr, uv_ioctl_destroy_mr),
	METHOD(MR, ADVISE_MR, advise_mr, uv_ioctl_advise_mr),
	METHOD(MR, QUERY_MR, query_mr, uv_ioctl_query_mr),
	METHOD(MR, REG_DMABUF_MR, reg_dmabuf_mr, uv_ioctl_unsupported),
	METHOD(DM, DM_ALLOC, alloc_dm, uv_ioctl_alloc_dm),
	METHOD(DM, DM_FREE, free_dm, uv_ioctl_free_dm),
	{
		.object = UVERBS_OBJECT_DM,
		.id = VNET_METHOD_DM_QUERY,
		.attr = query_dm,
		.attrs = UV_ARRAY_SIZE(query_dm),
		.handler = uv_ioctl_query_dm,
	},
	METHOD(MW, MW_DESTROY, destroy_mw, uv_ioctl_destroy_mw),
	METHOD(PD, PD_DESTROY, destroy_pd, uv_ioctl_destroy_pd),
	METHOD(AH, AH_DESTROY, destroy_ah, uv_ioctl_destroy_ah),
	METHOD(XRCD, XRCD_DESTROY, destroy_xrcd, uv_ioctl_destroy_xrcd),
	DRIVER_METHOD(WQ, WQ_CREATE, create_wq, uv_ioctl_create_wq),
	METHOD(WQ, WQ_DESTROY, destroy_wq, uv_ioctl_destroy_wq),
	METHOD(RWQ_IND_TBL, RWQ_IND_TBL_DESTROY, destroy_table, uv_ioctl_destroy_table),
	METHOD(FLOW, FLOW_DESTROY, destroy_flow, uv_ioctl_destroy_flow),
	METHOD(COUNTERS, COUNTERS_CREATE, create_counters, uv_ioctl_create_counters),
	METHOD(COUNTERS, COUNTERS_DESTROY, destroy_counters, uv_ioctl_destroy_counters),
	METHOD(COUNTERS, COUNTERS_READ, read_counters, uv_ioctl_read_counters),
};

const struct uv_method *uv_method_find(u16 object, u16 id)
{
	size_t i;

	for (i = 0; i < UV_ARRAY_SIZE(methods); i++)
		if (methods[i].object == object && methods[i].id == id)
			return &methods[i];
	return NULL;
}

bool uv_method_has_object(u64 object)
{
	size_t i;

	if (object == UVERBS_OBJECT_COMP_CHANNEL)
		return true;
	for (i = 0; i < UV_ARRAY_SIZE(methods); i++)
		if (methods[i].object == object)
			return true;
	return false;
}
