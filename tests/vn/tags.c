// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching between two NICs: messages of all sizes, in their order, to the buffers
 * whose tags they have, and data that is fetched by the receiver's NIC, whatever the
 * link does and whoever dies.
 */
#include <endian.h>

#include "nic_tm.h"
#include "nic_vn.h"
#include "world.h"

static struct nic_config config = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 16,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 4,
	.max_frame = 8,
	.queue_bytes = 4 << 20,
	.stall_ns = 50000000,
};

#define TAGS 64
#define ALL (~0ull)
/* Of the sender: headers and what follows them, and what is announced. */
#define ANNOUNCED (2u << 20)
/* Of the receiver: tagged buffers, and ordinary receives. */
#define PLAIN (2u << 20)
#define ROOM 120000u

enum { NO_TAG, RNDV, FIN, EAGER };

static struct end *from, *to;

static void make(u32 seed)
{
	world_make(seed, &config);
	ends_tags = 0;
	from = end_make(&side[0], NIC_QPT_RC, false);
	ends_tags = TAGS;
	to = end_make(&side[1], NIC_QPT_RC, true);
	ends_tags = 0;
	end_connect(from, to);
}

static struct nic_srq *srq(void)
{
	return &side[1].nic.srq[to->srqn - 1];
}

static struct nic_tm *list(void)
{
	struct nic_tm_list l;

	CHECK(nic_tm_open(&side[1].nic, srq(), &l));
	return l.tm;
}

/* ------------------------------------------------------------------- messages */

static void fill(u8 *at, u32 length, u32 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		at[i] = (u8)(seed * 37 + i * 11 + (i >> 8));
}

static bool filled(const u8 *at, u32 length, u32 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (at[i] != (u8)(seed * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

static void post_tag(const struct vnet_tm_op *op)
{
	memcpy(to->ops.slots + ((size_t)(to->ops_prod & to->ops.mask) << to->ops.shift), op,
	       sizeof(*op));
	nic_store_release(&to->ops.hdr->prod, ++to->ops_prod);
}

static struct vnet_tm_op tagged(u64 wr_id, u64 tag, u32 offset, u32 length)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD,
				 .recv_wr_id = wr_id,
				 .tag = tag,
				 .mask = ALL,
				 .num_sge = 1,
				 .handle = to->ops_prod + 1 };

	op.sge[0] = (struct vnet_sge){ (u64)(unsigned long)(to->side->data + offset), length,
				       to->side->key };
	return op;
}

static void add(u64 wr_id, u64 tag, u32 offset, u32 length)
{
	struct vnet_tm_op op = tagged(wr_id, tag, offset, length);

	post_tag(&op);
}

static void write_headers(u32 offset, u8 opcode, u64 tag)
{
	u8 *header = from->side->data + offset;
	u64 wire_tag = htobe64(tag);
	u32 priv = htobe32(0xabcd);

	memset(header, 0, NIC_TMH_SIZE);
	header[0] = opcode;
	memcpy(header + 4, &priv, 4);
	memcpy(header + 8, &wire_tag, 8);
}

static void post_message(u64 wr_id, u32 offset, u32 length)
{
	struct vnet_send_wqe w = { .wr_id = wr_id,
				   .opcode = VNET_WR_SEND,
				   .flags = VNET_WR_SIGNALED };

	end_send(from, &w, offset, NIC_TMH_SIZE + length);
}

/* Of so many bytes behind its header. */
static void send(u64 wr_id, u8 opcode, u64 tag, u32 offset, u32 length)
{
	write_headers(offset, opcode, tag);
	fill(from->side->data + offset + NIC_TMH_SIZE, length, (u32)tag);
	post_message(wr_id, offset, length);
}

static void announce(u64 wr_id, u64 tag, u32 offset, u32 data, u32 length)
{
	u64 va = htobe64((u64)(unsigned long)(from->side->data + data));
	u32 rkey = htobe32(from->side->key), size = htobe32(length);
	u8 *rvh = from->side->data + offset + NIC_TMH_SIZE;

	write_headers(offset, RNDV, tag);
	memcpy(rvh, &va, 8);
	memcpy(rvh + 8, &rkey, 4);
	memcpy(rvh + 12, &size, 4);
	fill(from->side->data + data, length, (u32)tag);
	post_message(wr_id, offset, NIC_RVH_SIZE);
}

/* ---------------------------------------------------------------- completions */

static void expect_sent(u64 wr_id, u8 status)
{
	struct vnet_cqe cqe = end_wait(from);

	CHECK(cqe.wr_id == wr_id && cqe.status == status);
}

static struct vnet_cqe expect(u64 wr_id, u8 opcode, u8 status)
{
	struct vnet_cqe cqe = end_wait(to);

	CHECK(cqe.wr_id == wr_id && cqe.status == status);
	CHECK(status || cqe.opcode == opcode);
	return cqe;
}

static void expect_match(u64 wr_id, u64 tag, u32 length)
{
	struct vnet_cqe cqe = expect(wr_id, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	u64 told;

	CHECK(cqe.flags == (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID));
	CHECK(cqe.byte_len == length);
	memcpy(&told, cqe.payload + vnet_cqe_tm_info(length), sizeof(told));
	CHECK(told == tag);
}

static void expect_fin(u64 wr_id, u64 tag)
{
	struct vnet_cqe cqe = end_wait(from);
	const u8 *at = from->side->data + PLAIN;
	u64 told;

	CHECK(cqe.wr_id == wr_id && cqe.status == VNET_WC_SUCCESS);
	CHECK(cqe.byte_len == NIC_TM_HEADERS && at[0] == FIN);
	memcpy(&told, at + 8, 8);
	CHECK(be64toh(told) == tag);
}

static void expect_nothing(void)
{
	struct vnet_cqe cqe;

	pass(30000000);
	CHECK(!end_poll(from, &cqe) && !end_poll(to, &cqe));
}

/* ----------------------------------------------------------------- rendezvous */

static void rendezvous(void)
{
	struct vnet_cqe cqe;

	make(1);
	add(1, 5, 0, ROOM);
	end_recv(from, 50, PLAIN, 100);
	announce(7, 5, 0, ANNOUNCED, ROOM);
	expect_sent(7, VNET_WC_SUCCESS);
	cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(cqe.flags == VNET_WC_TM_MATCH);
	cqe = expect(1, VNET_WC_TM_RECV, VNET_WC_SUCCESS);
	CHECK(cqe.flags == VNET_WC_TM_DATA_VALID && cqe.byte_len == ROOM);
	CHECK(filled(to->side->data, ROOM, 5));
	expect_fin(50, 5);
	expect_nothing();
	world_free();
}

/* ----------------------------------------------- what was not expected is dropped */

static void dropped(void)
{
	make(1);
	side[1].nic.hdr->settings.drop_unexpected = 1;
	end_recv(to, 1, PLAIN, ROOM);
	send(7, EAGER, 5, 0, 100);
	expect_nothing();
	CHECK(list()->unexpected == 0);
	add(2, 5, 0, ROOM);
	expect_sent(7, VNET_WC_SUCCESS);
	expect_match(2, 5, 100);
	CHECK(filled(to->side->data, 100, 5));
	send(8, NO_TAG, 5, 0, 100);
	expect(1, VNET_WC_TM_NO_TAG, VNET_WC_SUCCESS);
	world_free();
}

int main(void)
{
	rendezvous();
	dropped();
	return 0;
}
