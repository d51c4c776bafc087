/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of uverbs: requests, objects, and the operations of both front ends (write
 * and ioctl).
 *
 * Functions that can fail return 0, a negative errno value, or UV_PARK: call the handler again
 * later; it has changed nothing that a repetition would not change in the same way.
 *
 * Creation of an object: a handler validates the request, reserves resources (handle, numbers,
 * queue memory), writes the complete response into the process' memory, and stores the object in
 * uv_request.created. Only then the front end creates it in the NIC (uv_class.start), which is
 * the last step that can fail. So nothing is ever undone in the NIC, and a repeated handler
 * starts afresh.
 */
#ifndef UVERBS_OBJECTS_H
#define UVERBS_OBJECTS_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "alloc.h"
#include "uverbs.h"

#define UV_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Bytes of a structure up to the end of a member. */
#define UV_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Limits that query_device reports and that are enforced. */
enum uv_limits {
	UV_MAX_QP_WR = 16384,
	UV_MAX_SRQ_WR = 16384,
	UV_MAX_CQE = 1 << 20,
	UV_MAX_RD_ATOMIC = 16,
	UV_MAX_PD = 1 << 15,
	UV_MAX_AH = 1 << 16,
	UV_MAX_XRCD = 1 << 12,
	/* Indirection tables of work queues. */
	UV_MAX_TABLES = 1 << 10,
	UV_COMP_VECTORS = 1,
	/* CQ moderation: completions, and microseconds. */
	UV_MAX_EVENT_COUNT = 0xffff,
	UV_MAX_EVENT_PERIOD = 0xffff,
	UV_PORTS = 1,
	/* Tag matching: tags per shared receive queue, and slots for operations. */
	UV_MAX_TAGS = 1024,
	UV_TAG_OPS = 256,
	/* Unread asynchronous events kept for one object or device. */
	UV_MAX_UNREAD = 64,
};

/* Completion timestamps are in nanoseconds of the NIC clock. */
#define UV_CLOCK_KHZ 1000000
/* Limit of device memory (DM) of all processes. */
#define UV_MAX_DM_SIZE (1ull << 20)
#define UV_MAX_MR_SIZE (1ull << 47)
#define UV_DEVICE_CAPS                                                                             \
	(IB_UVERBS_DEVICE_BAD_QKEY_CNTR | IB_UVERBS_DEVICE_CURR_QP_STATE_MOD |                     \
	 IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |                    \
	 IB_UVERBS_DEVICE_RC_RNR_NAK_GEN | IB_UVERBS_DEVICE_MEM_WINDOW |                           \
	 IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B |               \
	 IB_UVERBS_DEVICE_XRC | IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING)
/*
 * The same in 64 bits, with IBV_DEVICE_FLUSH_GLOBAL and IBV_DEVICE_ATOMIC_WRITE, which older kernel
 * headers lack.
 */
#define UV_DEVICE_CAPS_EX (UV_DEVICE_CAPS | 1ull << 38 | 1ull << 40)

struct uv_request;
struct uv_events;

/* ---------------------------------------------------------------- objects */

struct uv_object;

struct uv_class {
	/* enum uverbs_default_objects */
	u16 type;
	/* The object has a descriptor instead of a handle. */
	bool is_file;
	size_t size;
	/* Creates the object in the NIC or the core, after the response was written. */
	int (*start)(struct uv_request *req, struct uv_object *obj);
	/* Whether destroy commands are refused; closing the file ignores this. NULL: never. */
	bool (*is_held)(const struct uv_object *obj);
	/* Removes the object from the NIC; called again while it returns UV_PARK. */
	int (*stop)(struct uv_object *obj);
	/* Frees the object's resources, except its own memory. */
	void (*release)(struct uv_object *obj);
};

struct uv_object {
	const struct uv_class *class;
	struct uctx *ctx;
	struct device *device;
	/* Client in whose address space the object was created; NULL for files. */
	struct client *client;
	u32 handle;
	/* References by other objects. */
	u32 uses;
	/* Created in the NIC; only live objects are found by look-ups. */
	bool live;
	/* Destruction has begun, and is parked. */
	bool dying;
	/* The process' user_handle, for events. */
	u64 user_handle;
	/* Receives its asynchronous events; may be NULL. */
	struct uv_events *events;
	u32 events_unread;
	u32 events_reported;
};

struct uv_pd {
	struct uv_object obj;
	u32 pdn;
};

struct uv_ah {
	struct uv_object obj;
	struct uv_pd *pd;
	u32 index;
};

struct uv_channel {
	struct uv_object obj;
	/* NULL once the program has closed it; the channel is kept while CQs use it. */
	struct file *file;
	/* Inode of the program's end, which identifies its descriptor. */
	u64 inode;
	u32 index;
	u32 generation;
	struct uv_channel *next;
};

/* An asynchronous event file, and its unread events. */
struct uv_events {
	struct uv_object obj;
	/* NULL once the program has closed it; the object is kept while others use it. */
	struct file *file;
	u64 inode;
	struct uv_record *head;
	struct uv_record **tail;
	/* Number of unread events of the device. */
	u32 device_unread;
	struct uv_events *next;
};

struct uv_cq {
	struct uv_object obj;
	struct uv_channel *channel;
	u32 cqn;
	u32 entries;
	u32 flags;
	struct uv_block *ring;
	/* Number of completion events read; valid after stop. */
	u32 comp_events;
	/* Deadline of a resize that waits for stalled sends (NIC clock); 0: none. */
	u64 stall_deadline;
};

/* An XRC domain, shared by all that have opened it. */
struct uv_domain {
	u32 number;
	u32 uses;
	/* Descriptor of the file that identifies the domain, or -1. */
	int file;
	u64 dev;
	u64 inode;
	struct uv_target *targets;
	struct uv_domain *next;
};

/* A context's reference to an XRC domain. */
struct uv_xrcd {
	struct uv_object obj;
	struct uv_domain *domain;
};

/* An XRC target queue pair, shared by all that have opened it. */
struct uv_target {
	struct nic_qp_params params;
	struct uv_domain *domain;
	struct uv_block *sq;
	/* Created in the NIC. */
	bool live;
	struct uv_qp *opened;
	struct uv_target *next;
};

struct uv_srq {
	struct uv_object obj;
	struct uv_pd *pd;
	/* XRC domain; NULL for other types. */
	struct uv_xrcd *xrcd;
	/* CQ for XRC and tag matching; else NULL. */
	struct uv_cq *cq;
	struct uv_block *ring;
	/* Memory for tag matching; else NULL. */
	struct uv_block *tags;
	struct uv_block *ops;
	struct nic_srq_params params;
	u32 srqn;
};

/* Members that the type does not have are NULL. */
struct uv_qp {
	struct uv_object obj;
	struct uv_pd *pd;
	struct uv_cq *send_cq;
	struct uv_cq *recv_cq;
	/* NULL: own receive queue, or none. */
	struct uv_srq *srq;
	struct uv_block *sq;
	struct uv_block *rq;
	struct nic_qp_params params;
	/* Number of multicast groups it is attached to. */
	u32 groups;
	/* Deadline for multicast messages to be sent before destruction (NIC clock); 0: none. */
	u64 lingers_until;
	/* XRC target: its domain, the shared target, and the next opener. */
	struct uv_xrcd *xrcd;
	struct uv_target *target;
	struct uv_qp *next_opened;
	/*
	 * RSS: the indirection table and the hash parameters, with their copy in NIC memory. The
	 * NIC knows them by flows only. On destruction: the grace period to wait for.
	 */
	struct uv_table *table;
	struct uv_block *spread;
	struct nic_rss rss;
	bool leaves;
	u32 grace;
};

/* A work queue; in the NIC, a queue pair that only receives. */
struct uv_wq {
	struct uv_object obj;
	struct uv_pd *pd;
	struct uv_cq *cq;
	/* Not used. */
	struct uv_block *sq;
	struct uv_block *rq;
	struct nic_qp_params params;
};

/* An indirection table: 2^log_size work queues. */
struct uv_table {
	struct uv_object obj;
	u32 number;
	u32 log_size;
	struct uv_wq *wq[1 << NIC_MAX_RSS_LOG];
};

struct uv_flow_counters {
	struct uv_object obj;
	u32 index;
};

struct uv_flow {
	struct uv_object obj;
	struct uv_qp *qp;
	/* May be NULL. */
	struct uv_flow_counters *counters;
	u32 index;
	struct nic_flow params;
};

/* Device memory. */
struct uv_dm {
	struct uv_object obj;
	struct uv_block *block;
	u64 length;
};

/* A memory region, or a window. */
struct uv_mr {
	struct uv_object obj;
	struct uv_pd *pd;
	/* Device memory that the region covers; NULL: process memory. */
	struct uv_dm *dm;
	u32 index;
	struct nic_mr_params params;
};

/* An open uverbs file. */
struct uctx {
	struct file *file;
	struct device *device;
	/* Set by GET_CONTEXT, which nearly all other commands require. */
	bool open;
	/* Objects by handle; NULL: free. */
	struct uv_object **object;
	u32 capacity;
	/* No handle below this one is free. */
	u32 lowest_free;
	struct uv_channel *channels;
	struct uv_events *events;
	/* Used by objects that name no event file. */
	struct uv_events *default_events;
	struct uctx *next;
};

/* -- object.c */

/* Allocates an object and its handle; it is not live yet. -EINVAL: no context; -ENOMEM. */
int uv_object_new(struct uv_request *req, const struct uv_class *class, struct uv_object **out);
/* Frees an object that was released, or never completed. */
void uv_object_drop(struct uv_object *obj);
/* Finds a live object by handle. -ENOENT; -EINVAL: other type; -EBUSY: dying. */
int uv_object_find(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out);
/* Likewise; NULL on any error, for which most write commands return -EINVAL. */
struct uv_object *uv_object_read(struct uv_request *req, u16 type, u32 handle);
/* Likewise, for destruction: also finds dying objects. */
int uv_object_find_dying(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out);
/* Removes an object from the NIC; -EBUSY while others use it. uv_object_free() follows. */
int uv_object_stop(struct uv_object *obj);
void uv_object_free(struct uv_object *obj);
/* Stops and frees an object, and stores how many of its events were read. */
int uv_object_end(struct uctx *ctx, u16 type, u64 handle, u32 *events_reported);
/* Likewise, for objects that report no events. */
int uv_object_destroy(struct uctx *ctx, u16 type, u64 handle);
/* Destroys all objects of a context; UV_PARK: call again. */
int uv_object_destroy_all(struct uctx *ctx);
/* Lists handles of live objects of a type, at most max. Returns their number. */
u32 uv_object_list(const struct uctx *ctx, u16 type, u32 *handles, u32 max);

static inline void uv_use(struct uv_object *obj)
{
	obj->uses++;
}

static inline void uv_unuse(struct uv_object *obj)
{
	obj->uses--;
}

/* --------------------------------------------------------------- requests */

/* A parsed attribute of an ioctl; see ioctl.h. */
struct uv_attr {
	bool present;
	/* Index among the attributes in the process' memory. */
	u16 position;
	u16 flags;
	u16 length;
	u64 data;
	struct uv_object *object;
};

#define UV_MAX_ATTRS 18

struct uv_method;

/* A command that is being executed, for both front ends. */
struct uv_request {
	struct call *call;
	struct uctx *ctx;
	struct device *device;
	struct client *client;
	/* The core part: request in the daemon's memory, response in the process' memory. */
	const u8 *in;
	u32 in_length;
	u64 out;
	u32 out_length;
	/* The driver-specific part. */
	const u8 *driver_in;
	u32 driver_in_length;
	u64 driver_out;
	u32 driver_out_length;
	/* Object that the handler created: uv_finish() starts or frees it. */
	struct uv_object *created;
	/* The command opens the context. */
	bool opens;
	/* Where the preload library stores the number of a created descriptor, and its size. */
	u64 fd_addr;
	u32 fd_size;
	/* ioctl only: attributes, in the order of the method's table. */
	const struct uv_method *method;
	struct uv_attr attr[UV_MAX_ATTRS];
};

/* -- request.c */

/* Copies the request, zero-padded. Bytes beyond `size` must be zero (-EOPNOTSUPP). */
int uv_get(struct uv_request *req, void *dst, size_t size);
/* Writes the response, truncated or zero-padded to the process' buffer. */
int uv_respond(struct uv_request *req, const void *src, size_t size);
/* response_length: bytes of a response of `size` that fit the process' buffer. */
u32 uv_response_length(const struct uv_request *req, size_t size);
/* Likewise for the driver-specific part, where unknown non-zero bytes give -EINVAL. */
int uv_get_driver(struct uv_request *req, void *dst, size_t size);
int uv_respond_driver(struct uv_request *req, const void *src, size_t size);
/* Zeroes a range of the process' memory. */
int uv_clear_user(struct uv_request *req, u64 addr, u64 length);
/* After a handler returned `err`: starts the object that it created, or frees it. */
int uv_finish(struct uv_request *req, int err);
/* Converts a result to that of the call. value: return value on success. */
enum call_outcome uv_answer(struct call *call, int err, s32 value);

/* -- destroy.c */

/* Reads a handle that follows a comp_mask. Returns `unknown` if the mask is not zero. */
int uv_get_masked_handle(struct uv_request *req, int unknown, u32 *handle);
/* Executes DESTROY_QP or DESTROY_SRQ. */
int uv_destroy_count_events(struct uv_request *req, u16 type);
/* Likewise for ioctls, with these attributes. */
int uv_ioctl_destroy_count_events(struct uv_request *req, u16 handle, u16 answer);

/* --------------------------------------------------- one file per subject */

/* -- context.c */
int uv_get_context(struct uv_request *req);
int uv_ioctl_get_context(struct uv_request *req);
int uv_ioctl_query_context(struct uv_request *req);

/* -- query.c */
int uv_query_device(struct uv_request *req);
int uv_ex_query_device(struct uv_request *req);
int uv_query_port(struct uv_request *req);
int uv_ioctl_query_port(struct uv_request *req);
int uv_ioctl_info_handles(struct uv_request *req);

/* -- gid.c */
/* Whether the index has a GID that programs see. */
bool uv_gid_valid(const struct device *device, u32 index);
int uv_ioctl_query_gid_table(struct uv_request *req);
int uv_ioctl_query_gid_entry(struct uv_request *req);

/* -- pd.c */
int uv_alloc_pd(struct uv_request *req);
int uv_dealloc_pd(struct uv_request *req);
int uv_ioctl_destroy_pd(struct uv_request *req);

/* -- ah.c */
int uv_create_ah(struct uv_request *req);
int uv_destroy_ah(struct uv_request *req);
int uv_ioctl_destroy_ah(struct uv_request *req);

/* -- mr.c */
int uv_reg_mr(struct uv_request *req);
int uv_rereg_mr(struct uv_request *req);
int uv_dereg_mr(struct uv_request *req);
int uv_ioctl_destroy_mr(struct uv_request *req);
int uv_ioctl_query_mr(struct uv_request *req);
/* Allocates a region or window with a new key, not yet created in the NIC. */
int uv_mr_new(struct uv_request *req, const struct uv_class *class, struct uv_object *pd,
	      const struct nic_mr_params *params, struct uv_mr **out);
/* Whether the access flags are known and consistent: 0 or an error. */
int uv_mr_check_access(u32 access);
extern const struct uv_class uv_mr_class;
int uv_mr_start(struct uv_request *req, struct uv_object *obj);
int uv_mr_stop(struct uv_object *obj);
void uv_mr_release(struct uv_object *obj);
/* -- mapped.c: sets or clears NIC_MR_MAPPED in the flags. */
void uv_mr_set_mapped(const struct uv_request *req, struct nic_mr_params *params);
/* -EOPNOTSUPP, after the attributes were validated. */
int uv_ioctl_unsupported(struct uv_request *req);

/* -- advise.c */
int uv_ioctl_advise_mr(struct uv_request *req);

/* -- dm.c */
int uv_ioctl_alloc_dm(struct uv_request *req);
int uv_ioctl_free_dm(struct uv_request *req);
int uv_ioctl_query_dm(struct uv_request *req);
int uv_ioctl_reg_dm_mr(struct uv_request *req);

/* -- mw.c */
int uv_alloc_mw(struct uv_request *req);
int uv_dealloc_mw(struct uv_request *req);
int uv_ioctl_destroy_mw(struct uv_request *req);

/* -- channel.c */
int uv_create_comp_channel(struct uv_request *req);
/* Finds the context's channel by descriptor. */
int uv_channel_find(struct uv_request *req, s64 fd, struct uv_object **out);
/* Drops the reference of a CQ. */
void uv_channel_put(struct uv_channel *channel);
/* The program has closed the channel. */
void uv_channel_closed(struct uv_channel *channel);
/* Retries the destruction of channels whose lock was held. */
void uv_channel_sweep(struct device *device);
/* Frees those channels when the device is destroyed. */
void uv_channel_forget(struct device *device);

/* Attaches the program's end of a new file to the response. */
void uv_give_fd(struct uv_request *req, int fd, const struct vnet_msg_fd *about);

/* -- async.c */
int uv_ioctl_alloc_events(struct uv_request *req);
int uv_events_new(struct uv_request *req, struct uv_object **out);
int uv_events_find(struct uv_request *req, s64 fd, struct uv_object **out);
/* Sets the event file of an object; NULL: the context's default. */
void uv_events_attach(struct uv_object *obj, struct uv_object *events);
/* Detaches a destroyed object and drops its unread events. */
void uv_events_detach(struct uv_object *obj);
/* Drops the reference of an object, or of a context with this default. */
void uv_events_put(struct uv_events *events);
/* The program has closed the event file. */
void uv_events_closed(struct uv_events *events);

/* -- cq.c */
int uv_create_cq(struct uv_request *req);
int uv_ex_create_cq(struct uv_request *req);
int uv_resize_cq(struct uv_request *req);
int uv_modify_cq(struct uv_request *req);
int uv_destroy_cq(struct uv_request *req);
int uv_ioctl_create_cq(struct uv_request *req);
int uv_ioctl_destroy_cq(struct uv_request *req);

/* -- srq.c */
int uv_create_srq(struct uv_request *req);
int uv_create_xsrq(struct uv_request *req);
int uv_modify_srq(struct uv_request *req);
int uv_query_srq(struct uv_request *req);
int uv_destroy_srq(struct uv_request *req);
int uv_ioctl_create_srq(struct uv_request *req);
int uv_ioctl_destroy_srq(struct uv_request *req);

/* -- xrcd.c */
int uv_open_xrcd(struct uv_request *req);
int uv_close_xrcd(struct uv_request *req);
int uv_ioctl_destroy_xrcd(struct uv_request *req);

/* -- target.c */

/* uv_target_new() and uv_target_open() add the queue pair object to the openers of a target. */
int uv_target_new(struct uv_request *req, struct uv_qp *qp);
/* -EINVAL: the domain has no target of this number. */
int uv_target_open(struct uv_qp *qp, u32 qpn);
/* Creates the target in the NIC, unless it exists. */
int uv_target_start(struct device *device, struct uv_target *target);
/* Whether it has other openers. */
bool uv_target_is_shared(const struct uv_target *target);
void uv_target_leave(struct uv_qp *qp);

/* -- tm.c: memory for tag matching of a shared receive queue */
int uv_tm_reserve(struct device *device, struct uv_srq *srq, u32 tags);
/* Frees that memory, if there is any. */
void uv_tm_release(struct uv_srq *srq);
/* Whether it matches tags: the device posts to the send queues of its queue pairs then. */
bool uv_srq_is_tm(const struct uv_srq *srq);
void uv_tm_fill_caps(struct ib_uverbs_tm_caps *caps);

/* -- qp.c */
/* Whether only the device posts to the send queue. */
bool uv_qp_posted_by_nic(const struct uv_qp *qp);
int uv_create_qp(struct uv_request *req);
int uv_open_qp(struct uv_request *req);
int uv_ex_create_qp(struct uv_request *req);
int uv_destroy_qp(struct uv_request *req);
int uv_post_send(struct uv_request *req);
int uv_ioctl_create_qp(struct uv_request *req);
int uv_ioctl_destroy_qp(struct uv_request *req);

/* -- rss.c: queue pairs with an indirection table */

static inline bool uv_qp_is_rss(const struct uv_qp *qp)
{
	return qp->table;
}

/* Reads the hash parameters from the driver-specific part. */
int uv_rss_get(struct uv_request *req, struct nic_rss *rss);
int uv_rss_new(struct uv_request *req, struct uv_qp *qp, struct uv_table *table,
	       const struct nic_rss *rss);
int uv_rss_start(struct uv_qp *qp);
int uv_rss_stop(struct uv_qp *qp);
void uv_rss_release(struct uv_qp *qp);

/* -- wq.c */
int uv_create_wq(struct uv_request *req);
int uv_modify_wq(struct uv_request *req);
int uv_destroy_wq(struct uv_request *req);
int uv_ioctl_create_wq(struct uv_request *req);
int uv_ioctl_destroy_wq(struct uv_request *req);

/* -- table.c */
int uv_create_table(struct uv_request *req);
int uv_destroy_table(struct uv_request *req);
int uv_ioctl_destroy_table(struct uv_request *req);

/* -- flow.c */
int uv_create_flow(struct uv_request *req);
int uv_destroy_flow(struct uv_request *req);
int uv_ioctl_destroy_flow(struct uv_request *req);

/* -- flow_spec.c */

/* Parses a flow's specifications. Returns 0, -EINVAL or -EOPNOTSUPP. */
int uv_flow_read_specs(struct uv_request *req, const u8 *specs, u32 length, u32 count,
		       struct uv_flow *flow);

/* -- flow_counters.c */
int uv_ioctl_create_counters(struct uv_request *req);
int uv_ioctl_destroy_counters(struct uv_request *req);
int uv_ioctl_read_counters(struct uv_request *req);

/* -- mcast.c */
int uv_attach_mcast(struct uv_request *req);
int uv_detach_mcast(struct uv_request *req);

/* -- qp_attr.c */
int uv_modify_qp(struct uv_request *req);
int uv_ex_modify_qp(struct uv_request *req);
int uv_query_qp(struct uv_request *req);

/* -- counters.c */
/* Adds the counters of a destroyed queue pair to the device's sum. */
void uv_counters_retire(struct device *device, u32 qpn);

/* ----------------------------------------------------------------- helpers */

/* Converts a result of the firmware: 0, UV_PARK or -errno. */
int uv_result(enum nic_result result);
/*
 * Likewise for creation. The daemon allocates all numbers, so NIC_EINUSE means that a client has
 * overwritten NIC memory: marks the device as failed.
 */
int uv_created(struct device *device, enum nic_result result);
/* Allocates a ring of `entries` slots; NULL if there is no memory. */
struct uv_block *uv_ring_get(struct device *device, u32 entries, u32 stride_shift);
/*
 * Frees the ring of a destroyed object. If its file was closed while the process lives, the
 * process may still have the ring mapped and use it. Then the ring is freed only after the
 * process' death.
 */
void uv_ring_put(struct uv_object *obj, struct uv_block *ring);
/* Frees such rings of a dead process. */
void uv_rings_put_mapped(struct client *client);
/* Describes a ring for the provider. */
void uv_ring_info(const struct uv_block *block, u32 entries, u32 stride_shift,
		  struct vnet_ring_info *info);
/* Exponent of the smallest power of two that is at least n. */
u32 uv_ceil_log2(u32 n);

/* Checks for CAP_NET_RAW, which raw packets and controlled Q_Keys require: 0 or -EPERM. */
int uv_check_raw(const struct uv_request *req);

/* Slots of send and receive queues: sizes, and granted capacities. */
u32 uv_send_stride_shift(u32 sges, u32 inline_data);
u32 uv_send_sges(u32 sges, u32 stride_shift);
u32 uv_send_inline(u32 sges, u32 inline_data, u32 stride_shift);
u32 uv_recv_stride_shift(u32 sges);
/* Number of slots for this many receives; `most`: upper limit. */
u32 uv_recv_entries(u32 receives, u32 most);
u32 uv_recv_sges(u32 sges, u32 stride_shift);

/* Casts an object, the first member of its structure, to that structure. */
#define UV_CAST(type, object) ((type *)(object))

#endif /* UVERBS_OBJECTS_H */
