// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* An SRQ with tag matching, its operations, and messages to it. */
#include <endian.h>

#include "tag_stage.h"

struct tags tags;

struct nic_srq *srq_frame(void)
{
	return &w.agent.srq[s.srq->srqn - 1];
}

struct nic_tm *tag_list(void)
{
	struct nic_tm_list l;

	assert_true(nic_tm_open(&w.agent, srq_frame(), &l));
	return l.tm;
}

static struct srq *make_tag_srq(struct process *p, struct cq *cq)
{
	struct srq *srq = test_alloc(sizeof(*srq));
	struct nic_srq_params params = { .entries = 8,
					 .stride_shift = 7,
					 .max_sge = 7,
					 .pdn = p->pdn,
					 .space = p->nic.space,
					 .cqn = cq->cqn,
					 .tm_tags = TAGS,
					 .tm_ops_entries = 8 };

	srq->p = p;
	srq->srqn = w.next_srqn++;
	srq->ring = ring_make(8, 7);
	tags.ops = ring_make(8, VNET_TM_OP_SHIFT);
	params.ring = srq->ring.offset;
	params.tm_ops = tags.ops.offset;
	params.tm = queue_alloc(sizeof(struct nic_tm) + TAGS * sizeof(struct nic_tag));
	assert_int_equal(nic_srq_create(&w.agent, srq->srqn, &params), NIC_OK);
	return srq;
}

int tag_start(void **state)
{
	struct qp_options with_srq = { 0 };

	world_setup(state);
	memset(&s, 0, sizeof(s));
	tags.prod = tags.handle = 0;
	s.ca = make_cq(&w.p[0], 64, 0);
	s.cb = make_cq(&w.p[1], 64, 0);
	s.srq = make_tag_srq(&w.p[1], s.cb);
	with_srq.srq = s.srq;
	s.a = make_qp(&w.p[0], NIC_QPT_RC, s.ca, s.ca);
	s.b = make_qp_with(&w.p[1], NIC_QPT_RC, s.cb, s.cb, &with_srq);
	connect(s.a, s.b);
	return 0;
}

/* Writes an operation to the ring without a doorbell. */
void put_op(const struct vnet_tm_op *op)
{
	memcpy(tags.ops.slots + ((size_t)(tags.prod & tags.ops.mask) << tags.ops.shift), op,
	       sizeof(*op));
	nic_store_release(&tags.ops.hdr->prod, ++tags.prod);
}

void ring_tags(void)
{
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
}

void post_op(const struct vnet_tm_op *op)
{
	put_op(op);
	ring_tags();
}

struct wc operate(struct vnet_tm_op op, u32 status)
{
	op.wr_id = 1000;
	op.flags |= VNET_TM_OP_SIGNALED;
	post_op(&op);
	return expect_next(s.cb, 1000, status);
}

/* A buffer of 1000 bytes at TO + 1000 * number. */
struct vnet_tm_op tag_buffer(u32 number, u64 tag, u64 mask)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD,
				 .recv_wr_id = number,
				 .tag = tag,
				 .mask = mask,
				 .num_sge = 1 };

	op.handle = ++tags.handle;
	op.sge[0] = (struct vnet_sge){ at(&w.p[1], TO + 1000 * number), 1000, w.p[1].key };
	return op;
}

/* Adds a tag by the doorbell of its process. Returns its handle. */
u32 add_tag(u32 number, u64 tag, u64 mask)
{
	operate(tag_buffer(number, tag, mask), VNET_WC_SUCCESS);
	return tags.handle;
}

/* Leaves an operation in the ring for a sender to execute. */
u32 leave_tag(u32 number, u64 tag)
{
	struct vnet_tm_op op = tag_buffer(number, tag, ALL);

	put_op(&op);
	return op.handle;
}

struct wc synchronise(u32 seen)
{
	return operate((struct vnet_tm_op){ .opcode = VNET_TM_OP_SYNC, .unexpected = seen },
		       VNET_WC_SUCCESS);
}

/* Writes the headers, then `length` bytes of a pattern. */
void write_message(u8 opcode, u64 tag, u32 length)
{
	u8 *header = mem(&w.p[0], FROM);
	u64 wire_tag = htobe64(tag);
	u32 priv = htobe32(0xabcd);

	memset(header, 0, NIC_TMH_SIZE);
	header[0] = opcode;
	memcpy(header + 4, &priv, 4);
	memcpy(header + 8, &wire_tag, 8);
	fill(&w.p[0], FROM + NIC_TMH_SIZE, length, (u32)tag);
}

void post_message(u32 length)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
	struct sge data = sge(&w.p[0], FROM, NIC_TMH_SIZE + length);

	send_one(s.a, &wqe, &data);
}

void send_tagged(u8 opcode, u64 tag, u32 length)
{
	write_message(opcode, tag, length);
	post_message(length);
	expect(s.ca, 7, VNET_WC_SUCCESS);
}

void write_rendezvous(u64 tag, u32 length)
{
	u64 va = htobe64(at(&w.p[0], DATA));
	u32 rkey = htobe32(w.p[0].key), size = htobe32(length);

	write_message(RNDV, tag, NIC_RVH_SIZE);
	memcpy(mem(&w.p[0], FROM + 16), &va, 8);
	memcpy(mem(&w.p[0], FROM + 24), &rkey, 4);
	memcpy(mem(&w.p[0], FROM + 28), &size, 4);
	fill(&w.p[0], DATA, length, (u32)tag);
}

void post_plain(u32 number)
{
	struct sge to = sge(&w.p[1], TO + 1000 * number, 1000);

	post_srq_recv(s.srq, number, &to, 1);
}

struct wc expect_match(u32 number, u32 flags)
{
	struct wc wc = expect_next(s.cb, number, VNET_WC_SUCCESS);

	assert_int_equal(wc.opcode, VNET_WC_TM_RECV);
	assert_int_equal(wc.flags, flags);
	return wc;
}
