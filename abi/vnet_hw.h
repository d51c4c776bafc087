/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hardware interface of the vnet device: layout of the shared queues, and the gate to the firmware.
 * The queues consist of ring headers, work queue entries and completion queue entries.
 *
 * Rules of this file:
 *   - Types have fixed widths, padding is explicit, and vnet_layout.h asserts each size and offset.
 *   - Reserved fields are zero when written, and ignored when read.
 *   - Rings never leave the machine, so they are in host byte order. Immediate data is carried as
 *     the application gave it (big endian by convention).
 *   - Neither side trusts what the other can write: indices are masked, and an entry is copied once
 *     before it is checked and used.
 */
#ifndef VNET_HW_H
#define VNET_HW_H

#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <stddef.h>
#if !defined(static_assert) && !defined(__cplusplus)
#define static_assert _Static_assert
#endif
#endif

/*
 * Incremented whenever the layout of anything in this file changes. Not for fields in reserved
 * space that are used only after a bit of enum vnet_ucontext_caps has shown that both sides support
 * them.
 */
#define VNET_HW_VERSION 2

enum vnet_hw_limits {
	VNET_MAX_SGE = 32,
	VNET_MAX_INLINE = 1024,
	VNET_WQE_HDR_SIZE = 64,
	VNET_MAX_SEND_WQE = VNET_WQE_HDR_SIZE + VNET_MAX_INLINE,
	VNET_RECV_HDR_SIZE = 16,
	VNET_CQE_SIZE = 128,
	VNET_CQE_PAYLOAD = 80,
	VNET_CQE_PAYLOAD_IMM64 = VNET_CQE_PAYLOAD - 4,
	/*
	 * Limit of a matched message in vnet_cqe.payload, and of one whose tag is in the first line
	 * of the entry: see vnet_cqe_tm_info().
	 */
	VNET_CQE_TM_PAYLOAD = 64,
	VNET_CQE_TM_NEAR = 12,
	VNET_GRH_SIZE = 40,
	VNET_CACHE_LINE = 64,
};

/* ------------------------------------------------------------------ rings */

/*
 * Header of a ring; the entries follow at VNET_RING_HDR_SIZE.
 *
 * Indices are free-running, 32 bits; entry i is in slot (i & (entries - 1)). Each cache line has
 * one writer. Send, receive and shared receive queues: the process is the producer, the NIC the
 * consumer. Completion queues: the NIC is the producer, the process the consumer; each entry is
 * published by its own vnet_cqe.seq, so prod is only advisory. When a QP goes to RESET, the NIC
 * sets cons = prod in both rings; indices are not reset.
 */
struct vnet_ring {
	/* Written by the producer: number of entries produced. */
	__u32 prod;
	__u32 rsvd0[15];

	/* Written by the consumer: number of entries consumed. */
	__u32 cons;
	/*
	 * Rings of tag operations: number of added tags that are not in the list any more. The tags
	 * added, minus this number, count for the limit of the list.
	 */
	__u32 ended;
	__u32 rsvd1[14];

	/*
	 * Receive rings, written by the NIC: non-zero asks the process to ring the receive doorbell
	 * after posting, because a sender waits, or because the QP is in the error state and its
	 * receives must be flushed. A race may hide it; then the NIC's timer finds the receive.
	 * Rings of tag operations: the process must execute operations itself.
	 */
	__u32 need_doorbell;
	/*
	 * Receive rings: changes when a message finds no receive; stays 0 with agents that do not
	 * count.
	 */
	__u32 no_receive;
	__u32 rsvd2[14];

	/*
	 * Completion rings: enum vnet_cq_arm, stored by the process (ibv_req_notify_cq), cleared by
	 * the NIC when it makes an event.
	 */
	__u32 arm;
	__u32 rsvd3[15];
};

#define VNET_RING_HDR_SIZE 256
static_assert(offsetof(struct vnet_ring, cons) == 64, "one writer a line");
static_assert(offsetof(struct vnet_ring, need_doorbell) == 128, "one writer a line");
static_assert(offsetof(struct vnet_ring, arm) == 192, "one writer a line");

enum vnet_cq_arm {
	VNET_CQ_DISARMED = 0,
	VNET_CQ_ARM_SOLICITED = 1,
	VNET_CQ_ARM_NEXT = 2,
};

/* ---------------------------------------------------------- send requests */

/* Work request opcodes: the values of enum ib_uverbs_wr_opcode / ibv_wr_opcode. */
enum vnet_wr_opcode {
	VNET_WR_RDMA_WRITE = 0,
	VNET_WR_RDMA_WRITE_IMM = 1,
	VNET_WR_SEND = 2,
	VNET_WR_SEND_IMM = 3,
	VNET_WR_RDMA_READ = 4,
	VNET_WR_ATOMIC_CMP_SWP = 5,
	VNET_WR_ATOMIC_FETCH_ADD = 6,
	VNET_WR_LOCAL_INV = 7,
	VNET_WR_BIND_MW = 8,
	VNET_WR_SEND_INV = 9,
	/*
	 * Register a region (in the bind part: its keys in old_rkey and new_rkey, lkey 0). Only for
	 * queues of the kernel's own.
	 */
	VNET_WR_REG_MR = 10,
	/*
	 * Completes when all earlier writes of this queue pair are placed. Has no data. In
	 * vnet_wqe_rdma, compare_add is the length of the range, and swap is vnet_flush_operand().
	 */
	VNET_WR_FLUSH = 14,
	/* Writes eight bytes atomically. */
	VNET_WR_ATOMIC_WRITE = 15,
	VNET_WR_MAX = VNET_WR_ATOMIC_WRITE,
};

/* Placement types, one or both: the values of enum ibv_placement_type. */
enum vnet_flush_type {
	/* Visible to all processors and devices of the responder. */
	VNET_FLUSH_GLOBAL = 1 << 0,
	/* Preserved over a loss of power. */
	VNET_FLUSH_PERSISTENT = 1 << 1,
	VNET_FLUSH_TYPES = VNET_FLUSH_GLOBAL | VNET_FLUSH_PERSISTENT,
};

/* Range of a flush: the values of enum ibv_selectivity_level. */
enum vnet_flush_level {
	/* A range from remote_addr, of the given length; within the region even if it is empty. */
	VNET_FLUSH_RANGE = 0,
	/* The whole region; address and length are ignored. */
	VNET_FLUSH_MR = 1,
};

/* Type and level as encoded in requests and frames; other bits are 0. */
static inline __u64 vnet_flush_operand(__u8 type, __u8 level)
{
	return type | (__u64)level << 8;
}

enum vnet_wr_flags {
	VNET_WR_FENCE = 1 << 0,
	VNET_WR_SIGNALED = 1 << 1,
	VNET_WR_SOLICITED = 1 << 2,
	/* inline_len bytes of data follow instead of SGEs. */
	VNET_WR_INLINE = 1 << 3,
	/* A read of the NIC's own; its completion is that of a tagged buffer. */
	VNET_WR_TM = 1 << 4,
	/*
	 * With VNET_WR_SEND_IMM and VNET_WR_RDMA_WRITE_IMM: the immediate data has 64 bits, see
	 * vnet_send_wqe.imm.
	 */
	VNET_WR_IMM64 = 1 << 7,
};

struct vnet_sge {
	__u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Remote address and key; operands of atomic operations and of VNET_WR_FLUSH. */
struct vnet_wqe_rdma {
	__u64 remote_addr;
	__u32 rkey;
	__u32 rsvd;
	__u64 compare_add;
	__u64 swap;
	/* Upper half with VNET_WR_IMM64; also for sends, which do not use the other words here. */
	__u32 imm_high;
	__u32 rsvd2;
};

/* Address vector of a datagram; fields as in struct ibv_ah_attr. */
struct vnet_wqe_ud {
	__u8 dgid[16];
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u32 flow_label;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 sl;
	/* Upper half with VNET_WR_IMM64, at the same offset as in vnet_wqe_rdma. */
	__u32 imm_high;
	/* InfiniBand ports: destination LID; no_grh non-zero: sent without a GRH. */
	__u16 dlid;
	__u8 no_grh;
	__u8 rsvd;
};

/* Bind a memory window; length 0 unbinds. Access bits as in ibv_access_flags. */
struct vnet_wqe_bind {
	__u64 addr;
	__u64 length;
	/*
	 * A key that the window has had since its allocation. Its tag (the low 8 bits) is ignored,
	 * because the process may not know the present one.
	 */
	__u32 old_rkey;
	/* The window's key from now on; its low 8 bits may differ. */
	__u32 new_rkey;
	/* lkey of the region to bind to. */
	__u32 lkey;
	__u32 access;
	/* VNET_WR_REG_MR: offset of the region in its first page. */
	__u64 page_offset;
};

/*
 * A send queue entry: this header, then num_sge SGEs or inline_len bytes. Its slot has (1 <<
 * stride_shift) bytes, as reported when the QP is created (vnet_ring_info).
 */
struct vnet_send_wqe {
	__u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 rsvd;
	/*
	 * Immediate data (as given), or the rkey to invalidate. With VNET_WR_IMM64 the lower half
	 * of a 64-bit number, big endian as immediate data is by convention; the upper half is
	 * imm_high, in host byte order.
	 */
	__u32 imm;
	__u32 inline_len;
	/* XRC: number of the peer's SRQ. */
	__u32 srqn;
	union {
		struct vnet_wqe_rdma rdma;
		struct vnet_wqe_ud ud;
		struct vnet_wqe_bind bind;
	};
};
static_assert(offsetof(struct vnet_wqe_rdma, imm_high) == offsetof(struct vnet_wqe_ud, imm_high),
	      "the immediate's upper half has one place");

/* ------------------------------------------------------- receive requests */

/* A receive queue entry: this header, then num_sge SGEs. */
struct vnet_recv_wqe {
	__u64 wr_id;
	__u32 num_sge;
	__u32 rsvd;
};

/* ----------------------------------------------------------- tag operations */

enum {
	/* SGEs of a tagged buffer. */
	VNET_TM_MAX_SGE = 4,
	VNET_TM_OP_SHIFT = 7,
};

/* The values of enum ibv_ops_wr_opcode. */
enum vnet_tm_opcode {
	VNET_TM_OP_ADD = 0,
	VNET_TM_OP_DEL = 1,
	VNET_TM_OP_SYNC = 2,
};

/* The values of enum ibv_ops_flags. */
enum vnet_tm_op_flags {
	VNET_TM_OP_SIGNALED = 1 << 0,
	VNET_TM_OP_SYNCS = 1 << 1,
};

/*
 * An operation on the tags of a shared receive queue, in a ring of its own; executed in order. An
 * unsignaled operation that adds a tag needs no doorbell: the thread that delivers a message takes
 * it from the ring. All others are executed by their own process, in vnet_gate.tag_doorbell. A tag
 * with one SGE fits into one cache line.
 */
struct vnet_tm_op {
	__u64 wr_id;
	/* Add: the buffer's wr_id, and tag and mask to match. */
	__u64 recv_wr_id;
	__u64 tag;
	__u64 mask;
	/* The process' handle of the tag. */
	__u32 handle;
	/* Number of unexpected messages that the process has seen. */
	__u32 unexpected;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 rsvd[5];
	struct vnet_sge sge[VNET_TM_MAX_SGE];
	__u64 rsvd2[2];
};

/* ------------------------------------------------------------ completions */

/* Completion status: the values of enum ibv_wc_status. */
enum vnet_wc_status {
	VNET_WC_SUCCESS = 0,
	VNET_WC_LOC_LEN_ERR = 1,
	VNET_WC_LOC_QP_OP_ERR = 2,
	VNET_WC_LOC_EEC_OP_ERR = 3,
	VNET_WC_LOC_PROT_ERR = 4,
	VNET_WC_WR_FLUSH_ERR = 5,
	VNET_WC_MW_BIND_ERR = 6,
	VNET_WC_BAD_RESP_ERR = 7,
	VNET_WC_LOC_ACCESS_ERR = 8,
	VNET_WC_REM_INV_REQ_ERR = 9,
	VNET_WC_REM_ACCESS_ERR = 10,
	VNET_WC_REM_OP_ERR = 11,
	VNET_WC_RETRY_EXC_ERR = 12,
	VNET_WC_RNR_RETRY_EXC_ERR = 13,
	VNET_WC_FATAL_ERR = 19,
	VNET_WC_GENERAL_ERR = 21,
	VNET_WC_TM_ERR = 22,
	VNET_WC_TM_RNDV_INCOMPLETE = 23,
	VNET_WC_STATUS_MAX = 24,
};

/* Completion opcode: the values of enum ibv_wc_opcode. */
enum vnet_wc_opcode {
	VNET_WC_SEND = 0,
	VNET_WC_RDMA_WRITE = 1,
	VNET_WC_RDMA_READ = 2,
	VNET_WC_COMP_SWAP = 3,
	VNET_WC_FETCH_ADD = 4,
	VNET_WC_BIND_MW = 5,
	VNET_WC_LOCAL_INV = 6,
	VNET_WC_FLUSH = 8,
	VNET_WC_ATOMIC_WRITE = 9,
	/* Not a value of enum ibv_wc_opcode: only for the kernel's queues. */
	VNET_WC_REG_MR = 10,
	VNET_WC_RECV = 128,
	VNET_WC_RECV_RDMA_WITH_IMM = 129,
	VNET_WC_TM_ADD = 130,
	VNET_WC_TM_DEL = 131,
	VNET_WC_TM_SYNC = 132,
	VNET_WC_TM_RECV = 133,
	VNET_WC_TM_NO_TAG = 134,
};

/* Completion flags: the values of enum ibv_wc_flags, and additional ones. */
enum vnet_wc_flags {
	VNET_WC_GRH = 1 << 0,
	VNET_WC_WITH_IMM = 1 << 1,
	/*
	 * A datagram on an InfiniBand port: the upper half of byte_len is the sender's LID, and
	 * src_qp has the service level from bit 24 on.
	 */
	VNET_WC_LID = 1 << 2,
	VNET_WC_WITH_INV = 1 << 3,
	/* A frame whose flow has a tag. (For opcodes from VNET_WC_TM_ADD on: TM_SYNC_REQ.) */
	VNET_WC_FLOW_TAG = 1 << 4,
	/*
	 * With WITH_IMM: the immediate data has 64 bits; vnet_cqe.imm is the lower half, and the
	 * upper half is at vnet_cqe_imm_high() in payload[]. Only in CQs with VNET_CREATE_CQ_IMM64.
	 */
	VNET_WC_IMM64 = 1 << 6,
	/* With GRH: an IPv4 header, in the last 20 of the 40 bytes. */
	VNET_WC_GRH_IPV4 = 1 << 7,
	/* For opcodes from VNET_WC_TM_ADD on; the last one's bit is IMM64 for others. */
	VNET_WC_TM_SYNC_REQ = 1 << 4,
	/* Tag (64 bits) and user data (32) of the header are at vnet_cqe_tm_info() in payload[]. */
	VNET_WC_TM_MATCH = 1 << 5,
	VNET_WC_TM_DATA_VALID = 1 << 6,
};

/*
 * A completion queue entry. It is valid if seq == index + 1, where index is the free-running index
 * of the entry. The NIC stores seq last (release), and the process loads it first (acquire).
 *
 * payload_len > 0: this number of bytes of the message is in payload[], and the process copies them
 * to scatter_addr when it polls the entry. Keys, bounds and rights of the receive have been
 * checked. With VNET_WC_IMM64 the limit is VNET_CQE_PAYLOAD_IMM64.
 */
struct vnet_cqe {
	__u64 wr_id;
	__u64 scatter_addr;
	__u32 byte_len;
	__u32 qp_num;
	__u32 src_qp;
	/* By flags: immediate data, invalidated rkey, or flow tag; vendor error if status != 0. */
	__u32 imm;
	__u8 opcode;
	__u8 status;
	__u8 flags;
	__u8 payload_len;
	__u32 seq;
	__u8 payload[VNET_CQE_PAYLOAD];
	/*
	 * NIC clock at completion, ns, in CQs with timestamps. On the process' own machine that is
	 * CLOCK_MONOTONIC.
	 */
	__u64 timestamp;
};

enum vnet_cqe_lid {
	VNET_CQE_LID_SHIFT = 16,
	VNET_CQE_SL_SHIFT = 24,
};

/*
 * Offset in payload[] of the upper half of 64-bit immediate data (32 bits, host byte order,
 * aligned): behind a message in payload[], so that both are in as few cache lines as possible.
 */
static inline __u32 vnet_cqe_imm_high(__u32 byte_len)
{
	return byte_len <= VNET_CQE_PAYLOAD_IMM64 ? (byte_len + 3) & ~3u : 0;
}

/*
 * Offset in payload[] of a matched message's tag and user data: behind a message in payload[]; with
 * a short one, in the first cache line of the entry.
 */
static inline __u32 vnet_cqe_tm_info(__u32 byte_len)
{
	if (byte_len <= VNET_CQE_TM_NEAR)
		return (byte_len + 3) & ~3u;
	return byte_len <= VNET_CQE_TM_PAYLOAD ? (__u32)VNET_CQE_TM_PAYLOAD : 0;
}

/* --------------------------------------------------------------- the gate */

#ifndef __KERNEL__
/*
 * Entry points of the firmware in the process' own address space, like system calls in a vDSO. An
 * agent whose firmware can run in the calling thread returns the address of this table when a
 * context is opened (vnet_alloc_ucontext_resp.gate). Other agents return 0, and the provider makes
 * a system call instead.
 *
 * Each function may be called from any thread, and never blocks on another process. Its first
 * argument is the context's gate_cookie. Numbers come from the process, and are checked.
 */
struct vnet_gate {
	/* sizeof(struct vnet_gate) of the agent; the table grows at its end. */
	__u32 size;
	__u32 rsvd;
	/*
	 * QP qpn has new send requests. On return they are executed, or left to the NIC processor.
	 */
	void (*send_doorbell)(__u64 cookie, __u32 qpn);
	/*
	 * The receive queue has new receives; only needed if vnet_ring.need_doorbell is set. num:
	 * number of a shared receive queue (is_srq), or of a QP.
	 */
	void (*recv_doorbell)(__u64 cookie, __u32 num, int is_srq);
	/* A CQ was polled empty: executes requests of this process that wait. */
	void (*idle)(__u64 cookie, __u32 cqn);
	/* memcpy() for vnet_cqe.payload. Returns 0, or -1 if a page of dst cannot be written. */
	int (*copy)(__u64 cookie, void *dst, const void *src, __u32 len);
	/* Such a copy failed: QP qpn goes to the error state. */
	void (*recv_fault)(__u64 cookie, __u32 qpn);
	/*
	 * Address of the ring at this offset (vnet_ring_info), if it is mapped in the process
	 * already, for its whole life. NULL: it is not, use mmap(). (Programs hook mmap() for
	 * registration caches, so a call may not reach an agent that must see it.)
	 */
	void *(*ring)(__u64 cookie, __u64 mmap_offset, __u64 mmap_size);
	/*
	 * The shared receive queue has, or may still have, tag operations that the process must
	 * execute itself (struct vnet_tm_op). They are executed, unless a sender holds the queue's
	 * lock.
	 */
	void (*tag_doorbell)(__u64 cookie, __u32 srqn);
	/*
	 * The CQ was armed while it has unpolled entries: makes an event, if one of the entries is
	 * of the kind for which it is armed.
	 */
	void (*cq_doorbell)(__u64 cookie, __u32 cqn);
};
#endif

#endif /* VNET_HW_H */
