/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What vnet's provider and its agents (the kernel driver, the user-mode
 * daemon) pass through uverbs: the driver-private parts of requests and
 * responses. This is vnet's only uapi.
 *
 * The law of this file: sizes are multiples of 8, fields are naturally
 * aligned, reserved fields are named by their offset in bits, are zero when
 * sent and checked for zero by the agent; structures grow at their end only. vnet_layout.h
 * asserts where everything is.
 */
#ifndef VNET_ABI_H
#define VNET_ABI_H

#include <linux/types.h>

/* sysfs abi_version of the uverbs device; the provider accepts just this. */
#define VNET_UVERBS_ABI_VERSION 1

/* Both agents publish a fw_ver in sysfs that begins so: the device's mark. */
#define VNET_FW_VER_PREFIX "vnet-"

enum vnet_ucontext_caps {
	/* Small messages may travel in the completion queue entry. */
	VNET_UCONTEXT_CAP_CQE_PAYLOAD = 1 << 0,
	/* Doorbells may be rung by an IB_USER_VERBS_CMD_POST_SEND without WRs. */
	VNET_UCONTEXT_CAP_TRAP_DOORBELL = 1 << 1,
	/* vnet_alloc_ucontext_resp.doorbell_fd is a descriptor to ring by. */
	VNET_UCONTEXT_CAP_DOORBELL_FD = 1 << 2,
	/* vnet_alloc_ucontext_resp.doorbell_page can be mapped. */
	VNET_UCONTEXT_CAP_DOORBELL_PAGE = 1 << 3,
	/* VNET_WR_IMM64 and VNET_CREATE_CQ_IMM64 are understood. */
	VNET_UCONTEXT_CAP_IMM64 = 1 << 4,
	/*
	 * Shared receive queues may match tags: vnet_gate.tag_doorbell is there, or
	 * VNET_DOORBELL_TAG, and without a descriptor the command for posting receives.
	 */
	VNET_UCONTEXT_CAP_TM = 1 << 5,
	/* A query of the device answers struct vnet_query_device_resp. */
	VNET_UCONTEXT_CAP_QUERY_DEVICE = 1 << 6,
	/* The port is InfiniBand's: vnet_wqe_ud.dlid and no_grh, and VNET_WC_LID. */
	VNET_UCONTEXT_CAP_LID = 1 << 7,
	/* vnet_create_qp_req.flags is looked at: VNET_CREATE_QP_RETURN is understood. */
	VNET_UCONTEXT_CAP_RETURN = 1 << 8,
	/* VNET_WR_FLUSH is understood, and regions may have the right to global placement. */
	VNET_UCONTEXT_CAP_FLUSH = 1 << 9,
};

/*
 * The lightest trap: ioctl(doorbell_fd, one of these, number) has the agent run
 * the send queue of that QP, or tells it of new receives, as the functions of
 * struct vnet_gate do. 0, or -1 with EBADFD when the device is gone.
 */
enum vnet_doorbell_ioctls {
	VNET_DOORBELL_SEND = 0x7600,
	VNET_DOORBELL_RECV = 0x7601,
	VNET_DOORBELL_SRQ_RECV = 0x7602,
	/* The doorbell page was written, and the NIC processor sleeps. */
	VNET_DOORBELL_WAKE = 0x7603,
	VNET_DOORBELL_CQ = 0x7604,
	/* Only where VNET_UCONTEXT_CAP_TM is. */
	VNET_DOORBELL_TAG = 0x7605,
};

#define VNET_DOORBELL_WORDS 128

/*
 * A page by which a process rings without a trap: it sets (atomically) the bit
 * of the queue pair's number modulo 8192, then that word's bit of the summary;
 * after a full barrier it traps if need_wakeup is set. The NIC processor takes
 * the bits, the summary's first.
 */
struct vnet_doorbell_page {
	__u32 need_wakeup;
	__u32 rsvd[15];
	__aligned_u64 summary[VNET_DOORBELL_WORDS / 64];
	__aligned_u64 rsvd2[6];
	__aligned_u64 word[VNET_DOORBELL_WORDS];
};

struct vnet_alloc_ucontext_req {
	/* VNET_HW_VERSION of the provider; the agent refuses one it lacks. */
	__u32 hw_version;
	__u8 reserved_20[4];
};

struct vnet_alloc_ucontext_resp {
	/* VNET_HW_VERSION of the agent; the provider refuses one it lacks. */
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
	/* Descriptor of this process for enum vnet_doorbell_ioctls, or -1. */
	__s32 doorbell_fd;
	__u8 reserved_160[4];
	/* Offset for mmap() of a struct vnet_doorbell_page (one page). */
	__aligned_u64 doorbell_page;
};

/* Attributes of ioctls, in the driver's name space (1 << UVERBS_ID_NS_SHIFT). */
enum vnet_ioctl_attrs {
	/* UVERBS_METHOD_QUERY_CONTEXT: out, struct vnet_alloc_ucontext_resp. */
	VNET_ATTR_QUERY_CONTEXT_RESP = 1 << 12,
	/* UVERBS_METHOD_DM_ALLOC: out, struct vnet_alloc_dm_resp. */
	VNET_ATTR_ALLOC_DM_RESP = 1 << 12,
	/* VNET_METHOD_DM_QUERY: in, the object's handle; out, the same as above. */
	VNET_ATTR_QUERY_DM_HANDLE = 1 << 12,
	VNET_ATTR_QUERY_DM_RESP,
};

/* Methods of objects, in the same name space. */
enum vnet_ioctl_methods {
	/* UVERBS_OBJECT_DM: where device memory is, for who imports it. */
	VNET_METHOD_DM_QUERY = 1 << 12,
};

/* Device memory, to be mapped as rings are. */
struct vnet_alloc_dm_resp {
	/* Page aligned; a multiple of the page size. */
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_size;
	/* As it was asked for. */
	__aligned_u64 length;
};

/* The driver's part of an extended query of the device; an agent without it leaves zeros. */
struct vnet_query_device_resp {
	/* The values of enum ibv_rx_hash_fields, and of enum ibv_rx_hash_function_flags. */
	__aligned_u64 rx_hash_fields;
	__u32 rx_hash_functions;
	/* Of queue pairs, kbit/s; and bits of the types that may have a limit. */
	__u32 rate_limit_min;
	__u32 rate_limit_max;
	__u32 rate_limit_types;
};

struct vnet_alloc_pd_resp {
	__u32 pdn;
	__u8 reserved_20[4];
};

/* Where a ring is and how large: offsets are for mmap() of the device file. */
struct vnet_ring_info {
	/* Page aligned; 0 with size 0 where the object has no such ring. */
	__aligned_u64 mmap_offset;
	/* Bytes to map: header and slots, a multiple of the page size. */
	__aligned_u64 mmap_size;
	/* Slots; a power of two. */
	__u32 entries;
	/* A slot is 1 << stride_shift bytes. */
	__u32 stride_shift;
};

enum vnet_create_cq_flags {
	/* Entries carry vnet_cqe.timestamp. */
	VNET_CREATE_CQ_TIMESTAMP = 1 << 0,
	/* An overrun writes over the oldest entry instead of ending the CQ. */
	VNET_CREATE_CQ_IGNORE_OVERRUN = 1 << 1,
	/*
	 * Entries may have VNET_WC_IMM64; without it, 64 bits of immediate data are
	 * shown as their lower 32. Only where VNET_UCONTEXT_CAP_IMM64 is.
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
 * The agent moves the entries that the process has not polled yet to the new
 * ring, at the same indices, with the ring header as it stands (cons, arm), and
 * carries on there. The process does not poll or arm meanwhile, and unmaps the
 * old ring afterwards.
 */
struct vnet_resize_cq_resp {
	struct vnet_ring_info cq;
};

struct vnet_create_srq_resp {
	__u32 srqn;
	/* Tag matching: tags that the list takes; the ring of tag operations. */
	__u32 tags;
	struct vnet_ring_info rq;
	struct vnet_ring_info ops;
};

enum vnet_create_qp_flags {
	/*
	 * Of datagrams: a request whose message cannot be delivered ends with a status
	 * that says why, and the queue pair goes on. Only where VNET_UCONTEXT_CAP_RETURN is.
	 */
	VNET_CREATE_QP_RETURN = 1 << 0,
};

/*
 * Sent only where it says something: flags; or, where frames are spread over the work
 * queues of an indirection table, a hash.
 */
struct vnet_create_qp_req {
	/* The values of enum ibv_rx_hash_fields. */
	__aligned_u64 rx_hash_fields;
	/* 1: Toeplitz, whose key is 40 bytes. */
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
