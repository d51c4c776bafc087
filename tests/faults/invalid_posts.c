// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid work requests: posted alone, in lists, and by the ibv_wr_*() builders. In a list, the
 * requests before the invalid one are executed, and those behind it are not.
 */
#define _GNU_SOURCE
#include "invalid.h"

#define DEPTH 16
#define INLINE 64

static struct side pair[2];
static struct ibv_ah *ah;

static void open_pair(enum ibv_qp_type type, bool srq)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = bench.gid } };

	pair_open(pair, &(struct wish){ .context = bench.context,
					.type = type,
					.depth = DEPTH,
					.sge = 2,
					.max_inline = INLINE,
					.srq = srq });
	ah = MADE(ibv_create_ah(pair[0].pd, &attr));
}

static void close_pair(void)
{
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	pair_close(pair);
}

/* ------------------------------------------------------------------- sending */

/* More SGEs than any request here claims to have. */
static struct ibv_sge sges[64];

/* A valid request without data for this type of queue pair. */
static struct ibv_send_wr good_wr(enum ibv_qp_type type, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sges,
		.opcode = type == IBV_QPT_UD ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = pair[1].qp->qp_num;
		wr.wr.ud.remote_qkey = SIDE_QKEY;
	} else {
		wr.wr.rdma.remote_addr = pair[0].peer.addr;
		wr.wr.rdma.rkey = pair[0].peer.rkey;
	}
	return wr;
}

/* Posts the invalid request in the middle of a list: the first is executed, the last is not. */
static void check_in_list(enum ibv_qp_type type, const struct wrong *wrong, uint32_t sge_length)
{
	struct ibv_send_wr list[3], *bad = NULL;

	for (size_t i = 0; i < COUNT(sges); i++)
		sges[i] = side_sge(&pair[0], 8 * i, sge_length);
	for (uint64_t i = 0; i < 3; i++)
		list[i] = good_wr(type, i);
	list[0].next = &list[1];
	list[1].next = &list[2];
	spoil(&list[1], wrong);
	if (sge_length > 8)
		list[1].num_sge = 1;
	judge("post_send", wrong->what, ibv_post_send(pair[0].qp, list, &bad), wrong->want);
	CHECK(bad == &list[1]);
	(void)side_expect(&pair[0], 0, IBV_WC_SUCCESS);
	side_expect_silence(&pair[0], 200000);
	CHECK_EQ(side_state(&pair[0]), IBV_QPS_RTS);
}

#define BAD_SEND(_member, _value) WRONG(struct ibv_send_wr, _member, _value, EINVAL)

static const struct wrong wrong_always[] = {
	BAD_SEND(opcode, IBV_WR_TSO),   BAD_SEND(opcode, IBV_WR_DRIVER1),
	BAD_SEND(opcode, 32),           BAD_SEND(opcode, UINT32_MAX),
	BAD_SEND(num_sge, 33),          BAD_SEND(num_sge, -1),
	BAD_SEND(num_sge, INT32_MIN),   BAD_SEND(send_flags, IBV_SEND_IP_CSUM),
	BAD_SEND(send_flags, 1u << 31),
};

static const struct wrong wrong_uc[] = {
	BAD_SEND(opcode, IBV_WR_RDMA_READ),
	BAD_SEND(opcode, IBV_WR_ATOMIC_CMP_AND_SWP),
	BAD_SEND(opcode, IBV_WR_ATOMIC_FETCH_AND_ADD),
};

static const struct wrong wrong_ud[] = {
	BAD_SEND(opcode, IBV_WR_RDMA_WRITE),
	BAD_SEND(opcode, IBV_WR_RDMA_WRITE_WITH_IMM),
	BAD_SEND(opcode, IBV_WR_RDMA_READ),
	BAD_SEND(opcode, IBV_WR_ATOMIC_CMP_AND_SWP),
	BAD_SEND(opcode, IBV_WR_ATOMIC_FETCH_AND_ADD),
	BAD_SEND(opcode, IBV_WR_LOCAL_INV),
	BAD_SEND(opcode, IBV_WR_BIND_MW),
	BAD_SEND(opcode, IBV_WR_SEND_WITH_INV),
	BAD_SEND(wr.ud.ah, 0),
};

static void check_type(enum ibv_qp_type type, const struct wrong *own, size_t count)
{
	static const struct wrong long_inline =
		BAD_SEND(send_flags, IBV_SEND_SIGNALED | IBV_SEND_INLINE);

	open_pair(type, false);
	for (size_t i = 0; i < COUNT(wrong_always); i++)
		check_in_list(type, &wrong_always[i], 8);
	for (size_t i = 0; i < count; i++)
		check_in_list(type, &own[i], 8);
	check_in_list(type, &long_inline, 4096);
	check_in_list(type, &long_inline, UINT32_MAX);
	close_pair();
}

/* Two lengths whose 32-bit sum is small. */
static void inline_sum(void)
{
	struct ibv_send_wr wr = good_wr(IBV_QPT_RC, 0), *bad;

	sges[0].length = 8;
	sges[1].length = UINT32_MAX - 3;
	wr.num_sge = 2;
	wr.send_flags |= IBV_SEND_INLINE;
	judge("post_send", "inline lengths that wrap", ibv_post_send(pair[0].qp, &wr, &bad),
	      EINVAL);
	sges[1].length = 8;
}

/* Opcodes that have no inline data. */
static void inline_opcodes(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV,
						      IBV_WR_BIND_MW };
	struct ibv_mw *mw = MADE(ibv_alloc_mw(pair[0].pd, IBV_MW_TYPE_2));
	struct ibv_send_wr wr, *bad;

	for (size_t i = 0; i < COUNT(opcodes); i++) {
		wr = good_wr(IBV_QPT_RC, 0);
		wr.opcode = opcodes[i];
		wr.num_sge = 1;
		wr.send_flags |= IBV_SEND_INLINE;
		if (opcodes[i] == IBV_WR_BIND_MW)
			wr.bind_mw.mw = mw;
		judge("post_send", "inline without data", ibv_post_send(pair[0].qp, &wr, &bad),
		      EINVAL);
		CHECK(bad == &wr);
	}
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

static void binds(void)
{
	struct ibv_mw *mw = MADE(ibv_alloc_mw(pair[0].pd, IBV_MW_TYPE_2));
	struct ibv_send_wr wr = good_wr(IBV_QPT_RC, 0), *bad;

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = NULL;
	judge("post_send", "bind of no window", ibv_post_send(pair[0].qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.length = 64;
	wr.bind_mw.bind_info.mr = NULL;
	judge("post_send", "bind to no region", ibv_post_send(pair[0].qp, &wr, &bad), EINVAL);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

static void early_states(void)
{
	struct ibv_send_wr wr = good_wr(IBV_QPT_RC, 0), *bad = NULL;
	struct address peer = pair[0].peer;

	side_to_reset(&pair[0]);
	judge("post_send", "in RESET", ibv_post_send(pair[0].qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	side_to_init(&pair[0]);
	judge("post_send", "in INIT", ibv_post_send(pair[0].qp, &wr, &bad), EINVAL);
	side_to_rtr(&pair[0], &peer);
	judge("post_send", "in RTR", ibv_post_send(pair[0].qp, &wr, &bad), EINVAL);
	side_to_rts(&pair[0]);
	side_expect_silence(&pair[0], 1000000);
}

/* Posts more requests than fit, in SQD. */
static void full_send_queue(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_send_wr list[DEPTH + 2], *bad = NULL;
	struct ibv_qp_init_attr init;

	CHECK_EQ(ibv_query_qp(pair[0].qp, &attr, IBV_QP_CAP, &init), 0);
	CHECK_EQ(init.cap.max_send_wr, DEPTH);
	attr.qp_state = IBV_QPS_SQD;
	CHECK_EQ(ibv_modify_qp(pair[0].qp, &attr, IBV_QP_STATE), 0);
	for (uint64_t i = 0; i < COUNT(list); i++) {
		list[i] = good_wr(IBV_QPT_RC, i);
		list[i].next = i + 1 < COUNT(list) ? &list[i + 1] : NULL;
	}
	judge("post_send", "full", ibv_post_send(pair[0].qp, list, &bad), ENOMEM);
	CHECK(bad == &list[DEPTH]);
	judge("post_send", "still full", ibv_post_send(pair[0].qp, bad, &bad), ENOMEM);
	CHECK(bad == &list[DEPTH]);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(pair[0].qp, &attr, IBV_QP_STATE), 0);
	for (uint64_t i = 0; i < DEPTH; i++)
		(void)side_expect(&pair[0], i, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_post_send(pair[0].qp, bad, &bad), 0);
	(void)side_expect(&pair[0], DEPTH, IBV_WC_SUCCESS);
	(void)side_expect(&pair[0], DEPTH + 1, IBV_WC_SUCCESS);
}

/* ----------------------------------------------------------------- receiving */

static int post_receives(struct ibv_recv_wr *list, struct ibv_recv_wr **bad)
{
	return pair[0].srq ? ibv_post_srq_recv(pair[0].srq, list, bad) :
			     ibv_post_recv(pair[0].qp, list, bad);
}

static void receive_lists(void)
{
	static const int counts[] = { 33, -1, INT32_MIN, INT32_MAX };
	const char *verb = pair[0].srq ? "post_srq_recv" : "post_recv";
	struct ibv_recv_wr list[3] = { { .wr_id = 0 } }, *bad = NULL;

	list[0].next = &list[1];
	list[1].next = &list[2];
	for (size_t i = 0; i < COUNT(counts); i++) {
		list[1].num_sge = counts[i];
		list[1].sg_list = sges;
		judge(verb, "number of SGEs", post_receives(list, &bad), EINVAL);
		CHECK(bad == &list[1]);
	}
	/* Only the receives before the invalid ones were posted. */
	for (size_t i = 0; i < COUNT(counts); i++) {
		side_post(&pair[1], IBV_WR_SEND, i, 0, 0);
		(void)side_expect(&pair[1], i, IBV_WC_SUCCESS);
		(void)side_expect(&pair[0], 0, IBV_WC_SUCCESS);
	}
	side_expect_silence(&pair[0], 200000);
}

static void full_receive_queue(void)
{
	const char *verb = pair[0].srq ? "post_srq_recv" : "post_recv";
	struct ibv_recv_wr list[DEPTH + 2] = { { .wr_id = 0 } }, *bad = NULL;

	for (uint64_t i = 0; i < COUNT(list); i++)
		list[i] = (struct ibv_recv_wr){
			.wr_id = i,
			.next = i + 1 < COUNT(list) ? &list[i + 1] : NULL,
		};
	judge(verb, "full", post_receives(list, &bad), ENOMEM);
	CHECK(bad == &list[DEPTH]);
	for (uint64_t i = 0; i < DEPTH; i++) {
		side_post(&pair[1], IBV_WR_SEND, i, 0, 0);
		(void)side_expect(&pair[1], i, IBV_WC_SUCCESS);
		(void)side_expect(&pair[0], i, IBV_WC_SUCCESS);
	}
}

static void receive_states(void)
{
	struct ibv_recv_wr wr = { .wr_id = 0 }, *bad = NULL;
	struct address peer = pair[0].peer;

	side_to_reset(&pair[0]);
	judge("post_recv", "in RESET", ibv_post_recv(pair[0].qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	side_to_init(&pair[0]);
	side_connect(&pair[0], &peer);
}

static void receives(void)
{
	struct ibv_recv_wr wr = { .wr_id = 0 }, *bad = NULL;

	open_pair(IBV_QPT_RC, false);
	receive_lists();
	full_receive_queue();
	receive_states();
	close_pair();

	open_pair(IBV_QPT_RC, true);
	receive_lists();
	full_receive_queue();
	judge("post_recv", "with an SRQ", ibv_post_recv(pair[0].qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	close_pair();
}

void invalid_posts(void)
{
	check_type(IBV_QPT_RC, NULL, 0);
	check_type(IBV_QPT_UC, wrong_uc, COUNT(wrong_uc));
	check_type(IBV_QPT_UD, wrong_ud, COUNT(wrong_ud));
	open_pair(IBV_QPT_RC, false);
	inline_sum();
	inline_opcodes();
	binds();
	full_send_queue();
	early_states();
	close_pair();
	look_around("post_send");
	receives();
	look_around("post_recv");
}

/* ------------------------------------------------------------------ builders */

static struct ibv_qp_ex *qpx;
static struct ibv_mw *window;

static void write_well(void)
{
	ibv_wr_rdma_write(qpx, pair[0].peer.rkey, pair[0].peer.addr);
}

static void unknown_flags(void)
{
	qpx->wr_flags = IBV_SEND_SIGNALED | 1u << 31;
	write_well();
	qpx->wr_flags = IBV_SEND_SIGNALED;
}

static void too_many_sges(void)
{
	write_well();
	ibv_wr_set_sge_list(qpx, 33, sges);
}

static void long_inline(void)
{
	write_well();
	ibv_wr_set_inline_data(qpx, pair[0].buffer, 4096);
}

static void inline_list_that_wraps(void)
{
	const struct ibv_data_buf bufs[] = { { pair[0].buffer, 8 },
					     { pair[0].buffer, SIZE_MAX - 3 } };

	write_well();
	ibv_wr_set_inline_data_list(qpx, 2, bufs);
}

static void inline_read(void)
{
	ibv_wr_rdma_read(qpx, pair[0].peer.rkey, pair[0].peer.addr);
	ibv_wr_set_inline_data(qpx, pair[0].buffer, 8);
}

static void bind_of_type_1(void)
{
	const struct ibv_mw_bind_info info = { pair[0].mr, (uintptr_t)pair[0].buffer, 64, 0 };

	ibv_wr_bind_mw(qpx, window, window->rkey, &info);
}

static void too_many_requests(void)
{
	for (int i = 0; i <= DEPTH; i++)
		write_well();
}

static const struct {
	const char *what;
	void (*build)(void);
	int want;
} batches[] = {
	{ "unknown flags", unknown_flags, EINVAL },
	{ "too many SGEs", too_many_sges, EINVAL },
	{ "inline too long", long_inline, EINVAL },
	{ "inline lengths that wrap", inline_list_that_wraps, EINVAL },
	{ "inline read", inline_read, EINVAL },
	{ "bind of a type 1 window", bind_of_type_1, EINVAL },
	{ "more than fit", too_many_requests, ENOMEM },
};

/* The whole batch is refused, and the next batch works. */
static void check_batch(const char *what, void (*build)(void), int want)
{
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	qpx->wr_id = 1;
	write_well();
	build();
	write_well();
	judge("wr_complete", what, ibv_wr_complete(qpx), want);
	side_expect_silence(&pair[0], 200000);

	ibv_wr_start(qpx);
	qpx->wr_id = 2;
	write_well();
	CHECK_EQ(ibv_wr_complete(qpx), 0);
	(void)side_expect(&pair[0], 2, IBV_WC_SUCCESS);
}

/* Replaces the side's queue pair by one that can be used as struct ibv_qp_ex, too. */
static void open_extended(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.cap = { DEPTH, DEPTH, 2, 2, INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct address a[2];

	open_pair(type, false);
	CHECK_EQ(ibv_destroy_qp(pair[0].qp), 0);
	attr.pd = pair[0].pd;
	attr.send_cq = pair[0].cq;
	attr.recv_cq = pair[0].cq;
	pair[0].qp = MADE(ibv_create_qp_ex(bench.context, &attr));
	qpx = MADE(ibv_qp_to_qp_ex(pair[0].qp));
	side_to_init(&pair[0]);
	for (int i = 0; i < 2; i++)
		a[i] = side_address(&pair[i]);
	side_to_reset(&pair[1]);
	side_to_init(&pair[1]);
	for (int i = 0; i < 2; i++)
		side_connect(&pair[i], &a[1 - i]);
}

static void aborted(void)
{
	ibv_wr_start(qpx);
	write_well();
	ibv_wr_abort(qpx);
	side_expect_silence(&pair[0], 200000);
	/* A setter without a request has no effect. */
	ibv_wr_start(qpx);
	ibv_wr_set_sge(qpx, pair[0].mr->lkey, (uintptr_t)pair[0].buffer, 8);
	judge("wr_complete", "without a request", ibv_wr_complete(qpx), 0);
	side_expect_silence(&pair[0], 200000);
}

static void builder_states(void)
{
	struct address peer = pair[0].peer;

	side_to_reset(&pair[0]);
	ibv_wr_start(qpx);
	write_well();
	judge("wr_complete", "in RESET", ibv_wr_complete(qpx), EINVAL);
	side_to_init(&pair[0]);
	side_connect(&pair[0], &peer);
}

static void datagram_builders(void)
{
	open_extended(IBV_QPT_UD);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, NULL, pair[1].qp->qp_num, SIDE_QKEY);
	judge("wr_complete", "no address handle", ibv_wr_complete(qpx), EINVAL);
	ibv_wr_start(qpx);
	write_well();
	judge("wr_complete", "write by datagram", ibv_wr_complete(qpx), EINVAL);
	side_expect_silence(&pair[0], 200000);
	close_pair();
}

void invalid_builders(void)
{
	open_extended(IBV_QPT_RC);
	window = MADE(ibv_alloc_mw(pair[0].pd, IBV_MW_TYPE_1));
	for (size_t i = 0; i < COUNT(batches); i++)
		check_batch(batches[i].what, batches[i].build, batches[i].want);
	aborted();
	builder_states();
	CHECK_EQ(ibv_dealloc_mw(window), 0);
	close_pair();
	datagram_builders();
	look_around("builders");
}
