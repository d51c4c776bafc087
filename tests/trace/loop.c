// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp.h"

#define DEPTH 16

void ensure(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "failed: %s (%s)\n", what, strerror(errno));
	exit(1);
}

static struct ibv_qp *make_qp(struct loop *loop, const struct wish *wish)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = loop->cq,
		.recv_cq = loop->cq,
		.srq = loop->srq,
		.cap = { DEPTH, DEPTH, 2, 2, 32 },
		.qp_type = wish->type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = loop->pd,
	};
	struct ibv_qp *qp;

	if (wish->extended) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				      IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND_WITH_IMM;
	}
	qp = ibv_create_qp_ex(loop->context, &attr);
	ENSURE(qp);
	loop->cap = attr.cap;
	return qp;
}

static struct ibv_qp_attr attr_to(const struct loop *loop, uint32_t qpn, const struct wish *wish)
{
	struct ibv_qp_attr attr;
	union ibv_gid gid;

	ENSURE(!ibv_query_gid(loop->context, 1, 0, &gid));
	attr = qp_attr_to(qpn, &gid, 0);
	attr.qp_access_flags = wish->no_access ? 0 : attr.qp_access_flags | wish->qp_access;
	attr.timeout = 1;
	attr.retry_cnt = wish->no_peer ? 1 : 7;
	attr.max_rd_atomic = wish->no_read_credit ? 0 : 1;
	return attr;
}

static void connect_both(struct loop *loop, const struct wish *wish)
{
	struct ibv_qp_attr near = attr_to(loop, wish->no_peer ? 0xfffff0 : loop->far->qp_num, wish);
	struct ibv_qp_attr far = attr_to(loop, loop->qp->qp_num, wish);

	if (wish->no_connection)
		ENSURE(!qp_to(loop->qp, IBV_QPS_INIT, &near) &&
		       !qp_to(loop->far, IBV_QPS_INIT, &far));
	else
		ENSURE(!qp_to_rts(loop->qp, &near) && !qp_to_rts(loop->far, &far));
}

static void make_queues(struct loop *loop, const struct wish *wish)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = wish->cq_entries ? (uint32_t)wish->cq_entries : 8 * DEPTH,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_srq_init_attr srq = { .attr = { DEPTH, 1, 0 } };

	if (wish->channel) {
		loop->channel = ibv_create_comp_channel(loop->context);
		ENSURE(loop->channel);
	}
	cq.channel = loop->channel;
	if (wish->extended) {
		loop->cq_ex = ibv_create_cq_ex(loop->context, &cq);
		loop->cq = loop->cq_ex ? ibv_cq_ex_to_cq(loop->cq_ex) : NULL;
	} else {
		loop->cq = ibv_create_cq(loop->context, (int)cq.cqe, NULL, loop->channel, 0);
	}
	ENSURE(loop->cq);
	if (wish->srq) {
		loop->srq = ibv_create_srq(loop->pd, &srq);
		ENSURE(loop->srq);
	}
}

void loop_open(struct loop *loop, const struct wish *wish)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	memset(loop, 0, sizeof(*loop));
	loop->context = open_test_device(NULL);
	ENSURE(loop->context);
	loop->pd = ibv_alloc_pd(loop->context);
	ENSURE(loop->pd);
	if (wish->mr_access || wish->no_access)
		access = wish->mr_access;
	loop->mr = ibv_reg_mr(loop->pd, loop->memory, sizeof(loop->memory), (int)access);
	ENSURE(loop->mr);
	make_queues(loop, wish);
	loop->qp = make_qp(loop, wish);
	loop->far = make_qp(loop, wish);
	connect_both(loop, wish);
}

void loop_close(struct loop *loop)
{
	ENSURE(!ibv_destroy_qp(loop->qp) && !ibv_destroy_qp(loop->far));
	ENSURE(!loop->srq || !ibv_destroy_srq(loop->srq));
	ENSURE(!ibv_destroy_cq(loop->cq));
	ENSURE(!loop->channel || !ibv_destroy_comp_channel(loop->channel));
	ENSURE(!ibv_dereg_mr(loop->mr) && !ibv_dealloc_pd(loop->pd));
	ENSURE(!ibv_close_device(loop->context));
}

struct ibv_sge loop_sge(const struct loop *loop, uint32_t at, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)loop->memory + at, length, loop->mr->lkey };
}

int loop_post(struct loop *loop, enum ibv_wr_opcode opcode, uint32_t length, unsigned int flags,
	      uint64_t wr_id)
{
	struct ibv_sge sge = loop_sge(loop, 0, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
	};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)loop->memory + LOOP_BYTES / 2;
	wr.wr.rdma.rkey = loop->mr->rkey;
	return ibv_post_send(loop->qp, &wr, &bad);
}

int loop_receive(struct loop *loop, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = loop_sge(loop, LOOP_BYTES / 2, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return loop->srq ? ibv_post_srq_recv(loop->srq, &wr, &bad) :
			   ibv_post_recv(loop->far, &wr, &bad);
}

void loop_flush(struct loop *loop, uint32_t length, uint8_t type, uint8_t level, uint64_t wr_id)
{
	void (*wr_flush)(struct ibv_qp_ex * qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t flush_type, uint8_t flush_level) = NULL;
	void *provider = dlopen(VNETDV_PROVIDER, RTLD_NOLOAD | RTLD_NOW);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(loop->qp);

	ENSURE(provider && vnetdv_find(provider, "vnetdv_wr_flush", &wr_flush));
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	wr_flush(ex, loop->mr->rkey, (uintptr_t)loop->memory + LOOP_BYTES / 2, length, type, level);
	ENSURE(!ibv_wr_complete(ex));
	dlclose(provider);
}

struct ibv_wc loop_wait(struct loop *loop)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(loop->cq, 1, &wc);
	} while (!n);
	ENSURE(n == 1);
	return wc;
}
