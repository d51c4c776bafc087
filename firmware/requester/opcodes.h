/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Send opcodes (enum vnet_wr_opcode) by what they have in common, as sets of bits. */
#ifndef NIC_OPCODES_H
#define NIC_OPCODES_H

#include "vnet_hw.h"

#define OP(n) (1u << (n))
#define SENDS (OP(VNET_WR_SEND) | OP(VNET_WR_SEND_IMM))
#define WRITES (OP(VNET_WR_RDMA_WRITE) | OP(VNET_WR_RDMA_WRITE_IMM))
#define ATOMIC_WRITE OP(VNET_WR_ATOMIC_WRITE)
/* They bring back what was there. */
#define ATOMIC_FETCHES (OP(VNET_WR_ATOMIC_CMP_SWP) | OP(VNET_WR_ATOMIC_FETCH_ADD))
#define ATOMICS (ATOMIC_FETCHES | ATOMIC_WRITE)
#define FLUSH OP(VNET_WR_FLUSH)
/* The responder does more than to take them: it remembers, answers with data, or places. */
#define READS (ATOMICS | OP(VNET_WR_RDMA_READ) | FLUSH)
/* Of keys: nothing leaves the NIC. */
#define KEYS (OP(VNET_WR_LOCAL_INV) | OP(VNET_WR_BIND_MW) | OP(VNET_WR_REG_MR))

#endif /* NIC_OPCODES_H */
