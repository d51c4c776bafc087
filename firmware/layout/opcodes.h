/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Classes of send opcodes (enum vnet_wr_opcode), as bit masks. */
#ifndef NIC_OPCODES_H
#define NIC_OPCODES_H

#include "vnet_hw.h"

#define OP(n) (1u << (n))
#define SENDS (OP(VNET_WR_SEND) | OP(VNET_WR_SEND_IMM))
#define WRITES (OP(VNET_WR_RDMA_WRITE) | OP(VNET_WR_RDMA_WRITE_IMM))
#define ATOMIC_WRITE OP(VNET_WR_ATOMIC_WRITE)
/* Return the former value. */
#define ATOMIC_FETCHES (OP(VNET_WR_ATOMIC_CMP_SWP) | OP(VNET_WR_ATOMIC_FETCH_ADD))
#define ATOMICS (ATOMIC_FETCHES | ATOMIC_WRITE)
#define FLUSH OP(VNET_WR_FLUSH)
/* The responder keeps a result, answers with data, or places data: uses a responder resource. */
#define READS (ATOMICS | OP(VNET_WR_RDMA_READ) | FLUSH)
/* Key operations: executed by the NIC without a peer. */
#define KEYS (OP(VNET_WR_LOCAL_INV) | OP(VNET_WR_BIND_MW) | OP(VNET_WR_REG_MR))

#endif /* NIC_OPCODES_H */
