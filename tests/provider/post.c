// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of ibv_post_send(), ibv_post_recv() and ibv_post_srq_recv(). Checks the WQEs that the NIC
 * reads, and the requests that are refused.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake_agent.h"
#include "wqe.h"

struct objects {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct objects begin(struct ibv_context *context, enum ibv_qp_type type)
{
	struct objects o = { .pd = fake_pd(context) };

	o.cq = fake_cq(context);
	o.qp = fake_qp(o.pd, o.cq, NULL, type, false);
	return o;
}

static void end(struct objects *o)
{
	fake_end_qp(o->qp);
	fake_end_cq(o->cq);
	fake_end_pd(o->pd);
}

static int send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr = NULL;
	int ret = fake_ops->post_send(qp, wr, &bad_wr);

	/* All callers post one request at a time. */
	assert_ptr_equal(bad_wr, ret ? wr : NULL);
	return ret;
}

static int receive(struct ibv_qp *qp, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad_wr = NULL;
	int ret = fake_ops->post_recv(qp, wr, &bad_wr);

	assert_ptr_equal(bad_wr, ret ? wr : NULL);
	return ret;
}

static void send_as_the_nic_reads_it(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_sge sges[3] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 } };
	struct ibv_send_wr wr = {
		.wr_id = 0xfeedface12345678,
		.sg_list = sges,
		.num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.imm_data = 0x11223344,
	};
	struct vnet_send_wqe *wqe = fake_send_wqe(o.qp, 0);

	assert_int_equal(send(o.qp, &wr), 0);
	assert_int_equal(wqe->wr_id, wr.wr_id);
	assert_int_equal(wqe->opcode, VNET_WR_SEND_IMM);
	assert_int_equal(wqe->flags, VNET_WR_SIGNALED | VNET_WR_FENCE);
	assert_int_equal(wqe->num_sge, 3);
	assert_int_equal(wqe->rsvd, 0);
	assert_int_equal(wqe->imm, 0x11223344);
	assert_int_equal(wqe->inline_len, 0);
	assert_memory_equal(wqe + 1, sges, sizeof(sges));
	assert_int_equal(fake_ring(&to_vqp(o.qp)->sq)->prod, 1);
	assert_int_equal(agent.send_doorbells, 1);
	assert_int_equal(agent.last_qpn, FAKE_QPN);
	end(&o);
}

static void remote_operations(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct vnet_send_wqe *wqe;

	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = 0xabcdef0123;
	wr.wr.rdma.rkey = 0x77;
	assert_int_equal(send(o.qp, &wr), 0);
	wqe = fake_send_wqe(o.qp, 0);
	assert_int_equal(wqe->opcode, VNET_WR_RDMA_READ);
	assert_int_equal(wqe->rdma.remote_addr, 0xabcdef0123);
	assert_int_equal(wqe->rdma.rkey, 0x77);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x88;
	wr.wr.atomic.compare_add = 1;
	wr.wr.atomic.swap = 2;
	wr.wr.atomic.rkey = 0x99;
	assert_int_equal(send(o.qp, &wr), 0);
	wqe = fake_send_wqe(o.qp, 1);
	assert_int_equal(wqe->opcode, VNET_WR_ATOMIC_CMP_SWP);
	assert_int_equal(wqe->rdma.remote_addr, 0x88);
	assert_int_equal(wqe->rdma.rkey, 0x99);
	assert_int_equal(wqe->rdma.compare_add, 1);
	assert_int_equal(wqe->rdma.swap, 2);

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x1234;
	assert_int_equal(send(o.qp, &wr), 0);
	wqe = fake_send_wqe(o.qp, 2);
	assert_int_equal(wqe->opcode, VNET_WR_LOCAL_INV);
	assert_int_equal(wqe->imm, 0x1234);
	assert_int_equal(wqe->num_sge, 0);
	end(&o);
}

static void datagrams_carry_their_address(void **state)
{
	struct objects o = begin(*state, IBV_QPT_UD);
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.sl = 3,
		.grh = { .flow_label = 0xabcde,
			 .sgid_index = 1,
			 .hop_limit = 64,
			 .traffic_class = 5 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct vnet_send_wqe *wqe = fake_send_wqe(o.qp, 0);

	memset(attr.grh.dgid.raw, 0xfe, sizeof(attr.grh.dgid));
	assert_int_equal(send(o.qp, &wr), EINVAL);

	wr.wr.ud.ah = fake_ops->create_ah(o.pd, &attr);
	wr.wr.ud.remote_qpn = 0x111;
	wr.wr.ud.remote_qkey = 0x222;
	assert_int_equal(send(o.qp, &wr), 0);
	assert_memory_equal(wqe->ud.dgid, attr.grh.dgid.raw, 16);
	assert_int_equal(wqe->ud.remote_qpn, 0x111);
	assert_int_equal(wqe->ud.remote_qkey, 0x222);
	assert_int_equal(wqe->ud.flow_label, 0xabcde);
	assert_int_equal(wqe->ud.sgid_index, 1);
	assert_int_equal(wqe->ud.hop_limit, 64);
	assert_int_equal(wqe->ud.traffic_class, 5);
	assert_int_equal(wqe->ud.sl, 3);

	fake_ops->destroy_ah(wr.wr.ud.ah);
	end(&o);
}

/* On an InfiniBand port, with and without a global route. */
static void datagrams_go_by_lid(void **state)
{
	struct objects o = begin(*state, IBV_QPT_UD);
	struct ibv_ah_attr attr = { .port_num = 1, .sl = 4, .dlid = 0x1234 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct vnet_send_wqe *wqe;

	to_vctx(*state)->lid = true;
	memset(attr.grh.dgid.raw, 0xfe, sizeof(attr.grh.dgid));
	for (int global = 0; global <= 1; global++) {
		attr.is_global = (uint8_t)global;
		wr.wr.ud.ah = fake_ops->create_ah(o.pd, &attr);
		assert_non_null(wr.wr.ud.ah);
		wqe = fake_send_wqe(o.qp, (uint32_t)global);
		assert_int_equal(send(o.qp, &wr), 0);
		assert_int_equal(wqe->ud.dlid, 0x1234);
		assert_int_equal(wqe->ud.sl, 4);
		assert_int_equal(wqe->ud.no_grh, !global);
		assert_int_equal(wqe->ud.dgid[0], global ? 0xfe : 0);
		fake_ops->destroy_ah(wr.wr.ud.ah);
	}
	end(&o);
}

/* All lengths, from one buffer and from two. */
static void inline_data_of_every_length(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct vnet_wq *sq = &to_vqp(o.qp)->sq;
	uint8_t data[256];
	struct ibv_sge sges[2];
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};
	struct vnet_send_wqe *wqe;
	uint32_t first;

	for (uint32_t len = 0; len < sizeof(data); len++)
		data[len] = (uint8_t)(len * 7 + 1);
	for (uint32_t len = 0; len <= agent.max_inline; len++) {
		for (wr.num_sge = 1; wr.num_sge <= 2; wr.num_sge++) {
			first = wr.num_sge == 1 ? len : len / 3;
			sges[0] = (struct ibv_sge){ (uintptr_t)data, first, 0 };
			sges[1] = (struct ibv_sge){ (uintptr_t)data + first, len - first, 0 };
			wqe = fake_send_wqe(o.qp, sq->prod);
			memset(wqe, 0xee, VNET_WQE_HDR_SIZE + agent.max_inline);
			assert_int_equal(send(o.qp, &wr), 0);
			assert_int_equal(wqe->flags, VNET_WR_INLINE);
			assert_int_equal(wqe->num_sge, 0);
			assert_int_equal(wqe->inline_len, len);
			assert_memory_equal(wqe + 1, data, len);
			if (len < agent.max_inline)
				assert_int_equal(((uint8_t *)(wqe + 1))[len], 0xee);
			fake_ring(sq)->cons = sq->prod;
		}
	}
	end(&o);
}

static void inline_data_that_is_refused(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	uint8_t data[256] = {};
	struct ibv_sge sges[2] = { { (uintptr_t)data, 0, 0 }, { (uintptr_t)data, 0, 0 } };
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
	};

	sges[0].length = agent.max_inline;
	sges[1].length = 1;
	assert_int_equal(send(o.qp, &wr), EINVAL);
	/* The sum of the lengths wraps around. */
	sges[0].length = 16;
	sges[1].length = UINT32_MAX - 8;
	assert_int_equal(send(o.qp, &wr), EINVAL);

	sges[1].length = 16;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(send(o.qp, &wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(send(o.qp, &wr), EINVAL);
	assert_int_equal(agent.send_doorbells, 0);
	assert_int_equal(fake_ring(&to_vqp(o.qp)->sq)->prod, 0);
	end(&o);
}

static void arguments_that_are_refused(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_sge sges[8] = {};
	struct ibv_send_wr wr = { .sg_list = sges, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .sg_list = sges };

	wr.num_sge = (int)agent.max_sge;
	assert_int_equal(send(o.qp, &wr), 0);
	wr.num_sge = (int)agent.max_sge + 1;
	assert_int_equal(send(o.qp, &wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(send(o.qp, &wr), EINVAL);
	wr.num_sge = 0;
	wr.send_flags = IBV_SEND_IP_CSUM;
	assert_int_equal(send(o.qp, &wr), EINVAL);

	recv.num_sge = (int)agent.max_sge;
	assert_int_equal(receive(o.qp, &recv), 0);
	recv.num_sge = (int)agent.max_sge + 1;
	assert_int_equal(receive(o.qp, &recv), EINVAL);
	recv.num_sge = -1;
	assert_int_equal(receive(o.qp, &recv), EINVAL);
	end(&o);
}

static void operations_of_each_type(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint32_t opcodes;
	} table[] = {
		{ IBV_QPT_RC, 0x3ff | OPCODE(IBV_WR_ATOMIC_WRITE) },
		/* All but RDMA read and the two atomics. */
		{ IBV_QPT_UC, 0x3ff & ~(OPCODE(4) | OPCODE(5) | OPCODE(6)) },
		{ IBV_QPT_UD, OPCODE(2) | OPCODE(3) },
	};
	struct ibv_ah_attr ah_attr = { .is_global = 1 };
	struct ibv_mw mw = {};
	struct ibv_send_wr wr;
	struct objects o;
	struct ibv_ah *ah;
	unsigned int i;

	agent.entries = 64;
	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		o = begin(*state, table[i].type);
		ah = fake_ops->create_ah(o.pd, &ah_attr);
		for (uint32_t opcode = 0; opcode < 40; opcode++) {
			wr = (struct ibv_send_wr){ .opcode = (enum ibv_wr_opcode)opcode };
			if (table[i].type == IBV_QPT_UD)
				wr.wr.ud.ah = ah;
			wr.bind_mw.mw = &mw;
			assert_int_equal(send(o.qp, &wr),
					 opcode < 32 && table[i].opcodes & OPCODE(opcode) ? 0 :
											    EINVAL);
		}
		fake_ops->destroy_ah(ah);
		end(&o);
	}
}

static void states_that_allow_posting(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {};
	enum ibv_qp_state s;

	for (s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		o.qp->state = s;
		assert_int_equal(send(o.qp, &wr), s < IBV_QPS_RTS ? EINVAL : 0);
		assert_int_equal(receive(o.qp, &recv), s == IBV_QPS_RESET ? EINVAL : 0);
	}
	assert_int_equal(agent.send_doorbells, 4);
	/* The receive that is posted in ERR needs a doorbell, so that it is flushed. */
	assert_int_equal(agent.recv_doorbells, 1);
	end(&o);
}

static void a_list_up_to_its_bad_request(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_send_wr wr[4] = {};
	struct ibv_recv_wr recv[4] = {};
	struct ibv_send_wr *bad_wr = NULL;
	struct ibv_recv_wr *bad_recv = NULL;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].wr_id = i;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
		recv[i].wr_id = i;
		recv[i].next = i < 3 ? &recv[i + 1] : NULL;
	}
	wr[2].num_sge = 99;
	recv[2].num_sge = 99;
	assert_int_equal(fake_ops->post_send(o.qp, wr, &bad_wr), EINVAL);
	assert_ptr_equal(bad_wr, &wr[2]);
	assert_int_equal(fake_ring(&to_vqp(o.qp)->sq)->prod, 2);
	assert_int_equal(fake_send_wqe(o.qp, 1)->wr_id, 1);
	assert_int_equal(agent.send_doorbells, 1);

	assert_int_equal(fake_ops->post_recv(o.qp, recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv[2]);
	assert_int_equal(fake_ring(&to_vqp(o.qp)->rq)->prod, 2);
	end(&o);
}

static void a_full_queue(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct vnet_ring *sq = fake_ring(&to_vqp(o.qp)->sq);
	struct vnet_ring *rq = fake_ring(&to_vqp(o.qp)->rq);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {};
	unsigned int i;

	for (i = 0; i < agent.entries; i++) {
		assert_int_equal(send(o.qp, &wr), 0);
		assert_int_equal(receive(o.qp, &recv), 0);
	}
	assert_int_equal(send(o.qp, &wr), ENOMEM);
	assert_int_equal(receive(o.qp, &recv), ENOMEM);

	sq->cons = 1;
	rq->cons = 2;
	assert_int_equal(send(o.qp, &wr), 0);
	assert_int_equal(send(o.qp, &wr), ENOMEM);
	assert_int_equal(receive(o.qp, &recv), 0);
	assert_int_equal(receive(o.qp, &recv), 0);
	assert_int_equal(receive(o.qp, &recv), ENOMEM);
	end(&o);
}

/* Ring indices wrap around at 2^32, and RESET empties the queues. */
static void indices_wrap_and_reset_empties(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct vnet_wq *sq = &to_vqp(o.qp)->sq;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	unsigned int i;

	sq->prod = sq->cons = sq->ring->prod = sq->ring->cons = UINT32_MAX - 2;
	for (i = 0; i < agent.entries; i++)
		assert_int_equal(send(o.qp, &wr), 0);
	assert_int_equal(send(o.qp, &wr), ENOMEM);
	assert_int_equal(sq->ring->prod, agent.entries - 3);

	assert_int_equal(fake_ops->modify_qp(o.qp, &attr, IBV_QP_STATE), 0);
	for (i = 0; i < agent.entries; i++)
		assert_int_equal(send(o.qp, &wr), 0);
	assert_int_equal(send(o.qp, &wr), ENOMEM);
	end(&o);
}

static void receives_as_the_nic_reads_them(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_sge sges[2] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 } };
	struct ibv_recv_wr recv = { .wr_id = 42, .sg_list = sges, .num_sge = 2 };
	struct vnet_wq *rq = &to_vqp(o.qp)->rq;
	struct vnet_recv_wqe *wqe = fake_recv_wqe(rq, 0);

	assert_int_equal(receive(o.qp, &recv), 0);
	assert_int_equal(wqe->wr_id, 42);
	assert_int_equal(wqe->num_sge, 2);
	assert_memory_equal(wqe + 1, sges, sizeof(sges));
	assert_int_equal(agent.recv_doorbells, 0);

	fake_ring(rq)->need_doorbell = 1;
	assert_int_equal(receive(o.qp, &recv), 0);
	assert_int_equal(agent.recv_doorbells, 1);
	assert_int_equal(agent.last_recv_num, FAKE_QPN);
	assert_int_equal(agent.last_recv_is_srq, 0);
	end(&o);
}

static void shared_receives(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_srq *srq = fake_srq(pd);
	struct ibv_qp *qp = fake_qp(pd, cq, srq, IBV_QPT_RC, false);
	struct ibv_srq_attr attr = { .max_wr = 100 };
	struct ibv_recv_wr recv = { .wr_id = 7 };
	struct ibv_recv_wr *bad_wr = NULL;
	uint32_t num;

	assert_int_equal(receive(qp, &recv), EINVAL);
	assert_int_equal(fake_ops->post_srq_recv(srq, &recv, &bad_wr), 0);
	assert_int_equal(fake_recv_wqe(&to_vsrq(srq)->rq, 0)->wr_id, 7);
	fake_ring(&to_vsrq(srq)->rq)->need_doorbell = 1;
	assert_int_equal(fake_ops->post_srq_recv(srq, &recv, &bad_wr), 0);
	assert_int_equal(agent.last_recv_num, FAKE_SRQN);
	assert_int_equal(agent.last_recv_is_srq, 1);
	assert_int_equal(fake_ops->get_srq_num(srq, &num), 0);
	assert_int_equal(num, FAKE_SRQN);
	assert_int_equal(fake_ops->modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	assert_int_equal(fake_ops->modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);

	fake_end_qp(qp);
	fake_end_srq(srq);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

static void binding_windows(void **state)
{
	struct objects o = begin(*state, IBV_QPT_RC);
	struct ibv_mr mr = { .lkey = 0x4400 };
	struct ibv_mw *mw = fake_ops->alloc_mw(o.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.wr_id = 3,
		.bind_info = { .mr = &mr,
			       .addr = 0x1000,
			       .length = 64,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	struct vnet_send_wqe *wqe = fake_send_wqe(o.qp, 0);

	/* The tag of the key wraps around within its eight bits. */
	assert_int_equal(mw->rkey, 0x5ff);
	assert_int_equal(fake_ops->bind_mw(o.qp, mw, &bind), 0);
	assert_int_equal(mw->rkey, 0x500);
	assert_int_equal(wqe->opcode, VNET_WR_BIND_MW);
	assert_int_equal(wqe->bind.addr, 0x1000);
	assert_int_equal(wqe->bind.length, 64);
	assert_int_equal(wqe->bind.old_rkey, 0x5ff);
	assert_int_equal(wqe->bind.new_rkey, 0x500);
	assert_int_equal(wqe->bind.lkey, 0x4400);
	assert_int_equal(wqe->bind.access, IBV_ACCESS_REMOTE_WRITE);

	/* A bind that was not posted does not change the key. */
	bind.bind_info.mr = NULL;
	assert_int_equal(fake_ops->bind_mw(o.qp, mw, &bind), EINVAL);
	assert_int_equal(mw->rkey, 0x500);
	bind.bind_info.length = 0;
	assert_int_equal(fake_ops->bind_mw(o.qp, mw, &bind), 0);
	assert_int_equal(fake_ops->dealloc_mw(mw), 0);
	assert_null(fake_ops->alloc_mw(o.pd, (enum ibv_mw_type)3));
	assert_int_equal(errno, EINVAL);
	end(&o);
}

static void without_a_gate_it_traps(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {};
	struct verbs_context *vctx;
	struct ibv_wc wc;
	struct objects o;

	agent.without_gate = true;
	vctx = fake_device_ops->alloc_context(((struct ibv_context *)*state)->device,
					      dup(((struct ibv_context *)*state)->cmd_fd), NULL);
	assert_non_null(vctx);
	o = begin(&vctx->context, IBV_QPT_RC);
	assert_int_equal(send(o.qp, &wr), 0);
	assert_int_equal(agent.traps, 1);
	assert_int_equal(agent.last_qpn, FAKE_QPN);
	fake_ring(&to_vqp(o.qp)->rq)->need_doorbell = 1;
	assert_int_equal(receive(o.qp, &recv), 0);
	assert_int_equal(agent.traps, 2);
	assert_int_equal(fake_ops->poll_cq(o.cq, 1, &wc), 0);
	assert_int_equal(agent.idles, 0);
	end(&o);
	fake_ops->free_context(&vctx->context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send_as_the_nic_reads_it),
		TEST(remote_operations),
		TEST(datagrams_carry_their_address),
		TEST(datagrams_go_by_lid),
		TEST(inline_data_of_every_length),
		TEST(inline_data_that_is_refused),
		TEST(arguments_that_are_refused),
		TEST(operations_of_each_type),
		TEST(states_that_allow_posting),
		TEST(a_list_up_to_its_bad_request),
		TEST(a_full_queue),
		TEST(indices_wrap_and_reset_empties),
		TEST(receives_as_the_nic_reads_them),
		TEST(shared_receives),
		TEST(binding_windows),
		TEST(without_a_gate_it_traps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
