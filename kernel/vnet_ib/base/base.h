/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Private header of vnet_ib, the RDMA driver that runs the vnet firmware in the kernel.
 *
 * Each object of the InfiniBand core is embedded in a structure of the driver that has the
 * number by which the firmware knows it. NIC memory is not mapped by processes: of the memory
 * that the firmware reads, a process can write the rings of its own queues only.
 *
 * Lock order, outermost first:
 *   (RTNL)
 *   vnet_devices_lock     mutex, device.c: the list of devices
 *   vnet_dev.commands     mutex: one command of the firmware at a time
 *   vnet_wq.lock          posts of a kernel consumer to one queue
 *   vnet_cq.lock          polls of a kernel consumer of one queue
 *   vnet_dev.retired_lock mutex: counters of destroyed queue pairs
 *   vnet_dev.doors_lock   mutex: the list of doorbells
 *   (lock words of the firmware, which are tried with a bounded spin)
 *   vnet_numbers.xa       innermost
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
	/*
	 * Limits of one shared receive queue with tag matching: tags, and outstanding tag
	 * operations.
	 */
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
	/* The GSI queue pair, and the first index of ordinary queue pairs. */
	VNET_QP1 = 1,
	VNET_FIRST_QP = 2,
	/* Other NICs (rows) that a device can know at a time. */
	VNET_MAX_ROWS = 64,
	/* Endpoint frames: default and upper limit of the module parameter `frames`. */
	VNET_MAX_FRAMES = 256,
	VNET_MOST_FRAMES = 8192,
	VNET_VENDOR_ID = 0x766e,
	VNET_PART_ID = 0x6574,
};

/*
 * Page list of a pinned region. kvmalloc() allocates at most INT_MAX bytes. A region of
 * VNET_MAX_MR_SIZE that does not begin at a page boundary has one page more.
 */
#define VNET_MAX_MR_PAGES (INT_MAX / sizeof(struct page *))
#define VNET_MAX_MR_SIZE ((VNET_MAX_MR_PAGES - 1) * (u64)PAGE_SIZE)
/* Device memory of one device, in bytes. */
#define VNET_MAX_DM_SIZE (1ul << 20)
/* How long an unreliable sender waits for a receive before its message is dropped. */
#define VNET_STALL_NS (50 * NSEC_PER_MSEC)

/* Values of struct nic.space. They tell the firmware what an address refers to. */
enum vnet_spaces {
	/* Memory regions: plat_copy() finds the pages by the index of the region. */
	VNET_SPACE_PAGES = 1,
	/* Queues of kernel consumers. Each user context has a number of its own above. */
	VNET_SPACE_KERNEL = 1,
	VNET_SPACE_FIRST_USER = 2,
};

/* ------------------------------------------------- number.c: named objects */

struct vnet_dev;

/* Part of each object that the firmware knows by a number. */
struct vnet_object {
	u32 index;
	/*
	 * One reference for the object's life, and one for each event that is being delivered to
	 * it.
	 */
	refcount_t refs;
	struct completion gone;
};

/* The index allocator of one table, and the objects by index. */
struct vnet_numbers {
	struct xarray xa;
	struct mutex lock;
	struct nic_pool pool;
	u32 first;
	/*
	 * The last number drawn for each index, so that vnet_number_draw() draws a different
	 * one.
	 */
	u32 *last;
};

typedef enum nic_result vnet_draw_fn(struct nic *nic, u32 index, u32 last, u32 *number);

/*
 * Manage the indices in [first, count). Returns 0 or -ENOMEM; vnet_numbers_fini() is valid after
 * both.
 */
int vnet_numbers_init(struct vnet_numbers *numbers, u32 first, u32 count);
void vnet_numbers_fini(struct vnet_numbers *numbers);
/* Assign a free index to obj. Returns 0 or -ENOMEM. May sleep. */
int vnet_number_get(struct vnet_numbers *numbers, struct vnet_object *obj);
/*
 * Assign obj a random index and a random number that contains it. `draw` is nic_qpn_draw(),
 * nic_srqn_draw() or nic_key_draw(). Returns 0, -ENOMEM, or -EAGAIN if there are no random
 * bytes. May sleep.
 */
int vnet_number_draw(struct vnet_dev *dev, struct vnet_numbers *numbers, vnet_draw_fn *draw,
		     struct vnet_object *obj, u32 *number);
/* Assign a fixed index below `first`. Returns 0, -EBUSY if it is in use, or -ENOMEM. May sleep. */
int vnet_number_claim(struct vnet_numbers *numbers, struct vnet_object *obj, u32 index);
/* Make obj unfindable, wait until all references are dropped, and free its index. May sleep. */
void vnet_number_end(struct vnet_numbers *numbers, struct vnet_object *obj);
/* Look up an object by index and take a reference. Returns NULL if there is none. Any context. */
struct vnet_object *vnet_object_get(struct vnet_numbers *numbers, u32 index);
void vnet_object_put(struct vnet_object *obj);

/* ------------------------------------------------------ views of the NIC */

/* One way to enter the firmware: its struct nic, and what its callers may do. */
struct vnet_view {
	struct nic nic;
	struct vnet_dev *dev;
	/* Callers are in task context: a process, or the NIC processor. */
	bool may_sleep;
	/*
	 * Callers may call the network stack. False for kernel consumers, who may hold locks
	 * that the network stack takes.
	 */
	bool may_send;
};

/* Bytes copied on this processor since softirqs were last enabled, each copy with a surcharge. */
DECLARE_PER_CPU(u32, vnet_copied);

/*
 * Bracket calls of the firmware from task context. Softirqs are disabled, so that a receiver's
 * tasklet does not interrupt a task that holds a lock of the firmware, and spin for it in vain.
 * plat_copy() enables softirqs for long copies, plat_turn() after each stretch of requests.
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

/* Counters of on-demand paging, for users that have reached their share of windows. */
struct vnet_odp_counters {
	/* Windows evicted in favour of others of the same user. */
	atomic64_t yields;
	/* Requests that had to wait for an eviction, and requests that failed. */
	atomic64_t waits, no_room;
};

struct vnet_dev {
	struct ib_device ibdev;
	struct list_head list;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;

	void *memory;
	u64 memory_size;
	/*
	 * View of the NIC processor and of commands; receivers have copies. It may run all
	 * queues.
	 */
	struct vnet_view agent;
	/* View of kernel consumers, which may be in atomic context. */
	struct vnet_view kernel;

	struct mutex commands;
	/*
	 * struct vnet_door of each context: added and removed under doors_lock, read under
	 * vnet_inside.
	 */
	struct list_head doors;
	struct mutex doors_lock;
	struct vnet_numbers qps, cqs, srqs, mrs, pds, xrcds, spaces;
	/* Objects of raw packet queue pairs: see frames.h. */
	struct vnet_numbers tables, flows, flow_counters;
	/* Regions with memory, by index, for plat_copy(). */
	struct vnet_mr **mr;
	/* Number of regions that are paged on demand. */
	atomic_t on_demand;
	struct vnet_odp_counters odp_counters;
	/*
	 * Counters of destroyed queue pairs. A queue pair counts either here or in its own
	 * entry.
	 */
	struct nic_qp_counters retired;
	struct mutex retired_lock;
	/* Transitions of the port to down. Written under RTNL. */
	u32 downs;
	/* Accounting of device memory. */
	struct vnet_dm_room *dm_room;

	/* CQs with completion events that have not been delivered yet. */
	struct llist_head ready;
	/* Calls completion handlers if the current context must not. */
	struct irq_work tell;
	struct task_struct *processor;
	atomic_t kicked;
	/* The link to other NICs: see link.h. */
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

/* link_files.c: whether the caller has CAP_NET_ADMIN in the net device's namespace. */
bool vnet_may_configure(const struct vnet_dev *dev);

/* fault.c: create the sysfs files of a registered device. They are removed with the device. */
void vnet_fault_offer(struct vnet_dev *dev);

/* crc.c: choose the CRC32C implementation. Call it before the first frame. */
void vnet_crc_choose(void);

/* processor.c */
int vnet_processor_start(struct vnet_dev *dev);
void vnet_processor_stop(struct vnet_dev *dev);
/*
 * Execute up to `budget` requests of a send queue, for callers in atomic context or on behalf of
 * another process. What is left is pending for the NIC processor. A process' view only runs
 * queues of that process. The caller is in a read section of vnet_inside.
 */
void vnet_run_turn(struct vnet_view *view, u32 qpn, u32 budget);
/* The same, but leave all requests to the NIC processor. */
void vnet_run_later(struct vnet_view *view, u32 qpn);
/*
 * Send the frames and deliver the completion events of the calls of the firmware so far.
 * Completion handlers are called from here, so the caller holds no locks. Task context, or a
 * softirq that has not interrupted a consumer.
 */
void vnet_tell(struct vnet_dev *dev);
/*
 * The same for kernel consumers, which may hold locks: a tasklet sends the frames, and an
 * irq_work calls the handlers. Any context.
 */
void vnet_tell_later(struct vnet_dev *dev);
/*
 * The same for verbs commands, whose callers may hold locks that handlers take: frames are sent
 * at once, and an irq_work calls the handlers.
 */
void vnet_tell_command(struct vnet_dev *dev);
/* Queue a CQ for the next of these calls. Any context. */
void vnet_cq_ready(struct vnet_dev *dev, u32 index);
/*
 * Call the firmware until it does not answer NIC_BUSY; the value is its result. dev->commands is
 * held, and is released between two attempts. May sleep.
 */
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
/* Convert a result of the firmware to 0 or a negative errno. */
int vnet_errno(enum nic_result result);

/* ------------------------------------------------------------------- rings */

/*
 * SRCU domain of all callers of the firmware, in any context. The firmware reads rings without
 * the locks that their destruction takes, so the memory of a ring is freed after a grace period
 * of this domain.
 */
extern struct srcu_struct vnet_inside;

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
	/* Device memory: its accounting, and the user who allocated it. Otherwise room is NULL. */
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

/* ---------------------------------------------------------------- contexts */

struct vnet_ucontext {
	struct ib_ucontext ibuc;
	struct vnet_object obj;
	struct vnet_door *door;
	/*
	 * Workqueue that faults in pages of its on-demand regions. NULL before the first such
	 * region.
	 */
	struct workqueue_struct *pagers;
};

static inline struct vnet_ucontext *to_vuc(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct vnet_ucontext, ibuc);
}

/*
 * Copy the driver-specific part of a request to *req, which the caller has set to zero. A
 * shorter request leaves the rest zero. A longer one returns -EINVAL unless its unknown tail is
 * zero.
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

/* Never 0. Indices are not reused soon. */
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
	/* Address vector in the format of a work request, without the remote QPN and Q_Key. */
	struct vnet_wqe_ud av;
};

int vnet_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int vnet_destroy_ah(struct ib_ah *ibah, u32 flags);
int vnet_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);

/*
 * A process' entry to the firmware: its doorbell descriptors and its doorbell page. It exists
 * until the context and all doorbell descriptors are closed.
 */
struct vnet_door {
	struct kref kref;
	/* Read under vnet_inside. NULL after the context is closed. */
	struct vnet_dev __rcu *dev;
	struct vnet_view view;
	/* Entry in vnet_dev.doors. */
	struct list_head list;
	/*
	 * Doorbell page, which is rung without a system call, and whether it has ever been
	 * mapped.
	 */
	struct vnet_ring_mem page;
	bool paged;
};

struct vnet_door *vnet_door_make(struct vnet_ucontext *uc);
/* Called when the context ends. On return, no thread is in the firmware by this entry. */
void vnet_door_close(struct vnet_door *door);
/* Returns a new file whose ioctl() rings doorbells, or ERR_PTR(). */
struct file *vnet_door_file(struct vnet_door *door);
/*
 * Run the firmware for a doorbell that a process rang for one of its queues. The caller is in a
 * read section of vnet_inside.
 */
void vnet_ring_send(struct vnet_dev *dev, struct vnet_view *view, u32 qpn);
void vnet_ring_recv(struct vnet_dev *dev, struct vnet_view *view, u32 num, bool is_srq);
void vnet_ring_tags(struct vnet_dev *dev, struct vnet_view *view, u32 srqn);
/*
 * After a receive was posted to a queue that `view` owns: give a turn to the send queue of its
 * connected peer, in the view `as`. Senders to shared receive queues and datagram queue pairs
 * are left to the NIC processor: there may be many of them, with long requests.
 */
void vnet_run_sender(struct vnet_view *view, struct vnet_view *as, u32 num, bool is_srq);
/*
 * NIC processor: run the queues that processes have marked in their doorbell pages. Returns
 * whether any page had a mark.
 */
bool vnet_doors_run(struct vnet_dev *dev);
/*
 * NIC processor: store in all doorbell pages whether a doorbell needs a system call, because
 * pages are not polled. Returns whether any page has a mark.
 */
bool vnet_doors_sleep(struct vnet_dev *dev, bool sleeps);

/* ------------------------------------------------------------------ memory */

struct vnet_odp;

struct vnet_mr {
	struct ib_mr ibmr;
	struct vnet_object obj;
	u32 key;
	/* Page list of a pinned region. NULL for windows, DMA keys, and other kinds of memory. */
	struct page **pages;
	u32 npages, max_pages;
	struct ib_umem *umem;
	/* Imported dma-buf: its attachment and kernel mapping. */
	struct dma_buf_attachment *dmabuf;
	struct iosys_map map;
	/* On-demand memory, instead of a page list. `lock` protects it and the fields below. */
	struct vnet_odp *odp;
	struct mutex lock;
	/* As registered by the process. */
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
/* Import the dma-buf `fd` and map it for the processor. Returns 0 or a negative errno. */
int vnet_dmabuf_get(struct vnet_dev *dev, struct vnet_mr *mr, int fd, u64 offset, u64 length,
		    int access);
/* No effect if the region has no dma-buf. */
void vnet_dmabuf_put(struct vnet_mr *mr);

/* odp*.c: on-demand paging. Addresses are those of the owning process. */

enum vnet_fetch {
	/* Only look up pages that are present. */
	VNET_FETCH_NO_FAULT,
	VNET_FETCH_READ,
	VNET_FETCH_WRITE,
};

/*
 * On-demand memory of the calling process from address `start` on. access: enum ib_access_flags.
 * Returns an ERR_PTR() on failure.
 */
struct vnet_odp *vnet_odp_make(struct vnet_dev *dev, struct vnet_ucontext *uc, u64 start,
			       int access);
/*
 * Hold a reference during a prefetch, as the region may be deregistered or reregistered
 * meanwhile.
 */
void vnet_odp_get(struct vnet_odp *odp);
void vnet_odp_put(struct vnet_odp *odp);
/* Bring no more pages: the region is about to end. */
void vnet_odp_stop(struct vnet_odp *odp);
/* End the memory, after it has become unfindable. NULL is allowed. May sleep. */
void vnet_odp_free(struct vnet_odp *odp);
/* Whether it is memory of the calling process. */
bool vnet_odp_is_own(const struct vnet_odp *odp);
/*
 * Bring the pages of a range, and wait for them. Returns 0, -EFAULT if a page cannot be brought,
 * -EINTR if the caller is killed, or another negative errno. Sleeps.
 */
int vnet_odp_prefetch(struct vnet_odp *odp, u64 addr, u64 length, enum vnet_fetch how);
/*
 * Request the pages of a range. Returns 0 if they are present; -EAGAIN if not yet: then the NIC
 * processor is woken later; -EFAULT if they could not be brought when it was tried at time
 * `since` (ktime_get_ns()) or later. since == U64_MAX: the request is advice. Any context.
 */
int vnet_odp_ask(struct vnet_odp *odp, u64 addr, u64 length, bool write, u64 since);

/* SRCU read section of a copy, from the look-up of on-demand pages to the end of their use. */
int vnet_copies_lock(void) __acquires(&vnet_copies);
void vnet_copies_unlock(int idx) __releases(&vnet_copies);
bool vnet_odp_is_there(struct vnet_odp *odp, u64 addr, u64 length, bool write);
/*
 * Returns the kernel address of the memory at `addr`, or NULL if it is not present. *have: in,
 * the bytes wanted; out, how many of them are contiguous. `checked`: vnet_odp_is_there() has
 * found the range present since vnet_copies_lock(); then a page that is being invalidated may
 * still be used.
 */
void *vnet_odp_at(struct vnet_odp *odp, u64 addr, bool write, bool checked, u64 *have);

/* dm.c */
/* Accounting of a device's memory. It lives as long as the device or any of the memory. */
struct vnet_dm_room *vnet_dm_room_make(void);
/* Drop the device's reference. */
void vnet_dm_room_end(struct vnet_dm_room *room);
void vnet_dm_give_back(struct vnet_dm_room *room, kuid_t owner, size_t size);
struct ib_dm *vnet_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int vnet_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);

/* ------------------------------------------------------------------ queues */

enum vnet_cq_state {
	/* On the list vnet_dev.ready. */
	VNET_CQ_QUEUED,
	/* TELLING: a completion handler is running. NEWS: events have arrived since it began. */
	VNET_CQ_TELLING,
	VNET_CQ_NEWS,
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

int vnet_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   vnet_create_cq_input *input);
int vnet_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int vnet_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vnet_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vnet_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vnet_poll_cq(struct ib_cq *ibcq, int entries, struct ib_wc *wc);

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

int vnet_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int vnet_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
void vnet_qp_fill_cap(const struct vnet_qp *qp, struct ib_qp_cap *cap);
int vnet_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int vnet_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
/*
 * Assign a number to a queue pair of this type. Returns 0, -ENOMEM, -EAGAIN, or -EBUSY if there
 * is a queue pair 1 already.
 */
int vnet_qp_number(struct vnet_dev *dev, struct vnet_qp *qp, enum ib_qp_type type);
/* Destroy the firmware's queue pair, and keep its counters in the port's sums. */
void vnet_qp_leave(struct vnet_dev *dev, struct vnet_qp *qp);
void vnet_qp_free_rings(struct vnet_qp *qp);
/* After a reset: continue at the ring's producer index, without the requests posted before. */
void vnet_wq_forget(struct vnet_wq *wq);
int vnet_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int vnet_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

/* ------------------------------------------------------------------ quotas */

/* Whether the calling process has quotas. One with CAP_SYS_RESOURCE has none. */
bool vnet_has_quota(void);
/*
 * A user may hold at most as much of a table as it leaves free, so that there is room for others.
 * own, all: what the user and all users hold, including the request.
 */
static inline bool vnet_in_quota(u64 own, u64 all, u64 limit)
{
	return own + all <= limit;
}
/* The most that a process may hold of a table. */
static inline u64 vnet_quota(u64 limit)
{
	return vnet_has_quota() ? limit / 2 : limit;
}

/* quota.c: for processes with quotas. The caller holds dev->commands. */
/*
 * Whether a queue pair may be connected by this path. It needs a row, which counts unless another
 * queue pair of the user has it.
 */
bool vnet_may_connect(struct vnet_dev *dev, const struct vnet_qp *qp,
		      const struct nic_qp_attr *attr);
/* Whether another queue pair of the user may be attached to a multicast group. */
bool vnet_may_join(struct vnet_dev *dev);

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
/*
 * Move the counters of a destroyed queue pair to dev->retired, so that the port's sums keep
 * them.
 */
void vnet_retire_qp(struct vnet_dev *dev, u32 index);
/* Sum of the counters of all queue pairs, past and present. May sleep. */
void vnet_count_qps(struct vnet_dev *dev, struct nic_qp_counters *sum);
/* Call it before the first device is created. */
void vnet_name_stats(void);
struct rdma_hw_stats *vnet_alloc_stats(struct ib_device *ibdev, u32 port);
int vnet_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);
/* pma.c */
int vnet_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *mad, struct ib_mad *answer,
		     size_t *size, u16 *pkey_index);

#endif /* VNET_IB_H */
