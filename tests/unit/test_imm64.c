// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Immediate data of 64 bits: its place in a completion, and the use of receives. CQs without
 * the flag show the lower half only.
 */
#include <string.h>

#include "world.h"

#define FROM 0x1000
#define TO 0x20000
#define LOW 0x89abcdefu
#define HIGH 0x01234567u
#define ALL (VNET_WC_WITH_IMM | VNET_WC_IMM64)

static struct pair pair_with(u8 type, u32 cq_flags, struct srq *srq)
{
	const struct qp_options options = { .sq_entries = 16, .rq_entries = 16, .srq = srq };
	struct cq *ca = make_cq(&w.p[0], 64, cq_flags);
	struct cq *cb = make_cq(&w.p[1], 64, cq_flags);
	struct pair pair = {
		.a = make_qp(&w.p[0], type, ca, ca),
		.b = srq ? make_qp_with(&w.p[1], type, cb, cb, &options) :
			   make_qp(&w.p[1], type, cb, cb),
	};

	connect(pair.a, pair.b);
	return pair;
}

static struct vnet_send_wqe request(u8 type, u8 opcode, const struct qp *to)
{
	struct vnet_send_wqe wqe = wr(opcode, 1);

	if (type == NIC_QPT_UD) {
		aim_datagram(&wqe, to);
	} else {
		wqe.rdma.remote_addr = at(&w.p[1], TO);
		wqe.rdma.rkey = w.p[1].key;
	}
	wqe.flags |= VNET_WR_IMM64;
	wqe.imm = LOW;
	wqe.rdma.imm_high = HIGH;
	return wqe;
}

/* The upper half, in the place where the provider reads it, of the entry polled last. */
static u32 high_of(const struct cq *cq)
{
	const struct vnet_cqe *cqes = (const struct vnet_cqe *)cq->ring.slots;
	const struct vnet_cqe *cqe = &cqes[(cq->cons - 1) & cq->ring.mask];
	u32 high;

	memcpy(&high, cqe->payload + vnet_cqe_imm_high(cqe->byte_len), sizeof(high));
	return high;
}

static void one_message(struct pair *pair, u8 type, u8 opcode, u32 length, struct srq *srq)
{
	struct vnet_send_wqe wqe = request(type, opcode, pair->b);
	struct sge from = sge(&w.p[0], FROM, length), to = sge(&w.p[1], TO, length + 40);
	bool write = opcode == VNET_WR_RDMA_WRITE_IMM;
	u32 grh = type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	struct wc wc;

	fill(&w.p[0], FROM, length, length);
	if (srq)
		post_srq_recv(srq, 2, &to, 1);
	else
		post_recv(pair->b, 2, &to, 1);
	send_one(pair->a, &wqe, &from);
	expect(pair->a->scq, 1, VNET_WC_SUCCESS);
	wc = expect(pair->b->rcq, 2, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, write ? VNET_WC_RECV_RDMA_WITH_IMM : VNET_WC_RECV);
	assert_int_equal(wc.flags & ~(u32)(VNET_WC_GRH | VNET_WC_GRH_IPV4), ALL);
	assert_int_equal(wc.imm, LOW);
	assert_int_equal(high_of(pair->b->rcq), HIGH);
	assert_int_equal(wc.byte_len, length + grh);
	/* The CQE also carries the payload, if both fit. */
	assert_int_equal(wc.payload_len,
			 !write && length + grh <= VNET_CQE_PAYLOAD_IMM64 ? length + grh : 0);
	assert_true(filled(&w.p[1], TO + grh, length, length));
}

static void all_lengths(u8 type, u8 opcode, struct srq *srq)
{
	struct pair pair = pair_with(type, VNET_CREATE_CQ_IMM64, srq);

	for (u32 length = 0; length < 100; length++)
		one_message(&pair, type, opcode, length, srq);
	one_message(&pair, type, opcode, 4000, srq);
}

static void every_transport(void **state)
{
	all_lengths(NIC_QPT_RC, VNET_WR_SEND_IMM, NULL);
	all_lengths(NIC_QPT_RC, VNET_WR_RDMA_WRITE_IMM, NULL);
	all_lengths(NIC_QPT_UC, VNET_WR_SEND_IMM, NULL);
	all_lengths(NIC_QPT_UC, VNET_WR_RDMA_WRITE_IMM, NULL);
	all_lengths(NIC_QPT_UD, VNET_WR_SEND_IMM, NULL);
}

static void shared_receives(void **state)
{
	all_lengths(NIC_QPT_RC, VNET_WR_SEND_IMM, make_srq(&w.p[1], 16));
	all_lengths(NIC_QPT_RC, VNET_WR_RDMA_WRITE_IMM, make_srq(&w.p[1], 16));
	all_lengths(NIC_QPT_UD, VNET_WR_SEND_IMM, make_srq(&w.p[1], 16));
}

static void inline_data(void **state)
{
	struct pair pair = pair_with(NIC_QPT_RC, VNET_CREATE_CQ_IMM64, NULL);
	struct vnet_send_wqe wqe = request(NIC_QPT_RC, VNET_WR_SEND_IMM, pair.b);
	struct sge to = sge(&w.p[1], TO, 100);

	fill(&w.p[0], FROM, 30, 3);
	post_recv(pair.b, 2, &to, 1);
	post_inline(pair.a, &wqe, mem(&w.p[0], FROM), 30);
	ring_send(pair.a);
	assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).flags, ALL);
	assert_int_equal(high_of(pair.b->rcq), HIGH);
	assert_true(filled(&w.p[1], TO, 30, 3));
}

/* A CQ that was created for 32 bits only. */
static void others_see_the_lower_half(void **state)
{
	static const u8 opcodes[] = { VNET_WR_SEND_IMM, VNET_WR_RDMA_WRITE_IMM };
	struct pair pair = make_pair(NIC_QPT_RC);
	struct wc wc;

	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe wqe = request(NIC_QPT_RC, opcodes[i], pair.b);

		post_recv(pair.b, 2, NULL, 0);
		send_one(pair.a, &wqe, NULL);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		assert_int_equal(wc.flags, VNET_WC_WITH_IMM);
		assert_int_equal(wc.imm, LOW);
	}
}

static void ordinary_immediate_data_stays(void **state)
{
	struct pair pair = pair_with(NIC_QPT_RC, VNET_CREATE_CQ_IMM64, NULL);
	struct vnet_send_wqe wqe = request(NIC_QPT_RC, VNET_WR_SEND_IMM, pair.b);
	struct wc wc;

	wqe.flags = VNET_WR_SIGNALED;
	post_recv(pair.b, 2, NULL, 0);
	send_one(pair.a, &wqe, NULL);
	wc = expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	assert_int_equal(wc.flags, VNET_WC_WITH_IMM);
	assert_int_equal(wc.imm, LOW);
}

/* The flag is ignored for operations without immediate data. */
static void other_operations_ignore_it(void **state)
{
	static const u8 opcodes[] = { VNET_WR_SEND, VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ };
	struct pair pair = pair_with(NIC_QPT_RC, VNET_CREATE_CQ_IMM64, NULL);
	struct sge from = sge(&w.p[0], FROM, 10), to = sge(&w.p[1], TO, 10);

	post_recv(pair.b, 2, &to, 1);
	for (u32 i = 0; i < 3; i++) {
		struct vnet_send_wqe wqe = request(NIC_QPT_RC, opcodes[i], pair.b);

		send_one(pair.a, &wqe, &from);
		assert_int_equal(expect(pair.a->scq, 1, VNET_WC_SUCCESS).flags, 0);
	}
	assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).flags, 0);
}

static void nothing_in_a_failure(void **state)
{
	struct pair pair = pair_with(NIC_QPT_RC, VNET_CREATE_CQ_IMM64, NULL);
	struct vnet_send_wqe wqe = request(NIC_QPT_RC, VNET_WR_SEND_IMM, pair.b);
	struct sge from = sge(&w.p[0], FROM, 50), to = sge(&w.p[1], TO, 10);
	struct wc wc;

	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_REM_INV_REQ_ERR);
	wc = expect_next(pair.b->rcq, 2, VNET_WC_LOC_LEN_ERR);
	assert_false(wc.flags & VNET_WC_IMM64);
	assert_int_equal(wc.imm, 0);
}

/* Without a receive the request waits like any other, and is intact afterwards. */
static void it_waits_for_a_receive(void **state)
{
	static const u8 opcodes[] = { VNET_WR_SEND_IMM, VNET_WR_RDMA_WRITE_IMM };
	struct pair pair = pair_with(NIC_QPT_RC, VNET_CREATE_CQ_IMM64, NULL);
	struct sge from = sge(&w.p[0], FROM, 8), to = sge(&w.p[1], TO, 8);

	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe wqe = request(NIC_QPT_RC, opcodes[i], pair.b);

		send_one(pair.a, &wqe, &from);
		expect_none(pair.a->scq);
		post_recv(pair.b, 2, &to, 1);
		run_for(100 * MS);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		assert_int_equal(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).flags, ALL);
		assert_int_equal(high_of(pair.b->rcq), HIGH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_transport),
		TEST(shared_receives),
		TEST(inline_data),
		TEST(others_see_the_lower_half),
		TEST(ordinary_immediate_data_stays),
		TEST(other_operations_ignore_it),
		TEST(nothing_in_a_failure),
		TEST(it_waits_for_a_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
