/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of the room verbs have in common. */
#ifndef VNET_IB_VERBS_INSIDE_H
#define VNET_IB_VERBS_INSIDE_H

#include "verbs.h"

/* --------------------------------------------------------------------- qp.c */

void vnet_qp_fill_cap(const struct vnet_qp *qp, struct ib_qp_cap *cap);
/*
 * Assign a number to a queue pair of this type. Returns 0, -ENOMEM, -EAGAIN, or -EBUSY if there
 * is a queue pair 1 already.
 */
int vnet_qp_number(struct vnet_dev *dev, struct vnet_qp *qp, enum ib_qp_type type);
/* Destroy the firmware's queue pair, and keep its counters in the port's sums. */
void vnet_qp_leave(struct vnet_dev *dev, struct vnet_qp *qp);
void vnet_qp_free_rings(struct vnet_qp *qp);

/* ------------------------------------------------------------------- post.c */

/* After a reset: continue at the ring's producer index, without the requests posted before. */
void vnet_wq_forget(struct vnet_wq *wq);

/* ------------------------------------------------------------------ quota.c */

/* For processes with quotas. The caller holds dev->commands. */

/*
 * Whether a queue pair may be connected by this path. It needs a row, which counts unless another
 * queue pair of the user has it.
 */
bool vnet_may_connect(struct vnet_dev *dev, const struct vnet_qp *qp,
		      const struct nic_qp_attr *attr);
/* Whether another queue pair of the user may be attached to a multicast group. */
bool vnet_may_join(struct vnet_dev *dev);

/* -------------------------------------------------------------------- rwq.c */

/* A work queue. To the firmware it is a queue pair that only receives. */
struct vnet_work_queue {
	struct ib_wq ibwq;
	struct vnet_qp queue;
};

static inline struct vnet_work_queue *to_vworkq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct vnet_work_queue, ibwq);
}

/* -------------------------------------------------------------------- rss.c */

/* Whether a queue pair only spreads frames by RSS: it has a number, but no queue. */
static inline bool vnet_qp_is_rss(const struct vnet_qp *qp)
{
	return qp->ibqp.rwq_ind_tbl;
}

/* Read the hash that the process requested, and the table, to *rss. Returns 0 or -errno. */
int vnet_rss_get(struct ib_rwq_ind_table *ibtable, struct ib_udata *udata, struct nic_rss *rss);
/* Make *rss known to the firmware, in qp->spread. */
int vnet_rss_make(struct vnet_dev *dev, struct vnet_qp *qp, const struct nic_rss *rss);

#endif /* VNET_IB_VERBS_INSIDE_H */
