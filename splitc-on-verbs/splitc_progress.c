// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polling: takes what has come, and notices who has died. */
#include <poll.h>
#include <sched.h>

#include "splitc_core.h"
#include "am_cost.h"
#include "job/job.h"

#define CQ_BATCH 16
#define IDLE_LOOKS 64u /* polls that find nothing between two looks at the rest */
#define OTHERS 4u /* of so many looks at RDMA, one at the others */
#define GRACE 3000 /* ms that a launcher has to end us because another has died */

void sc_peer_failed(int proc)
{
	struct pollfd fd = { .fd = job_failed_fd(sc.job), .events = POLLIN };

	/* Who starts us usually tells more, and ends us: then there is one message. */
	poll(&fd, 1, GRACE);
	if (job_failed(sc.job) >= 0) {
		proc = job_failed(sc.job);
		poll(NULL, 0, GRACE);
	}
	sc_fail("processor %d does not answer", proc);
}

static void give_back(struct sc_buffer *buffer)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer->bytes,
			       .length = SC_BUFFER,
			       .lkey = buffer->peer->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)buffer, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err;

	am_cost_begin(AM_COST_POST_RECV);
	err = ibv_post_recv(buffer->peer->qp, &wr, &bad);
	am_cost_end(AM_COST_POST_RECV);
	if (err)
		sc_fail("cannot receive from processor %d", buffer->peer->proc);
}

static void received(const struct ibv_wc *wc)
{
	struct sc_buffer *buffer = (struct sc_buffer *)(uintptr_t)wc->wr_id;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		/* The send queue knows what failed, if it did. */
		sc_poll_sends();
		sc_peer_failed(buffer->peer->proc);
	}
	sc_arrival(buffer->peer, &buffer->message, wc->byte_len);
	am_cost_begin(AM_COST_RECYCLE_RECV);
	give_back(buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

bool sc_progress(void)
{
	struct ibv_wc wc[CQ_BATCH];
	int n;

	sc_not_serving();
	/* Who waits for RDMA looks there first, but never forgets the others. */
	if (sc.rdma) {
		n = sc_poll_sends();
		if (n)
			sc.idle = 0;
		if (++sc.looks % OTHERS)
			return n;
	}
	am_cost_begin(AM_COST_POLL_RECV);
	n = ibv_poll_cq(sc.rcq, CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_RECV, n);
	for (int i = 0; i < n; i++)
		received(&wc[i]);
	if (n)
		sc.idle = 0;
	return n;
}

void sc_idle(void)
{
	int failed;

	if (++sc.idle % IDLE_LOOKS == 0) {
		sc_poll_sends();
		failed = job_failed(sc.job);
		if (failed >= 0)
			sc_peer_failed(failed);
	}
	if (sc.idle >= sc.patience)
		sched_yield();
}

void splitc_poll(void)
{
	sc_enter();
	if (!sc_progress())
		sc_idle();
}
