// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of ibv_wr_*(): WQEs that are built in parts, and batches that are posted completely or not
 * at all.
 */
#include <errno.h>
#include <string.h>

#include "fake_agent.h"
#include "wqe.h"

struct objects {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct vnet_ring *ring;
};

static struct objects begin(struct ibv_context *context, enum ibv_qp_type type)
{
	struct objects o = { .pd = fake_pd(context) };

	o.cq = fake_cq(context);
	o.qp = fake_qp(o.pd, o.cq, NULL, type, true);
	assert_true(to_vqp(o.qp)->vqp.comp_mask & VERBS_QP_EX);
	o.qpx = &to_vqp(o.qp)->vqp.qp_ex;
	o.ring = fake_ring(&to_vqp(o.qp)->sq);
	return o;
}

static void end(struct objects *o)
{
	fake_end_qp(o->qp);
	fake_end_cq(o->cq);
	fake_end_pd(o->pd);
}

static void every_operation_in_one_batch(void **state)
{
	struct objects o = (agent.entries = 16, begin(*state, IBV_QPT_RC));
	struct ibv_mr mr = { .lkey = 0x4400 };
	struct ibv_mw_bind_info info = { .mr = &mr, .addr = 1, .length = 2 };
	struct ibv_mw *mw = fake_ops->alloc_mw(o.pd, IBV_MW_TYPE_2);

	ibv_wr_start(o.qpx);
	/* In the order of their opcodes. */
	o.qpx->wr_id = 100;
	ibv_wr_rdma_write(o.qpx, 0x10, 0x1000);
	o.qpx->wr_id++;
	ibv_wr_rdma_write_imm(o.qpx, 0x11, 0x1001, 0xaa);
	o.qpx->wr_id++;
	ibv_wr_send(o.qpx);
	ibv_wr_set_sge(o.qpx, 1, 2, 3);
	o.qpx->wr_id++;
	o.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(o.qpx, 0xbb);
	o.qpx->wr_id++;
	o.qpx->wr_flags = 0;
	ibv_wr_rdma_read(o.qpx, 0x14, 0x1004);
	o.qpx->wr_id++;
	ibv_wr_atomic_cmp_swp(o.qpx, 0x15, 0x1005, 7, 8);
	o.qpx->wr_id++;
	ibv_wr_atomic_fetch_add(o.qpx, 0x16, 0x1006, 9);
	o.qpx->wr_id++;
	ibv_wr_local_inv(o.qpx, 0xcc);
	o.qpx->wr_id++;
	ibv_wr_bind_mw(o.qpx, mw, 0x501, &info);
	o.qpx->wr_id++;
	ibv_wr_send_inv(o.qpx, 0xdd);

	/* Nothing is visible to the NIC before ibv_wr_complete(). */
	assert_int_equal(o.ring->prod, 0);
	assert_int_equal(agent.send_doorbells, 0);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	assert_int_equal(o.ring->prod, 10);
	assert_int_equal(agent.send_doorbells, 1);

	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(fake_send_wqe(o.qp, i)->opcode, i);
		assert_int_equal(fake_send_wqe(o.qp, i)->wr_id, 100 + i);
		assert_int_equal(fake_send_wqe(o.qp, i)->num_sge, i == 2);
		assert_int_equal(fake_send_wqe(o.qp, i)->flags, i == 3 ? VNET_WR_SIGNALED : 0);
	}
	assert_int_equal(fake_send_wqe(o.qp, 1)->imm, 0xaa);
	assert_int_equal(fake_send_wqe(o.qp, 1)->rdma.rkey, 0x11);
	assert_int_equal(fake_send_wqe(o.qp, 3)->imm, 0xbb);
	assert_int_equal(fake_send_wqe(o.qp, 4)->rdma.remote_addr, 0x1004);
	assert_int_equal(fake_send_wqe(o.qp, 5)->rdma.compare_add, 7);
	assert_int_equal(fake_send_wqe(o.qp, 5)->rdma.swap, 8);
	assert_int_equal(fake_send_wqe(o.qp, 6)->rdma.compare_add, 9);
	assert_int_equal(fake_send_wqe(o.qp, 7)->imm, 0xcc);
	assert_int_equal(fake_send_wqe(o.qp, 8)->bind.new_rkey, 0x501);
	assert_int_equal(fake_send_wqe(o.qp, 8)->bind.lkey, 0x4400);
	assert_int_equal(fake_send_wqe(o.qp, 9)->imm, 0xdd);
	/* ibv_wr_bind_mw() does not change the key of the type 2 window. */
	assert_int_equal(mw->rkey, 0x5ff);
	fake_ops->dealloc_mw(mw);
	end(&o);
}

static void data_of_each_kind(void **state)
{
	struct objects o = begin(*state, IBV_QPT_UC);
	const struct ibv_sge sges[3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	char text[] = "the quick brown fox jumps over the lazy dog";
	const struct ibv_data_buf bufs[3] = { { text, 10 }, { text + 10, 0 }, { text + 10, 20 } };
	struct vnet_send_wqe *wqe;

	ibv_wr_start(o.qpx);
	ibv_wr_send(o.qpx);
	ibv_wr_set_sge_list(o.qpx, 3, sges);
	ibv_wr_send(o.qpx);
	ibv_wr_set_inline_data(o.qpx, text, sizeof(text));
	ibv_wr_rdma_write(o.qpx, 1, 2);
	ibv_wr_set_inline_data_list(o.qpx, 3, bufs);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);

	wqe = fake_send_wqe(o.qp, 0);
	assert_int_equal(wqe->num_sge, 3);
	assert_memory_equal(wqe + 1, sges, sizeof(sges));
	wqe = fake_send_wqe(o.qp, 1);
	assert_int_equal(wqe->flags, VNET_WR_INLINE);
	assert_int_equal(wqe->inline_len, sizeof(text));
	assert_memory_equal(wqe + 1, text, sizeof(text));
	wqe = fake_send_wqe(o.qp, 2);
	assert_int_equal(wqe->flags, VNET_WR_INLINE);
	assert_int_equal(wqe->inline_len, 30);
	assert_int_equal(wqe->rdma.remote_addr, 2);
	assert_memory_equal(wqe + 1, text, 30);
	end(&o);
}

static void datagrams_take_setters_in_any_order(void **state)
{
	struct objects o = begin(*state, IBV_QPT_UD);
	struct ibv_ah_attr attr = { .is_global = 1, .grh = { .hop_limit = 9 } };
	struct ibv_ah *ah = fake_ops->create_ah(o.pd, &attr);

	ibv_wr_start(o.qpx);
	ibv_wr_send(o.qpx);
	ibv_wr_set_ud_addr(o.qpx, ah, 0x11, 0x22);
	ibv_wr_set_sge(o.qpx, 1, 2, 3);
	ibv_wr_send(o.qpx);
	ibv_wr_set_sge(o.qpx, 1, 2, 3);
	ibv_wr_set_ud_addr(o.qpx, ah, 0x11, 0x22);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(fake_send_wqe(o.qp, i)->num_sge, 1);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.remote_qpn, 0x11);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.remote_qkey, 0x22);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.hop_limit, 9);
	}
	fake_ops->destroy_ah(ah);
	end(&o);
}

static void abort_leaves_nothing(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);

	ibv_wr_start(o.qpx);
	ibv_wr_send(o.qpx);
	ibv_wr_abort(o.qpx);
	assert_int_equal(o.ring->prod, 0);
	ibv_wr_start(o.qpx);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	assert_int_equal(agent.send_doorbells, 0);
	end(&o);
}

/* Mistakes in a batch. Each is tested between two correct requests. */
static void wrong_read_inline(struct ibv_qp_ex *qpx)
{
	ibv_wr_rdma_read(qpx, 1, 2);
	ibv_wr_set_inline_data(qpx, &agent, 4);
}

static void wrong_sge_count(struct ibv_qp_ex *qpx)
{
	static const struct ibv_sge sges[8];

	ibv_wr_send(qpx);
	ibv_wr_set_sge_list(qpx, 5, sges);
}

static void wrong_inline_length(struct ibv_qp_ex *qpx)
{
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, &agent, agent.max_inline + 1);
}

static void wrong_inline_sum(struct ibv_qp_ex *qpx)
{
	const struct ibv_data_buf bufs[2] = { { &agent, 8 }, { &agent, SIZE_MAX - 4 } };

	ibv_wr_send(qpx);
	ibv_wr_set_inline_data_list(qpx, 2, bufs);
}

static void wrong_flags(struct ibv_qp_ex *qpx)
{
	qpx->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(qpx);
	qpx->wr_flags = 0;
}

static void wrong_window(struct ibv_qp_ex *qpx)
{
	struct ibv_mw_bind_info info = {};
	struct ibv_mw mw = { .type = IBV_MW_TYPE_1 };

	ibv_wr_bind_mw(qpx, &mw, 1, &info);
}

static void wrong_operation(struct ibv_qp_ex *qpx)
{
	ibv_wr_atomic_fetch_add(qpx, 1, 2, 3);
}

static void errors_end_the_whole_batch(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		void (*wrong)(struct ibv_qp_ex *qpx);
	} table[] = {
		{ IBV_QPT_RC, wrong_read_inline },   { IBV_QPT_RC, wrong_sge_count },
		{ IBV_QPT_RC, wrong_inline_length }, { IBV_QPT_RC, wrong_inline_sum },
		{ IBV_QPT_RC, wrong_flags },         { IBV_QPT_RC, wrong_window },
		{ IBV_QPT_UC, wrong_operation },
	};
	struct objects o;
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		o = begin(*state, table[i].type);
		ibv_wr_start(o.qpx);
		ibv_wr_send(o.qpx);
		table[i].wrong(o.qpx);
		ibv_wr_send(o.qpx);
		assert_int_equal(ibv_wr_complete(o.qpx), EINVAL);
		assert_int_equal(o.ring->prod, 0);

		/* The next batch is not affected. */
		ibv_wr_start(o.qpx);
		ibv_wr_send(o.qpx);
		assert_int_equal(ibv_wr_complete(o.qpx), 0);
		assert_int_equal(o.ring->prod, 1);
		end(&o);
	}
	assert_int_equal(agent.send_doorbells, i);
}

static void a_batch_that_does_not_fit(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	char data[64] = {};

	ibv_wr_start(o.qpx);
	for (uint32_t i = 0; i < agent.entries + 2; i++) {
		ibv_wr_send(o.qpx);
		ibv_wr_set_inline_data(o.qpx, data, sizeof(data));
	}
	assert_int_equal(ibv_wr_complete(o.qpx), ENOMEM);
	assert_int_equal(o.ring->prod, 0);

	ibv_wr_start(o.qpx);
	for (uint32_t i = 0; i < agent.entries; i++)
		ibv_wr_send(o.qpx);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	assert_int_equal(o.ring->prod, agent.entries);
	end(&o);
}

static void states_that_allow_posting(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	enum ibv_qp_state s;

	for (s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		o.qp->state = s;
		ibv_wr_start(o.qpx);
		ibv_wr_send(o.qpx);
		assert_int_equal(ibv_wr_complete(o.qpx), s < IBV_QPS_RTS ? EINVAL : 0);
	}
	end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_operation_in_one_batch),        TEST(data_of_each_kind),
		TEST(datagrams_take_setters_in_any_order), TEST(abort_leaves_nothing),
		TEST(errors_end_the_whole_batch),          TEST(a_batch_that_does_not_fit),
		TEST(states_that_allow_posting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
