/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The uverbs server's inner contract: requests, objects, numbers, and one
 * implementation of each operation for both front ends (write and ioctl).
 *
 * Functions that can fail answer 0, a negative errno value, or UV_PARK: call
 * the handler again later, nothing has changed that matters.
 *
 * The life of an object: a handler validates, reserves (handle, numbers, queue
 * memory), writes its whole answer into the process' memory, and leaves the
 * object in uv_request.created. Only then the front end tells the NIC of it
 * (uv_class.start), which is the last thing that can fail: so nothing ever has
 * to be taken back from the NIC, and a repeated handler starts afresh.
 */
#ifndef UVERBS_H
#define UVERBS_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "../vnetd.h"
#include "alloc.h"

#define UV_PARK 1

#define UV_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Bytes of a structure up to the end of a member. */
#define UV_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Limits that query_device tells, and that are enforced. */
enum uv_limits {
	UV_MAX_QP_WR = 16384,
	UV_MAX_SRQ_WR = 16384,
	UV_MAX_CQE = 1 << 20,
	UV_MAX_RD_ATOMIC = 16,
	UV_MAX_PD = 1 << 15,
	UV_MAX_AH = 1 << 16,
	UV_MAX_XRCD = 1 << 12,
	/* Of work queues, to spread frames over. */
	UV_MAX_TABLES = 1 << 10,
	UV_COMP_VECTORS = 1,
	/* Entries, and microseconds, that a completion event may wait for. */
	UV_MAX_EVENT_COUNT = 0xffff,
	UV_MAX_EVENT_PERIOD = 0xffff,
	UV_PORTS = 1,
	/* Of a shared receive queue that matches. */
	UV_MAX_TAGS = 1024,
	UV_TAG_OPS = 256,
	/* Unread asynchronous events kept for one object or device. */
	UV_MAX_UNREAD = 64,
};

/* Nanoseconds: completion timestamps are NIC clock. */
#define UV_CLOCK_KHZ 1000000
/* Device memory of all processes together. */
#define UV_MAX_DM_SIZE (1ull << 20)
#define UV_MAX_MR_SIZE (1ull << 47)
#define UV_DEVICE_CAPS                                                                             \
	(IB_UVERBS_DEVICE_BAD_QKEY_CNTR | IB_UVERBS_DEVICE_CURR_QP_STATE_MOD |                     \
	 IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |                    \
	 IB_UVERBS_DEVICE_RC_RNR_NAK_GEN | IB_UVERBS_DEVICE_MEM_WINDOW |                           \
	 IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B |               \
	 IB_UVERBS_DEVICE_XRC | IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING)

struct uv_request;
struct uv_events;

/* ---------------------------------------------------------------- objects */

struct uv_object;

struct uv_class {
	/* enum uverbs_default_objects */
	u16 type;
	/* Has no handle: the process knows it by descriptor. */
	bool is_file;
	size_t size;
	/* Tell the NIC (or the core) of it; the answer has been written. */
	int (*start)(struct uv_request *req, struct uv_object *obj);
	/* No command may destroy it now, which the end of its process may; NULL: any may. */
	bool (*is_held)(const struct uv_object *obj);
	/* Take it from the NIC; repeated until it does not answer UV_PARK. */
	int (*stop)(struct uv_object *obj);
	/* Give back what it reserved, but for its memory. */
	void (*release)(struct uv_object *obj);
};

struct uv_object {
	const struct uv_class *class;
	struct uctx *ctx;
	struct device *device;
	/* Whose address space it belongs to; NULL for files. */
	struct client *client;
	u32 handle;
	/* Other objects that name this one. */
	u32 uses;
	/* The NIC knows it: look-ups find it. */
	bool live;
	/* Its destruction is under way, and parked. */
	bool dying;
	/* The process' own name for it, for events. */
	u64 user_handle;
	/* Where its asynchronous events go; may be NULL. */
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
	/* NULL once the program has closed it: it lives on while CQs use it. */
	struct file *file;
	/* Inode of the program's end, by which its descriptor is recognised. */
	u64 inode;
	u32 index;
	u32 generation;
	struct uv_channel *next;
};

/* An asynchronous event file: records not read yet. */
struct uv_events {
	struct uv_object obj;
	/* NULL once the program has closed it: it lives on while objects use it. */
	struct file *file;
	u64 inode;
	struct uv_record *head;
	struct uv_record **tail;
	/* Records of the device itself among them. */
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
	/* Completion events that were read in its life; known once stopped. */
	u32 comp_events;
	/* A resize waits so long for stalled sends (NIC clock); 0: none does. */
	u64 settled_by;
};

/* A domain of extended reliable connections, of all that opened it. */
struct uv_domain {
	u32 number;
	u32 uses;
	/* Descriptor of the file by which it is known, or -1. */
	int file;
	u64 dev;
	u64 inode;
	struct uv_target *targets;
	struct uv_domain *next;
};

/* A context's share of one. */
struct uv_xrcd {
	struct uv_object obj;
	struct uv_domain *domain;
};

/* A target queue pair, of all that opened it. */
struct uv_target {
	struct nic_qp_params params;
	struct uv_domain *domain;
	struct uv_block *sq;
	/* The NIC knows it. */
	bool live;
	struct uv_qp *opened;
	struct uv_target *next;
};

struct uv_srq {
	struct uv_object obj;
	struct uv_pd *pd;
	/* Of extended reliable connections; else NULL. */
	struct uv_xrcd *xrcd;
	/* Of those, and where tags are matched. */
	struct uv_cq *cq;
	struct uv_block *ring;
	/* Tag matching; else NULL. */
	struct uv_block *tags;
	struct uv_block *ops;
	struct nic_srq_params params;
	u32 srqn;
};

/* What its type does not have is NULL. */
struct uv_qp {
	struct uv_object obj;
	struct uv_pd *pd;
	struct uv_cq *send_cq;
	struct uv_cq *recv_cq;
	/* NULL: it has a receive queue of its own, or none. */
	struct uv_srq *srq;
	struct uv_block *sq;
	struct uv_block *rq;
	struct nic_qp_params params;
	/* How many multicast groups it is attached to. */
	u32 groups;
	/* Where it has sent to one and ends: NIC clock; 0: it does not. */
	u64 lingers_until;
	/* Where the queue pair is a target: which, and who else opened it. */
	struct uv_xrcd *xrcd;
	struct uv_target *target;
	struct uv_qp *next_opened;
	/*
	 * Where it only spreads frames over work queues: which, and how. The NIC knows
	 * that by flows alone; when it ends, the grace period that it waits for.
	 */
	struct uv_table *table;
	struct uv_block *spread;
	struct nic_rss rss;
	bool leaves;
	u32 grace;
};

/* A work queue, which the NIC has as a queue pair that only receives. */
struct uv_wq {
	struct uv_object obj;
	struct uv_pd *pd;
	struct uv_cq *cq;
	/* Nobody posts to it. */
	struct uv_block *sq;
	struct uv_block *rq;
	struct nic_qp_params params;
};

/* An indirection table: work queues, a power of two of them. */
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
	/* NULL: it has none. */
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
	/* Of whose memory it is a region; NULL: the process' own. */
	struct uv_dm *dm;
	u32 index;
	struct nic_mr_params params;
};

/* An opened device file. */
struct uctx {
	struct file *file;
	struct device *device;
	/* GET_CONTEXT has been done; nothing else works before. */
	bool open;
	/* Objects by handle; NULL is free. */
	struct uv_object **object;
	u32 capacity;
	/* No handle below this one is free. */
	u32 lowest_free;
	struct uv_channel *channels;
	struct uv_events *events;
	/* For objects that do not name one. */
	struct uv_events *default_events;
	struct uctx *next;
};

/* -- object.c */

/* A new object with a handle, not live yet: -EINVAL without a context, -ENOMEM. */
int uv_object_new(struct uv_request *req, const struct uv_class *class, struct uv_object **out);
/* Forget an object that has been released, or was never complete. */
void uv_object_drop(struct uv_object *obj);
/* Live object by handle: -ENOENT, -EINVAL (of another type), -EBUSY (dying). */
int uv_object_find(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out);
/* The same, as most write commands say it: -EINVAL whatever is wrong. */
struct uv_object *uv_object_read(struct uv_request *req, u16 type, u32 handle);
/* For destruction: finds dying ones too. */
int uv_object_find_dying(struct uctx *ctx, u16 type, u64 handle, struct uv_object **out);
/* Take from the NIC: -EBUSY while others use it. Then uv_object_free() it. */
int uv_object_stop(struct uv_object *obj);
void uv_object_free(struct uv_object *obj);
/* Both, and how many of its events were read. */
int uv_object_end(struct uctx *ctx, u16 type, u64 handle, u32 *events_reported);
/* The same for those with nothing to report. */
int uv_object_destroy(struct uctx *ctx, u16 type, u64 handle);
/* Everything that a context holds; UV_PARK: call again. */
int uv_object_destroy_all(struct uctx *ctx);
/* Handles of live objects of a type, at most max; answers how many. */
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

/* Attribute of an ioctl, as parsed; see ioctl.h. */
struct uv_attr {
	bool present;
	/* Which of the attributes in the process' memory. */
	u16 position;
	u16 flags;
	u16 length;
	u64 data;
	struct uv_object *object;
};

#define UV_MAX_ATTRS 18

struct uv_method;

/* A command under way, the same for both front ends. */
struct uv_request {
	struct call *call;
	struct uctx *ctx;
	struct device *device;
	struct client *client;
	/* The command's own part: request in our memory, response in theirs. */
	const u8 *in;
	u32 in_length;
	u64 out;
	u32 out_length;
	/* The driver's part. */
	const u8 *driver_in;
	u32 driver_in_length;
	u64 driver_out;
	u32 driver_out_length;
	/* The handler made this: to be started, or released. */
	struct uv_object *created;
	/* The command opens the context. */
	bool opens;
	/* Where the number of a created descriptor goes, and its size. */
	u64 fd_addr;
	u32 fd_size;
	/* ioctl only: attributes, in the order of the method's table. */
	const struct uv_method *method;
	struct uv_attr attr[UV_MAX_ATTRS];
};

/* -- request.c */

/*
 * Copy the request: what the process did not send is zero, what it sent beyond
 * `size` must be (-EOPNOTSUPP).
 */
int uv_get(struct uv_request *req, void *dst, size_t size);
/* Write the response: cut to the process' room, or followed by zeros. */
int uv_respond(struct uv_request *req, const void *src, size_t size);
/* Bytes of a response of `size` that the process takes (response_length). */
u32 uv_response_length(const struct uv_request *req, size_t size);
/* The same for the driver's part, where unknown bytes are -EINVAL. */
int uv_get_driver(struct uv_request *req, void *dst, size_t size);
int uv_respond_driver(struct uv_request *req, const void *src, size_t size);
/* Zeros into the process' memory. */
int uv_clear_user(struct uv_request *req, u64 addr, u64 length);
/* The handler answered `err`: start what it created, or undo it. */
int uv_finish(struct uv_request *req, int err);
/* ... and make that the answer of the call. value: what success returns. */
enum call_outcome uv_answer(struct call *call, int err, s32 value);

/* -- destroy.c */

/* Which one, behind a mask that has to be zero; else the answer is `unknown`. */
int uv_get_masked_handle(struct uv_request *req, int unknown, u32 *handle);
/* The whole command: queue pairs and shared receive queues. */
int uv_destroy_telling(struct uv_request *req, u16 type);
/* The ioctl: by these attributes. */
int uv_ioctl_destroy_telling(struct uv_request *req, u16 handle, u16 answer);

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
/* Valid index into the port's table of GIDs? */
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
/* Regions and windows alike: with a key of its own, not told to the NIC yet. */
int uv_mr_new(struct uv_request *req, const struct uv_class *class, struct uv_object *pd,
	      const struct nic_mr_params *params, struct uv_mr **out);
/* Do these rights go together, and are they known? */
int uv_mr_check_access(u32 access);
extern const struct uv_class uv_mr_class;
int uv_mr_start(struct uv_request *req, struct uv_object *obj);
int uv_mr_stop(struct uv_object *obj);
void uv_mr_release(struct uv_object *obj);
/* For what the device does not have: -EOPNOTSUPP once attributes are right. */
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
/* The context's channel that has this descriptor in the calling process. */
int uv_channel_find(struct uv_request *req, s64 fd, struct uv_object **out);
/* A CQ let go of it. */
void uv_channel_put(struct uv_channel *channel);
/* The program closed it. */
void uv_channel_closed(struct uv_channel *channel);
/* Try again to take from the NIC what could not be taken before. */
void uv_channel_sweep(struct device *device);
/* The device ends: forget those. */
void uv_channel_forget(struct device *device);

/* Attach the program's end of a new file to the answer. */
void uv_give_fd(struct uv_request *req, int fd, const struct vnet_msg_fd *about);

/* -- async.c */
int uv_ioctl_alloc_events(struct uv_request *req);
int uv_events_new(struct uv_request *req, struct uv_object **out);
int uv_events_find(struct uv_request *req, s64 fd, struct uv_object **out);
/* Let an object's events go there, or (NULL) to the context's default. */
void uv_events_attach(struct uv_object *obj, struct uv_object *events);
/* The object is gone: remove what it has not told yet. */
void uv_events_detach(struct uv_object *obj);
/* An object, or a context whose default it was, let go of it. */
void uv_events_put(struct uv_events *events);
/* The program closed it. */
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

/* Both: the queue pair, with its domain, holds the target until it leaves. */
int uv_target_new(struct uv_request *req, struct uv_qp *qp);
/* -EINVAL: the domain has none of this number. */
int uv_target_open(struct uv_qp *qp, u32 qpn);
/* Tell the NIC, unless it knows. */
int uv_target_start(struct device *device, struct uv_target *target);
/* Others have it open, too. */
bool uv_target_is_shared(const struct uv_target *target);
void uv_target_leave(struct uv_qp *qp);

/* -- tm.c: what a shared receive queue that matches tags has besides */
int uv_tm_reserve(struct device *device, struct uv_srq *srq, u32 tags);
/* For its owner to go: nothing where it has none. */
void uv_tm_release(struct uv_srq *srq);
/* The device itself posts to the send queues of its queue pairs. */
bool uv_srq_is_tm(const struct uv_srq *srq);
void uv_tm_fill_caps(struct ib_uverbs_tm_caps *caps);

/* -- qp.c */
/* Nobody but the device posts to its send queue. */
bool uv_qp_sends_itself(const struct uv_qp *qp);
int uv_create_qp(struct uv_request *req);
int uv_open_qp(struct uv_request *req);
int uv_ex_create_qp(struct uv_request *req);
int uv_destroy_qp(struct uv_request *req);
int uv_post_send(struct uv_request *req);
int uv_ioctl_create_qp(struct uv_request *req);
int uv_ioctl_destroy_qp(struct uv_request *req);

/* -- rss.c: queue pairs that spread frames over work queues */

static inline bool uv_qp_spreads(const struct uv_qp *qp)
{
	return qp->table;
}

/* How, by the provider's part of the request. */
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

/* What a flow's specifications come to; -EINVAL, -EOPNOTSUPP. */
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
/* The queue pair is no more: keep what it has counted. */
void uv_counters_retire(struct device *device, u32 qpn);

/* ------------------------------------------------------------ small things */

/* What the firmware answered, as this layer says it. */
int uv_result(enum nic_result result);
/*
 * The same for a command that makes something. Numbers are ours to give, so one
 * that the NIC has in use was written there by somebody else: the device fails.
 */
int uv_created(struct device *device, enum nic_result result);
/* Queue memory for a ring of `entries` slots; NULL: none left. */
struct uv_block *uv_ring_get(struct device *device, u32 entries, u32 stride_shift);
/*
 * Give back the ring of an object that is no more. Where the file was closed
 * under the process (it has closed all descriptors, say), the process has the
 * ring mapped still, and may go on using it: then nobody else gets it before
 * the process is gone.
 */
void uv_ring_put(struct uv_object *obj, struct uv_block *ring);
/* The process is gone. */
void uv_rings_put_mapped(struct client *client);
/* What the process has to know of it. */
void uv_ring_info(const struct uv_block *block, u32 entries, u32 stride_shift,
		  struct vnet_ring_info *info);
/* Exponent of the smallest power of two that is not below n. */
u32 uv_ceil_log2(u32 n);

/* Whatever is sent and received beside the transports asks for this right (-EPERM). */
int uv_check_raw(const struct uv_request *req);

/* Slots of send and receive queues: their size, and what is granted of that. */
u32 uv_send_stride_shift(u32 sges, u32 inline_data);
u32 uv_send_sges(u32 sges, u32 stride_shift);
u32 uv_send_inline(u32 sges, u32 inline_data, u32 stride_shift);
u32 uv_recv_stride_shift(u32 sges);
/* Slots of a queue for so many receives; `most`: the limit of that. */
u32 uv_recv_entries(u32 receives, u32 most);
u32 uv_recv_sges(u32 sges, u32 stride_shift);

/* A type's structure from its first member. */
#define UV_CAST(type, object) ((type *)(object))

#endif /* UVERBS_H */
