/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The uapi between vnet's provider and its agents: driver-private parts of uverbs requests and
 * responses. The agents are the kernel driver and the user-mode daemon. This is vnet's only uapi.
 *
 * Rules of this file: sizes are multiples of 8; fields are naturally aligned; reserved fields are
 * named by their offset in bits, are zero when sent, and are checked for zero by the agent;
 * structures grow only at their end. vnet_layout.h asserts all offsets.
 */
#ifndef VNET_ABI_H
#define VNET_ABI_H

#include <linux/types.h>

/* sysfs abi_version of the uverbs device; the provider accepts only this value. */
#define VNET_UVERBS_ABI_VERSION 1

/* Prefix of fw_ver in sysfs, by which the device is recognised; both agents publish it. */
#define VNET_FW_VER_PREFIX "vnet-"

enum vnet_ucontext_caps {
	/* Small payloads may be stored in the CQE. */
	VNET_UCONTEXT_CAP_CQE_PAYLOAD = 1 << 0,
	/* A doorbell can be rung by an IB_USER_VERBS_CMD_POST_SEND without WRs. */
	VNET_UCONTEXT_CAP_TRAP_DOORBELL = 1 << 1,
	/* vnet_alloc_ucontext_resp.doorbell_fd is a descriptor for doorbells. */
	VNET_UCONTEXT_CAP_DOORBELL_FD = 1 << 2,
	/* vnet_alloc_ucontext_resp.doorbell_page can be mapped. */
	VNET_UCONTEXT_CAP_DOORBELL_PAGE = 1 << 3,
	/* VNET_WR_IMM64 and VNET_CREATE_CQ_IMM64 are supported. */
	VNET_UCONTEXT_CAP_IMM64 = 1 << 4,
	/*
	 * Shared receive queues may match tags. Their doorbell is vnet_gate.tag_doorbell or
	 * VNET_DOORBELL_TAG; without a descriptor, the command that posts receives.
	 */
	VNET_UCONTEXT_CAP_TM = 1 << 5,
	/* A query of the device returns struct vnet_query_device_resp. */
	VNET_UCONTEXT_CAP_QUERY_DEVICE = 1 << 6,
	/* InfiniBand port: vnet_wqe_ud.dlid and no_grh, and VNET_WC_LID are used. */
	VNET_UCONTEXT_CAP_LID = 1 << 7,
	/* vnet_create_qp_req.flags is evaluated, and VNET_CREATE_QP_RETURN supported. */
	VNET_UCONTEXT_CAP_RETURN = 1 << 8,
	/* VNET_WR_FLUSH is supported, and regions may have the right of global placement. */
	VNET_UCONTEXT_CAP_FLUSH = 1 << 9,
};

/*
 * The cheapest doorbell by system call: ioctl(doorbell_fd, one of these, number). The agent runs
 * the send queue of that QP, or notes new receives, as the functions of struct vnet_gate do.
 * Returns 0, or -1 with EBADFD if the device no longer exists.
 */
enum vnet_doorbell_ioctls {
	VNET_DOORBELL_SEND = 0x7600,
	VNET_DOORBELL_RECV = 0x7601,
	VNET_DOORBELL_SRQ_RECV = 0x7602,
	/* After a write to the doorbell page, if the NIC processor sleeps. */
	VNET_DOORBELL_WAKE = 0x7603,
	VNET_DOORBELL_CQ = 0x7604,
	/* Only with VNET_UCONTEXT_CAP_TM. */
	VNET_DOORBELL_TAG = 0x7605,
};

#define VNET_DOORBELL_WORDS 128

/*
 * A page for doorbells without a system call. The process atomically sets the bit of the queue
 * pair's number modulo 8192, then the bit of that word in the summary. After a full barrier, it
 * calls VNET_DOORBELL_WAKE if need_wakeup is set. The NIC processor clears the bits, those of the
 * summary first.
 */
struct vnet_doorbell_page {
	__u32 need_wakeup;
	__u32 rsvd[15];
	__aligned_u64 summary[VNET_DOORBELL_WORDS / 64];
	__aligned_u64 rsvd2[6];
	__aligned_u64 word[VNET_DOORBELL_WORDS];
};

struct vnet_alloc_ucontext_req {
	/* VNET_HW_VERSION of the provider; the agent refuses versions that it does not support. */
	__u32 hw_version;
	__u8 reserved_20[4];
};

struct vnet_alloc_ucontext_resp {
	/* VNET_HW_VERSION of the agent; the provider refuses versions that it does not support. */
	__u32 hw_version;
	/* enum vnet_ucontext_caps */
	__u32 caps;
	/* Address of a struct vnet_gate in this process, or 0. */
	__aligned_u64 gate;
	/* First argument of its functions. */
	__aligned_u64 gate_cookie;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline_data;
	/* Frequency of completion timestamps, kHz. */
	__u32 clock_khz;
	/* Descriptor in this process for enum vnet_doorbell_ioctls, or -1. */
	__s32 doorbell_fd;
	__u8 reserved_160[4];
	/* Offset for mmap() of a struct vnet_doorbell_page (one page). */
	__aligned_u64 doorbell_page;
};

/* Attributes of ioctls, in the driver's namespace (1 << UVERBS_ID_NS_SHIFT). */
enum vnet_ioctl_attrs {
	/* UVERBS_METHOD_QUERY_CONTEXT: out, struct vnet_alloc_ucontext_resp. */
	VNET_ATTR_QUERY_CONTEXT_RESP = 1 << 12,
	/* UVERBS_METHOD_DM_ALLOC: out, struct vnet_alloc_dm_resp. */
	VNET_ATTR_ALLOC_DM_RESP = 1 << 12,
	/* VNET_METHOD_DM_QUERY: in, the object's handle; out, struct vnet_alloc_dm_resp. */
	VNET_ATTR_QUERY_DM_HANDLE = 1 << 12,
	VNET_ATTR_QUERY_DM_RESP,
};

/* Methods of objects, in the same namespace. */
enum vnet_ioctl_methods {
	/* UVERBS_OBJECT_DM: location of device memory, for processes that import it. */
	VNET_METHOD_DM_QUERY = 1 << 12,
};

/* Device memory, mapped like rings. */
struct vnet_alloc_dm_resp {
	/* Page aligned; a multiple of the page size. */
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_size;
	/* Length that was requested, in bytes. */
	__aligned_u64 length;
};

/* Driver-private part of an extended query of the device; zeros from an agent without it. */
struct vnet_query_device_resp {
	/* The values of enum ibv_rx_hash_fields, and of enum ibv_rx_hash_function_flags. */
	__aligned_u64 rx_hash_fields;
	__u32 rx_hash_functions;
	/* Rate limits of queue pairs, kbit/s; a bit for each QP type that supports them. */
	__u32 rate_limit_min;
	__u32 rate_limit_max;
	__u32 rate_limit_types;
};

struct vnet_alloc_pd_resp {
	__u32 pdn;
	__u8 reserved_20[4];
};

/* Location and size of a ring; offsets are for mmap() of the device file. */
struct vnet_ring_info {
	/* Page aligned; 0, with size 0, if the object has no such ring. */
	__aligned_u64 mmap_offset;
	/* Bytes to map: header and slots; a multiple of the page size. */
	__aligned_u64 mmap_size;
	/* Number of slots; a power of two. */
	__u32 entries;
	/* A slot is 1 << stride_shift bytes. */
	__u32 stride_shift;
};

enum vnet_create_cq_flags {
	/* Entries have vnet_cqe.timestamp. */
	VNET_CREATE_CQ_TIMESTAMP = 1 << 0,
	/* At an overrun, the oldest entry is overwritten, and the CQ stays usable. */
	VNET_CREATE_CQ_IGNORE_OVERRUN = 1 << 1,
	/*
	 * Entries may have VNET_WC_IMM64. Without this flag, only the lower 32 of 64 bits of
	 * immediate data are reported. Only with VNET_UCONTEXT_CAP_IMM64.
	 */
	VNET_CREATE_CQ_IMM64 = 1 << 8,
};

struct vnet_create_cq_req {
	/* enum vnet_create_cq_flags */
	__u32 flags;
	__u8 reserved_20[4];
};

struct vnet_create_cq_resp {
	__u32 cqn;
	__u8 reserved_20[4];
	struct vnet_ring_info cq;
};

/*
 * The agent copies the unpolled entries to the new ring, at the same indices, with the ring header
 * (cons, arm), and continues there. The process must not poll or arm meanwhile, and unmaps the old
 * ring afterwards.
 */
struct vnet_resize_cq_resp {
	struct vnet_ring_info cq;
};

struct vnet_create_srq_resp {
	__u32 srqn;
	/* Tag matching: size of the tag list; the ring of tag operations. */
	__u32 tags;
	struct vnet_ring_info rq;
	struct vnet_ring_info ops;
};

enum vnet_create_qp_flags {
	/*
	 * UD: a request whose message is not delivered completes with an error that says why, and
	 * the queue pair stays usable (return to sender). Only with VNET_UCONTEXT_CAP_RETURN.
	 */
	VNET_CREATE_QP_RETURN = 1 << 0,
};

/*
 * Sent only if a flag is set, or with a hash for frames that are spread over the work queues of an
 * indirection table.
 */
struct vnet_create_qp_req {
	/* The values of enum ibv_rx_hash_fields. */
	__aligned_u64 rx_hash_fields;
	/* 1: Toeplitz, with a key of 40 bytes. */
	__u8 rx_hash_function;
	__u8 rx_hash_key_len;
	__u8 reserved_50[2];
	/* enum vnet_create_qp_flags */
	__u32 flags;
	__u8 rx_hash_key[40];
};

struct vnet_create_wq_resp {
	__u32 wqn;
	__u8 reserved_20[4];
	struct vnet_ring_info rq;
};

struct vnet_create_qp_resp {
	__u32 qpn;
	__u8 reserved_20[4];
	struct vnet_ring_info sq;
	struct vnet_ring_info rq;
};

#endif /* VNET_ABI_H */
