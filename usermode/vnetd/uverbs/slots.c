// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sizes of queue slots: a header, then SGEs or inline data, rounded up to a power of two. The
 * capacity granted is the one requested or a little more, as with adapters: some programs have
 * arrays that are hardly longer.
 */
#include "../../platform/range.h"
#include "objects.h"

#define SGE_SIZE ((u32)sizeof(struct vnet_sge))
/* Receive queues of this size are for streams of messages. */
#define MANY_RECEIVES 64

/* At least one SGE. */
static u32 sge_bytes(u32 sges)
{
	return (sges ? sges : 1) * SGE_SIZE;
}

u32 uv_send_stride_shift(u32 sges, u32 inline_data)
{
	u32 bytes = sge_bytes(sges);

	return uv_ceil_log2(VNET_WQE_HDR_SIZE + (bytes > inline_data ? bytes : inline_data));
}

/* Number of SGEs granted: the next power of two, as far as the slot has room. */
static u32 grant_sges(u32 sges, u32 room)
{
	u32 most = smaller(room / SGE_SIZE, VNET_MAX_SGE);

	return smaller(1u << uv_ceil_log2(sges ? sges : 1), most);
}

u32 uv_send_sges(u32 sges, u32 stride_shift)
{
	return grant_sges(sges, (1u << stride_shift) - VNET_WQE_HDR_SIZE);
}

u32 uv_send_inline(u32 sges, u32 inline_data, u32 stride_shift)
{
	u32 bytes = uv_send_sges(sges, stride_shift) * SGE_SIZE;

	return smaller(bytes > inline_data ? bytes : inline_data, VNET_MAX_INLINE);
}

u32 uv_recv_stride_shift(u32 sges)
{
	return uv_ceil_log2(VNET_RECV_HDR_SIZE + sge_bytes(sges));
}

u32 uv_recv_sges(u32 sges, u32 stride_shift)
{
	return grant_sges(sges, (1u << stride_shift) - VNET_RECV_HDR_SIZE);
}

/*
 * Slots of a receive queue. A process that keeps its queue full reads the NIC's index at every
 * post, which takes the cache line from the sender. With half as many slots more, it reads the
 * index only once for so many posts. Short queues get only what is requested.
 */
u32 uv_recv_entries(u32 receives, u32 most)
{
	u32 slots = receives < MANY_RECEIVES ? receives : receives + receives / 2;

	return 1u << uv_ceil_log2(slots < most ? slots : most);
}
