// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The random workload: the main loop of processes, and their replacement after death. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "workload/actor.h"
#include "workload/chores.h"

#define SPACE_BYTES (2048ull << 20)
#define FIRST_SPACE_BYTES (512u << 20)
#define CQ_ENTRIES 2048
#define MAX_DEATHS 12

struct workload workload;

static struct counter *new_counter(struct actor *a)
{
	struct buffer *buffer = buffer_get(&a->pool, 8);

	memset(buffer_memory(buffer), 0, 8);
	return check_counter_new(buffer, workload.total + 1);
}

/* Create the objects of a process. Also called after a reset of the NIC. */
static void actor_equip(struct actor *a)
{
	struct process *p = a->process;
	u32 i;

	a->memory_used += pool_setup(&a->pool, p, a->memory_used);
	for (i = 0; i < 2; i++)
		a->cq[i] = make_cq(p, CQ_ENTRIES, below(a, 2) ? p->space : NIC_NONE);
	a->srq = make_srq(p, SRQ_ENTRIES);
	a->srq_posted = 0;
	a->srq_done = 0;
	a->counter = new_counter(a);
}

/* Size of an address space: enough for the buffers of many lives of the NIC. */
static u64 space_bytes(void)
{
	return workload.version == 1 ? FIRST_SPACE_BYTES : SPACE_BYTES;
}

struct actor *actor_new(struct node *node, u64 seed)
{
	struct actor *a = sim_alloc(sizeof(*a));

	a->process = process_new(node, space_bytes());
	a->process->user = a;
	random_seed(&a->random, seed, 0xac000 + workload.nactors);
	actor_equip(a);
	workload.actor[workload.nactors++] = a;
	return a;
}

static bool poll_all(struct actor *a)
{
	bool any = false;
	struct wc wc;
	u32 i;

	for (i = 0; i < 2; i++) {
		while (poll_cq(a->cq[i], &wc)) {
			check_polled(a, &wc);
			any = true;
		}
	}
	return any;
}

/* Sometimes bring a queue pair to SQD, and later back: requests are posted, but not executed. */
static void drain_some(struct actor *a)
{
	u32 n, i;

	check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = check_end_at(i);

		if (e->actor != a || !is_usable(e))
			continue;
		if (e->drains_until && event_now() >= e->drains_until) {
			e->drains_until = 0;
			/* The queue pair may have failed meanwhile. */
			if (workload.version > 1 && (e->failed || state_of(e->qp) != NIC_QPS_SQD))
				continue;
			set_state(e->qp, NIC_QPS_RTS);
		} else if (!e->drains_until && workload.left && chance(a, 0.002) &&
			   state_of(e->qp) == NIC_QPS_RTS &&
			   set_state(e->qp, NIC_QPS_SQD) == NIC_OK) {
			e->drains_until = event_now() + below(a, 300) * US;
		}
	}
}

/* Sometimes register or deregister a region, set an SRQ limit, or resize a CQ. */
static void potter(struct actor *a)
{
	struct process *p = a->process;

	if (a->spare_key && chance(a, 0.1)) {
		dereg_mr(p, a->spare_key);
		a->spare_key = 0;
	} else if (!a->spare_key && chance(a, 0.02) &&
		   p->node->next_mr + 64 < p->node->nic.max_mr) {
		a->spare_key = reg_mr(p, space_bytes() - 8192, 4096, ALL_ACCESS);
	}
	if (chance(a, 0.01))
		limit_srq(a->srq, below(a, SRQ_ENTRIES));
	if (chance(a, 0.002))
		resize_cq(a->cq[below(a, 2)], CQ_ENTRIES);
}

static void rest(struct actor *a, bool busy)
{
	static const u32 longest = 12;
	u64 ns = below(a, 4000);

	if (chance(a, 0.02))
		ns = below(a, 200000);
	a->idle = busy ? 0 : a->idle < longest ? a->idle + 1 : longest;
	/* Without work, sleep longer and longer. */
	if (a->idle > 4)
		ns = (2 * US) << a->idle;
	if (a->idle > 4 && chance(a, 0.3)) {
		arm_cq(a->cq[0], false);
		wait_event(a->process, event_now() + ns);
		return;
	}
	sleep_for(a->process, ns);
}

/* Whether there are still living processes on two different nodes. */
static bool some_are_left(void)
{
	const struct node *first = NULL;
	u32 i;

	for (i = 0; i < workload.nactors; i++) {
		const struct node *node = workload.actor[i]->process->node;

		if (!can_connect(workload.actor[i]) || node == first)
			continue;
		if (first)
			return true;
		first = node;
	}
	return false;
}

/* Start a new process in place of a dead one, connected to some living ones. */
static void replace(const struct actor *dead)
{
	struct node *node = dead->process->node;
	struct actor *a;

	if (workload.stop || workload.nactors >= MAX_ACTORS || !has_room(node))
		return;
	if (workload.deaths >= MAX_DEATHS && some_are_left())
		return;
	process_undying++;
	a = actor_new(node, sim.config.seed);
	connect_some(a);
	process_undying--;
	process_start(a->process, actor_program, a, event_now() + below(a, 5000));
}

static void cleanup_program(struct process *helper, void *arg)
{
	struct actor *a = arg;

	(void)helper;
	process_destroy_objects(a->process);
	if (!is_violated())
		replace(a);
	workload.repairs--;
}

/* The time at which the agent notices the death of a process. */
static u64 burial(struct actor *a)
{
	return event_now() + (workload.version > 4 ? below(a, 300) * US : 0);
}

void actor_died(struct process *p)
{
	struct actor *a = p->user;
	struct process *helper = process_helper(p->node);

	workload.deaths++;
	workload.repairs -= a->repairing;
	a->repairing = 0;
	check_lost_actor(a);
	workload.repairs++;
	process_start(helper, cleanup_program, a, burial(a));
}

static void chore(struct actor *a)
{
	struct actor *other = workload.actor[below(a, workload.nactors)];

	if (!can_connect(a) || !can_connect(other))
		return;
	chore_do(a, other);
}

void actor_program(struct process *p, void *arg)
{
	struct actor *a = arg;
	bool busy;

	while (!workload.stop && !is_violated() && !p->node->dead) {
		if (p->fatal) {
			process_renew(p);
			a->spare_key = 0;
			actor_equip(a);
			if (workload.version > 1)
				connect_some(a);
		}
		busy = poll_all(a);
		if (!chance(a, 0.1))
			stock_all(a);
		if (workload.left) {
			post_some(a);
			busy = true;
		}
		if (repair_some(a))
			busy = true;
		drain_some(a);
		potter(a);
		if (workload.version > 1 && workload.left && chance(a, 0.05))
			chore(a);
		rest(a, busy);
	}
}
