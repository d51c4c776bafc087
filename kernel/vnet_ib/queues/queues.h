/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues: the memory of their rings, which processes may map, and the structures of queue pairs,
 * completion queues and shared receive queues, which consist of rings. The verbs for them are
 * in verbs/.
 *
 * Calls base. Takes no locks; ring memory is freed after a grace period of vnet_inside.
 */
#ifndef VNET_IB_QUEUES_H
#define VNET_IB_QUEUES_H

#include "base/base.h"

/* ------------------------------------------------------------ ring.c: memory */

/* A ring in kernel memory, which a process may be allowed to map. */
struct vnet_ring_mem {
	struct vnet_ring *ring;
	u32 entries;
	u32 shift;
	size_t size;
	/* Owns the memory. */
	struct vnet_mmap *mmap;
	/* It has an mmap offset, by which the process can map it. */
	bool offered;
};

struct vnet_mmap {
	struct rdma_user_mmap_entry entry;
	struct rcu_head rcu;
	/* One reference of the object, and one of each mapping. Mappings may outlive the object. */
	struct kref kref;
	void *memory;
	size_t size;
	/* Set to true by the first mmap(), or NULL. */
	bool *mapped;
	/* Called just before this structure is freed, in an SRCU callback; or NULL. */
	void (*freed)(struct vnet_mmap *map);
	/* For `freed` of device memory: its accounting, and the user who allocated it. */
	struct vnet_dm_room *room;
	kuid_t user;
};

/* Allocate a ring. ucontext is that of the process that will map it, or NULL. */
int vnet_ring_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, u32 entries, u32 shift);
void vnet_ring_free(struct vnet_ring_mem *mem);
void vnet_ring_info(const struct vnet_ring_mem *mem, struct vnet_ring_info *info);
/* The value by which the firmware knows the ring. */
static inline u64 vnet_ring_name(const struct vnet_ring_mem *mem)
{
	return (uintptr_t)mem->ring;
}
/* The same for `size` bytes of any content. */
int vnet_shared_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, size_t size);
int vnet_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma);
void vnet_mmap_free(struct rdma_user_mmap_entry *entry);

/* --------------------------------------------------------------- structures */

enum vnet_cq_state {
	/* On the list vnet_dev.ready. */
	VNET_CQ_QUEUED,
	/* TELLING: a completion handler is running. NEWS: events have arrived since it began. */
	VNET_CQ_DELIVERING,
	VNET_CQ_MORE,
	/* The consumer must poll again, whether there is an event or not. */
	VNET_CQ_LOOK,
};

struct vnet_cq {
	struct ib_cq ibcq;
	struct vnet_object obj;
	struct vnet_ring_mem ring;
	/* enum vnet_spaces: whose doorbells may name it. */
	u32 space;
	struct llist_node ready;
	/* Bits: enum vnet_cq_state. */
	unsigned long state;
	/* Kernel consumers: serializes polls; and the number of entries polled so far. */
	spinlock_t lock;
	u32 cons;
	/*
	 * During a resize: `moving` is set. `looked`: the consumer has polled or armed the CQ
	 * meanwhile. `arm`: the value by which it was armed, or 0.
	 */
	bool moving, looked;
	u32 arm;
};

static inline struct vnet_cq *to_vcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct vnet_cq, ibcq);
}

/* The firmware's number of a CQ. Its channel has the CQ's index. */
static inline u32 vnet_cqn(struct ib_cq *ibcq)
{
	return to_vcq(ibcq)->obj.index + 1;
}

/* A work queue of a kernel consumer, which posts to it. */
struct vnet_wq {
	struct vnet_ring_mem mem;
	spinlock_t lock;
	u32 prod;
	u32 max_sge;
};

struct vnet_srq {
	struct ib_srq ibsrq;
	struct vnet_object obj;
	u32 srqn;
	struct vnet_wq rq;
	/*
	 * With tag matching: the ring of operations, and the firmware's tag list, which is not
	 * mapped.
	 */
	struct vnet_ring_mem ops, tags;
	u32 max_tags;
	/* As in struct vnet_qp. */
	struct vnet_view *view;
};

static inline struct vnet_srq *to_vsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct vnet_srq, ibsrq);
}

static inline u32 vnet_srqn(struct ib_srq *ibsrq)
{
	return to_vsrq(ibsrq)->srqn;
}

struct vnet_qp {
	struct ib_qp ibqp;
	struct vnet_object obj;
	struct vnet_wq sq, rq;
	u32 max_inline;
	bool sig_all;
	/*
	 * No program posts to its send queue: XRC targets, queue pairs with tag matching, work
	 * queues.
	 */
	bool unposted;
	/* RSS parameters (struct nic_rss) of a queue pair that only spreads frames. */
	struct vnet_ring_mem spread;
	/* View by which the owner's doorbells enter the firmware. */
	struct vnet_view *view;
	/* Its creator. */
	kuid_t user;
};

static inline struct vnet_qp *to_vqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct vnet_qp, ibqp);
}

/* The GSI queue pair is a datagram queue pair, too. */
static inline bool vnet_is_datagram(const struct vnet_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI;
}

#endif /* VNET_IB_QUEUES_H */
