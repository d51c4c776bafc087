/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Bundles with two completion queues, one of what was sent and one of what was received. */
#ifndef AM_TWO_CQS_H
#define AM_TWO_CQS_H

#include "am_cost.h"
#include "am_mapping.h"
#include "am_process.h"

#define AM_CQ_BATCH 16

typedef void am_completion_fn(struct am_eb *eb, const struct ibv_wc *wc);

/* 0 or errno. */
int am_two_cqs_open(struct am_eb *eb);
void am_two_cqs_close(struct am_eb *eb);

/*
 * Takes completions, each to @taken, but those of the wire. How many there were.
 * It is on the path of every message: what it calls is known where it is inlined.
 */
static inline __attribute__((always_inline)) int am_poll_cq(struct am_eb *eb, struct ibv_cq *cq,
							    enum am_cost_step step,
							    am_completion_fn *taken)
{
	struct ibv_wc wc[AM_CQ_BATCH];
	int n;

	am_cost_begin(step);
	n = ibv_poll_cq(cq, AM_CQ_BATCH, wc);
	am_cost_end_poll(step, n);
	for (int i = 0; i < n; i++) {
		if (wc[i].wr_id & AM_WR_WIRE)
			am_wire_completion(eb, &wc[i]);
		else
			taken(eb, &wc[i]);
	}
	return n;
}

/* One look at the head of what was sent: its buffers are recycled by the answers, not by this. */
static inline __attribute__((always_inline)) int am_two_cqs_poll(struct am_eb *eb,
								 am_completion_fn *received,
								 am_completion_fn *sent)
{
	int n = am_poll_cq(eb, eb->rcq, AM_COST_POLL_RECV, received);

	return n + am_poll_cq(eb, eb->scq, AM_COST_POLL_SEND, sent);
}

#endif
