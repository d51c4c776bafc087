// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the rules by which the server parses ioctls.
 */
#include "kernel.h"

#define DESTROY_HANDLE UVERBS_ATTR_DESTROY_PD_HANDLE

static void header(void **state)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	ioctl_object(&call, DESTROY_HANDLE, 0);
	assert_int_equal(sys_ioctl(kernel.file, &call, sizeof(call.hdr) - 1), -EINVAL);
	assert_int_equal(sys_ioctl(kernel.file, &call, sizeof(call.hdr)), -EINVAL);
	call.hdr.num_attrs = 2;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.hdr.num_attrs = 1;
	call.hdr.reserved1 = 1;
	assert_int_equal(ioctl_run(&call), -EPROTONOSUPPORT);
	call.hdr.reserved1 = 0;
	call.hdr.reserved2 = 1;
	assert_int_equal(ioctl_run(&call), -EPROTONOSUPPORT);
	call.hdr.reserved2 = 0;
	call.hdr.driver_id = RDMA_DRIVER_RXE;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.hdr.driver_id = RDMA_DRIVER_UNKNOWN;
	assert_int_equal(ioctl_run(&call), -ENOENT);
}

/* An ioctl is at most one page long, as in the kernel. */
static void longest(void **state)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[255];
	} call = { .hdr = { .length = sizeof(call),
			    .object_id = UVERBS_OBJECT_PD,
			    .method_id = UVERBS_METHOD_PD_DESTROY,
			    .num_attrs = 255 } };

	static_assert(sizeof(call) > 4096, "longer");
	/* All attributes but one are unknown, and not mandatory. */
	for (u32 i = 1; i < 255; i++)
		call.attr[i].attr_id = 100;
	call.attr[0].attr_id = DESTROY_HANDLE;
	call.attr[0].data = 99;
	assert_int_equal(sys_ioctl(kernel.file, &call, sizeof(call)), -EINVAL);
	call.hdr.num_attrs = 254;
	call.hdr.length = sizeof(call) - sizeof(call.attr[0]);
	assert_int_equal(sys_ioctl(kernel.file, &call, call.hdr.length), -ENOENT);
}

static void unknown_methods(void **state)
{
	static const u16 absent[][2] = {
		{ UVERBS_OBJECT_DEVICE, 7 },
		{ UVERBS_OBJECT_PD, 1 },
		{ UVERBS_OBJECT_COMP_CHANNEL, 0 },
		{ UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY + 1 },
		{ UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY + 1 },
		{ UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY + 1 },
		{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY + 1 },
		{ UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY },
		{ UVERBS_OBJECT_DM, 0x50 },
		{ UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ + 1 },
		{ 17, 0 },
		{ 0x1000, 0 },
		{ UVERBS_OBJECT_QP, 0x1000 },
		{ 0xffff, 0xffff },
	};
	struct ioctl_call call;

	for (size_t i = 0; i < UV_ARRAY_SIZE(absent); i++) {
		ioctl_begin(&call, absent[i][0], absent[i][1]);
		assert_int_equal(ioctl_run(&call), -EPROTONOSUPPORT);
	}
}

static void attributes(void **state)
{
	struct ioctl_call call;
	u32 pd = make_pd();

	/* A mandatory attribute is missing. */
	ioctl_begin(&call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	assert_int_equal(ioctl_run(&call), -EINVAL);
	/* An unknown attribute is refused if it is marked mandatory. */
	ioctl_object(&call, DESTROY_HANDLE, pd);
	ioctl_const(&call, 31, 1);
	assert_int_equal(ioctl_run(&call), -EPROTONOSUPPORT);
	ioctl_attr(&call, 31)->attr_id = 0x1003;
	assert_int_equal(ioctl_run(&call), -EPROTONOSUPPORT);
	/* The same attribute twice. */
	ioctl_attr(&call, 0x1003)->attr_id = DESTROY_HANDLE;
	call.attr[1].len = 0;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[1].attr_id = 31;
	call.attr[1].flags = 0;
	/* The length of a handle attribute is 0, and reserved bits are 0. */
	call.attr[0].len = 8;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[0].len = 0;
	call.attr[0].attr_data.reserved = 1;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[0].attr_data.reserved = 0;
	/* A handle that does not exist, and one of another type. */
	call.attr[0].data = 1ull << 32 | pd;
	assert_int_equal(ioctl_run(&call), -ENOENT);
	call.attr[0].data = make_cq(1, -1);
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[0].data = pd;
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(ioctl_run(&call), -ENOENT);
}

static void lengths(void **state)
{
	struct ib_uverbs_query_port_resp_ex resp[2];
	struct ioctl_call call;
	struct ib_uverbs_attr *in, *out;

	memset(resp, 0xff, sizeof(resp));
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	ioctl_const(&call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	ioctl_out(&call, UVERBS_ATTR_QUERY_PORT_RESP, resp, sizeof(resp[0]) - 1);
	in = &call.attr[0];
	out = &call.attr[1];
	assert_int_equal(ioctl_run(&call), -EINVAL);
	assert_int_equal(out->flags, UVERBS_ATTR_F_MANDATORY);
	/* A response buffer that is longer than the response is padded with zeros. */
	out->len = sizeof(resp);
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(out->flags, UVERBS_ATTR_F_MANDATORY | UVERBS_ATTR_F_VALID_OUTPUT);
	assert_int_equal(resp[0].legacy_resp.state, 4);
	assert_int_equal(resp[1].legacy_resp.max_msg_sz, 0);
	assert_int_equal(resp[1].port_cap_flags2, 0);
	out->data = 8;
	assert_int_equal(ioctl_run(&call), -EFAULT);
	out->data = (uintptr_t)resp;
	/* Constants are 64 bits wide and must be in range. */
	in->len = 4;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	in->len = 16;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	in->len = 8;
	in->data = 0x101;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	in->data = 2;
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

/* --------------------------------------------- structures that may grow, flags */

struct qp_call {
	struct ioctl_call call;
	struct {
		struct ib_uverbs_qp_cap cap;
		u32 more[4];
	} in;
	struct ib_uverbs_qp_cap out;
	u32 qpn;
};

static void qp_begin(struct qp_call *qp, u64 type)
{
	struct ioctl_call *call = &qp->call;
	u32 cq = make_cq(16, -1);

	qp->in.cap = (struct ib_uverbs_qp_cap){ 4, 4, 1, 1, 0 };
	memset(qp->in.more, 0, sizeof(qp->in.more));
	ioctl_begin(call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	ioctl_object(call, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	ioctl_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, make_pd());
	ioctl_object(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq);
	ioctl_object(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq);
	ioctl_const(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 77);
	ioctl_in(call, UVERBS_ATTR_CREATE_QP_CAP, &qp->in, sizeof(qp->in.cap));
	ioctl_const(call, UVERBS_ATTR_CREATE_QP_TYPE, type);
	ioctl_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->out, sizeof(qp->out));
	ioctl_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->qpn, sizeof(qp->qpn));
}

static void zero_tail(void **state)
{
	struct qp_call qp;
	struct ib_uverbs_attr *cap;

	qp_begin(&qp, IB_UVERBS_QPT_RC);
	cap = ioctl_attr(&qp.call, UVERBS_ATTR_CREATE_QP_CAP);
	cap->len = sizeof(qp.in);
	qp.in.more[3] = 1;
	assert_int_equal(ioctl_run(&qp.call), -EOPNOTSUPP);
	qp.in.more[3] = 0;
	cap->len = sizeof(qp.in.cap) - 4;
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	cap->len = sizeof(qp.in);
	cap->data = 8;
	assert_int_equal(ioctl_run(&qp.call), -EOPNOTSUPP);
	cap->len = sizeof(qp.in.cap);
	assert_int_equal(ioctl_run(&qp.call), -EFAULT);
	cap->data = (uintptr_t)&qp.in;
	assert_int_equal(ioctl_run(&qp.call), 0);
	assert_int_equal(qp.qpn, qp_of((u32)qp.call.attr[0].data)->params.qpn);
}

static void flags(void **state)
{
	struct qp_call qp;
	struct ib_uverbs_attr *attr;

	qp_begin(&qp, IB_UVERBS_QPT_UD);
	ioctl_u32(&qp.call, UVERBS_ATTR_CREATE_QP_FLAGS, 1);
	attr = ioctl_attr(&qp.call, UVERBS_ATTR_CREATE_QP_FLAGS);
	/*
	 * Flags: an unknown one, one that the device does not support, and an attribute of a wrong
	 * length.
	 */
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	attr->data = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	assert_int_equal(ioctl_run(&qp.call), -EOPNOTSUPP);
	attr->data = IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	attr->len = 6;
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	attr->len = 8;
	attr->data |= 1ull << 40;
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	/* If the length is 4, only the lower four bytes count. */
	attr->len = 4;
	assert_int_equal(ioctl_run(&qp.call), 0);
	assert_true(qp_of((u32)qp.call.attr[0].data)->params.sq_sig_all);
}

static void absent_objects(void **state)
{
	struct qp_call qp;

	/* Attributes that name objects of other QP types are refused. */
	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_object(&qp.call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, 0);
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_object(&qp.call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, 0);
	assert_int_equal(ioctl_run(&qp.call), -EINVAL);
	/* The PD is optional in the ABI, but an RC QP needs it. */
	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_attr(&qp.call, UVERBS_ATTR_CREATE_QP_PD_HANDLE)->attr_id = 31;
	qp.call.attr[1].flags = 0;
	assert_int_equal(ioctl_run(&qp.call), -ENOENT);
}

/* If writing the response fails, no object is left behind. */
static void fault_in_answer(void **state)
{
	struct device_alloc *alloc = kernel.device.alloc;
	struct qp_call qp;
	u32 free = alloc->qp.pool.free;

	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_attr(&qp.call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM)->data = 8;
	assert_int_equal(ioctl_run(&qp.call), -EFAULT);
	assert_int_equal(alloc->qp.pool.free, free);
	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_out(&qp.call, UVERBS_ATTR_UHW_OUT, (void *)8, 56);
	assert_int_equal(ioctl_run(&qp.call), -EFAULT);
	assert_int_equal(alloc->qp.pool.free, free);
}

static void driver_part(void **state)
{
	struct vnet_create_qp_resp driver;
	struct qp_call qp;
	struct uv_qp *made;

	qp_begin(&qp, IB_UVERBS_QPT_RC);
	ioctl_out(&qp.call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	assert_int_equal(ioctl_run(&qp.call), 0);
	assert_true(ioctl_attr(&qp.call, UVERBS_ATTR_UHW_OUT)->flags & UVERBS_ATTR_F_VALID_OUTPUT);
	made = qp_of((u32)qp.call.attr[0].data);
	assert_int_equal(driver.qpn, qp.qpn);
	assert_int_equal(driver.sq.mmap_offset, made->sq->offset);
	assert_int_equal(driver.sq.mmap_size % 4096, 0);
	assert_int_equal(driver.rq.entries, 4);
	assert_int_equal(made->obj.user_handle, 77);
}

/* ------------------------------------------------------------- other methods */

static void unsupported_methods(void **state)
{
	u32 lkey = 0, rkey = 0;
	struct ioctl_call call;
	u64 zero = 0;

	ioctl_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	ioctl_object(&call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	ioctl_object(&call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, make_pd());
	ioctl_in(&call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &zero, sizeof(zero));
	ioctl_in(&call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &zero, sizeof(zero));
	ioctl_in(&call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &zero, sizeof(zero));
	ioctl_u32(&call, UVERBS_ATTR_REG_DMABUF_MR_FD, 0);
	ioctl_u32(&call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 0);
	ioctl_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey, sizeof(lkey));
	ioctl_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey));
	assert_int_equal(ioctl_run(&call), -EOPNOTSUPP);
}

static void info_handles(void **state)
{
	u32 list[8], total = 99, pd[3];
	struct ioctl_call call;

	for (u32 i = 0; i < 3; i++)
		pd[i] = make_pd();
	make_cq(1, -1);
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	ioctl_const(&call, UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD);
	ioctl_out(&call, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
	assert_int_equal(ioctl_run(&call), -ENOENT);
	ioctl_out(&call, UVERBS_ATTR_INFO_HANDLES_LIST, list, sizeof(list));
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(total, 3);
	assert_memory_equal(list, pd, sizeof(pd));
	call.attr[2].len = 8;
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(total, 2);
	call.attr[2].len = 6;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[2].len = 8;
	call.attr[0].data = UVERBS_OBJECT_FLOW_ACTION;
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

static void contexts(void **state)
{
	struct vnet_alloc_ucontext_resp resp = { 0 };
	struct ioctl_call call;
	u32 vectors = 0;
	u64 support = 0;

	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	assert_int_equal(ioctl_run(&call), -EINVAL);
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	ioctl_out(&call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	ioctl_out(&call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	ioctl_out(&call, VNET_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(vectors, 1);
	assert_int_equal(support, IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS);
	assert_int_equal(resp.hw_version, VNET_HW_VERSION);
	assert_int_equal(kernel.result.ucontext_addr, (uintptr_t)&resp);
}

static void gids(void **state)
{
	struct {
		struct ib_uverbs_gid_entry entry;
		u64 more;
	} table[3];
	struct ib_uverbs_gid_entry entry;
	struct ioctl_call call;
	u64 count = 0;

	memset(table, 0xff, sizeof(table));
	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	ioctl_const(&call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(table[0]));
	ioctl_u32(&call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0);
	ioctl_out(&call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table, sizeof(table));
	ioctl_out(&call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count, sizeof(count));
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(count, 2);
	assert_int_equal(table[1].entry.gid_index, 1);
	assert_int_equal(table[1].entry.netdev_ifindex, 5);
	assert_int_equal(table[1].entry.gid_type, IB_UVERBS_GID_TYPE_ROCE_V2);
	assert_int_equal(table[1].more, 0);
	assert_memory_equal(table[0].entry.gid, kernel.device.gid[0], 16);
	/*
	 * A buffer with too few entries, one with part of an entry, entry size 0, and an unknown
	 * flag.
	 */
	call.attr[2].len = sizeof(table[0]);
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[2].len = sizeof(table) - 1;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[2].len = sizeof(table);
	call.attr[0].data = 0;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[0].data = sizeof(table[0]);
	call.attr[1].data = 1;
	assert_int_equal(ioctl_run(&call), -EINVAL);

	ioctl_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	ioctl_const(&call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	ioctl_const(&call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 1);
	ioctl_u32(&call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	ioctl_out(&call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
	assert_int_equal(ioctl_run(&call), 0);
	assert_memory_equal(entry.gid, kernel.device.gid[1], 16);
	call.attr[1].data = 2;
	assert_int_equal(ioctl_run(&call), -ENODATA);
	call.attr[1].data = NIC_MAX_GIDS;
	assert_int_equal(ioctl_run(&call), -EINVAL);
	call.attr[1].data = 1;
	call.attr[0].data = 2;
	assert_int_equal(ioctl_run(&call), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(header),
		TEST(longest),
		TEST(unknown_methods),
		TEST(attributes),
		TEST(lengths),
		TEST(zero_tail),
		TEST(flags),
		TEST(absent_objects),
		TEST(fault_in_answer),
		TEST(driver_part),
		TEST(unsupported_methods),
		TEST(info_handles),
		TEST(contexts),
		TEST(gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
