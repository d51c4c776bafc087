// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates and connects two queue pairs of one device, without rdma_cm. */
#include <linux/gfp.h>
#include <net/ipv6.h>

#include "ktest.h"

/* ----------------------------------------------------------------- buffers */

int kt_buffer_make(struct ib_device *dev, struct kt_buffer *buffer)
{
	buffer->at = alloc_pages_exact(KT_BUFFER, GFP_KERNEL | __GFP_ZERO);
	if (!buffer->at)
		return -ENOMEM;
	buffer->dma = ib_dma_map_single(dev, buffer->at, KT_BUFFER, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(dev, buffer->dma))
		return 0;
	free_pages_exact(buffer->at, KT_BUFFER);
	buffer->at = NULL;
	return -ENOMEM;
}

void kt_buffer_free(struct ib_device *dev, struct kt_buffer *buffer)
{
	if (!buffer->at)
		return;
	ib_dma_unmap_single(dev, buffer->dma, KT_BUFFER, DMA_BIDIRECTIONAL);
	free_pages_exact(buffer->at, KT_BUFFER);
	buffer->at = NULL;
}

/* -------------------------------------------------------------- connecting */

const struct ib_gid_attr *kt_gid(struct ib_device *dev)
{
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < dev->port_data[1].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(dev, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)&attr->gid))
			return attr;
		rdma_put_gid_attr(attr);
	}
	return ERR_PTR(-ENOENT);
}

int kt_address(struct ib_device *dev, const union ib_gid *gid, struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *own = kt_gid(dev);
	union ib_gid dgid = *gid;
	int err;

	if (IS_ERR(own))
		return PTR_ERR(own);
	memset(attr, 0, sizeof(*attr));
	attr->type = rdma_ah_find_type(dev, 1);
	rdma_ah_set_port_num(attr, 1);
	/* The peer uses the same net device. */
	err = rdma_read_gid_l2_fields(own, NULL, attr->roce.dmac);
	if (err) {
		rdma_put_gid_attr(own);
		return err;
	}
	/* Takes over the reference to `own`. */
	rdma_move_grh_sgid_attr(attr, &dgid, 0, 64, 0, own);
	return 0;
}

int kt_to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = KT_QKEY,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;

	mask |= qp->qp_type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS;
	return ib_modify_qp(qp, &attr, mask);
}

static int kt_to_rtr(struct ib_qp *qp, u32 dest_qpn, const union ib_gid *gid)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
	};
	int err;

	if (qp->qp_type == IB_QPT_UD)
		return ib_modify_qp(qp, &attr, IB_QP_STATE);
	err = kt_address(qp->device, gid, &attr.ah_attr);
	if (err)
		return err;
	err = ib_modify_qp(qp, &attr,
			   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
				   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	rdma_destroy_ah_attr(&attr.ah_attr);
	return err;
}

int kt_to_rts(struct ib_qp *qp, u32 dest_qpn, const union ib_gid *gid)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 8,
	};
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;
	int err;

	err = kt_to_rtr(qp, dest_qpn, gid);
	if (err)
		return err;
	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(qp, &attr, mask);
}

/* ------------------------------------------------------------------- pairs */

static void kt_srq_event(struct ib_event *event, void *context)
{
	struct kt_pair *p = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&p->srq_events);
}

static int kt_end_srq(struct kt_pair *p, struct kt_end *end)
{
	struct ib_srq_init_attr init = {
		.event_handler = kt_srq_event,
		.srq_context = p,
		.attr = { .max_wr = KT_DEPTH, .max_sge = 2 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq;

	if (!p->with_srq)
		return 0;
	srq = ib_create_srq(p->pd, &init);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	end->srq = srq;
	return 0;
}

static int kt_end_qp(struct kt_pair *p, struct kt_end *end)
{
	struct ib_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.cap = {
			.max_send_wr = p->depth,
			.max_recv_wr = end->srq ? 0 : KT_DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = end->srq ? 0 : 2,
			.max_inline_data = 64,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = p->type,
		.port_num = 1,
	};
	struct ib_qp *qp = ib_create_qp(p->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	end->qp = qp;
	return kt_to_init(qp);
}

static int kt_end_open(struct kt_pair *p, struct kt_end *end, int vector)
{
	struct ib_cq *cq;
	int err;

	err = kt_buffer_make(p->dev, &end->buffer);
	if (err)
		return err;
	cq = ib_alloc_cq(p->dev, p, p->depth + KT_DEPTH + 2, vector, p->poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->cq = cq;
	err = kt_end_srq(p, end);
	return err ? err : kt_end_qp(p, end);
}

static void kt_end_close(struct kt_pair *p, struct kt_end *end)
{
	if (end->qp)
		ib_destroy_qp(end->qp);
	if (end->srq)
		ib_destroy_srq(end->srq);
	if (end->cq)
		ib_free_cq(end->cq);
	kt_buffer_free(p->dev, &end->buffer);
}

static int kt_pair_connect(struct kt_pair *p)
{
	const struct ib_gid_attr *attr = kt_gid(p->dev);
	int i, err = 0;

	if (IS_ERR(attr))
		return PTR_ERR(attr);
	for (i = 0; i < 2 && !err; i++)
		err = kt_to_rts(p->end[i].qp, p->end[1 - i].qp->qp_num, &attr->gid);
	rdma_put_gid_attr(attr);
	return err;
}

int kt_pair_open(struct kt_pair *p)
{
	struct ib_pd *pd = ib_alloc_pd(p->dev, 0);
	int i, err;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	p->pd = pd;
	for (i = 0; i < 2; i++) {
		err = kt_end_open(p, &p->end[i], i % p->dev->num_comp_vectors);
		if (err)
			return err;
	}
	return kt_pair_connect(p);
}

void kt_pair_close(struct kt_pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (p->end[i].qp && p->type == IB_QPT_RC)
			ib_drain_qp(p->end[i].qp);
	}
	for (i = 0; i < 2; i++)
		kt_end_close(p, &p->end[i]);
	if (p->pd)
		ib_dealloc_pd(p->pd);
}
