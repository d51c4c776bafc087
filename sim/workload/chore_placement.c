// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chore: FLUSH requests. When a flush completes, the data of all unsignaled writes before it must
 * be in place. The last flush of the chore is invalid, and must fail.
 */
#include <string.h>

#include "oracle/buffer.h"
#include "workload/chore.h"

#define WRITES 4u
#define PART (BYTES / WRITES)

static u32 flush(struct bench *b, u64 length, u64 operand)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_FLUSH);

	wqe.rdma.compare_add = length;
	wqe.rdma.swap = operand;
	return run(b, &wqe, 0, 0);
}

static bool write_and_flush(struct bench *b, u64 operand)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u64 content = random_next(&b->actor->random), to = wqe.rdma.remote_addr;
	u32 i, length = 1 + bench_below(b, PART);

	wqe.flags = 0;
	bytes_fill(mem(b->p, b->here), length, content, 0);
	for (i = 0; i < WRITES && holds(b); i++) {
		wqe.rdma.remote_addr = to + i * PART;
		post(b, wqe, length, b->key);
	}
	if (!ends(b, flush(b, BYTES, operand), VNET_WC_SUCCESS, "a flush") || !holds(b))
		return false;
	for (i = 0; i < WRITES; i++)
		want(b, bytes_are(mem(b->far, b->there + i * PART), length, content, 0),
		     "a flush ended before a write");
	return holds(b);
}

void flushes(struct bench *b)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		if (!write_and_flush(b, vnet_flush_operand(VNET_FLUSH_GLOBAL, i % 2)))
			return;
	}
	switch (bench_below(b, 3)) {
	case 0:
		ends(b, flush(b, BYTES + 1, VNET_FLUSH_GLOBAL), VNET_WC_REM_ACCESS_ERR,
		     "a flush of too much");
		break;
	case 1:
		ends(b, flush(b, 8, VNET_FLUSH_PERSISTENT), VNET_WC_REM_INV_REQ_ERR,
		     "a flush that the queue pair does not permit");
		break;
	default:
		ends(b, flush(b, 8, VNET_FLUSH_GLOBAL | 4), VNET_WC_LOC_QP_OP_ERR,
		     "a flush that there is not");
		break;
	}
}
