// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Processes: what an agent and a provider do for a program, in virtual time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "event.h"
#include "process.h"
#include "trace.h"

#define SEND_SHIFT 10
#define RECV_SHIFT 9
#define CQE_SHIFT 7
#define MAX_INLINE 256
/* Of a send entry and a receive entry of those sizes. */
#define MAX_SEND_SGE 32
#define MAX_RECV_SGE 16
/* A command that finds a lock taken is repeated after so long. */
#define BUSY_NS 20000
#define BUSY_TRIES 100000
#define LOOK_AGAIN_NS 20000

/* The values of enum ibv_qp_attr_mask. */
enum mask {
	M_STATE = 1 << 0,
	M_CUR_STATE = 1 << 1,
	M_SQD_NOTIFY = 1 << 2,
	M_ACCESS = 1 << 3,
	M_PKEY = 1 << 4,
	M_PORT = 1 << 5,
	M_QKEY = 1 << 6,
	M_AV = 1 << 7,
	M_MTU = 1 << 8,
	M_TIMEOUT = 1 << 9,
	M_RETRY_CNT = 1 << 10,
	M_RNR_RETRY = 1 << 11,
	M_RQ_PSN = 1 << 12,
	M_RD_ATOMIC = 1 << 13,
	M_MIN_RNR = 1 << 15,
	M_SQ_PSN = 1 << 16,
	M_DEST_RD_ATOMIC = 1 << 17,
	M_DEST_QPN = 1 << 20,
};

static struct {
	/* Blocks of sim_alloc(). */
	struct block *blocks;
	struct process **all;
	u32 n, room;
	u32 running;
} state;

void (*process_died)(struct process *p);
u32 process_undying;

/* Something of a NIC that its process has. */
struct owned {
	struct owned *next;
	/* 'q' QP, 's' SRQ, 'c' CQ, 'w' window, 'm' region */
	char kind;
	u32 num;
};

struct block {
	struct block *next;
	/* Aligned for whatever stands behind it. */
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
	/* All of its threads are stopped. */
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

/* A process whose NIC is asked by nobody else looks itself, as it polls. */
static void poll_empty(struct process *p)
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
		poll_empty(p);
		if (queue_has(cq, cq->cons))
			break;
		/* What waits for a lock or a receive, its process tries again. */
		if (p->view.hdr->pending_summary && event_now() + LOOK_AGAIN_NS < until)
			again = event_now() + LOOK_AGAIN_NS;
		p->waits_for = cq;
		pause_until(p, again);
	}
	return !is_lost(p, cq->life);
}

static void drain(void *arg)
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
		result = nic_channel_take(&p->view, p->space, &handle, drain,
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

/* -------------------------------------------------------------- stopping, dying */

/* What is completed for it from now on nobody expects. */
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

/* It has not come into the firmware: so it dies where it is. */
static void die_anyhow(void *arg, u64 wake)
{
	struct process *p = arg;

	(void)wake;
	if (p->dead || p->stopped || p->ended)
		return;
	if (process_undying)
		event_at(event_now() + BUSY_NS, die_anyhow, p, 0);
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
	/* What it did so far is seen by others. */
	node_ran(p->node);
	coroutine_pause();
}

/* ------------------------------------------------------------- the link's thread */

static void link_program(struct process *link, void *arg)
{
	struct process *p = arg;

	for (;;) {
		link->inside = true;
		nic_receive(&p->view, &link->frame_from, link->frame, link->frame_length);
		link->inside = false;
		if (!link->link_busy) {
			/* It was stopped, and nobody waits for it. */
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

/* --------------------------------------------------------------------- belongings */

static void own(struct process *p, char kind, u32 num)
{
	struct owned *o = sim_alloc(sizeof(*o));

	*o = (struct owned){ p->owned, kind, num };
	p->owned = o;
}

static void disown(struct process *p, char kind, u32 num)
{
	struct owned **at_link = &p->owned;

	while (*at_link && ((*at_link)->kind != kind || (*at_link)->num != num))
		at_link = &(*at_link)->next;
	if (*at_link)
		*at_link = (*at_link)->next;
}

/* --------------------------------------------------------------------- commands */

/* A command found a lock taken: whether to repeat it, some time later. */
static bool again(struct process *p, u32 *tries)
{
	struct process *running = coroutine_running();

	if (p->fatal || !running || ++*tries > BUSY_TRIES)
		return false;
	sleep_for(running, BUSY_NS);
	return !p->fatal;
}

/* Repeat a command until it is not busy any more. */
#define COMMAND(p, call)                                                                           \
	({                                                                                         \
		enum nic_result result_ = NIC_EINVAL;                                              \
		u32 tries_ = 0;                                                                    \
		if (!(p)->fatal) {                                                                 \
			do                                                                         \
				result_ = (call);                                                  \
			while (result_ == NIC_BUSY && again((p), &tries_));                        \
		}                                                                                  \
		result_;                                                                           \
	})

static u32 new_key(struct node *node)
{
	return node->next_mr++ << NIC_KEY_TAG_BITS | 0x5a;
}

u32 reg_mr(struct process *p, u64 offset, u64 length, u32 access)
{
	struct node *node = p->node;
	struct nic_mr_params params = {
		.kind = NIC_MR_REGION,
		.access = access,
		.pdn = p->pdn,
		.iova = at(p, offset),
		.addr = at(p, offset),
		.length = length,
		.space = p->space,
	};

	if (node->next_mr >= node->nic.max_mr)
		return 0;
	params.key = new_key(node);
	if (nic_mr_create(&node->nic, &params) != NIC_OK)
		return 0;
	node->region[params.key >> NIC_KEY_TAG_BITS] = (struct region){
		.addr = params.addr,
		.length = length,
		.access = access,
		.space = p->space,
		.live = true,
	};
	own(p, 'm', params.key);
	return params.key;
}

bool dereg_mr(struct process *p, u32 key)
{
	u64 life = p->node->life;

	if (COMMAND(p, nic_mr_destroy(&p->node->nic, key)) != NIC_OK || is_lost(p, life))
		return false;
	p->node->region[key >> NIC_KEY_TAG_BITS].live = false;
	disown(p, 'm', key);
	return true;
}

bool free_mw(struct process *p, u32 key)
{
	/* Whatever it is bound to now, the entry is named by the key's index. */
	u64 life = p->node->life;
	u32 now = nic_load(&p->node->nic.mr[key >> NIC_KEY_TAG_BITS].key);

	if (COMMAND(p, nic_mr_destroy(&p->node->nic, now ? now : key)) != NIC_OK ||
	    is_lost(p, life))
		return false;
	p->node->region[key >> NIC_KEY_TAG_BITS].live = false;
	disown(p, 'w', key);
	return true;
}

u32 alloc_fast(struct process *p, u64 offset, u64 length)
{
	u32 key = alloc_mw(p, NIC_MR_FAST);

	if (key)
		p->node->region[key >> NIC_KEY_TAG_BITS] = (struct region){
			.addr = at(p, offset),
			.length = length,
			.access = ALL_ACCESS,
			.space = p->space,
			.live = true,
		};
	return key;
}

void tear(struct process *p, u32 key)
{
	p->node->region[key >> NIC_KEY_TAG_BITS].torn = true;
}

u32 alloc_mw(struct process *p, u8 kind)
{
	struct nic_mr_params params = { .kind = kind, .pdn = p->pdn, .space = p->space };

	if (p->node->next_mr >= p->node->nic.max_mr)
		return 0;
	params.key = new_key(p->node);
	if (nic_mr_create(&p->node->nic, &params) != NIC_OK)
		return 0;
	own(p, 'w', params.key);
	return params.key;
}

static struct ring_view ring_make(struct process *p, u32 entries, u32 shift)
{
	struct node *node = p->node;
	u64 bytes = VNET_RING_HDR_SIZE + ((u64)entries << shift);
	struct ring_view ring = { .offset = node->queue_at, .mask = entries - 1, .shift = shift };

	node->queue_at += (bytes + 4095) & ~4095ull;
	if (node->queue_at > node->nic.off_queue + node->nic.queue_bytes) {
		fprintf(stderr, "vnet-sim: node %u has no queue memory left\n", node->index);
		abort();
	}
	ring.hdr = (void *)((u8 *)node->memory + ring.offset);
	ring.slots = (u8 *)(ring.hdr + 1);
	return ring;
}

static void channel_make(struct process *p)
{
	if (!p->node->nic.channel[p->space].generation)
		nic_channel_create(&p->node->nic, p->space, 1);
}

void channel_renew(struct process *p)
{
	struct nic *nic = &p->node->nic;
	struct nic_channel *ch = &nic->channel[p->space];
	u32 generation = ch->generation + 1;

	if (!ch->generation || COMMAND(p, nic_channel_destroy(nic, p->space)) != NIC_OK)
		return;
	p->node->readable[p->space] = false;
	if (COMMAND(p, nic_channel_create(nic, p->space, generation)) != NIC_OK && !p->fatal)
		violated("node %u: no channel %u", p->node->index, p->space);
}

static struct queue *new_cq(struct process *p, u32 entries, u32 channel, u32 flags)
{
	struct queue *cq = sim_alloc(sizeof(*cq));
	struct node *node = p->node;
	struct nic_cq_params params = { .entries = entries,
					.channel = channel,
					.flags = flags | VNET_CREATE_CQ_IMM64 };

	if (channel != NIC_NONE) {
		channel_make(p);
		params.channel = p->space;
	}
	cq->process = p;
	cq->life = node->life;
	cq->cqn = node->next_cqn++;
	cq->ring = ring_make(p, entries, CQE_SHIFT);
	params.ring = cq->ring.offset;
	if (node->ncq == SIM_MAX_OBJECTS ||
	    COMMAND(p, nic_cq_create(&node->nic, cq->cqn, &params)) != NIC_OK) {
		if (!p->fatal)
			violated("node %u: CQ %u cannot be made", node->index, cq->cqn);
		return cq;
	}
	own(p, 'c', cq->cqn);
	return cq;
}

struct queue *make_cq_aside(struct process *p, u32 entries, u32 channel, u32 flags)
{
	return new_cq(p, entries, channel, flags);
}

struct queue *make_cq(struct process *p, u32 entries, u32 channel)
{
	struct queue *cq = new_cq(p, entries, channel, 0);

	if (p->node->ncq < SIM_MAX_OBJECTS)
		p->node->cq[p->node->ncq++] = cq;
	return cq;
}

struct srq *make_srq(struct process *p, u32 entries)
{
	struct srq *srq = sim_alloc(sizeof(*srq));
	struct node *node = p->node;
	struct nic_srq_params params = {
		.entries = entries,
		.stride_shift = RECV_SHIFT,
		.max_sge = MAX_RECV_SGE,
		.pdn = p->pdn,
		.space = p->space,
	};

	srq->process = p;
	srq->life = node->life;
	srq->srqn = node->next_srqn++;
	srq->ring = ring_make(p, entries, params.stride_shift);
	params.ring = srq->ring.offset;
	if (COMMAND(p, nic_srq_create(&node->nic, srq->srqn, &params)) != NIC_OK && !p->fatal)
		violated("node %u: SRQ %u cannot be made", node->index, srq->srqn);
	own(p, 's', srq->srqn);
	return srq;
}

struct qp *make_qp(struct process *p, u8 type, struct queue *send_cq, struct queue *recv_cq,
		   const struct qp_options *o)
{
	struct qp *qp = sim_alloc(sizeof(*qp));
	struct node *node = p->node;
	struct nic_qp_params params = {
		.type = type,
		.sq_sig_all = o->sig_all,
		.privileged = o->privileged,
		.sq_stride_shift = SEND_SHIFT,
		.rq_stride_shift = RECV_SHIFT,
		.max_send_sge = MAX_SEND_SGE,
		.max_recv_sge = MAX_RECV_SGE,
		.max_inline = MAX_INLINE,
		.pdn = p->pdn,
		.sq_entries = o->sq_entries ? o->sq_entries : 16,
		.rq_entries = o->srq        ? 0 :
			      o->rq_entries ? o->rq_entries :
					      16,
		.send_cqn = send_cq->cqn,
		.recv_cqn = recv_cq->cqn,
		.srqn = o->srq ? o->srq->srqn : 0,
		.space = p->space,
		.owner_pid = 1000 + p->space,
	};

	enum nic_result result;
	u32 tries = 0;

	qp->process = p;
	qp->life = node->life;
	qp->type = type;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->srq = o->srq;
	qp->sq = ring_make(p, params.sq_entries, SEND_SHIFT);
	params.sq_ring = qp->sq.offset;
	if (params.rq_entries) {
		qp->rq = ring_make(p, params.rq_entries, RECV_SHIFT);
		params.rq_ring = qp->rq.offset;
	}
	/* Each number is another one; its place may be taken. */
	do {
		params.qpn = qp->qpn = node->next_qpn++;
		result = COMMAND(p, nic_qp_create(&node->nic, &params));
	} while (result == NIC_EINUSE && tries++ < node->nic.max_qp);
	if (result != NIC_OK && !p->fatal)
		violated("node %u: QP %u cannot be made", node->index, qp->qpn);
	own(p, 'q', qp->qpn);
	return qp;
}

static u32 needed(u8 type, u8 to)
{
	switch (to) {
	case NIC_QPS_INIT:
		return M_PKEY | M_PORT | (type == NIC_QPT_UD ? M_QKEY : M_ACCESS);
	case NIC_QPS_RTR:
		if (type == NIC_QPT_UD)
			return 0;
		return M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN |
		       (type == NIC_QPT_RC ? M_DEST_RD_ATOMIC | M_MIN_RNR : 0);
	case NIC_QPS_RTS:
		return M_SQ_PSN |
		       (type == NIC_QPT_RC ? M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC :
					     0);
	default:
		return 0;
	}
}

static struct nic_qp_attr attributes(u32 node, u32 qpn, const struct qp_options *o)
{
	struct nic_qp_attr attr = {
		.qkey = SIM_QKEY,
		.dest_qpn = qpn,
		.access = ALL_ACCESS & 0xf,
		.port = 1,
		.path_mtu = 5,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = o->min_rnr_timer ? o->min_rnr_timer : 12,
		.timeout = o->timeout ? o->timeout : 17,
		.retry_cnt = o->retry_cnt ? o->retry_cnt : 7,
		.rnr_retry = o->rnr_retry ? o->rnr_retry : 7,
		.sgid_index = 1,
		.hop_limit = 64,
		.is_global = 1,
	};

	attr.rq_psn = attr.sq_psn = o->psn;
	if (o->no_access)
		attr.access = 0;
	if (o->no_reads)
		attr.max_rd_atomic = 0;
	node_gid(node, attr.dgid);
	if (o->ipv6) {
		node_gid_ipv6(node, attr.dgid);
		attr.sgid_index = 0;
	}
	return attr;
}

void connect_qp(struct qp *qp, u32 node, u32 qpn, const struct qp_options *o)
{
	static const u8 path[] = { NIC_QPS_INIT, NIC_QPS_RTR, NIC_QPS_RTS };
	struct nic_qp_attr attr = attributes(node, qpn, o);
	struct process *p = qp->process;
	u32 i;

	for (i = 0; i < sizeof(path) && !p->fatal; i++) {
		u32 mask = M_STATE | needed(qp->type, path[i]);

		if (COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, &attr, mask, 0, path[i])) !=
			    NIC_OK &&
		    !p->fatal)
			violated("node %u: QP %u does not go to state %u", p->node->index, qp->qpn,
				 path[i]);
		trace(TRACE_QP, p->node->index, qp->qpn, path[i], qpn);
		node_ran(p->node);
	}
}

enum nic_result set_state(struct qp *qp, u8 to)
{
	static const struct nic_qp_attr attr = { .en_sqd_async_notify = 1 };
	u32 mask = M_STATE | (to == NIC_QPS_SQD ? M_SQD_NOTIFY : 0);
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return NIC_EINVAL;
	result = COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, &attr, mask, 0, to));
	trace(TRACE_QP, p->node->index, qp->qpn, to, 0);
	node_ran(p->node);
	return result;
}

enum nic_result set_state_from(struct qp *qp, u8 to, u8 now)
{
	static const struct nic_qp_attr attr = { 0 };
	u32 mask = M_STATE | (now == 0xff ? 0 : M_CUR_STATE);
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return NIC_EINVAL;
	result = COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, &attr, mask, now, to));
	node_ran(p->node);
	return result;
}

bool resize_cq(struct queue *cq, u32 entries)
{
	struct process *p = cq->process;
	struct ring_view ring;

	if (is_lost(p, cq->life) ||
	    p->node->queue_at + (4u << 20) > p->node->nic.off_queue + p->node->nic.queue_bytes)
		return false;
	ring = ring_make(p, entries, CQE_SHIFT);
	if (COMMAND(p, nic_cq_resize(&p->node->nic, cq->cqn, ring.offset, entries)) != NIC_OK)
		return false;
	cq->ring = ring;
	return true;
}

bool limit_srq(struct srq *srq, u32 limit)
{
	struct process *p = srq->process;
	u32 now;

	return !is_lost(p, srq->life) &&
	       COMMAND(p, nic_srq_set_limit(&p->node->nic, srq->srqn, limit)) == NIC_OK &&
	       nic_srq_get_limit(&p->node->nic, srq->srqn, &now) == NIC_OK;
}

u8 state_of(const struct qp *qp)
{
	struct nic_qp_attr attr;
	u8 state_now = NIC_QPS_ERR, draining;

	if (!is_lost(qp->process, qp->life))
		nic_qp_query(&qp->process->node->nic, qp->qpn, &attr, &state_now, &draining);
	return state_now;
}

bool destroy_qp(struct qp *qp)
{
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return true;
	result = COMMAND(p, nic_qp_destroy(&p->node->nic, qp->qpn));
	trace(TRACE_QP, p->node->index, qp->qpn, 99, 0);
	node_ran(p->node);
	disown(p, 'q', qp->qpn);
	/* Of a dead process, its agent destroys all there is. */
	return result == NIC_OK || p->dead;
}

bool destroy_cq(struct queue *cq)
{
	struct process *p = cq->process;
	struct node *node = p->node;
	u32 events, i;

	if (is_lost(p, cq->life))
		return true;
	if (COMMAND(p, nic_cq_destroy(&node->nic, cq->cqn, &events)) != NIC_OK)
		return false;
	disown(p, 'c', cq->cqn);
	/* Of its channel, other queues may still have events. */
	if (node->nic.channel[p->space].generation)
		COMMAND(p,
			nic_channel_settle(&node->nic, p->space, drain, &node->readable[p->space]));
	for (i = 0; i < node->ncq; i++) {
		if (node->cq[i] == cq)
			node->cq[i] = node->cq[--node->ncq];
	}
	return true;
}

bool destroy_srq(struct srq *srq)
{
	struct process *p = srq->process;

	if (is_lost(p, srq->life))
		return true;
	if (COMMAND(p, nic_srq_destroy(&p->node->nic, srq->srqn)) != NIC_OK)
		return false;
	disown(p, 's', srq->srqn);
	return true;
}

/* --------------------------------------------------------- what the dead leave */

/* A command for a dead process: false: never. */
static bool free_one(struct process *p, const struct owned *o)
{
	struct nic *nic = &p->node->nic;
	u32 events;

	switch (o->kind) {
	case 'q':
		return COMMAND(p, nic_qp_destroy(nic, o->num)) == NIC_OK;
	case 'c':
		return COMMAND(p, nic_cq_destroy(nic, o->num, &events)) == NIC_OK;
	case 's':
		return COMMAND(p, nic_srq_destroy(nic, o->num)) == NIC_OK;
	default:
		if (COMMAND(p, nic_mr_destroy(nic, o->num)) != NIC_OK)
			return false;
		if (!p->fatal)
			p->node->region[o->num >> NIC_KEY_TAG_BITS].live = false;
		return true;
	}
}

static void free_all(struct process *p, char kind)
{
	struct owned *o, *next;

	for (o = p->owned; o && !p->fatal; o = next) {
		next = o->next;
		if (o->kind != kind)
			continue;
		if (!free_one(p, o) && !p->fatal)
			violated("node %u: '%c' %u of a dead process cannot be freed",
				 p->node->index, kind, o->num);
		if (!p->fatal)
			disown(p, kind, o->num);
	}
}

void process_bury(struct process *p)
{
	/* Users before what they use. */
	static const char order[] = "qwmsc";
	struct node *node = p->node;
	const char *kind;

	for (kind = order; *kind && !p->fatal && !node->dead; kind++) {
		free_all(p, *kind);
		node_ran(node);
	}
	if (!p->fatal && !node->dead && node->nic.channel[p->space].generation &&
	    COMMAND(p, nic_channel_destroy(&node->nic, p->space)) != NIC_OK && !p->fatal)
		violated("node %u: the channel of a dead process cannot be freed", node->index);
}

/* ------------------------------------------------------------------------- work */

static u32 room(const struct ring_view *ring, u32 prod)
{
	return ring->mask + 1 - (prod - nic_load(&ring->hdr->cons));
}

u32 send_room(const struct qp *qp)
{
	return is_lost(qp->process, qp->life) ? 0 : room(&qp->sq, qp->sq_prod);
}

u32 recv_room(const struct qp *qp)
{
	return is_lost(qp->process, qp->life) || qp->srq ? 0 : room(&qp->rq, qp->rq_prod);
}

u32 srq_room(const struct srq *srq)
{
	return is_lost(srq->process, srq->life) ? 0 : room(&srq->ring, srq->prod);
}

static u8 *slot(const struct ring_view *ring, u32 index)
{
	return ring->slots + ((u64)(index & ring->mask) << ring->shift);
}

static void write_sges(u8 *to, const struct sge *sg, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		struct vnet_sge one = { sg[i].addr, sg[i].length, sg[i].lkey };

		memcpy(to + i * sizeof(one), &one, sizeof(one));
	}
}

bool post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to;

	if (!send_room(qp))
		return false;
	to = slot(&qp->sq, qp->sq_prod);
	copy.num_sge = (u8)n;
	memcpy(to, &copy, sizeof(copy));
	write_sges(to + sizeof(copy), sg, n);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
	qp->process->debt += sim.config.cost.post;
	trace(TRACE_POST, qp->process->node->index, qp->qpn, wqe->wr_id, wqe->opcode);
	return true;
}

bool post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to;

	if (!send_room(qp) || length > MAX_INLINE)
		return false;
	to = slot(&qp->sq, qp->sq_prod);
	copy.flags |= VNET_WR_INLINE;
	copy.inline_len = length;
	memcpy(to, &copy, sizeof(copy));
	memcpy(to + sizeof(copy), data, length);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
	qp->process->debt += sim.config.cost.post;
	trace(TRACE_POST, qp->process->node->index, qp->qpn, wqe->wr_id, wqe->opcode);
	return true;
}

void ring_qp(struct qp *qp)
{
	struct process *p = qp->process;
	struct node *node = p->node;

	p->debt += sim.config.cost.doorbell;
	process_pay(p);
	if (is_lost(p, qp->life) || node->dead)
		return;
	if (!sim.config.cut_through) {
		node_bell(node, 's', qp->qpn, event_now() + (u64)sim.config.cost.wqe_fetch);
		return;
	}
	trace(TRACE_DOORBELL, node->index, qp->qpn, 1, 0);
	p->inside = true;
	nic_send_doorbell(&p->view, qp->qpn);
	p->inside = false;
	node_ran(node);
}

void post_crooked(struct qp *qp, const struct vnet_send_wqe *wqe, u32 pieces)
{
	struct vnet_send_wqe copy = *wqe;

	if (!send_room(qp))
		return;
	copy.num_sge = (u8)pieces;
	memcpy(slot(&qp->sq, qp->sq_prod), &copy, sizeof(copy));
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
}

void advance_producer(struct qp *qp, u32 by)
{
	if (!is_lost(qp->process, qp->life))
		nic_store_release(&qp->sq.hdr->prod, qp->sq_prod + by);
}

static void write_recv(struct ring_view *ring, u32 *prod, u64 wr_id, const struct sge *sg, u32 n)
{
	struct vnet_recv_wqe wqe = { .wr_id = wr_id, .num_sge = n };
	u8 *to = slot(ring, *prod);

	memcpy(to, &wqe, sizeof(wqe));
	write_sges(to + sizeof(wqe), sg, n);
	nic_store_release(&ring->hdr->prod, ++*prod);
	nic_barrier();
}

static void ring_receive(struct process *p, const struct ring_view *ring, u32 num, bool is_srq)
{
	p->debt += sim.config.cost.post_recv;
	if (!nic_load(&ring->hdr->need_doorbell) || p->node->dead)
		return;
	if (!sim.config.cut_through) {
		node_bell(p->node, is_srq ? 'q' : 'r', num,
			  event_now() + (u64)sim.config.cost.doorbell);
		return;
	}
	p->inside = true;
	nic_recv_doorbell(&p->view, num, is_srq);
	p->inside = false;
	node_ran(p->node);
}

bool post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n)
{
	if (!recv_room(qp))
		return false;
	write_recv(&qp->rq, &qp->rq_prod, wr_id, sg, n);
	trace(TRACE_POST_RECEIVE, qp->process->node->index, qp->qpn, wr_id, n ? sg->length : 0);
	ring_receive(qp->process, &qp->rq, qp->qpn, false);
	return true;
}

void post_crooked_receive(struct qp *qp, u32 pieces)
{
	struct vnet_recv_wqe wqe = { .wr_id = 1, .num_sge = pieces };

	if (!recv_room(qp))
		return;
	memcpy(slot(&qp->rq, qp->rq_prod), &wqe, sizeof(wqe));
	nic_store_release(&qp->rq.hdr->prod, ++qp->rq_prod);
	nic_barrier();
	ring_receive(qp->process, &qp->rq, qp->qpn, false);
}

bool post_srq(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n)
{
	if (!srq_room(srq))
		return false;
	write_recv(&srq->ring, &srq->prod, wr_id, sg, n);
	trace(TRACE_POST_RECEIVE, srq->process->node->index, srq->srqn, wr_id, n ? sg->length : 0);
	ring_receive(srq->process, &srq->ring, srq->srqn, true);
	return true;
}

struct vnet_cqe *queue_entry(const struct queue *cq, u32 i)
{
	return (struct vnet_cqe *)(void *)slot(&cq->ring, i);
}

bool queue_has(const struct queue *cq, u32 i)
{
	return nic_load_acquire(&queue_entry(cq, i)->seq) == i + 1;
}

bool poll_cq(struct queue *cq, struct wc *wc)
{
	struct process *p = cq->process;
	const struct space *space = &p->node->space[p->space];
	const struct vnet_cqe *cqe;

	if (is_lost(p, cq->life))
		return false;
	cqe = queue_entry(cq, cq->cons);
	if (!queue_has(cq, cq->cons)) {
		poll_empty(p);
		return false;
	}
	*wc = (struct wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.flags = cqe->flags,
		.byte_len = cqe->byte_len,
		.imm = cqe->imm,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
	};
	if (cqe->payload_len && cqe->scatter_addr >= space->start &&
	    cqe->scatter_addr - space->start <= space->size - cqe->payload_len)
		memcpy(space->memory + (cqe->scatter_addr - space->start), cqe->payload,
		       cqe->payload_len);
	nic_store_release(&cq->ring.hdr->cons, ++cq->cons);
	p->debt += sim.config.cost.poll;
	return true;
}

void arm_cq(struct queue *cq, bool solicited)
{
	if (is_lost(cq->process, cq->life))
		return;
	nic_store(&cq->ring.hdr->arm, solicited ? VNET_CQ_ARM_SOLICITED : VNET_CQ_ARM_NEXT);
	nic_barrier();
}

struct vnet_send_wqe make_wr(u8 opcode, u64 wr_id)
{
	return (struct vnet_send_wqe){
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = VNET_WR_SIGNALED,
	};
}

void to_address(struct vnet_send_wqe *wqe, u32 node, u32 qpn)
{
	wqe->ud = (struct vnet_wqe_ud){
		.remote_qpn = qpn,
		.remote_qkey = SIM_QKEY,
		.sgid_index = 1,
		.hop_limit = 64,
	};
	node_gid(node, wqe->ud.dgid);
}

void to_address_ipv6(struct vnet_send_wqe *wqe, u32 node, u32 qpn)
{
	to_address(wqe, node, qpn);
	wqe->ud.sgid_index = 0;
	node_gid_ipv6(node, wqe->ud.dgid);
}
