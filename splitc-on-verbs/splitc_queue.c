// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send queues: numbers work requests, and completes them in order.
 *
 * For each work request there is a record of what to do on completion. Only some work
 * requests are signaled; a completion covers all work requests before it, too.
 */
#include <errno.h>
#include <string.h>

#include "splitc_core.h"
#include "cost/am_cost.h"

#define CQ_BATCH 16

static uint64_t wr_id(const struct sc_peer *peer, uint32_t number)
{
	return (uint64_t)(unsigned int)peer->proc << 32 | number;
}

static struct sc_sent *sent_at(struct sc_peer *peer, uint32_t number)
{
	return &peer->sent[number & (sc.ring - 1)];
}

static void complete(struct sc_peer *peer, uint32_t number)
{
	struct sc_sent *sent = sent_at(peer, number);

	if (sent->bounced) {
		am_cost_begin(AM_COST_READ_DATA);
		sc_copy_small(sent->to, peer->bounce + (number & (sc.ring - 1)) * SC_BOUNCE,
			      sent->bounced);
		am_cost_end(AM_COST_READ_DATA);
	}
	if (sent->pending) {
		--*sent->pending;
		sc.rdma--;
	}
}

static void failed(struct sc_peer *peer, uint32_t number, enum ibv_wc_status status)
{
	const struct sc_sent *sent = sent_at(peer, number);

	if (status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR || !sent->what)
		sc_peer_failed(peer->proc);
	if (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR)
		sc_bad_access(sent->what, sent->length, sent->address, peer->proc, splitc_my_proc,
			      false);
	sc_fail("%s of %u bytes at 0x%llx of processor %d: %s", sent->what, sent->length,
		(unsigned long long)sent->address, peer->proc, ibv_wc_status_str(status));
}

static void completed(const struct ibv_wc *wc)
{
	struct sc_peer *peer = &sc.peers[wc->wr_id >> 32];
	uint32_t number = (uint32_t)wc->wr_id;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		if (sc.closing)
			peer->done = peer->posted;
		else
			failed(peer, number, wc->status);
		return;
	}
	while ((int32_t)(number - peer->done) >= 0)
		complete(peer, peer->done++);
}

int sc_poll_sends(void)
{
	struct ibv_wc wc[CQ_BATCH];
	int n;

	am_cost_begin(AM_COST_POLL_SEND);
	n = ibv_poll_cq(sc.scq, CQ_BATCH, wc);
	am_cost_end_poll(AM_COST_POLL_SEND, n);
	for (int i = 0; i < n; i++) {
		am_cost_begin(AM_COST_RECYCLE_SEND);
		completed(&wc[i]);
		am_cost_end(AM_COST_RECYCLE_SEND);
	}
	return n;
}

void sc_make_room(struct sc_peer *peer, unsigned int n)
{
	if (n > sc.depth)
		sc_fail("send queues of %u are too small", sc.depth);
	while (peer->posted - peer->done + n > sc.depth)
		sc_poll_sends();
}

void sc_number(struct sc_peer *peer, struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_SIGNALED || ++peer->unsignaled >= sc.signal) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		peer->unsignaled = 0;
	}
	wr->wr_id = wr_id(peer, peer->posted);
	if (sc_next(peer)->pending)
		sc.rdma++;
	peer->posted++;
}

void sc_submit(struct sc_peer *peer, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	am_cost_begin(AM_COST_POST_SEND);
	err = ibv_post_send(peer->qp, wr, &bad);
	am_cost_end(AM_COST_POST_SEND);
	if (__builtin_expect(err, 0))
		sc_fail("cannot send to processor %d: %s", peer->proc, strerror(err));
}

void sc_post(struct sc_peer *peer, struct ibv_send_wr *wr)
{
	am_cost_begin(AM_COST_BUILD_SEND);
	sc_number(peer, wr);
	sc_submit(peer, wr);
	am_cost_end(AM_COST_BUILD_SEND);
}

void sc_number_short(struct sc_peer *peer, struct ibv_send_wr *wr, uint64_t address, uint32_t rkey,
		     const void *from, uint32_t n, bool signal)
{
	struct ibv_sge *sge = wr->sg_list;

	sge->addr = (uintptr_t)from;
	sge->length = n;
	wr->wr.rdma.remote_addr = address;
	wr->wr.rdma.rkey = rkey;
	wr->send_flags = signal ? IBV_SEND_INLINE | IBV_SEND_SIGNALED : IBV_SEND_INLINE;
	if (__builtin_expect(n > sc.max_inline, 0)) {
		wr->send_flags &= ~(unsigned int)IBV_SEND_INLINE;
		sge->addr = (uintptr_t)peer->bounce + (peer->posted & (sc.ring - 1)) * SC_BOUNCE;
		memcpy((void *)(uintptr_t)sge->addr, from, n);
	}
	sc_number(peer, wr);
}

/* An RDMA write of 0 bytes needs no memory on either side. */
void sc_signal_now(struct sc_peer *peer)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };

	sc_room(peer, 1);
	if (!peer->unsignaled)
		return;
	wr.wr.rdma.remote_addr = peer->board;
	wr.wr.rdma.rkey = peer->board_rkey;
	sc_note_nothing(peer);
	sc_post(peer, &wr);
}

void sc_signal_all(void)
{
	for (int i = 0; i < splitc_procs; i++)
		sc_signal(&sc.peers[i]);
}

void sc_drain(void)
{
	sc_signal_all();
	for (int i = 0; i < splitc_procs; i++) {
		struct sc_peer *peer = &sc.peers[i];

		while (peer->done != peer->posted)
			sc_poll_sends();
	}
}
