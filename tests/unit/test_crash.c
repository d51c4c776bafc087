// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process dies inside the firmware, at every numbered step or at every instruction. After
 * nic_recover() no receive is lost, no completion is incomplete, all indices are valid, no lock
 * is held, and the survivors can continue.
 *
 * Process 0 dies, process 1 survives. A death is simulated: at each place the state of memory
 * is saved, recovered, examined and restored, and then the process continues to the next place.
 *
 * test_crash [--instructions STRIDE]: single-step by the processor's trap flag, and die at
 * every STRIDE-th instruction.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

static u32 stride; /* 0: numbered steps */

static const struct scenario *scenario;
/* Number of deaths so far, and of instructions executed. */
static u32 deaths, places;

/* The remaining receives serve a new process. */
static void check_survivor_goes_on(void)
{
	struct cq *cc = make_cq(&w.p[2], 16, 0);
	struct qp *c = make_qp(&w.p[2], s.a->type, cc, cc);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct wc wc;

	/* A survivor's QP in the error state is reset and used again. */
	if (state_of(s.b) == NIC_QPS_ERR) {
		run_for(5 * MS);
		while (poll(s.cb, &wc))
			assert_int_equal(wc.status, VNET_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(to_state(s.b, NIC_QPS_RESET, 0), NIC_OK);
	connect(s.b, c);
	if (!s.srq)
		post_recv(s.b, 500, &(struct sge){ at(&w.p[1], STAGE_TO), 100, w.p[1].key }, 1);
	else if (s.srq->ring.hdr->prod == s.srq->ring.hdr->cons)
		post_srq_recv(s.srq, 500, &(struct sge){ at(&w.p[1], STAGE_TO), 100, w.p[1].key },
			      1);
	aim_datagram(&wqe, s.b);
	send_one(c, &wqe, NULL);
	expect(cc, 1, VNET_WC_SUCCESS);
	assert_true(poll(s.cb, &wc));
	assert_int_equal(wc.status, VNET_WC_SUCCESS);
	expect_none(s.cb);
	if (s.srq && s.completed < s.receives)
		assert_int_equal(wc.wr_id, s.receive[s.completed].wr_id);
}

/* What the daemon does for a dead process: nothing is busy any more. */
static void check_clean_up(void)
{
	u32 events;

	assert_int_equal(nic_qp_destroy(&w.agent, s.a->qpn), NIC_OK);
	assert_int_equal(nic_cq_destroy(&w.agent, s.ca->cqn, &events), NIC_OK);
	assert_int_equal(nic_mr_destroy(&w.agent, w.p[0].key), NIC_OK);
}

static void check_all(void)
{
	assert_locks_free(0);
	assert_int_equal(state_of(s.a), NIC_QPS_ERR);
	check_cq(s.ca);
	check_cq(s.cb);
	check_rq(&frame(s.a)->rq, &s.a->rq);
	if (s.srq)
		check_rq(&w.agent.srq[s.srq->srqn - 1].rq, &s.srq->ring);
	else
		check_rq(&frame(s.b)->rq, &s.b->rq);
	check_receives();
	check_events();
}

static void recover(void)
{
	nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
}

static void examine(void)
{
	recover();
	if (scenario->examine) {
		scenario->examine();
		return;
	}
	check_all();
	/* A second recovery has no effect. */
	recover();
	check_all();
	if (scenario->check)
		scenario->check();
	check_clean_up();
	if (!scenario->receiver_is_lost)
		check_survivor_goes_on();
}

static void die(void)
{
	put_aside();
	tp.on_step = NULL;
	examine();
	put_back();
	deaths++;
}

static void die_at_step(int step)
{
	die();
}

#ifdef __x86_64__
#define CAN_SINGLE_STEP 1
#define TRAP_FLAG 0x100

/* The trap flag is clear in the handler, and set again on return. */
static void on_trap(int sig)
{
	if (places++ % stride == 0)
		die();
}

/* Skips the red zone: 128 bytes below the stack pointer that the function may use. */
static void single_step(bool on)
{
	if (on)
		__asm__ __volatile__("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq;"
				     "lea 128(%%rsp), %%rsp" ::"i"(TRAP_FLAG)
				     : "memory", "cc");
	else
		__asm__ __volatile__("lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq;"
				     "lea 128(%%rsp), %%rsp" ::"i"(~TRAP_FLAG)
				     : "memory", "cc");
}
#else
#define CAN_SINGLE_STEP 0

static void on_trap(int sig)
{
}

static void single_step(bool on)
{
}
#endif

static void die_everywhere(void **state)
{
	world_setup(NULL);
	scenario = *state;
	deaths = places = 0;
	scenario->prepare();
	if (stride)
		single_step(true);
	else
		tp.on_step = die_at_step;
	scenario->act();
	if (stride)
		single_step(false);
	tp.on_step = NULL;
	/* The process survived. */
	examine();
	assert_true(deaths > 0);
	print_message("  %s: died at %u places\n", scenario->what, deaths);
	world_teardown(NULL);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[32];
	struct sigaction trap = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };

	world_queue_bytes = 512u << 10;
	if (argc == 3 && !strcmp(argv[1], "--instructions")) {
		if (!CAN_SINGLE_STEP) {
			puts("SKIP: single steps are known of x86-64 only");
			return 77;
		}
		sigaction(SIGTRAP, &trap, NULL);
		stride = (u32)atoi(argv[2]);
	}
	for (u32 i = 0; i < scenario_count; i++) {
		tests[i] = (struct CMUnitTest)cmocka_unit_test(die_everywhere);
		tests[i].name = scenarios[i].what;
		tests[i].initial_state = (void *)(uintptr_t)&scenarios[i];
	}
	return _cmocka_run_group_tests("crash", tests, scenario_count, NULL, NULL);
}
