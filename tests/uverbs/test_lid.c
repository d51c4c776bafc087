// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the uverbs server with an InfiniBand port: its attributes, and the addresses that it
 * accepts. An Ethernet port must refuse some of them.
 */
#include <infiniband/verbs.h>

#include "../unit/test_platform.h"
#include "kernel.h"

#define LID 0x17
#define GROUP 0xc001

static void become_infiniband(void)
{
	struct device *device = &kernel.device;

	device->lid = LID;
	device->gids_shown = 1;
	device->nic.hdr->lid = LID;
}

static void port(void **state)
{
	struct ib_uverbs_query_port cmd = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;

	assert_int_equal(PLAIN(QUERY_PORT, &cmd, &resp), 0);
	assert_int_equal(resp.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(resp.lid, 0);
	assert_true(resp.flags & IB_UVERBS_QPF_GRH_REQUIRED);
	become_infiniband();
	assert_int_equal(PLAIN(QUERY_PORT, &cmd, &resp), 0);
	assert_int_equal(resp.link_layer, IBV_LINK_LAYER_INFINIBAND);
	assert_int_equal(resp.lid, LID);
	assert_int_equal(resp.sm_lid, 1);
	assert_int_equal(resp.lmc, 0);
	assert_false(resp.flags & IB_UVERBS_QPF_GRH_REQUIRED);
	assert_false(resp.port_cap_flags & IBV_PORT_IP_BASED_GIDS);
}

/* ----------------------------------------------------------- address handles */

static int try_ah(const struct ib_uverbs_ah_attr *attr)
{
	struct ib_uverbs_create_ah cmd = { .pd_handle = make_pd(), .attr = *attr };
	struct ib_uverbs_create_ah_resp resp;

	return PLAIN(CREATE_AH, &cmd, &resp);
}

static int try_lid(u16 dlid)
{
	const struct ib_uverbs_ah_attr attr = { .port_num = 1, .dlid = dlid };

	return try_ah(&attr);
}

static void addresses(void **state)
{
	struct ib_uverbs_ah_attr attr = { .port_num = 1, .is_global = 1, .dlid = LID };

	assert_int_equal(try_lid(LID), -EINVAL);
	attr.grh.sgid_index = 1;
	assert_int_equal(try_ah(&attr), 0);
	become_infiniband();
	assert_int_equal(try_ah(&attr), -EINVAL);
	attr.grh.sgid_index = 0;
	assert_int_equal(try_ah(&attr), 0);
	attr.dlid = 0;
	assert_int_equal(try_ah(&attr), -EINVAL);
	assert_int_equal(try_lid(1), 0);
	assert_int_equal(try_lid(0xbfff), 0);
	assert_int_equal(try_lid(0), -EINVAL);
	assert_int_equal(try_lid(GROUP), -EINVAL);
	assert_int_equal(try_lid(0xffff), -EINVAL);
	attr.port_num = 2;
	attr.dlid = LID;
	assert_int_equal(try_ah(&attr), -EINVAL);
}

static void groups(void **state)
{
	struct ib_uverbs_ah_attr attr = { .port_num = 1, .is_global = 1, .dlid = GROUP };
	struct ib_uverbs_attach_mcast cmd = { .gid = { 0xff, 0x12 } };
	u32 pd = make_pd();

	become_infiniband();
	attr.grh.dgid[0] = 0xfe;
	assert_int_equal(try_ah(&attr), -EINVAL);
	attr.grh.dgid[0] = 0xff;
	assert_int_equal(try_ah(&attr), 0);
	attr.dlid = LID;
	assert_int_equal(try_ah(&attr), -EINVAL);
	attr.dlid = 0xffff;
	assert_int_equal(try_ah(&attr), -EINVAL);

	cmd.qp_handle = make_qp(IB_UVERBS_QPT_UD, pd, make_cq(16, -1), -1);
	assert_int_equal(PLAIN_IN(ATTACH_MCAST, &cmd), -EINVAL);
	cmd.mlid = 0xffff;
	assert_int_equal(PLAIN_IN(ATTACH_MCAST, &cmd), -EINVAL);
	cmd.mlid = GROUP;
	assert_int_equal(PLAIN_IN(ATTACH_MCAST, &cmd), 0);
	cmd.mlid = LID;
	assert_int_equal(PLAIN_IN(DETACH_MCAST, &cmd), -EINVAL);
	cmd.mlid = GROUP;
	assert_int_equal(PLAIN_IN(DETACH_MCAST, &cmd), 0);
}

/* -------------------------------------------------------------- queue pairs */

static int modify(u32 qp, u32 state, u32 mask, const struct ib_uverbs_qp_dest *dest)
{
	struct ib_uverbs_modify_qp cmd = { .qp_handle = qp,
					   .attr_mask = mask | IBV_QP_STATE,
					   .qp_state = (u8)state,
					   .port_num = 1,
					   .path_mtu = IBV_MTU_1024 };

	if (dest)
		cmd.dest = *dest;
	return PLAIN_IN(MODIFY_QP, &cmd);
}

static int join_up(u32 qp, bool global, u8 sgid_index, u16 dlid)
{
	struct ib_uverbs_qp_dest dest = {
		.port_num = 1, .dlid = dlid, .is_global = global, .sgid_index = sgid_index
	};

	dest.dgid[0] = 0xfe;
	assert_int_equal(modify(qp, IBV_QPS_RESET, 0, NULL), 0);
	assert_int_equal(modify(qp, IBV_QPS_INIT,
				IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, NULL),
			 0);
	return modify(qp, IBV_QPS_RTR,
		      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, &dest);
}

static void connections(void **state)
{
	struct ib_uverbs_query_qp cmd = { .attr_mask = IBV_QP_AV };
	struct ib_uverbs_query_qp_resp resp;
	u32 qp = make_qp(IB_UVERBS_QPT_UC, make_pd(), make_cq(16, -1), -1);

	assert_int_equal(join_up(qp, false, 0, LID), -EINVAL);
	become_infiniband();
	assert_int_equal(join_up(qp, false, 0, 0), -EINVAL);
	assert_int_equal(join_up(qp, false, 0, GROUP), -EINVAL);
	assert_int_equal(join_up(qp, true, 1, LID), -EINVAL);
	assert_int_equal(join_up(qp, true, 0, LID), 0);
	assert_int_equal(join_up(qp, false, 0, LID + 1), 0);
	cmd.qp_handle = qp;
	assert_int_equal(PLAIN(QUERY_QP, &cmd, &resp), 0);
	assert_int_equal(resp.dest.dlid, LID + 1);
	assert_int_equal(resp.dest.is_global, 0);
}

#define CONTEXT(name) cmocka_unit_test_setup_teardown(name, kernel_start_context, kernel_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT(port),
		CONTEXT(addresses),
		CONTEXT(groups),
		CONTEXT(connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
