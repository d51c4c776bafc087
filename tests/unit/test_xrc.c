// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections on one NIC. A message goes to the SRQ of the target's XRC
 * domain that its request names, and completes on the CQ of that SRQ.
 */
#include <string.h>

#include "world.h"

#define DOMAIN 5
#define OTHER_DOMAIN 6

/* A connection of process 0, and two SRQs of processes 1 and 2 in the target's domain. */
struct stage {
	struct qp *ini;
	struct qp *tgt;
	struct srq *srq[2];
	struct cq *cq[2];
};

static struct stage s;

static struct srq *make_named(struct process *p, struct cq *cq, u32 xrcdn)
{
	struct srq *srq = test_alloc(sizeof(*srq));
	struct nic_srq_params params = {
		.entries = 16,
		.stride_shift = 7,
		.max_sge = 7,
		.pdn = p->pdn,
		.space = p->nic.space,
		.xrcdn = xrcdn,
		.cqn = cq->cqn,
	};

	srq->p = p;
	srq->srqn = w.next_srqn++;
	srq->ring = ring_make(params.entries, params.stride_shift);
	params.ring = srq->ring.offset;
	assert_int_equal(nic_srq_create(&w.agent, srq->srqn, &params), NIC_OK);
	return srq;
}

static struct nic_qp_params target_params(u16 xrcdn)
{
	return (struct nic_qp_params){
		.qpn = w.next_qpn++,
		.type = NIC_QPT_XRC_TGT,
		.sq_entries = 1,
		.sq_stride_shift = 7,
		.sq_ring = ring_make(1, 7).offset,
		.xrcdn = xrcdn,
	};
}

static struct nic_qp_params initiator_params(struct process *p, struct cq *cq)
{
	static const struct qp_options plain;
	struct nic_qp_params params = qp_params(p, NIC_QPT_XRC_INI, cq, cq, &plain);

	params.recv_cqn = 0;
	params.rq_entries = 0;
	params.rq_stride_shift = 0;
	params.max_recv_sge = 0;
	return params;
}

static struct qp *make_end(struct process *p, struct nic_qp_params params, struct cq *cq)
{
	struct qp *qp = test_alloc(sizeof(*qp));

	*qp = (struct qp){ .p = p, .qpn = params.qpn, .type = params.type, .scq = cq };
	if (cq) {
		qp->sq = ring_make(params.sq_entries, params.sq_stride_shift);
		params.sq_ring = qp->sq.offset;
	}
	assert_int_equal(nic_qp_create(&w.agent, &params), NIC_OK);
	return qp;
}

static void bring_up_end(struct qp *qp, u32 dest)
{
	struct nic_qp_attr attr = good_attr(dest);
	bool ini = qp->type == NIC_QPT_XRC_INI;
	u32 rtr = M_STATE | M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN;
	u32 rts = M_STATE | M_SQ_PSN | M_TIMEOUT;

	assert_int_equal(modify(qp, &attr, M_STATE | M_PKEY | M_PORT | M_ACCESS, NIC_QPS_INIT),
			 NIC_OK);
	assert_int_equal(modify(qp, &attr, ini ? rtr : rtr | M_DEST_RD_ATOMIC | M_MIN_RNR,
				NIC_QPS_RTR),
			 NIC_OK);
	assert_int_equal(modify(qp, &attr,
				ini ? rts | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC : rts,
				NIC_QPS_RTS),
			 NIC_OK);
}

static void set_connection(void)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);

	s.ini = make_end(&w.p[0], initiator_params(&w.p[0], cq), cq);
	s.tgt = make_end(&w.p[0], target_params(DOMAIN), NULL);
	bring_up_end(s.ini, s.tgt->qpn);
	bring_up_end(s.tgt, s.ini->qpn);
}

static void set_stage(void)
{
	set_connection();
	for (u32 i = 0; i < 2; i++) {
		s.cq[i] = make_cq(&w.p[i + 1], 64, 0);
		s.srq[i] = make_named(&w.p[i + 1], s.cq[i], DOMAIN);
	}
}

static struct vnet_send_wqe to_srq(u8 opcode, u64 wr_id, u32 srqn)
{
	struct vnet_send_wqe wqe = wr(opcode, wr_id);

	wqe.srqn = srqn;
	return wqe;
}

/* -------------------------------------------------------------------- objects */

static void create_checks(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct srq *basic = make_srq(&w.p[0], 16), *named = make_named(&w.p[0], cq, DOMAIN);
	struct qp_options with_srq = { .srq = named };
	struct nic_srq_params srq = { .entries = 16,
				      .stride_shift = 7,
				      .max_sge = 7,
				      .ring = ring_make(16, 7).offset,
				      .xrcdn = DOMAIN,
				      .cqn = cq->cqn };
	struct nic_qp_params p;

	srq.cqn = 0;
	assert_int_equal(nic_srq_create(&w.agent, w.next_srqn, &srq), NIC_EINVAL);
	srq.cqn = cq->cqn + 1;
	assert_int_equal(nic_srq_create(&w.agent, w.next_srqn, &srq), NIC_EINVAL);
	srq.cqn = cq->cqn, srq.xrcdn = 0;
	assert_int_equal(nic_srq_create(&w.agent, w.next_srqn, &srq), NIC_EINVAL);
	srq.xrcdn = 0x10000;
	assert_int_equal(nic_srq_create(&w.agent, w.next_srqn, &srq), NIC_EINVAL);

	p = target_params(0);
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p = target_params(DOMAIN), p.send_cqn = cq->cqn;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p = target_params(DOMAIN), p.recv_cqn = cq->cqn;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p = target_params(DOMAIN), p.srqn = named->srqn;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p = target_params(DOMAIN), p.sq_ring = 0;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);

	p = initiator_params(&w.p[0], cq), p.sq_ring = ring_make(16, 10).offset;
	p.xrcdn = DOMAIN;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p.xrcdn = 0, p.recv_cqn = cq->cqn;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p.recv_cqn = 0, p.srqn = basic->srqn;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p.srqn = 0, p.rq_entries = 16;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
	p.rq_entries = 0, p.send_cqn = 0;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);

	/* An SRQ of an XRC domain cannot be used by other queue pairs. */
	p = qp_params(&w.p[0], NIC_QPT_RC, cq, cq, &with_srq);
	p.sq_ring = ring_make(16, 10).offset;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINVAL);
}

/* ----------------------------------------------------------------------- data */

static void to_the_queue_that_it_names(void **state)
{
	struct sge data = sge(&w.p[0], 0, 3000);

	set_stage();
	fill(&w.p[0], 0, 3000, 7);
	for (u32 i = 0; i < 6; i++) {
		struct process *p = &w.p[1 + i % 2];
		struct sge to = sge(p, i * 3000, 3000);
		struct vnet_send_wqe wqe = to_srq(VNET_WR_SEND_IMM, i, s.srq[i % 2]->srqn);
		struct wc wc;

		wqe.imm = 77 + i;
		post_srq_recv(s.srq[i % 2], 100 + i, &to, 1);
		/* Once with the payload in the CQE, once without. */
		data.length = i < 2 ? 40 : 3000;
		send_one(s.ini, &wqe, &data);
		expect(s.ini->scq, i, VNET_WC_SUCCESS);
		wc = expect(s.cq[i % 2], 100 + i, VNET_WC_SUCCESS);
		assert_int_equal(wc.qp_num, s.tgt->qpn);
		assert_int_equal(wc.src_qp, s.ini->qpn);
		assert_int_equal(wc.imm, 77 + i);
		assert_true(filled(p, i * 3000, data.length, 7));
		expect_none(s.cq[1 - i % 2]);
	}
}

static void memory_of_the_queues_domain(void **state)
{
	struct sge data = sge(&w.p[0], 0, 64);
	struct vnet_send_wqe wqe;

	set_stage();
	fill(&w.p[0], 0, 64, 9);
	wqe = to_srq(VNET_WR_RDMA_WRITE, 1, s.srq[0]->srqn);
	wqe.rdma.remote_addr = at(&w.p[1], 512);
	wqe.rdma.rkey = w.p[1].key;
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 1, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], 512, 64, 9));

	wqe.opcode = VNET_WR_RDMA_READ;
	data = sge(&w.p[0], 4096, 64);
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 1, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[0], 4096, 64, 9));

	wqe.opcode = VNET_WR_ATOMIC_FETCH_ADD;
	wqe.rdma.remote_addr = at(&w.p[1], 1024);
	wqe.rdma.compare_add = 5;
	data.length = 8;
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(*(u64 *)mem(&w.p[1], 1024), 5);

	/* Memory of process 1 through the SRQ of process 2. */
	wqe.opcode = VNET_WR_RDMA_WRITE;
	wqe.srqn = s.srq[1]->srqn;
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 1, VNET_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(s.tgt), NIC_QPS_ERR);
}

static void not_ready(void **state)
{
	struct vnet_send_wqe wqe;
	struct sge data = sge(&w.p[0], 0, 64), to = sge(&w.p[1], 0, 64);

	set_stage();
	wqe = to_srq(VNET_WR_SEND, 3, s.srq[0]->srqn);
	send_one(s.ini, &wqe, &data);
	expect_none(s.ini->scq);
	post_srq_recv(s.srq[0], 4, &to, 1);
	idle(&w.p[0]);
	run_for(5 * MS);
	expect(s.ini->scq, 3, VNET_WC_SUCCESS);
	expect(s.cq[0], 4, VNET_WC_SUCCESS);
	/* Without a receive, the request fails in the end. */
	send_one(s.ini, &wqe, &data);
	run_for(1000 * MS);
	expect(s.ini->scq, 3, VNET_WC_RNR_RETRY_EXC_ERR);
}

static void refuse(u32 srqn, u8 opcode)
{
	struct vnet_send_wqe wqe = to_srq(opcode, 8, srqn);
	struct sge data = sge(&w.p[0], 0, 64);

	wqe.rdma.remote_addr = at(&w.p[1], 0);
	wqe.rdma.rkey = w.p[1].key;
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 8, VNET_WC_REM_INV_REQ_ERR);
	assert_int_equal(state_of(s.tgt), NIC_QPS_ERR);
	assert_int_equal(state_of(s.ini), NIC_QPS_ERR);
	assert_true(frame(s.tgt)->async_pending & 1u << NIC_EVENT_QP_REQ_ERR);
}

static void no_such_queue(void **state)
{
	static const u8 opcodes[] = { VNET_WR_SEND, VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ };
	u32 basic, other;

	set_stage();
	basic = make_srq(&w.p[1], 16)->srqn;
	other = make_named(&w.p[1], s.cq[0], OTHER_DOMAIN)->srqn;
	assert_int_equal(nic_srq_destroy(&w.agent, s.srq[0]->srqn), NIC_OK);
	for (u32 i = 0; i < sizeof(opcodes); i++) {
		set_connection();
		refuse(0, opcodes[i]);
		set_connection();
		refuse(w.config.max_srq + 7, opcodes[i]);
		set_connection();
		refuse(basic, opcodes[i]);
		set_connection();
		refuse(other, opcodes[i]);
		set_connection();
		refuse(s.srq[0]->srqn, opcodes[i]);
	}
}

/* Neither end communicates with an RC queue pair, or with another one of its own type. */
static void wrong_peers(void **state)
{
	struct sge data = sge(&w.p[0], 0, 8), to = sge(&w.p[1], 0, 8);
	struct cq *cq = make_cq(&w.p[1], 64, 0);
	struct qp *rc = make_qp(&w.p[1], NIC_QPT_RC, cq, cq), *ini;
	struct vnet_send_wqe wqe;

	set_stage();
	post_srq_recv(s.srq[0], 1, &to, 1);
	wqe = to_srq(VNET_WR_SEND, 1, s.srq[0]->srqn);
	bring_up(rc, s.tgt->qpn);
	frame(s.tgt)->attr.dest_qpn = rc->qpn;
	send_one(rc, &wqe, &to);
	run_for(2000 * MS);
	expect(cq, 1, VNET_WC_RETRY_EXC_ERR);

	rc = make_qp(&w.p[1], NIC_QPT_RC, cq, cq);
	post_recv(rc, 2, &to, 1);
	bring_up(rc, s.ini->qpn);
	frame(s.ini)->attr.dest_qpn = rc->qpn;
	send_one(s.ini, &wqe, &data);
	run_for(2000 * MS);
	expect(s.ini->scq, 1, VNET_WC_RETRY_EXC_ERR);

	ini = make_end(&w.p[0], initiator_params(&w.p[0], s.ini->scq), s.ini->scq);
	s.ini = make_end(&w.p[0], initiator_params(&w.p[0], s.ini->scq), s.ini->scq);
	bring_up_end(ini, s.ini->qpn);
	bring_up_end(s.ini, ini->qpn);
	wqe.opcode = VNET_WR_RDMA_WRITE;
	wqe.rdma.remote_addr = at(&w.p[0], 64);
	wqe.rdma.rkey = w.p[0].key;
	send_one(ini, &wqe, &data);
	run_for(2000 * MS);
	expect(ini->scq, 1, VNET_WC_RETRY_EXC_ERR);
}

/* ---------------------------------------------------------------------- states */

struct step {
	u8 to;
	u32 mask;
};

static void try_path(struct nic_qp_params params, struct cq *cq, const struct step *good)
{
	for (u32 i = 0; i < 3; i++) {
		for (u32 bit = M_ACCESS; bit <= M_DEST_QPN; bit <<= 1) {
			struct nic_qp_attr attr = good_attr(1);
			struct qp *qp;

			if (!(good[i].mask & bit))
				continue;
			params.qpn = w.next_qpn++;
			params.sq_ring =
				ring_make(params.sq_entries, params.sq_stride_shift).offset;
			qp = make_end(&w.p[0], params, cq);
			for (u32 j = 0; j < i; j++)
				assert_int_equal(modify(qp, &attr, M_STATE | good[j].mask,
							good[j].to),
						 NIC_OK);
			/* Each attribute is required. */
			assert_int_equal(modify(qp, &attr, M_STATE | (good[i].mask & ~bit),
						good[i].to),
					 NIC_EINVAL);
			assert_int_equal(modify(qp, &attr, M_STATE | good[i].mask | M_QKEY,
						good[i].to),
					 NIC_EINVAL);
			assert_int_equal(nic_qp_destroy(&w.agent, qp->qpn), NIC_OK);
		}
	}
}

static void transitions(void **state)
{
	static const struct step ini[] = {
		{ NIC_QPS_INIT, M_PKEY | M_PORT | M_ACCESS },
		{ NIC_QPS_RTR, M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN },
		{ NIC_QPS_RTS, M_SQ_PSN | M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC },
	};
	static const struct step tgt[] = {
		{ NIC_QPS_INIT, M_PKEY | M_PORT | M_ACCESS },
		{ NIC_QPS_RTR,
		  M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN | M_DEST_RD_ATOMIC | M_MIN_RNR },
		{ NIC_QPS_RTS, M_SQ_PSN | M_TIMEOUT },
	};
	struct cq *cq = make_cq(&w.p[0], 64, 0);

	try_path(initiator_params(&w.p[0], cq), cq, ini);
	try_path(target_params(DOMAIN), NULL, tgt);
}

/* ----------------------------------------------------------------------- death */

/* The process that created the target dies: the target has no owner, and remains. */
static void target_outlives_its_maker(void **state)
{
	struct sge data = sge(&w.p[0], 0, 64), to = sge(&w.p[2], 0, 64);
	struct vnet_send_wqe wqe;

	set_stage();
	nic_recover(&w.agent, w.p[1].nic.self, w.p[1].nic.space);
	wqe = to_srq(VNET_WR_SEND, 1, s.srq[1]->srqn);
	post_srq_recv(s.srq[1], 2, &to, 1);
	send_one(s.ini, &wqe, &data);
	expect(s.ini->scq, 1, VNET_WC_SUCCESS);
	expect(s.cq[1], 2, VNET_WC_SUCCESS);
	assert_int_equal(nic_qp_destroy(&w.agent, s.tgt->qpn), NIC_OK);
	send_one(s.ini, &wqe, &data);
	run_for(2000 * MS);
	expect(s.ini->scq, 1, VNET_WC_RETRY_EXC_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_checks),
		TEST(to_the_queue_that_it_names),
		TEST(memory_of_the_queues_domain),
		TEST(not_ready),
		TEST(no_such_queue),
		TEST(wrong_peers),
		TEST(transitions),
		TEST(target_outlives_its_maker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
