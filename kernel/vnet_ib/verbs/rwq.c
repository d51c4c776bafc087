// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues and RSS indirection tables. To the firmware, a work queue is a queue pair that
 * only receives; its send queue is never posted to.
 */
#include <linux/pid.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "doorbells/doorbells.h"
#include "inside.h"
#include "wq.h"

/* ----------------------------------------------------------------- creating */

static int vnet_workq_check(const struct ib_wq_init_attr *init)
{
	if (init->wq_type != IB_WQT_RQ)
		return -EINVAL;
	/* The port strips no VLAN tags or FCS, adds no padding, and delays no drops. */
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->max_wr || init->max_wr > VNET_MAX_QP_WR || init->max_sge > VNET_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int vnet_workq_make_rings(struct vnet_qp *queue, struct ib_ucontext *ibuc,
				 const struct ib_wq_init_attr *init)
{
	int err;

	err = vnet_send_wq_make(&queue->sq, NULL, 0, 0, &queue->max_inline);
	if (err)
		return err;
	err = vnet_recv_wq_make(&queue->rq, ibuc, init->max_wr, init->max_sge);
	if (err)
		vnet_ring_free(&queue->sq.mem);
	return err;
}

static int vnet_workq_enter(struct vnet_dev *dev, struct vnet_qp *queue, struct ib_pd *ibpd,
			    struct ib_cq *ibcq)
{
	const struct nic_qp_params p = {
		.qpn = queue->ibqp.qp_num,
		.type = NIC_QPT_WQ,
		.sq_stride_shift = queue->sq.mem.shift,
		.sq_ring = vnet_ring_name(&queue->sq.mem),
		.sq_entries = queue->sq.mem.entries,
		.rq_stride_shift = queue->rq.mem.shift,
		.max_recv_sge = queue->rq.max_sge,
		.rq_ring = vnet_ring_name(&queue->rq.mem),
		.rq_entries = queue->rq.mem.entries,
		.pdn = vnet_pdn(ibpd),
		.send_cqn = vnet_cqn(ibcq),
		.recv_cqn = vnet_cqn(ibcq),
		.space = queue->view->nic.space,
		.owner_pid = task_pid_nr(current),
	};
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_qp_create(&dev->agent.nic, &p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

/*
 * Event handler of the firmware's queue pair behind a work queue: report its fatal events as
 * IB_EVENT_WQ_FATAL.
 */
static void vnet_workq_event(struct ib_event *event, void *context)
{
	struct ib_wq *ibwq = context;

	/* The core cannot deliver an event before it has set the uobject. */
	if (!READ_ONCE(ibwq->uobject))
		return;
	if (event->event != IB_EVENT_QP_FATAL && event->event != IB_EVENT_QP_REQ_ERR &&
	    event->event != IB_EVENT_QP_ACCESS_ERR)
		return;
	event->event = IB_EVENT_WQ_FATAL;
	event->element.wq = ibwq;
	if (ibwq->event_handler)
		ibwq->event_handler(event, ibwq->wq_context);
}

static int vnet_workq_respond(const struct vnet_qp *queue, struct ib_udata *udata)
{
	struct vnet_create_wq_resp resp = { .wqn = queue->ibqp.qp_num };

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	vnet_ring_info(&queue->rq.mem, &resp.rq);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int vnet_workq_make(struct vnet_work_queue *wq, struct ib_pd *ibpd,
			   struct ib_wq_init_attr *init, struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(ibpd->device);
	struct vnet_qp *queue = &wq->queue;
	int err;

	err = vnet_workq_make_rings(queue, &uc->ibuc, init);
	if (err)
		return err;
	queue->ibqp.device = ibpd->device;
	queue->ibqp.event_handler = vnet_workq_event;
	queue->ibqp.qp_context = &wq->ibwq;
	queue->view = &uc->door->view;
	queue->unposted = true;
	err = vnet_qp_number(dev, queue, IB_QPT_RAW_PACKET);
	if (err)
		goto free_rings;
	err = vnet_workq_enter(dev, queue, ibpd, init->cq);
	if (err)
		goto end_number;
	err = vnet_workq_respond(queue, udata);
	if (!err)
		return 0;
	vnet_qp_leave(dev, queue);
end_number:
	vnet_number_end(&dev->qps, &queue->obj);
free_rings:
	vnet_qp_free_rings(queue);
	return err;
}

struct ib_wq *vnet_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *init,
			     struct ib_udata *udata)
{
	struct vnet_work_queue *wq;
	int err;

	err = vnet_workq_check(init);
	if (err)
		return ERR_PTR(err);
	wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	err = vnet_workq_make(wq, ibpd, init, udata);
	if (err) {
		kfree(wq);
		return ERR_PTR(err);
	}
	wq->ibwq.wq_num = wq->queue.ibqp.qp_num;
	wq->ibwq.state = IB_WQS_RESET;
	/* The core leaves it to the driver to set these fields. */
	wq->ibwq.event_handler = init->event_handler;
	wq->ibwq.wq_context = init->wq_context;
	init->max_wr = wq->queue.rq.mem.entries;
	init->max_sge = wq->queue.rq.max_sge;
	return &wq->ibwq;
}

/* ---------------------------------------------------------------- modifying */

static enum ib_wq_state vnet_workq_state(u8 state)
{
	if (state == NIC_QPS_RESET)
		return IB_WQS_RESET;
	return state == NIC_QPS_ERR ? IB_WQS_ERR : IB_WQS_RDY;
}

/*
 * Allowed transitions: RESET to RDY, RDY to ERR, and any state to RESET. The firmware checks
 * them. The caller holds dev->commands.
 */
static enum nic_result vnet_workq_change(struct vnet_dev *dev, struct vnet_work_queue *wq,
					 const struct ib_wq_attr *attr, u32 mask)
{
	static const u8 states[] = {
		[IB_WQS_RESET] = NIC_QPS_RESET,
		[IB_WQS_RDY] = NIC_QPS_RTR,
		[IB_WQS_ERR] = NIC_QPS_ERR,
	};
	const struct nic_qp_attr none = {};
	struct nic *nic = &dev->agent.nic;
	enum nic_result result;
	enum ib_wq_state is;
	struct nic_qp_attr now;
	u8 state, draining;

	result = vnet_command(dev, nic_qp_query(nic, wq->ibwq.wq_num, &now, &state, &draining));
	if (result != NIC_OK)
		return result;
	is = vnet_workq_state(state);
	if (mask & IB_WQ_CUR_STATE && attr->curr_wq_state != is)
		return NIC_EINVAL;
	/* No change of state. */
	if (!(mask & IB_WQ_STATE) || (attr->wq_state == is && is != IB_WQS_RESET))
		return NIC_OK;
	result = vnet_command(dev, nic_qp_modify(nic, wq->ibwq.wq_num, &none, IB_QP_STATE, 0,
						 states[attr->wq_state]));
	if (result == NIC_OK)
		wq->ibwq.state = attr->wq_state;
	return result;
}

int vnet_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibwq->device);
	enum nic_result result;

	if (mask & IB_WQ_FLAGS)
		return -EOPNOTSUPP;
	if (mask & IB_WQ_STATE && attr->wq_state > IB_WQS_ERR)
		return -EINVAL;
	mutex_lock(&dev->commands);
	result = vnet_workq_change(dev, to_vworkq(ibwq), attr, mask);
	mutex_unlock(&dev->commands);
	vnet_deliver_command(dev);
	return vnet_errno(result);
}

int vnet_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	struct vnet_work_queue *wq = to_vworkq(ibwq);
	struct vnet_dev *dev = to_vdev(ibwq->device);

	vnet_qp_leave(dev, &wq->queue);
	vnet_number_end(&dev->qps, &wq->queue.obj);
	vnet_qp_free_rings(&wq->queue);
	kfree(wq);
	return 0;
}

/* ------------------------------------------------------------------- tables */

int vnet_create_table(struct ib_rwq_ind_table *ibtable, struct ib_rwq_ind_table_init_attr *init,
		      struct ib_udata *udata)
{
	struct vnet_table *table = container_of(ibtable, struct vnet_table, ibtable);
	int err;

	if (init->log_ind_tbl_size > NIC_MAX_RSS_LOG)
		return -EINVAL;
	err = vnet_number_get(&to_vdev(ibtable->device)->tables, &table->obj);
	if (!err)
		ibtable->ind_tbl_num = table->obj.index;
	return err;
}

int vnet_destroy_table(struct ib_rwq_ind_table *ibtable)
{
	struct vnet_table *table = container_of(ibtable, struct vnet_table, ibtable);

	vnet_number_end(&to_vdev(ibtable->device)->tables, &table->obj);
	return 0;
}
