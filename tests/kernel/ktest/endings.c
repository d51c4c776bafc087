// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How requests end that do not end well. */
#include "ktest.h"

#define KT_POSTED 8

/* Sends that nobody receives, and receives to which nobody sends. */
static int kt_drain(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent[KT_POSTED], *got[KT_POSTED];
	struct ib_sge sge = kt_sge(p, 0, 0, 100);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	int i;

	for (i = 0; i < KT_POSTED; i++) {
		got[i] = kt_request(p);
		sent[i] = kt_request(p);
		KT_TRY(kt_post_recv(from, p, 0, 0, 100, got[i]));
		KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent[i]));
	}
	ib_drain_qp(p->end[0].qp);
	for (i = 0; i < KT_POSTED; i++) {
		KT_CHECK(completion_done(&sent[i]->ended) && completion_done(&got[i]->ended));
		KT_CHECK(sent[i]->wc.status == IB_WC_WR_FLUSH_ERR);
		KT_CHECK(got[i]->wc.status == IB_WC_WR_FLUSH_ERR);
	}
	return 0;
}

/* One fails; those behind it are flushed, and so is what is posted later. */
static int kt_flush(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent[3], *got = kt_request(p), *late = kt_request(p);
	struct ib_sge sge = kt_sge(p, 0, 0, 100);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	/* rxe has a name of its own for it. */
	enum ib_wc_status bad_key = p->dev->ops.driver_id == RDMA_DRIVER_RXE ? IB_WC_LOC_QP_OP_ERR :
									       IB_WC_LOC_PROT_ERR;
	int i;

	KT_TRY(kt_post_recv(from, p, 0, 0, 100, got));
	/* Nobody's key. That the request asks for no completion does not count. */
	sge.lkey = 0xffffff77;
	for (i = 0; i < 3; i++) {
		sent[i] = kt_request(p);
		KT_TRY(kt_post_send(from, p->end[0].qp, &wr, sent[i]));
	}
	KT_TRY(kt_expect(p, sent[0], bad_key));
	KT_TRY(kt_expect(p, sent[1], IB_WC_WR_FLUSH_ERR));
	KT_TRY(kt_expect(p, sent[2], IB_WC_WR_FLUSH_ERR));
	KT_TRY(kt_expect(p, got, IB_WC_WR_FLUSH_ERR));
	KT_TRY(kt_post_recv(from, p, 0, 0, 100, late));
	return kt_expect(p, late, IB_WC_WR_FLUSH_ERR);
}

/* What does not fit is refused, and nothing else. */
static int kt_refused(struct kt_pair *p, enum kt_from from)
{
	struct ib_sge sge[64];
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 64 };
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr recv = { .sg_list = sge, .num_sge = 64 };
	struct kt_request *got = kt_request(p);
	int i;

	for (i = 0; i < 64; i++)
		sge[i] = kt_sge(p, 0, 0, 1);
	KT_CHECK(kt_post_send(from, p->end[0].qp, &send, kt_request(p)) < 0);
	KT_CHECK(ib_post_recv(p->end[1].qp, &recv, &bad) < 0 && bad == &recv);
	send.num_sge = 1;
	send.send_flags = IB_SEND_SIGNALED;
	KT_TRY(kt_post_recv(from, p, 1, 0, 1, got));
	KT_TRY(kt_post_send(from, p->end[0].qp, &send, kt_request(p)));
	return kt_expect(p, got, IB_WC_SUCCESS);
}

const struct kt_test kt_ending_tests[] = {
	{ "draining", kt_drain, IB_QPT_RC, false },
	{ "errors and flushing", kt_flush, IB_QPT_RC, false },
	{ "requests that do not fit", kt_refused, IB_QPT_RC, false },
	{},
};
