/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Decodes fields of completions that hold more than one value. */
#ifndef CQE_H
#define CQE_H

#include "vnet.h"

static inline unsigned int wc_flags_of(const struct vnet_cqe *cqe)
{
	/* Tag matching is for connected queue pairs: no network header, no LID. */
	if (unlikely(cqe->opcode >= VNET_WC_TM_ADD))
		return cqe->flags & (unsigned int)~VNET_WC_GRH_IPV4;
	return cqe->flags &
	       (unsigned int)~(VNET_WC_GRH_IPV4 | VNET_WC_IMM64 | VNET_WC_LID | VNET_WC_FLOW_TAG);
}

static inline uint32_t byte_len_of(const struct vnet_cqe *cqe)
{
	uint32_t mask = cqe->flags & VNET_WC_LID ? (1u << VNET_CQE_LID_SHIFT) - 1 : ~0u;

	return cqe->byte_len & mask;
}

static inline uint32_t src_qp_of(const struct vnet_cqe *cqe)
{
	uint32_t mask = cqe->flags & VNET_WC_LID ? (1u << VNET_CQE_SL_SHIFT) - 1 : ~0u;

	return cqe->src_qp & mask;
}

/* 0 on an Ethernet port, which has no LIDs. */
static inline uint16_t slid_of(const struct vnet_cqe *cqe)
{
	return cqe->flags & VNET_WC_LID ? (uint16_t)(cqe->byte_len >> VNET_CQE_LID_SHIFT) : 0;
}

#endif /* CQE_H */
