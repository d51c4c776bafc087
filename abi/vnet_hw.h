/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the vnet device defines: the layout of the queues that it shares with
 * a process (work queue entries, completion queue entries, ring headers) and
 * the gate by which a process may enter the firmware.
 *
 * The law of this file:
 *  - fixed-width types, explicit padding, every size and offset asserted (vnet_layout.h);
 *  - reserved fields are zero when written and ignored when read;
 *  - rings never leave the machine, so they are in host byte order; immediate
 *    data is carried as the application gave it (big endian by convention);
 *  - a side never trusts what the other may write: indices are masked, and an
 *    entry is copied once before it is checked and used.
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
 * Raised whenever the layout of anything in this file changes; not by what stands
 * in reserved fields and is used only after a bit of enum vnet_ucontext_caps told
 * that both sides know it.
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
	 * A matched message of so many bytes may stand in vnet_cqe.payload; where its tag
	 * is then: see vnet_cqe_tm_info().
	 */
	VNET_CQE_TM_PAYLOAD = 64,
	VNET_CQE_TM_NEAR = 12,
	VNET_GRH_SIZE = 40,
	VNET_CACHE_LINE = 64,
};

/* ------------------------------------------------------------------ rings */

/*
 * Header of every ring; the entries follow at VNET_RING_HDR_SIZE.
 *
 * Indices run freely over 32 bits; entry i is in slot (i & (entries - 1)).
 * Each line has one writer. Send, receive and shared receive queues: the
 * process produces, the NIC consumes. Completion queue: the NIC produces (and
 * publishes each entry by its own vnet_cqe.seq, so prod is only advisory), the
 * process consumes. When a QP goes to RESET, the NIC sets cons = prod in both
 * of its rings: indices run on.
 */
struct vnet_ring {
	/* Written by the producer: entries made so far. */
	__u32 prod;
	__u32 rsvd0[15];

	/* Written by the consumer: entries taken so far. */
	__u32 cons;
	/*
	 * Rings of tag operations: tags added that are in the list no more, so that what
	 * was added and is not among them counts for the list's size.
	 */
	__u32 ended;
	__u32 rsvd1[14];

	/*
	 * Receive rings, written by the NIC: non-zero asks the process to ring
	 * the receive doorbell after it has posted, because a sender waits, or
	 * because the QP is in the error state and receives are to be flushed.
	 * May be missed in a race: the NIC's timer finds the receive then.
	 * Rings of tag operations: the process has something to carry out itself.
	 */
	__u32 need_doorbell;
	/* Receive rings: moves on when a message finds no receive; zero where nobody counts. */
	__u32 no_receive;
	__u32 rsvd2[14];

	/*
	 * Completion rings: enum vnet_cq_arm, stored by the process
	 * (ibv_req_notify_cq) and cleared by the NIC when it makes an event.
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
	 * Register a region (bind part: old_rkey and new_rkey its keys, lkey 0);
	 * for queues that the kernel itself posts to.
	 */
	VNET_WR_REG_MR = 10,
	/*
	 * Ends when all that this queue pair has written before is placed. It has no data;
	 * in vnet_wqe_rdma compare_add is the length of the range, and swap is
	 * vnet_flush_operand(): neither has a meaning of its own here.
	 */
	VNET_WR_FLUSH = 14,
	/* Eight bytes, written at once. */
	VNET_WR_ATOMIC_WRITE = 15,
	VNET_WR_MAX = VNET_WR_ATOMIC_WRITE,
};

/* Where it is to be placed, one or both: the values of enum ibv_placement_type. */
enum vnet_flush_type {
	/* Where all processors and devices of the responder see it. */
	VNET_FLUSH_GLOBAL = 1 << 0,
	/* Where it outlives a loss of power. */
	VNET_FLUSH_PERSISTENT = 1 << 1,
	VNET_FLUSH_TYPES = VNET_FLUSH_GLOBAL | VNET_FLUSH_PERSISTENT,
};

/* What is to be placed: the values of enum ibv_selectivity_level. */
enum vnet_flush_level {
	/* From remote_addr on, so many bytes; it must be the region's, if it is none at all. */
	VNET_FLUSH_RANGE = 0,
	/* All of the region; address and length mean nothing. */
	VNET_FLUSH_MR = 1,
};

/* Both, as a request and a frame have them; other bits are 0. */
static inline __u64 vnet_flush_operand(__u8 type, __u8 level)
{
	return type | (__u64)level << 8;
}

enum vnet_wr_flags {
	VNET_WR_FENCE = 1 << 0,
	VNET_WR_SIGNALED = 1 << 1,
	VNET_WR_SOLICITED = 1 << 2,
	/* inline_len bytes of data stand in the entry instead of SGEs. */
	VNET_WR_INLINE = 1 << 3,
	/* A read of the NIC's own, whose completion is of a tagged buffer. */
	VNET_WR_TM = 1 << 4,
	/*
	 * With VNET_WR_SEND_IMM and VNET_WR_RDMA_WRITE_IMM: the immediate data has 64
	 * bits, see vnet_send_wqe.imm.
	 */
	VNET_WR_IMM64 = 1 << 7,
};

struct vnet_sge {
	__u64 addr;
	__u32 length;
	__u32 lkey;
};

/* A remote memory location, and the operands of atomic operations and of VNET_WR_FLUSH. */
struct vnet_wqe_rdma {
	__u64 remote_addr;
	__u32 rkey;
	__u32 rsvd;
	__u64 compare_add;
	__u64 swap;
	/* VNET_WR_IMM64: also of a send, whose other words here mean nothing. */
	__u32 imm_high;
	__u32 rsvd2;
};

/* Address vector of a datagram; flags and lengths as in struct ibv_ah_attr. */
struct vnet_wqe_ud {
	__u8 dgid[16];
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u32 flow_label;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 sl;
	/* VNET_WR_IMM64, where vnet_wqe_rdma has it. */
	__u32 imm_high;
	/* Ports of InfiniBand: the LID, and non-zero: there is no more, no GRH is sent. */
	__u16 dlid;
	__u8 no_grh;
	__u8 rsvd;
};

/* Bind a memory window; length 0 unbinds. Access bits as ibv_access_flags. */
struct vnet_wqe_bind {
	__u64 addr;
	__u64 length;
	/*
	 * The window's key as it was allocated or bound any time: its tag (the
	 * low 8 bits) does not count, because the process may not know the last.
	 */
	__u32 old_rkey;
	/* The key that it has from now on (its low 8 bits may differ). */
	__u32 new_rkey;
	/* The region in which the window opens. */
	__u32 lkey;
	__u32 access;
	/* Registering: how far into its first page the region begins. */
	__u64 page_offset;
};

/*
 * A send queue entry: this header, then num_sge SGEs or inline_len bytes.
 * Its slot is (1 << sq_stride_shift) bytes, told when the QP is made.
 */
struct vnet_send_wqe {
	__u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 rsvd;
	/*
	 * Immediate data (as given), or the rkey to invalidate. With VNET_WR_IMM64 the
	 * lower half of a number, big endian as the others are by convention; the upper
	 * one is imm_high, in host byte order.
	 */
	__u32 imm;
	__u32 inline_len;
	/* Extended reliable connection: the peer's SRQ that the request is for. */
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
 * An operation on the tags of a shared receive queue: an entry of a ring of its own.
 * They are carried out in their order. One that adds a tag and is not signaled needs no
 * doorbell: who delivers a message takes it from the ring. All others are carried out
 * by their own process, by vnet_gate.tag_doorbell. A tag with one SGE is in one line.
 */
struct vnet_tm_op {
	__u64 wr_id;
	/* Add: the buffer's wr_id, and what it matches. */
	__u64 recv_wr_id;
	__u64 tag;
	__u64 mask;
	/* The process' name for the tag. */
	__u32 handle;
	/* Unexpected messages that the process has seen. */
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
	/* Not one of ibv's: only for the kernel's queues. */
	VNET_WC_REG_MR = 10,
	VNET_WC_RECV = 128,
	VNET_WC_RECV_RDMA_WITH_IMM = 129,
	VNET_WC_TM_ADD = 130,
	VNET_WC_TM_DEL = 131,
	VNET_WC_TM_SYNC = 132,
	VNET_WC_TM_RECV = 133,
	VNET_WC_TM_NO_TAG = 134,
};

/* Completion flags: the values of enum ibv_wc_flags, and some of our own. */
enum vnet_wc_flags {
	VNET_WC_GRH = 1 << 0,
	VNET_WC_WITH_IMM = 1 << 1,
	/*
	 * A datagram at a port of InfiniBand: it shares byte_len with the sender's LID,
	 * which is the upper half, and src_qp with its service level (from bit 24 on).
	 */
	VNET_WC_LID = 1 << 2,
	VNET_WC_WITH_INV = 1 << 3,
	/* A frame whose flow has a tag. (Of opcodes from VNET_WC_TM_ADD on: TM_SYNC_REQ.) */
	VNET_WC_FLOW_TAG = 1 << 4,
	/*
	 * With WITH_IMM: of 64 bits, of which vnet_cqe.imm is the lower half; the upper
	 * one stands at vnet_cqe_imm_high() of payload[]. Only in completion queues made
	 * with VNET_CREATE_CQ_IMM64.
	 */
	VNET_WC_IMM64 = 1 << 6,
	/* With GRH: it is an IPv4 header, in the last 20 of the 40 bytes. */
	VNET_WC_GRH_IPV4 = 1 << 7,
	/* Of opcodes from VNET_WC_TM_ADD on; the last is IMM64 in others. */
	VNET_WC_TM_SYNC_REQ = 1 << 4,
	/* tag (64 bits) and user data (32) from the header stand at vnet_cqe_tm_info(). */
	VNET_WC_TM_MATCH = 1 << 5,
	VNET_WC_TM_DATA_VALID = 1 << 6,
};

/*
 * A completion queue entry. It is valid when seq == index + 1, where index is
 * the free-running index of the entry; the NIC stores seq last (release) and
 * the process loads it first (acquire).
 *
 * payload_len > 0: so many bytes of the message stand in payload[] and the
 * process copies them to scatter_addr when it polls the entry (the receive
 * request's keys, bounds and rights have been checked). With VNET_WC_IMM64 these
 * are at most VNET_CQE_PAYLOAD_IMM64.
 */
struct vnet_cqe {
	__u64 wr_id;
	__u64 scatter_addr;
	__u32 byte_len;
	__u32 qp_num;
	__u32 src_qp;
	/*
	 * Immediate data, invalidated rkey or tag of a flow, as the flags say; vendor error
	 * where status != 0.
	 */
	__u32 imm;
	__u8 opcode;
	__u8 status;
	__u8 flags;
	__u8 payload_len;
	__u32 seq;
	__u8 payload[VNET_CQE_PAYLOAD];
	/*
	 * NIC clock at completion, nanoseconds (CQs made with timestamps). On
	 * the process' machine that clock is CLOCK_MONOTONIC.
	 */
	__u64 timestamp;
};

enum vnet_cqe_lid {
	VNET_CQE_LID_SHIFT = 16,
	VNET_CQE_SL_SHIFT = 24,
};

/*
 * Where in payload[] the upper half of 64 bits of immediate data is (32 bits, host
 * byte order, aligned): behind a message that may stand there, so that both are in
 * as few cache lines as there can be.
 */
static inline __u32 vnet_cqe_imm_high(__u32 byte_len)
{
	return byte_len <= VNET_CQE_PAYLOAD_IMM64 ? (byte_len + 3) & ~3u : 0;
}

/*
 * Where in payload[] a matched message's tag and user data are: behind a message that
 * stands there, and in the entry's first line with a short one.
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
 * Firmware entry points in the process' own address space, as a vDSO offers
 * system calls: an agent whose firmware can run in the calling thread tells
 * the address of this table when a context is opened (vnet_alloc_ucontext_resp
 * .gate); other agents tell 0, and the provider traps instead.
 *
 * Every function may be called from any thread, never blocks on another
 * process, and takes the gate_cookie of the context as its first argument.
 * Numbers come from the process and are checked.
 */
struct vnet_gate {
	/* sizeof(struct vnet_gate) as the agent knows it; grows at the end. */
	__u32 size;
	__u32 rsvd;
	/* "QP qpn has new send work." Work is done, or queued, on return. */
	void (*send_doorbell)(__u64 cookie, __u32 qpn);
	/*
	 * "Receive queue num has new receives"; only needed where
	 * vnet_ring.need_doorbell is set. is_srq: num is a shared receive
	 * queue's number, else a QP's.
	 */
	void (*recv_doorbell)(__u64 cookie, __u32 num, int is_srq);
	/* A completion queue was polled and found empty: work that waits runs. */
	void (*idle)(__u64 cookie, __u32 cqn);
	/*
	 * memcpy() that answers -1 where a page of dst cannot be written, and 0
	 * otherwise; used for vnet_cqe.payload.
	 */
	int (*copy)(__u64 cookie, void *dst, const void *src, __u32 len);
	/* Such a copy failed: QP qpn goes to the error state. */
	void (*recv_fault)(__u64 cookie, __u32 qpn);
	/*
	 * Where the ring at this offset (vnet_ring_info) is in the process
	 * already, for its whole life; NULL if it is not: then mmap() maps it.
	 * (Programs hook mmap() for registration caches, so that it may not
	 * reach an agent that has to see it.)
	 */
	void *(*ring)(__u64 cookie, __u64 mmap_offset, __u64 mmap_size);
	/*
	 * "Shared receive queue num has tag operations that the process has to carry
	 * out itself (struct vnet_tm_op), or may still have": they are done, unless a
	 * sender is inside just now.
	 */
	void (*tag_doorbell)(__u64 cookie, __u32 srqn);
	/*
	 * "Completion queue cqn is armed, and has entries already": an event, if one of
	 * them is such as it is armed for.
	 */
	void (*cq_doorbell)(__u64 cookie, __u32 cqn);
};
#endif

#endif /* VNET_HW_H */
