/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Builds send WQEs, for ibv_post_send() (send.c) and ibv_wr_*() (wr.c). Fields are stored as whole
 * words, because the NIC (often this thread itself, a moment later) loads them as words. A load
 * that spans several smaller stores would have to wait for them.
 */
#ifndef VNET_WQE_H
#define VNET_WQE_H

#include <endian.h>
#include <string.h>

#include "vnet.h"

static_assert((int)VNET_WR_RDMA_WRITE == IBV_WR_RDMA_WRITE, "opcodes are ibv's");
static_assert((int)VNET_WR_RDMA_WRITE_IMM == IBV_WR_RDMA_WRITE_WITH_IMM, "opcodes are ibv's");
static_assert((int)VNET_WR_SEND == IBV_WR_SEND, "opcodes are ibv's");
static_assert((int)VNET_WR_SEND_IMM == IBV_WR_SEND_WITH_IMM, "opcodes are ibv's");
static_assert((int)VNET_WR_RDMA_READ == IBV_WR_RDMA_READ, "opcodes are ibv's");
static_assert((int)VNET_WR_ATOMIC_CMP_SWP == IBV_WR_ATOMIC_CMP_AND_SWP, "opcodes are ibv's");
static_assert((int)VNET_WR_ATOMIC_FETCH_ADD == IBV_WR_ATOMIC_FETCH_AND_ADD, "opcodes are ibv's");
static_assert((int)VNET_WR_LOCAL_INV == IBV_WR_LOCAL_INV, "opcodes are ibv's");
static_assert((int)VNET_WR_BIND_MW == IBV_WR_BIND_MW, "opcodes are ibv's");
static_assert((int)VNET_WR_SEND_INV == IBV_WR_SEND_WITH_INV, "opcodes are ibv's");
static_assert((int)VNET_WR_ATOMIC_WRITE == IBV_WR_ATOMIC_WRITE, "opcodes are ibv's");
#ifdef VNET_HAVE_FLUSH
static_assert((int)VNET_WR_FLUSH == IBV_WR_FLUSH, "opcodes are ibv's");
static_assert((int)VNET_WC_FLUSH == IBV_WC_FLUSH, "opcodes are ibv's");
static_assert((int)VNET_FLUSH_GLOBAL == IBV_FLUSH_GLOBAL, "placement types are ibv's");
static_assert((int)VNET_FLUSH_PERSISTENT == IBV_FLUSH_PERSISTENT, "placement types are ibv's");
static_assert((int)VNET_FLUSH_RANGE == IBV_FLUSH_RANGE, "levels are ibv's");
static_assert((int)VNET_FLUSH_MR == IBV_FLUSH_MR, "levels are ibv's");
#endif
static_assert((int)VNET_WR_FENCE == IBV_SEND_FENCE, "flags are ibv's");
static_assert((int)VNET_WR_SIGNALED == IBV_SEND_SIGNALED, "flags are ibv's");
static_assert((int)VNET_WR_SOLICITED == IBV_SEND_SOLICITED, "flags are ibv's");
static_assert((int)VNET_WR_INLINE == IBV_SEND_INLINE, "flags are ibv's");
static_assert(sizeof(struct vnet_sge) == sizeof(struct ibv_sge), "SGEs are ibv's");
static_assert(offsetof(struct vnet_sge, lkey) == offsetof(struct ibv_sge, lkey), "SGEs are ibv's");

/* Bit masks of opcodes, as in vnet_qp.opcodes. */
#define OPCODE(_op) (1u << (_op))

#define OPCODES_SEND (OPCODE(VNET_WR_SEND) | OPCODE(VNET_WR_SEND_IMM))
#define OPCODES_WRITE (OPCODE(VNET_WR_RDMA_WRITE) | OPCODE(VNET_WR_RDMA_WRITE_IMM))
/* Opcodes that may have inline data: those that read local memory. */
#define OPCODES_INLINE                                                                             \
	(OPCODES_SEND | OPCODES_WRITE | OPCODE(VNET_WR_SEND_INV) | OPCODE(VNET_WR_ATOMIC_WRITE))

/* Combines two adjacent 32-bit fields into one word. */
static inline uint64_t wqe_pair(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (uint64_t)second << 32;
#else
	return second | (uint64_t)first << 32;
#endif
}

static inline void wqe_store(void *fields, uint64_t word)
{
	memcpy(fields, &word, sizeof(word));
}

/* The word that contains opcode, flags, number of SGEs, and imm. */
static inline uint64_t wqe_control(uint32_t opcode, uint32_t flags, uint32_t num_sge, uint32_t imm)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return wqe_pair(opcode | flags << 8 | num_sge << 16, imm);
#else
	return wqe_pair(opcode << 24 | flags << 16 | num_sge << 8, imm);
#endif
}

static_assert(offsetof(struct vnet_send_wqe, opcode) == 8, "control word");
static_assert(offsetof(struct vnet_send_wqe, flags) == 9, "control word");
static_assert(offsetof(struct vnet_send_wqe, num_sge) == 10, "control word");
static_assert(offsetof(struct vnet_send_wqe, imm) == 12, "control word");
static_assert(offsetof(struct vnet_send_wqe, inline_len) == 16, "length word");
static_assert(offsetof(struct vnet_send_wqe, srqn) == 20, "length word");

static inline void wqe_set_control(struct vnet_send_wqe *wqe, uint64_t control)
{
	wqe_store(&wqe->opcode, control);
}

static inline void wqe_set_inline_len(struct vnet_send_wqe *wqe, uint32_t len)
{
	wqe_store(&wqe->inline_len, wqe_pair(len, 0));
}

static inline void wqe_set_remote(struct vnet_send_wqe *wqe, uint64_t addr, uint32_t rkey)
{
	wqe->rdma.remote_addr = addr;
	wqe_store(&wqe->rdma.rkey, wqe_pair(rkey, 0));
}

static inline void wqe_set_atomic(struct vnet_send_wqe *wqe, uint64_t compare_add, uint64_t swap)
{
	wqe->rdma.compare_add = compare_add;
	wqe->rdma.swap = swap;
}

/* The word that begins at dlid. */
static inline uint32_t wqe_lid(const struct vnet_wqe_ud *ud)
{
	uint32_t word;

	memcpy(&word, &ud->dlid, sizeof(word));
	return word;
}

static inline void wqe_set_address(struct vnet_send_wqe *wqe, const struct ibv_ah *ah,
				   uint32_t remote_qpn, uint32_t remote_qkey)
{
	const struct vnet_ah *vah = container_of(ah, struct vnet_ah, ibv_ah);

	/* imm_high may have been set already, so keep it. */
	memcpy(&wqe->ud, &vah->av, offsetof(struct vnet_wqe_ud, imm_high));
	wqe_store(&wqe->ud.imm_high, wqe_pair(wqe->ud.imm_high, wqe_lid(&vah->av)));
	wqe_store(&wqe->ud.remote_qpn, wqe_pair(remote_qpn, remote_qkey));
}

/* The NIC reads imm_high only with VNET_WR_IMM64. */
static inline void wqe_set_imm_high(struct vnet_send_wqe *wqe, uint64_t imm)
{
	wqe_store(&wqe->rdma.imm_high, wqe_pair((uint32_t)(imm >> 32), wqe_lid(&wqe->ud)));
}

/* The lower half: the value of vnet_send_wqe.imm, and what ordinary verbs report. */
static inline uint32_t wqe_imm_low(uint64_t imm)
{
	return htobe32((uint32_t)imm);
}

/* Returns false if the bind is invalid. */
static inline bool wqe_set_bind(struct vnet_send_wqe *wqe, const struct ibv_mw *mw, uint32_t rkey,
				const struct ibv_mw_bind_info *info)
{
	if (!mw || (!info->mr && info->length))
		return false;
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.old_rkey = mw->rkey;
	wqe->bind.new_rkey = rkey;
	wqe->bind.lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags;
	wqe->bind.page_offset = 0;
	return true;
}

static inline void *wqe_data(struct vnet_send_wqe *wqe)
{
	return wqe + 1;
}

static inline void wqe_set_sges(struct vnet_send_wqe *wqe, const struct ibv_sge *sges, uint32_t n)
{
	if (likely(n == 1))
		memcpy(wqe_data(wqe), sges, sizeof(*sges));
	else if (n)
		memcpy(wqe_data(wqe), sges, n * sizeof(*sges));
}

/* memcpy() without a function call for short lengths, which matter for latency. */
static inline void wqe_copy(uint8_t *dst, const uint8_t *src, size_t n)
{
	uint64_t head, tail;
	uint32_t head4, tail4;

	if (n - 8 <= 8) {
		memcpy(&head, src, 8);
		memcpy(&tail, src + n - 8, 8);
		memcpy(dst, &head, 8);
		memcpy(dst + n - 8, &tail, 8);
	} else if (n - 4 < 4) {
		memcpy(&head4, src, 4);
		memcpy(&tail4, src + n - 4, 4);
		memcpy(dst, &head4, 4);
		memcpy(dst + n - 4, &tail4, 4);
	} else if (n > 16) {
		memcpy(dst, src, n);
	} else if (n) {
		dst[0] = src[0];
		dst[n - 1] = src[n - 1];
		dst[n / 2] = src[n / 2];
	}
}

#endif /* VNET_WQE_H */
