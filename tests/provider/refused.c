// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that creation of extended objects with wrong attributes fails, and with which errno.
 * Unknown attributes are EOPNOTSUPP, and inconsistent ones EINVAL. The provider refuses them
 * without a command. If the agent refuses, its error is returned and nothing is leaked.
 */
#include <errno.h>
#include <stdlib.h>

#include "fake_agent.h"

/* Another context. Handles of its objects are not valid in the test's context. */
static struct ibv_context elsewhere;

#define REFUSED(_made, _errno)                                                                     \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(_made);                                                                \
		assert_int_equal(errno, _errno);                                                   \
	} while (0)

static void completion_queues(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_parent_domain_init_attr domain = { .pd = pd };
	struct ibv_pd *parent = fake_ops->alloc_parent_domain(*state, &domain);
	struct ibv_cq_init_attr_ex good = { .cqe = 1 }, attr = good;
	struct ibv_cq_ex *cq;

	attr.cqe = 0;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EINVAL);
	attr = good;
	attr.comp_mask = 1u << 31;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EOPNOTSUPP);
	attr = good;
	attr.wc_flags = 1ull << 63;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EOPNOTSUPP);
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EOPNOTSUPP);
	attr = good;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1u << 31;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EOPNOTSUPP);

	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EINVAL);
	attr.parent_domain = pd;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EINVAL);
	attr.parent_domain = parent;
	parent->context = &elsewhere;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), EINVAL);
	parent->context = *state;
	agent.fail_next = ENOSPC;
	REFUSED(fake_ops->create_cq_ex(*state, &attr), ENOSPC);
	/* An attribute whose bit in the mask is not set is not read. */
	cq = fake_ops->create_cq_ex(*state, &attr);
	assert_non_null(cq);
	fake_end_cq(ibv_cq_ex_to_cq(cq));
	fake_end_pd(parent);
	fake_end_pd(pd);
}

static void shared_receive_queues(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_xrcd domain = { .context = *state };
	struct ibv_srq_init_attr_ex good = { .pd = pd, .comp_mask = IBV_SRQ_INIT_ATTR_PD };
	struct ibv_srq_init_attr_ex attr = good;

	attr.comp_mask = 0;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | 1u << 31;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EOPNOTSUPP);
	attr = good;
	pd->context = &elsewhere;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	pd->context = *state;

	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	attr.srq_type = (enum ibv_srq_type)9;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EOPNOTSUPP);
	/* XRC needs a domain and a CQ; this agent does not support tag matching. */
	attr.srq_type = IBV_SRQT_XRC;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	attr.cq = cq;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	attr.xrcd = &domain;
	domain.context = &elsewhere;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	attr.srq_type = IBV_SRQT_TM;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EOPNOTSUPP);
	to_vctx(*state)->tm = true;
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TM;
	attr.tm_cap.max_num_tags = 1;
	/* A CQ without IBV_WC_EX_WITH_TM_INFO cannot report tag matching completions. */
	REFUSED(fake_ops->create_srq_ex(*state, &attr), EINVAL);
	to_vctx(*state)->tm = false;
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void queue_pairs(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_xrcd domain = { .context = &elsewhere };
	struct ibv_qp_init_attr_ex good = { .pd = pd,
					    .send_cq = cq,
					    .recv_cq = cq,
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct ibv_qp_init_attr_ex attr = good;
	struct ibv_qp_open_attr open = {};

	attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EOPNOTSUPP);
	attr = good;
	/* Indirection tables need a raw packet queue pair, and domains an XRC one. */
	attr.comp_mask |= IBV_QP_INIT_ATTR_IND_TABLE;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RAW_PACKET;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EINVAL);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EOPNOTSUPP);
	attr.qp_type = IBV_QPT_XRC_RECV;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EINVAL);
	attr.xrcd = &domain;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EINVAL);
	attr = good;
	attr.recv_cq = NULL;
	REFUSED(fake_ops->create_qp_ex(*state, &attr), EINVAL);

	open.comp_mask = IBV_QP_OPEN_ATTR_RESERVED;
	REFUSED(fake_ops->open_qp(*state, &open), EOPNOTSUPP);
	open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	open.qp_type = IBV_QPT_XRC_RECV;
	open.xrcd = &domain;
	REFUSED(fake_ops->open_qp(*state, &open), EINVAL);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void work_queues(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_wq_init_attr good = { .wq_type = IBV_WQT_RQ, .pd = pd, .cq = cq }, attr = good;
	struct ibv_wq queue = { .context = &elsewhere }, *queues[] = { &queue, NULL };
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = queues };

	attr.comp_mask = 1u << 31;
	REFUSED(fake_ops->create_wq(*state, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	attr.create_flags = IBV_WQ_FLAGS_DELAY_DROP;
	REFUSED(fake_ops->create_wq(*state, &attr), EOPNOTSUPP);
	attr = good;
	attr.wq_type = (enum ibv_wq_type)7;
	REFUSED(fake_ops->create_wq(*state, &attr), EINVAL);
	attr = good;
	attr.cq = NULL;
	REFUSED(fake_ops->create_wq(*state, &attr), EINVAL);
	attr = good;
	pd->context = &elsewhere;
	REFUSED(fake_ops->create_wq(*state, &attr), EINVAL);
	pd->context = *state;

	REFUSED(fake_ops->create_rwq_ind_table(*state, &table), EINVAL);
	queue.context = *state;
	table.comp_mask = 1;
	REFUSED(fake_ops->create_rwq_ind_table(*state, &table), EOPNOTSUPP);
	table.comp_mask = 0;
	table.log_ind_tbl_size = 1;
	REFUSED(fake_ops->create_rwq_ind_table(*state, &table), EINVAL);
	table.log_ind_tbl_size = 32;
	REFUSED(fake_ops->create_rwq_ind_table(*state, &table), EINVAL);
	table.log_ind_tbl_size = 0;
	table.ind_tbl = NULL;
	REFUSED(fake_ops->create_rwq_ind_table(*state, &table), EINVAL);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void domains_to_import(void **state)
{
	REFUSED(fake_ops->import_pd(*state, FAKE_PD + 1), ENOENT);
	agent.fail_next = EIO;
	REFUSED(fake_ops->import_pd(*state, FAKE_PD), EIO);
}

static void device_memory(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_alloc_dm_attr attr = { .length = 4, .comp_mask = 1 };
	struct vnet_dm dm = { .vdm.dm.context = &elsewhere };

	REFUSED(fake_ops->alloc_dm(*state, &attr), EINVAL);
	attr.comp_mask = 0;
	REFUSED(fake_ops->alloc_dm(*state, &attr), EOPNOTSUPP);
	REFUSED(fake_ops->import_dm(*state, 1), EOPNOTSUPP);
	REFUSED(fake_ops->reg_dm_mr(pd, &dm.vdm.dm, 0, 4, IBV_ACCESS_ZERO_BASED), EINVAL);
	/* This request reaches the agent. */
	dm.vdm.dm.context = *state;
	REFUSED(fake_ops->reg_dm_mr(pd, &dm.vdm.dm, 0, 4, IBV_ACCESS_ZERO_BASED), EOPNOTSUPP);
	fake_end_pd(pd);
}

static void flows(void **state)
{
	/* The specifications follow the attributes. */
	struct __attribute__((packed, aligned(8))) {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_counter_action action[2];
	} flow = { .attr = { .size = sizeof(flow), .num_of_specs = 1, .comp_mask = 1 } };
	struct ibv_flow_attr *attr = (void *)&flow;
	struct ibv_counters counters = { .context = &elsewhere };
	struct ibv_qp qp = { .context = *state };

	REFUSED(fake_ops->create_flow(&qp, attr), EOPNOTSUPP);
	flow.attr.comp_mask = 0;
	/* A specification of size 0 would make the parser loop forever. */
	REFUSED(fake_ops->create_flow(&qp, attr), EINVAL);
	flow.action[0].type = IBV_FLOW_SPEC_ACTION_COUNT;
	flow.action[0].size = sizeof(flow.action[0]);
	REFUSED(fake_ops->create_flow(&qp, attr), EINVAL);
	flow.action[0].counters = &counters;
	REFUSED(fake_ops->create_flow(&qp, attr), EINVAL);
	counters.context = *state;
	flow.action[0].size -= 8;
	REFUSED(fake_ops->create_flow(&qp, attr), EINVAL);
	/* Two count actions in one flow are refused. */
	flow.action[0].size += 8;
	flow.action[1] = flow.action[0];
	flow.attr.num_of_specs = 2;
	REFUSED(fake_ops->create_flow(&qp, attr), EINVAL);
}

static void counting(void **state)
{
	struct vnet_counters counters = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters_init_attr init = {};
	struct ibv_counters *ib = &counters.vcounters.counters;
	struct ibv_flow flow;
	uint64_t value;

	REFUSED(fake_ops->create_counters(*state, &init), EOPNOTSUPP);
	assert_int_equal(fake_ops->attach_counters_point_flow(ib, &attr, &flow), ENOTSUP);
	attr.comp_mask = 1;
	assert_int_equal(fake_ops->attach_counters_point_flow(ib, &attr, NULL), ENOTSUP);
	attr.comp_mask = 0;
	attr.counter_desc = (enum ibv_counter_description)9;
	assert_int_equal(fake_ops->attach_counters_point_flow(ib, &attr, NULL), ENOTSUP);
	attr.counter_desc = IBV_COUNTER_BYTES;
	counters.flows = 1;
	assert_int_equal(fake_ops->attach_counters_point_flow(ib, &attr, NULL), EBUSY);
	counters.flows = 0;
	attr.index = 1;
	assert_int_equal(fake_ops->attach_counters_point_flow(ib, &attr, NULL), 0);
	assert_int_equal(fake_ops->read_counters(ib, &value, 1, 0), EINVAL);
	free(counters.point);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(completion_queues),
		TEST(shared_receive_queues),
		TEST(queue_pairs),
		TEST(work_queues),
		TEST(device_memory),
		TEST(domains_to_import),
		TEST(flows),
		TEST(counting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
