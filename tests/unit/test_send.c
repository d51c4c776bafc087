// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Successful requests on one NIC: opcodes, transports, gather and scatter. */
#include <string.h>

#include "world.h"

#define FROM 0x1000
#define TO 0x40000

static struct vnet_send_wqe datagram(u64 wr_id, const struct qp *to)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, wr_id);

	aim_datagram(&wqe, to);
	wqe.ud.traffic_class = 0x28;
	return wqe;
}

/* ------------------------------------------------------------------- sends */

static void send_sizes(u8 type)
{
	static const u32 sizes[] = { 0, 1, 2, 79, 80, 81, 255, 4096, 4097, 100000 };
	struct pair pair = make_pair(type);

	for (u32 i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 10 + i);
		struct sge from = sge(&w.p[0], FROM, sizes[i]);
		struct sge to = sge(&w.p[1], TO, 200000);
		struct wc wc;

		memset(mem(&w.p[1], TO), 0, 200000);
		fill(&w.p[0], FROM, sizes[i], i);
		post_recv(pair.b, 90 + i, &to, 1);
		send_one(pair.a, &wqe, &from);
		wc = expect(pair.a->scq, 10 + i, VNET_WC_SUCCESS);
		assert_int_equal(wc.opcode, VNET_WC_SEND);
		assert_int_equal(wc.qp_num, pair.a->qpn);
		wc = expect(pair.b->rcq, 90 + i, VNET_WC_SUCCESS);
		assert_int_equal(wc.opcode, VNET_WC_RECV);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.qp_num, pair.b->qpn);
		assert_int_equal(wc.src_qp, pair.a->qpn);
		assert_int_equal(wc.flags, 0);
		assert_int_equal(wc.payload_len, sizes[i] <= VNET_CQE_PAYLOAD ? sizes[i] : 0);
		assert_true(filled(&w.p[1], TO, sizes[i], i));
		assert_true(untouched(&w.p[1], TO + sizes[i], 200000 - sizes[i]));
	}
}

static void send_rc(void **state)
{
	send_sizes(NIC_QPT_RC);
}

static void send_uc(void **state)
{
	send_sizes(NIC_QPT_UC);
}

static void send_with_immediate(void **state)
{
	static const u8 types[] = { NIC_QPT_RC, NIC_QPT_UC };

	for (u32 i = 0; i < 2; i++) {
		struct pair pair = make_pair(types[i]);
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND_IMM, 1);
		struct wc wc;

		wqe.imm = 0xdeadbeef;
		post_recv(pair.b, 2, NULL, 0);
		send_one(pair.a, &wqe, NULL);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		assert_int_equal(wc.flags, VNET_WC_WITH_IMM);
		assert_int_equal(wc.imm, 0xdeadbeef);
		assert_int_equal(wc.byte_len, 0);
	}
}

static void send_within_one_process(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 16, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 40), to = sge(&w.p[0], TO, 40);
	struct wc wc;

	bring_up(qp, qp->qpn);
	fill(&w.p[0], FROM, 40, 1);
	post_recv(qp, 2, &to, 1);
	send_one(qp, &wqe, &from);
	/*
	 * Within one process the CQE does not carry the payload, because the memory is
	 * accessible.
	 */
	wc = expect_next(cq, 2, VNET_WC_SUCCESS);
	assert_int_equal(wc.payload_len, 0);
	expect(cq, 1, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[0], TO, 40, 1));
}

/*
 * The receive is in an imported region of another process, so the receiver's poll places no
 * payload.
 */
static void receive_into_an_imported_region(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 40), to = sge(&w.p[2], TO, 40);
	u32 pdn = w.p[2].pdn;

	fill(&w.p[0], FROM, 40, 1);
	w.p[2].pdn = w.p[1].pdn;
	to.lkey = reg_mr(&w.p[2], 0, SPACE_BYTES, NIC_ACCESS_LOCAL_WRITE);
	w.p[2].pdn = pdn;
	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).payload_len, 0);
	assert_true(filled(&w.p[2], TO, 40, 1));
}

/* Long, short and empty SGEs at both ends. */
static void gather_and_scatter(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from[32], to[32];
	u32 total = 0, at_to = 0;

	for (u32 i = 0; i < 32; i++) {
		u32 n = i % 7 == 3 ? 0 : 10 + i * 3;

		from[i] = sge(&w.p[0], FROM + total, n);
		total += n;
	}
	fill(&w.p[0], FROM, total, 5);
	for (u32 i = 0; i < 32; i++) {
		u32 n = i % 5 == 1 ? 0 : 200 - i * 5;

		to[i] = sge(&w.p[1], TO + at_to, n);
		at_to += n;
	}
	assert_true(at_to > total);
	post_recv(pair.b, 2, to, 32);
	post_send(pair.a, &wqe, from, 32);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).byte_len, total);
	assert_true(filled(&w.p[1], TO, total, 5));
	assert_true(untouched(&w.p[1], TO + total, 1000));
}

static void inline_data(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	static const u32 sizes[] = { 0, 1, 64, 80, 81, 256 };
	struct sge to = sge(&w.p[1], TO, 300);

	fill(&w.p[0], FROM, 300, 9);
	for (u32 i = 0; i < 6; i++) {
		memset(mem(&w.p[1], TO), 0, 300);
		post_recv(pair.b, 2, &to, 1);
		post_inline(pair.a, &wqe, mem(&w.p[0], FROM), sizes[i]);
		ring_send(pair.a);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).byte_len, sizes[i]);
		assert_true(filled(&w.p[1], TO, sizes[i], 9));
		assert_true(untouched(&w.p[1], TO + sizes[i], 300 - sizes[i]));
	}
	wqe = rdma(VNET_WR_RDMA_WRITE, 3, &w.p[1], TO + 1000);
	post_inline(pair.a, &wqe, mem(&w.p[0], FROM), 100);
	ring_send(pair.a);
	expect(pair.a->scq, 3, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO + 1000, 100, 9));
}

static void unsignaled(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 0, &w.p[1], TO);

	for (u32 i = 0; i < 40; i++) {
		wqe.wr_id = i;
		wqe.flags = i % 8 == 7 ? VNET_WR_SIGNALED : 0;
		send_one(pair.a, &wqe, NULL);
		if (i % 8 == 7)
			expect(pair.a->scq, i, VNET_WC_SUCCESS);
	}
	expect_none(pair.a->scq);
	assert_int_equal(pair.a->sq.hdr->cons, 40);
}

static void all_signaled_by_the_queue(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 16, 0);
	struct qp_options sig_all = { .sig_all = true };
	struct qp *qp = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &sig_all);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 5, &w.p[0], TO);

	bring_up(qp, qp->qpn);
	wqe.flags = 0;
	send_one(qp, &wqe, NULL);
	expect(cq, 5, VNET_WC_SUCCESS);
}

/* Many requests per doorbell, in order, with ring and 32-bit indices that wrap around. */
static void batches_in_order(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct nic_qp *a = frame(pair.a), *b = frame(pair.b);
	u32 id = 0;

	a->sq_cons = pair.a->sq_prod = pair.a->sq.hdr->prod = pair.a->sq.hdr->cons = 0xfffffff5u;
	b->rq.cons = b->rq.prod_seen = pair.b->rq_prod = pair.b->rq.hdr->prod =
		pair.b->rq.hdr->cons = 0xfffffffau;
	for (u32 round = 0; round < 5; round++) {
		for (u32 i = 0; i < 13; i++) {
			struct vnet_send_wqe wqe = wr(VNET_WR_SEND_IMM, id + i);
			struct sge from = sge(&w.p[0], FROM + i, 1);
			struct sge to = sge(&w.p[1], TO + i, 1);

			wqe.imm = id + i;
			*mem(&w.p[0], FROM + i) = (u8)(id + i);
			post_recv(pair.b, id + i, &to, 1);
			post_send(pair.a, &wqe, &from, 1);
		}
		ring_send(pair.a);
		for (u32 i = 0; i < 13; i++) {
			expect_next(pair.a->scq, id + i, VNET_WC_SUCCESS);
			assert_int_equal(expect_next(pair.b->rcq, id + i, VNET_WC_SUCCESS).imm,
					 id + i);
			assert_int_equal(*mem(&w.p[1], TO + i), (u8)(id + i));
		}
		expect_none(pair.a->scq);
		expect_none(pair.b->rcq);
		id += 13;
	}
}

/* Both directions at the same time, and several QPs with one CQ. */
static void both_ways_into_one_cq(void **state)
{
	struct cq *cq[2] = { make_cq(&w.p[0], 64, 0), make_cq(&w.p[1], 64, 0) };
	struct qp *qp[2][4];
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct wc wc;
	u32 n[2] = { 0, 0 };

	for (u32 i = 0; i < 4; i++) {
		for (u32 j = 0; j < 2; j++)
			qp[j][i] = make_qp(&w.p[j], NIC_QPT_RC, cq[j], cq[j]);
		connect(qp[0][i], qp[1][i]);
		for (u32 j = 0; j < 2; j++) {
			struct sge to = sge(&w.p[j], TO + i * 100, 100);

			post_recv(qp[j][i], 50 + i, &to, 1);
		}
	}
	for (u32 i = 0; i < 4; i++) {
		for (u32 j = 0; j < 2; j++) {
			struct sge from = sge(&w.p[j], FROM, 100);

			fill(&w.p[j], FROM, 100, j);
			send_one(qp[j][i], &wqe, &from);
		}
	}
	for (u32 j = 0; j < 2; j++) {
		while (poll(cq[j], &wc)) {
			assert_int_equal(wc.status, VNET_WC_SUCCESS);
			n[j]++;
		}
		assert_int_equal(n[j], 8);
		for (u32 i = 0; i < 4; i++)
			assert_true(filled(&w.p[j], TO + i * 100, 100, 1 - j));
	}
}

/* --------------------------------------------------------------- one-sided */

static void write_and_read(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	static const u32 sizes[] = { 0, 1, 8, 100, 5000, 100000 };

	for (u32 i = 0; i < 6; i++) {
		struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[1], TO);
		struct sge from = sge(&w.p[0], FROM, sizes[i]);
		struct sge back = sge(&w.p[0], TO, sizes[i]);
		struct wc wc;

		fill(&w.p[0], FROM, sizes[i], i);
		send_one(pair.a, &wqe, &from);
		wc = expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		assert_int_equal(wc.opcode, VNET_WC_RDMA_WRITE);
		assert_true(filled(&w.p[1], TO, sizes[i], i));
		assert_true(untouched(&w.p[1], TO + sizes[i], 1000));

		wqe = rdma(VNET_WR_RDMA_READ, 2, &w.p[1], TO);
		send_one(pair.a, &wqe, &back);
		wc = expect(pair.a->scq, 2, VNET_WC_SUCCESS);
		assert_int_equal(wc.opcode, VNET_WC_RDMA_READ);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_true(filled(&w.p[0], TO, sizes[i], i));
	}
	expect_none(pair.b->rcq);
}

static void scattered_read(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_READ, 1, &w.p[1], TO);
	struct sge to[3] = {
		sge(&w.p[0], FROM, 10),
		sge(&w.p[0], FROM + 10, 0),
		sge(&w.p[0], FROM + 10, 300),
	};

	fill(&w.p[1], TO, 310, 4);
	post_send(pair.a, &wqe, to, 3);
	ring_send(pair.a);
	assert_int_equal(expect(pair.a->scq, 1, VNET_WC_SUCCESS).byte_len, 310);
	assert_true(filled(&w.p[0], FROM, 310, 4));
}

static void write_with_immediate(void **state)
{
	static const u8 types[] = { NIC_QPT_RC, NIC_QPT_UC };

	for (u32 i = 0; i < 2; i++) {
		struct pair pair = make_pair(types[i]);
		struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE_IMM, 1, &w.p[1], TO);
		struct sge from = sge(&w.p[0], FROM, 50), unused = sge(&w.p[1], 0x90000, 10);
		struct wc wc;

		wqe.imm = 77;
		fill(&w.p[0], FROM, 50, 3 + i);
		post_recv(pair.b, 2, &unused, 1);
		send_one(pair.a, &wqe, &from);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		assert_int_equal(wc.opcode, VNET_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.flags, VNET_WC_WITH_IMM);
		assert_int_equal(wc.imm, 77);
		assert_int_equal(wc.byte_len, 50);
		assert_int_equal(wc.payload_len, 0);
		assert_true(filled(&w.p[1], TO, 50, 3 + i));
		/* The memory of the receive is not used. */
		assert_true(untouched(&w.p[1], 0x90000, 10));
	}
}

static u64 *word(struct process *p, u64 offset)
{
	return (u64 *)(void *)mem(p, offset);
}

static void atomics(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_ATOMIC_FETCH_ADD, 1, &w.p[1], TO);
	struct sge result = sge(&w.p[0], FROM, 8);
	struct wc wc;

	*word(&w.p[1], TO) = ~0ull - 1;
	wqe.rdma.compare_add = 5;
	send_one(pair.a, &wqe, &result);
	wc = expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_FETCH_ADD);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(*word(&w.p[0], FROM), ~0ull - 1);
	assert_int_equal(*word(&w.p[1], TO), 3);

	wqe = rdma(VNET_WR_ATOMIC_CMP_SWP, 2, &w.p[1], TO);
	wqe.rdma.compare_add = 3;
	wqe.rdma.swap = 0x1234567890ull;
	send_one(pair.a, &wqe, &result);
	wc = expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_COMP_SWAP);
	assert_int_equal(*word(&w.p[0], FROM), 3);
	assert_int_equal(*word(&w.p[1], TO), 0x1234567890ull);

	/* Compare fails: the word is unchanged, and the old value is returned. */
	send_one(pair.a, &wqe, &result);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	assert_int_equal(*word(&w.p[0], FROM), 0x1234567890ull);
	assert_int_equal(*word(&w.p[1], TO), 0x1234567890ull);

	/* The result is scattered to two SGEs. */
	{
		struct sge halves[2] = { sge(&w.p[0], FROM + 100, 3), sge(&w.p[0], FROM + 103, 5) };

		post_send(pair.a, &wqe, halves, 2);
		ring_send(pair.a);
		expect(pair.a->scq, 2, VNET_WC_SUCCESS);
		assert_memory_equal(mem(&w.p[0], FROM + 100), mem(&w.p[1], TO), 8);
	}
}

/* A word has one lock, whichever region it is accessed by. */
static u32 locks_held[2];
static u32 round_of_atomics;

static void look_at_locks(int step)
{
	if (step != 6)
		return;
	for (u32 i = 0; i < NIC_ATOMIC_LOCKS; i++) {
		if (w.agent.hdr->atomic_lock[i])
			locks_held[round_of_atomics] = i + 1;
	}
}

static void atomic_names(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_ATOMIC_FETCH_ADD, 1, &w.p[1], TO);
	struct sge result = sge(&w.p[0], FROM, 8);
	struct nic_mr_params other_name = {
		.key = new_key(),
		.kind = NIC_MR_REGION,
		.access = ALL_ACCESS,
		.pdn = w.p[1].pdn,
		.iova = 0x18,
		.addr = at(&w.p[1], TO),
		.length = 8,
		.space = w.p[1].nic.space,
	};

	assert_int_equal(nic_mr_create(&w.agent, &other_name), NIC_OK);
	tp.on_step = look_at_locks;
	send_one(pair.a, &wqe, &result);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	round_of_atomics = 1;
	wqe.rdma.remote_addr = 0x18;
	wqe.rdma.rkey = other_name.key;
	send_one(pair.a, &wqe, &result);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	tp.on_step = NULL;
	assert_int_not_equal(locks_held[0], 0);
	assert_int_equal(locks_held[0], locks_held[1]);
}

/* A fence is satisfied: the result of the read is there before the write. */
static void fence(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe get = rdma(VNET_WR_RDMA_READ, 1, &w.p[1], TO);
	struct vnet_send_wqe put = rdma(VNET_WR_RDMA_WRITE, 2, &w.p[1], TO + 1000);
	struct sge here = sge(&w.p[0], FROM, 100);

	fill(&w.p[1], TO, 100, 8);
	put.flags |= VNET_WR_FENCE;
	post_send(pair.a, &get, &here, 1);
	post_send(pair.a, &put, &here, 1);
	ring_send(pair.a);
	expect_next(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO + 1000, 100, 8));
}

/* A write is one call of plat_copy(), which places the last bytes last. */
static void one_copy_for_a_write(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[1], TO);
	struct sge from[3] = { sge(&w.p[0], FROM, 100), sge(&w.p[0], FROM + 100, 5000),
			       sge(&w.p[0], FROM + 5100, 3) };

	tp.copies = 0;
	post_send(pair.a, &wqe, from, 3);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(tp.copies, 1);
}

/* -------------------------------------------------------------- datagrams */

static void datagram_sizes(void **state)
{
	static const u32 sizes[] = { 0, 1, 40, 41, 100, 4096 };
	struct pair pair = make_pair(NIC_QPT_UD);

	for (u32 i = 0; i < 6; i++) {
		struct vnet_send_wqe wqe = datagram(1, pair.b);
		struct sge from = sge(&w.p[0], FROM, sizes[i]);
		struct sge to = sge(&w.p[1], TO, 4096 + 40);
		struct wc wc;

		memset(mem(&w.p[1], TO), 0, 4200);
		fill(&w.p[0], FROM, sizes[i], i);
		post_recv(pair.b, 2, &to, 1);
		send_one(pair.a, &wqe, &from);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		assert_int_equal(wc.byte_len, sizes[i] + 40);
		assert_int_equal(wc.flags, VNET_WC_GRH | VNET_WC_GRH_IPV4);
		assert_int_equal(wc.src_qp, pair.a->qpn);
		assert_true(filled(&w.p[1], TO + 40, sizes[i], i));
		assert_true(untouched(&w.p[1], TO + 40 + sizes[i], 10));
	}
}

/* The GRH that ibv_init_ah_from_wc() reads: IPv4 or IPv6. */
static void datagram_headers(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge from = sge(&w.p[0], FROM, 10), to = sge(&w.p[1], TO, 100);
	u8 *grh = mem(&w.p[1], TO);

	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	assert_int_equal(grh[20], 0x45);
	assert_int_equal(grh[21], 0x28);
	assert_int_equal(grh[28], 64);
	assert_memory_equal(grh + 32, w.agent.hdr->gid[1] + 12, 4);
	assert_memory_equal(grh + 36, w.agent.hdr->gid[1] + 12, 4);

	wqe.ud.sgid_index = 0;
	memcpy(wqe.ud.dgid, w.agent.hdr->gid[0], 16);
	wqe.ud.flow_label = 0x12345;
	post_recv(pair.b, 3, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.b->rcq, 3, VNET_WC_SUCCESS);
	assert_int_equal(grh[0], 0x62);
	assert_int_equal(grh[1], 0x81);
	assert_int_equal(grh[2], 0x23);
	assert_int_equal(grh[3], 0x45);
	assert_int_equal(grh[7], 64);
	assert_memory_equal(grh + 8, w.agent.hdr->gid[0], 16);
	assert_memory_equal(grh + 24, w.agent.hdr->gid[0], 16);
}

static void datagram_immediate_and_inline(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 100);
	struct wc wc;

	wqe.opcode = VNET_WR_SEND_IMM;
	wqe.imm = 5;
	post_recv(pair.b, 2, &to, 1);
	fill(&w.p[0], FROM, 30, 3);
	post_inline(pair.a, &wqe, mem(&w.p[0], FROM), 30);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	assert_int_equal(wc.flags, VNET_WC_GRH | VNET_WC_GRH_IPV4 | VNET_WC_WITH_IMM);
	assert_int_equal(wc.imm, 5);
	assert_true(filled(&w.p[1], TO + 40, 30, 3));
}

/* The maximum number of SGEs, in addition to the GRH. */
static void datagram_in_many_pieces(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge from[32], to[32];

	fill(&w.p[0], FROM, 320, 6);
	for (u32 i = 0; i < 32; i++) {
		from[i] = sge(&w.p[0], FROM + i * 10, 10);
		to[i] = sge(&w.p[1], TO + i * 12, 12);
	}
	post_recv(pair.b, 2, to, 32);
	post_send(pair.a, &wqe, from, 32);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).byte_len, 360);
	assert_true(filled(&w.p[1], TO + 40, 320, 6));
}

static void datagram_drop(struct pair *pair, const struct vnet_send_wqe *wqe, u64 *counter)
{
	struct sge from = sge(&w.p[0], FROM, 10);
	u64 before = *counter;

	send_one(pair->a, wqe, &from);
	expect(pair->a->scq, wqe->wr_id, VNET_WC_SUCCESS);
	expect_none(pair->b->rcq);
	assert_int_equal(*counter, before + 1);
}

static void datagrams_to_nobody(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct pair rc = make_pair(NIC_QPT_RC);
	struct nic_counters *count = &w.agent.hdr->counters;
	struct vnet_send_wqe wqe;
	struct sge to = sge(&w.p[1], TO, 100);

	post_recv(pair.b, 2, &to, 1);
	wqe = datagram(1, pair.b);
	wqe.ud.remote_qpn = 0x123456;
	datagram_drop(&pair, &wqe, &count->drop_no_qp);
	wqe = datagram(2, rc.b);
	datagram_drop(&pair, &wqe, &count->drop_no_qp);
	wqe = datagram(3, pair.b);
	wqe.ud.remote_qkey++;
	datagram_drop(&pair, &wqe, &count->drop_qkey);
	wqe = datagram(4, pair.b);
	wqe.ud.dgid[15]++;
	datagram_drop(&pair, &wqe, &count->drop_address);
	assert_int_equal(to_state(pair.b, NIC_QPS_RESET, 0), NIC_OK);
	wqe = datagram(5, pair.b);
	datagram_drop(&pair, &wqe, &count->drop_no_qp);
	assert_int_equal(to_state(pair.b, NIC_QPS_INIT, 0), NIC_OK);
	post_recv(pair.b, 2, &to, 1);
	datagram_drop(&pair, &wqe, &count->drop_no_qp);
	assert_int_equal(to_state(pair.b, NIC_QPS_RTR, 0), NIC_OK);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 5, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* The source GID was removed after the address handle was made. */
static void datagram_without_source(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 100);

	wqe.ud.sgid_index = 2;
	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_LOC_QP_OP_ERR);
	assert_int_equal(frame(pair.a)->state, NIC_QPS_SQE);
	expect_none(pair.b->rcq);
}

/* A Q_Key with the high bit set selects the sender's own Q_Key. */
static void controlled_qkey(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 100);

	wqe.ud.remote_qkey = 0x80010000u;
	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, NULL);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	frame(pair.a)->attr.qkey = 7;
	post_recv(pair.b, 3, &to, 1);
	send_one(pair.a, &wqe, NULL);
	expect_none(pair.b->rcq);
}

static void datagram_too_long_for_its_receive(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge from = sge(&w.p[0], FROM, 100), to = sge(&w.p[1], TO, 139);
	struct sge enough = sge(&w.p[1], TO, 140);

	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect_none(pair.b->rcq);
	assert_int_equal(w.agent.hdr->counters.drop_length, 1);
	/* The receive is still there for a datagram that fits. */
	post_recv(pair.b, 3, &enough, 1);
	from.length = 99;
	send_one(pair.a, &wqe, &from);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* ------------------------------------------------------------- memory windows */

static void window_by_requests(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u32 rkey = alloc_mw(&w.p[1], NIC_MR_WINDOW_2);
	struct vnet_send_wqe bind = wr(VNET_WR_BIND_MW, 1);
	struct vnet_send_wqe put = rdma(VNET_WR_RDMA_WRITE, 2, &w.p[1], TO);
	struct vnet_send_wqe inv = wr(VNET_WR_SEND_INV, 3);
	struct vnet_send_wqe local_inv = wr(VNET_WR_LOCAL_INV, 4);
	struct sge from = sge(&w.p[0], FROM, 100);
	struct wc wc;

	bind.bind = (struct vnet_wqe_bind){
		.addr = at(&w.p[1], TO),
		.length = 100,
		.old_rkey = rkey,
		.new_rkey = rkey + 1,
		.lkey = w.p[1].key,
		.access = NIC_ACCESS_REMOTE_WRITE,
	};
	send_one(pair.b, &bind, NULL);
	wc = expect(pair.b->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_BIND_MW);
	fill(&w.p[0], FROM, 100, 2);
	put.rdma.rkey = rkey + 1;
	send_one(pair.a, &put, &from);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO, 100, 2));

	inv.imm = rkey + 1;
	post_recv(pair.b, 9, NULL, 0);
	send_one(pair.a, &inv, NULL);
	expect(pair.a->scq, 3, VNET_WC_SUCCESS);
	wc = expect(pair.b->rcq, 9, VNET_WC_SUCCESS);
	assert_int_equal(wc.flags, VNET_WC_WITH_INV);
	assert_int_equal(wc.imm, rkey + 1);

	bind.bind.old_rkey = rkey + 1;
	bind.bind.new_rkey = rkey + 2;
	send_one(pair.b, &bind, NULL);
	expect(pair.b->scq, 1, VNET_WC_SUCCESS);
	local_inv.imm = rkey + 2;
	send_one(pair.b, &local_inv, NULL);
	wc = expect(pair.b->scq, 4, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_LOCAL_INV);

	put.rdma.rkey = rkey + 2;
	send_one(pair.a, &put, &from);
	expect(pair.a->scq, 2, VNET_WC_REM_ACCESS_ERR);
}

static void timestamps(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 16, VNET_CREATE_CQ_TIMESTAMP);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[0], TO);

	bring_up(qp, qp->qpn);
	tp.clock = 123456789;
	send_one(qp, &wqe, NULL);
	assert_int_equal(((struct vnet_cqe *)cq->ring.slots)->timestamp, 123456789);
	expect(cq, 1, VNET_WC_SUCCESS);
}

/* A doorbell is accepted from the owner and the agent only, and its QPN is checked. */
static void whose_doorbell(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[1], TO);

	post_send(pair.a, &wqe, NULL, 0);
	nic_send_doorbell(&w.p[1].nic, pair.a->qpn);
	nic_send_doorbell(&w.p[2].nic, pair.a->qpn);
	nic_send_doorbell(&w.p[0].nic, 0);
	nic_send_doorbell(&w.p[0].nic, 0xffffffffu);
	nic_send_doorbell(&w.p[0].nic, pair.a->qpn + w.config.max_qp);
	expect_none(pair.a->scq);
	nic_send_doorbell(&w.agent, pair.a->qpn);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
}

static void counters(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 300), to = sge(&w.p[1], TO, 300);

	for (u32 i = 0; i < 3; i++) {
		post_recv(pair.b, 2, &to, 1);
		send_one(pair.a, &wqe, &from);
	}
	assert_int_equal(frame(pair.a)->counters.sent_msgs, 3);
	assert_int_equal(frame(pair.a)->counters.sent_bytes, 900);
	assert_int_equal(frame(pair.b)->counters.got_msgs, 3);
	assert_int_equal(frame(pair.b)->counters.got_bytes, 900);
	assert_int_equal(w.agent.cq[pair.a->scq->cqn - 1].completions, 3);
	assert_int_equal(w.agent.cq[pair.a->scq->cqn - 1].errors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send_rc),
		TEST(send_uc),
		TEST(send_with_immediate),
		TEST(send_within_one_process),
		TEST(receive_into_an_imported_region),
		TEST(gather_and_scatter),
		TEST(inline_data),
		TEST(unsignaled),
		TEST(all_signaled_by_the_queue),
		TEST(batches_in_order),
		TEST(both_ways_into_one_cq),
		TEST(write_and_read),
		TEST(scattered_read),
		TEST(write_with_immediate),
		TEST(atomics),
		TEST(atomic_names),
		TEST(fence),
		TEST(one_copy_for_a_write),
		TEST(datagram_sizes),
		TEST(datagram_headers),
		TEST(datagram_immediate_and_inline),
		TEST(datagram_in_many_pieces),
		TEST(datagrams_to_nobody),
		TEST(datagram_without_source),
		TEST(controlled_qkey),
		TEST(datagram_too_long_for_its_receive),
		TEST(window_by_requests),
		TEST(timestamps),
		TEST(whose_doorbell),
		TEST(counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
