// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of handles, busy objects, exhausted tables, and commands that must wait for a lock.
 */
#include <sys/resource.h>

#include "kernel.h"

#define DESTROY(what, handle) destroy(IB_USER_VERBS_CMD_##what, handle)

static void handles(void **state)
{
	u32 pd[3];

	for (u32 i = 0; i < 3; i++) {
		pd[i] = make_pd();
		assert_int_equal(pd[i], i);
	}
	assert_int_equal(DESTROY(DEALLOC_PD, pd[1]), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd[1]), -ENOENT);
	assert_int_equal(DESTROY(DEALLOC_PD, 12345), -ENOENT);
	assert_int_equal(DESTROY(DEALLOC_PD, ~0u), -ENOENT);
	/* A handle of another type of object. */
	assert_int_equal(make_cq(4, -1), pd[1]);
	assert_int_equal(DESTROY(DEALLOC_PD, pd[1]), -EINVAL);
	assert_int_equal(DESTROY(DESTROY_CQ, pd[1]), 0);
	/* A handle of one file is not valid for another file. */
	{
		struct file *mine = kernel.file;

		kernel.file = kernel_open();
		assert_int_equal(DESTROY(DEALLOC_PD, pd[0]), -ENOENT);
		assert_int_equal(kernel_close(kernel.file), CALL_DONE);
		kernel.file = mine;
	}
	assert_int_equal(DESTROY(DEALLOC_PD, pd[0]), 0);
}

static void many_handles(void **state)
{
	for (u32 i = 0; i < 300; i++)
		assert_int_equal(make_pd(), i);
	for (u32 i = 0; i < 300; i += 2)
		assert_int_equal(DESTROY(DEALLOC_PD, i), 0);
	for (u32 i = 0; i < 300; i += 2)
		assert_int_equal(make_pd(), i);
}

static void in_use(void **state)
{
	static u8 memory[64];
	u32 pd = make_pd(), cq = make_cq(16, -1), srq = make_srq(pd);
	u32 qp = make_qp(IB_UVERBS_QPT_RC, pd, cq, srq);
	u32 mr = make_mr(pd, memory, sizeof(memory), 1, NULL), mw = make_mw(pd, 1, NULL);
	u32 ah = make_ah(pd);

	assert_int_equal(DESTROY(DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(DESTROY(DESTROY_CQ, cq), -EBUSY);
	assert_int_equal(DESTROY(DESTROY_SRQ, srq), -EBUSY);
	assert_int_equal(DESTROY(DESTROY_QP, qp), 0);
	assert_int_equal(DESTROY(DESTROY_CQ, cq), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(DESTROY(DESTROY_SRQ, srq), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(DESTROY(DEREG_MR, mr), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(DESTROY(DEALLOC_MW, mw), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(DESTROY(DESTROY_AH, ah), 0);
	assert_int_equal(DESTROY(DEALLOC_PD, pd), 0);
}

/* Closing the file destroys all objects that are left; kernel_stop() checks it. */
static void close_frees_all(void **state)
{
	static u8 memory[64];
	u32 pd = make_pd(), cq = make_cq(16, make_channel()), srq = make_srq(pd);

	make_qp(IB_UVERBS_QPT_RC, pd, cq, srq);
	make_qp(IB_UVERBS_QPT_UC, pd, cq, -1);
	make_qp(IB_UVERBS_QPT_UD, pd, cq, -1);
	make_mr(pd, memory, sizeof(memory), 1, NULL);
	make_mw(pd, 2, NULL);
	make_ah(pd);
}

/* ------------------------------------------------------------------ exhaustion */

static int try_qp(u32 pd, u32 cq)
{
	struct ib_uverbs_create_qp cmd = { .pd_handle = pd,
					   .send_cq_handle = cq,
					   .recv_cq_handle = cq,
					   .qp_type = IB_UVERBS_QPT_RC };
	struct ib_uverbs_create_qp_resp resp;

	return PLAIN(CREATE_QP, &cmd, &resp);
}

static int try_cq(u32 entries)
{
	struct ib_uverbs_create_cq cmd = { .cqe = entries, .comp_channel = -1 };
	struct ib_uverbs_create_cq_resp resp;

	return PLAIN(CREATE_CQ, &cmd, &resp);
}

static int try_srq(u32 pd)
{
	struct ib_uverbs_create_srq cmd = { .pd_handle = pd, .max_wr = 1, .max_sge = 1 };
	struct ib_uverbs_create_srq_resp resp;

	return PLAIN(CREATE_SRQ, &cmd, &resp);
}

static int try_mr(u32 pd)
{
	static u8 memory[64];
	struct ib_uverbs_reg_mr cmd = { .pd_handle = pd,
					.start = (uintptr_t)memory,
					.hca_va = (uintptr_t)memory,
					.length = sizeof(memory) };
	struct ib_uverbs_reg_mr_resp resp;

	return PLAIN(REG_MR, &cmd, &resp);
}

static int try_channel(void)
{
	struct ib_uverbs_create_comp_channel cmd = { 0 };
	struct ib_uverbs_create_comp_channel_resp resp;

	return PLAIN(CREATE_COMP_CHANNEL, &cmd, &resp);
}

/* If a table is full, the verb fails, other verbs work, and the limit is the advertised one. */
static void exhausted_tables(void **state)
{
	const struct nic *nic = &kernel.device.nic;
	struct ib_uverbs_query_device query = { 0 };
	struct ib_uverbs_query_device_resp limits;
	u32 pd = make_pd(), cq = make_cq(1, -1);

	assert_int_equal(PLAIN(QUERY_DEVICE, &query, &limits), 0);
	for (u32 i = 0; i < (u32)limits.max_qp; i++)
		assert_int_equal(try_qp(pd, cq), 0);
	assert_int_equal(try_qp(pd, cq), -ENOMEM);
	for (u32 i = 1; i < (u32)limits.max_cq; i++)
		assert_int_equal(try_cq(1), 0);
	assert_int_equal(try_cq(1), -ENOMEM);
	for (u32 i = 0; i < (u32)limits.max_srq; i++)
		assert_int_equal(try_srq(pd), 0);
	assert_int_equal(try_srq(pd), -ENOMEM);
	for (u32 i = 0; i < (u32)limits.max_mr; i++)
		assert_int_equal(try_mr(pd), 0);
	assert_int_equal(try_mr(pd), -ENOMEM);
	for (u32 i = 0; i < nic->max_channel; i++)
		assert_int_equal(try_channel(), 0);
	assert_int_equal(try_channel(), -ENOMEM);
	for (u32 i = 1; i < (u32)limits.max_pd; i++)
		make_pd();
	{
		struct ib_uverbs_alloc_pd cmd = { 0 };
		struct ib_uverbs_alloc_pd_resp resp;

		assert_int_equal(PLAIN(ALLOC_PD, &cmd, &resp), -ENOMEM);
	}
}

static void exhausted_addresses(void **state)
{
	struct ib_uverbs_create_ah cmd = { .pd_handle = make_pd(),
					   .attr = { .port_num = 1, .is_global = 1 } };
	struct ib_uverbs_create_ah_resp resp;

	for (u32 i = 0; i < UV_MAX_AH; i++)
		assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), 0);
	assert_int_equal(PLAIN(CREATE_AH, &cmd, &resp), -ENOMEM);
}

/* Queue memory is used up before the numbers are. */
static void exhausted_memory(void **state)
{
	u32 largest = 1u << 18, made = 0;

	while (!try_cq(largest))
		made++;
	assert_int_equal(made, 1);
	assert_int_equal(try_cq(largest), -ENOMEM);
	assert_int_equal(try_cq(64), 0);
	assert_int_equal(DESTROY(DESTROY_CQ, 0), 0);
	assert_int_equal(try_cq(largest), 0);
}

/* The daemon has no free descriptors. */
static void exhausted_descriptors(void **state)
{
	struct ioctl_call call;
	struct rlimit limit, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(try_channel(), -EMFILE);
	ioctl_begin(&call, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioctl_object(&call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	assert_int_equal(ioctl_run(&call), -EMFILE);
	assert_int_equal(kernel.result.nfds, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(try_channel(), 0);
}

/* ---------------------------------------------------------------------- locks */

/* A QP in a multicast group cannot be destroyed, but closing the file removes it from the group. */
static void members_stay(void **state)
{
	struct ib_uverbs_attach_mcast cmd = { .gid = { 0xff, 0x0e } };
	u32 pd = make_pd(), cq = make_cq(16, -1);

	cmd.qp_handle = make_qp(IB_UVERBS_QPT_UD, pd, cq, -1);
	assert_int_equal(PLAIN_IN(ATTACH_MCAST, &cmd), 0);
	assert_int_equal(DESTROY(DESTROY_QP, cmd.qp_handle), -EBUSY);
	assert_int_equal(PLAIN_IN(DETACH_MCAST, &cmd), 0);
	assert_int_equal(DESTROY(DESTROY_QP, cmd.qp_handle), 0);

	cmd.qp_handle = make_qp(IB_UVERBS_QPT_UD, pd, cq, -1);
	assert_int_equal(PLAIN_IN(ATTACH_MCAST, &cmd), 0);
}

static void destroy_waits(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1), srq = make_srq(pd);
	u32 qp = make_qp(IB_UVERBS_QPT_RC, pd, cq, srq);
	struct nic *nic = &kernel.device.nic;
	struct nic_qp *frame = &nic->qp[qp_of(qp)->params.qpn & nic->qp_index_mask];
	struct nic_cq *entry = &nic->cq[cq_of(cq)->cqn - 1];

	frame->sq_lock = STRANGER;
	assert_int_equal(DESTROY(DESTROY_QP, qp), PARKED);
	assert_int_equal(DESTROY(DESTROY_QP, qp), PARKED);
	/* Meanwhile, the QP is busy for other commands, and its CQ stays in use. */
	{
		struct ib_uverbs_query_qp cmd = { .qp_handle = qp };
		struct ib_uverbs_query_qp_resp resp;

		assert_int_equal(PLAIN(QUERY_QP, &cmd, &resp), -EINVAL);
	}
	assert_int_equal(DESTROY(DESTROY_CQ, cq), -EBUSY);
	frame->sq_lock = 0;
	assert_int_equal(DESTROY(DESTROY_QP, qp), 0);

	entry->lock = STRANGER;
	assert_int_equal(DESTROY(DESTROY_CQ, cq), PARKED);
	entry->lock = 0;
	assert_int_equal(DESTROY(DESTROY_CQ, cq), 0);

	srq_entry(srq)->rq.lock = STRANGER;
	assert_int_equal(DESTROY(DESTROY_SRQ, srq), PARKED);
	srq_entry(srq)->rq.lock = 0;
	assert_int_equal(DESTROY(DESTROY_SRQ, srq), 0);
}

static void create_waits(void **state)
{
	struct nic *nic = &kernel.device.nic;
	u32 pd = make_pd(), cq = make_cq(1, -1);

	for (u32 i = 0; i < nic->max_qp; i++)
		nic->qp[i].sq_lock = STRANGER;
	for (u32 i = 0; i < 100; i++)
		assert_int_equal(try_qp(pd, cq), PARKED);
	assert_int_equal(kernel.device.alloc->qp.pool.free, nic->max_qp);
	for (u32 i = 0; i < nic->max_qp; i++)
		nic->qp[i].sq_lock = 0;
	assert_int_equal(try_qp(pd, cq), 0);
}

static void close_waits(void **state)
{
	u32 pd = make_pd(), cq = make_cq(16, -1);
	u32 qp = make_qp(IB_UVERBS_QPT_RC, pd, cq, -1);
	struct nic *nic = &kernel.device.nic;
	struct nic_qp *frame = &nic->qp[qp_of(qp)->params.qpn & nic->qp_index_mask];

	frame->rq.lock = STRANGER;
	assert_int_equal(kernel_close(kernel.file), CALL_PARK);
	assert_int_equal(kernel_close(kernel.file), CALL_PARK);
	frame->rq.lock = 0;
	assert_int_equal(kernel_close(kernel.file), CALL_DONE);
	kernel.file = NULL;
}

/* The client is dead but its file is open. Closing the file frees its objects. */
static void client_dies(void **state)
{
	u32 pd = make_pd();

	make_qp(IB_UVERBS_QPT_RC, pd, make_cq(4, -1), -1);
	kernel.client.dead = true;
	uverbs_client_dead(&kernel.client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(handles),          TEST(many_handles),          TEST(in_use),
		TEST(close_frees_all),  TEST(exhausted_tables),      TEST(exhausted_addresses),
		TEST(exhausted_memory), TEST(exhausted_descriptors), TEST(members_stay),
		TEST(destroy_waits),    TEST(create_waits),          TEST(close_waits),
		TEST(client_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
