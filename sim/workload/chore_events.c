// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Chores: moderated completion events, injected events, RNR starvation, device memory. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "workload/chore.h"

/* Each completion makes an event in time, with CQ moderation by count and period. */
void moderated_events(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	struct nic *nic = &b->p->node->nic;
	u32 i, count = bench_below(b, 4), period = 20 + bench_below(b, 200);

	for (i = 0; i < 4 && holds(b); i++) {
		nic_cq_moderate(nic, b->cq->cqn, count, period);
		node_ran(b->p->node);
		if (run(b, &wqe, 64, b->key) || !holds(b))
			return;
		arm_cq(b->cq, false);
		post(b, wqe, 64, b->key);
		ring_qp(b->x);
		/*
		 * The event may be that of another CQ of the channel. Wait twice: the event of a
		 * CQE that is written just before the timeout is delayed by up to a period.
		 */
		if (!wait_event(b->p, event_now() + EVENT_TIMEOUT_NS) && holds(b) &&
		    queue_has(b->cq, b->cq->cons) &&
		    !wait_event(b->p, event_now() + EVENT_TIMEOUT_NS) && holds(b))
			wrong(b, "no event for an entry that is in the queue", count);
		if (!holds(b))
			return;
		arm_cq(b->cq, false);
		if (next_status(b, NULL))
			return;
	}
}

static bool raise(struct bench *b, char kind, u32 num, enum nic_event event)
{
	const struct nic_async async = { .kind = kind, .num = num, .event = event };
	enum nic_result result = NIC_BUSY;
	u64 until = event_now() + EVENT_TIMEOUT_NS;

	while (holds(b) && event_now() < until) {
		result = nic_async_raise(&b->p->node->nic, &async);
		node_ran(b->p->node);
		if (result != NIC_BUSY)
			return result == NIC_OK;
		sleep_for(b->p, 20 * US);
	}
	return true;
}

void events_on_purpose(struct bench *b)
{
	u32 before = b->p->events;

	want(b, raise(b, 'q', b->x->qpn, NIC_EVENT_COMM_EST), "an event of a queue pair");
	want(b, raise(b, 'c', b->cq->cqn, NIC_EVENT_CQ_ERR), "an event of a completion queue");
	want(b, raise(b, 's', b->actor->srq->srqn, NIC_EVENT_SRQ_LIMIT_REACHED),
	     "an event of a receive queue");
	if (holds(b))
		want(b, b->p->events != before, "a raised event does not arrive");
	want(b, !raise(b, 'q', 0xfffff0, NIC_EVENT_QP_FATAL) || !holds(b),
	     "an event of an object that does not exist");
	if (!holds(b))
		return;
	want(b, raise(b, 'q', b->x->qpn, NIC_EVENT_QP_FATAL), "a fatal event of a queue pair");
	want(b, comes_to_error(b, b->x), "a queue pair with a raised fatal event still works");
}

/* The first message to a queue pair in RTR raises COMM_EST. The queue pair stays in RTR. */
void established(struct bench *b)
{
	struct vnet_send_wqe wqe = one_sided(b, VNET_WR_RDMA_WRITE);
	u32 before = b->far->events;

	if (ends(b, run(b, &wqe, 64, b->key), VNET_WC_SUCCESS, "a write before RTS") && holds(b))
		want(b, b->far->events != before, "no event for an established connection");
	if (holds(b))
		want(b, state_of(b->y) == NIC_QPS_RTR, "a message changes its receiver to RTS");
}

/* -------------------------------------------------------------- RNR starvation */

struct hunger {
	struct node *node;
	u64 life;
};

static void feed(void *arg, u64 value)
{
	const struct hunger *hunger = arg;

	(void)value;
	if (hunger->node->dead || hunger->node->life != hunger->life)
		return;
	nic_starve(&hunger->node->nic, false);
	node_ran(hunger->node);
}

/* A NIC finds no receives for a while (RNR). Then the message is delivered. */
void starving(struct bench *b)
{
	struct vnet_send_wqe wqe = make_wr(VNET_WR_SEND, 0);
	struct hunger *hunger = sim_alloc(sizeof(*hunger));
	u64 until;
	u32 status;

	*hunger = (struct hunger){ b->far->node, b->far_life };
	receives(b, 1);
	if (!holds(b))
		return;
	until = event_now() + (1 + bench_below(b, 2000)) * US;
	if (b->far->node->starved_until < until)
		b->far->node->starved_until = until;
	nic_starve(&b->far->node->nic, true);
	event_at(until, feed, hunger, 0);
	memset(mem(b->p, b->here), 0x77, 500);
	status = run(b, &wqe, 500, b->key);
	if (ends(b, status, VNET_WC_SUCCESS, "a message to a NIC that had no receive") && holds(b))
		want(b, mem(b->far, b->there)[499] == 0x77,
		     "a message after the receive was posted");
}

/* --------------------------------------------------------------- device memory */

void device_memory(struct bench *b)
{
	u32 key = reg_device(b->far, 4096);
	struct vnet_send_wqe wqe = make_wr(VNET_WR_RDMA_WRITE, 0);
	u64 content = random_next(&b->actor->random), word;
	u32 at_device = bench_below(b, 64) * 8, length = 8 + bench_below(b, 1000);

	if (!key)
		return;
	wqe.rdma.rkey = key;
	wqe.rdma.remote_addr = at_device;
	bytes_fill(mem(b->p, b->here), length, content, 0);
	if (!ends(b, run(b, &wqe, length, b->key), VNET_WC_SUCCESS, "a write to device memory"))
		goto out;
	wqe.opcode = VNET_WR_ATOMIC_FETCH_ADD;
	wqe.rdma.compare_add = 1;
	if (!ends(b, run(b, &wqe, 8, b->key), VNET_WC_SUCCESS, "an addition to device memory") ||
	    !holds(b))
		goto out;
	want(b, bytes_are(mem(b->p, b->here), 8, content, 0), "a word of device memory");
	memcpy(&word, mem(b->p, b->here), 8);
	wqe.opcode = VNET_WR_RDMA_READ;
	if (!ends(b, run(b, &wqe, length, b->key), VNET_WC_SUCCESS, "a read of device memory") ||
	    !holds(b))
		goto out;
	want(b, bytes_are(mem(b->p, b->here) + 8, length - 8, content, 8), "device memory");
	word++;
	want(b, !memcmp(mem(b->p, b->here), &word, 8), "a word of device memory afterwards");
out:
	if (holds(b))
		dereg_mr(b->far, key);
}
