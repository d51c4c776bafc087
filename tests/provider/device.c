// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests how the provider matches a device, opens it, and counts uses of objects.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake_agent.h"

static void recognises_by_firmware_version(void **state)
{
	const struct verbs_match_ent entry = { .kind = VERBS_MATCH_MODALIAS };
	struct verbs_sysfs_dev dev = { .ibdev_name = "fast0" };

	agent.fw_ver = "vnet-1.2.3";
	assert_true(fake_device_ops->match_device(&dev));
	agent.fw_ver = "16.35.2000";
	assert_false(fake_device_ops->match_device(&dev));

	/* The driver name matches, but the firmware version is another vendor's. */
	dev.match = &entry;
	assert_false(fake_device_ops->match_device(&dev));
	/* Without a firmware version, the match decides. */
	agent.fw_ver = NULL;
	assert_true(fake_device_ops->match_device(&dev));
	dev.match = NULL;
	assert_false(fake_device_ops->match_device(&dev));
}

static struct verbs_context *open_with(struct ibv_context *context)
{
	return fake_device_ops->alloc_context(context->device, dup(context->cmd_fd), NULL);
}

static void refuses_other_versions(void **state)
{
	agent.hw_version = VNET_HW_VERSION + 1;
	assert_null(open_with(*state));
	assert_int_equal(errno, EPROTONOSUPPORT);

	agent.hw_version = VNET_HW_VERSION;
	agent.gate_size = sizeof(struct vnet_gate) - 8;
	assert_null(open_with(*state));
	assert_int_equal(errno, EPROTONOSUPPORT);

	agent.gate_size = sizeof(struct vnet_gate) + 8;
	agent.fail_next = EACCES;
	assert_null(open_with(*state));
	assert_int_equal(errno, EACCES);
}

static void imports_contexts_and_objects(void **state)
{
	struct ibv_context *context = *state;
	struct verbs_context *imported;
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	imported = fake_device_ops->import_context(context->device, dup(context->cmd_fd));
	assert_non_null(imported);
	assert_ptr_equal(to_vctx(&imported->context)->gate.idle, to_vctx(context)->gate.idle);

	pd = fake_ops->import_pd(&imported->context, FAKE_PD);
	assert_non_null(pd);
	assert_int_equal(pd->handle, FAKE_PD);
	mr = fake_ops->import_mr(pd, 11);
	assert_non_null(mr);
	assert_int_equal(mr->handle, 11);
	fake_ops->unimport_mr(mr);
	fake_ops->unimport_pd(pd);
	fake_ops->free_context(&imported->context);

	agent.fail_next = EIO;
	assert_null(fake_device_ops->import_context(context->device, dup(context->cmd_fd)));
	assert_int_equal(errno, EIO);
}

static void tells_its_firmware_and_clock(void **state)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1u << 31 };
	struct ibv_device_attr_ex attr;
	uint64_t before, after;

	assert_int_equal(fake_ops->query_device_ex(*state, NULL, &attr, sizeof(attr)), 0);
	assert_string_equal(attr.orig_attr.fw_ver, VNET_FW_VER_PREFIX "1.0");
	assert_int_equal(attr.hca_core_clock, 1000000);
	assert_int_equal(attr.completion_timestamp_mask, UINT64_MAX);

	/* A caller of ibv_query_device() has room for that structure only. */
	memset(&attr, 0x5a, sizeof(attr));
	assert_int_equal(fake_ops->query_device_ex(*state, NULL, &attr, sizeof(attr.orig_attr)), 0);
	assert_int_equal(attr.hca_core_clock, 0x5a5a5a5a5a5a5a5a);

	before = vnet_clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(fake_ops->query_rt_values(*state, &values), 0);
	after = vnet_clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_in_range((uint64_t)values.raw_clock.tv_nsec, before, after);
}

static void domains_stay_while_they_are_used(void **state)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_pd *parent;

	attr.td = fake_ops->alloc_td(*state, &td_attr);
	assert_non_null(attr.td);
	assert_null(fake_ops->alloc_parent_domain(*state, &attr));
	assert_int_equal(errno, EINVAL);

	attr.pd = fake_pd(*state);
	parent = fake_ops->alloc_parent_domain(*state, &attr);
	assert_non_null(parent);
	assert_int_equal(parent->handle, attr.pd->handle);
	assert_true(vnet_pd_skips_locks(parent));
	assert_false(vnet_pd_skips_locks(attr.pd));

	assert_int_equal(fake_ops->dealloc_pd(attr.pd), EBUSY);
	assert_int_equal(fake_ops->dealloc_td(attr.td), EBUSY);
	assert_int_equal(fake_ops->dealloc_pd(parent), 0);
	assert_int_equal(fake_ops->dealloc_td(attr.td), 0);

	attr.td = NULL;
	attr.comp_mask = 1u << 31;
	assert_null(fake_ops->alloc_parent_domain(*state, &attr));
	/* IBV_PARENT_DOMAIN_UNPROTECTED_MEMORY is accepted, and has no effect. */
	attr.comp_mask = 1u << 2;
	parent = fake_ops->alloc_parent_domain(*state, &attr);
	assert_non_null(parent);
	assert_false(vnet_pd_skips_locks(parent));
	fake_end_pd(parent);
	fake_end_pd(attr.pd);
}

static void objects_that_fail_leave_nothing(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_qp_init_attr qp_attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq_attr = {};

	agent.fail_next = ENOMEM;
	assert_null(fake_ops->create_qp(pd, &qp_attr));
	assert_int_equal(errno, ENOMEM);
	agent.fail_next = ENOMEM;
	assert_null(fake_ops->create_srq(pd, &srq_attr));
	agent.fail_next = ENOMEM;
	assert_null(fake_ops->create_cq(*state, 1, NULL, 0));
	agent.fail_next = ENOMEM;
	assert_null(fake_ops->alloc_mw(pd, IBV_MW_TYPE_1));
	agent.fail_next = ENOMEM;
	assert_null(fake_ops->reg_mr(pd, &agent, 1, 0, 0));

	/* Ring sizes that are no power of two: the object is destroyed again. */
	agent.entries = 6;
	assert_null(fake_ops->create_qp(pd, &qp_attr));
	assert_int_equal(errno, EPROTO);
	assert_null(fake_ops->create_srq(pd, &srq_attr));
	assert_null(fake_ops->create_cq(*state, 1, NULL, 0));

	/* If the agent refuses the destruction, the object stays usable. */
	agent.entries = 8;
	agent.fail_next = EBUSY;
	assert_int_equal(fake_ops->destroy_cq(cq), EBUSY);
	fake_end_cq(cq);
	agent.fail_next = EBUSY;
	assert_int_equal(fake_ops->dealloc_pd(pd), EBUSY);
	fake_end_pd(pd);
}

static void queue_pairs_that_cannot_be(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_qp_init_attr_ex attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD };
	struct ibv_qp_attr change = { .qp_state = 256 + IBV_QPS_INIT };
	struct ibv_context elsewhere;
	struct ibv_qp *qp;

	assert_null(fake_ops->create_qp_ex(*state, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.pd = pd;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	assert_null(fake_ops->create_qp_ex(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_DRIVER;
	attr.send_ops_flags = 0;
	assert_null(fake_ops->create_qp_ex(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_null(fake_ops->create_qp_ex(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);

	attr.create_flags = 0;
	/* A CQ of another context is refused. */
	cq->context = &elsewhere;
	assert_null(fake_ops->create_qp_ex(*state, &attr));
	assert_int_equal(errno, EINVAL);
	cq->context = *state;
	qp = fake_ops->create_qp_ex(*state, &attr);
	assert_non_null(qp);
	/* A state that does not fit into the command's byte. */
	assert_int_equal(fake_ops->modify_qp(qp, &change, IBV_QP_STATE), EINVAL);
	assert_int_equal(fake_ops->query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0);
	fake_end_qp(qp);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void address_handles_need_a_gid(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_ah *ah;

	assert_null(fake_ops->create_ah(pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr.is_global = 1;
	ah = fake_ops->create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(fake_ops->destroy_ah(ah), 0);
	fake_end_pd(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recognises_by_firmware_version),   TEST(refuses_other_versions),
		TEST(imports_contexts_and_objects),     TEST(tells_its_firmware_and_clock),
		TEST(domains_stay_while_they_are_used), TEST(objects_that_fail_leave_nothing),
		TEST(queue_pairs_that_cannot_be),       TEST(address_handles_need_a_gid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
