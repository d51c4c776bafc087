/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * vnet_ib: the NIC's firmware in the kernel, as an RDMA device.
 *
 * Objects of the InfiniBand core, each with what the firmware calls it. NIC
 * memory is the kernel's alone; of what the firmware reads, a process can write
 * the rings of its own queues, and nothing else.
 *
 * Locks, outermost first:
 *   (the network's RTNL lock)
 *   vnet_devices_lock  mutex, device.c: which devices there are
 *   vnet_dev.commands  mutex: the firmware takes one command at a time
 *   vnet_wq.lock       a kernel consumer's posts to one queue
 *   vnet_cq.lock       a kernel consumer's polls of one queue
 *   vnet_dev.retired_lock  mutex: what queue pairs have counted
 *   vnet_dev.doors_lock  mutex: which processes have doorbells
 *   (the firmware's own lock words, which nobody waits for without bounds)
 *   vnet_numbers.xa    innermost
 */
#ifndef VNET_IB_H
#define VNET_IB_H

#include <linux/iosys-map.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"
#include "nic.h"
#include "vnet-abi.h"

#define VNET_VERSION "0.1.0"

enum vnet_limits {
	VNET_MAX_QP = 8192,
	VNET_MAX_CQ = 8192,
	VNET_MAX_SRQ = 1024,
	VNET_MAX_MR = 65536,
	VNET_MAX_QP_WR = 16384,
	VNET_MAX_SRQ_WR = 16384,
	/* Of a shared receive queue that matches them; and operations on them at a time. */
	VNET_MAX_TAGS = 1024,
	VNET_TAG_OPS = 256,
	VNET_MAX_CQE = 1 << 20,
	VNET_MAX_RD_ATOMIC = 16,
	VNET_MAX_PD = 1 << 15,
	VNET_MAX_XRCD = 1 << 16,
	VNET_MAX_AH = 1 << 16,
	VNET_MAX_TABLES = 1 << 14,
	VNET_MAX_FAST_PAGES = 1024,
	VNET_PKEYS = 1,
	/* For management datagrams; and the first that is nobody's in particular. */
	VNET_QP1 = 1,
	VNET_FIRST_QP = 2,
	/* Other NICs, and endpoints that talk to them at a time. */
	VNET_MAX_ROWS = 64,
	/* Unless the module is told otherwise; and at most. */
	VNET_MAX_FRAMES = 256,
	VNET_MOST_FRAMES = 8192,
	VNET_VENDOR_ID = 0x766e,
	VNET_PART_ID = 0x6574,
};

/* Its list of pages is less than 2 GiB. */
#define VNET_MAX_MR_SIZE (1ull << 40)
/* Of device memory, in all. */
#define VNET_MAX_DM_SIZE (1l << 20)
/* How long unreliable senders stall for a receive. */
#define VNET_STALL_NS (50 * NSEC_PER_MSEC)

/* Address spaces, as the firmware tells them apart (struct nic.space). */
enum vnet_spaces {
	/* Regions: plat_copy() finds their pages by their index. */
	VNET_SPACE_PAGES = 1,
	/* Queues that kernel consumers post to; processes' are above. */
	VNET_SPACE_KERNEL = 1,
	VNET_SPACE_FIRST_USER = 2,
};

/* ------------------------------------------------- number.c: named objects */

struct vnet_dev;

/* Part of each object that the firmware knows by a number. */
struct vnet_object {
	u32 index;
	/* One for its life, and one for whoever tells it of an event. */
	refcount_t refs;
	struct completion gone;
};

/* The indices of one table, and the objects that have them. */
struct vnet_numbers {
	struct xarray xa;
	struct mutex lock;
	struct nic_pool pool;
	u32 first;
	/* The last number drawn for each index: see vnet_number_draw(). */
	u32 *last;
};

typedef enum nic_result vnet_draw_fn(struct nic *nic, u32 index, u32 last, u32 *number);

/* Indices in [first, count); 0 or -ENOMEM. */
int vnet_numbers_init(struct vnet_numbers *numbers, u32 first, u32 count);
void vnet_numbers_fini(struct vnet_numbers *numbers);
/* Give obj an index; 0, or -ENOMEM when there is none left. May sleep. */
int vnet_number_get(struct vnet_numbers *numbers, struct vnet_object *obj);
/*
 * Give obj a random index, and a random number that contains it. `draw` is nic_qpn_draw(),
 * nic_srqn_draw() or nic_key_draw(). 0, -ENOMEM, or -EAGAIN without random bytes.
 */
int vnet_number_draw(struct vnet_dev *dev, struct vnet_numbers *numbers, vnet_draw_fn *draw,
		     struct vnet_object *obj, u32 *number);
/* The same as vnet_number_get() with an index below the first; -EBUSY: it is another's. */
int vnet_number_claim(struct vnet_numbers *numbers, struct vnet_object *obj, u32 index);
/* Nobody finds it any more; returns when nobody uses it. May sleep. */
void vnet_number_end(struct vnet_numbers *numbers, struct vnet_object *obj);
/* What has the index, with a reference, or NULL. Any context. */
struct vnet_object *vnet_object_get(struct vnet_numbers *numbers, u32 index);
void vnet_object_put(struct vnet_object *obj);

/* ------------------------------------------------------ views of the NIC */

/* How somebody enters the firmware. */
struct vnet_view {
	struct nic nic;
	struct vnet_dev *dev;
	/* In the context of a process or of the NIC processor. */
	bool may_sleep;
	/* Not in that of somebody whose locks the network might want, too. */
	bool may_send;
};

/* Work of this processor since softirqs had their turn, in bytes that are copied. */
DECLARE_PER_CPU(u32, vnet_copied);

/*
 * A task is in the firmware, and holds locks of it for moments, and no softirq of its
 * processor finds them held. For a long copy, or many, this ends: see plat_copy(); and
 * after a stretch of requests: see plat_turn().
 */
static inline void vnet_enter(void)
{
	local_bh_disable();
	this_cpu_write(vnet_copied, 0);
}

static inline void vnet_leave(void)
{
	local_bh_enable();
}

/* ------------------------------------------------------------- the device */

/* Of memory that is paged on demand: users that have their shares of what it takes. */
struct vnet_odp_counters {
	/* Windows that went for others of the same user. */
	atomic64_t yields;
	/* Requests that waited for that, each time; that were not served. */
	atomic64_t waits, no_room;
};

struct vnet_dev {
	struct ib_device ibdev;
	struct list_head list;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;

	void *memory;
	u64 memory_size;
	/* The NIC processor's, which runs anybody's queues; and commands'. */
	struct vnet_view agent;
	/* That of kernel consumers, who may not sleep. */
	struct vnet_view kernel;

	struct mutex commands;
	/* Entries of processes; changed under the mutex, read by those inside. */
	struct list_head doors;
	struct mutex doors_lock;
	struct vnet_numbers qps, cqs, srqs, mrs, pds, xrcds, spaces;
	/* Of Ethernet frames: frames.h */
	struct vnet_numbers tables, flows, flow_counters;
	/* By index, for plat_copy(). */
	struct vnet_mr **mr;
	/* Regions that are paged on demand. */
	atomic_t on_demand;
	struct vnet_odp_counters odp_counters;
	/* What queue pairs have counted that are no more; each counts there or by itself. */
	struct nic_qp_counters retired;
	struct mutex retired_lock;
	/* How often the port went down; changed under the RTNL lock. */
	u32 downs;
	/* Of device memory. */
	struct vnet_dm_room *dm_room;

	/* CQs with completion events that nobody was told of yet. */
	struct llist_head ready;
	/* Tells consumers where they cannot be called at once. */
	struct irq_work tell;
	struct task_struct *processor;
	atomic_t kicked;
	/* To other NICs: link.h */
	struct vnet_link *link;
};

static inline struct vnet_dev *to_vdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vnet_dev, ibdev);
}

/* device.c */
int vnet_newlink(const char *name, struct net_device *netdev);
void vnet_delete_all(void);
int vnet_netdev_event(struct notifier_block *nb, unsigned long event, void *arg);

/* link_files.c: whether the caller may configure the net device's network. */
bool vnet_may_configure(const struct vnet_dev *dev);

/* fault.c: once the device is registered; the files go with it */
void vnet_fault_offer(struct vnet_dev *dev);

/* crc.c: before the first frame */
void vnet_crc_choose(void);

/* processor.c */
int vnet_processor_start(struct vnet_dev *dev);
void vnet_processor_stop(struct vnet_dev *dev);
/*
 * Like nic_send_doorbell(), for callers that nobody can interrupt, or that do it for
 * somebody else: after some requests the others are the NIC processor's. The caller is
 * inside.
 */
void vnet_run_turn(struct vnet_view *view, u32 qpn, u32 budget);
/* All of them are. */
void vnet_run_later(struct vnet_view *view, u32 qpn);
/*
 * The firmware was left by a task, or by a softirq that has interrupted no consumer:
 * tell of completion events. Handlers are called here, so the caller holds nothing.
 */
void vnet_tell(struct vnet_dev *dev);
/* The same for callers that may hold their consumers' locks. Any context. */
void vnet_tell_later(struct vnet_dev *dev);
/* The same for commands, whose callers may hold them, too. */
void vnet_tell_command(struct vnet_dev *dev);
/* The CQ with this index has something to tell of, when one of these is called next. */
void vnet_cq_ready(struct vnet_dev *dev, u32 index);
/* A command as often as it takes: the firmware's answer. May sleep. */
#define vnet_command(dev, call)                                                                    \
	({                                                                                         \
		enum nic_result result_;                                                           \
                                                                                                   \
		lockdep_assert_held(&(dev)->commands);                                             \
		for (;;) {                                                                         \
			vnet_enter();                                                              \
			result_ = (call);                                                          \
			vnet_leave();                                                              \
			if (result_ != NIC_BUSY)                                                   \
				break;                                                             \
			vnet_command_pause(dev);                                                   \
		}                                                                                  \
		result_;                                                                           \
	})
void vnet_command_pause(struct vnet_dev *dev);
/* -errno of a firmware's answer. */
int vnet_errno(enum nic_result result);

/* ------------------------------------------------------------------- rings */

/*
 * Whoever runs the firmware is inside, in any context: it looks at rings without
 * the locks that their destruction takes. So no ring is freed before all have
 * left who were inside when it was taken away.
 */
extern struct srcu_struct vnet_inside;

/* A ring: kernel memory, which a process may map. */
struct vnet_ring_mem {
	struct vnet_ring *ring;
	u32 entries;
	u32 shift;
	size_t size;
	/* Owns the memory. */
	struct vnet_mmap *mmap;
	/* A process can map it. */
	bool offered;
};

struct vnet_mmap {
	struct rdma_user_mmap_entry entry;
	struct rcu_head rcu;
	/* The object's; and each mapping's, which may outlast it. */
	struct kref kref;
	void *memory;
	size_t size;
	/* What is to be known once somebody has mapped it, or NULL. */
	bool *mapped;
	/* Where it counts besides, or NULL. */
	struct vnet_dm_room *room;
};

/*
 * So many bytes of what has a limit, or false. They are given back by subtraction,
 * once the memory is free. May sleep.
 */
bool vnet_reserve(atomic_long_t *taken, long bytes, long limit);

/* ucontext: of the process that will map it, or NULL. */
int vnet_ring_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, u32 entries, u32 shift);
void vnet_ring_free(struct vnet_ring_mem *mem);
void vnet_ring_info(const struct vnet_ring_mem *mem, struct vnet_ring_info *info);
/* As the firmware names it. */
static inline u64 vnet_ring_name(const struct vnet_ring_mem *mem)
{
	return (uintptr_t)mem->ring;
}
/* The same for `size` bytes of anything. */
int vnet_shared_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, size_t size);
int vnet_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma);
void vnet_mmap_free(struct rdma_user_mmap_entry *entry);

/* ---------------------------------------------------------------- contexts */

struct vnet_ucontext {
	struct ib_ucontext ibuc;
	struct vnet_object obj;
	struct vnet_door *door;
	/* Whatever brings pages to its regions; NULL as long as none is paged on demand. */
	struct workqueue_struct *pagers;
};

static inline struct vnet_ucontext *to_vuc(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct vnet_ucontext, ibuc);
}

/*
 * The driver's part of a request, which so much is known of, into zeros. A shorter one leaves
 * them; a longer one asks for nothing that is not known as long as the rest of it is zero, too.
 */
int vnet_copy_request(void *req, size_t size, struct ib_udata *udata);
int vnet_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void vnet_dealloc_ucontext(struct ib_ucontext *ibuc);
void vnet_disassociate_ucontext(struct ib_ucontext *ibuc);
int vnet_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
extern const struct uapi_definition vnet_uapi[];
/* dm.c */
extern const struct uapi_definition vnet_dm_uapi[];

struct vnet_pd {
	struct ib_pd ibpd;
	struct vnet_object obj;
};

/* Never 0, and never an earlier one's. */
static inline u32 vnet_pdn(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct vnet_pd, ibpd)->obj.index;
}

int vnet_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vnet_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

struct vnet_xrcd {
	struct ib_xrcd ibxrcd;
	struct vnet_object obj;
};

/* Never 0. */
static inline u32 vnet_xrcdn(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct vnet_xrcd, ibxrcd)->obj.index;
}

/* group.c */
int vnet_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vnet_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vnet_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vnet_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

struct vnet_ah {
	struct ib_ah ibah;
	/* As it stands in a work request; without the peer's number and key. */
	struct vnet_wqe_ud av;
};

int vnet_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int vnet_destroy_ah(struct ib_ah *ibah, u32 flags);
int vnet_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);

/*
 * A process' entry to the firmware, for as long as its context or a descriptor
 * of its doorbell is open.
 */
struct vnet_door {
	struct kref kref;
	/* Read by those inside; NULL when the context is gone. */
	struct vnet_dev __rcu *dev;
	struct vnet_view view;
	/* In vnet_dev.doors. */
	struct list_head list;
	/* A page to ring by without a trap, and whether it was ever mapped. */
	struct vnet_ring_mem page;
	bool paged;
};

struct vnet_door *vnet_door_make(struct vnet_ucontext *uc);
/* Nobody enters by it any more when this returns. */
void vnet_door_close(struct vnet_door *door);
/* A file that rings when it is told so by ioctl(), or ERR_PTR(). */
struct file *vnet_door_file(struct vnet_door *door);
/* A process rings for one of its queues: runs the firmware; the caller is inside. */
void vnet_ring_send(struct vnet_dev *dev, struct vnet_view *view, u32 qpn);
void vnet_ring_recv(struct vnet_dev *dev, struct vnet_view *view, u32 num, bool is_srq);
void vnet_ring_tags(struct vnet_dev *dev, struct vnet_view *view, u32 srqn);
/*
 * Whoever waits for a receive of this queue, which is the view's, is carried on
 * by who posted it, as `as` may. Only its own peer: not whoever else waits, whose
 * requests may be many and long. The NIC processor looks after those.
 */
void vnet_run_sender(struct vnet_view *view, struct vnet_view *as, u32 num, bool is_srq);
/* The NIC processor: what processes have rung by their pages. Was there any? */
bool vnet_doors_run(struct vnet_dev *dev);
/* Whether they are to trap, because nobody will look; true: something is there. */
bool vnet_doors_sleep(struct vnet_dev *dev, bool sleeps);

/* ------------------------------------------------------------------ memory */

struct vnet_odp;

struct vnet_mr {
	struct ib_mr ibmr;
	struct vnet_object obj;
	u32 key;
	/* Pages of regions; NULL for windows and for all of memory. */
	struct page **pages;
	u32 npages, max_pages;
	struct ib_umem *umem;
	/* Of a dma-buf: how we hold it, and where it is mapped. */
	struct dma_buf_attachment *dmabuf;
	struct iosys_map map;
	/* Paged on demand instead; changed under the mutex, as is what follows. */
	struct vnet_odp *odp;
	struct mutex lock;
	/* What it was registered as. */
	u64 start, length, iova;
};

struct vnet_dm {
	struct ib_dm ibdm;
	struct vnet_ring_mem mem;
};

static inline struct vnet_dm *to_vdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct vnet_dm, ibdm);
}

struct vnet_mw {
	struct ib_mw ibmw;
	struct vnet_object obj;
};

static inline struct vnet_mr *to_vmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct vnet_mr, ibmr);
}

struct ib_mr *vnet_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vnet_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
struct ib_mr *vnet_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *vnet_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);
struct ib_mr *vnet_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_sg);
int vnet_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
int vnet_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *vnet_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova, int fd,
				 int access, vnet_reg_dmabuf_input *input);
int vnet_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs);
int vnet_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vnet_dealloc_mw(struct ib_mw *ibmw);

/* dmabuf.c */
/* It is mapped for the processor: 0 or -errno. */
int vnet_dmabuf_get(struct vnet_dev *dev, struct vnet_mr *mr, int fd, u64 offset, u64 length,
		    int access);
/* NULL is none. */
void vnet_dmabuf_put(struct vnet_mr *mr);

/* odp*.c: addresses are the process' own */

enum vnet_fetch {
	/* Only what is there. */
	VNET_FETCH_NO_FAULT,
	VNET_FETCH_READ,
	VNET_FETCH_WRITE,
};

/* Of the calling process, from there on, with these rights (enum ib_access_flags). */
struct vnet_odp *vnet_odp_make(struct vnet_dev *dev, struct vnet_ucontext *uc, u64 start,
			       int access);
/* Who prefetches holds it: its region may go meanwhile, or become another. */
void vnet_odp_get(struct vnet_odp *odp);
void vnet_odp_put(struct vnet_odp *odp);
/* Nothing is brought any more: it will end. */
void vnet_odp_stop(struct vnet_odp *odp);
/* When nobody finds it any more; NULL is none. May sleep. */
void vnet_odp_free(struct vnet_odp *odp);
/* Is it the calling process'? */
bool vnet_odp_is_own(const struct vnet_odp *odp);
/* 0, or -errno: -EFAULT if they cannot be had. Sleeps until they are there. */
int vnet_odp_prefetch(struct vnet_odp *odp, u64 addr, u64 length, enum vnet_fetch how);
/*
 * Have pages brought, in any context: 0: they are there; -EAGAIN: not yet, and the NIC
 * processor will be woken; -EFAULT: they could not be had since then (ktime_get_ns()).
 */
int vnet_odp_ask(struct vnet_odp *odp, u64 addr, u64 length, bool write, u64 since);

/* Around the look at pages and their use. */
int vnet_copies_lock(void) __acquires(&vnet_copies);
void vnet_copies_unlock(int idx) __releases(&vnet_copies);
bool vnet_odp_is_there(struct vnet_odp *odp, u64 addr, u64 length, bool write);
/*
 * The memory at addr, of at most *have bytes: *have of them in one piece; NULL: it is not
 * there. checked: by vnet_odp_is_there(), since vnet_copies_lock().
 */
void *vnet_odp_at(struct vnet_odp *odp, u64 addr, bool write, bool checked, u64 *have);

/* dm.c */
/* How much of a device's memory is given out: for as long as any of it is, or the device. */
struct vnet_dm_room *vnet_dm_room_make(void);
/* The device is no more. */
void vnet_dm_room_end(struct vnet_dm_room *room);
void vnet_dm_give_back(struct vnet_dm_room *room, size_t size);
struct ib_dm *vnet_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int vnet_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);

/* ------------------------------------------------------------------ queues */

enum vnet_cq_state {
	/* On the list of those that are ready. */
	VNET_CQ_QUEUED,
	/* Its handler is being called; and there is something new for that. */
	VNET_CQ_TELLING,
	VNET_CQ_NEWS,
	/* Its consumer is to look, whatever happened. */
	VNET_CQ_LOOK,
};

struct vnet_cq {
	struct ib_cq ibcq;
	struct vnet_object obj;
	struct vnet_ring_mem ring;
	struct llist_node ready;
	/* Bits: enum vnet_cq_state. */
	unsigned long state;
	/* Kernel consumers: polls, and the entries taken so far. */
	spinlock_t lock;
	u32 cons;
	/* Entries move to another ring; somebody has looked for them meanwhile, and has armed it. */
	bool moving, looked;
	u32 arm;
};

static inline struct vnet_cq *to_vcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct vnet_cq, ibcq);
}

/* The firmware's number of a CQ; its channel is its own, of the same index. */
static inline u32 vnet_cqn(struct ib_cq *ibcq)
{
	return to_vcq(ibcq)->obj.index + 1;
}

int vnet_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   vnet_create_cq_input *input);
int vnet_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int vnet_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vnet_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vnet_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vnet_poll_cq(struct ib_cq *ibcq, int entries, struct ib_wc *wc);

/* A queue of requests that a kernel consumer posts to. */
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
	/* Where tags are matched: operations on them, and the firmware's list, which is not mapped. */
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

int vnet_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int vnet_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int vnet_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vnet_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vnet_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

struct vnet_qp {
	struct ib_qp ibqp;
	struct vnet_object obj;
	struct vnet_wq sq, rq;
	u32 max_inline;
	bool sig_all;
	/* Nobody posts to it: what its send queue has is the device's. */
	bool unposted;
	/* How it spreads frames, if that is all that it does: struct nic_rss. */
	struct vnet_ring_mem spread;
	/* Of a process: the entry by which it rings. */
	struct vnet_view *view;
};

static inline struct vnet_qp *to_vqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct vnet_qp, ibqp);
}

/* Queue pair 1 is one of datagrams, too, and ib_mad's. */
static inline bool vnet_is_datagram(const struct vnet_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI;
}

int vnet_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int vnet_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
void vnet_qp_fill_cap(const struct vnet_qp *qp, struct ib_qp_cap *cap);
int vnet_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int vnet_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
/* A number for one of this type: 0, -ENOMEM or -EAGAIN; -EBUSY: there is a queue pair 1. */
int vnet_qp_number(struct vnet_dev *dev, struct vnet_qp *qp, enum ib_qp_type type);
/* The firmware knows it no more; what it has counted stays. */
void vnet_qp_leave(struct vnet_dev *dev, struct vnet_qp *qp);
void vnet_qp_free_rings(struct vnet_qp *qp);
/* A queue that is reset has forgotten what was posted. */
void vnet_wq_forget(struct vnet_wq *wq);
int vnet_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int vnet_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

/* ----------------------------------------------------------------- queries */

extern const struct ib_device_ops vnet_ops;

int vnet_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
int vnet_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int vnet_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vnet_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer vnet_link_layer(struct ib_device *ibdev, u32 port);
void vnet_fw_str(struct ib_device *ibdev, char *str);
int vnet_add_gid(const struct ib_gid_attr *attr, void **context);
int vnet_del_gid(const struct ib_gid_attr *attr, void **context);

/* counters.c */
/* Of a queue pair that the firmware has ended: it goes on counting in the port's sums. */
void vnet_retire_qp(struct vnet_dev *dev, u32 index);
/* Of all queue pairs, those that are no more among them. May sleep. */
void vnet_count_qps(struct vnet_dev *dev, struct nic_qp_counters *sum);
/* Before the first device. */
void vnet_name_stats(void);
struct rdma_hw_stats *vnet_alloc_stats(struct ib_device *ibdev, u32 port);
int vnet_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);
/* pma.c */
int vnet_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *mad, struct ib_mad *answer,
		     size_t *size, u16 *pkey_index);

#endif /* VNET_IB_H */
