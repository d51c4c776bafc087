// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runs a random schedule: sets up the cluster, injects faults, and makes the final checks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "schedule.h"
#include "workload/workload.h"

#define US 1000ull
#define MS 1000000ull
/* Time limits: until all requests are posted; until they are complete; until all is idle. */
#define POST_LIMIT (60000 * MS)
#define END_LIMIT (120000 * MS)
#define QUIET_LIMIT (20000 * MS)
/* Limit of events, besides 1000 for each request. Most schedules have less than 100,000. */
#define STEP_LIMIT (10u << 20)
/* Larger clusters have one process for each node, and NIC memory is measured. */
#define SMALL_CLUSTER 64
/* Owner ID of a lock that stop_lock_holder() has taken. */
#define NOBODY 77
#define MOST_LIVES 32

static const char *const fault_names[SCHEDULE_FAULTS] = {
	"loss", "dup",  "reorder", "corrupt",  "truncate", "delay", "cut",   "reset",
	"slow", "dead", "stop",    "teardown", "kill",     "forge", "pages",
};

static struct {
	const struct schedule_config *config;
	struct random random;
	u32 faults;
	bool over;
	nic_lock_t *stopped;
	u32 stopped_node;
	u64 stopped_life;
} state;

const char *schedule_fault_name(u32 i)
{
	return i < SCHEDULE_FAULTS ? fault_names[i] : "?";
}

static u32 below(u32 n)
{
	return random_below(&state.random, n);
}

static bool has(u32 fault)
{
	return state.faults & fault;
}

/* -------------------------------------------------------------------- set-up */

static u32 kinds_of_faults(void)
{
	return workload.version == 1 ? SCHEDULE_FIRST_FAULTS : SCHEDULE_DICED_FAULTS;
}

static u32 choose_faults(const struct schedule_config *config)
{
	u32 faults = 0, n = 3 + below(4);

	if (config->faults_given)
		return config->faults;
	while (n--)
		faults |= 1u << below(kinds_of_faults());
	/* At least three kinds. */
	while (__builtin_popcount(faults) < 3)
		faults |= 1u << below(kinds_of_faults());
	return faults;
}

static u32 one_of(const u32 *values, u32 n)
{
	return values[below(n)];
}

/* Settings that workloads up to version 3 leave at 0. */
static void choose_more(struct nic_settings *s)
{
	static const u32 fit[] = { 0, 0, 256, 1000, 1400 };

	s->drop_unexpected = !below(8);
	s->fit = one_of(fit, 5);
	s->linger = below(4) ? 0 : 1 + below(4);
}

static void choose_nic(const struct schedule_config *config, struct nic_config *nic)
{
	static const u32 payload[] = { 256, 512, 1024, 1400, 4096, 8192, 16384 };
	static const u32 unit[] = { 1, 1, 2, 3, 8, 16, 64 };
	static const u32 channels[] = { 1, 2, 4, 8, 16, 32, 64 };
	struct nic_settings *s = &nic->settings;
	u32 frames = 2 + below(7);

	*nic = (struct nic_config){
		.max_qp = 128,
		.max_cq = 64,
		.max_srq = 64,
		.max_mr = 512,
		.max_channel = SIM_MAX_CHANNELS,
		.max_client = 8,
		.max_row = 16,
		.max_frame = config->frames ? config->frames : frames,
		.queue_bytes = 256u << 20,
		.stall_ns = below(2) ? 0 : 2 * MS,
	};
	/* Unreliable senders stall longer, so that missing pages do not drop their messages. */
	if (has(SCHEDULE_PAGES))
		nic->stall_ns = 200 * MS;
	if (workload.version > 1) {
		nic->max_cq = 512;
		nic->max_srq = 128;
		nic->max_mr = 4096;
	}
	while (nic->max_row < 2 * sim.config.nodes)
		nic->max_row *= 2;
	*s = (struct nic_settings){
		.payload = config->payload ? config->payload : one_of(payload, 7),
		.window = 16384u << below(5),
		.ack_unit = one_of(unit, 7),
		.ack_delay = 10 + below(200),
		.channels = one_of(channels, 7),
		.rto_min = 500 + below(2000),
		.rto_max = 20000 + below(100000),
		.unreachable = workload.version == 1 ? 1000 : 400,
		.loiter = 1 + below(64),
		.sequence_bits = config->sequence_bits ? config->sequence_bits : 32,
		.adaptive = below(4) != 0,
		.piggyback = below(4) != 0,
	};
	if (workload.version > 3)
		choose_more(s);
	if (s->window < s->payload)
		s->window = s->payload;
}

static double rate(u32 fault, double least, double most)
{
	double r = (double)random_next(&state.random) * 0x1p-64;

	return has(fault) ? least + r * r * (most - least) : 0;
}

static void choose_faulty_frames(u64 seed)
{
	struct fault_config f = {
		.loss = rate(SCHEDULE_LOSS, 0.001, 0.08),
		.duplicate = rate(SCHEDULE_DUPLICATE, 0.001, 0.05),
		.reorder = rate(SCHEDULE_REORDER, 0.01, 0.3),
		.corrupt = rate(SCHEDULE_CORRUPT, 0.001, 0.03),
		.truncate = rate(SCHEDULE_TRUNCATE, 0.001, 0.02),
		.delay = rate(SCHEDULE_DELAY, 0.001, 0.05),
		.delay_ns = has(SCHEDULE_DELAY) ? 1 + below(20 * MS) : 0,
		.delay_copies = workload.version > 1,
	};

	if (has(SCHEDULE_FORGE))
		f.forge = rate(SCHEDULE_FORGE, 0.002, 0.05);

	fault_setup(&f, seed);
}

static void make_connections(u32 qps)
{
	u32 ends = 0;
	u8 type;

	/* At least some of each type. */
	make_ends(workload.actor[0], workload.actor[1], NIC_QPT_RC);
	make_ends(workload.actor[below(workload.nactors)], workload.actor[2], NIC_QPT_UC);
	make_ends(workload.actor[0], NULL, NIC_QPT_UD);
	make_ends(workload.actor[3], NULL, NIC_QPT_UD);
	for (ends = 6; ends < qps; ends += 2) {
		u32 dice = below(10);

		type = dice < 6 ? NIC_QPT_RC : dice < 8 ? NIC_QPT_UC : NIC_QPT_UD;
		if (type == NIC_QPT_UD) {
			make_ends(workload.actor[below(workload.nactors)], NULL, type);
			ends--;
			continue;
		}
		/* Sometimes both ends are on one node, or in one process. */
		make_ends(workload.actor[below(workload.nactors)],
			  workload.actor[below(workload.nactors)], type);
	}
}

/* --------------------------------------------------------------------- faults */

static void strike(void *arg, u64 value);

static void next_strike(u64 most_us)
{
	event_at(event_now() + (1 + below((u32)most_us)) * US, strike, NULL, 0);
}

static void mend_lock(void *arg, u64 value)
{
	struct node *node = &sim.node[state.stopped_node];
	u32 i;

	(void)arg;
	(void)value;
	if (state.stopped && node->life == state.stopped_life && !node->dead &&
	    *state.stopped == NOBODY) {
		nic_xchg(state.stopped, 0);
		/* The owner of a send queue lock looks for new requests after the release. */
		for (i = nic_qp_next(&node->nic, 0); i < node->nic.max_qp;
		     i = nic_qp_next(&node->nic, i + 1)) {
			if (state.stopped == &node->nic.qp[i].sq_lock)
				nic_send_doorbell(&node->nic, node->nic.qp[i].qpn);
		}
		node_ran(node);
	}
	state.stopped = NULL;
}

static nic_lock_t *random_lock(struct node *node)
{
	struct nic *nic = &node->nic;
	u32 qps = 1, i;

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1))
		qps = i + 1;

	switch (below(6)) {
	case 0:
		return &nic->qp[below(qps)].sq_lock;
	case 1:
		return &nic->qp[below(qps)].rq.lock;
	case 2:
		return &nic->cq[below(node->next_cqn)].lock;
	case 3:
		return &nic->srq[below(node->next_srqn)].rq.lock;
	case 4:
		return &nic->row[below(nic->hdr->row_high ? nic->hdr->row_high : 1)].lock;
	default:
		return &nic->hdr->atomic_lock[below(NIC_ATOMIC_LOCKS)];
	}
}

static void stop_lock_holder(struct node *node)
{
	nic_lock_t *lock;

	if (state.stopped || node->dead)
		return;
	lock = random_lock(node);
	if (*lock)
		return;
	*lock = NOBODY;
	state.stopped = lock;
	state.stopped_node = node->index;
	state.stopped_life = node->life;
	event_at(event_now() + (1 + below(300)) * US, mend_lock, NULL, 0);
}

/* Stop a process inside the firmware, for a while or for good. */
static void stop_process(bool dies)
{
	struct process *p = workload.actor[below(workload.nactors)]->process;
	u32 steps = 1 + below(1u << (1 + below(9)));
	u64 ns = (1 + below(300)) * US;

	if (p->node->dead || p->fatal || (dies && (process_undying || workload.deaths >= 12)))
		return;
	process_stop(p, steps, ns, dies);
}

static void stop_some(void *arg, u64 value)
{
	(void)arg;
	(void)value;
	if (state.over)
		return;
	event_at(event_now() + (1 + below(200)) * US, stop_some, NULL, 0);
	stop_process(has(SCHEDULE_KILL) && (!has(SCHEDULE_STOP) || below(2)));
}

static void hasten(void *arg, u64 value)
{
	struct node *node = arg;

	(void)value;
	node->slow = 1;
}

static void reset_node(struct node *node)
{
	u32 i;

	if (node->dead)
		return;
	/* In each life, the processes use further memory of their address spaces. */
	if (node->life >= MOST_LIVES)
		return;
	/* A process that is stopped inside the firmware must not continue in new NIC memory. */
	for (i = 1; i < SIM_MAX_SPACES && node->process[i]; i++) {
		if (node->process[i]->stopped)
			return;
	}
	check_lost_node(node->index);
	node_restart(node);
}

/* Whether a usable queue pair remains without this node: those connected to it are not replaced. */
static bool is_dispensable(const struct node *node)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		const struct node *here = ends[i]->qp->process->node;
		const struct node *there = ends[i]->peer ? ends[i]->peer->qp->process->node : here;

		if (!ends[i]->gone && !here->dead && !there->dead && here != node && there != node)
			return true;
	}
	return false;
}

static void kill_node(struct node *node)
{
	u32 i, dead = 0;

	for (i = 0; i < sim.config.nodes; i++)
		dead += sim.node[i].dead;
	/* Some nodes must remain. */
	if (dead >= sim.config.nodes / 4 || !is_dispensable(node))
		return;
	node->dead = true;
	check_lost_node(node->index);
}

static void tear_down(void)
{
	struct end **ends, *e;
	u32 n;

	ends = check_ends(&n);
	e = ends[below(n)];
	if (!e->gone && !e->closing)
		give_up(e);
}

static void strike(void *arg, u64 value)
{
	struct node *node = &sim.node[below(sim.config.nodes)];
	u32 what = 1u << below(kinds_of_faults());

	(void)arg;
	(void)value;
	if (state.over)
		return;
	next_strike(400);
	if (!has(what))
		return;
	trace(TRACE_FAULT, node->index, what, 0, 0);
	if (what == SCHEDULE_CUT)
		node->cut_until = event_now() + (1 + below(20000)) * US;
	else if (what == SCHEDULE_RESET && !below(4))
		reset_node(node);
	else if (what == SCHEDULE_DEAD && !below(8))
		kill_node(node);
	else if (what == SCHEDULE_STOP)
		stop_lock_holder(node);
	else if (what == SCHEDULE_TEARDOWN && !below(2))
		tear_down();
	if (what == SCHEDULE_SLOW && node->slow <= 1) {
		node->slow = 10 + below(90);
		event_at(event_now() + (1 + below(5000)) * US, hasten, node, 0);
	}
}

/* Move wandering GIDs between NICs, and change link keys. */
static void restless(void *arg, u64 value)
{
	u32 node = below(sim.config.nodes), name = below(sim.config.nodes);
	u32 other = below(sim.config.nodes), what = below(8);

	(void)arg;
	(void)value;
	if (state.over)
		return;
	event_at(event_now() + (1 + below(20000)) * US, restless, NULL, 0);
	if (what)
		node_claim(&sim.node[node], name, other);
	else
		node_rekey(&sim.node[node]);
}

static void end_faults(void)
{
	u32 i;

	state.over = true;
	fault_stop();
	for (i = 0; i < sim.config.nodes; i++) {
		sim.node[i].cut_until = 0;
		sim.node[i].slow = 1;
	}
}

/* ------------------------------------------------------------- final checks */

static bool is_finished(void)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		if (!check_is_complete(ends[i]) || (ends[i]->failed && !ends[i]->gone))
			return false;
	}
	return !workload.repairs;
}

/* Run until a condition holds. Returns false after `limit` ns, too many events, or a violation. */
static bool run_until(bool (*holds)(void), u64 limit)
{
	u64 end = event_now() + limit, step = 50 * US;

	while (!holds()) {
		if (is_violated() || event_now() > end || event_next() == ~0ull ||
		    event_count() > STEP_LIMIT + (u64)workload.total * 1000)
			return holds();
		sim_run_until(event_now() + step > event_next() ? event_now() + step :
								  event_next());
	}
	return true;
}

static bool all_posted(void)
{
	return !workload.left;
}

static bool all_returned(void)
{
	return !processes_running();
}

static bool all_flushed(void)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		const struct end *e = ends[i];

		if (e->gone || e->qp->process->node->dead)
			continue;
		if (!check_is_complete(e) || (!e->qp->srq && e->received != e->nreceive))
			return false;
	}
	return true;
}

static void flush_all(void)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = ends[i];

		if (e->gone || e->qp->process->node->dead)
			continue;
		check_silent(e);
		e->may_fail = true;
		e->excused = true;
		set_state(e->qp, NIC_QPS_ERR);
	}
}

static void destroy_all(void)
{
	struct end **ends;
	u32 n, i;

	ends = check_ends(&n);
	for (i = 0; i < n; i++) {
		struct end *e = ends[i];

		if (e->gone || e->qp->process->node->dead)
			continue;
		if (!destroy_qp(e->qp))
			violated("node %u QP %u cannot be destroyed", e->qp->process->node->index,
				 e->qp->qpn);
		e->gone = true;
	}
	for (i = 0; i < workload.nactors && !is_violated(); i++) {
		struct actor *a = workload.actor[i];

		if (a->process->node->dead || a->process->fatal || a->process->dead)
			continue;
		if (!destroy_srq(a->srq) || !destroy_cq(a->cq[0]) || !destroy_cq(a->cq[1]))
			violated("node %u: queues cannot be destroyed", a->process->node->index);
	}
}

static void lock_is_free(const struct node *node, nic_lock_t lock, const char *what, u32 i)
{
	if (lock && lock != NOBODY)
		violated("node %u: the lock of %s %u was left with owner %u", node->index, what, i,
			 lock);
}

/* Check that no locks are held and no packets are outstanding. */
static void check_quiet(const struct node *node)
{
	const struct nic *nic = &node->nic;
	u32 i;

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		lock_is_free(node, nic->qp[i].sq_lock, "send queue", i);
		lock_is_free(node, nic->qp[i].rq.lock, "receive queue", i);
	}
	for (i = 0; i < node->next_cqn; i++)
		lock_is_free(node, nic->cq[i].lock, "CQ", i);
	for (i = 0; i < NIC_ATOMIC_LOCKS; i++)
		lock_is_free(node, nic->hdr->atomic_lock[i], "atomic word", i);
	lock_is_free(node, nic->hdr->row_lock, "rows", 0);
	lock_is_free(node, nic->hdr->frame_lock, "endpoint frames", 0);
	for (i = 0; i < nic->hdr->row_high && i < nic->max_row; i++) {
		lock_is_free(node, nic->row[i].lock, "row", i);
		if (nic->row[i].unacked || nic->row[i].busy)
			violated("node %u: %u packets of row %u are still in flight", node->index,
				 nic->row[i].unacked, i);
	}
}

static void finish(void)
{
	u32 i;

	if (!run_until(all_posted, POST_LIMIT) && !is_violated()) {
		violated("requests cannot be posted: %u of %u remain", workload.left,
			 workload.total);
	}
	end_faults();
	if (!is_violated() && !run_until(is_finished, END_LIMIT) && !is_violated()) {
		check_incomplete();
		violated("the schedule does not end: requests are not completed");
	}
	workload.stop = true;
	if (!is_violated() && !run_until(all_returned, QUIET_LIMIT) && !is_violated())
		violated("programs do not return");
	if (is_violated())
		return;
	flush_all();
	if (!run_until(all_flushed, QUIET_LIMIT) && !is_violated())
		violated("queues in the error state are not flushed");
	destroy_all();
	sim_run_until(event_now() + QUIET_LIMIT);
	if (!is_violated() && event_next() != ~0ull)
		violated("NICs without queue pairs still have work");
	for (i = 0; i < sim.config.nodes && !is_violated(); i++) {
		if (!sim.node[i].dead)
			check_quiet(&sim.node[i]);
	}
	if (!is_violated())
		check_final(workload.actor, workload.nactors);
}

/* ----------------------------------------------------------- running a schedule */

static void add_counters(struct nic_counters *sum)
{
	u32 i, j;

	for (i = 0; i < sim.config.nodes; i++) {
		const u64 *from = (const u64 *)&sim.node[i].nic.hdr->counters;

		for (j = 0; j < sizeof(*sum) / 8; j++)
			((u64 *)sum)[j] += from[j];
	}
}

static void setup(const struct schedule_config *config)
{
	struct sim_config sim_config = { .seed = config->seed, .cost = config->cost };
	u32 i, qps, actors;

	sim_config.nodes = config->nodes ? config->nodes : 4 + below(5);
	sim.config.nodes = sim_config.nodes;
	choose_nic(config, &sim_config.nic);
	sim.config.nodes = 0;
	sim_config.direct = below(2);
	sim_config.cut_through = below(2);
	sim_config.polled = below(2);
	sim_config.lids = workload.version > 3 && !below(4);
	if (workload.version > 7 && !sim_config.lids) {
		sim_config.names = below(2) ? 0 : 1 + below(3);
		sim_config.restless = !below(4);
	}
	sim_config.threads = has(SCHEDULE_STOP | SCHEDULE_KILL) && workload.version > 1;
	/* Not drawn from the random stream, so that the following choices do not change. */
	sim_config.pages = has(SCHEDULE_PAGES) ? 2 + (u32)(config->seed % 40) : 0;
	sim_config.fabric.kind = config->fabric == FABRIC_KINDS ?
					 (enum fabric_kind)below(FABRIC_KINDS) :
					 config->fabric;
	/*
	 * Use the alternating bit if frames are neither duplicated, delayed nor reordered. A
	 * process that stops while it processes a frame delays it, too. No node may die, as its
	 * peers would probe for ever whether it has received their packets.
	 */
	if (workload.version > 3 && sim_config.fabric.kind == FABRIC_MYRINET &&
	    !config->sequence_bits &&
	    !has(SCHEDULE_REORDER | SCHEDULE_DUPLICATE | SCHEDULE_DELAY | SCHEDULE_FORGE |
		 SCHEDULE_DEAD | SCHEDULE_STOP))
		sim_config.nic.settings.sequence_bits = 1;
	sim_config.fabric.spray = has(SCHEDULE_REORDER) && below(2);
	if (sim_config.fabric.kind == FABRIC_ATM && has(SCHEDULE_LOSS))
		sim_config.fabric.cell_loss = 1e-4;
	sim_setup(&sim_config);
	sim.after_step = check_after_step;
	choose_faulty_frames(config->seed);
	rule_break(config->rule, config->seed);
	process_died = actor_died;
	workload.total = workload.left = config->works ? config->works : 1000;
	actors = sim_config.nodes + below(sim_config.nodes);
	if (sim_config.nodes > SMALL_CLUSTER)
		actors = sim_config.nodes;
	if (actors > MAX_ACTORS)
		actors = MAX_ACTORS;
	for (i = 0; i < actors; i++)
		actor_new(&sim.node[i % sim_config.nodes], config->seed);
	qps = config->qps ? config->qps : 16 + below(17);
	if (!config->qps && sim_config.nodes > SMALL_CLUSTER)
		qps = 2 * sim_config.nodes;
	make_connections(qps);
	for (i = 0; i < actors; i++)
		process_start(workload.actor[i]->process, actor_program, workload.actor[i],
			      below(5000));
	next_strike(200);
	if (sim_config.restless)
		restless(NULL, 0);
	if (sim_config.threads)
		stop_some(NULL, 0);
}

bool schedule_run(const struct schedule_config *config, struct schedule_result *result)
{
	u32 n, i;

	memset(&state, 0, sizeof(state));
	memset(&check_totals, 0, sizeof(check_totals));
	memset(result, 0, sizeof(*result));
	state.config = config;
	memset(&workload, 0, sizeof(workload));
	workload.version = config->workload;
	random_seed(&state.random, config->seed, 0x5c4ed);
	state.faults = choose_faults(config);
	check_strict = !has(SCHEDULE_STOP | SCHEDULE_KILL);
	setup(config);
	finish();

	check_ends(&n);
	result->hash = trace_hash();
	result->steps = event_count();
	result->virtual_ns = event_now();
	result->dropped = fabric_dropped();
	result->nodes = sim.config.nodes;
	result->qps = n;
	result->works = workload.total;
	result->faults = state.faults;
	result->fabric = sim.config.fabric.kind;
	result->fault = *fault_counts();
	result->totals = check_totals;
	result->rule_broken = rule_broken();
	result->stops = sim.stops;
	result->deaths = sim.deaths;
	result->frames_resident = sim.config.nic.max_frame;
	if (sim.config.nodes > SMALL_CLUSTER)
		result->resident = sim_resident();
	add_counters(&result->counters);
	for (i = 0; i < sim.config.nodes; i++)
		result->frames += sim.node[i].frames_sent;
	if (!is_violated())
		return true;
	return false;
}
