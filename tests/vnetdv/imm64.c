// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of 64-bit immediate data between two processes. Covers all QP types, operations, ways to
 * post and to poll, and many lengths, alternating with ordinary immediate data.
 *
 * Both processes execute the same steps, and synchronize by a socket before each step.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "qp.h"

#define BUFFER (128u << 10)
#define DEPTH 16
#define MAX_INLINE 256u

enum posting { POST_EXTENDED, POST_PLAIN, POSTINGS };
/* vnet's own polling returns all 64 bits, ordinary polling the lower 32. */
enum polling { POLL_OWN, POLL_ORDINARY, POLLINGS };

/* Parameters of a step, on which both sides agree. */
struct step {
	enum ibv_wr_opcode opcode;
	enum posting posting;
	enum polling polling;
	bool wide;
	bool is_inline;
	uint32_t length;
	uint64_t imm;
};

/* The present kind of queue pair, and the objects that not every kind has. */
static enum ibv_qp_type type;
static bool extended;
static struct ibv_srq *shared;
static struct ibv_ah *ah;

/* ------------------------------------------------------------------ objects */

static void set_up(struct side *s)
{
	struct vnetdv_context attr = { .comp_mask = ~0ull };
	struct {
		struct vnetdv_context known;
		uint64_t later;
	} longer = { .later = 1 };

	CHECK(!s->dv.query_context(s->ctx, &attr, sizeof(attr)));
	CHECK(!attr.comp_mask && attr.flags & VNETDV_CONTEXT_IMM64);
	/* A program built with a later version has a longer structure. */
	CHECK(!s->dv.query_context(s->ctx, &longer.known, sizeof(longer)));
	CHECK(longer.known.flags == attr.flags && !longer.later);

	s->mr = ibv_reg_mr(s->pd, s->buffer, BUFFER,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(s->mr);
}

static void make_queues(struct side *s, bool srq)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 4 * DEPTH, .wc_flags = IBV_WC_EX_WITH_IMM };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.cap = { DEPTH, DEPTH, 1, 1, MAX_INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp_init_attr plain;

	if (type != IBV_QPT_UD)
		attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	s->cq = extended ? ibv_cq_ex_to_cq(ibv_create_cq_ex(s->ctx, &cq_attr)) :
			   ibv_create_cq(s->ctx, 4 * DEPTH, NULL, NULL, 0);
	shared = srq ? ibv_create_srq(s->pd, &srq_attr) : NULL;
	CHECK(s->cq && (!srq || shared));
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	attr.srq = shared;
	if (extended) {
		s->qp = ibv_create_qp_ex(s->ctx, &attr);
	} else {
		plain = (struct ibv_qp_init_attr){ .send_cq = s->cq,
						   .recv_cq = s->cq,
						   .srq = shared,
						   .cap = attr.cap,
						   .qp_type = type };
		s->qp = ibv_create_qp(s->pd, &plain);
	}
	CHECK(s->qp);
}

static void to_rts(struct side *s)
{
	struct ibv_qp_attr attr = qp_attr_to(s->peer.qpn, &s->peer.gid, GID_INDEX);

	attr.path_mtu = IBV_MTU_4096;
	attr.qkey = QKEY;
	if (type == IBV_QPT_UD) {
		ah = ibv_create_ah(s->pd, &attr.ah_attr);
		CHECK(ah);
	}
	CHECK(!qp_to_rts(s->qp, &attr));
}

static void connect_sides(struct side *s, bool srq)
{
	make_queues(s, srq);
	(void)side_exchange(s);
	to_rts(s);
	meet(s->sock);
}

static void disconnect_sides(struct side *s)
{
	meet(s->sock);
	if (ah)
		CHECK(!ibv_destroy_ah(ah));
	ah = NULL;
	CHECK(!ibv_destroy_qp(s->qp));
	CHECK(!shared || !ibv_destroy_srq(shared));
	CHECK(!ibv_destroy_cq(s->cq));
}

/* ------------------------------------------------------------------- sending */

static void post_extended(struct side *s, const struct step *t)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);
	uint32_t low = htobe32((uint32_t)t->imm);

	ibv_wr_start(qp);
	qp->wr_id = t->imm;
	qp->wr_flags = IBV_SEND_SIGNALED;
	if (t->opcode == IBV_WR_SEND_WITH_IMM && t->wide)
		s->dv.wr_send_imm64(qp, t->imm);
	else if (t->opcode == IBV_WR_SEND_WITH_IMM)
		ibv_wr_send_imm(qp, low);
	else if (t->wide)
		s->dv.wr_rdma_write_imm64(qp, s->peer.rkey, s->peer.addr, t->imm);
	else
		ibv_wr_rdma_write_imm(qp, s->peer.rkey, s->peer.addr, low);
	if (ah)
		ibv_wr_set_ud_addr(qp, ah, s->peer.qpn, QKEY);
	if (t->is_inline)
		ibv_wr_set_inline_data(qp, s->buffer, t->length);
	else
		ibv_wr_set_sge(qp, s->mr->lkey, (uintptr_t)s->buffer, t->length);
	CHECK(!ibv_wr_complete(qp));
}

static void post_plain(struct side *s, const struct step *t)
{
	struct ibv_sge sge = { (uintptr_t)s->buffer, t->length, s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = t->imm,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = t->opcode,
		.send_flags = IBV_SEND_SIGNALED | (t->is_inline ? IBV_SEND_INLINE : 0),
		.imm_data = htobe32((uint32_t)t->imm),
	};
	struct ibv_send_wr *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = s->peer.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (t->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wr.wr.rdma.remote_addr = s->peer.addr;
		wr.wr.rdma.rkey = s->peer.rkey;
	}
	if (!t->wide) {
		CHECK(!ibv_post_send(s->qp, &wr, &bad));
		return;
	}
	/* This value must be ignored. */
	wr.imm_data = 0x77777777;
	CHECK(!s->dv.post_send_imm64(s->qp, &wr, t->imm, &bad));
}

static uint8_t byte_of(const struct step *t, uint32_t i)
{
	return (uint8_t)(t->imm >> 8 ^ i * 7);
}

static void send_step(struct side *s, const struct step *t)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < t->length; i++)
		s->buffer[i] = byte_of(t, i);
	/* The receiver has posted its receive. */
	meet(s->sock);
	if (t->posting == POST_EXTENDED)
		post_extended(s, t);
	else
		post_plain(s, t);
	wc = wait_for(s->cq);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == t->imm);
	CHECK(wc.opcode == (t->opcode == IBV_WR_SEND_WITH_IMM ? IBV_WC_SEND : IBV_WC_RDMA_WRITE));
	CHECK(!wc.wc_flags);
	meet(s->sock);
}

/* ----------------------------------------------------------------- receiving */

static void post_receive(struct side *s, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)s->buffer, BUFFER, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!(shared ? ibv_post_srq_recv(shared, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad)));
}

static void poll_extended(struct side *s, struct vnetdv_wc *got)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)s->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	int ret;

	do {
		ret = ibv_start_poll(cq, &attr);
	} while (ret == ENOENT);
	CHECK(!ret);
	got->wc.wr_id = cq->wr_id;
	got->wc.status = cq->status;
	got->wc.opcode = ibv_wc_read_opcode(cq);
	got->wc.wc_flags = ibv_wc_read_wc_flags(cq);
	got->wc.imm_data = ibv_wc_read_imm_data(cq);
	got->imm64 = s->dv.wc_read_imm64(cq);
	ibv_end_poll(cq);
}

static void poll_step(struct side *s, const struct step *t, struct vnetdv_wc *got)
{
	int n;

	if (t->polling == POLL_OWN && extended) {
		poll_extended(s, got);
		return;
	}
	do {
		n = t->polling == POLL_OWN ? s->dv.poll_cq(s->cq, 1, got) :
					     ibv_poll_cq(s->cq, 1, &got->wc);
	} while (!n);
	CHECK(n == 1);
}

static void receive_step(struct side *s, const struct step *t)
{
	bool send = t->opcode == IBV_WR_SEND_WITH_IMM;
	uint32_t at = ah ? GRH : 0;
	struct vnetdv_wc got;

	memset(s->buffer, 0xee, at + t->length + 1);
	post_receive(s, ~t->imm);
	meet(s->sock);
	poll_step(s, t, &got);
	CHECK(got.wc.status == IBV_WC_SUCCESS && got.wc.wr_id == ~t->imm);
	CHECK(got.wc.opcode == (send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM));
	CHECK(got.wc.wc_flags == (IBV_WC_WITH_IMM | (ah ? (unsigned int)IBV_WC_GRH : 0)));
	CHECK(got.wc.imm_data == htobe32((uint32_t)t->imm));
	if (t->polling == POLL_OWN)
		CHECK(got.imm64 == (t->wide ? t->imm : (uint32_t)t->imm));
	for (uint32_t i = 0; i < t->length; i++)
		CHECK(s->buffer[at + i] == byte_of(t, i));
	CHECK(s->buffer[at + t->length] == 0xee);
	meet(s->sock);
}

/* --------------------------------------------------------------------- steps */

static uint64_t next_number(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void step(struct side *s, struct step *t)
{
	static const char *const names[] = {
		[IBV_QPT_RC] = "RC", [IBV_QPT_UC] = "UC", [IBV_QPT_UD] = "UD"
	};

	t->imm = next_number();
	snprintf(here, HERE, "%s%s%s: %s, %u bytes%s, %s, posting %d, polling %d", names[type],
		 shared ? ", SRQ" : "", extended ? ", extended" : "",
		 t->opcode == IBV_WR_SEND_WITH_IMM ? "send" : "write", t->length,
		 t->is_inline ? " inline" : "", t->wide ? "64 bits" : "32 bits", (int)t->posting,
		 (int)t->polling);
	if (s->sends)
		send_step(s, t);
	else
		receive_step(s, t);
}

static void all_ways(struct side *s, struct step *t)
{
	for (int posting = extended ? POST_EXTENDED : POST_PLAIN; posting < POSTINGS; posting++) {
		for (int polling = 0; polling < POLLINGS; polling++) {
			t->posting = (enum posting)posting;
			t->polling = (enum polling)polling;
			t->wide = true;
			step(s, t);
			/* Ordinary immediate data must have no bits of the previous one. */
			t->wide = false;
			step(s, t);
		}
	}
}

/* Lengths around the capacity of a completion, with and without a GRH, and of several frames. */
static void all_lengths(struct side *s, enum ibv_wr_opcode opcode)
{
	static const uint32_t lengths[] = { 0,  1,  8,  20, 21, 35, 36,   37,   40,
					    41, 75, 76, 77, 80, 81, 4096, 5000, 100000 };
	struct step t = { .opcode = opcode };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		t.length = lengths[i];
		if (type == IBV_QPT_UD && t.length > 4096)
			continue;
		t.is_inline = false;
		all_ways(s, &t);
		t.is_inline = true;
		if (t.length <= MAX_INLINE)
			all_ways(s, &t);
	}
}

/* vnetdv_open() refuses a device of another provider, even while vnet's provider is loaded. */
static int foreign_device(const char *name)
{
	struct ibv_context *ctx = open_named(name);
	struct vnetdv_ops dv;

	CHECK(vnetdv_open(ctx, &dv) == ENOTSUP && !dv.query_context);
	CHECK(!ibv_close_device(ctx));
	puts("not ours");
	return 0;
}

int main(int argc, char **argv)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct side s = { 0 };
	unsigned int i;

	if (argc == 3 && !strcmp(argv[1], "foreign"))
		return foreign_device(argv[2]);
	side_start(&s, argc, argv, VNETDV_CONTEXT_IMM64, BUFFER);
	set_up(&s);
	for (i = 0; i < 12; i++) {
		type = types[i / 4];
		extended = i & 1;
		/* UC has no shared receive queue. */
		if (type == IBV_QPT_UC && i & 2)
			continue;
		connect_sides(&s, i & 2);
		all_lengths(&s, IBV_WR_SEND_WITH_IMM);
		if (type != IBV_QPT_UD)
			all_lengths(&s, IBV_WR_RDMA_WRITE_WITH_IMM);
		disconnect_sides(&s);
	}
	CHECK(!ibv_dereg_mr(s.mr));
	side_end(&s);
	return 0;
}
