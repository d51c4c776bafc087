// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Simulated processes: creation, virtual time, waiting, stops and deaths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/event.h"
#include "cluster/command.h"

/* Period of attempts to kill a process while process_undying is set. */
#define UNDYING_NS 20000
/* Period at which wait_queue() executes pending work of the NIC. */
#define LOOK_AGAIN_NS 20000

static struct {
	/* Blocks of sim_alloc(). */
	struct block *blocks;
	struct process **all;
	u32 n, room;
	u32 running;
} state;

void (*process_died)(struct process *p);
u32 process_undying;

struct block {
	struct block *next;
	/* Aligns the memory behind the block to 16 bytes. */
	u64 rsvd;
};

void *sim_alloc(size_t size)
{
	struct block *block = calloc(1, sizeof(*block) + size);

	if (!block) {
		fputs("vnet-sim: no memory\n", stderr);
		abort();
	}
	block->next = state.blocks;
	state.blocks = block;
	return block + 1;
}

/* ---------------------------------------------------------------- processes */

static void attach(struct process *p)
{
	struct node *node = p->node;

	if (nic_attach(&p->view, node->memory, node->memory_size) != NIC_OK)
		violated("node %u: NIC memory cannot be attached", node->index);
	p->view.self = SIM_OWNER(p->space);
	p->view.space = p->space;
	p->view.direct = sim.config.direct;
	p->view.fetches = &sim.config.pages;
	p->view.host = node;
}

static void remember(struct process *p)
{
	if (state.n == state.room) {
		state.room = state.room ? state.room * 2 : 64;
		state.all = realloc(state.all, state.room * sizeof(struct process *));
		if (!state.all)
			abort();
	}
	state.all[state.n++] = p;
}

struct process *process_new(struct node *node, u64 bytes)
{
	struct process *p = sim_alloc(sizeof(*p));
	struct space *space;
	u32 i = 1;

	while (i < SIM_MAX_SPACES && node->process[i])
		i++;
	if (i == SIM_MAX_SPACES) {
		fprintf(stderr, "vnet-sim: node %u has too many processes\n", node->index);
		abort();
	}
	space = &node->space[i];
	*space = (struct space){ .start = (u64)(node->index * SIM_MAX_SPACES + i) << 36,
				 .size = bytes };
	space->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space->memory == MAP_FAILED) {
		perror("vnet-sim: mmap");
		abort();
	}
	node->process[i] = p;
	p->node = node;
	p->of = p;
	p->space = i;
	p->pdn = i;
	attach(p);
	remember(p);
	return p;
}

struct process *process_helper(struct node *node)
{
	struct process *p = sim_alloc(sizeof(*p));

	p->node = node;
	p->of = p;
	return p;
}

void process_end_all(void)
{
	struct block *block;
	u32 i;

	for (i = 0; i < state.n; i++) {
		struct space *space = &state.all[i]->node->space[state.all[i]->space];

		munmap(space->memory, space->size);
	}
	coroutine_end_all();
	free(state.all);
	while (state.blocks) {
		block = state.blocks;
		state.blocks = block->next;
		free(block);
	}
	memset(&state, 0, sizeof(state));
	process_undying = 0;
}

void process_renew(struct process *p)
{
	attach(p);
	p->fatal = false;
}

void process_restarted(struct node *node)
{
	u32 i;

	for (i = 0; i < SIM_MAX_SPACES; i++) {
		struct process *p = node->process[i];

		if (!p)
			continue;
		p->fatal = true;
		p->owned = NULL;
		attach(p);
		if (p->waits_for || p->waits_event)
			process_ready(node);
	}
}

u32 processes_running(void)
{
	return state.running;
}

/* ------------------------------------------------------------------------ time */

static void run_thread(struct process *p)
{
	coroutine_run(p);
	if (p->ended)
		state.running--;
}

static void resume(void *arg, u64 wake)
{
	struct process *p = arg;

	if (wake != p->wake || p->ended)
		return;
	/* If a thread of the process has stopped, its program waits, too. */
	if (p->stopped) {
		event_at(p->stopped_until + 1, resume, p, wake);
		return;
	}
	p->waits_for = NULL;
	p->waits_event = false;
	p->wake++;
	run_thread(p);
}

void process_start(struct process *p, program_fn *program, void *arg, u64 time)
{
	p->program = program;
	p->arg = arg;
	p->of = p;
	state.running++;
	coroutine_start(p);
	event_at(time, resume, p, p->wake);
}

static void pause_until(struct process *p, u64 time)
{
	if (time != ~0ull)
		event_at(time, resume, p, p->wake);
	coroutine_pause();
}

void sleep_until(struct process *p, u64 time)
{
	u64 paid = event_now() + (u64)p->debt;

	p->debt = 0;
	pause_until(p, time > paid ? time : paid);
}

void sleep_for(struct process *p, u64 ns)
{
	sleep_until(p, event_now() + ns);
}

void process_pay(struct process *p)
{
	if (p->debt >= 1)
		sleep_until(p, 0);
}

void process_polled(struct process *p)
{
	p->debt += sim.config.cost.poll_empty;
	if (p->node->dead || !p->view.hdr->pending_summary)
		return;
	p->inside = true;
	nic_idle(&p->view);
	p->inside = false;
	node_ran(p->node);
}

bool wait_queue(struct process *p, struct queue *cq, u64 until)
{
	process_pay(p);
	while (!is_lost(p, cq->life) && !queue_has(cq, cq->cons)) {
		u64 again = until;

		if (event_now() >= until)
			return false;
		process_polled(p);
		if (queue_has(cq, cq->cons))
			break;
		/* Poll again soon, to retry work that waits for a lock or a receive. */
		if (p->view.hdr->pending_summary && event_now() + LOOK_AGAIN_NS < until)
			again = event_now() + LOOK_AGAIN_NS;
		p->waits_for = cq;
		pause_until(p, again);
	}
	return !is_lost(p, cq->life);
}

void channel_read(void *arg)
{
	*(bool *)arg = false;
}

bool wait_event(struct process *p, u64 until)
{
	struct node *node = p->node;
	u64 handle;

	process_pay(p);
	while (!p->fatal) {
		enum nic_result result;

		p->inside = true;
		result = nic_channel_take(&p->view, p->space, &handle, channel_read,
					  &node->readable[p->space]);
		p->inside = false;
		if (result == NIC_OK) {
			p->debt += sim.config.cost.event;
			process_pay(p);
			return true;
		}
		if (event_now() >= until)
			return false;
		p->waits_event = true;
		pause_until(p, until);
	}
	return false;
}

void process_look(struct node *node)
{
	u32 i;

	for (i = 1; i < SIM_MAX_SPACES && node->process[i]; i++) {
		struct process *p = node->process[i];
		struct queue *cq = p->waits_for;

		if (!cq || (!is_lost(p, cq->life) && !queue_has(cq, cq->cons)))
			continue;
		p->waits_for = NULL;
		event_at(event_now(), resume, p, p->wake);
	}
}

void process_ready(struct node *node)
{
	u32 i;

	for (i = 1; i < SIM_MAX_SPACES && node->process[i]; i++) {
		struct process *p = node->process[i];

		if (!p->waits_event && !(p->fatal && p->waits_for))
			continue;
		p->waits_event = false;
		p->waits_for = NULL;
		event_at(event_now(), resume, p, p->wake);
	}
}

void process_async(struct node *node, const struct nic_async *async)
{
	u32 i;

	(void)async;
	for (i = 1; i < SIM_MAX_SPACES && node->process[i]; i++)
		node->process[i]->events++;
}

/* ------------------------------------------------------------- stops and deaths */

/* Let the oracle ignore the CQs of a dead process. */
static void unwatch_all(struct process *p)
{
	struct node *node = p->node;
	u32 i = 0;

	while (i < node->ncq) {
		if (node->cq[i]->process == p)
			node->cq[i] = node->cq[--node->ncq];
		else
			i++;
	}
}

static void die(struct process *p)
{
	p->dead = true;
	p->stopped = false;
	p->ended = true;
	p->node->space[p->space].gone = true;
	sim.deaths++;
	state.running--;
	trace(TRACE_DEATH, p->node->index, p->space, 0, 0);
	if (!p->fatal && !p->node->dead) {
		unwatch_all(p);
		nic_recover(&p->node->nic, p->view.self, p->space);
	}
	if (process_died)
		process_died(p);
}

/* Kill a process that has not reached the step of process_stop() in time. */
static void die_anyhow(void *arg, u64 wake)
{
	struct process *p = arg;

	(void)wake;
	if (p->dead || p->stopped || p->ended)
		return;
	if (process_undying)
		event_at(event_now() + UNDYING_NS, die_anyhow, p, 0);
	else
		die(p);
}

static void go_on(void *arg, u64 value)
{
	struct process *p = arg, *thread = p->stopped_thread;

	(void)value;
	if (p->dies) {
		die(p);
		return;
	}
	p->stopped = false;
	run_thread(thread);
}

void process_stop(struct process *p, u32 steps, u64 ns, bool dies)
{
	if (p->stopped || p->dead || p->ended || p->dies)
		return;
	p->stop_in = steps;
	p->stop_ns = ns;
	p->dies = dies;
	if (dies)
		event_at(event_now() + ns, die_anyhow, p, 0);
}

struct process *process_inside(void)
{
	struct process *thread = coroutine_running();

	return thread && thread->inside ? thread : NULL;
}

void process_step(int step)
{
	struct process *thread = process_inside(), *p;

	if (!thread || !thread->of->stop_in)
		return;
	p = thread->of;
	if ((p->dies && process_undying) || --p->stop_in)
		return;
	sim.stops++;
	p->stopped = true;
	p->stopped_thread = thread;
	p->stopped_until = event_now() + p->stop_ns;
	trace(TRACE_STOP, p->node->index, p->space, (u64)step, p->dies);
	event_at(p->stopped_until, go_on, p, 0);
	/* Other processes see the effects up to this step. */
	node_ran(p->node);
	coroutine_pause();
}

/* ------------------------------------------------------------- the link's thread */

static void link_program(struct process *link, void *arg)
{
	struct process *p = arg;

	for (;;) {
		link->inside = true;
		node_receive(&p->view, &link->frame_from, link->frame, link->frame_length);
		link->inside = false;
		if (!link->link_busy) {
			/* This thread was stopped, so process_receive() has already returned. */
			node_ran(p->node);
		}
		link->link_busy = false;
		coroutine_pause();
	}
}

static struct process *link_thread(struct process *p)
{
	struct process *link = p->link;

	if (link)
		return link;
	link = sim_alloc(sizeof(*link));
	link->node = p->node;
	link->of = p;
	link->program = link_program;
	link->arg = p;
	link->frame = sim_alloc(VNET_WIRE_MAX_FRAME + 8);
	p->link = link;
	coroutine_start(link);
	return link;
}

bool process_receive(struct process *p, const struct nic_address *from, const u8 *data, u32 length)
{
	struct process *link = link_thread(p);
	bool done;

	memcpy(link->frame, data, length);
	link->frame_length = length;
	link->frame_from = *from;
	link->link_busy = true;
	coroutine_run(link);
	done = !link->link_busy;
	link->link_busy = false;
	return done;
}
