// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Polls completion queues, reposts receives, and detects failed processors. */
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "splitc_core.h"
#include "cost/am_cost.h"
#include "job/job.h"

#define CQ_BATCH 16
/* consecutive empty polls per check for send completions and failed processes */
#define IDLE_LOOKS 64u
#define OTHERS 4u /* while waiting for RDMA, one poll of this many also polls receives */
#define GRACE 3000 /* ms for the launcher to end this process after another one has failed */

void sc_peer_failed(int proc)
{
	struct pollfd fd = { .fd = job_failed_fd(sc.job), .events = POLLIN };

	/*
	 * The launcher usually reports the failure and ends this process; then there is
	 * only one message.
	 */
	poll(&fd, 1, GRACE);
	if (job_failed(sc.job) >= 0) {
		proc = job_failed(sc.job);
		poll(NULL, 0, GRACE);
	}
	sc_fail("processor %d does not answer", proc);
}

void sc_give_back(struct sc_peer *peer)
{
	struct ibv_recv_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_RECV);
	err = ibv_post_recv(peer->qp, peer->back, &bad);
	am_cost_end(AM_COST_POST_RECV);
	if (err)
		sc_fail("cannot receive from processor %d: %s", peer->proc, strerror(err));
	peer->back = NULL;
	peer->nback = 0;
}

static void recycle(struct sc_buffer *buffer)
{
	struct sc_peer *peer = buffer->peer;

	buffer->wr.next = peer->back;
	peer->back = &buffer->wr;
	if (++peer->nback == SC_GIVE_BACK)
		sc_give_back(peer);
}

static void received(const struct ibv_wc *wc)
{
	struct sc_buffer *buffer = (struct sc_buffer *)(uintptr_t)wc->wr_id;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		/* If a send failed, its completion has the cause. */
		sc_poll_sends();
		sc_peer_failed(buffer->peer->proc);
	}
	sc_arrival(buffer->peer, &buffer->message, wc->byte_len);
	am_cost_begin(AM_COST_RECYCLE_RECV);
	recycle(buffer);
	am_cost_end(AM_COST_RECYCLE_RECV);
}

static int poll_receives(void)
{
	struct ibv_wc wc[CQ_BATCH];
	int n;

	am_cost_begin(AM_COST_POLL_RECV);
	n = ibv_poll_cq(sc.rcq, CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_RECV, n);
	for (int i = 0; i < n; i++)
		received(&wc[i]);
	return n;
}

bool sc_progress(void)
{
	bool rdma = sc.rdma;
	int found = 0;

	sc_not_serving();
	sc_release_all();
	/*
	 * While RDMA completions are waited for, poll them first, but still serve requests
	 * regularly.
	 */
	if (rdma)
		found = sc_poll_sends();
	if (!rdma || ++sc.looks % OTHERS == 0)
		found += poll_receives();
	if (found)
		sc.idle = 0;
	return found;
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
	if (sc.idle >= sc.idle_limit)
		sched_yield();
}

void splitc_poll(void)
{
	sc_enter();
	if (!sc_progress())
		sc_idle();
}
