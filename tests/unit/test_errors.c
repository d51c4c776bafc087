// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that fail: completion status at both ends, and state of both queue pairs. Memory
 * outside of regions is never accessed.
 */
#include <string.h>

#include "layout/lookup.h"
#include "world.h"

#define FROM 0x1000
#define TO 0x40000

/* State of a QP after a failed request. */
static u8 failed_state(u8 type)
{
	return type == NIC_QPT_RC ? NIC_QPS_ERR : NIC_QPS_SQE;
}

/* --------------------------------------------------- errors of the requester */

struct local_error {
	const char *what;
	u8 opcode;
	u32 status;
	void (*spoil)(struct vnet_send_wqe *wqe, struct sge *sge, u32 *n);
};

static void bad_key(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	sg->lkey ^= 1;
}

static void others_key(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	*sg = sge(&w.p[1], TO, 64);
}

static void beyond_the_end(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	sg->addr = at(&w.p[0], SPACE_BYTES) - 63;
}

static void wrapping(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	sg->addr = ~0ull - 8;
}

static void too_many_pieces(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	*n = 33;
}

static void too_much_inline(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	wqe->flags |= VNET_WR_INLINE;
	wqe->inline_len = 257;
}

static void absurdly_much_inline(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	wqe->flags |= VNET_WR_INLINE;
	wqe->inline_len = ~0u;
}

static void any_inline(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	wqe->flags |= VNET_WR_INLINE;
	wqe->inline_len = 8;
}

static void unknown_opcode(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	wqe->opcode = 10;
}

static void absurd_opcode(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	wqe->opcode = 255;
}

static void wrong_length(struct vnet_send_wqe *wqe, struct sge *sg, u32 *n)
{
	sg->length = 9;
}

static const struct local_error local_errors[] = {
	{ "bad lkey", VNET_WR_SEND, VNET_WC_LOC_PROT_ERR, bad_key },
	{ "another's lkey", VNET_WR_SEND, VNET_WC_LOC_PROT_ERR, others_key },
	{ "beyond the end", VNET_WR_SEND, VNET_WC_LOC_PROT_ERR, beyond_the_end },
	{ "wrapping", VNET_WR_SEND, VNET_WC_LOC_PROT_ERR, wrapping },
	{ "write, bad lkey", VNET_WR_RDMA_WRITE, VNET_WC_LOC_PROT_ERR, bad_key },
	{ "too many pieces", VNET_WR_SEND, VNET_WC_LOC_QP_OP_ERR, too_many_pieces },
	{ "too much inline", VNET_WR_SEND, VNET_WC_LOC_LEN_ERR, too_much_inline },
	{ "absurdly much inline", VNET_WR_SEND, VNET_WC_LOC_LEN_ERR, absurdly_much_inline },
	{ "unknown opcode", VNET_WR_SEND, VNET_WC_LOC_QP_OP_ERR, unknown_opcode },
	{ "absurd opcode", VNET_WR_SEND, VNET_WC_LOC_QP_OP_ERR, absurd_opcode },
	{ "read, bad lkey", VNET_WR_RDMA_READ, VNET_WC_LOC_PROT_ERR, bad_key },
	{ "read into inline", VNET_WR_RDMA_READ, VNET_WC_LOC_QP_OP_ERR, any_inline },
	{ "atomic not of 8 bytes", VNET_WR_ATOMIC_FETCH_ADD, VNET_WC_LOC_LEN_ERR, wrong_length },
	{ "atomic into inline", VNET_WR_ATOMIC_CMP_SWP, VNET_WC_LOC_QP_OP_ERR, any_inline },
};

/* Posts a valid receive, and a request with one error. */
static void local_error(const struct local_error *e)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(e->opcode, 1, &w.p[1], TO);
	struct sge from[33], to = sge(&w.p[1], TO, 100);
	u32 n = 1;

	memset(mem(&w.p[1], TO), 0, 100);
	for (u32 i = 0; i < 33; i++)
		from[i] = sge(&w.p[0], FROM, e->opcode >= VNET_WR_ATOMIC_CMP_SWP ? 8 : 64);
	fill(&w.p[0], FROM, 64, 1);
	e->spoil(&wqe, from, &n);
	post_recv(pair.b, 2, &to, 1);
	post_send(pair.a, &wqe, from, n);
	ring_send(pair.a);
	expect(pair.a->scq, 1, e->status);
	expect_none(pair.b->rcq);
	assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
	/* The peer is not affected. */
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
	assert_true(untouched(&w.p[1], TO, 100));
	nic_qp_destroy(&w.agent, pair.a->qpn);
	nic_qp_destroy(&w.agent, pair.b->qpn);
}

static void local_errors_rc(void **state)
{
	for (u32 i = 0; i < sizeof(local_errors) / sizeof(local_errors[0]); i++) {
		print_message("  %s\n", local_errors[i].what);
		local_error(&local_errors[i]);
	}
}

static void read_into_read_only_memory(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_READ, 1, &w.p[1], TO);
	struct sge here = sge(&w.p[0], FROM, 64);

	here.lkey = reg_mr(&w.p[0], FROM, 64, NIC_ACCESS_REMOTE_READ);
	fill(&w.p[1], TO, 64, 1);
	send_one(pair.a, &wqe, &here);
	expect(pair.a->scq, 1, VNET_WC_LOC_PROT_ERR);
	assert_true(untouched(&w.p[0], FROM, 64));
}

/* Opcodes that a transport does not have, by table 37 of the specification. */
static void opcodes_by_type(void **state)
{
	static const struct {
		u8 type;
		u32 can;
	} t[] = {
		{ NIC_QPT_RC, 0x3ff | 1u << VNET_WR_ATOMIC_WRITE | 1u << VNET_WR_FLUSH },
		{ NIC_QPT_UC, 0x38f },
		{ NIC_QPT_UD, 0x00c },
	};

	for (u32 i = 0; i < 3; i++) {
		for (u32 opcode = 0; opcode < 16; opcode++) {
			struct pair pair = make_pair(t[i].type);
			struct vnet_send_wqe wqe = wr((u8)opcode, 1);
			struct wc wc;

			if (opcode == VNET_WR_FLUSH)
				wqe.rdma.swap = VNET_FLUSH_GLOBAL;
			post_recv(pair.b, 2, NULL, 0);
			send_one(pair.a, &wqe, NULL);
			assert_true(poll(pair.a->scq, &wc));
			if (!(t[i].can >> opcode & 1)) {
				assert_int_equal(wc.status, VNET_WC_LOC_QP_OP_ERR);
				assert_int_equal(state_of(pair.a), failed_state(t[i].type));
				assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
			} else {
				assert_int_not_equal(wc.status, VNET_WC_LOC_QP_OP_ERR);
			}
			nic_qp_destroy(&w.agent, pair.a->qpn);
			nic_qp_destroy(&w.agent, pair.b->qpn);
		}
	}
}

static void messages_of_two_gigabytes(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[1], TO);
	struct nic_mr_params huge = {
		.key = new_key(),
		.kind = NIC_MR_REGION,
		.access = ALL_ACCESS,
		.pdn = w.p[0].pdn,
		.length = 1ull << 40,
		.space = 7, /* does not exist */
	};
	struct sge from[3] = {
		{ 0, 0x80000000u, huge.key },
		{ 0, 1, huge.key },
		{ 0, 0xffffffffu, huge.key },
	};

	assert_int_equal(nic_mr_create(&w.agent, &huge), NIC_OK);
	/* One byte more than the maximum message length; the sum is not truncated to 32 bits. */
	post_send(pair.a, &wqe, from, 2);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_LOC_LEN_ERR);
	assert_int_equal(to_state(pair.a, NIC_QPS_RESET, 0), NIC_OK);
	bring_up(pair.a, pair.b->qpn);
	from[1] = from[2];
	from[1].length = 0x80000000u;
	post_send(pair.a, &wqe, from, 2);
	ring_send(pair.a);
	expect(pair.a->scq, 1, VNET_WC_LOC_LEN_ERR);
}

/*
 * An access to memory that was unmapped after registration leads to an error completion, not to
 * a signal.
 */
static void source_unmapped(void **state)
{
	static const struct {
		u8 opcode;
		u32 length;
	} t[] = {
		{ VNET_WR_SEND, 64 },
		{ VNET_WR_SEND, 5000 },
		{ VNET_WR_RDMA_WRITE, 64 },
		{ VNET_WR_RDMA_WRITE_IMM, 5000 },
	};

	for (u32 i = 0; i < 4; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = rdma(t[i].opcode, 1, &w.p[1], TO);
		struct sge from = sge(&w.p[0], FROM, t[i].length);
		struct sge to = sge(&w.p[1], TO, 5000);

		tp.space[1].no_read = at(&w.p[0], FROM) + t[i].length - 1;
		tp.space[1].no_read_len = 1;
		post_recv(pair.b, 2, &to, 1);
		send_one(pair.a, &wqe, &from);
		expect(pair.a->scq, 1, VNET_WC_LOC_PROT_ERR);
		/* The receive was not consumed. */
		expect_none(pair.b->rcq);
		assert_int_equal(pair.b->rq.hdr->cons, 0);
		assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
		tp.space[1].no_read_len = 0;
	}
}

static void target_of_a_read_unmapped(void **state)
{
	static const u8 opcodes[] = { VNET_WR_RDMA_READ, VNET_WR_ATOMIC_FETCH_ADD };

	for (u32 i = 0; i < 2; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = rdma(opcodes[i], 1, &w.p[1], TO);
		struct sge here = sge(&w.p[0], FROM, 8);

		tp.space[1].no_write = at(&w.p[0], FROM);
		tp.space[1].no_write_len = 8;
		send_one(pair.a, &wqe, &here);
		expect(pair.a->scq, 1, VNET_WC_LOC_PROT_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
		tp.space[1].no_write_len = 0;
	}
}

/* --------------------------------------------------- memory of the responder */

/* A receive that is shorter than the message: both ends get an error. */
static void receive_too_short(void **state)
{
	static const u32 have[] = { 0, 1, 99, 79 };

	for (u32 i = 0; i < 4; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		struct sge from = sge(&w.p[0], FROM, i == 3 ? 80 : 100);
		struct sge to = sge(&w.p[1], TO, have[i]);

		post_recv(pair.b, 2, &to, 1);
		post_recv(pair.b, 3, &to, 1);
		send_one(pair.a, &wqe, &from);
		expect(pair.a->scq, 1, VNET_WC_REM_INV_REQ_ERR);
		expect_next(pair.b->rcq, 2, VNET_WC_LOC_LEN_ERR);
		assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
		run_for(2 * MS);
		expect(pair.b->rcq, 3, VNET_WC_WR_FLUSH_ERR);
		assert_true(untouched(&w.p[1], TO, 100));
	}
}

struct receive_error {
	const char *what;
	void (*spoil)(struct sge *sge, u32 *n);
	u32 status;
};

static void recv_bad_key(struct sge *sg, u32 *n)
{
	sg[1].lkey ^= 1;
}

static void recv_read_only(struct sge *sg, u32 *n)
{
	sg[0].lkey = reg_mr(&w.p[1], TO, 1000, NIC_ACCESS_REMOTE_READ);
}

static void recv_beyond(struct sge *sg, u32 *n)
{
	sg[1].addr = at(&w.p[1], SPACE_BYTES) - 1;
}

static void recv_others_memory(struct sge *sg, u32 *n)
{
	sg[1].addr = at(&w.p[2], TO);
	sg[1].lkey = w.p[2].key;
}

static void recv_too_many(struct sge *sg, u32 *n)
{
	*n = 33;
}

/* The receiver gets an error with every transport, the sender with RC only. */
static void bad_receive(const struct receive_error *error, u8 type)
{
	bool reliable = type == NIC_QPT_RC;
	struct pair pair = make_pair(type);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	/* With or without a GRH of 40 bytes, the message needs two SGEs. */
	struct sge from = sge(&w.p[0], FROM, type == NIC_QPT_UD ? 30 : 70), to[33];
	u32 n = 2;

	for (u32 i = 0; i < 33; i++)
		to[i] = sge(&w.p[1], TO + i * 40, 40);
	if (type == NIC_QPT_UD)
		aim_datagram(&wqe, pair.b);
	error->spoil(to, &n);
	fill(&w.p[0], FROM, 70, 1);
	post_recv(pair.b, 2, to, n);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, reliable ? VNET_WC_REM_OP_ERR : VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, error->status);
	assert_int_equal(state_of(pair.a), reliable ? NIC_QPS_ERR : NIC_QPS_RTS);
	assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
	assert_true(untouched(&w.p[1], TO, 2000));
}

static void bad_receives(void **state)
{
	static const struct receive_error t[] = {
		{ "bad lkey", recv_bad_key, VNET_WC_LOC_PROT_ERR },
		{ "read only", recv_read_only, VNET_WC_LOC_PROT_ERR },
		{ "beyond the end", recv_beyond, VNET_WC_LOC_PROT_ERR },
		{ "another's memory", recv_others_memory, VNET_WC_LOC_PROT_ERR },
		{ "too many pieces", recv_too_many, VNET_WC_LOC_QP_OP_ERR },
	};
	static const u8 types[] = { NIC_QPT_RC, NIC_QPT_UC, NIC_QPT_UD };

	for (u32 i = 0; i < 3 * sizeof(t) / sizeof(t[0]); i++) {
		print_message("  %s, type %u\n", t[i / 3].what, types[i % 3]);
		bad_receive(&t[i / 3], types[i % 3]);
	}
}

/* Only the SGEs that the message fills are checked. */
static void unused_pieces_do_not_matter(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 40);
	struct sge to[2] = { sge(&w.p[1], TO, 40), { 12345, 999, 77 } };

	post_recv(pair.b, 2, to, 2);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* The number of SGEs in the receive counts, not what an earlier one has left in the slot. */
static void number_of_pieces(void **state)
{
	static const struct {
		u32 num_sge, max_sge, sender, receiver;
	} t[] = {
		{ 0, 1, VNET_WC_REM_INV_REQ_ERR, VNET_WC_LOC_LEN_ERR },
		{ 1, 0, VNET_WC_REM_OP_ERR, VNET_WC_LOC_QP_OP_ERR },
		{ 1, 1, VNET_WC_SUCCESS, VNET_WC_SUCCESS },
	};

	for (u32 i = 0; i < 3; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		struct sge from = sge(&w.p[0], FROM, 8), to = sge(&w.p[1], TO, 8);

		post_recv(pair.b, 2, &to, 1);
		((struct vnet_recv_wqe *)pair.b->rq.slots)->num_sge = t[i].num_sge;
		nic_find_qp(&w.agent, pair.b->qpn)->rq.max_sge = (u8)t[i].max_sge;
		send_one(pair.a, &wqe, &from);
		expect(pair.a->scq, 1, t[i].sender);
		expect(pair.b->rcq, 2, t[i].receiver);
	}
}

static void receive_memory_unmapped(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 5000), to = sge(&w.p[1], TO, 5000);

	tp.space[2].no_write = at(&w.p[1], TO + 4000);
	tp.space[2].no_write_len = 10;
	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_REM_OP_ERR);
	expect(pair.b->rcq, 2, VNET_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
}

/* If the payload is in the CQE, the receiver itself finds that it cannot be placed. */
static void payload_that_cannot_be_placed(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 50), to = sge(&w.p[1], TO, 50);

	post_recv(pair.b, 2, &to, 1);
	post_recv(pair.b, 3, &to, 1);
	send_one(pair.a, &wqe, &from);
	assert_true(expect(pair.b->rcq, 2, VNET_WC_SUCCESS).payload_len > 0);
	nic_recv_fault(&w.p[0].nic, pair.b->qpn); /* not the owner */
	nic_recv_fault(&w.p[1].nic, 0);
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
	nic_recv_fault(&w.p[1].nic, pair.b->qpn);
	assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
	expect(pair.b->rcq, 3, VNET_WC_WR_FLUSH_ERR);
}

/* --------------------------------------------- refused one-sided operations */

struct remote_error {
	const char *what;
	u8 opcode;
	u32 status;
	u32 event;
	void (*spoil)(struct vnet_send_wqe *wqe, struct qp *peer);
};

static void rkey_wrong(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.rkey ^= 0x80;
}

static void rkey_of_another_domain(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.remote_addr = at(&w.p[2], TO);
	wqe->rdma.rkey = w.p[2].key;
}

static void beyond(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.remote_addr = at(&w.p[1], SPACE_BYTES);
}

static void before(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.remote_addr = at(&w.p[1], 0) - 8;
}

static void at_the_top(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.remote_addr = ~0ull - 7;
}

static void region_without_rights(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.rkey = reg_mr(&w.p[1], TO, 64, NIC_ACCESS_LOCAL_WRITE);
}

static void qp_without_rights(struct vnet_send_wqe *wqe, struct qp *peer)
{
	frame(peer)->attr.access = NIC_ACCESS_LOCAL_WRITE;
}

static void no_responder_resources(struct vnet_send_wqe *wqe, struct qp *peer)
{
	frame(peer)->attr.max_dest_rd_atomic = 0;
}

static void odd_address(struct vnet_send_wqe *wqe, struct qp *peer)
{
	wqe->rdma.remote_addr += 4;
}

#define ACC_ERR VNET_WC_REM_ACCESS_ERR, NIC_EVENT_QP_ACCESS_ERR
#define INV_ERR VNET_WC_REM_INV_REQ_ERR, NIC_EVENT_QP_REQ_ERR

static const struct remote_error remote_errors[] = {
	{ "write, wrong key", VNET_WR_RDMA_WRITE, ACC_ERR, rkey_wrong },
	{ "write, another domain", VNET_WR_RDMA_WRITE, ACC_ERR, rkey_of_another_domain },
	{ "write beyond", VNET_WR_RDMA_WRITE, ACC_ERR, beyond },
	{ "write before", VNET_WR_RDMA_WRITE, ACC_ERR, before },
	{ "write at the top", VNET_WR_RDMA_WRITE, ACC_ERR, at_the_top },
	{ "write, no right", VNET_WR_RDMA_WRITE, ACC_ERR, region_without_rights },
	{ "write, QP refuses", VNET_WR_RDMA_WRITE, INV_ERR, qp_without_rights },
	{ "write imm, wrong key", VNET_WR_RDMA_WRITE_IMM, ACC_ERR, rkey_wrong },
	{ "read, wrong key", VNET_WR_RDMA_READ, ACC_ERR, rkey_wrong },
	{ "read beyond", VNET_WR_RDMA_READ, ACC_ERR, beyond },
	{ "read, no right", VNET_WR_RDMA_READ, ACC_ERR, region_without_rights },
	{ "read, QP refuses", VNET_WR_RDMA_READ, INV_ERR, qp_without_rights },
	{ "read, no resources", VNET_WR_RDMA_READ, INV_ERR, no_responder_resources },
	{ "atomic, wrong key", VNET_WR_ATOMIC_FETCH_ADD, ACC_ERR, rkey_wrong },
	{ "atomic at the top", VNET_WR_ATOMIC_FETCH_ADD, ACC_ERR, at_the_top },
	{ "atomic, no right", VNET_WR_ATOMIC_CMP_SWP, ACC_ERR, region_without_rights },
	{ "atomic, QP refuses", VNET_WR_ATOMIC_CMP_SWP, INV_ERR, qp_without_rights },
	{ "atomic, no resources", VNET_WR_ATOMIC_CMP_SWP, INV_ERR, no_responder_resources },
	{ "atomic, odd address", VNET_WR_ATOMIC_CMP_SWP, INV_ERR, odd_address },
};

static void remote_error(const struct remote_error *e, u8 type)
{
	struct pair pair = make_pair(type);
	struct vnet_send_wqe wqe = rdma(e->opcode, 1, &w.p[1], TO);
	struct sge here = sge(&w.p[0], FROM, 8);

	memset(mem(&w.p[0], FROM), 0x55, 8);
	memset(mem(&w.p[1], TO), 0, 64);
	e->spoil(&wqe, pair.b);
	if (type == NIC_QPT_RC || e->opcode == VNET_WR_RDMA_WRITE_IMM)
		post_recv(pair.b, 2, NULL, 0);
	send_one(pair.a, &wqe, &here);
	assert_true(untouched(&w.p[1], TO, 64));
	assert_true(untouched(&w.p[2], TO, 64));
	assert_int_equal(*mem(&w.p[0], FROM), 0x55);
	if (type == NIC_QPT_RC) {
		expect(pair.a->scq, 1, e->status);
		assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
		assert_true(async_event('q', pair.b->qpn, e->event));
		run_for(2 * MS);
		expect(pair.b->rcq, 2, VNET_WC_WR_FLUSH_ERR);
	} else {
		/* Unreliable: dropped without an error at either end. */
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		expect_none(pair.b->rcq);
		assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
	}
	no_async();
	nic_qp_destroy(&w.agent, pair.a->qpn);
	nic_qp_destroy(&w.agent, pair.b->qpn);
}

static void remote_errors_rc(void **state)
{
	for (u32 i = 0; i < sizeof(remote_errors) / sizeof(remote_errors[0]); i++) {
		print_message("  %s\n", remote_errors[i].what);
		remote_error(&remote_errors[i], NIC_QPT_RC);
	}
}

static void remote_errors_uc(void **state)
{
	for (u32 i = 0; i < sizeof(remote_errors) / sizeof(remote_errors[0]); i++) {
		if (remote_errors[i].opcode <= VNET_WR_RDMA_WRITE_IMM)
			remote_error(&remote_errors[i], NIC_QPT_UC);
	}
}

/* A write of length 0 does not check its rkey. */
static void empty_write_with_any_key(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_WRITE, 1, &w.p[1], TO);

	wqe.rdma.rkey = 0;
	wqe.rdma.remote_addr = ~0ull;
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
}

static void no_initiator_depth(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = rdma(VNET_WR_RDMA_READ, 1, &w.p[1], TO);
	struct sge here = sge(&w.p[0], FROM, 8);

	frame(pair.a)->attr.max_rd_atomic = 0;
	send_one(pair.a, &wqe, &here);
	expect(pair.a->scq, 1, VNET_WC_LOC_QP_OP_ERR);
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
}

static void remote_memory_unmapped(void **state)
{
	static const u8 opcodes[] = { VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ,
				      VNET_WR_ATOMIC_CMP_SWP };

	for (u32 i = 0; i < 3; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = rdma(opcodes[i], 1, &w.p[1], TO);
		struct sge here = sge(&w.p[0], FROM, 8);

		tp.space[2].no_write = tp.space[2].no_read = at(&w.p[1], TO);
		tp.space[2].no_write_len = tp.space[2].no_read_len = 8;
		send_one(pair.a, &wqe, &here);
		expect(pair.a->scq, 1, VNET_WC_REM_OP_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
		tp.space[2].no_write_len = tp.space[2].no_read_len = 0;
	}
}

/* A space that has ended (exec) gives no answer. */
static void remote_space_gone(void **state)
{
	static const u8 opcodes[] = { VNET_WR_RDMA_WRITE, VNET_WR_RDMA_READ,
				      VNET_WR_ATOMIC_CMP_SWP };

	for (u32 i = 0; i < 3; i++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = rdma(opcodes[i], 1, &w.p[1], TO);
		struct sge here = sge(&w.p[0], FROM, 8);

		tp.space[2].gone = true;
		send_one(pair.a, &wqe, &here);
		expect_none(pair.a->scq);
		run_for(4096ull * (1 << 14) * 5);
		expect(pair.a->scq, 1, VNET_WC_RETRY_EXC_ERR);
		tp.space[2].gone = false;
	}
}

static void invalidate_refused(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe inv = wr(VNET_WR_SEND_INV, 1);
	struct vnet_send_wqe local = wr(VNET_WR_LOCAL_INV, 2);

	inv.imm = w.p[1].key; /* a region */
	post_recv(pair.b, 5, NULL, 0);
	send_one(pair.a, &inv, NULL);
	expect(pair.a->scq, 1, VNET_WC_REM_OP_ERR);
	expect(pair.b->rcq, 5, VNET_WC_LOC_QP_OP_ERR);
	pair = make_pair(NIC_QPT_RC);
	local.imm = 0x1234500;
	send_one(pair.a, &local, NULL);
	expect(pair.a->scq, 2, VNET_WC_MW_BIND_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
}

static void bind_refused(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UC);
	struct vnet_send_wqe bind = wr(VNET_WR_BIND_MW, 1);

	send_one(pair.a, &bind, NULL);
	expect(pair.a->scq, 1, VNET_WC_MW_BIND_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_SQE);
}

/* Unreliable connection: only the receiver gets an error. */
static void receive_too_short_uc(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 100), to = sge(&w.p[1], TO, 99);

	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_RTS);
	assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
}

static void datagram_longer_than_the_mtu(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 4097), to = sge(&w.p[1], TO, 8000);

	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_SQE);
	expect_none(pair.b->rcq);
}

/* An invalid producer index puts this QP into the error state, and has no other effect. */
static void nonsense_in_the_send_ring(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	pair.a->sq.hdr->prod = 17;
	ring_send(pair.a);
	assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
	assert_true(async_event('q', pair.a->qpn, NIC_EVENT_QP_FATAL));
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
	run_for(5 * MS);
	no_async();
}

static void nonsense_in_the_receive_ring(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	pair.b->rq.hdr->prod = 17;
	send_one(pair.a, &wqe, NULL);
	expect_none(pair.a->scq);
	run_for(100 * MS);
	expect(pair.a->scq, 1, VNET_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
}

/* A peer of another transport type gets nothing. */
static void peer_of_another_transport(void **state)
{
	struct cq *cq[2] = { make_cq(&w.p[0], 16, 0), make_cq(&w.p[1], 16, 0) };
	struct qp *a = make_qp(&w.p[0], NIC_QPT_RC, cq[0], cq[0]);
	struct qp *b = make_qp(&w.p[1], NIC_QPT_UC, cq[1], cq[1]);
	struct sge from = sge(a->p, FROM, 64), to = sge(b->p, TO, 64);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);

	connect(a, b);
	post_recv(b, 1, &to, 1);
	send_one(a, &wqe, &from);
	expect_none(cq[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(local_errors_rc),
		TEST(read_into_read_only_memory),
		TEST(opcodes_by_type),
		TEST(messages_of_two_gigabytes),
		TEST(source_unmapped),
		TEST(target_of_a_read_unmapped),
		TEST(receive_too_short),
		TEST(bad_receives),
		TEST(unused_pieces_do_not_matter),
		TEST(number_of_pieces),
		TEST(receive_memory_unmapped),
		TEST(payload_that_cannot_be_placed),
		TEST(remote_errors_rc),
		TEST(remote_errors_uc),
		TEST(empty_write_with_any_key),
		TEST(no_initiator_depth),
		TEST(remote_memory_unmapped),
		TEST(remote_space_gone),
		TEST(invalidate_refused),
		TEST(bind_refused),
		TEST(receive_too_short_uc),
		TEST(datagram_longer_than_the_mtu),
		TEST(peer_of_another_transport),
		TEST(nonsense_in_the_send_ring),
		TEST(nonsense_in_the_receive_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
