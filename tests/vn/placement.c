// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flushes between two NICs and on one NIC: access rights, limits, and order after earlier
 * writes.
 */
#include "protection/protection.h"
#include "world.h"

#define START 4096u
#define LENGTH 8192u
#define FLUSHABLE (NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_FLUSH_GLOBAL)
#define BOTH (VNET_FLUSH_GLOBAL | VNET_FLUSH_PERSISTENT)

static struct end *a, *b;

/* Registers side 1's memory from START on. */
static u32 region(u32 access, u32 pdn)
{
	struct nic_mr_params p = {
		.key = 5u << NIC_KEY_TAG_BITS,
		.kind = NIC_MR_REGION,
		.access = access,
		.pdn = pdn,
		.iova = (u64)(unsigned long)b->side->data + START,
		.addr = (u64)(unsigned long)b->side->data + START,
		.length = LENGTH,
	};

	CHECK(nic_mr_create(&b->side->nic, &p) == NIC_OK);
	return p.key;
}

struct flush {
	const char *what;
	u64 operand;
	/* Offset from the region's first byte. */
	s64 from;
	u64 length;
	u32 key_bits;
	u32 region_access;
	u32 region_pdn;
	/* Access rights to remove from the responder's queue pair. */
	u32 withheld;
	u32 status;
};

#define WHOLE(type) ((u64)(type) | (u64)VNET_FLUSH_MR << 8)
#define RIGHT .region_access = FLUSHABLE, .region_pdn = 1

static const struct flush flushes[] = {
	{ "all of it", RIGHT, .operand = VNET_FLUSH_GLOBAL, .length = LENGTH },
	{ "some of it", RIGHT, .operand = VNET_FLUSH_GLOBAL, .from = 100, .length = 100 },
	{ "none of it", RIGHT, .operand = VNET_FLUSH_GLOBAL, .length = 0 },
	{ "none, at its end", RIGHT, .operand = VNET_FLUSH_GLOBAL, .from = LENGTH, .length = 0 },
	{ "the region", RIGHT, .operand = WHOLE(VNET_FLUSH_GLOBAL) },
	{ "the region, wherever", RIGHT, .operand = WHOLE(VNET_FLUSH_GLOBAL), .from = -77777,
	  .length = ~0ull },
	{ "too much", RIGHT, .operand = VNET_FLUSH_GLOBAL, .length = LENGTH + 1,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "too early", RIGHT, .operand = VNET_FLUSH_GLOBAL, .length = LENGTH, .from = -1,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "none, behind it", RIGHT, .operand = VNET_FLUSH_GLOBAL, .from = LENGTH + 1, .length = 0,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "around the end of all", RIGHT, .operand = VNET_FLUSH_GLOBAL, .from = 1, .length = ~0ull,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "no such key", RIGHT, .operand = VNET_FLUSH_GLOBAL, .length = LENGTH, .key_bits = 1,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "no such key, of nothing", RIGHT, .operand = VNET_FLUSH_GLOBAL, .key_bits = 1,
	  .length = 0, .status = VNET_WC_REM_ACCESS_ERR },
	{ "no such region", RIGHT, .operand = WHOLE(VNET_FLUSH_GLOBAL), .key_bits = 1,
	  .status = VNET_WC_REM_ACCESS_ERR },
	{ "a region that is not for it", .region_access = FLUSHABLE & ~NIC_ACCESS_FLUSH_GLOBAL,
	  .region_pdn = 1, .operand = VNET_FLUSH_GLOBAL, .status = VNET_WC_REM_ACCESS_ERR },
	{ "a region of another domain", .region_access = FLUSHABLE, .region_pdn = 2,
	  .operand = WHOLE(VNET_FLUSH_GLOBAL), .status = VNET_WC_REM_ACCESS_ERR },
	{ "persistent", RIGHT, .operand = VNET_FLUSH_PERSISTENT, .status = VNET_WC_REM_ACCESS_ERR },
	{ "both", RIGHT, .operand = WHOLE(BOTH), .status = VNET_WC_REM_ACCESS_ERR },
	{ "where the queue pair does not permit it", RIGHT, .operand = VNET_FLUSH_GLOBAL,
	  .length = LENGTH, .withheld = NIC_ACCESS_FLUSH_GLOBAL,
	  .status = VNET_WC_REM_INV_REQ_ERR },
	{ "where it permits one of the two", RIGHT, .operand = BOTH,
	  .withheld = NIC_ACCESS_FLUSH_PERSISTENT, .status = VNET_WC_REM_INV_REQ_ERR },
	{ "neither", RIGHT, .length = LENGTH, .operand = 0, .status = VNET_WC_LOC_QP_OP_ERR },
	{ "a type that there is not", RIGHT, .length = LENGTH, .operand = VNET_FLUSH_GLOBAL | 4,
	  .status = VNET_WC_LOC_QP_OP_ERR },
	{ "a level that there is not", RIGHT, .length = LENGTH,
	  .operand = VNET_FLUSH_GLOBAL | 2 << 8, .status = VNET_WC_LOC_QP_OP_ERR },
	{ "other bits", RIGHT, .length = LENGTH, .operand = VNET_FLUSH_GLOBAL | 1ull << 40,
	  .status = VNET_WC_LOC_QP_OP_ERR },
};

static void make(u32 near, u8 type)
{
	world_make(3, &world_usual);
	a = end_make(&side[near], type, false);
	b = end_make(&side[1], type == NIC_QPT_XRC_INI ? (u8)NIC_QPT_XRC_TGT : type, false);
	end_connect(a, b);
}

static struct vnet_send_wqe flush_of(const struct flush *f, u32 key)
{
	struct vnet_send_wqe w = request(VNET_WR_FLUSH, 9);

	w.rdma.remote_addr = (u64)(unsigned long)b->side->data + START + (u64)f->from;
	w.rdma.rkey = key ^ f->key_bits;
	w.rdma.compare_add = f->length;
	w.rdma.swap = f->operand;
	return w;
}

static void one_flush(const struct flush *f)
{
	struct vnet_send_wqe w = flush_of(f, region(f->region_access, f->region_pdn));
	struct vnet_cqe cqe;

	end_qp(b)->attr.access &= ~f->withheld;
	end_send(a, &w, 0, 0);
	cqe = end_wait(a);
	if (cqe.wr_id != 9 || cqe.status != f->status)
		fprintf(stderr, "%s: status %u\n", f->what, cqe.status);
	CHECK(cqe.wr_id == 9 && cqe.status == f->status);
	CHECK(cqe.status || (cqe.opcode == VNET_WC_FLUSH && !cqe.byte_len));
	CHECK((end_qp(b)->state == NIC_QPS_ERR) == (f->status >= VNET_WC_REM_INV_REQ_ERR));
	CHECK((end_qp(a)->state == NIC_QPS_ERR) == (f->status != VNET_WC_SUCCESS));
}

static void test_rights(u32 near, u8 type)
{
	for (u32 i = 0; i < sizeof(flushes) / sizeof(flushes[0]); i++) {
		make(near, type);
		one_flush(&flushes[i]);
		world_free();
	}
}

/* A flush needs a responder resource, as reads do, and has no data. */
static void test_limits(u32 near)
{
	struct vnet_send_wqe w;

	make(near, NIC_QPT_RC);
	w = flush_of(&flushes[0], region(FLUSHABLE, 1));
	end_qp(a)->attr.max_rd_atomic = 0;
	end_send(a, &w, 0, 0);
	CHECK(end_wait(a).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();

	make(near, NIC_QPT_RC);
	w = flush_of(&flushes[0], region(FLUSHABLE, 1));
	end_qp(b)->attr.max_dest_rd_atomic = 0;
	end_send(a, &w, 0, 0);
	CHECK(end_wait(a).status == VNET_WC_REM_INV_REQ_ERR);
	world_free();

	make(near, NIC_QPT_RC);
	w = flush_of(&flushes[0], region(FLUSHABLE, 1));
	end_send(a, &w, 0, 8);
	CHECK(end_wait(a).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();

	make(near, NIC_QPT_UC);
	w = flush_of(&flushes[0], region(FLUSHABLE, 1));
	end_send(a, &w, 0, 0);
	CHECK(end_wait(a).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();
}

/* A memory window permits a flush only if it was bound with that right. */
static void test_window(u32 near, u32 access, u32 status)
{
	struct nic_mr_params p = { .key = 6u << NIC_KEY_TAG_BITS,
				   .kind = NIC_MR_WINDOW_1,
				   .pdn = 1 };
	struct vnet_wqe_bind bind;
	struct vnet_send_wqe w;
	struct vnet_cqe cqe;

	make(near, NIC_QPT_RC);
	CHECK(nic_mr_create(&b->side->nic, &p) == NIC_OK);
	bind = (struct vnet_wqe_bind){ .addr = (u64)(unsigned long)b->side->data + START,
				       .length = LENGTH,
				       .old_rkey = p.key,
				       .new_rkey = p.key | 3,
				       .lkey = region(FLUSHABLE | NIC_ACCESS_MW_BIND, 1),
				       .access = access };
	CHECK(nic_bind_window(&b->side->nic, end_qp(b), &bind) == VNET_WC_SUCCESS);
	w = flush_of(&flushes[0], p.key | 3);
	end_send(a, &w, 0, 0);
	cqe = end_wait(a);
	CHECK(cqe.status == status);
	world_free();
}

/* --------------------------------------------------------------------- order */

static u32 flush_frames;

static void see(u32 i, const void *bytes, u32 length)
{
	const struct vnet_frame *frame = bytes;
	const struct vnet_frame_op *op =
		(const struct vnet_frame_op *)((const struct vnet_frame_ack *)(frame + 1) +
					       frame->nacks);

	if (i == 1 && frame->kind == VNET_FRAME_DATA && op->opcode == VNET_WR_FLUSH)
		flush_frames++;
}

/*
 * The write's only packet is lost, and the flush arrives before its retransmission: the flush
 * is refused until the write has arrived.
 */
static void test_order(void)
{
	struct vnet_send_wqe w = { .wr_id = 8, .opcode = VNET_WR_RDMA_WRITE }, flush;
	struct vnet_cqe cqe;
	u32 key;

	make(0, NIC_QPT_RC);
	key = region(FLUSHABLE, 1);
	flush = flush_of(&flushes[0], key);
	/* Completes the handshake of the two NICs. */
	end_send(a, &flush, 0, 0);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	pass(20000000);

	memset(a->side->data, 0x5a, 512);
	w.rdma.remote_addr = (u64)(unsigned long)b->side->data + START;
	w.rdma.rkey = key;
	faults.lose = 1000;
	end_send(a, &w, 0, 512);
	faults.lose = 0;
	on_frame = see;
	flush_frames = 0;
	end_send(a, &flush, 0, 0);
	CHECK(flush_frames == 1);
	pass(100000);
	/* The flush was refused, and neither request has completed. */
	CHECK(!end_poll(a, &cqe) && !b->side->data[START]);
	cqe = end_wait(a);
	on_frame = NULL;
	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.opcode == VNET_WC_FLUSH);
	CHECK(b->side->data[START] == 0x5a && b->side->data[START + 511] == 0x5a);
	CHECK(flush_frames > 1);
	world_free();
}

/* A flush that is retransmitted because its acknowledgement was lost is acknowledged again. */
static void test_again(void)
{
	struct vnet_send_wqe flush;
	u64 before;

	make(0, NIC_QPT_RC);
	flush = flush_of(&flushes[0], region(FLUSHABLE, 1));
	end_send(a, &flush, 0, 0);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	pass(20000000);
	before = side[1].nic.hdr->counters.duplicates;
	on_frame = see;
	flush_frames = 0;
	end_send(a, &flush, 0, 0);
	/* Loses the acknowledgement of the outstanding flush. */
	faults.lose = 1000;
	pass(1000000);
	faults.lose = 0;
	/* The repetition does not need the region. */
	CHECK(nic_mr_destroy(&side[1].nic, 5u << NIC_KEY_TAG_BITS) == NIC_OK);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	on_frame = NULL;
	CHECK(flush_frames > 1 && side[1].nic.hdr->counters.duplicates > before);
	world_free();
}

int main(void)
{
	for (u32 near = 0; near < 2; near++) {
		test_rights(near, NIC_QPT_RC);
		test_rights(near, NIC_QPT_XRC_INI);
		test_limits(near);
		test_window(near, NIC_ACCESS_FLUSH_GLOBAL, VNET_WC_SUCCESS);
		test_window(near, NIC_ACCESS_REMOTE_WRITE, VNET_WC_REM_ACCESS_ERR);
	}
	test_order();
	test_again();
	return 0;
}
