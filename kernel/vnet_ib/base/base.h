/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * vnet_ib, the RDMA driver that runs the vnet firmware in the kernel: what all of its rooms use.
 * The state of a device, entries to the firmware (views), numbers of objects, contexts, quotas,
 * and the platform functions (plat_*) that need no other room.
 *
 * Calls the firmware only. Takes vnet_numbers.lock and, innermost, vnet_numbers.xa.
 *
 * Each object of the InfiniBand core is embedded in a structure of the driver that has the
 * number by which the firmware knows it. NIC memory is not mapped by processes: of the memory
 * that the firmware reads, a process can write the rings of its own queues only.
 *
 * Lock order of the driver, outermost first:
 *   (RTNL)
 *   vnet_devices_lock     mutex, device/device.c: the list of devices
 *   vnet_link.keys_lock   mutex, link/keys.c: the given keys
 *   vnet_dev.commands     mutex: one command of the firmware at a time
 *   vnet_wq.lock          posts of a kernel consumer to one queue
 *   vnet_cq.lock          polls of a kernel consumer of one queue
 *   vnet_dev.retired_lock mutex: counters of destroyed queue pairs
 *   vnet_dev.doors_lock   mutex: the list of doorbells
 *   (lock words of the firmware, which are tried with a bounded spin)
 *   vnet_numbers.xa       innermost
 */
#ifndef VNET_IB_BASE_H
#define VNET_IB_BASE_H

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

/*
 * SRCU domain of all callers of the firmware, in any context. The firmware reads rings without
 * the locks that their destruction takes, so the memory of a ring is freed after a grace period
 * of this domain.
 */
extern struct srcu_struct vnet_inside;

/* Bytes copied on this processor since softirqs were last enabled, each copy with a surcharge. */
DECLARE_PER_CPU(u32, vnet_copied);

/*
 * Bracket calls of the firmware from task context. Softirqs are disabled, so that a receiver's
 * tasklet does not interrupt a task that holds a lock of the firmware, and spin for it in vain.
 * plat_copy() enables softirqs for long copies, plat_yield() after each stretch of requests.
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
	/* Objects of raw packet queue pairs: verbs/. */
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
	/* The link to other NICs: link/. */
	struct vnet_link *link;
};

static inline struct vnet_dev *to_vdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vnet_dev, ibdev);
}

/* ------------------------------------------------------- request.c: commands */

/* Convert a result of the firmware to 0 or a negative errno. */
int vnet_errno(enum nic_result result);
/*
 * Copy the driver-specific part of a request to *req, which the caller has set to zero. A
 * shorter request leaves the rest zero. A longer one returns -EINVAL unless its unknown tail is
 * zero.
 */
int vnet_copy_request(void *req, size_t size, struct ib_udata *udata);

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

struct vnet_pd {
	struct ib_pd ibpd;
	struct vnet_object obj;
};

/* Never 0. Indices are not reused soon. */
static inline u32 vnet_pdn(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct vnet_pd, ibpd)->obj.index;
}

#endif /* VNET_IB_BASE_H */
