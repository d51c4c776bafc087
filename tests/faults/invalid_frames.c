// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid arguments to the verbs of raw packets: work queues, RSS, flows and counters. Raw
 * packet queue pairs, and so flows, need a privilege; the other objects do not.
 */
#include <assert.h>

#include "invalid.h"

static struct ibv_wq *make_wq(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_wq *wq = MADE(ibv_create_wq(pd->context, &attr));

	return wq;
}

static struct ibv_rwq_ind_table *make_table(struct ibv_wq **wqs, uint32_t log_size)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log_size, .ind_tbl = wqs };
	struct ibv_rwq_ind_table *table = MADE(ibv_create_rwq_ind_table(bench.context, &attr));

	return table;
}

/* ---------------------------------------------------------------- work queues */

static void new_work_queues(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_wq_init_attr, wq_type, 1, EINVAL),
		WRONG(struct ibv_wq_init_attr, max_wr, 0, EINVAL),
		WRONG(struct ibv_wq_init_attr, max_wr, UINT32_MAX, EINVAL),
		WRONG(struct ibv_wq_init_attr, max_sge, UINT32_MAX, EINVAL),
		WRONG(struct ibv_wq_init_attr, pd, 0, EINVAL),
		WRONG(struct ibv_wq_init_attr, cq, 0, EINVAL),
		WRONG(struct ibv_wq_init_attr, comp_mask, 1 << 9, EOPNOTSUPP),
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct ibv_wq_init_attr attr = {
			.max_wr = 1, .max_sge = 1, .pd = bench.pd, .cq = bench.cq
		};

		spoil(&attr, &wrong[i]);
		judge("create_wq", wrong[i].what, ERRNO_OF(ibv_create_wq(bench.context, &attr)),
		      wrong[i].want);
	}
}

static void changed_work_queues(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_wq_attr, attr_mask, 0, EINVAL),
		WRONG(struct ibv_wq_attr, attr_mask, 1 << 9, EINVAL),
		WRONG(struct ibv_wq_attr, wq_state, IBV_WQS_UNKNOWN, EINVAL),
		WRONG(struct ibv_wq_attr, wq_state, 1000, EINVAL),
		/* RESET to ERR is no valid transition. */
		WRONG(struct ibv_wq_attr, wq_state, IBV_WQS_ERR, EINVAL),
		WRONG(struct ibv_wq_attr, curr_wq_state, IBV_WQS_RDY, EINVAL),
		WRONG(struct ibv_wq_attr, attr_mask, IBV_WQ_ATTR_FLAGS, EOPNOTSUPP),
	};
	struct ibv_wq *wq = make_wq(bench.pd, bench.cq);
	struct ibv_wq_attr attr;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_STATE |
							  IBV_WQ_ATTR_CURR_STATE,
					     .wq_state = IBV_WQS_RDY,
					     .curr_wq_state = IBV_WQS_RESET };
		spoil(&attr, &wrong[i]);
		judge("modify_wq", wrong[i].what, ibv_modify_wq(wq, &attr), wrong[i].want);
	}
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	judge("modify_wq", "right", ibv_modify_wq(wq, &attr), 0);
	CHECK_EQ(ibv_destroy_wq(wq), 0);
}

/* Posts a receive with too many SGEs, and more receives than fit. */
static void posted_work(void)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge[32] = {
		{ .addr = (uintptr_t)bench.memory, .length = 8, .lkey = bench.mr->lkey }
	};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 32 }, *bad = NULL;
	struct ibv_wq *wq = make_wq(bench.pd, bench.cq);

	CHECK_EQ(ibv_modify_wq(wq, &ready), 0);
	judge("post_wq_recv", "num_sge", ibv_post_wq_recv(wq, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	wr.num_sge = 1;
	for (int i = 0; i < 4; i++)
		CHECK_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
	judge("post_wq_recv", "full", ibv_post_wq_recv(wq, &wr, &bad), ENOMEM);
	CHECK(bad == &wr);
	CHECK_EQ(ibv_destroy_wq(wq), 0);
}

/* --------------------------------------------------------------------- tables */

static void tables(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_rwq_ind_table_init_attr, log_ind_tbl_size, 31, EINVAL),
		WRONG(struct ibv_rwq_ind_table_init_attr, comp_mask, 1, EOPNOTSUPP),
	};
	struct ibv_cq *cq = ibv_create_cq(bench.context, 4, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(bench.context);
	struct ibv_rwq_ind_table_init_attr attr;
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wqs[2];

	CHECK(cq && pd);
	wqs[0] = wqs[1] = make_wq(pd, cq);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		attr = (struct ibv_rwq_ind_table_init_attr){ .log_ind_tbl_size = 1,
							     .ind_tbl = wqs };
		spoil(&attr, &wrong[i]);
		judge("create_rwq_ind_table", wrong[i].what,
		      ERRNO_OF(ibv_create_rwq_ind_table(bench.context, &attr)), wrong[i].want);
	}
	judge("destroy_cq", "of a work queue", ibv_destroy_cq(cq), EBUSY);
	judge("dealloc_pd", "of a work queue", ibv_dealloc_pd(pd), EBUSY);
	table = make_table(wqs, 1);
	judge("destroy_wq", "in a table", ibv_destroy_wq(wqs[0]), EBUSY);
	CHECK_EQ(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_EQ(ibv_destroy_wq(wqs[0]), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* ----------------------------------------------------- queue pairs that spread */

static struct ibv_qp_init_attr_ex spreading(struct ibv_rwq_ind_table *table, uint8_t *key)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = bench.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = 40,
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 |
							 IBV_RX_HASH_DST_IPV4 },
	};
}

static void spreading_pairs(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_qp_init_attr_ex, rx_hash_conf.rx_hash_function, 0, EOPNOTSUPP),
		WRONG(struct ibv_qp_init_attr_ex, rx_hash_conf.rx_hash_function, 9, EOPNOTSUPP),
		WRONG(struct ibv_qp_init_attr_ex, rx_hash_conf.rx_hash_key_len, 39, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, rx_hash_conf.rx_hash_key_len, 255, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, rx_hash_conf.rx_hash_fields_mask, 1ull << 60,
		      EOPNOTSUPP),
	};
	struct ibv_wq *wq = make_wq(bench.pd, bench.cq);
	struct ibv_rwq_ind_table *table = make_table(&wq, 0);
	uint8_t key[256] = { 1 };
	struct ibv_qp_init_attr_ex attr = spreading(table, key);
	struct ibv_qp *qp = ibv_create_qp_ex(bench.context, &attr);

	if (!qp) {
		judge("create_qp_ex", "by an ordinary user", errno, EPERM);
	} else {
		for (size_t i = 0; i < COUNT(wrong); i++) {
			attr = spreading(table, key);
			spoil(&attr, &wrong[i]);
			judge("create_qp_ex", wrong[i].what,
			      ERRNO_OF(ibv_create_qp_ex(bench.context, &attr)), wrong[i].want);
		}
		judge("destroy_rwq_ind_table", "with a queue pair",
		      ibv_destroy_rwq_ind_table(table), EBUSY);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	CHECK_EQ(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_EQ(ibv_destroy_wq(wq), 0);
}

/* ---------------------------------------------------------------------- flows */

/*
 * A flow for one destination address, with a counter action. The action is a byte array,
 * because it follows without padding.
 */
struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	uint8_t count[sizeof(struct ibv_flow_spec_counter_action)];
};
static_assert(offsetof(struct rule, count) ==
		      sizeof(struct ibv_flow_attr) + sizeof(struct ibv_flow_spec_eth),
	      "no gaps");

static struct rule rule_of(struct ibv_counters *counters)
{
	const struct ibv_flow_spec_counter_action count = { .type = IBV_FLOW_SPEC_ACTION_COUNT,
							    .size = sizeof(count),
							    .counters = counters };
	struct rule rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = counters ? sizeof(rule) : offsetof(struct rule, count),
			  .num_of_specs = counters ? 2 : 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH,
			 .size = sizeof(struct ibv_flow_spec_eth),
			 .val = { .dst_mac = { 2, 0, 0, 0, 0, 1 } },
			 .mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } } },
	};

	memcpy(rule.count, &count, sizeof(count));
	return rule;
}

static struct ibv_qp *make_raw(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = bench.cq,
					 .recv_cq = bench.cq,
					 .cap = { 4, 4, 1, 1, 0 } };

	return ibv_create_qp(bench.pd, &attr);
}

static void wrong_flows(struct ibv_qp *qp)
{
	static const struct wrong wrong[] = {
		WRONG(struct rule, attr.type, 9, EINVAL),
		WRONG(struct rule, attr.port, 0, EINVAL),
		WRONG(struct rule, attr.port, 2, EINVAL),
		WRONG(struct rule, attr.flags, 1u << 9, EINVAL),
		WRONG(struct rule, attr.flags, IBV_FLOW_ATTR_FLAGS_EGRESS, EOPNOTSUPP),
		WRONG(struct rule, attr.comp_mask, 1, EOPNOTSUPP),
		WRONG(struct rule, eth.size, 0, EINVAL),
		WRONG(struct rule, eth.type, 0x77, EINVAL),
	};
	struct rule rule;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		rule = rule_of(NULL);
		spoil(&rule, &wrong[i]);
		judge("create_flow", wrong[i].what, ERRNO_OF(ibv_create_flow(qp, &rule.attr)),
		      wrong[i].want);
	}
	rule = rule_of(NULL);
	judge("create_flow", "of another type of queue pair",
	      ERRNO_OF(ibv_create_flow(bench.other.qp, &rule.attr)), EINVAL);
}

struct tagged {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_action_tag tag[2];
};

static struct tagged tagged_of(unsigned int tags, uint32_t id)
{
	const struct ibv_flow_spec_action_tag tag = { .type = IBV_FLOW_SPEC_ACTION_TAG,
						      .size = sizeof(tag),
						      .tag_id = id };

	return (struct tagged){
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(struct tagged),
			  .num_of_specs = (uint8_t)tags,
			  .port = 1 },
		.tag = { tag, tag },
	};
}

static void tags(struct ibv_qp *qp)
{
	struct tagged rule = tagged_of(1, 0xffffff);
	struct ibv_flow *flow = MADE(ibv_create_flow(qp, &rule.attr));

	CHECK_EQ(ibv_destroy_flow(flow), 0);
	rule = tagged_of(1, 0x1000000);
	judge("create_flow", "a tag of more than 24 bits",
	      ERRNO_OF(ibv_create_flow(qp, &rule.attr)), EINVAL);
	rule = tagged_of(2, 1);
	judge("create_flow", "two tags", ERRNO_OF(ibv_create_flow(qp, &rule.attr)), EINVAL);
}

/* ------------------------------------------------------------------- counters */

static struct ibv_counters *make_counters(struct ibv_context *context)
{
	struct ibv_counters_init_attr init = { .comp_mask = 0 };
	struct ibv_counters *counters = MADE(ibv_create_counters(context, &init));

	return counters;
}

static void wrong_points(struct ibv_counters *counters)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_counter_attach_attr, counter_desc, 9, EOPNOTSUPP),
		WRONG(struct ibv_counter_attach_attr, comp_mask, 1, EOPNOTSUPP),
	};
	struct ibv_counters_init_attr init = { .comp_mask = 1 };
	struct ibv_counter_attach_attr attr;

	judge("create_counters", "comp_mask", ERRNO_OF(ibv_create_counters(bench.context, &init)),
	      EOPNOTSUPP);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		attr = (struct ibv_counter_attach_attr){ .counter_desc = IBV_COUNTER_PACKETS };
		spoil(&attr, &wrong[i]);
		judge("attach_counters_point_flow", wrong[i].what,
		      ibv_attach_counters_point_flow(counters, &attr, NULL), wrong[i].want);
	}
}

static void attach(struct ibv_counters *counters, uint32_t index, int want)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_PACKETS,
						.index = index };

	judge("attach_counters_point_flow", "right, or too late",
	      ibv_attach_counters_point_flow(counters, &attr, NULL), want);
}

/* Counters in use cannot be changed or destroyed, and counters without a flow cannot be read. */
static void counted_flows(struct ibv_qp *qp)
{
	struct ibv_counters *counters = make_counters(bench.context);
	struct ibv_counters *foreign = make_counters(bench.other.context);
	struct ibv_counter_attach_attr late = { .counter_desc = IBV_COUNTER_BYTES };
	struct rule rule = rule_of(foreign);
	struct ibv_flow *flow;
	uint64_t values[2];

	wrong_points(counters);
	attach(counters, 1, 0);
	judge("read_counters", "of no flow",
	      ibv_read_counters(counters, values, 2, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), EINVAL);
	judge("create_flow", "another context's counters",
	      ERRNO_OF(ibv_create_flow(qp, &rule.attr)), EINVAL);
	rule = rule_of(counters);
	flow = MADE(ibv_create_flow(qp, &rule.attr));
	judge("attach_counters_point_flow", "a flow that is",
	      ibv_attach_counters_point_flow(counters, &late, flow), EOPNOTSUPP);
	attach(counters, 0, EBUSY);
	judge("read_counters", "too few values", ibv_read_counters(counters, values, 1, 0), EINVAL);
	judge("read_counters", "unknown flags", ibv_read_counters(counters, values, 2, 1u << 9),
	      EINVAL);
	judge("read_counters", "right", ibv_read_counters(counters, values, 2, 0), 0);
	judge("destroy_counters", "of a flow", ibv_destroy_counters(counters), EBUSY);
	judge("destroy_qp", "with a flow", ibv_destroy_qp(qp), EBUSY);
	CHECK_EQ(ibv_destroy_flow(flow), 0);
	CHECK_EQ(ibv_destroy_counters(counters), 0);
	CHECK_EQ(ibv_destroy_counters(foreign), 0);
}

static void flows(void)
{
	struct rule rule = rule_of(NULL);
	struct ibv_qp *qp = make_raw();

	if (!qp) {
		judge("create_qp", "of raw packets, by an ordinary user", errno, EPERM);
		judge("create_flow", "by an ordinary user",
		      ERRNO_OF(ibv_create_flow(bench.other.qp, &rule.attr)), EPERM);
		return;
	}
	wrong_flows(qp);
	tags(qp);
	counted_flows(qp);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

void invalid_frames(void)
{
	new_work_queues();
	changed_work_queues();
	posted_work();
	look_around("work queues");
	tables();
	spreading_pairs();
	look_around("indirection tables");
	flows();
	look_around("flows and counters");
}
