// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bounds checks of regions and windows, and integer overflows in them. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "peers_defects.h"

/* ----------------------------------------- a failed check, completed with success */

/* Eight bytes that are partly or wholly outside the region. */
static void bounds_of_one(enum ibv_wr_opcode opcode)
{
	static const int64_t offsets[] = { -8, -1, (int64_t)LENGTH - 7, LENGTH, LENGTH + 4096 };
	uint64_t local = (uintptr_t)here.buffer, remote = here.peer.addr;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	for (size_t i = 0; i < COUNT(offsets); i++) {
		sge = side_sge(&here, 0, 8);
		sge.addr = local + (uint64_t)offsets[i];
		wr = request(opcode, &sge, 1, remote, here.peer.rkey);
		check_fails("local bounds", &wr, IBV_WC_LOC_PROT_ERR);
		sge.addr = local;
		wr = request(opcode, &sge, 1, remote + (uint64_t)offsets[i], here.peer.rkey);
		check_fails("remote bounds", &wr,
			    offsets[i] & 7 && opcode >= IBV_WR_ATOMIC_CMP_AND_SWP ?
				    IBV_WC_REM_INV_REQ_ERR :
				    IBV_WC_REM_ACCESS_ERR);
	}
}

void failed_bounds_check(void)
{
	static const struct piece behind = { .offset = LENGTH - 99, .length = 100 };
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	peer_open(&here, NULL);
	peer_set(0, LENGTH, UNTOUCHED);
	for (size_t i = 0; i < COUNT(one_sided); i++)
		bounds_of_one(one_sided[i]);
	sge = side_sge(&here, 0, 100);
	for (uint32_t length = 99; length <= 100; length++) {
		sge.length = length;
		peer_receive(2, &behind, 1);
		wr = request(IBV_WR_SEND, &sge, 1, 0, 0);
		wr.send_flags = IBV_SEND_SIGNALED;
		post_here(&wr);
		(void)side_expect(&here, 1, length < 100 ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR);
		(void)peer_expect(2, length < 100 ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
	}
	CHECK(all_are(peer_look(0, 8), 8, UNTOUCHED));
	CHECK(all_are(peer_look(LENGTH - 107, 8), 8, UNTOUCHED));
	peer_close(&here);
}

/* ------------------------------------------------------------ 64 bits that wrap */

struct range {
	uint64_t addr;
	uint32_t length;
};

/* Ranges whose address + length wraps around 64 bits. */
static void check_ranges(const struct range *ranges, size_t count, uint32_t lkey, uint32_t rkey)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	for (size_t i = 0; i < count; i++) {
		sge = (struct ibv_sge){ ranges[i].addr, ranges[i].length, lkey };
		wr = request(IBV_WR_RDMA_WRITE, &sge, 1, here.peer.addr, here.peer.rkey);
		if (lkey)
			check_fails("local range", &wr, IBV_WC_LOC_PROT_ERR);
		if (!rkey || ranges[i].length > LENGTH)
			continue;
		sge = side_sge(&here, 0, ranges[i].length);
		wr = request(IBV_WR_RDMA_WRITE, &sge, 1, ranges[i].addr, rkey);
		check_fails("remote range", &wr, IBV_WC_REM_ACCESS_ERR);
		wr.opcode = IBV_WR_RDMA_READ;
		check_fails("remote range", &wr, IBV_WC_REM_ACCESS_ERR);
	}
}

/* A local region whose addresses begin at `iova`. */
static void check_iova(uint64_t iova, const struct range *ranges, size_t count)
{
	struct ibv_mr *mr = MADE(ibv_reg_mr_iova(here.pd, here.buffer, 4096, iova, SIDE_ACCESS));

	check_ranges(ranges, count, mr->lkey, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

void wrapped_bounds(void)
{
	const uint64_t top = 0 - (uint64_t)8192;
	const struct range high[] = {
		{ UINT64_MAX, 1 },     { UINT64_MAX, 2 },          { UINT64_MAX - 7, 8 },
		{ UINT64_MAX - 7, 9 }, { UINT64_MAX - 7, 4096 },   { UINT64_MAX - 4095, 8192 },
		{ 0, UINT32_MAX },     { UINT64_MAX, UINT32_MAX },
	};
	const struct range at_zero[] = {
		{ UINT64_MAX, 2 }, { UINT64_MAX, 1 }, { 0, 4097 }, { 4096, 1 }, { 1ull << 63, 1 },
	};
	const struct range at_top[] = {
		{ top, 4097 }, { top + 4095, 2 }, { top - 1, 2 }, { 0, 1 }, { UINT64_MAX, 2 },
	};

	peer_open(&here, NULL);
	check_ranges(high, COUNT(high), here.mr->lkey, here.peer.rkey);
	check_iova(0, at_zero, COUNT(at_zero));
	check_iova(top, at_top, COUNT(at_top));
	peer_close(&here);
}

static void check_window(struct ibv_mw *mw, struct ibv_mr *mr, uint64_t at, uint64_t length)
{
	struct ibv_mw_bind bind = {
		.wr_id = 1,
		.bind_info = { mr, at, length, IBV_ACCESS_REMOTE_READ },
	};
	uint32_t rkey = mw->rkey;

	CHECK_EQ(ibv_bind_mw(here.qp, mw, &bind), 0);
	(void)side_expect(&here, 1, IBV_WC_MW_BIND_ERR);
	peer_anew(&here);
	mw->rkey = rkey;
}

void wrapped_windows(void)
{
	static const uint64_t offsets[] = { 0, 4096, LENGTH - 64, LENGTH };
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	peer_open(&here, NULL);
	mr = ibv_reg_mr(here.pd, here.buffer, LENGTH, SIDE_ACCESS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(here.pd, IBV_MW_TYPE_1);
	CHECK(mr && mw);
	for (size_t i = 0; i < COUNT(offsets); i++) {
		uint64_t at = (uintptr_t)here.buffer + offsets[i];

		check_window(mw, mr, at, 0 - at);
		check_window(mw, mr, at, 0 - at + 4096);
		check_window(mw, mr, at, UINT64_MAX);
		check_window(mw, mr, at - LENGTH - 1, UINT64_MAX);
	}
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	peer_close(&here);
}

/* ------------------------------------------ sums and products of 32 bits */

#define GIB (1ull << 30)

/* SGEs whose sum of lengths is small modulo 2^32. */
static void long_sums(struct ibv_mr *mr)
{
	static const uint32_t lengths[][4] = {
		{ 1u << 31, 1u << 31 },
		{ UINT32_MAX, 9 },
		{ UINT32_MAX, UINT32_MAX, 2 },
		{ 1u << 30, 1u << 30, 1u << 31, 8 },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 11 },
	};
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_sge sges[4];
	struct ibv_send_wr wr;

	for (size_t i = 0; i < COUNT(lengths) * COUNT(opcodes); i++) {
		for (int k = 0; k < 4; k++)
			sges[k] = (struct ibv_sge){ (uintptr_t)mr->addr,
						    lengths[i / COUNT(opcodes)][k], mr->lkey };
		wr = request(opcodes[i % COUNT(opcodes)], sges, 4, here.peer.addr, here.peer.rkey);
		check_fails("long sum", &wr, IBV_WC_LOC_LEN_ERR);
	}
}

/* A receive whose SGEs have 4 GiB, which is 0 modulo 2^32, accepts a short message. */
static void roomy_receive(struct ibv_mr *mr)
{
	struct ibv_sge sges[2] = { { (uintptr_t)mr->addr, 1u << 31, mr->lkey },
				   { (uintptr_t)mr->addr + 2 * GIB, 1u << 31, mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sges, .num_sge = 2 }, *bad;
	struct side pair[2];

	pair_open(pair, &(struct wish){ .context = here.context });
	/* The receiving queue pair must be in the PD of the region. */
	CHECK_EQ(ibv_destroy_qp(pair[1].qp), 0);
	pair[1].qp = MADE(ibv_create_qp(here.pd, &(struct ibv_qp_init_attr){
							 .qp_type = IBV_QPT_RC,
							 .send_cq = pair[1].cq,
							 .recv_cq = pair[1].cq,
							 .cap = { 4, 4, 4, 4, 0 },
						 }));
	side_to_init(&pair[1]);
	pair[0].peer = side_address(&pair[1]);
	pair[1].peer = side_address(&pair[0]);
	for (int i = 0; i < 2; i++) {
		struct address peer = pair[i].peer;

		CHECK(side_try_anew(&pair[i], &peer));
	}
	CHECK_EQ(ibv_post_recv(pair[1].qp, &wr, &bad), 0);
	fill(pair[0].buffer, 100, 3);
	side_post(&pair[0], IBV_WR_SEND, 1, 0, 100);
	(void)side_expect(&pair[0], 1, IBV_WC_SUCCESS);
	CHECK_EQ(side_expect(&pair[1], 2, IBV_WC_SUCCESS).byte_len, 100);
	CHECK(is_filled(mr->addr, 100, 3));
	pair_close(pair);
}

void large_region(void)
{
	void *memory = mmap(NULL, 4 * GIB + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;

	CHECK(memory != MAP_FAILED);
	peer_open(&here, NULL);
	mr = MADE(ibv_reg_mr(here.pd, memory, 4 * GIB + 4096, SIDE_ACCESS));
	long_sums(mr);
	roomy_receive(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	peer_close(&here);
	munmap(memory, 4 * GIB + 4096);
}

/* Queue sizes whose product with the size of an entry is small modulo 2^32. */
void large_counts(void)
{
	static const uint32_t numbers[] = { 1u << 22, 1u << 25, 1u << 26,  1u << 28,
					    1u << 31, 1u << 27, UINT32_MAX };
	static const size_t members[] = { 0, 1, 2, 3, 4 };

	peer_open(&here, NULL);
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct ibv_srq_init_attr srq = { .attr = { numbers[i], 1, 0 } };

		CHECK(!ibv_create_cq(here.context, (int)numbers[i], NULL, NULL, 0));
		CHECK(ibv_resize_cq(here.cq, (int)numbers[i]));
		CHECK(!ibv_create_srq(here.pd, &srq));
		srq.attr = (struct ibv_srq_attr){ 1, numbers[i], 0 };
		CHECK(!ibv_create_srq(here.pd, &srq));
		for (size_t k = 0; k < COUNT(members); k++) {
			uint32_t caps[5] = { 1, 1, 1, 1, 1 };
			struct ibv_qp_init_attr qp = { .qp_type = IBV_QPT_RC,
						       .send_cq = here.cq,
						       .recv_cq = here.cq };

			caps[k] = numbers[i];
			memcpy(&qp.cap, caps, sizeof(caps));
			CHECK(!ibv_create_qp(here.pd, &qp));
		}
	}
	side_post(&here, IBV_WR_RDMA_WRITE, 1, 0, 8);
	(void)side_expect(&here, 1, IBV_WC_SUCCESS);
	peer_close(&here);
}
