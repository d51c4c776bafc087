// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands of the fake agent for queues of all kinds, multicast and flows. */
#include <errno.h>
#include <sys/mman.h>

#include "cmd.h"
#include "fake_agent.h"
#include "fake_command.h"

int ibv_cmd_create_cq_ex(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
			 uint32_t cmd_flags)
{
	struct vnet_create_cq_cmd *req = container_of(cmd, struct vnet_create_cq_cmd, ibv);
	struct vnet_create_cq_reply *reply = container_of(resp, struct vnet_create_cq_reply, ibv);

	assert_int_equal(cmd_size, sizeof(*req));
	assert_int_equal(resp_size, sizeof(*reply));
	assert_int_equal(cmd_flags, CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	cq->cq.context = context;
	cq->cq.cqe = (int)agent.entries;
	agent.last_cq_flags = req->vnet.flags;
	reply->vnet.cqn = FAKE_CQN;
	reply->vnet.cq = fake_new_ring(agent.entries, VNET_CQE_SIZE);
	return fake_answer_new(&cq->cq.handle);
}

/* Copies the entries to the new ring, as an agent does. */
int ibv_cmd_resize_cq(struct ibv_cq *ibcq, int cqe, struct ibv_resize_cq *cmd, size_t cmd_size,
		      struct ib_uverbs_resize_cq_resp *resp, size_t resp_size)
{
	struct vnet_resize_cq_reply *reply = container_of(resp, struct vnet_resize_cq_reply, ibv);
	const struct vnet_cq *cq = to_vcq(ibcq);
	struct vnet_cqe *slots;
	struct vnet_ring *ring;

	assert_int_equal(resp_size, sizeof(*reply));
	reply->vnet.cq = fake_new_ring((uint32_t)cqe, VNET_CQE_SIZE);
	ring = mmap(NULL, reply->vnet.cq.mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    ibcq->context->cmd_fd, (off_t)reply->vnet.cq.mmap_offset);
	assert_true(ring != MAP_FAILED);
	*ring = *cq->ring;
	slots = (struct vnet_cqe *)(ring + 1);
	for (uint32_t i = ring->cons; i != ring->prod; i++)
		slots[i & ((uint32_t)cqe - 1)] = cq->slots[i & cq->mask];
	munmap(ring, reply->vnet.cq.mmap_size);
	return fake_answer();
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return fake_answer_end();
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct vnet_create_srq_reply *reply = container_of(resp, struct vnet_create_srq_reply, ibv);

	assert_int_equal(resp_size, sizeof(*reply));
	srq->context = pd->context;
	attr->attr.max_sge = agent.max_sge;
	reply->vnet.srqn = FAKE_SRQN;
	reply->vnet.rq = fake_new_ring(agent.entries, VNET_RECV_HDR_SIZE + 16 * agent.max_sge);
	return fake_answer_new(&srq->handle);
}

int ibv_cmd_create_srq_ex(struct ibv_context *context, struct verbs_srq *srq,
			  struct ibv_srq_init_attr_ex *attr_ex, struct ibv_create_xsrq *cmd,
			  size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct vnet_create_srq_reply *reply = container_of(resp, struct vnet_create_srq_reply, ibv);
	struct ibv_srq_init_attr attr = { .attr = attr_ex->attr };
	int ret;

	assert_ptr_equal(context, attr_ex->pd->context);
	ret = ibv_cmd_create_srq(attr_ex->pd, &srq->srq, &attr, NULL, 0, resp, resp_size);
	attr_ex->attr = attr.attr;
	srq->srq_type = attr_ex->srq_type;
	if (attr_ex->srq_type != IBV_SRQT_TM)
		return ret;
	reply->vnet.tags = attr_ex->tm_cap.max_num_tags;
	reply->vnet.ops = fake_new_ring(agent.entries, 1 << VNET_TM_OP_SHIFT);
	return ret;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	return fake_answer();
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, struct ibv_query_srq *cmd,
		      size_t cmd_size)
{
	return fake_answer();
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return fake_answer_end();
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *qp,
			  struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp_ex *cmd,
			  size_t cmd_size, struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size)
{
	struct vnet_create_qp_reply *reply = container_of(resp, struct vnet_create_qp_reply, ibv);

	struct vnet_create_qp_cmd *own = container_of(cmd, struct vnet_create_qp_cmd, ibv);

	agent.last_qp_flags = cmd_size == sizeof(*own) ? own->vnet.flags : 0;
	assert_true(cmd_size == (agent.last_qp_flags ? sizeof(*own) : sizeof(*cmd)));
	assert_int_equal(resp_size, sizeof(*reply));
	qp->qp.context = context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = FAKE_QPN;
	qp->qp.state = IBV_QPS_RESET;
	qp->comp_mask = 0;
	attr->cap.max_send_sge = agent.max_sge;
	attr->cap.max_recv_sge = attr->srq ? 0 : agent.max_sge;
	attr->cap.max_inline_data = agent.max_inline;

	reply->vnet.qpn = FAKE_QPN;
	reply->vnet.sq = fake_new_ring(agent.entries, VNET_WQE_HDR_SIZE + larger(16 * agent.max_sge,
										 agent.max_inline));
	if (!attr->srq)
		reply->vnet.rq =
			fake_new_ring(agent.entries, VNET_RECV_HDR_SIZE + 16 * agent.max_sge);
	return fake_answer_new(&qp->qp.handle);
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *qp_attr, int attr_mask,
		     struct ibv_qp_init_attr *qp_init_attr, struct ibv_query_qp *cmd,
		     size_t cmd_size)
{
	return fake_answer();
}

/* A transition to RESET empties the queues, as abi/vnet_hw.h requires. */
int ibv_cmd_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	struct vnet_qp *qp = to_vqp(ibqp);

	if (attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		qp->sq.ring->cons = qp->sq.ring->prod;
		if (qp->rq.ring)
			qp->rq.ring->cons = qp->rq.ring->prod;
	}
	return fake_answer();
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
			 struct ibv_modify_qp_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_modify_qp_resp *resp, size_t resp_size)
{
	return fake_answer();
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr, struct ibv_modify_cq *cmd,
		      size_t cmd_size)
{
	return fake_answer();
}

/* -- Ethernet frames: not supported by the fake agent */

int ibv_cmd_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr, struct ibv_wq *wq,
		      struct ibv_create_wq *cmd, size_t cmd_size,
		      struct ib_uverbs_ex_create_wq_resp *resp, size_t resp_size)
{
	return EOPNOTSUPP;
}

int ibv_cmd_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr, struct ibv_modify_wq *cmd,
		      size_t cmd_size)
{
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_wq(struct ibv_wq *wq)
{
	return EOPNOTSUPP;
}

int ibv_cmd_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr,
				 struct ibv_rwq_ind_table *table,
				 struct ib_uverbs_ex_create_rwq_ind_table_resp *resp,
				 size_t resp_size)
{
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	return EOPNOTSUPP;
}

int ibv_cmd_create_flow(struct ibv_qp *qp, struct ibv_flow *flow, struct ibv_flow_attr *attr,
			void *ucmd, size_t ucmd_size)
{
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_flow(struct ibv_flow *flow)
{
	return EOPNOTSUPP;
}

int ibv_cmd_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr,
			    struct verbs_counters *counters, struct ibv_command_buffer *link)
{
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_counters(struct verbs_counters *counters)
{
	return EOPNOTSUPP;
}

int ibv_cmd_read_counters(struct verbs_counters *counters, uint64_t *values, uint32_t ncounters,
			  uint32_t flags, struct ibv_command_buffer *link)
{
	return EOPNOTSUPP;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return fake_answer_end();
}

int ibv_cmd_open_qp(struct ibv_context *context, struct verbs_qp *qp, int vqp_sz,
		    struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd, size_t cmd_size,
		    struct ib_uverbs_create_qp_resp *resp, size_t resp_size)
{
	assert_int_equal(vqp_sz, sizeof(*qp));
	assert_int_equal(resp_size, sizeof(*resp));
	qp->qp.context = context;
	qp->qp.qp_num = attr->qp_num;
	resp->qpn = attr->qp_num;
	return fake_answer_new(&qp->qp.handle);
}

int ibv_cmd_open_xrcd(struct ibv_context *context, struct verbs_xrcd *xrcd, int vxrcd_size,
		      struct ibv_xrcd_init_attr *attr, struct ibv_open_xrcd *cmd, size_t cmd_size,
		      struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
{
	assert_int_equal(vxrcd_size, sizeof(*xrcd));
	xrcd->xrcd.context = context;
	return fake_answer_new(&xrcd->handle);
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	return fake_answer();
}

int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return fake_answer();
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return fake_answer();
}

int ibv_cmd_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	assert_null(wr);
	agent.traps++;
	agent.last_qpn = ibqp->qp_num;
	return 0;
}

int ibv_cmd_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	assert_null(wr);
	agent.traps++;
	agent.last_recv_num = ibqp->qp_num;
	return 0;
}

int ibv_cmd_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	assert_null(wr);
	agent.traps++;
	agent.last_recv_num = srq->handle;
	return 0;
}
