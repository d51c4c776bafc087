// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid arguments to the verbs that create and modify queue pairs.
 */
#define _GNU_SOURCE
#include "invalid.h"

/* -------------------------------------------------------------------- making */

static struct ibv_qp_init_attr_ex good_attr(void)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RC,
		.send_cq = bench.cq,
		.recv_cq = bench.cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = bench.pd,
	};
}

static void check_makings(const struct wrong *wrong, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ibv_qp_init_attr_ex attr = good_attr();

		spoil(&attr, &wrong[i]);
		judge("create_qp_ex", wrong[i].what,
		      ERRNO_OF(ibv_create_qp_ex(bench.context, &attr)), wrong[i].want);
		/* ibv_create_qp() has no comp_mask. */
		if (attr.comp_mask != IBV_QP_INIT_ATTR_PD || !attr.pd)
			continue;
		judge("create_qp", wrong[i].what,
		      ERRNO_OF(ibv_create_qp(attr.pd, (struct ibv_qp_init_attr *)&attr)),
		      wrong[i].want);
	}
}

static void capacities(void)
{
	const struct ibv_device_attr *limits = &bench.limits;
	const struct wrong wrong[] = {
		WRONG(struct ibv_qp_init_attr_ex, cap.max_send_wr, limits->max_qp_wr + 1, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_recv_wr, limits->max_qp_wr + 1, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_send_sge, limits->max_sge + 1, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_recv_sge, limits->max_sge + 1, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_inline_data, 1 << 20, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_send_wr, UINT32_MAX, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_recv_wr, UINT32_MAX, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_send_sge, UINT32_MAX, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_recv_sge, UINT32_MAX, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, cap.max_inline_data, UINT32_MAX, EINVAL),
	};

	check_makings(wrong, COUNT(wrong));
}

static void kinds(void)
{
	static const struct wrong wrong[] = {
		WRONG(struct ibv_qp_init_attr_ex, qp_type, 0, EOPNOTSUPP),
		WRONG(struct ibv_qp_init_attr_ex, qp_type, 77, EOPNOTSUPP),
		WRONG_EARLY(struct ibv_qp_init_attr_ex, qp_type, IBV_QPT_XRC_RECV, EINVAL,
			    EOPNOTSUPP),
		WRONG(struct ibv_qp_init_attr_ex, qp_type, IBV_QPT_DRIVER, EOPNOTSUPP),
	};

	check_makings(wrong, COUNT(wrong));
}

static void parts(void)
{
	const struct wrong wrong[] = {
		WRONG(struct ibv_qp_init_attr_ex, send_cq, 0, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, recv_cq, 0, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, send_cq, (uintptr_t)bench.other.cq, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, recv_cq, (uintptr_t)bench.other.cq, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, srq, (uintptr_t)bench.other.srq, EINVAL),
		WRONG(struct ibv_qp_init_attr_ex, pd, (uintptr_t)bench.other.pd, EINVAL),
	};
	struct ibv_qp_init_attr_ex attr = good_attr();

	check_makings(wrong, COUNT(wrong));
	/* ibv_create_qp(3): UC queue pairs cannot have an SRQ. */
	attr.qp_type = IBV_QPT_UC;
	attr.srq = bench.srq;
	judge("create_qp", "UC with an SRQ", ERRNO_OF(ibv_create_qp_ex(bench.context, &attr)),
	      EINVAL);
}

/* comp_mask with bits, or with members, that are not supported. */
static void extensions(void)
{
	static const struct {
		const char *what;
		uint32_t comp_mask;
		uint32_t create_flags;
		uint64_t send_ops;
		int want;
	} cases[] = {
		{ "no PD", 0, 0, 0, EINVAL },
		{ "unknown comp_mask", IBV_QP_INIT_ATTR_PD | 1u << 31, 0, 0, EOPNOTSUPP },
		{ "TSO header", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0, 0,
		  EOPNOTSUPP },
		{ "table", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE, 0, 0, EOPNOTSUPP },
		{ "hash", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH, 0, 0, EOPNOTSUPP },
		{ "scatter FCS", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_SCATTER_FCS, 0, EOPNOTSUPP },
		{ "source QPN", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_SOURCE_QPN, 0, EOPNOTSUPP },
		{ "unknown flags", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 1u << 31, 0,
		  EOPNOTSUPP },
		{ "TSO", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0,
		  IBV_QP_EX_WITH_TSO, EOPNOTSUPP },
		{ "unknown operation", IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0,
		  1ull << 40, EOPNOTSUPP },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ibv_qp_init_attr_ex attr = good_attr();

		attr.comp_mask = cases[i].comp_mask;
		attr.create_flags = cases[i].create_flags;
		attr.send_ops_flags = cases[i].send_ops;
		judge("create_qp_ex", cases[i].what,
		      ERRNO_OF(ibv_create_qp_ex(bench.context, &attr)), cases[i].want);
	}
}

/* Operations that a type of queue pair does not have. */
static void operations(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t operation;
	} cases[] = {
		{ IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_LOCAL_INV },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_INV },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ibv_qp_init_attr_ex attr = good_attr();

		attr.qp_type = cases[i].type;
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = cases[i].operation;
		judge("create_qp_ex", "operation that the type lacks",
		      ERRNO_OF(ibv_create_qp_ex(bench.context, &attr)), EOPNOTSUPP);
	}
}

void invalid_qps(void)
{
	capacities();
	kinds();
	parts();
	look_around("create_qp");
	extensions();
	operations();
	look_around("create_qp_ex");
}

/* ------------------------------------------------------------------ changing */

static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

#define INIT_COMMON (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_COMMON (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define PATH (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define RC_RTR (RTR_COMMON | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS                                                                                     \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
	 IBV_QP_MAX_QP_RD_ATOMIC)
#define RC_SQD                                                                                     \
	(IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |          \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |               \
	 IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)
#define UC_SQD (IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE)

/* IB vol 1, 11.2.5.2: required and optional attributes of a transition. */
struct transition {
	enum ibv_qp_state from, to;
	struct {
		int required, optional;
	} type[3];
};

static const struct transition transitions[] = {
	{ IBV_QPS_RESET,
	  IBV_QPS_INIT,
	  { { INIT_COMMON | IBV_QP_ACCESS_FLAGS, 0 },
	    { INIT_COMMON | IBV_QP_ACCESS_FLAGS, 0 },
	    { INIT_COMMON | IBV_QP_QKEY, 0 } } },
	{ IBV_QPS_INIT,
	  IBV_QPS_INIT,
	  { { 0, INIT_COMMON | IBV_QP_ACCESS_FLAGS },
	    { 0, INIT_COMMON | IBV_QP_ACCESS_FLAGS },
	    { 0, INIT_COMMON | IBV_QP_QKEY } } },
	{ IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  { { RC_RTR, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	    { RTR_COMMON, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	    { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } } },
	{ IBV_QPS_RTR,
	  IBV_QPS_RTS,
	  { { RC_RTS, PATH | IBV_QP_MIN_RNR_TIMER },
	    { IBV_QP_SQ_PSN, PATH },
	    { IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY } } },
	{ IBV_QPS_RTS,
	  IBV_QPS_RTS,
	  { { 0, PATH | IBV_QP_MIN_RNR_TIMER },
	    { 0, PATH },
	    { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY } } },
	{ IBV_QPS_RTS,
	  IBV_QPS_SQD,
	  { { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	    { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	    { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY } } },
	{ IBV_QPS_SQD,
	  IBV_QPS_RTS,
	  { { 0, PATH | IBV_QP_MIN_RNR_TIMER },
	    { 0, PATH },
	    { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY } } },
	{ IBV_QPS_SQD,
	  IBV_QPS_SQD,
	  { { 0, RC_SQD }, { 0, UC_SQD }, { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } } },
	/* RC queue pairs are never in SQE. */
	{ IBV_QPS_SQE,
	  IBV_QPS_RTS,
	  { { 0, 0 },
	    { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS },
	    { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY } } },
};

/* Number of attribute mask bits of struct ibv_qp_attr. */
#define ATTRIBUTES 26

static struct side qp_side;

/* Attribute values that are valid for all transitions. */
static struct ibv_qp_attr good_values(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.port_num = 1,
		.qkey = SIDE_QKEY,
		.qp_access_flags = SIDE_ACCESS,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp_side.qp->qp_num,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = bench.gid } },
	};
}

static const struct transition *find_transition(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < COUNT(transitions); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

/* In RTS: posts a send with an invalid lkey, which fails. */
static void fail_a_send(void)
{
	struct ibv_sge sge = side_sge(&qp_side, 0, 8);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_ah_attr attr = good_values(IBV_QPS_RTR, IBV_QPS_RTS).ah_attr;
	struct ibv_ah *ah = MADE(ibv_create_ah(qp_side.pd, &attr));

	sge.lkey += 1u << 8;
	if (qp_side.wish.type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qp_side.qp->qp_num;
		wr.wr.ud.remote_qkey = SIDE_QKEY;
	}
	CHECK_EQ(ibv_post_send(qp_side.qp, &wr, &bad), 0);
	CHECK_EQ(cq_wait(qp_side.cq).status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void reach(enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						 IBV_QPS_RTS, IBV_QPS_SQD };
	struct ibv_qp_attr attr = { .qp_state = state == IBV_QPS_ERR ? IBV_QPS_ERR :
								       IBV_QPS_RESET };
	size_t type = qp_side.wish.type == IBV_QPT_RC ? 0 : qp_side.wish.type == IBV_QPT_UC ? 1 : 2;

	if (state == IBV_QPS_SQE) {
		reach(IBV_QPS_RTS);
		fail_a_send();
		CHECK_EQ(side_state(&qp_side), state);
		return;
	}
	if (state == IBV_QPS_ERR)
		reach(IBV_QPS_INIT);
	CHECK_EQ(ibv_modify_qp(qp_side.qp, &attr, IBV_QP_STATE), 0);
	for (size_t i = 1; attr.qp_state != state; i++) {
		int mask = find_transition(way[i - 1], way[i])->type[type].required;

		attr = good_values(way[i - 1], way[i]);
		CHECK_EQ(ibv_modify_qp(qp_side.qp, &attr, mask | IBV_QP_STATE), 0);
	}
	CHECK_EQ(side_state(&qp_side), state);
}

static bool same_bytes(const void *a, const void *b, size_t length)
{
	return !memcmp(a, b, length);
}

/* Checks that ibv_modify_qp() refuses the change, and that no attribute changes. */
static void check_refused(const char *what, struct ibv_qp_attr *attr, int mask, int want)
{
	struct ibv_qp_attr before, after;
	struct ibv_qp_init_attr init;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	CHECK_EQ(ibv_query_qp(qp_side.qp, &before, 0, &init), 0);
	judge("modify_qp", what, ibv_modify_qp(qp_side.qp, attr, mask), want);
	CHECK_EQ(ibv_query_qp(qp_side.qp, &after, 0, &init), 0);
	if (!same_bytes(&before, &after, sizeof(before)))
		FAIL("modify_qp, %s: it was refused, and changed something", what);
	CHECK_EQ(qp_side.qp->state, before.qp_state);
}

/* errno for an attribute that is not allowed: bits above 20 are unknown, except the rate limit. */
static int refusal_of(int bit)
{
	if (1 << bit == IBV_QP_RATE_LIMIT)
		return EINVAL;
	return bit > 20 ? EOPNOTSUPP : EINVAL;
}

/* Omits each required attribute, and adds each attribute that is not allowed, one at a time. */
static void check_attributes(const struct transition *t, size_t type)
{
	int required = t->type[type].required, known = required | t->type[type].optional;
	struct ibv_qp_attr attr = good_values(t->from, t->to);
	char what[100];

	for (int bit = 1; bit < ATTRIBUTES; bit++) {
		int mask = (required | IBV_QP_STATE) ^ 1 << bit;

		if (known & ~required & 1 << bit)
			continue;
		snprintf(what, sizeof(what), "%d to %d, type %d, attribute 1 << %d %s",
			 (int)t->from, (int)t->to, types[type], bit,
			 required & 1 << bit ? "missing" : "extra");
		check_refused(what, &attr, mask, refusal_of(bit));
	}
}

/* Attributes without IBV_QP_STATE: as in a transition from the present state to itself. */
static void check_attributes_alone(enum ibv_qp_state state, size_t type)
{
	const struct transition *t = find_transition(state, state);
	int known = t ? t->type[type].optional : 0;
	struct ibv_qp_attr attr = good_values(state, state);
	char what[100];

	for (int bit = 1; bit < ATTRIBUTES; bit++) {
		if (known & 1 << bit)
			continue;
		snprintf(what, sizeof(what), "in state %d, type %d, attribute 1 << %d alone",
			 (int)state, types[type], bit);
		check_refused(what, &attr, 1 << bit, refusal_of(bit));
	}
}

static bool is_always_there(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET);
}

static void check_transitions_from(enum ibv_qp_state from, size_t type)
{
	const struct transition *t;
	struct ibv_qp_attr attr;
	char what[100];

	reach(from);
	for (enum ibv_qp_state to = IBV_QPS_RESET; to <= IBV_QPS_ERR + 1; to++) {
		t = find_transition(from, to);
		attr = good_values(from, to);
		snprintf(what, sizeof(what), "%d to %d, type %d", (int)from, (int)to, types[type]);
		if (t)
			check_attributes(t, type);
		else if (is_always_there(from, to))
			check_refused(what, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX, EINVAL);
		else
			check_refused(what, &attr, IBV_QP_STATE, EINVAL);
	}
	check_attributes_alone(from, type);
	/* IBV_QP_CUR_STATE with another state than the present one. */
	attr = good_values(from == IBV_QPS_RTS ? IBV_QPS_SQD : IBV_QPS_RTS, IBV_QPS_RTS);
	check_refused("another present state", &attr, IBV_QP_STATE | IBV_QP_CUR_STATE, EINVAL);
}

static void change_states(void)
{
	static const enum ibv_qp_state from[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						  IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR,
						  IBV_QPS_SQE };

	for (size_t type = 0; type < COUNT(types); type++) {
		side_open(&qp_side, &(struct wish){ .context = bench.context,
						    .type = (enum ibv_qp_type)types[type] });
		for (size_t i = 0; i < COUNT(from); i++)
			if (from[i] != IBV_QPS_SQE || types[type] != IBV_QPT_RC)
				check_transitions_from(from[i], type);
		side_close(&qp_side);
	}
}

struct value {
	enum ibv_qp_state from, to;
	/* Mask bit of the attribute. Types of queue pair without this attribute are left out. */
	int bit;
	struct wrong wrong;
};

#define VALUE(_from, _to, _bit, _member, _value)                                                   \
	{                                                                                          \
		IBV_QPS_##_from, IBV_QPS_##_to, IBV_QP_##_bit,                                     \
			WRONG(struct ibv_qp_attr, _member, _value, EINVAL)                         \
	}

static void check_value(const struct value *v, size_t type)
{
	const struct transition *t = find_transition(v->from, v->to);
	struct ibv_qp_attr attr = good_values(v->from, v->to);
	int mask = IBV_QP_STATE | t->type[type].required;

	if (v->from == IBV_QPS_SQD)
		mask |= t->type[type].optional;
	if (!(mask & v->bit))
		return;
	reach(v->from);
	spoil(&attr, &v->wrong);
	check_refused(v->wrong.what, &attr, mask, v->wrong.want);
}

static void change_values(void)
{
	static const struct value values[] = {
		VALUE(RESET, INIT, PORT, port_num, 0),
		VALUE(RESET, INIT, PORT, port_num, 2),
		VALUE(RESET, INIT, PKEY_INDEX, pkey_index, 1),
		VALUE(RESET, INIT, PKEY_INDEX, pkey_index, 0xffff),
		VALUE(RESET, INIT, ACCESS_FLAGS, qp_access_flags, 1 << 12),
		VALUE(RESET, INIT, ACCESS_FLAGS, qp_access_flags, 1u << 31),
		VALUE(INIT, RTR, PATH_MTU, path_mtu, 0),
		VALUE(INIT, RTR, PATH_MTU, path_mtu, IBV_MTU_4096 + 1),
		VALUE(INIT, RTR, PATH_MTU, path_mtu, 256 + IBV_MTU_4096),
		VALUE(INIT, RTR, DEST_QPN, dest_qp_num, 1 << 24),
		VALUE(INIT, RTR, DEST_QPN, dest_qp_num, UINT32_MAX),
		VALUE(INIT, RTR, MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 17),
		VALUE(INIT, RTR, MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 255),
		VALUE(INIT, RTR, MIN_RNR_TIMER, min_rnr_timer, 32),
		VALUE(INIT, RTR, AV, ah_attr.is_global, 0),
		VALUE(INIT, RTR, AV, ah_attr.port_num, 0),
		VALUE(INIT, RTR, AV, ah_attr.port_num, 2),
		VALUE(INIT, RTR, AV, ah_attr.grh.sgid_index, 200),
		VALUE(INIT, RTR, AV, ah_attr.sl, 16),
		VALUE(RTR, RTS, TIMEOUT, timeout, 32),
		VALUE(RTR, RTS, RETRY_CNT, retry_cnt, 8),
		VALUE(RTR, RTS, RNR_RETRY, rnr_retry, 8),
		VALUE(RTR, RTS, MAX_QP_RD_ATOMIC, max_rd_atomic, 17),
		VALUE(RTR, RTS, MAX_QP_RD_ATOMIC, max_rd_atomic, 255),
		VALUE(RTS, RTS, STATE, qp_state, 256 + IBV_QPS_RTS),
		VALUE(SQD, SQD, PORT, port_num, 2),
		VALUE(SQD, SQD, PATH_MIG_STATE, path_mig_state, 256),
		VALUE(SQD, SQD, PATH_MIG_STATE, path_mig_state, IBV_MIG_ARMED),
		VALUE(SQD, SQD, TIMEOUT, timeout, 255),
		VALUE(SQD, SQD, AV, ah_attr.grh.sgid_index, 200),
	};

	for (size_t type = 0; type < COUNT(types); type++) {
		side_open(&qp_side, &(struct wish){ .context = bench.context,
						    .type = (enum ibv_qp_type)types[type] });
		for (size_t i = 0; i < COUNT(values); i++)
			check_value(&values[i], type);
		side_close(&qp_side);
	}
}

/* A PSN has 24 bits; the upper 8 bits of the attribute are ignored. */
static void packet_numbers(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	side_open(&qp_side, &(struct wish){ .context = bench.context });
	attr = good_values(IBV_QPS_INIT, IBV_QPS_RTR);
	attr.rq_psn = 0xfe123456;
	CHECK_EQ(ibv_modify_qp(qp_side.qp, &attr, IBV_QP_STATE | RC_RTR), 0);
	attr = good_values(IBV_QPS_RTR, IBV_QPS_RTS);
	attr.sq_psn = 0xff654321;
	CHECK_EQ(ibv_modify_qp(qp_side.qp, &attr, IBV_QP_STATE | RC_RTS), 0);
	CHECK_EQ(ibv_query_qp(qp_side.qp, &attr, 0, &init), 0);
	judge("modify_qp", "rq_psn", (int)attr.rq_psn, 0x123456);
	judge("modify_qp", "sq_psn", (int)attr.sq_psn, 0x654321);
	side_close(&qp_side);
}

void invalid_changes(void)
{
	change_states();
	look_around("modify_qp, from state to state");
	change_values();
	packet_numbers();
	look_around("modify_qp, values");
}
