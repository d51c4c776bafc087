// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process is stopped (SIGSTOP, a debugger) inside the firmware, at every numbered step. It
 * keeps the locks that it holds there. Unrelated queue pairs are not affected. Queue pairs that
 * are connected to it wait, or time out. Commands of the agent that need its locks return
 * NIC_BUSY, and nic_qp_lock_owner() names it. When the process continues, everything completes
 * normally.
 */
#include <string.h>

#include "stage.h"

#define OTHER 0x80000
/* More than timeout * (retry_cnt + 1) of good_attr(). */
#define LONG (1000 * MS)

static const struct scenario *scenario;
static u32 countdown;
static bool stopped;
/* How long the agent and other processes run meanwhile. */
static u64 duration;
/* Two processes that are not concerned. */
static struct pair others;
/* The peer sends to the stopped process meanwhile. */
static bool answered;

static void set_others(void)
{
	struct cq *cu = make_cq(&w.p[1], 16, 0), *cv = make_cq(&w.p[2], 16, 0);

	others.a = make_qp(&w.p[1], NIC_QPT_RC, cu, cu);
	others.b = make_qp(&w.p[2], NIC_QPT_RC, cv, cv);
	connect(others.a, others.b);
}

/* A round trip completes at once. */
static void others_run_on(void)
{
	struct pair back = { others.b, others.a };
	struct pair way[2] = { others, back };

	for (u32 i = 0; i < 2; i++) {
		struct process *from = way[i].a->p, *to = way[i].b->p;
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
		struct sge data = sge(from, OTHER, 200), room = sge(to, OTHER + 1000, 200);

		fill(from, OTHER, 200, i);
		post_recv(way[i].b, 8, &room, 1);
		send_one(way[i].a, &wqe, &data);
		expect(way[i].a->scq, 7, VNET_WC_SUCCESS);
		expect(way[i].b->rcq, 8, VNET_WC_SUCCESS);
		assert_true(filled(to, OTHER + 1000, 200, i));
	}
}

static void done_or_named(enum nic_result result)
{
	if (result == NIC_BUSY)
		assert_int_equal(nic_qp_lock_owner(&w.agent, s.b->qpn), w.p[0].nic.self);
	else
		assert_int_equal(result, NIC_OK);
}

static bool windows_open(void)
{
	return w.agent.mr[w.p[1].key >> NIC_KEY_TAG_BITS].windows;
}

/* Commands that may need the stopped process return at once, with NIC_OK or NIC_BUSY. */
static void commands_wait(void)
{
	u32 events;

	for (u32 i = 0; i < 5; i++) {
		put_aside();
		switch (i) {
		case 0:
			done_or_named(nic_qp_destroy(&w.agent, s.b->qpn));
			break;
		case 1:
			done_or_named(to_state(s.b, NIC_QPS_RESET, 0));
			break;
		case 2:
			done_or_named(to_state(s.b, NIC_QPS_ERR, 0));
			break;
		case 3:
			if (windows_open())
				break;
			/* The stopped process may be copying to this memory. */
			assert_int_equal(nic_mr_destroy(&w.agent, w.p[1].key),
					 frame(s.a)->sq_lock ? NIC_BUSY : NIC_OK);
			break;
		case 4:
			assert_in_range(nic_cq_destroy(&w.agent, s.cb->cqn, &events), NIC_OK,
					NIC_BUSY);
			break;
		}
		assert_locks_free(w.p[0].nic.self);
		put_back();
	}
}

/* Whether b can send to a while a's process is stopped. */
static bool may_answer(void)
{
	return s.a->type == NIC_QPT_RC && state_of(s.a) == NIC_QPS_RTS &&
	       !scenario->receiver_is_lost && !scenario->examine;
}

static void answer(void)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, STAGE_ANSWER);

	if (!answered)
		return;
	send_one(s.b, &wqe, NULL);
}

static void stop(int step)
{
	if (countdown--)
		return;
	tp.on_step = NULL;
	stopped = true;
	others_run_on();
	commands_wait();
	answer();
	/* The peer polls, and the agent's timer runs. */
	idle(&w.p[1]);
	run_for(duration);
	others_run_on();
}

static void stop_at(u32 n)
{
	world_setup(NULL);
	scenario->prepare();
	set_others();
	answered = may_answer();
	if (answered)
		post_recv(s.a, 66, NULL, 0);
	countdown = n;
	stopped = false;
	tp.on_step = stop;
	scenario->act();
	tp.on_step = NULL;
	/* SIGCONT: the process has finished its doorbell call. */
	run_for(LONG);
	assert_locks_free(0);
	check_cq(s.ca);
	check_cq(s.cb);
	if (!scenario->examine) {
		check_receives();
		assert_int_equal(s.answers, stopped && answered);
	}
	others_run_on();
	world_teardown(NULL);
}

static void stop_everywhere(void **state)
{
	u32 n = 0;

	scenario = *state;
	do {
		/* A short stop, and one that is longer than every timer. */
		duration = 20 * MS;
		stop_at(n);
		duration = LONG;
		stop_at(n);
		n++;
	} while (stopped);
	assert_true(n > 1);
	print_message("  %s: stopped at %u places\n", scenario->what, n - 1);
}

int main(void)
{
	struct CMUnitTest tests[32];

	world_queue_bytes = 512u << 10;
	for (u32 i = 0; i < scenario_count; i++) {
		tests[i] = (struct CMUnitTest)cmocka_unit_test(stop_everywhere);
		tests[i].name = scenarios[i].what;
		tests[i].initial_state = (void *)(uintptr_t)&scenarios[i];
	}
	return _cmocka_run_group_tests("stopped", tests, scenario_count, NULL, NULL);
}
