// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of raw packet queue pairs, work queues, indirection tables, flows and flow counters. Also
 * tests the arguments that each of them refuses.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

#define EX(command, req, resp)                                                                     \
	extended_command(IB_USER_VERBS_EX_CMD_##command | IB_USER_VERBS_CMD_FLAG_EXTENDED,         \
			 &(struct parts){ .in = (req),                                             \
					  .in_length = sizeof(*(req)),                             \
					  .out = (resp),                                           \
					  .out_length = sizeof(*(resp)) })
#define EX_IN(command, req)                                                                        \
	extended_command(IB_USER_VERBS_EX_CMD_##command | IB_USER_VERBS_CMD_FLAG_EXTENDED,         \
			 &(struct parts){ .in = (req), .in_length = sizeof(*(req)) })

#define TABLE_LOG 1
#define TABLE_SIZE (1 << TABLE_LOG)

/* Objects that all of these tests need. */
static struct stage {
	u32 pd, cq;
	struct ib_uverbs_ex_create_wq wq;
} stage;

static void set_stage(void)
{
	stage.pd = make_pd();
	stage.cq = make_cq(64, -1);
	stage.wq = (struct ib_uverbs_ex_create_wq){ .pd_handle = stage.pd,
						    .cq_handle = stage.cq,
						    .user_handle = 0x77,
						    .max_wr = 16,
						    .max_sge = 2 };
}

/* ----------------------------------------------------------------- work queues */

static int create_wq(const struct ib_uverbs_ex_create_wq *cmd)
{
	struct ib_uverbs_ex_create_wq_resp resp;
	int err = EX(CREATE_WQ, cmd, &resp);

	return err ? err : (int)resp.wq_handle;
}

static u32 make_wq(void)
{
	int handle = create_wq(&stage.wq);

	assert_true(handle >= 0);
	return (u32)handle;
}

static int destroy_wq(u32 handle)
{
	struct ib_uverbs_ex_destroy_wq cmd = { .wq_handle = handle };
	struct ib_uverbs_ex_destroy_wq_resp resp;

	return EX(DESTROY_WQ, &cmd, &resp);
}

static int modify_wq(u32 handle, u32 mask, u32 state, u32 current)
{
	const struct ib_uverbs_ex_modify_wq cmd = {
		.attr_mask = mask, .wq_handle = handle, .wq_state = state, .curr_wq_state = current
	};

	return EX_IN(MODIFY_WQ, &cmd);
}

static void work_queues(void **state)
{
	struct ib_uverbs_ex_create_wq cmd;

	set_stage();
#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		cmd = stage.wq;                                                                    \
		cmd.field = (value);                                                               \
		assert_int_equal(create_wq(&cmd), -(error));                                       \
	} while (0)
	REFUSED(comp_mask, 1, EOPNOTSUPP);
	REFUSED(wq_type, 1, EINVAL);
	REFUSED(pd_handle, 99, EINVAL);
	REFUSED(pd_handle, stage.cq, EINVAL);
	REFUSED(cq_handle, 99, EINVAL);
	REFUSED(max_wr, 0, EINVAL);
	REFUSED(max_wr, UV_MAX_QP_WR + 1, EINVAL);
	REFUSED(max_wr, ~0u, EINVAL);
	REFUSED(max_sge, VNET_MAX_SGE + 1, EINVAL);
	REFUSED(create_flags, 1, EOPNOTSUPP);
#undef REFUSED
	assert_int_equal(destroy_wq(99), -ENOENT);
	assert_int_equal(destroy_wq(stage.cq), -EINVAL);
}

static void work_queue_states(void **state)
{
	u32 wq;

	set_stage();
	wq = make_wq();
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, stage.pd), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, stage.cq), -EBUSY);
	assert_int_equal(modify_wq(wq, 0, 1, 0), -EINVAL);
	assert_int_equal(modify_wq(wq, 8, 1, 0), -EINVAL);
	assert_int_equal(modify_wq(wq, 4, 1, 0), -EOPNOTSUPP);
	assert_int_equal(modify_wq(99, 1, 1, 0), -EINVAL);
	assert_int_equal(modify_wq(wq, 1, 3, 0), -EINVAL);
	/* Only a ready work queue can go to the error state. */
	assert_int_equal(modify_wq(wq, 1, 2, 0), -EINVAL);
	assert_int_equal(modify_wq(wq, 3, 1, 2), -EINVAL);
	assert_int_equal(modify_wq(wq, 3, 1, 0), 0);
	assert_int_equal(modify_wq(wq, 1, 1, 0), 0);
	assert_int_equal(modify_wq(wq, 1, 2, 0), 0);
	assert_int_equal(modify_wq(wq, 1, 1, 0), -EINVAL);
	assert_int_equal(modify_wq(wq, 1, 0, 0), 0);
	assert_int_equal(destroy_wq(wq), 0);
	assert_int_equal(destroy_wq(wq), -ENOENT);
}

/*
 * Creates work queues until the numbers are used up. The failed creation must leave nothing behind.
 */
static void work_queues_exhausted(void **state)
{
	int handle;

	set_stage();
	while ((handle = create_wq(&stage.wq)) >= 0)
		;
	assert_int_equal(handle, -ENOMEM);
	assert_int_equal(create_wq(&stage.wq), -ENOMEM);
	/* Closing the file at the end of the test destroys all of them. */
}

/* ---------------------------------------------------------------------- tables */

struct table_command {
	struct ib_uverbs_ex_create_rwq_ind_table head;
	u32 handle[TABLE_SIZE];
};

static int create_table(const struct table_command *cmd)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp;
	int err = EX(CREATE_RWQ_IND_TBL, cmd, &resp);

	return err ? err : (int)resp.ind_tbl_handle;
}

static u32 make_table(u32 wq)
{
	const struct table_command cmd = { .head.log_ind_tbl_size = TABLE_LOG,
					   .handle = { wq, wq } };
	int handle = create_table(&cmd);

	assert_true(handle >= 0);
	return (u32)handle;
}

static int destroy_table(u32 handle)
{
	const struct ib_uverbs_ex_destroy_rwq_ind_table cmd = { .ind_tbl_handle = handle };

	return EX_IN(DESTROY_RWQ_IND_TBL, &cmd);
}

static void tables(void **state)
{
	struct table_command cmd;
	u32 wq, table;

	set_stage();
	wq = make_wq();
	cmd = (struct table_command){ .head.log_ind_tbl_size = TABLE_LOG, .handle = { wq, 99 } };
	assert_int_equal(create_table(&cmd), -EINVAL);
	cmd.handle[1] = stage.cq;
	assert_int_equal(create_table(&cmd), -EINVAL);
	cmd.handle[1] = wq;
	cmd.head.comp_mask = 1;
	assert_int_equal(create_table(&cmd), -EOPNOTSUPP);
	cmd.head.comp_mask = 0;
	cmd.head.log_ind_tbl_size = NIC_MAX_RSS_LOG + 1;
	assert_int_equal(create_table(&cmd), -EINVAL);
	/* The size in the header is larger than the table. */
	cmd.head.log_ind_tbl_size = TABLE_LOG + 1;
	assert_int_equal(create_table(&cmd), -EINVAL);
	assert_int_equal(destroy_wq(wq), 0);

	wq = make_wq();
	table = make_table(wq);
	assert_int_equal(destroy_wq(wq), -EBUSY);
	assert_int_equal(destroy_table(99), -ENOENT);
	assert_int_equal(destroy_table(wq), -EINVAL);
	assert_int_equal(destroy_table(table), 0);
	assert_int_equal(destroy_table(table), -ENOENT);
	assert_int_equal(destroy_wq(wq), 0);
}

/* -------------------------------------------------------- queue pairs with RSS */

static struct vnet_create_qp_req good_hash(void)
{
	return (struct vnet_create_qp_req){ .rx_hash_fields = NIC_RSS_KNOWN,
					    .rx_hash_function = 1,
					    .rx_hash_key_len = NIC_RSS_KEY };
}

static int create_spreading(const struct ib_uverbs_ex_create_qp *cmd,
			    const struct vnet_create_qp_req *hash)
{
	struct ib_uverbs_ex_create_qp_resp resp;
	int err;

	err = extended_command(IB_USER_VERBS_EX_CMD_CREATE_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			       &(struct parts){ .in = cmd,
						.in_length = sizeof(*cmd),
						.driver_in = hash,
						.driver_in_length = sizeof(*hash),
						.out = &resp,
						.out_length = sizeof(resp) });
	return err ? err : (int)resp.base.qp_handle;
}

static struct ib_uverbs_ex_create_qp good_spreading(u32 table)
{
	return (struct ib_uverbs_ex_create_qp){ .pd_handle = stage.pd,
						.qp_type = IB_UVERBS_QPT_RAW_PACKET,
						.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE,
						.rwq_ind_tbl_handle = table };
}

static void spreading(void **state)
{
	struct ib_uverbs_ex_create_qp good, cmd;
	struct vnet_create_qp_req good_one = good_hash(), hash;
	struct ib_uverbs_modify_qp change = { .attr_mask = 1, .qp_state = 1 };
	struct ib_uverbs_query_qp query = { .attr_mask = 1 };
	struct ib_uverbs_query_qp_resp resp;
	u32 wq, table;
	int qp;

	set_stage();
	wq = make_wq();
	table = make_table(wq);
	good = good_spreading(table);
#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		cmd = good;                                                                        \
		cmd.field = (value);                                                               \
		assert_int_equal(create_spreading(&cmd, &good_one), -(error));                     \
	} while (0)
#define WRONG_HASH(field, value, error)                                                            \
	do {                                                                                       \
		hash = good_one;                                                                   \
		hash.field = (value);                                                              \
		assert_int_equal(create_spreading(&good, &hash), -(error));                        \
	} while (0)
	REFUSED(rwq_ind_tbl_handle, 99, EINVAL);
	REFUSED(rwq_ind_tbl_handle, wq, EINVAL);
	REFUSED(pd_handle, 99, EINVAL);
	REFUSED(max_send_wr, 1, EINVAL);
	REFUSED(max_recv_wr, 1, EINVAL);
	REFUSED(max_recv_sge, 1, EINVAL);
	REFUSED(qp_type, IB_UVERBS_QPT_RC, EINVAL);
	REFUSED(create_flags, 2, EOPNOTSUPP);
	REFUSED(comp_mask, 3, EINVAL);
	WRONG_HASH(rx_hash_function, 2, EOPNOTSUPP);
	WRONG_HASH(rx_hash_fields, NIC_RSS_KNOWN + 1, EOPNOTSUPP);
	WRONG_HASH(rx_hash_key_len, 16, EINVAL);
	WRONG_HASH(reserved_50[1], 1, EINVAL);
	WRONG_HASH(flags, VNET_CREATE_QP_RETURN, EINVAL);
#undef REFUSED
#undef WRONG_HASH
	assert_int_equal(destroy_table(table), 0);
	table = make_table(wq);
	good.rwq_ind_tbl_handle = table;
	qp = create_spreading(&good, &good_one);
	assert_true(qp >= 0);
	assert_int_equal(destroy_table(table), -EBUSY);
	change.qp_handle = (u32)qp;
	assert_int_equal(PLAIN_IN(MODIFY_QP, &change), -EOPNOTSUPP);
	query.qp_handle = (u32)qp;
	assert_int_equal(PLAIN(QUERY_QP, &query, &resp), -EOPNOTSUPP);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, (u32)qp), 0);
	assert_int_equal(destroy_table(table), 0);
}

/* ----------------------------------------------------------------------- flows */

struct flow_command {
	struct ib_uverbs_create_flow head;
	union {
		struct ib_uverbs_flow_spec_eth eth;
		struct ib_uverbs_flow_spec_ipv4 ipv4;
		struct ib_uverbs_flow_spec_action_count count;
	} spec[2];
};

static int create_flow(const struct flow_command *cmd)
{
	struct ib_uverbs_create_flow_resp resp;
	int err;

	err = extended_command(
		IB_USER_VERBS_EX_CMD_CREATE_FLOW | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		&(struct parts){ .in = cmd,
				 .in_length = (u32)sizeof(cmd->head) + cmd->head.flow_attr.size,
				 .out = &resp,
				 .out_length = sizeof(resp) });
	return err ? err : (int)resp.flow_handle;
}

static int destroy_flow(u32 handle)
{
	const struct ib_uverbs_destroy_flow cmd = { .flow_handle = handle };

	return EX_IN(DESTROY_FLOW, &cmd);
}

/* A flow with one specification, of the Ethernet header. */
static struct flow_command good_flow(u32 qp)
{
	struct flow_command cmd = { .head = { .qp_handle = qp,
					      .flow_attr = { .port = 1,
							     .num_of_specs = 1,
							     .size = sizeof(cmd.spec[0].eth) } } };

	cmd.spec[0].eth.type = 0x20;
	cmd.spec[0].eth.size = sizeof(cmd.spec[0].eth);
	cmd.spec[0].eth.mask.ether_type = 0xffff;
	return cmd;
}

static void tagged_flows(void **state)
{
	struct ib_uverbs_flow_spec_action_tag tag = { .type = 0x1000, .size = sizeof(tag) };
	static const struct {
		u32 id, rest;
		int is;
	} tags[] = { { 0xffffff, 0, 0 }, { 0x1000000, 0, -EINVAL }, { 1, 1, -EINVAL } };
	struct flow_command cmd;
	int flow;

	set_stage();
	cmd = good_flow(make_qp(IB_UVERBS_QPT_RAW_PACKET, stage.pd, stage.cq, -1));
	cmd.head.flow_attr.size = sizeof(tag);
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		tag.tag_id = tags[i].id;
		tag.reserved1 = tags[i].rest;
		memcpy(cmd.spec, &tag, sizeof(tag));
		flow = create_flow(&cmd);
		if (tags[i].is) {
			assert_int_equal(flow, tags[i].is);
			continue;
		}
		assert_true(flow >= 0);
		assert_int_equal(kernel.device.nic.hdr->flow[0].tag, tags[i].id);
		assert_int_equal(destroy_flow((u32)flow), 0);
	}
	/* A second tag is refused. */
	tag = (struct ib_uverbs_flow_spec_action_tag){ .type = 0x1000, .size = sizeof(tag) };
	memcpy(cmd.spec, &tag, sizeof(tag));
	memcpy((u8 *)cmd.spec + sizeof(tag), &tag, sizeof(tag));
	cmd.head.flow_attr.num_of_specs = 2;
	cmd.head.flow_attr.size = 2 * sizeof(tag);
	assert_int_equal(create_flow(&cmd), -EINVAL);
}

static void flows(void **state)
{
	struct flow_command good, cmd;
	u32 qp, ud;
	int flow;

	set_stage();
	qp = make_qp(IB_UVERBS_QPT_RAW_PACKET, stage.pd, stage.cq, -1);
	ud = make_qp(IB_UVERBS_QPT_UD, stage.pd, stage.cq, -1);
	good = good_flow(qp);
#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		cmd = good;                                                                        \
		cmd.field = (value);                                                               \
		assert_int_equal(create_flow(&cmd), -(error));                                     \
	} while (0)
	REFUSED(head.comp_mask, 1, EINVAL);
	REFUSED(head.qp_handle, 99, EINVAL);
	REFUSED(head.qp_handle, stage.cq, EINVAL);
	REFUSED(head.qp_handle, ud, EOPNOTSUPP);
	REFUSED(head.flow_attr.type, 4, EINVAL);
	REFUSED(head.flow_attr.port, 0, EINVAL);
	REFUSED(head.flow_attr.port, 2, EINVAL);
	REFUSED(head.flow_attr.flags, 8, EINVAL);
	REFUSED(head.flow_attr.flags, 4, EOPNOTSUPP);
	REFUSED(head.flow_attr.num_of_specs, 11, EINVAL);
	REFUSED(head.flow_attr.num_of_specs, 0, EINVAL);
	REFUSED(head.flow_attr.num_of_specs, 2, EINVAL);
	REFUSED(spec[0].eth.type, 0x21, EINVAL);
	REFUSED(spec[0].eth.type, 0x120, EOPNOTSUPP);
	REFUSED(spec[0].eth.type, 0x34, EOPNOTSUPP);
	REFUSED(spec[0].eth.type, 0x1000, EINVAL);
	REFUSED(spec[0].eth.type, 0x1001, EINVAL);
	REFUSED(spec[0].eth.type, 0x1002, EOPNOTSUPP);
	REFUSED(spec[0].eth.size, 4, EINVAL);
	REFUSED(spec[0].eth.size, 8, EINVAL);
	REFUSED(spec[0].eth.size, sizeof(good.spec[0].eth) + 8, EINVAL);
	REFUSED(spec[0].eth.reserved, 1, EINVAL);
#undef REFUSED
	cmd = good;
	cmd.head.flow_attr.type = NIC_FLOW_SNIFFER;
	cmd.head.flow_attr.flags = 2;
	assert_int_equal(create_flow(&cmd), -EINVAL);
	/* Two specifications of the same header. */
	cmd = good;
	cmd.head.flow_attr.num_of_specs = 2;
	cmd.head.flow_attr.size = 2 * sizeof(cmd.spec[0].eth);
	memcpy((u8 *)cmd.spec + sizeof(cmd.spec[0].eth), cmd.spec, sizeof(cmd.spec[0].eth));
	assert_int_equal(create_flow(&cmd), -EINVAL);
	assert_int_equal(kernel.device.alloc->flow.pool.free, NIC_MAX_FLOWS);

	flow = create_flow(&good);
	assert_true(flow >= 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, qp), -EBUSY);
	assert_int_equal(destroy_flow(99), -ENOENT);
	assert_int_equal(destroy_flow(qp), -EINVAL);
	assert_int_equal(destroy_flow((u32)flow), 0);
	assert_int_equal(destroy_flow((u32)flow), -ENOENT);
	while ((flow = create_flow(&good)) >= 0)
		;
	assert_int_equal(flow, -ENOMEM);
	assert_int_equal(kernel.device.alloc->flow.pool.free, 0);
}

/* -------------------------------------------------------------------- counters */

static s64 create_counters(void)
{
	struct ioctl_call call;
	int err;

	ioctl_begin(&call, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE);
	ioctl_object(&call, UVERBS_ATTR_CREATE_COUNTERS_HANDLE, 0);
	err = ioctl_run(&call);
	return err ? err : (s64)ioctl_attr(&call, UVERBS_ATTR_CREATE_COUNTERS_HANDLE)->data;
}

static int destroy_counters(s64 handle)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY);
	ioctl_object(&call, UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, handle);
	return ioctl_run(&call);
}

static int read_counters(s64 handle, u64 *values, u16 length, u32 flags)
{
	struct ioctl_call call;

	ioctl_begin(&call, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ);
	ioctl_object(&call, UVERBS_ATTR_READ_COUNTERS_HANDLE, handle);
	ioctl_out(&call, UVERBS_ATTR_READ_COUNTERS_BUFF, values, length);
	ioctl_u32(&call, UVERBS_ATTR_READ_COUNTERS_FLAGS, flags);
	return ioctl_run(&call);
}

static void counters(void **state)
{
	u64 values[3] = { 9, 9, 9 };
	struct flow_command cmd;
	s64 handle, other;
	int flow;

	set_stage();
	cmd = good_flow(make_qp(IB_UVERBS_QPT_RAW_PACKET, stage.pd, stage.cq, -1));
	cmd.head.flow_attr.size = sizeof(cmd.spec[0].count);
	memset(cmd.spec, 0, sizeof(cmd.spec));
	cmd.spec[0].count.type = 0x1003;
	cmd.spec[0].count.size = sizeof(cmd.spec[0].count);
	cmd.spec[0].count.handle = 99;
	assert_int_equal(create_flow(&cmd), -EINVAL);
	handle = create_counters();
	assert_true(handle >= 0);
	/* Counters that are attached to no flow cannot be read. */
	assert_int_equal(read_counters(handle, values, sizeof(values), 0), -EINVAL);
	cmd.spec[0].count.handle = (u32)handle;
	flow = create_flow(&cmd);
	assert_true(flow >= 0);
	assert_int_equal(destroy_counters(handle), -EBUSY);
	assert_int_equal(read_counters(handle, values, sizeof(values), 2), -EINVAL);
	assert_int_equal(read_counters(handle, values, 7, 0), -EINVAL);
	assert_int_equal(read_counters(99, values, sizeof(values), 0), -ENOENT);
	assert_int_equal(read_counters(handle, values, sizeof(values), 1), 0);
	assert_int_equal(values[0] | values[1] | values[2], 0);
	assert_int_equal(destroy_flow((u32)flow), 0);
	assert_int_equal(destroy_counters(handle), 0);
	assert_int_equal(destroy_counters(handle), -ENOENT);
	assert_int_equal(destroy_counters(stage.cq), -EINVAL);
	while ((other = create_counters()) >= 0)
		;
	assert_int_equal(other, -ENOMEM);
}

/* ---------------------------------------------------------------------- rights */

static void set_effective(u32 set, u32 clear)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &hdr, data), 0);
	data[0].effective = (data[0].effective | set) & ~clear;
	assert_int_equal(syscall(SYS_capset, &hdr, data), 0);
}

/* Moves a QP to INIT with this Q_Key, by the plain or the extended command. */
static int give_qkey(u32 qp, u32 qkey, bool extended)
{
	struct ib_uverbs_ex_modify_qp cmd = {
		.base = { .qp_handle = qp,
			  .attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			  .qp_state = IBV_QPS_INIT,
			  .port_num = 1,
			  .qkey = qkey },
	};
	struct ib_uverbs_ex_modify_qp_resp resp;

	return extended ? EX(MODIFY_QP, &cmd, &resp) : PLAIN_IN(MODIFY_QP, &cmd.base);
}

static void rights(void **state)
{
	struct ib_uverbs_create_qp cmd;
	struct ib_uverbs_create_qp_resp resp;
	struct flow_command flow;
	u32 qp, ud;

	set_stage();
	ud = make_qp(IB_UVERBS_QPT_UD, stage.pd, stage.cq, -1);
	qp = make_qp(IB_UVERBS_QPT_RAW_PACKET, stage.pd, stage.cq, -1);
	flow = good_flow(qp);
	cmd = (struct ib_uverbs_create_qp){ .pd_handle = stage.pd,
					    .send_cq_handle = stage.cq,
					    .recv_cq_handle = stage.cq,
					    .qp_type = IB_UVERBS_QPT_RAW_PACKET };
	set_effective(0, 1u << CAP_NET_RAW);
	assert_int_equal(PLAIN(CREATE_QP, &cmd, &resp), -EPERM);
	assert_int_equal(create_flow(&flow), -EPERM);
	assert_int_equal(create_counters(), -EPERM);
	/* Only controlled Q_Keys need the capability. */
	assert_int_equal(give_qkey(ud, 0x80010000, false), -EPERM);
	assert_int_equal(give_qkey(ud, 0x80010000, true), -EPERM);
	assert_int_equal(give_qkey(ud, 0x7fffffff, false), 0);
	set_effective(1u << CAP_NET_RAW, 0);
	assert_true(create_flow(&flow) >= 0);
	assert_int_equal(give_qkey(ud, 0x80010000, true), 0);
	assert_int_equal(give_qkey(ud, 0x80010000, false), 0);
}

/* ------------------------------------------------------------------ moderation */

static void moderation(void **state)
{
	struct ib_uverbs_ex_modify_cq cmd = { .attr_mask = 1, .attr = { 10, 100 } };

	set_stage();
	cmd.cq_handle = stage.cq;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), 0);
	cmd.cq_handle = 99;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), -EINVAL);
	cmd.cq_handle = stage.pd;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), -EINVAL);
	cmd.cq_handle = stage.cq;
	cmd.attr_mask = 0;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), -EINVAL);
	cmd.attr_mask = 2;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), -EOPNOTSUPP);
	cmd.attr_mask = 1;
	cmd.reserved = 1;
	assert_int_equal(EX_IN(MODIFY_CQ, &cmd), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_queues),  TEST(work_queue_states), TEST(work_queues_exhausted),
		TEST(tables),       TEST(spreading),         TEST(flows),
		TEST(tagged_flows), TEST(counters),          TEST(rights),
		TEST(moderation),
	};

	/* Raw packets need CAP_NET_RAW. */
	if (geteuid()) {
		printf("SKIP: only root may have raw packets\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
