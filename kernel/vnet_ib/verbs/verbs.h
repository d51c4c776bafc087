/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs: operations of the InfiniBand core on queue pairs, completion queues, shared receive
 * queues, work queues, RSS tables, flows, address handles, multicast groups and XRC domains.
 *
 * Inside the room, work queues (rwq.c) and RSS (rss.c) use those of queue pairs (qp.c), and
 * these the quotas (quota.c) and post.c: see inside.h.
 *
 * Calls base, queues, events, doorbells and memory. Takes vnet_dev.commands, vnet_wq.lock,
 * vnet_cq.lock and vnet_dev.retired_lock.
 */
#ifndef VNET_IB_VERBS_H
#define VNET_IB_VERBS_H

#include "queues/queues.h"

/* ------------------------------------------------------------- cq.c, poll.c */

int vnet_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   vnet_create_cq_input *input);
int vnet_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int vnet_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vnet_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vnet_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vnet_poll_cq(struct ib_cq *ibcq, int entries, struct ib_wc *wc);

/* -------------------------------------------------------------------- srq.c */

int vnet_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int vnet_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int vnet_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vnet_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ---------------------------------------------------------- qp.c, qp_attr.c */

int vnet_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int vnet_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vnet_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int vnet_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

/* ------------------------------------------------------------------- post.c */

int vnet_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int vnet_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
int vnet_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

/* ------------------------------------------------------------------ group.c */

struct vnet_xrcd {
	struct ib_xrcd ibxrcd;
	struct vnet_object obj;
};

/* Never 0. */
static inline u32 vnet_xrcdn(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct vnet_xrcd, ibxrcd)->obj.index;
}

int vnet_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vnet_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vnet_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vnet_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* --------------------------------------------------------------------- ah.c */

struct vnet_ah {
	struct ib_ah ibah;
	/* Address vector in the format of a work request, without the remote QPN and Q_Key. */
	struct vnet_wqe_ud av;
};

int vnet_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int vnet_destroy_ah(struct ib_ah *ibah, u32 flags);
int vnet_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);

/* -------------------------------------------------------------------- rwq.c */

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

/* -------------------------------------------------------------------- rss.c */

/* The value of enum ibv_rx_hash_function_flags. */
#define VNET_HASH_TOEPLITZ 1

/* ------------------------------------------------------------------- flow.c */

struct vnet_flow_counters {
	struct ib_counters ibcounters;
	struct vnet_object obj;
};

struct ib_flow *vnet_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int vnet_destroy_flow(struct ib_flow *ibflow);
int vnet_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs);
int vnet_destroy_counters(struct ib_counters *ibcounters);
int vnet_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
		       struct uverbs_attr_bundle *attrs);

#endif /* VNET_IB_VERBS_H */
