// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Generates load: one process keeps many queue pairs busy with RDMA writes until it is
 * killed.
 *
 * Each queue pair is connected to itself. Works on any verbs device.
 *
 *   busy_queues QUEUES BYTES
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#define DEPTH 4

struct load {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t bytes;
	unsigned int queues;
	struct ibv_qp **qp;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void open_load(struct load *l)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	must(list && list[0], "no device");
	l->ctx = ibv_open_device(list[0]);
	must(!!l->ctx, "ibv_open_device");
	ibv_free_device_list(list);
	l->pd = ibv_alloc_pd(l->ctx);
	must(!!l->pd, "ibv_alloc_pd");
	l->cq = ibv_create_cq(l->ctx, (int)(l->queues * DEPTH), NULL, NULL, 0);
	must(!!l->cq, "ibv_create_cq");
	l->memory = calloc(2, l->bytes);
	must(!!l->memory, "memory");
	l->mr = ibv_reg_mr(l->pd, l->memory, 2ull * l->bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(!!l->mr, "ibv_reg_mr");
}

static struct ibv_qp *make_qp(const struct load *l)
{
	struct ibv_qp_init_attr init = {
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(l->pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	must(!!qp, "ibv_create_qp");
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } },
	};
	must(!ibv_query_gid(l->ctx, 1, 0, &attr.ah_attr.grh.dgid), "ibv_query_gid");
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7 };
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
	return qp;
}

static void post(const struct load *l, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)l->memory, l->bytes, l->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)l->memory + l->bytes;
	wr.wr.rdma.rkey = l->mr->rkey;
	must(!ibv_post_send(l->qp[i], &wr, &bad), "ibv_post_send");
}

int main(int argc, char **argv)
{
	struct load l = { .queues = argc == 3 ? (unsigned int)atoi(argv[1]) : 0,
			  .bytes = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0 };
	unsigned int i, k;
	struct ibv_wc wc;
	int n;

	if (!l.queues || !l.bytes) {
		fprintf(stderr, "usage: busy_queues QUEUES BYTES\n");
		return 2;
	}
	open_load(&l);
	l.qp = calloc(l.queues, sizeof(struct ibv_qp *));
	must(!!l.qp, "memory");
	for (i = 0; i < l.queues; i++)
		l.qp[i] = make_qp(&l);
	for (i = 0; i < l.queues; i++)
		for (k = 0; k < DEPTH; k++)
			post(&l, i);
	printf("busy\n");
	fflush(stdout);
	for (;;) {
		n = ibv_poll_cq(l.cq, 1, &wc);
		must(n >= 0 && (!n || wc.status == IBV_WC_SUCCESS), "a completion");
		if (n)
			post(&l, (unsigned int)wc.wr_id);
	}
}
