// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of messages, inline data, datagrams and shared receive queues. */
#include "ktest.h"

/* Offsets in the buffers. */
#define SEND_AT 0u
#define RECV_AT 32768u
#define GRH 40u

static const u32 kt_lengths[] = { 0, 1, 80, 4097, 20000 };

/* ----------------------------------------------------------------- messages */

static int kt_message(struct kt_pair *p, enum kt_from from, int to, u32 length)
{
	struct kt_request *sent = kt_request(p), *got = kt_request(p);
	struct ib_sge sge[2] = { kt_sge(p, 1 - to, SEND_AT, length / 3),
				 kt_sge(p, 1 - to, SEND_AT + length / 3, length - length / 3) };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.sg_list = sge,
		.num_sge = 2,
		.send_flags = IB_SEND_SIGNALED,
		.ex.imm_data = cpu_to_be32(length),
	};
	u8 *at = p->end[to].buffer.at + RECV_AT;

	memset(at, 0, length + 1);
	kt_fill(p->end[1 - to].buffer.at + SEND_AT, length, (u8)length);
	KT_TRY(kt_post_recv(from, p, to, RECV_AT, length + 1, got));
	KT_TRY(kt_post_send(from, p->end[1 - to].qp, &wr, sent));
	KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
	KT_TRY(kt_expect(p, got, IB_WC_SUCCESS));
	KT_CHECK(sent->wc.opcode == IB_WC_SEND && got->wc.opcode == IB_WC_RECV);
	KT_CHECK(got->wc.byte_len == length && got->wc.qp == p->end[to].qp);
	KT_CHECK(got->wc.wc_flags & IB_WC_WITH_IMM);
	KT_CHECK(got->wc.ex.imm_data == cpu_to_be32(length));
	KT_CHECK(kt_is_filled(at, length, (u8)length) && !at[length]);
	return 0;
}

static int kt_messages(struct kt_pair *p, enum kt_from from)
{
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(kt_lengths); i++)
		KT_TRY(kt_message(p, from, i & 1, kt_lengths[i / 2]));
	return 0;
}

static int kt_inline(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent = kt_request(p), *got = kt_request(p);
	u8 bytes[60];
	/* Inline data has a kernel virtual address, and is copied by the post. */
	struct ib_sge sge = { .addr = (uintptr_t)bytes, .length = sizeof(bytes) };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
	};

	kt_fill(bytes, sizeof(bytes), 9);
	KT_TRY(kt_post_recv(from, p, 1, RECV_AT, sizeof(bytes), got));
	KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent));
	memset(bytes, 0, sizeof(bytes));
	KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
	KT_TRY(kt_expect(p, got, IB_WC_SUCCESS));
	KT_CHECK(kt_is_filled(p->end[1].buffer.at + RECV_AT, sizeof(bytes), 9));
	return 0;
}

/* The receive is posted after the send, which waits for it. */
static int kt_late_receive(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent = kt_request(p), *got = kt_request(p);
	struct ib_sge sge = kt_sge(p, 0, SEND_AT, 5000);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	kt_fill(p->end[0].buffer.at + SEND_AT, 5000, 3);
	KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent));
	KT_CHECK(!wait_for_completion_timeout(&sent->ended, HZ / 50));
	KT_TRY(kt_post_recv(from, p, 1, RECV_AT, 5000, got));
	KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
	KT_TRY(kt_expect(p, got, IB_WC_SUCCESS));
	KT_CHECK(kt_is_filled(p->end[1].buffer.at + RECV_AT, 5000, 3));
	return 0;
}

/* --------------------------------------- messages, answered where they arrive */

#define KT_TURNS 500

struct kt_rally {
	struct ib_cqe recv, send;
	struct kt_pair *p;
	int turns;
	int err;
	struct completion ended;
};

static int kt_rally_receive(struct kt_rally *rally, int end)
{
	struct ib_sge sge = kt_sge(rally->p, end, RECV_AT, 256);
	struct ib_recv_wr wr = { .wr_cqe = &rally->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(rally->p->end[end].qp, &wr, NULL);
}

/* Every 8th send is signaled, so that its completion frees the slots. */
static int kt_rally_send(struct kt_rally *rally, int end)
{
	struct ib_sge sge = kt_sge(rally->p, end, SEND_AT, 200);
	struct ib_send_wr wr = {
		.wr_cqe = &rally->send,
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = rally->turns / 2 % 8 ? 0 : IB_SEND_SIGNALED,
	};

	kt_fill(rally->p->end[end].buffer.at + SEND_AT, 200, (u8)rally->turns);
	return ib_post_send(rally->p->end[end].qp, &wr, NULL);
}

static void kt_rally_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_rally *rally = container_of(wc->wr_cqe, struct kt_rally, send);

	if (wc->status)
		WRITE_ONCE(rally->err, -EIO);
}

static void kt_rally_got(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_rally *rally = container_of(wc->wr_cqe, struct kt_rally, recv);
	int end = wc->qp == rally->p->end[1].qp;

	if (rally->err || wc->status || wc->byte_len != 200 ||
	    !kt_is_filled(rally->p->end[end].buffer.at + RECV_AT, 200, (u8)rally->turns))
		rally->err = rally->err ?: -EIO;
	if (rally->err || ++rally->turns == KT_TURNS) {
		complete(&rally->ended);
		return;
	}
	rally->err = kt_rally_receive(rally, end) ?: kt_rally_send(rally, end);
	if (rally->err)
		complete(&rally->ended);
}

static int kt_rally_begin(void *arg)
{
	struct kt_rally *rally = arg;

	return kt_rally_receive(rally, 0) ?: kt_rally_receive(rally, 1) ?: kt_rally_send(rally, 0);
}

static int kt_rally(struct kt_pair *p, enum kt_from from)
{
	unsigned long until = jiffies + KT_TIME_LIMIT;
	struct kt_rally rally = {
		.recv.done = kt_rally_got,
		.send.done = kt_rally_sent,
		.p = p,
	};
	int i, err;

	init_completion(&rally.ended);
	err = kt_call(from, kt_rally_begin, &rally);
	if (!err && p->poll != IB_POLL_DIRECT)
		err = wait_for_completion_timeout(&rally.ended, KT_TIME_LIMIT) ? 0 : -ETIMEDOUT;
	while (!err && p->poll == IB_POLL_DIRECT && !try_wait_for_completion(&rally.ended)) {
		for (i = 0; i < 2; i++)
			ib_process_cq_direct(p->end[i].cq, 4);
		cond_resched();
		err = time_after(jiffies, until) ? -ETIMEDOUT : 0;
	}
	/* Posted requests refer to `rally` on this stack. */
	for (i = 0; i < 2; i++)
		ib_drain_qp(p->end[i].qp);
	KT_TRY(err);
	KT_CHECK(rally.turns == KT_TURNS);
	return 0;
}

/* ---------------------------------------------------------------- datagrams */

static int kt_datagram(struct kt_pair *p, enum kt_from from, struct ib_ah *ah, u32 length)
{
	struct kt_request *sent = kt_request(p), *got = kt_request(p);
	struct ib_sge sge = kt_sge(p, 0, SEND_AT, length);
	struct ib_ud_wr wr = {
		.wr = {
			.opcode = IB_WR_SEND,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = ah,
		.remote_qpn = p->end[1].qp->qp_num,
		.remote_qkey = KT_QKEY,
		.port_num = 1,
	};
	u8 *at = p->end[1].buffer.at + RECV_AT;

	memset(at, 0xee, GRH + length + 1);
	kt_fill(p->end[0].buffer.at + SEND_AT, length, 77);
	KT_TRY(kt_post_recv(from, p, 1, RECV_AT, GRH + length, got));
	KT_TRY(kt_post_send(from, p->end[0].qp, &wr.wr, sent));
	KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
	KT_TRY(kt_expect(p, got, IB_WC_SUCCESS));
	KT_CHECK(got->wc.byte_len == GRH + length && (got->wc.wc_flags & IB_WC_GRH));
	KT_CHECK(got->wc.src_qp == p->end[0].qp->qp_num);
	KT_CHECK(kt_is_filled(at + GRH, length, 77) && at[GRH + length] == 0xee);
	/* RoCE v2 over IPv4: the IPv4 header is in the last 20 bytes of the GRH. */
	KT_CHECK(at[20] == 0x45);
	return 0;
}

static int kt_datagrams(struct kt_pair *p, enum kt_from from)
{
	const struct ib_gid_attr *gid = kt_gid(p->dev);
	struct rdma_ah_attr attr;
	struct ib_ah *ah;
	int err;

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	err = kt_address(p->dev, &gid->gid, &attr);
	rdma_put_gid_attr(gid);
	if (err)
		return err;
	/* Address handles can be created in atomic context. */
	local_bh_disable();
	ah = rdma_create_ah(p->pd, &attr, 0);
	local_bh_enable();
	rdma_destroy_ah_attr(&attr);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	err = kt_datagram(p, from, ah, 1) ?: kt_datagram(p, from, ah, 1000);
	rdma_destroy_ah(ah, from == KT_TASK ? RDMA_DESTROY_AH_SLEEPABLE : 0);
	return err;
}

/* --------------------------------------------------------------- shared queue */

#define KT_SHARED 8

static int kt_shared(struct kt_pair *p, enum kt_from from)
{
	struct ib_srq_attr limit = { .srq_limit = KT_SHARED / 2 };
	struct kt_request *sent, *got[KT_SHARED];
	struct ib_sge sge = kt_sge(p, 0, SEND_AT, 100);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	int i;

	for (i = 0; i < KT_SHARED; i++) {
		got[i] = kt_request(p);
		KT_TRY(kt_post_recv(from, p, 1, RECV_AT + i * 128, 128, got[i]));
	}
	KT_TRY(ib_modify_srq(p->end[1].srq, &limit, IB_SRQ_LIMIT));
	for (i = 0; i < KT_SHARED; i++) {
		sent = kt_request(p);
		kt_fill(p->end[0].buffer.at + SEND_AT, 100, (u8)i);
		KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent));
		KT_TRY(kt_expect(p, sent, IB_WC_SUCCESS));
		KT_TRY(kt_expect(p, got[i], IB_WC_SUCCESS));
		KT_CHECK(kt_is_filled(p->end[1].buffer.at + RECV_AT + i * 128, 100, (u8)i));
	}
	for (i = 0; i < 500 && !atomic_read(&p->srq_events); i++)
		schedule_timeout_uninterruptible(1);
	KT_CHECK(atomic_read(&p->srq_events) == 1);
	return 0;
}

const struct kt_test kt_data_tests[] = {
	{ "messages", kt_messages, IB_QPT_RC, false },
	{ "inline data", kt_inline, IB_QPT_RC, false },
	{ "a late receive", kt_late_receive, IB_QPT_RC, false },
	{ "answers from handlers", kt_rally, IB_QPT_RC, false },
	{ "datagrams", kt_datagrams, IB_QPT_UD, false },
	{ "a shared receive queue", kt_shared, IB_QPT_RC, true },
	{},
};
