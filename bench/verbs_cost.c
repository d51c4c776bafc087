// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the CPU time of a request, with both ends of a connection in one thread.
 *
 * The results include neither waits nor cache line transfers between CPUs. So the program suits
 * profilers that count instructions.
 */
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "measure.h"
#include "options.h"

#define DEPTH 64
#define MAX_SIZE (1u << 20)

/* The first half is the source, the second half the destination. */
static uint8_t memory[2 * MAX_SIZE];

struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct loop {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t size;
	unsigned int flags;
	struct side near, far;
};

static int wait_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (n > 0 && wc.status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "verbs_cost: %s\n",
		n < 0 ? "polling failed" : ibv_wc_status_str(wc.status));
	return 5;
}

static int post(struct loop *l, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)memory, l->size, l->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = l->flags | IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)memory + MAX_SIZE;
	wr.wr.rdma.rkey = l->mr->rkey;
	return ibv_post_send(l->near.qp, &wr, &bad);
}

static int do_send(void *arg)
{
	struct loop *l = arg;
	struct ibv_sge sge = { (uintptr_t)memory + MAX_SIZE, l->size, l->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int ret;

	ret = ibv_post_recv(l->far.qp, &wr, &bad);
	if (!ret)
		ret = post(l, IBV_WR_SEND);
	if (!ret)
		ret = wait_one(l->far.cq);
	return ret ? ret : wait_one(l->near.cq);
}

static int do_write(void *arg)
{
	struct loop *l = arg;
	int ret = post(l, IBV_WR_RDMA_WRITE);

	return ret ? ret : wait_one(l->near.cq);
}

static int do_empty_poll(void *arg)
{
	struct loop *l = arg;
	struct ibv_wc wc;

	return ibv_poll_cq(l->near.cq, 1, &wc) ? 5 : 0;
}

static int make_side(struct loop *l, struct side *side)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
	};

	side->cq = ibv_create_cq(l->ctx, 2 * DEPTH, NULL, NULL, 0);
	if (!side->cq)
		return 1;
	init.send_cq = side->cq;
	init.recv_cq = side->cq;
	side->qp = ibv_create_qp(l->pd, &init);
	return !side->qp;
}

static int connect_side(struct loop *l, struct side *side, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	if (ibv_modify_qp(side->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 1;
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = dest_qpn;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	if (ibv_query_gid(l->ctx, 1, 0, &attr.ah_attr.grh.dgid))
		return 1;
	if (ibv_modify_qp(side->qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return 1;
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	return ibv_modify_qp(side->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int make_loop(struct loop *l)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return 1;
	l->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!l->ctx)
		return 1;
	l->pd = ibv_alloc_pd(l->ctx);
	if (!l->pd)
		return 1;
	l->mr = ibv_reg_mr(l->pd, memory, 2 * MAX_SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!l->mr || make_side(l, &l->near) || make_side(l, &l->far))
		return 1;
	return connect_side(l, &l->near, l->far.qp->qp_num) ||
	       connect_side(l, &l->far, l->near.qp->qp_num);
}

static int measure(struct loop *l, const char *name, int (*op)(void *arg), unsigned int flags,
		   unsigned long iters)
{
	struct timing t;
	int ret;

	l->flags = flags;
	ret = time_op(op, l, iters, &t);
	if (ret)
		fprintf(stderr, "verbs_cost: %s: %s\n", name, strerror(ret));
	else
		printf("%s_ns %.1f\n", name, t.median_ns);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "One thread sends and writes to itself over the first verbs device:\n"
			   "processor time of a request with its completions.",
		.takes = BENCH_ITERS | BENCH_SIZE,
		.max_size = MAX_SIZE,
	};
	struct bench_options opt = { .iters = 100000, .size = 8 };
	struct loop l = { 0 };

	bench_parse(argc, argv, &prog, &opt);
	l.size = (uint32_t)opt.size;
	if (make_loop(&l)) {
		fprintf(stderr, "verbs_cost: cannot set up a connection on the first device\n");
		return 1;
	}
	if (measure(&l, "empty_poll", do_empty_poll, 0, opt.iters))
		return 1;
	if (l.size <= 64 && (measure(&l, "send_inline", do_send, IBV_SEND_INLINE, opt.iters) ||
			     measure(&l, "write_inline", do_write, IBV_SEND_INLINE, opt.iters)))
		return 1;
	return measure(&l, "send", do_send, 0, opt.iters) ||
	       measure(&l, "write", do_write, 0, opt.iters);
}
