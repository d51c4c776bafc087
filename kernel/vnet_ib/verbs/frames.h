/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Raw packet queue pairs: work queues, RSS tables, flows and flow counters. */
#ifndef VNET_FRAMES_H
#define VNET_FRAMES_H

#include "base/base.h"

/* ------------------------------------------------------------------- rwq.c */

/* A work queue. To the firmware it is a queue pair that only receives. */
struct vnet_work_queue {
	struct ib_wq ibwq;
	struct vnet_qp queue;
};

static inline struct vnet_work_queue *to_vworkq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct vnet_work_queue, ibwq);
}

struct vnet_table {
	struct ib_rwq_ind_table ibtable;
	struct vnet_object obj;
};

struct ib_wq *vnet_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *init,
			     struct ib_udata *udata);
int vnet_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata);
int vnet_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);
int vnet_create_table(struct ib_rwq_ind_table *ibtable, struct ib_rwq_ind_table_init_attr *init,
		      struct ib_udata *udata);
int vnet_destroy_table(struct ib_rwq_ind_table *ibtable);

/* ------------------------------------------------------------------- rss.c */

/* The value of enum ibv_rx_hash_function_flags. */
#define VNET_HASH_TOEPLITZ 1

/* Whether a queue pair only spreads frames by RSS: it has a number, but no queue. */
static inline bool vnet_qp_spreads(const struct vnet_qp *qp)
{
	return qp->ibqp.rwq_ind_tbl;
}

/* Read the hash that the process requested, and the table, to *rss. Returns 0 or -errno. */
int vnet_rss_get(struct ib_rwq_ind_table *ibtable, struct ib_udata *udata, struct nic_rss *rss);
/* Make *rss known to the firmware, in qp->spread. */
int vnet_rss_make(struct vnet_dev *dev, struct vnet_qp *qp, const struct nic_rss *rss);

/* ------------------------------------------------------------------ flow.c */

struct vnet_flow_counters {
	struct ib_counters ibcounters;
	struct vnet_object obj;
};

struct vnet_flow {
	struct ib_flow ibflow;
	struct vnet_object obj;
};

struct ib_flow *vnet_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int vnet_destroy_flow(struct ib_flow *ibflow);
int vnet_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs);
int vnet_destroy_counters(struct ib_counters *ibcounters);
int vnet_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
		       struct uverbs_attr_bundle *attrs);

#endif /* VNET_FRAMES_H */
