// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of vnet's own verbs (vnetdv) in the provider. Covers 64 bits of immediate data, returning
 * queue pairs, flushes, and their refusal if the agent does not support them.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake_agent.h"
#include "wqe.h"

#define IMM 0x0123456789abcdefull

struct objects {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
};

static struct objects begin(struct ibv_context *base, uint32_t caps, enum ibv_qp_type type)
{
	struct verbs_context *vctx;
	struct objects o;

	agent.caps = caps;
	vctx = fake_device_ops->alloc_context(base->device, dup(base->cmd_fd), NULL);
	assert_non_null(vctx);
	o.context = &vctx->context;
	o.pd = fake_pd(o.context);
	o.cq = fake_cq(o.context);
	o.qp = fake_qp(o.pd, o.cq, NULL, type, true);
	o.qpx = &to_vqp(o.qp)->vqp.qp_ex;
	return o;
}

static void end(struct objects *o)
{
	fake_end_qp(o->qp);
	fake_end_cq(o->cq);
	fake_end_pd(o->pd);
	fake_ops->free_context(o->context);
}

static void what_a_context_has(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	struct vnetdv_context attr;
	struct {
		struct vnetdv_context known;
		uint64_t later;
	} longer = { .later = 1 };

	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(vnetdv_query_context(o.context, &attr, sizeof(attr)), 0);
	assert_int_equal(attr.comp_mask, 0);
	assert_int_equal(attr.flags, VNETDV_CONTEXT_IMM64);
	/* A program with a shorter or longer structure. */
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(vnetdv_query_context(o.context, &attr, sizeof(attr.comp_mask)), 0);
	assert_int_equal(attr.comp_mask, 0);
	assert_int_equal(attr.flags, UINT64_MAX);
	assert_int_equal(vnetdv_query_context(o.context, &longer.known, sizeof(longer)), 0);
	assert_int_equal(longer.known.flags, VNETDV_CONTEXT_IMM64);
	assert_int_equal(longer.later, 0);
	/* The CQ was created for 64-bit immediate data. */
	assert_int_equal(agent.last_cq_flags, VNET_CREATE_CQ_IMM64);
	end(&o);

	assert_int_equal(vnetdv_query_context(*state, &attr, sizeof(attr)), 0);
	assert_int_equal(attr.flags, 0);
}

/* Returns an errno value, or 0. */
static int try_qp(const struct objects *o, enum ibv_qp_type type,
		  const struct vnetdv_qp_init_attr *own)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = o->cq,
		.recv_cq = o->cq,
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = o->pd,
	};
	struct ibv_qp *qp;

	errno = 0;
	agent.last_qp_flags = ~0u;
	qp = vnetdv_create_qp(o->context, &attr, own);
	if (!qp)
		return errno;
	fake_end_qp(qp);
	return 0;
}

static void queue_pairs_that_return(void **state)
{
	const uint32_t caps = VNET_UCONTEXT_CAP_IMM64 | VNET_UCONTEXT_CAP_RETURN;
	struct objects o = begin(*state, caps, IBV_QPT_UD);
	const struct vnetdv_qp_init_attr returns = { .create_flags =
							     VNETDV_QP_CREATE_RETURN_TO_SENDER };
	struct vnetdv_qp_init_attr own = returns;
	struct vnetdv_context attr;

	assert_int_equal(vnetdv_query_context(o.context, &attr, sizeof(attr)), 0);
	assert_int_equal(attr.flags, VNETDV_CONTEXT_IMM64 | VNETDV_CONTEXT_RETURN_TO_SENDER);
	assert_int_equal(try_qp(&o, IBV_QPT_UD, &own), 0);
	assert_int_equal(agent.last_qp_flags, VNET_CREATE_QP_RETURN);
	assert_int_equal(try_qp(&o, IBV_QPT_RC, &own), EOPNOTSUPP);
	assert_int_equal(try_qp(&o, IBV_QPT_UC, &own), EOPNOTSUPP);
	own.create_flags |= 2;
	assert_int_equal(try_qp(&o, IBV_QPT_UD, &own), EINVAL);
	own = returns;
	own.comp_mask = 1;
	assert_int_equal(try_qp(&o, IBV_QPT_UD, &own), EINVAL);
	own = returns;
	own.rsvd = 1;
	assert_int_equal(try_qp(&o, IBV_QPT_UD, &own), EINVAL);
	assert_int_equal(agent.last_qp_flags, ~0u);
	/* Without vnet's attributes, the queue pair is an ordinary one. */
	own = (struct vnetdv_qp_init_attr){};
	assert_int_equal(try_qp(&o, IBV_QPT_RC, &own), 0);
	assert_int_equal(agent.last_qp_flags, 0);
	assert_int_equal(try_qp(&o, IBV_QPT_UD, NULL), 0);
	assert_int_equal(agent.last_qp_flags, 0);
	end(&o);

	/* An older agent would ignore the flag, so the provider does not send it. */
	o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_UD);
	assert_int_equal(try_qp(&o, IBV_QPT_UD, &returns), EOPNOTSUPP);
	assert_int_equal(agent.last_qp_flags, ~0u);
	end(&o);
}

static void flush(const struct objects *o, int expected)
{
	ibv_wr_start(o->qpx);
	o->qpx->wr_id = 5;
	o->qpx->wr_flags = IBV_SEND_SIGNALED;
	vnetdv_wr_flush(o->qpx, 0x77, 0x1234, 1ull << 40, VNETDV_FLUSH_GLOBAL, VNETDV_FLUSH_MR);
	assert_int_equal(ibv_wr_complete(o->qpx), expected);
}

static void flushes(void **state)
{
	const uint32_t caps = VNET_UCONTEXT_CAP_IMM64 | VNET_UCONTEXT_CAP_FLUSH;
	struct objects o = begin(*state, caps, IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)VNET_WR_FLUSH }, *bad;
	const struct vnet_send_wqe *wqe = fake_send_wqe(o.qp, 0);
	struct vnetdv_context attr;

	assert_int_equal(vnetdv_query_context(o.context, &attr, sizeof(attr)), 0);
	assert_int_equal(attr.flags, VNETDV_CONTEXT_IMM64 | VNETDV_CONTEXT_FLUSH);
	flush(&o, 0);
	assert_int_equal(wqe->wr_id, 5);
	assert_int_equal(wqe->opcode, VNET_WR_FLUSH);
	assert_int_equal(wqe->flags, VNET_WR_SIGNALED);
	assert_int_equal(wqe->num_sge, 0);
	assert_int_equal(wqe->rdma.rkey, 0x77);
	assert_int_equal(wqe->rdma.remote_addr, 0x1234);
	assert_int_equal(wqe->rdma.compare_add, 1ull << 40);
	assert_int_equal(wqe->rdma.swap, vnet_flush_operand(VNET_FLUSH_GLOBAL, VNET_FLUSH_MR));
	/* ibv_post_send() cannot describe a flush. */
	assert_int_equal(fake_ops->post_send(o.qp, &wr, &bad), EINVAL);
	end(&o);

	o = begin(*state, caps, IBV_QPT_UC);
	flush(&o, EINVAL);
	end(&o);
	o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	flush(&o, ENOTSUP);
	end(&o);
}

static void devices_of_others(void **state)
{
	struct ibv_context *context = *state;
	struct verbs_device_ops others = {};
	struct verbs_device foreign = { .ops = &others };
	struct ibv_context theirs = { .device = &foreign.device };
	struct vnetdv_context attr;
	struct vnetdv_ops ops;

	assert_true(vnetdv_is_supported(context->device));
	assert_false(vnetdv_is_supported(&foreign.device));
	assert_int_equal(vnetdv_query_context(&theirs, &attr, sizeof(attr)), ENOTSUP);
	errno = 0;
	assert_null(vnetdv_create_qp(&theirs, &(struct ibv_qp_init_attr_ex){}, NULL));
	assert_int_equal(errno, ENOTSUP);
	/* vnetdv_open() fails, because libibverbs has not loaded the provider. */
	memset(&ops, 0xff, sizeof(ops));
	assert_int_equal(vnetdv_open(context, &ops), ENOTSUP);
	assert_null(ops.query_context);
	assert_null(ops.poll_cq);
}

static void check_wqe(struct objects *o, uint32_t index, uint32_t opcode)
{
	const struct vnet_send_wqe *wqe = fake_send_wqe(o->qp, index);

	assert_int_equal(wqe->opcode, opcode);
	assert_int_equal(wqe->flags & VNET_WR_IMM64, VNET_WR_IMM64);
	assert_int_equal(wqe->imm, htobe32((uint32_t)IMM));
	assert_int_equal(wqe->rdma.imm_high, IMM >> 32);
}

static void extended_posting(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	char text[] = "some text";
	const struct vnet_send_wqe *wqe;

	ibv_wr_start(o.qpx);
	o.qpx->wr_id = 7;
	o.qpx->wr_flags = IBV_SEND_SIGNALED;
	vnetdv_wr_send_imm64(o.qpx, IMM);
	ibv_wr_set_inline_data(o.qpx, text, sizeof(text));
	o.qpx->wr_flags = 0;
	vnetdv_wr_rdma_write_imm64(o.qpx, 0x11, 0x1001, IMM);
	ibv_wr_set_sge(o.qpx, 1, 2, 3);
	ibv_wr_send_imm(o.qpx, 5);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	assert_int_equal(agent.send_doorbells, 1);

	check_wqe(&o, 0, VNET_WR_SEND_IMM);
	wqe = fake_send_wqe(o.qp, 0);
	assert_int_equal(wqe->wr_id, 7);
	assert_int_equal(wqe->flags, VNET_WR_SIGNALED | VNET_WR_INLINE | VNET_WR_IMM64);
	assert_int_equal(wqe->inline_len, sizeof(text));
	assert_memory_equal(wqe + 1, text, sizeof(text));
	check_wqe(&o, 1, VNET_WR_RDMA_WRITE_IMM);
	wqe = fake_send_wqe(o.qp, 1);
	assert_int_equal(wqe->num_sge, 1);
	assert_int_equal(wqe->rdma.rkey, 0x11);
	assert_int_equal(wqe->rdma.remote_addr, 0x1001);
	wqe = fake_send_wqe(o.qp, 2);
	assert_int_equal(wqe->flags, 0);
	assert_int_equal(wqe->imm, 5);
	end(&o);
}

static void datagrams(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_UD);
	struct ibv_ah_attr attr = { .is_global = 1, .grh = { .hop_limit = 9 }, .dlid = 0x17 };
	struct ibv_ah *ah = fake_ops->create_ah(o.pd, &attr);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM }, *bad;

	ibv_wr_start(o.qpx);
	vnetdv_wr_send_imm64(o.qpx, IMM);
	ibv_wr_set_ud_addr(o.qpx, ah, 0x11, 0x22);
	ibv_wr_set_sge(o.qpx, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0x11;
	wr.wr.ud.remote_qkey = 0x22;
	assert_int_equal(vnetdv_post_send_imm64(o.qp, &wr, IMM, &bad), 0);
	for (uint32_t i = 0; i < 2; i++) {
		check_wqe(&o, i, VNET_WR_SEND_IMM);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.remote_qpn, 0x11);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.remote_qkey, 0x22);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.hop_limit, 9);
		assert_int_equal(fake_send_wqe(o.qp, i)->ud.dlid, 0x17);
	}

	/* A UD queue pair has no RDMA write. */
	ibv_wr_start(o.qpx);
	vnetdv_wr_rdma_write_imm64(o.qpx, 1, 2, IMM);
	assert_int_equal(ibv_wr_complete(o.qpx), EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	assert_int_equal(vnetdv_post_send_imm64(o.qp, &wr, IMM, &bad), EINVAL);
	fake_ops->destroy_ah(ah);
	end(&o);
}

static int post(struct objects *o, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = vnetdv_post_send_imm64(o->qp, wr, IMM, &bad);

	assert_ptr_equal(bad, ret ? wr : NULL);
	return ret;
}

static void plain_posting(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	struct ibv_sge sge = { 0x1000, 10, 1 };
	struct ibv_send_wr wr = { .wr_id = 8,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED,
				  .imm_data = 77,
				  .wr.rdma = { .remote_addr = 0x1001, .rkey = 0x11 } };
	struct ibv_send_wr another = wr;
	const struct vnet_send_wqe *wqe;

	assert_int_equal(post(&o, &wr), 0);
	check_wqe(&o, 0, VNET_WR_RDMA_WRITE_IMM);
	wqe = fake_send_wqe(o.qp, 0);
	assert_int_equal(wqe->wr_id, 8);
	assert_int_equal(wqe->flags, VNET_WR_SIGNALED | VNET_WR_IMM64);
	assert_memory_equal(wqe + 1, &sge, sizeof(sge));
	assert_int_equal(wqe->rdma.remote_addr, 0x1001);
	assert_int_equal(wqe->rdma.rkey, 0x11);
	assert_int_equal(agent.send_doorbells, 1);

	another.opcode = IBV_WR_SEND;
	assert_int_equal(post(&o, &another), EINVAL);
	another = wr;
	another.next = &wr;
	assert_int_equal(post(&o, &another), EINVAL);
	another = wr;
	another.num_sge = (int)agent.max_sge + 1;
	assert_int_equal(post(&o, &another), EINVAL);
	o.qp->state = IBV_QPS_RTR;
	assert_int_equal(post(&o, &wr), EINVAL);
	o.qp->state = IBV_QPS_RTS;
	assert_int_equal(fake_ring(&to_vqp(o.qp)->sq)->prod, 1);
	assert_int_equal(agent.send_doorbells, 1);

	while (fake_ring(&to_vqp(o.qp)->sq)->prod < agent.entries)
		assert_int_equal(post(&o, &wr), 0);
	assert_int_equal(post(&o, &wr), ENOMEM);
	end(&o);
}

/* An agent without 64-bit immediate data gets no request that uses it. */
static void an_older_agent(void **state)
{
	struct objects o = begin(*state, 0, IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM };

	assert_int_equal(agent.last_cq_flags, 0);
	assert_int_equal(post(&o, &wr), ENOTSUP);
	ibv_wr_start(o.qpx);
	ibv_wr_send(o.qpx);
	vnetdv_wr_send_imm64(o.qpx, IMM);
	assert_int_equal(ibv_wr_complete(o.qpx), ENOTSUP);
	ibv_wr_start(o.qpx);
	vnetdv_wr_rdma_write_imm64(o.qpx, 1, 2, IMM);
	assert_int_equal(ibv_wr_complete(o.qpx), ENOTSUP);
	assert_int_equal(fake_ring(&to_vqp(o.qp)->sq)->prod, 0);
	ibv_wr_start(o.qpx);
	ibv_wr_send_imm(o.qpx, 1);
	assert_int_equal(ibv_wr_complete(o.qpx), 0);
	end(&o);
}

static struct vnet_cqe wide_cqe(void *buffer, uint32_t length)
{
	const uint32_t high = IMM >> 32;
	struct vnet_cqe cqe = { .wr_id = length,
				.byte_len = length,
				.imm = htobe32((uint32_t)IMM),
				.opcode = VNET_WC_RECV,
				.flags = VNET_WC_WITH_IMM | VNET_WC_IMM64 };

	if (length <= VNET_CQE_PAYLOAD_IMM64) {
		cqe.payload_len = (uint8_t)length;
		cqe.scatter_addr = (uintptr_t)buffer;
		memset(cqe.payload, 'a', length);
	}
	memcpy(cqe.payload + vnet_cqe_imm_high(length), &high, sizeof(high));
	return cqe;
}

static void plain_polling(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	char buffer[VNET_CQE_PAYLOAD + 1];
	struct vnet_cqe cqe;
	struct vnetdv_wc wc[4];
	struct ibv_wc ordinary;

	for (uint32_t i = 0; i <= VNET_CQE_PAYLOAD + 1; i++) {
		memset(buffer, 0, sizeof(buffer));
		cqe = wide_cqe(buffer, i);
		fake_complete(o.cq, &cqe);
		assert_int_equal(vnetdv_poll_cq(o.cq, 4, wc), 1);
		assert_int_equal(wc[0].imm64, IMM);
		assert_int_equal(wc[0].wc.wr_id, i);
		assert_int_equal(wc[0].wc.byte_len, i);
		assert_int_equal(wc[0].wc.wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(wc[0].wc.imm_data, htobe32((uint32_t)IMM));
		assert_int_equal(strlen(buffer), i <= VNET_CQE_PAYLOAD_IMM64 ? i : 0);

		fake_complete(o.cq, &cqe);
		assert_int_equal(fake_ops->poll_cq(o.cq, 1, &ordinary), 1);
		assert_int_equal(ordinary.wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(ordinary.imm_data, htobe32((uint32_t)IMM));
	}

	cqe.flags = VNET_WC_WITH_IMM;
	fake_complete(o.cq, &cqe);
	fake_complete(o.cq, &(struct vnet_cqe){ .status = VNET_WC_WR_FLUSH_ERR });
	assert_int_equal(vnetdv_poll_cq(o.cq, 4, wc), 2);
	assert_int_equal(wc[0].imm64, (uint32_t)IMM);
	assert_int_equal(wc[1].wc.status, IBV_WC_WR_FLUSH_ERR);
	agent.idles = 0;
	assert_int_equal(vnetdv_poll_cq(o.cq, 4, wc), 0);
	assert_int_equal(agent.idles, 1);
	end(&o);
}

static void extended_polling(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	struct ibv_cq_init_attr_ex init = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_IMM };
	struct ibv_cq_ex *cqx = fake_ops->create_cq_ex(o.context, &init);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(cqx);
	struct ibv_poll_cq_attr attr = {};
	char buffer[8] = "";
	struct vnet_cqe cqe = wide_cqe(buffer, 5);

	assert_int_equal(agent.last_cq_flags, VNET_CREATE_CQ_IMM64);
	fake_complete(cq, &cqe);
	cqe.flags = VNET_WC_WITH_IMM;
	fake_complete(cq, &cqe);
	assert_int_equal(ibv_start_poll(cqx, &attr), 0);
	assert_int_equal(ibv_wc_read_wc_flags(cqx), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_imm_data(cqx), htobe32((uint32_t)IMM));
	assert_int_equal(vnetdv_wc_read_imm64(cqx), IMM);
	assert_string_equal(buffer, "aaaaa");
	assert_int_equal(ibv_next_poll(cqx), 0);
	assert_int_equal(vnetdv_wc_read_imm64(cqx), (uint32_t)IMM);
	ibv_end_poll(cqx);
	fake_end_cq(cq);
	end(&o);
}

/* dereg_mr() places the payload of an unpolled completion, and keeps the rest of the entry. */
static void a_message_that_is_placed_before(void **state)
{
	struct objects o = begin(*state, VNET_UCONTEXT_CAP_IMM64, IBV_QPT_RC);
	char buffer[8] = "";
	struct ibv_mr *mr = fake_ops->reg_mr(o.pd, buffer, sizeof(buffer), 0, 0);
	struct vnet_cqe cqe = wide_cqe(buffer, 5);
	struct vnetdv_wc wc;

	fake_complete(o.cq, &cqe);
	assert_int_equal(fake_ops->dereg_mr(container_of(mr, struct verbs_mr, ibv_mr)), 0);
	assert_string_equal(buffer, "aaaaa");
	assert_int_equal(vnetdv_poll_cq(o.cq, 1, &wc), 1);
	assert_int_equal(wc.imm64, IMM);
	end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_context_has),
		TEST(flushes),
		TEST(queue_pairs_that_return),
		TEST(devices_of_others),
		TEST(extended_posting),
		TEST(datagrams),
		TEST(plain_posting),
		TEST(an_older_agent),
		TEST(plain_polling),
		TEST(extended_polling),
		TEST(a_message_that_is_placed_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
