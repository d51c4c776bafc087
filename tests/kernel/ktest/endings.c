// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests failed and flushed requests, and the destruction of a polled completion queue. */
#include <linux/delay.h>
#include <linux/smp.h>
#include <linux/version.h>

#include "ktest.h"

/* rxe uses another status, and in Linux 6.12 flushes the failed request, too. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KT_RXE_BAD_KEY IB_WC_LOC_QP_OP_ERR
#else
#define KT_RXE_BAD_KEY IB_WC_WR_FLUSH_ERR
#endif

#define KT_POSTED 8

/* ib_drain_qp() flushes sends without a receive, and receives without a send. */
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

/* A failed request flushes those behind it, and those that are posted later. */
static int kt_flush(struct kt_pair *p, enum kt_from from)
{
	struct kt_request *sent[3], *got = kt_request(p), *late = kt_request(p);
	struct ib_sge sge = kt_sge(p, 0, 0, 100);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	enum ib_wc_status bad_key = p->dev->ops.driver_id == RDMA_DRIVER_RXE ? KT_RXE_BAD_KEY :
									       IB_WC_LOC_PROT_ERR;
	int i;

	KT_TRY(kt_post_recv(from, p, 0, 0, 100, got));
	/* An invalid key. Failed requests complete even if they are unsignaled. */
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

/* Requests with too many SGEs are refused; later requests work. */
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

/* -------------------------------------------------- destruction of a polled CQ */

/* Time that the core's poll function is delayed on another processor, ms. */
#define KT_STAY 200

static struct kt_stay {
	int (*notify)(struct ib_cq *cq, enum ib_cq_notify_flags flags);
	struct ib_cq *cq;
	struct completion entered, left;
	bool freed, outlived;
} kt_stay;

/* Replaces the device's req_notify_cq, which the core's poll function calls last. */
static int kt_notify_late(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	int i;

	if (cq != kt_stay.cq)
		return kt_stay.notify(cq, flags);
	complete(&kt_stay.entered);
	for (i = 0; i < KT_STAY && !READ_ONCE(kt_stay.freed); i++)
		mdelay(1);
	kt_stay.outlived = READ_ONCE(kt_stay.freed);
	complete(&kt_stay.left);
	return kt_stay.outlived ? 0 : kt_stay.notify(cq, flags);
}

/* Makes the core poll the CQ, as the device does. */
static void kt_stay_poll(void *arg)
{
	struct ib_cq *cq = arg;

	cq->comp_handler(cq, cq->cq_context);
}

static int kt_free_polled(unsigned int cpu)
{
	int err = smp_call_function_single(cpu, kt_stay_poll, kt_stay.cq, 1);
	bool entered = !err && wait_for_completion_timeout(&kt_stay.entered, KT_TIME_LIMIT);

	ib_free_cq(kt_stay.cq);
	WRITE_ONCE(kt_stay.freed, true);
	KT_CHECK(entered);
	wait_for_completion(&kt_stay.left);
	KT_CHECK(!kt_stay.outlived);
	return 0;
}

/* ib_free_cq() returns only after the core's polling of the CQ has ended. (Not with rdma_rxe.) */
static int kt_polled_end(struct kt_pair *p, enum kt_from from)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, get_cpu());
	struct ib_cq *cq;
	int err;

	put_cpu();
	if (p->poll != IB_POLL_SOFTIRQ || p->dev->ops.driver_id == RDMA_DRIVER_RXE ||
	    cpu >= nr_cpu_ids)
		return 0;
	cq = ib_alloc_cq(p->dev, p, KT_DEPTH, 0, p->poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	kt_stay = (struct kt_stay){ .notify = p->dev->ops.req_notify_cq, .cq = cq };
	init_completion(&kt_stay.entered);
	init_completion(&kt_stay.left);
	p->dev->ops.req_notify_cq = kt_notify_late;
	err = kt_free_polled(cpu);
	p->dev->ops.req_notify_cq = kt_stay.notify;
	return err;
}

const struct kt_test kt_ending_tests[] = {
	{ "draining", kt_drain, IB_QPT_RC, false },
	{ "errors and flushing", kt_flush, IB_QPT_RC, false },
	{ "requests that do not fit", kt_refused, IB_QPT_RC, false },
	{ "a queue that is polled", kt_polled_end, IB_QPT_RC, false },
	{},
};
