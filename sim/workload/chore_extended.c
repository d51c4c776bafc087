// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Chores: XRC connections (one target with two SRQs), and atomic writes. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "workload/chore.h"

#define DOMAIN 7u
#define QUEUES 2u
#define LONGEST 4000u
#define REQUESTS 6u

struct connection {
	struct bench *b;
	struct srq *srq[QUEUES];
	struct queue *cq[QUEUES];
	struct slot *from, *to;
	u32 posted[QUEUES];
	u64 content;
};

static bool connection_make(struct connection *c, struct bench *b)
{
	struct qp_options near = { 0 }, far = { .xrcdn = DOMAIN };
	struct srq_options named = { .xrcdn = DOMAIN };
	u32 i;

	*c = (struct connection){ .b = b };
	c->from = bench_memory(b, b->actor);
	c->to = bench_memory(b, b->other);
	if (!c->from || !c->to || !holds(b))
		return false;
	process_undying++;
	for (i = 0; i < QUEUES; i++) {
		c->cq[i] = bench_has_cq(b, make_cq_aside(b->far, 64, NIC_NONE, 0));
		named.cq = c->cq[i];
		c->srq[i] = bench_has_srq(b, make_srq_with(b->far, 16, &named));
	}
	b->x = bench_has_qp(b, make_qp(b->p, NIC_QPT_XRC_INI, b->cq, b->cq, &near));
	b->y = bench_has_qp(b, make_qp(b->far, NIC_QPT_XRC_TGT, b->far_cq, b->far_cq, &far));
	connect_qp(b->x, b->far->node->index, b->y->qpn, &near);
	connect_qp(b->y, b->p->node->index, b->x->qpn, &far);
	process_undying--;
	return holds(b);
}

/* Each SRQ has one half of the receiver's memory. */
static u64 place(const struct connection *c, u32 queue)
{
	return c->to->offset + queue * (SLOT_BYTES / QUEUES);
}

static bool request(struct connection *c, struct vnet_send_wqe *wqe, u32 queue, u32 length)
{
	struct sge sg = { address_at(c->b->p, c->from->offset), length, c->from->key };

	if (!holds(c->b))
		return false;
	wqe->srqn = c->srq[queue]->srqn;
	post_send(c->b->x, wqe, &sg, 1);
	ring_qp(c->b->x);
	return ends(c->b, next_status(c->b, NULL), VNET_WC_SUCCESS,
		    "a request of an extended connection");
}

static bool arrives(struct connection *c, u32 queue, u32 opcode, u32 length, u32 imm)
{
	struct wc wc;
	u32 status = next_status_of(c->b, c->cq[queue], &wc);

	if (!ends(c->b, status, VNET_WC_SUCCESS, "a receive of an XRC connection"))
		return false;
	if (wc.wr_id != c->posted[queue] || wc.opcode != opcode || wc.byte_len != length)
		wrong(c->b, "a message of an XRC connection arrived in another queue",
		      (u32)wc.wr_id);
	if (wc.flags & VNET_WC_WITH_IMM && wc.imm != imm)
		wrong(c->b, "immediate data of an XRC connection", wc.imm);
	return holds(c->b);
}

static bool has_come(struct connection *c, u32 queue, u32 length)
{
	if (holds(c->b))
		want(c->b, bytes_are(mem(c->b->far, place(c, queue)), length, c->content, 0),
		     "an extended connection brings other bytes");
	return holds(c->b);
}

static bool message(struct connection *c, u32 queue, u8 opcode, u32 length)
{
	struct vnet_send_wqe wqe = make_wr(opcode, 1);
	struct sge sg = { address_at(c->b->far, place(c, queue)), LONGEST, c->to->key };
	bool write = opcode == VNET_WR_RDMA_WRITE_IMM;

	wqe.imm = (u32)c->content;
	if (write) {
		wqe.rdma.remote_addr = address_at(c->b->far, place(c, queue));
		wqe.rdma.rkey = c->to->key;
	}
	post_srq(c->srq[queue], ++c->posted[queue], &sg, 1);
	bytes_fill(mem(c->b->p, c->from->offset), length, c->content, 0);
	return request(c, &wqe, queue, length) &&
	       arrives(c, queue, write ? VNET_WC_RECV_RDMA_WITH_IMM : VNET_WC_RECV, length,
		       wqe.imm) &&
	       has_come(c, queue, length);
}

static bool write_to(struct connection *c, u32 queue, u8 opcode, u32 length)
{
	struct vnet_send_wqe wqe = make_wr(opcode, 1);

	wqe.rdma.remote_addr = address_at(c->b->far, place(c, queue));
	wqe.rdma.rkey = c->to->key;
	bytes_fill(mem(c->b->p, c->from->offset), length, c->content, 0);
	return request(c, &wqe, queue, length) && has_come(c, queue, length);
}

static bool read_from(struct connection *c, u32 queue, u32 length)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_RDMA_READ, 1);

	wqe.rdma.remote_addr = address_at(c->b->far, place(c, queue));
	wqe.rdma.rkey = c->to->key;
	bytes_fill(mem(c->b->far, place(c, queue)), length, c->content, 0);
	if (!request(c, &wqe, queue, length) || !holds(c->b))
		return false;
	want(c->b, bytes_are(mem(c->b->p, c->from->offset), length, c->content, 0),
	     "an extended connection reads other bytes");
	return holds(c->b);
}

static bool add_to(struct connection *c, u32 queue)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_ATOMIC_FETCH_ADD, 1);
	u64 before, after;

	wqe.rdma.remote_addr = address_at(c->b->far, place(c, queue));
	wqe.rdma.rkey = c->to->key;
	wqe.rdma.compare_add = c->content;
	memcpy(&before, mem(c->b->far, place(c, queue)), 8);
	if (!request(c, &wqe, queue, 8) || !holds(c->b))
		return false;
	memcpy(&after, mem(c->b->far, place(c, queue)), 8);
	want(c->b,
	     after == before + c->content && !memcmp(mem(c->b->p, c->from->offset), &before, 8),
	     "an addition by an extended connection");
	return holds(c->b);
}

/* Send to an SRQ that does not exist, or is not in the XRC domain. */
static void no_such_queue(struct connection *c)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);
	struct sge sg = { address_at(c->b->p, c->from->offset), 100, c->from->key };

	if (!holds(c->b))
		return;
	wqe.srqn = bench_below(c->b, 2) ? 0 : c->b->other->srq->srqn;
	post_send(c->b->x, &wqe, &sg, 1);
	ring_qp(c->b->x);
	ends(c->b, next_status(c->b, NULL), VNET_WC_REM_INV_REQ_ERR,
	     "a queue that is none of its domain");
}

/* Destroy the SRQ, or bring the target to RESET or ERR, in the middle of a message. */
static void cut_short(struct connection *c)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 1);
	struct sge sg = { address_at(c->b->p, c->from->offset), LONGEST, c->from->key };
	struct sge to = { address_at(c->b->far, place(c, 0)), LONGEST, c->to->key };

	if (!holds(c->b))
		return;
	wqe.srqn = c->srq[0]->srqn;
	post_srq(c->srq[0], ++c->posted[0], &to, 1);
	post_send(c->b->x, &wqe, &sg, 1);
	ring_qp(c->b->x);
	sleep_for(c->b->p, bench_below(c->b, 30000));
	if (!holds(c->b))
		return;
	if (bench_below(c->b, 2)) {
		destroy_srq(c->srq[0]);
		c->b->others[1].srq = NULL;
	} else {
		set_state(c->b->y, bench_below(c->b, 2) ? NIC_QPS_ERR : NIC_QPS_RESET);
	}
	sleep_for(c->b->p, bench_below(c->b, 100000));
}

static bool one_request(struct connection *c)
{
	static const u8 opcode[] = { VNET_WR_SEND, VNET_WR_SEND_IMM, VNET_WR_RDMA_WRITE_IMM };
	u32 queue = bench_below(c->b, QUEUES), length = 1 + bench_below(c->b, LONGEST);

	c->content = random_next(&c->b->actor->random);
	switch (bench_below(c->b, 7)) {
	case 0:
		return write_to(c, queue, VNET_WR_RDMA_WRITE, length);
	case 1:
		return write_to(c, queue, VNET_WR_ATOMIC_WRITE, 8);
	case 2:
		return read_from(c, queue, length);
	case 3:
		return add_to(c, queue);
	default:
		return message(c, queue, opcode[bench_below(c->b, 3)], length);
	}
}

void extended(struct bench *b)
{
	struct connection c;
	u32 i;

	if (!connection_make(&c, b))
		return;
	for (i = 0; i < REQUESTS; i++) {
		if (!one_request(&c))
			return;
	}
	if (bench_below(b, 2))
		no_such_queue(&c);
	else
		cut_short(&c);
}

/* ---------------------------------------------------------------- atomic writes */

static bool word_is(struct bench *b, u64 expected)
{
	u64 word;

	if (!holds(b))
		return false;
	memcpy(&word, mem(b->far, b->there), 8);
	want(b, word == expected, "a write of eight bytes changed other bytes");
	return holds(b);
}

void atomic_writes(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_ATOMIC_WRITE);
	u64 value;
	u32 i;

	for (i = 0; i < 3; i++) {
		value = random_next(&b->actor->random);
		memcpy(mem(b->p, b->here), &value, 8);
		if (!ends(b, run(b, &wqe, 8, b->key), VNET_WC_SUCCESS, "a write of eight bytes") ||
		    !word_is(b, value))
			return;
	}
	switch (bench_below(b, 3)) {
	case 0:
		ends(b, run(b, &wqe, 16, b->key), VNET_WC_LOC_LEN_ERR, "a word of 16 bytes");
		break;
	case 1:
		wqe.rdma.remote_addr += 4;
		ends(b, run(b, &wqe, 8, b->key), VNET_WC_REM_INV_REQ_ERR, "half of a word");
		break;
	default:
		wqe.rdma.rkey ^= 0x33;
		ends(b, run(b, &wqe, 8, b->key), VNET_WC_REM_ACCESS_ERR, "a word in no region");
		break;
	}
	word_is(b, value);
}
