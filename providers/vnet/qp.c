// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creating, modifying and destroying them. send.c, wr.c and recv.c post to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "trace/trace.h"
#include "vnet.h"
#include "wqe.h"

#ifdef VNET_HAVE_FLUSH
#define SEND_OPS_FLUSH IBV_QP_EX_WITH_FLUSH
#else
/* Without IBV_QP_EX_WITH_FLUSH, only vnetdv_wr_flush() builds flushes. */
#define SEND_OPS_FLUSH 0
#endif
#define SEND_OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define SEND_OPS_UC                                                                                \
	(SEND_OPS_UD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |                  \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define SEND_OPS_RC                                                                                \
	(SEND_OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |              \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE | SEND_OPS_FLUSH)

#define OPCODES_UC                                                                                 \
	(OPCODES_SEND | OPCODES_WRITE | OPCODE(VNET_WR_SEND_INV) | OPCODE(VNET_WR_BIND_MW) |       \
	 OPCODE(VNET_WR_LOCAL_INV))
#define OPCODES_RC                                                                                 \
	(OPCODES_UC | OPCODE(VNET_WR_RDMA_READ) | OPCODE(VNET_WR_ATOMIC_CMP_SWP) |                 \
	 OPCODE(VNET_WR_ATOMIC_FETCH_ADD) | OPCODE(VNET_WR_ATOMIC_WRITE) | OPCODE(VNET_WR_FLUSH))

/* Operations of a QP type, for both ways of posting. */
struct qp_abilities {
	uint32_t opcodes;
	uint64_t send_ops;
};

static const struct qp_abilities *abilities(enum ibv_qp_type type)
{
	static const struct qp_abilities rc = { OPCODES_RC, SEND_OPS_RC };
	static const struct qp_abilities uc = { OPCODES_UC, SEND_OPS_UC };
	static const struct qp_abilities ud = { OPCODES_SEND, SEND_OPS_UD };
	static const struct qp_abilities raw = { OPCODE(VNET_WR_SEND), IBV_QP_EX_WITH_SEND };
	/* An XRC target QP is a responder only. */
	static const struct qp_abilities target = { 0, 0 };

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return &rc;
	case IBV_QPT_XRC_RECV:
		return &target;
	case IBV_QPT_UC:
		return &uc;
	case IBV_QPT_UD:
		return &ud;
	case IBV_QPT_RAW_PACKET:
		return &raw;
	default:
		return NULL;
	}
}

/*
 * Are all objects of this context? Handles are numbered per context, so a handle of another context
 * would name another object.
 */
static bool all_of(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->pd->context != context || attr->send_cq->context != context)
		return false;
	return attr->qp_type == IBV_QPT_XRC_SEND ||
	       (attr->recv_cq->context == context && (!attr->srq || attr->srq->context == context));
}

/* A QP for RSS has no queues: it spreads frames over the work queues of an indirection table. */
static bool spreads(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
}

/* Returns 0 or an errno value. */
static int check_rss_qp(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context ||
	    !attr->rwq_ind_tbl || attr->rwq_ind_tbl->context != context)
		return EINVAL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH) || !hash->rx_hash_key ||
	    hash->rx_hash_key_len != sizeof(((struct vnet_create_qp_req *)NULL)->rx_hash_key))
		return EINVAL;
	/* A QP for RSS does not send, and has no receives of its own. */
	if (attr->send_cq || attr->recv_cq || attr->srq || attr->cap.max_send_wr)
		return EINVAL;
	return 0;
}

/* Returns 0 or an errno value. */
static int check_objects(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd &&
				       attr->xrcd->context == context ?
			       0 :
			       EINVAL;
	if (spreads(attr))
		return check_rss_qp(context, attr);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || !attr->send_cq)
		return EINVAL;
	if (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND)
		return EINVAL;
	return all_of(context, attr) ? 0 : EINVAL;
}

/* Returns 0 or an errno value. */
static int check_attr(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const struct qp_abilities *can = abilities(attr->qp_type);
	int ret;

	if (attr->qp_type == IBV_QPT_XRC_SEND || attr->qp_type == IBV_QPT_XRC_RECV)
		known |= IBV_QP_INIT_ATTR_XRCD;
	if (attr->qp_type == IBV_QPT_RAW_PACKET)
		known |= IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
	if (!can || !check_comp_mask(attr->comp_mask, known))
		return EOPNOTSUPP;
	ret = check_objects(context, attr);
	if (ret)
		return ret;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return 0;
	if (!check_comp_mask(attr->send_ops_flags, can->send_ops))
		return EOPNOTSUPP;
	return attr->send_ops_flags & SEND_OPS_FLUSH && !to_vctx(context)->flush ? EOPNOTSUPP : 0;
}

static uint32_t send_slot(const struct ibv_qp_cap *cap)
{
	uint32_t sges = cap->max_send_sge * (uint32_t)sizeof(struct vnet_sge);
	uint32_t data = cap->max_inline_data > sges ? cap->max_inline_data : sges;

	return VNET_WQE_HDR_SIZE + data;
}

static uint32_t recv_slot(const struct ibv_qp_cap *cap)
{
	return VNET_RECV_HDR_SIZE + cap->max_recv_sge * (uint32_t)sizeof(struct vnet_sge);
}

/* Map the two queues that the agent has made. Returns 0 or an errno value. */
static int init_queues(struct vnet_qp *qp, const struct vnet_context *ctx,
		       const struct ibv_qp_init_attr_ex *attr,
		       const struct vnet_create_qp_resp *resp)
{
	bool skip_lock = ctx->single_threaded || vnet_pd_skips_locks(attr->pd);
	int ret;

	if (attr->cap.max_inline_data > VNET_MAX_INLINE || attr->cap.max_send_sge > VNET_MAX_SGE)
		return EPROTO;
	ret = vnet_wq_init(&qp->sq, ctx, &resp->sq, send_slot(&attr->cap), skip_lock);
	if (ret)
		return ret;
	ret = vnet_wq_init(&qp->rq, ctx, &resp->rq, recv_slot(&attr->cap), skip_lock);
	if (ret) {
		vnet_wq_fini(&qp->sq);
		return ret;
	}
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->rq.max_sge = attr->cap.max_recv_sge;
	qp->max_inline = attr->cap.max_inline_data;
	return 0;
}

static void init_posting(struct vnet_qp *qp, const struct vnet_context *ctx,
			 const struct ibv_qp_init_attr_ex *attr, uint32_t qpn)
{
	qp->send_doorbell = ctx->gate.send_doorbell;
	qp->cookie = ctx->gate_cookie;
	qp->qpn = qpn;
	qp->all_opcodes = spreads(attr) ? 0 : abilities(attr->qp_type)->opcodes;
	qp->opcodes = attr->qp_type == IBV_QPT_XRC_SEND ? 0 :
							  qp->all_opcodes & ~OPCODE(VNET_WR_FLUSH);
	qp->sig_all = attr->sq_sig_all ? VNET_WR_SIGNALED : 0;
	qp->is_ud = attr->qp_type == IBV_QPT_UD;
	qp->imm64 = ctx->imm64;
	qp->flush = ctx->flush;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return;
	vnet_qp_set_wr_ops(qp);
	qp->vqp.comp_mask |= VERBS_QP_EX;
}

static void fill_hash(struct vnet_create_qp_req *req, const struct ibv_rx_hash_conf *hash)
{
	req->rx_hash_function = hash->rx_hash_function;
	req->rx_hash_fields = hash->rx_hash_fields_mask;
	req->rx_hash_key_len = hash->rx_hash_key_len;
	memcpy(req->rx_hash_key, hash->rx_hash_key, sizeof(req->rx_hash_key));
}

/* flags: enum vnet_create_qp_flags */
static struct ibv_qp *create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				uint32_t flags)
{
	struct vnet_create_qp_reply reply = {};
	struct vnet_create_qp_cmd cmd = {};
	struct vnet_qp *qp;
	int ret;

	ret = check_attr(context, attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	/*
	 * The flags are 0 here. Without them, libibverbs can use the older command, in case the
	 * agent has only that.
	 */
	attr->comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_CREATE_FLAGS;

	qp = vnet_zalloc(sizeof(*qp));
	if (!qp)
		return NULL;
	qp->wr_spare = vnet_zalloc(VNET_MAX_SEND_WQE);
	if (!qp->wr_spare) {
		ret = ENOMEM;
		goto err_free;
	}
	if (spreads(attr))
		fill_hash(&cmd.vnet, &attr->rx_hash_conf);
	cmd.vnet.flags = flags;
	/* The provider's part of the request contains only the hash and the flags. */
	ret = vnet_cmd_create_qp(context, &qp->vqp, attr, &cmd,
				 spreads(attr) || flags ? sizeof(cmd) : sizeof(cmd.ibv), &reply);
	if (ret)
		goto err_free;
	/* XRC target QPs and QPs for RSS have no queues. */
	if (attr->qp_type != IBV_QPT_XRC_RECV && !spreads(attr))
		ret = init_queues(qp, to_vctx(context), attr, &reply.vnet);
	if (ret)
		goto err_destroy;
	init_posting(qp, to_vctx(context), attr, reply.vnet.qpn);
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp->wr_spare);
	free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *vnet_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	return create_qp(context, attr, 0);
}

/* Returns 0 or an errno value. */
static int check_own_attr(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
			  const struct vnetdv_qp_init_attr *own)
{
	if (!vnetdv_is_supported(context->device))
		return ENOTSUP;
	if (own->comp_mask || own->rsvd ||
	    own->create_flags & ~(uint32_t)VNETDV_QP_CREATE_RETURN_TO_SENDER)
		return EINVAL;
	if (!own->create_flags)
		return 0;
	return attr->qp_type == IBV_QPT_UD && to_vctx(context)->returns ? 0 : ENOTSUP;
}

struct ibv_qp *vnetdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct vnetdv_qp_init_attr *own)
{
	static const struct vnetdv_qp_init_attr none;
	int ret;

	if (!own)
		own = &none;
	ret = check_own_attr(context, attr, own);
	if (ret) {
		errno = ret;
		return NULL;
	}
	if (own->create_flags & VNETDV_QP_CREATE_RETURN_TO_SENDER)
		return create_qp(context, attr, VNET_CREATE_QP_RETURN);
	return to_vctx(context)->trace ? vnet_trace_create_qp_ex(context, attr) :
					 create_qp(context, attr, 0);
}

struct ibv_qp *vnet_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = vnet_create_qp_ex(pd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

int vnet_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

/* Drop the completions of a QP that was reset or destroyed. */
static void clean_cqs(struct ibv_qp *ibqp)
{
	vnet_cq_clean(ibqp->recv_cq, ibqp->qp_num);
	if (ibqp->send_cq != ibqp->recv_cq)
		vnet_cq_clean(ibqp->send_cq, ibqp->qp_num);
}

/*
 * The command has one byte for each of these enums, so a larger value would be truncated to a valid
 * one.
 */
static bool in_range(const struct ibv_qp_attr *attr, int mask)
{
	return (!(mask & IBV_QP_STATE) || attr->qp_state <= IBV_QPS_ERR) &&
	       (!(mask & IBV_QP_CUR_STATE) || attr->cur_qp_state <= IBV_QPS_ERR) &&
	       (!(mask & IBV_QP_PATH_MTU) || attr->path_mtu <= IBV_MTU_4096) &&
	       (!(mask & IBV_QP_PATH_MIG_STATE) || attr->path_mig_state <= IBV_MIG_ARMED);
}

/*
 * Use the older command unless a rate is set, which it does not have. Returns 0 or an errno value.
 */
static int modify(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct ibv_modify_qp_ex cmd_ex = {};
	struct ibv_modify_qp cmd = {};

	if (!(mask & IBV_QP_RATE_LIMIT))
		return ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	return ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd_ex, sizeof(cmd_ex), &resp, sizeof(resp));
}

/* Only the rate is supported, not the sizes of bursts and packets. */
int vnet_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_attr qp_attr = { .qp_state = ibqp->state, .rate_limit = attr->rate_limit };

	if (!check_comp_mask(attr->comp_mask, 0))
		return EOPNOTSUPP;
	if (attr->max_burst_sz || attr->typical_pkt_sz)
		return EINVAL;
	return modify(ibqp, &qp_attr, IBV_QP_RATE_LIMIT);
}

int vnet_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	int ret;

	if (!in_range(attr, mask))
		return EINVAL;
	ret = modify(ibqp, attr, mask);
	if (ret)
		return ret;
	/* Both queues are empty now: the NIC has set their cons to prod. */
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		clean_cqs(ibqp);
	return 0;
}

int vnet_destroy_qp(struct ibv_qp *ibqp)
{
	struct vnet_qp *qp = to_vqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	clean_cqs(ibqp);
	vnet_wq_fini(&qp->sq);
	vnet_wq_fini(&qp->rq);
	free(qp->wr_spare);
	free(qp);
	return 0;
}

/*
 * Data is not placed in order: a long message is copied in the order of the processor's copy, and
 * only its last bytes are guaranteed to become visible last.
 */
int vnet_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}
