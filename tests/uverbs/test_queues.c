// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of completion queues, shared receive queues and queue pairs. Checks granted sizes, refused
 * arguments and attributes.
 */
#include <infiniband/verbs.h>

#include "../unit/test_platform.h"
#include "kernel.h"

/* ---------------------------------------------------------------------- limits */

static void device_limits(void **state)
{
	struct ib_uverbs_query_device cmd = { 0 };
	struct ib_uverbs_query_device_resp resp;
	struct ib_uverbs_query_port port = { .port_num = 1 };
	struct ib_uverbs_query_port_resp port_resp;

	assert_int_equal(PLAIN(QUERY_DEVICE, &cmd, &resp), 0);
	assert_int_equal(resp.max_qp, kernel.device.nic.max_qp);
	assert_int_equal(resp.max_sge, VNET_MAX_SGE);
	assert_int_equal(resp.max_pkeys, 1);
	assert_int_equal(resp.phys_port_cnt, 1);
	assert_int_equal(resp.vendor_id, DEVICE_VENDOR_ID);
	assert_true(resp.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_false(resp.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);

	assert_int_equal(PLAIN(QUERY_PORT, &port, &port_resp), 0);
	assert_int_equal(port_resp.state, IBV_PORT_ACTIVE);
	assert_int_equal(port_resp.active_mtu, IBV_MTU_4096);
	assert_int_equal(port_resp.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port_resp.flags, IBV_QPF_GRH_REQUIRED);
	assert_int_equal(port_resp.max_msg_sz, 0x80000000);
	port.port_num = 0;
	assert_int_equal(PLAIN(QUERY_PORT, &port, &port_resp), -EINVAL);
	port.port_num = 2;
	assert_int_equal(PLAIN(QUERY_PORT, &port, &port_resp), -EINVAL);
}

/* -------------------------------------------------------------------------- CQs */

static int try_cq(u32 entries, u32 vector, s32 channel, const struct vnet_create_cq_req *driver)
{
	struct ib_uverbs_create_cq cmd = { .cqe = entries,
					   .comp_vector = vector,
					   .comp_channel = channel };
	struct {
		struct ib_uverbs_create_cq_resp core;
		struct vnet_create_cq_resp driver;
	} resp = { .core = { 0 } };
	struct parts parts = { PARTS_OF(&cmd, &resp), .driver_in = driver,
			       .driver_in_length = driver ? sizeof(*driver) : 0 };
	int err = plain_command(IB_USER_VERBS_CMD_CREATE_CQ, &parts);

	if (err)
		return err;
	assert_true(resp.core.cqe >= entries);
	assert_int_equal(resp.core.cqe, resp.driver.cq.entries);
	assert_int_equal(1u << resp.driver.cq.stride_shift, VNET_CQE_SIZE);
	assert_true(resp.driver.cq.mmap_size >=
		    VNET_RING_HDR_SIZE + (u64)resp.core.cqe * VNET_CQE_SIZE);
	assert_int_equal(resp.driver.cq.mmap_offset % 4096, 0);
	return (int)resp.core.cq_handle;
}

static void cq_sizes(void **state)
{
	struct vnet_create_cq_req flags = { .flags = VNET_CREATE_CQ_TIMESTAMP };
	int cq;

	assert_int_equal(try_cq(0, 0, -1, NULL), -EINVAL);
	assert_int_equal(try_cq(UV_MAX_CQE + 1, 0, -1, NULL), -EINVAL);
	assert_int_equal(try_cq(0xffffffff, 0, -1, NULL), -EINVAL);
	assert_int_equal(try_cq(1, 1, -1, NULL), -EINVAL);
	assert_int_equal(try_cq(1, 0, 0, NULL), -EBADF);
	assert_int_equal(try_cq(1, 0, 12345, NULL), -EBADF);
	cq = try_cq(100, 0, -1, NULL);
	assert_int_equal(cq_of((u32)cq)->entries, 128);
	assert_true(try_cq(1, 0, -1, NULL) >= 0);
	cq = try_cq(4, 0, -1, &flags);
	assert_int_equal(kernel.device.nic.cq[cq_of((u32)cq)->cqn - 1].flags,
			 VNET_CREATE_CQ_TIMESTAMP);
	flags.flags = VNET_CREATE_CQ_IMM64;
	cq = try_cq(4, 0, -1, &flags);
	assert_int_equal(kernel.device.nic.cq[cq_of((u32)cq)->cqn - 1].flags, VNET_CREATE_CQ_IMM64);
	flags.flags = 8;
	assert_int_equal(try_cq(4, 0, -1, &flags), -EINVAL);
	flags.flags = 0;
	flags.reserved_20[0] = 1;
	assert_int_equal(try_cq(4, 0, -1, &flags), -EINVAL);
}

static void cq_extended(void **state)
{
	struct ib_uverbs_ex_create_cq cmd = { .cqe = 5, .comp_channel = -1, .flags = 2 };
	struct {
		struct ib_uverbs_ex_create_cq_resp core;
		struct vnet_create_cq_resp driver;
	} resp;
	struct parts parts = { PARTS_OF(&cmd, &resp), .driver_out_length = sizeof(resp.driver) };
	u32 command = IB_USER_VERBS_EX_CMD_CREATE_CQ;

	assert_int_equal(extended_command(command, &parts), 0);
	assert_int_equal(resp.core.base.cqe, 8);
	assert_int_equal(resp.driver.cq.entries, 8);
	assert_int_equal(resp.core.response_length, sizeof(resp.core));
	assert_int_equal(kernel.device.nic.cq[resp.driver.cqn - 1].flags,
			 VNET_CREATE_CQ_IGNORE_OVERRUN);
	cmd.flags = 4;
	assert_int_equal(extended_command(command, &parts), -EOPNOTSUPP);
	/* A flag that only the provider may set, in its own part of the command. */
	cmd.flags = VNET_CREATE_CQ_IMM64;
	assert_int_equal(extended_command(command, &parts), -EOPNOTSUPP);
	cmd.flags = 0;
	cmd.comp_mask = 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
	cmd.comp_mask = 0;
	cmd.reserved = 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
}

static void cq_resize(void **state)
{
	struct ib_uverbs_resize_cq cmd = { .cq_handle = make_cq(4, -1), .cqe = 100 };
	struct {
		struct ib_uverbs_resize_cq_resp core;
		struct vnet_resize_cq_resp driver;
	} resp;
	struct parts parts = { PARTS_OF(&cmd, &resp) };
	struct uv_cq *cq = cq_of(cmd.cq_handle);
	u64 before = cq->ring->offset;
	nic_lock_t *lock = &kernel.device.nic.cq[cq->cqn - 1].lock;
	u32 command = IB_USER_VERBS_CMD_RESIZE_CQ;

	assert_int_equal(plain_command(command, &parts), 0);
	assert_int_equal(resp.core.cqe, 128);
	assert_int_equal(resp.driver.cq.entries, 128);
	assert_int_equal(resp.driver.cq.mmap_offset, cq->ring->offset);
	assert_int_not_equal(cq->ring->offset, before);
	cmd.cqe = 0;
	assert_int_equal(plain_command(command, &parts), -EINVAL);
	cmd.cqe = UV_MAX_CQE + 1;
	assert_int_equal(plain_command(command, &parts), -EINVAL);
	/* While the command waits, it holds no queue memory and changes nothing. */
	cmd.cqe = 4;
	before = cq->ring->offset;
	*lock = STRANGER;
	assert_int_equal(plain_command(command, &parts), PARKED);
	assert_int_equal(cq->ring->offset, before);
	assert_int_equal(cq->entries, 128);
	*lock = 0;
	assert_int_equal(plain_command(command, &parts), 0);
	assert_int_equal(cq->entries, 4);
	cmd.cq_handle = 77;
	assert_int_equal(plain_command(command, &parts), -EINVAL);
}

/*
 * Unreliable sends that wait for a receive may still complete to the CQ, so a shrinking resize
 * waits.
 */
static void cq_resize_settles(void **state)
{
	struct ib_uverbs_resize_cq cmd = { .cq_handle = make_cq(8, -1), .cqe = 4 };
	struct ib_uverbs_resize_cq_resp resp;
	struct nic *nic = &kernel.device.nic;
	u32 qp = make_qp(IB_UVERBS_QPT_UD, make_pd(), cmd.cq_handle, -1);
	struct nic_qp *frame = &nic->qp[qp_of(qp)->params.qpn & nic->qp_index_mask];

	frame->wait = NIC_WAIT_STALL;
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), PARKED);
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), PARKED);
	frame->wait = NIC_WAIT_NONE;
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), 0);
	/* The wait is limited in time. A growing resize does not wait. */
	frame->wait = NIC_WAIT_STALL;
	cmd.cqe = 16;
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), 0);
	cmd.cqe = 2;
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), PARKED);
	tp.clock += 1000000000;
	assert_int_equal(PLAIN(RESIZE_CQ, &cmd, &resp), 0);
	frame->wait = NIC_WAIT_NONE;
}

/* ------------------------------------------------------------------------- SRQs */

static int try_srq(u32 max_wr, u32 max_sge, u32 limit, struct ib_uverbs_create_srq_resp *resp)
{
	struct ib_uverbs_create_srq cmd = {
		.pd_handle = make_pd(), .max_wr = max_wr, .max_sge = max_sge, .srq_limit = limit
	};

	return PLAIN(CREATE_SRQ, &cmd, resp);
}

static void srq_sizes(void **state)
{
	struct ib_uverbs_create_srq_resp resp;
	struct ib_uverbs_create_srq bad = { .pd_handle = 99, .max_wr = 1 };
	struct ib_uverbs_query_srq_resp limit;
	struct ib_uverbs_query_srq query = { 0 };

	assert_int_equal(try_srq(0, 1, 0, &resp), -EINVAL);
	assert_int_equal(try_srq(UV_MAX_SRQ_WR + 1, 1, 0, &resp), -EINVAL);
	assert_int_equal(try_srq(1, VNET_MAX_SGE + 1, 0, &resp), -EINVAL);
	/* Creation ignores the limit. */
	assert_int_equal(try_srq(4, 1, UINT32_MAX, &resp), 0);
	query.srq_handle = resp.srq_handle;
	assert_int_equal(PLAIN(QUERY_SRQ, &query, &limit), 0);
	assert_int_equal(limit.srq_limit, 0);
	assert_int_equal(PLAIN(CREATE_SRQ, &bad, &resp), -EINVAL);
	assert_int_equal(try_srq(100, 2, 0, &resp), 0);
	/* 1.5 times what was asked for, rounded up to a power of two. */
	assert_int_equal(resp.max_wr, 256);
	assert_int_equal(resp.max_sge, 2);
	assert_int_equal(try_srq(1, VNET_MAX_SGE, 0, &resp), 0);
	assert_int_equal(resp.max_sge, VNET_MAX_SGE);
}

static void srq_types(void **state)
{
	struct ib_uverbs_create_xsrq cmd = { .pd_handle = make_pd(), .max_wr = 4, .max_sge = 1 };
	struct ib_uverbs_create_srq_resp resp;

	assert_int_equal(PLAIN(CREATE_XSRQ, &cmd, &resp), 0);
	/* Without an XRC domain; test_xrc.c tests the other cases. */
	cmd.srq_type = IB_UVERBS_SRQT_XRC;
	assert_int_equal(PLAIN(CREATE_XSRQ, &cmd, &resp), -EINVAL);
	cmd.srq_type = 3;
	assert_int_equal(PLAIN(CREATE_XSRQ, &cmd, &resp), -EINVAL);
}

/* An SRQ with tag matching: the number of tags, and its CQ. */
static void srq_of_tags(void **state)
{
	struct ib_uverbs_create_xsrq cmd = { .pd_handle = make_pd(),
					     .max_wr = 4,
					     .max_sge = 1,
					     .srq_type = IB_UVERBS_SRQT_TM,
					     .cq_handle = make_cq(16, -1),
					     .max_num_tags = UV_MAX_TAGS };
	struct ib_uverbs_create_srq_resp resp;
	struct ib_uverbs_create_xsrq bad = cmd;
	const struct uv_srq *srq;

	bad.max_num_tags = 0;
	assert_int_equal(PLAIN(CREATE_XSRQ, &bad, &resp), -EINVAL);
	bad.max_num_tags = UV_MAX_TAGS + 1;
	assert_int_equal(PLAIN(CREATE_XSRQ, &bad, &resp), -EINVAL);
	bad = cmd;
	bad.cq_handle = 99;
	assert_int_equal(PLAIN(CREATE_XSRQ, &bad, &resp), -EINVAL);
	bad.cq_handle = cmd.pd_handle;
	assert_int_equal(PLAIN(CREATE_XSRQ, &bad, &resp), -EINVAL);
	assert_int_equal(PLAIN(CREATE_XSRQ, &cmd, &resp), 0);
	srq = srq_of(resp.srq_handle);
	assert_int_equal(srq->params.tm_tags, UV_MAX_TAGS);
	assert_non_null(srq->ops);
	/* The CQ of the SRQ is busy. */
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, cmd.cq_handle), -EBUSY);
}

/* The send queue of a QP of such an SRQ belongs to the device. */
static void qp_of_tags(void **state)
{
	struct ib_uverbs_create_xsrq cmd = { .pd_handle = make_pd(),
					     .max_wr = 4,
					     .max_sge = 1,
					     .srq_type = IB_UVERBS_SRQT_TM,
					     .cq_handle = make_cq(16, -1),
					     .max_num_tags = 4 };
	struct ib_uverbs_create_srq_resp srq;
	struct ib_uverbs_create_qp qp = { .pd_handle = cmd.pd_handle,
					  .send_cq_handle = make_cq(16, -1),
					  .is_srq = 1,
					  .qp_type = IBV_QPT_RC };
	struct ib_uverbs_create_qp_resp made;
	const struct nic_qp_params *params;

	assert_int_equal(PLAIN(CREATE_XSRQ, &cmd, &srq), 0);
	qp.recv_cq_handle = qp.send_cq_handle;
	qp.srq_handle = srq.srq_handle;
	qp.max_send_wr = 1;
	assert_int_equal(PLAIN(CREATE_QP, &qp, &made), -EINVAL);
	qp.max_send_wr = 0;
	qp.qp_type = IBV_QPT_UD;
	assert_int_equal(PLAIN(CREATE_QP, &qp, &made), -EINVAL);
	qp.qp_type = IBV_QPT_RC;
	assert_int_equal(PLAIN(CREATE_QP, &qp, &made), 0);
	assert_int_equal(made.max_send_wr, 0);
	params = &qp_of(made.qp_handle)->params;
	assert_int_equal(params->send_cqn, cq_of(cmd.cq_handle)->cqn);
	assert_int_equal(params->recv_cqn, params->send_cqn);
	assert_true(params->sq_entries > 1);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, srq.srq_handle), -EBUSY);
}

static void srq_by_ioctl(void **state)
{
	u32 max_wr = 0, max_sge = 0, number = 0;
	struct ib_uverbs_destroy_srq_resp destroyed = { 99 };
	struct ioctl_call call;
	u32 handle;

	ioctl_begin(&call, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	ioctl_object(&call, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	ioctl_object(&call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, make_pd());
	ioctl_const(&call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 5);
	ioctl_u32(&call, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 10);
	ioctl_u32(&call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1);
	ioctl_u32(&call, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	ioctl_const(&call, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	ioctl_out(&call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &max_wr, 4);
	ioctl_out(&call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &max_sge, 4);
	ioctl_out(&call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &number, 4);
	assert_int_equal(ioctl_run(&call), 0);
	handle = (u32)call.attr[0].data;
	assert_int_equal(max_wr, 16);
	assert_int_equal(max_sge, 1);
	assert_int_equal(number, srq_of(handle)->srqn);

	ioctl_begin(&call, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	ioctl_object(&call, UVERBS_ATTR_DESTROY_SRQ_HANDLE, handle);
	ioctl_out(&call, UVERBS_ATTR_DESTROY_SRQ_RESP, &destroyed, sizeof(destroyed));
	assert_int_equal(ioctl_run(&call), 0);
	assert_int_equal(destroyed.events_reported, 0);
}

static void srq_limit(void **state)
{
	u32 handle = make_srq(make_pd());
	struct ib_uverbs_modify_srq cmd = { .srq_handle = handle,
					    .attr_mask = IBV_SRQ_LIMIT,
					    .srq_limit = 8 };
	struct ib_uverbs_query_srq query = { .srq_handle = handle };
	struct ib_uverbs_query_srq_resp resp;

	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), 0);
	assert_int_equal(PLAIN(QUERY_SRQ, &query, &resp), 0);
	assert_int_equal(resp.srq_limit, 8);
	assert_int_equal(resp.max_wr, 16);
	cmd.srq_limit = 17;
	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), -EINVAL);
	cmd.attr_mask = IBV_SRQ_MAX_WR;
	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), -EOPNOTSUPP);
	cmd.attr_mask = 4;
	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), -EINVAL);
	cmd.attr_mask = 0;
	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), 0);
	cmd.srq_handle = 99;
	assert_int_equal(PLAIN_IN(MODIFY_SRQ, &cmd), -EINVAL);
	query.srq_handle = 99;
	assert_int_equal(PLAIN(QUERY_SRQ, &query, &resp), -EINVAL);
}

/* -------------------------------------------------------------------------- QPs */

static void qp_capacity(void **state)
{
	u32 cq = make_cq(16, -1);
	struct ib_uverbs_create_qp good = {
		.pd_handle = make_pd(), .send_cq_handle = cq, .recv_cq_handle = cq,
		.max_send_wr = 100, .max_recv_wr = 5, .max_send_sge = 2, .max_recv_sge = 2,
		.max_inline_data = 100, .qp_type = IB_UVERBS_QPT_RC,
	}, cmd = good;
	struct ib_uverbs_create_qp_resp resp;
	const struct nic_qp_params *params;

	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), 0);
	assert_int_equal(resp.max_send_wr, 128);
	assert_int_equal(resp.max_recv_wr, 8);
	/*
	 * Granted sizes are not larger than what a program that asked for less may have room for.
	 */
	assert_int_equal(resp.max_send_sge, 2);
	assert_int_equal(resp.max_recv_sge, 2);
	assert_int_equal(resp.max_inline_data, 100);
	params = &qp_of(resp.qp_handle)->params;
	assert_int_equal(params->qpn, resp.qpn);
	assert_true(resp.qpn > 1);
	assert_true(1u << params->sq_stride_shift >= VNET_WQE_HDR_SIZE + resp.max_inline_data);

	cmd.max_send_sge = VNET_MAX_SGE;
	cmd.max_recv_sge = VNET_MAX_SGE;
	cmd.max_inline_data = VNET_MAX_INLINE;
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), 0);
	assert_int_equal(resp.max_inline_data, VNET_MAX_INLINE);
	assert_int_equal(resp.max_send_sge, VNET_MAX_SGE);
	cmd = good;
	cmd.max_send_wr = 0;
	cmd.max_recv_wr = 0;
	cmd.max_send_sge = 0;
	cmd.max_recv_sge = 0;
	cmd.max_inline_data = 0;
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), 0);

#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		cmd = good;                                                                        \
		cmd.field = (value);                                                               \
		assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), -(error));                         \
	} while (0)
	REFUSED(max_send_wr, UV_MAX_QP_WR + 1, EINVAL);
	REFUSED(max_recv_wr, UV_MAX_QP_WR + 1, EINVAL);
	REFUSED(max_send_wr, 0xffffffff, EINVAL);
	REFUSED(max_send_sge, VNET_MAX_SGE + 1, EINVAL);
	REFUSED(max_recv_sge, VNET_MAX_SGE + 1, EINVAL);
	REFUSED(max_inline_data, VNET_MAX_INLINE + 1, EINVAL);
	REFUSED(pd_handle, 99, EINVAL);
	REFUSED(send_cq_handle, 99, EINVAL);
	REFUSED(recv_cq_handle, good.pd_handle, EINVAL);
	REFUSED(is_srq, 1, EINVAL);
	REFUSED(qp_type, IB_UVERBS_QPT_XRC_TGT, EINVAL);
	REFUSED(qp_type, IB_UVERBS_QPT_DRIVER, EOPNOTSUPP);
	REFUSED(qp_type, 0, EINVAL);
	REFUSED(qp_type, 7, EINVAL);
#undef REFUSED
}

static void qp_with_srq(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1), srq = make_srq(pd);
	struct uv_qp *qp = qp_of(make_qp(IB_UVERBS_QPT_RC, pd, cq, srq));

	assert_int_equal(qp->params.rq_entries, 0);
	assert_null(qp->rq);
	assert_int_equal(qp->params.srqn, qp->srq->srqn);
}

static void qp_extended(void **state)
{
	u32 cq = make_cq(16, -1);
	struct ib_uverbs_ex_create_qp cmd = {
		.pd_handle = make_pd(),
		.send_cq_handle = cq,
		.recv_cq_handle = cq,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.qp_type = IB_UVERBS_QPT_UD,
	};
	struct ib_uverbs_ex_create_qp_resp resp;
	struct parts parts = { PARTS_OF(&cmd, &resp) };
	u32 command = IB_USER_VERBS_EX_CMD_CREATE_QP;

	assert_int_equal(extended_command(command, &parts), 0);
	assert_int_equal(resp.response_length, sizeof(resp));
	assert_int_equal(qp_of(resp.base.qp_handle)->params.type, NIC_QPT_UD);
	cmd.create_flags = 1 << 10;
	assert_int_equal(extended_command(command, &parts), -EOPNOTSUPP);
	cmd.create_flags = 0;
	cmd.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
	cmd.comp_mask = 0;
	cmd.reserved = 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
}

/* Flags in the provider's part of the command. */
static void qp_own_flags(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1);
	struct ib_uverbs_ex_create_qp cmd = { .pd_handle = pd,
					      .send_cq_handle = cq,
					      .recv_cq_handle = cq,
					      .qp_type = IB_UVERBS_QPT_UD };
	struct vnet_create_qp_req own = { .flags = VNET_CREATE_QP_RETURN };
	struct ib_uverbs_ex_create_qp_resp resp;
	struct parts parts = { PARTS_OF(&cmd, &resp), .driver_in = &own,
			       .driver_in_length = sizeof(own) };
	u32 command = IB_USER_VERBS_EX_CMD_CREATE_QP;

	assert_int_equal(extended_command(command, &parts), 0);
	assert_true(qp_of(resp.base.qp_handle)->params.returns);
	cmd.qp_type = IB_UVERBS_QPT_RC;
	assert_int_equal(extended_command(command, &parts), -EOPNOTSUPP);
	own.flags = 0;
	assert_int_equal(extended_command(command, &parts), 0);
	assert_false(qp_of(resp.base.qp_handle)->params.returns);
	cmd.qp_type = IB_UVERBS_QPT_UD;
	own.flags = VNET_CREATE_QP_RETURN << 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
	own.flags = 0;
	own.rx_hash_fields = 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
	own.rx_hash_fields = 0;
	own.reserved_50[0] = 1;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
}

/* An index is not reused for half as many creations as there are indices, nor a number for 1000. */
static void qp_numbers(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1), first = 0;
	u32 mask = kernel.device.nic.qp_index_mask;

	for (u32 i = 0; i < 1000; i++) {
		u32 handle = make_qp(IB_UVERBS_QPT_RC, pd, cq, -1);
		u32 qpn = qp_of(handle)->params.qpn;

		if (!i)
			first = qpn;
		else
			assert_int_not_equal(qpn, first);
		if (i && i < kernel.device.nic.max_qp / 2)
			assert_int_not_equal(qpn & mask, first & mask);
		assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, handle), 0);
	}
}

/* ------------------------------------------------------------------- attributes */

static const u32 init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
static const u32 rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

static struct ib_uverbs_modify_qp to_init(u32 handle)
{
	return (struct ib_uverbs_modify_qp){ .qp_handle = handle,
					     .attr_mask = init_mask,
					     .qp_state = IBV_QPS_INIT,
					     .port_num = 1,
					     .qp_access_flags = IBV_ACCESS_REMOTE_READ };
}

static struct ib_uverbs_modify_qp to_rtr(u32 handle)
{
	return (struct ib_uverbs_modify_qp){
		.qp_handle = handle,
		.attr_mask = rtr_mask,
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x123,
		.rq_psn = 0x456,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.dest = { .dgid = { 0xfe, [15] = 9 },
			  .sgid_index = 1,
			  .hop_limit = 64,
			  .traffic_class = 3,
			  .flow_label = 0x54321,
			  .sl = 5,
			  .is_global = 1,
			  .port_num = 1 },
	};
}

static void attributes(void **state)
{
	u32 handle = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(16, -1), -1);
	struct ib_uverbs_modify_qp init = to_init(handle), rtr = to_rtr(handle);
	struct ib_uverbs_query_qp query = { .qp_handle = handle };
	struct ib_uverbs_query_qp_resp resp;

	assert_int_equal(PLAIN(QUERY_QP, &query, &resp), 0);
	assert_int_equal(resp.qp_state, IBV_QPS_RESET);
	assert_int_equal(resp.max_send_wr, 16);
	assert_int_equal(PLAIN_IN(MODIFY_QP, &init), 0);
	assert_int_equal(PLAIN_IN(MODIFY_QP, &rtr), 0);
	assert_int_equal(PLAIN(QUERY_QP, &query, &resp), 0);
	assert_int_equal(resp.qp_state, IBV_QPS_RTR);
	assert_int_equal(resp.cur_qp_state, IBV_QPS_RTR);
	assert_int_equal(resp.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(resp.port_num, 1);
	assert_int_equal(resp.path_mtu, IBV_MTU_1024);
	assert_int_equal(resp.dest_qp_num, 0x123);
	assert_int_equal(resp.rq_psn, 0x456);
	assert_int_equal(resp.max_dest_rd_atomic, 4);
	assert_int_equal(resp.min_rnr_timer, 12);
	assert_memory_equal(&resp.dest, &rtr.dest, sizeof(resp.dest));
	query.qp_handle = 99;
	assert_int_equal(PLAIN(QUERY_QP, &query, &resp), -EINVAL);
}

static void refused_attributes(void **state)
{
	u32 handle = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(16, -1), -1);
	struct ib_uverbs_modify_qp init = to_init(handle), rtr = to_rtr(handle), cmd;

#define REFUSED(good, change, error)                                                               \
	do {                                                                                       \
		cmd = good;                                                                        \
		change;                                                                            \
		assert_int_equal(PLAIN_IN(MODIFY_QP, &cmd), -(error));                             \
	} while (0)
	REFUSED(init, cmd.qp_handle = 99, EINVAL);
	REFUSED(init, cmd.attr_mask |= 1u << 21, EOPNOTSUPP);
	REFUSED(init, cmd.attr_mask |= IBV_QP_RATE_LIMIT, EOPNOTSUPP);
	REFUSED(init, cmd.port_num = 0, EINVAL);
	REFUSED(init, cmd.port_num = 2, EINVAL);
	REFUSED(init, cmd.qp_state = IBV_QPS_ERR + 1, EINVAL);
	REFUSED(init, cmd.attr_mask &= ~(u32)IBV_QP_PKEY_INDEX, EINVAL);
	REFUSED(init, (cmd.attr_mask |= IBV_QP_CUR_STATE, cmd.cur_qp_state = 7), EINVAL);
	REFUSED(init, (cmd.attr_mask |= IBV_QP_CUR_STATE, cmd.cur_qp_state = IBV_QPS_RTS), EINVAL);
	REFUSED(rtr, (void)0, EINVAL);
	assert_int_equal(PLAIN_IN(MODIFY_QP, &init), 0);
	REFUSED(rtr, cmd.dest.port_num = 2, EINVAL);
	REFUSED(rtr, cmd.dest.is_global = 0, EINVAL);
	REFUSED(rtr, cmd.dest.sgid_index = 2, EINVAL);
	REFUSED(rtr, cmd.dest.sgid_index = 255, EINVAL);
	REFUSED(rtr, cmd.path_mtu = 0, EINVAL);
	REFUSED(rtr, cmd.path_mtu = 6, EINVAL);
	REFUSED(rtr, cmd.attr_mask |= IBV_QP_ALT_PATH, EINVAL);
	assert_int_equal(PLAIN_IN(MODIFY_QP, &rtr), 0);
#undef REFUSED
}

static void extended_modify(void **state)
{
	u32 handle = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(16, -1), -1);
	struct ib_uverbs_ex_modify_qp cmd = { .base = to_init(handle) };
	struct ib_uverbs_ex_modify_qp_resp resp;
	struct parts parts = { PARTS_OF(&cmd, &resp) };
	u32 command = IB_USER_VERBS_EX_CMD_MODIFY_QP;

	cmd.base.attr_mask |= 1u << 22;
	assert_int_equal(extended_command(command, &parts), -EOPNOTSUPP);
	cmd.base.attr_mask = init_mask | IBV_QP_RATE_LIMIT;
	assert_int_equal(extended_command(command, &parts), -EINVAL);
	cmd.base.attr_mask = init_mask;
	assert_int_equal(extended_command(command, &parts), 0);
	assert_int_equal(resp.response_length, sizeof(resp));
}

/* ------------------------------------------------------------ doorbells, addresses */

static void doorbell(void **state)
{
	u32 handle = make_qp(IB_UVERBS_QPT_RC, make_pd(), make_cq(16, -1), -1);
	struct ib_uverbs_post_send cmd = { .qp_handle = handle };
	struct ib_uverbs_post_send_resp resp = { .bad_wr = 5 };

	assert_int_equal(PLAIN(POST_SEND, &cmd, &resp), 0);
	assert_int_equal(resp.bad_wr, 0);
	cmd.wr_count = 1;
	assert_int_equal(PLAIN(POST_SEND, &cmd, &resp), -EOPNOTSUPP);
	cmd.wr_count = 0;
	cmd.qp_handle = 99;
	assert_int_equal(PLAIN(POST_SEND, &cmd, &resp), -EINVAL);
}

static void addresses(void **state)
{
	struct ib_uverbs_create_ah good = { .pd_handle = make_pd(),
					    .attr = { .port_num = 1, .is_global = 1 } };
	struct ib_uverbs_create_ah cmd = good;
	struct ib_uverbs_create_ah_resp resp;

	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), 0);
	cmd.attr.port_num = 2;
	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), -EINVAL);
	cmd = good;
	cmd.attr.is_global = 0;
	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), -EINVAL);
	cmd = good;
	cmd.attr.grh.sgid_index = 2;
	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), -EINVAL);
	cmd = good;
	cmd.pd_handle = 99;
	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(device_limits),   TEST(cq_sizes),          TEST(cq_extended),
		TEST(cq_resize),       TEST(cq_resize_settles), TEST(srq_sizes),
		TEST(srq_types),       TEST(srq_of_tags),       TEST(qp_of_tags),
		TEST(srq_by_ioctl),    TEST(srq_limit),         TEST(qp_capacity),
		TEST(qp_with_srq),     TEST(qp_extended),       TEST(qp_own_flags),
		TEST(qp_numbers),      TEST(attributes),        TEST(refused_attributes),
		TEST(extended_modify), TEST(doorbell),          TEST(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
