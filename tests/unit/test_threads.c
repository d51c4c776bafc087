// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads of several processes run the firmware concurrently, with an agent that sleeps. No
 * message is lost, duplicated or torn. Every waiting thread is woken, by its own polls, the NIC
 * processor, a doorbell or a completion event. Also for ThreadSanitizer.
 *
 *	process 0                      process 1
 *	thread 0  QP --- RC, polls ---  QP  thread 2
 *	thread 1  QP --- RC, events --  QP  thread 3
 *	      \______ SRQ of 1 ________/
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define THREADS 4
#define DEPTH 4
/* Memory of each outstanding request. */
#define SLOT 512
#define AREA 0x10000

static u32 messages = 20000;

struct worker {
	u32 index;
	pthread_t thread;
	struct process *p;
	struct qp *qp;
	/* Waits for events instead of polling; never executes its own pending work. */
	bool events;
	u32 channel;
	u32 sent, acked, got;
	u32 posted;
	unsigned int seed;
};

static struct worker worker[THREADS];
static struct srq *srq;
static pthread_mutex_t srq_lock = PTHREAD_MUTEX_INITIALIZER;
static bool done;

static u64 area(const struct worker *me, u32 i)
{
	return AREA + me->index * 0x8000 + (i % (2 * DEPTH)) * SLOT;
}

/* Length and contents of the i-th message of a worker. */
static u32 length_of(u32 i)
{
	static const u32 lengths[] = { 4, 40, 80, 81, 300, 512 };

	return lengths[i % 6];
}

static void write_message(u8 *to, u32 i)
{
	memset(to, (int)(i * 7 + 1) & 0xff, length_of(i));
	memcpy(to, &i, sizeof(i));
}

static void check_message(const u8 *from, u32 i)
{
	u32 have;

	memcpy(&have, from, sizeof(have));
	if (have != i) {
		fprintf(stderr, "message %u, due was %u\n", have, i);
		abort();
	}
	for (u32 k = sizeof(i); k < length_of(i); k++) {
		if (from[k] != (u8)(i * 7 + 1)) {
			fprintf(stderr, "message %u torn at %u\n", i, k);
			abort();
		}
	}
}

static bool shares(const struct worker *me)
{
	return srq && me->p == srq->p;
}

/* Fewer than both peers together send, so the peers have to wait. */
#define SHARED_RECEIVES (DEPTH + 1)

/* The wr_id is the address of the buffer, for whichever worker receives it. */
static void share_receive(u64 addr)
{
	struct sge to = { addr, SLOT, srq->p->key };

	pthread_mutex_lock(&srq_lock);
	post_srq_recv(srq, addr, &to, 1);
	pthread_mutex_unlock(&srq_lock);
}

static bool wants_receives(const struct worker *me)
{
	return !shares(me) && me->posted < me->got + DEPTH && me->posted < messages;
}

static void post_receives(struct worker *me)
{
	/* Sometimes late, so that the sender waits. */
	if (rand_r(&me->seed) % 8 == 0)
		return;
	while (wants_receives(me)) {
		struct sge to = sge(me->p, area(me, DEPTH + me->posted % DEPTH), SLOT);

		post_recv(me->qp, to.addr, &to, 1);
		me->posted++;
	}
}

static void post_sends(struct worker *me)
{
	while (me->sent < me->acked + DEPTH && me->sent < messages) {
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, me->sent);
		u64 offset = area(me, me->sent % DEPTH);
		struct sge from = sge(me->p, offset, length_of(me->sent));

		write_message(mem(me->p, offset), me->sent);
		wqe.flags |= me->sent & 1 ? VNET_WR_SOLICITED : 0;
		post_send(me->qp, &wqe, &from, 1);
		me->sent++;
		if (rand_r(&me->seed) % 2)
			ring_send(me->qp);
	}
	ring_send(me->qp);
}

/* Handles one completion; returns false if there is none. */
static bool reap(struct worker *me)
{
	struct wc wc;

	if (!poll(me->qp->scq, &wc))
		return false;
	if (wc.status != VNET_WC_SUCCESS) {
		fprintf(stderr, "worker %u: status %u\n", me->index, wc.status);
		abort();
	}
	if (wc.opcode == VNET_WC_SEND) {
		if (wc.wr_id != me->acked++)
			abort();
	} else {
		if (wc.byte_len != length_of(me->got))
			abort();
		check_message(tp_memory(me->p->nic.space, wc.wr_id, SLOT), me->got++);
		if (shares(me))
			share_receive(wc.wr_id);
	}
	return true;
}

static void drain(void *arg)
{
	nic_store(&tp.readable[*(u32 *)arg], false);
}

/* Like ibv_req_notify_cq(), a last poll, and ibv_get_cq_event(). */
static void sleep_until_event(struct worker *me)
{
	u64 handle;

	nic_store(&me->qp->scq->ring.hdr->arm, VNET_CQ_ARM_NEXT);
	nic_barrier();
	if (reap(me))
		return;
	while (!nic_load_acquire(&tp.readable[me->channel]))
		sched_yield();
	while (nic_channel_take(&me->p->nic, me->channel, &handle, drain, &me->channel) == NIC_BUSY)
		sched_yield();
}

static void *work(void *arg)
{
	struct worker *me = arg;

	while (me->acked < messages || me->got < messages) {
		bool any = false;

		post_receives(me);
		post_sends(me);
		while (reap(me))
			any = true;
		if (any)
			continue;
		/* No other thread would post them while this one sleeps. */
		if (wants_receives(me))
			continue;
		if (me->events) {
			sleep_until_event(me);
		} else {
			idle(me->p);
			sched_yield();
		}
	}
	return NULL;
}

/* The agent sleeps until it is kicked, and ticks only while work is pending. */
static void *agent(void *arg)
{
	u32 kicks;
	u64 next;

	while (!nic_load(&done)) {
		kicks = nic_load(&tp.kicks);
		if (nic_run(&w.agent, 16, &next)) {
			sched_yield();
			continue;
		}
		nic_xchg(&w.agent.hdr->processor_sleeps, NIC_SLEEPS);
		if (nic_run(&w.agent, 16, &next)) {
			nic_xchg(&w.agent.hdr->processor_sleeps, NIC_AWAKE);
			continue;
		}
		while (nic_load(&tp.kicks) == kicks && !nic_load(&done))
			sched_yield();
		nic_xchg(&w.agent.hdr->processor_sleeps, NIC_AWAKE);
	}
	return NULL;
}

/* Creates and destroys a region during the traffic; each destruction succeeds in the end. */
static void *registrar(void *arg)
{
	struct nic_mr_params p = {
		.key = 200 << NIC_KEY_TAG_BITS,
		.kind = NIC_MR_REGION,
		.access = NIC_ACCESS_LOCAL_WRITE,
		.pdn = w.p[0].pdn,
		.length = 100,
		.space = 1,
	};
	u32 n = 0;

	while (!nic_load(&done)) {
		p.key = (p.key & ~0xffu) | (++n & 0xff);
		if (nic_mr_create(&w.agent, &p) != NIC_OK)
			abort();
		while (nic_mr_destroy(&w.agent, p.key) == NIC_BUSY)
			sched_yield();
		sched_yield();
	}
	return NULL;
}

static void set_workers(bool with_srq)
{
	struct qp_options o = { .sq_entries = DEPTH, .rq_entries = DEPTH };

	srq = with_srq ? make_srq(&w.p[1], 4 * DEPTH) : NULL;
	for (u32 i = 0; i < THREADS; i++) {
		struct worker *me = &worker[i];
		struct cq *cq;

		*me = (struct worker){
			.index = i,
			.p = &w.p[i / 2],
			.events = i & 1,
			.channel = i,
			.seed = i + 1,
		};
		assert_int_equal(nic_channel_create(&w.agent, i, 1), NIC_OK);
		cq = make_cq_channel(me->p, 16, i, i);
		o.srq = i / 2 ? srq : NULL;
		me->qp = make_qp_with(me->p, NIC_QPT_RC, cq, cq, &o);
	}
	for (u32 i = 0; srq && i < SHARED_RECEIVES; i++)
		share_receive(at(&w.p[1], AREA + 0x40000 + i * SLOT));
	for (u32 i = 0; i < 2; i++) {
		connect(worker[i].qp, worker[i + 2].qp);
		/* Late receives are not an error here. */
		frame(worker[i].qp)->attr.rnr_retry = 7;
		frame(worker[i + 2].qp)->attr.rnr_retry = 7;
		frame(worker[i].qp)->attr.timeout = 0;
		frame(worker[i + 2].qp)->attr.timeout = 0;
	}
}

static void traffic(bool with_srq)
{
	pthread_t agent_thread, registrar_thread;

	tp.real_time = true;
	tp.on_relax = (void (*)(void))(uintptr_t)sched_yield;
	nic_store(&done, false);
	set_workers(with_srq);
	assert_int_equal(pthread_create(&agent_thread, NULL, agent, NULL), 0);
	assert_int_equal(pthread_create(&registrar_thread, NULL, registrar, NULL), 0);
	for (u32 i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	nic_store(&done, true);
	pthread_join(agent_thread, NULL);
	pthread_join(registrar_thread, NULL);
	for (u32 i = 0; i < THREADS; i++) {
		assert_int_equal(worker[i].acked, messages);
		assert_int_equal(worker[i].got, messages);
	}
}

static void own_receive_queues(void **state)
{
	traffic(false);
}

static void shared_receive_queue(void **state)
{
	traffic(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(own_receive_queues),
		TEST(shared_receive_queue),
	};

	if (argc == 2)
		messages = (u32)atoi(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
