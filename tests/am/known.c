// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that AM_SetTag() returns only after the peers know the new tag. This must hold even while
 * bulk transfers are acknowledged. AM_SetSeg() waits in the same way.
 *
 * The test withholds the completion of the RDMA write that sends the tag, until further transfers
 * are complete.
 */
#include <pthread.h>
#include <string.h>

#include "objects/am_core.h"
#include "check.h"

enum { ASK = 5, ANSWER };

#define TRANSFERS 4
#define BYTES 65536 /* v1 acknowledges them in several parts */
#define HELD 64

static int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* Completions of the queue pair that has written the tag, from that write on, in order. */
static struct {
	bool on; /* withholding is active; under the bundle's lock, like all of it */
	uint32_t qpn; /* 0: no write yet */
	struct ibv_wc wc[HELD];
	int n;
} held;

static ep_t other;
static eb_t served;
static int answers;
static bool begun, released;
static uint8_t memory[BYTES], data[BYTES];

/* Returns true if the completion is to be withheld. */
static bool hold(const struct ibv_wc *wc)
{
	if (!held.on || !(wc->wr_id & 1)) /* of a receive */
		return false;
	if (!held.qpn && wc->opcode == IBV_WC_RDMA_WRITE)
		held.qpn = wc->qp_num;
	return held.qpn == wc->qp_num;
}

static int give(struct ibv_wc *wc, int max)
{
	int n = held.n < max ? held.n : max;

	memcpy(wc, held.wc, (size_t)n * sizeof(*wc));
	held.n -= n;
	memmove(held.wc, held.wc + n, (size_t)held.n * sizeof(*wc));
	return n;
}

static int poll_and_hold(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n, kept = 0;

	if (cq != eb->scq)
		return poll_cq(cq, max, wc);
	if (!held.on && held.n)
		return give(wc, max);
	n = poll_cq(cq, max, wc);
	for (int i = 0; i < n; i++) {
		if (!hold(&wc[i])) {
			wc[kept++] = wc[i];
			continue;
		}
		CHECK(held.n < HELD);
		held.wc[held.n++] = wc[i];
	}
	return kept;
}

static void ask(void *token, void *buf, int nbytes)
{
	IS(nbytes, BYTES);
	OK(AM_Reply0(token, ANSWER));
}

static void answer(void *token)
{
	answers++;
}

static void transfer(void)
{
	int before = answers;

	OK(AM_RequestXfer0(other, 0, 0, ASK, data, BYTES));
	while (answers == before)
		OK(AM_Poll(served));
}

/* Makes transfers while the write's completion is withheld, and then releases that. */
static void *transfer_meanwhile(void *arg)
{
	bool now = false;

	transfer();
	__atomic_store_n(&begun, true, __ATOMIC_SEQ_CST);
	while (!now) {
		OK(AM_Poll(served));
		am_lock(eb);
		now = held.qpn;
		am_unlock(eb);
	}
	for (int i = 0; i < TRANSFERS; i++)
		transfer();
	am_lock(eb);
	held.on = false;
	released = true;
	am_unlock(eb);
	return NULL;
}

/* Runs handlers while another thread waits in AM_SetTag(). */
static void *poll_meanwhile(void *arg)
{
	bool end = false;

	while (!end) {
		OK(AM_Poll(eb));
		am_lock(eb);
		end = released;
		am_unlock(eb);
	}
	return NULL;
}

static ep_t endpoint(eb_t bundle, en_t *name)
{
	ep_t made;

	OK(AM_AllocateEndpoint(bundle, &made, name));
	OK(AM_SetTag(made, AM_ALL));
	OK(AM_SetHandler(made, ASK, ask));
	OK(AM_SetHandler(made, ANSWER, answer));
	return made;
}

int main(void)
{
	pthread_t poller, sender;
	en_t name, unused;

	/* Without 64-bit immediate data, all mappings poll with ibv_poll_cq(). */
	OK(AM_SetOption("imm64", "0"));
	OK(AM_Init());
	OK(AM_AllocateBundle(AM_PAR, &eb));
	OK(AM_AllocateBundle(AM_SEQ, &served));
	ep = endpoint(eb, &name);
	other = endpoint(served, &unused);
	OK(AM_SetSeg(ep, memory, sizeof(memory)));
	OK(AM_Map(other, 0, name, 1));
	poll_cq = eb->scq->context->ops.poll_cq;
	eb->scq->context->ops.poll_cq = poll_and_hold;
	IS(pthread_create(&sender, NULL, transfer_meanwhile, NULL), 0);
	while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
		OK(AM_Poll(eb));
	IS(pthread_create(&poller, NULL, poll_meanwhile, NULL), 0);
	am_lock(eb);
	held.on = true;
	am_unlock(eb);
	OK(AM_SetTag(ep, AM_ALL));
	CHECK(released);
	IS(pthread_join(sender, NULL), 0);
	IS(pthread_join(poller, NULL), 0);
	OK(AM_Terminate());
	return 0;
}
