/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Helpers for mappings with two completion queues per bundle, one for sends, one for receives. */
#ifndef AM_TWO_CQS_H
#define AM_TWO_CQS_H

#include "am_mappings.h"
#include "objects/am_wiring.h"

#define AM_CQ_BATCH 16

typedef void am_completion_fn(struct am_eb *eb, const struct ibv_wc *wc);

/* Creates both completion queues. 0 or errno. */
int am_two_cqs_open(struct am_eb *eb);
void am_two_cqs_close(struct am_eb *eb);

/*
 * Polls @cq and calls @taken for each completion, except those of the connection setup,
 * which go to the wiring. Returns the number of completions.
 *
 * This is on the path of every message. It is always inlined, so that @taken is a direct
 * call.
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
			eb->wiring->completion(eb, &wc[i]);
		else
			taken(eb, &wc[i]);
	}
	return n;
}

/* Polls each queue once. Send slots are recycled when an answer arrives, not here. */
static inline __attribute__((always_inline)) int am_two_cqs_poll(struct am_eb *eb,
								 am_completion_fn *received,
								 am_completion_fn *sent)
{
	int n = am_poll_cq(eb, eb->rcq, AM_COST_POLL_RECV, received);

	return n + am_poll_cq(eb, eb->scq, AM_COST_POLL_SEND, sent);
}

#endif
